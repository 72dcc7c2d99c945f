//! Starts a hub: its thread and its store.

use incumbent_core::store::Capabilities;
use tokio::sync::oneshot;

use super::Requests;
#[cfg(feature = "nats")]
use super::connection;
use super::errand::within;
use super::run::{Hub, LAST_NOTICES};
use crate::clock::Clock;
use crate::meter::Meter;
use crate::notifier::Notifier;
use crate::store::{Adapter, StoreSettings};
use crate::{Error, ErrorKind, Result};

/// A store to open.
pub(crate) struct Opening {
    pub(crate) settings: StoreSettings,
    pub(crate) clock: Clock,
    pub(crate) fail_fast: bool,
    pub(crate) meter: Meter,
}

/// Opens a store and its connection on a separate thread.
pub(crate) async fn open(opening: Opening) -> Result<(Requests, Capabilities)> {
    let (mut ready, opened) = oneshot::channel();
    let notifier = Notifier::new();
    on_own_thread(notifier.clone(), async move {
        let (requests, receiver) = Requests::new();
        let (clock, fail_fast, meter) = (opening.clock.clone(), opening.fail_fast, opening.meter.clone());
        let adapter = tokio::select! {
            adapter = opening.open(&requests, &notifier) => adapter,
            // The caller has stopped waiting.
            () = ready.closed() => return,
        };
        let adapter = match adapter {
            Ok(adapter) => adapter,
            Err(error) => {
                // The caller may end the program with this error, so flush the log lines that belong to it.
                within(clock, LAST_NOTICES, notifier.flush()).await;
                return drop(ready.send(Err(error)));
            }
        };
        let hub = Hub::new(adapter, clock, fail_fast, meter, notifier, receiver);
        // If the caller has stopped waiting meanwhile, the only channel to the hub is dropped with the answer.
        drop(ready.send(Ok((requests, hub.capabilities()))));
        hub.run().await;
    })?;
    opened.await.map_err(|_| {
        Error::new(ErrorKind::Broken, "the store's thread ended while it was opening the store")
    })?
}

/// Starts a hub for a store that is open already.
pub(crate) fn start(
    adapter: Box<dyn Adapter>,
    clock: Clock,
    fail_fast: bool,
    meter: Meter,
) -> Result<Requests> {
    let (requests, receiver) = Requests::new();
    let notifier = Notifier::new();
    on_own_thread(notifier.clone(), async move {
        Hub::new(adapter, clock, fail_fast, meter, notifier, receiver).run().await;
    })?;
    Ok(requests)
}

impl Opening {
    async fn open(self, requests: &Requests, notifier: &Notifier) -> Result<Box<dyn Adapter>> {
        let settings = match self.settings {
            #[cfg(feature = "nats")]
            StoreSettings::Nats(settings) => {
                let tell = connection::listener(requests);
                StoreSettings::Nats(Box::new(settings.notified_by(notifier.clone(), tell)))
            }
            settings => settings,
        };
        let _ = (requests, notifier);
        settings.open(&self.clock).await
    }
}

fn on_own_thread(notifier: Notifier, work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let refused = |error| {
        let message = "the operating system refuses a thread for the store; raise the limit of threads";
        Error::new(ErrorKind::Broken, message).caused_by(error)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(refused)?;
    let thread = std::thread::Builder::new().name("incumbent".into());
    let run = move || {
        let _relay = notifier.relay_logs();
        drop(notifier);
        runtime.block_on(work);
        // Work that an adapter still has on a blocking thread is not waited for.
        runtime.shutdown_background();
    };
    thread.spawn(run).map_err(refused).map(drop)
}
