//! A store that was opened, and its driver.

use async_trait::async_trait;
use incumbent_core::campaign::Warning;
use incumbent_core::store::Capabilities;
use tokio::sync::mpsc;

use super::Driver;
use super::request::Request;
use incumbent_store::clock::Clock;
use incumbent_store::link::Link;
use incumbent_store::notifier::Notifier;

/// Everything that a driver needs in addition to its store.
pub(crate) struct Running {
    pub(super) clock: Clock,
    pub(super) notifier: Notifier,
    pub(super) fail_fast: bool,
    pub(super) requests: mpsc::UnboundedReceiver<Request>,
    /// Every candidate reports these.
    pub(super) warnings: Vec<Warning>,
}

/// A store that has been opened, whatever its rule.
#[async_trait]
pub(crate) trait Opened: Send {
    /// As [`Link::capabilities`].
    fn capabilities(&self) -> Capabilities;

    /// Runs a driver until the store is closed.
    async fn run(self: Box<Self>, running: Running);
}

#[async_trait]
impl<L: Link> Opened for L {
    fn capabilities(&self) -> Capabilities {
        Link::capabilities(self)
    }

    async fn run(self: Box<Self>, Running { clock, notifier, fail_fast, requests, warnings }: Running) {
        let mut driver = Driver::new(*self, clock, fail_fast, notifier, requests);
        warnings.into_iter().for_each(|warning| driver.session.note(warning));
        driver.run().await;
    }
}
