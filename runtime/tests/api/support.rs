//! What the tests of the public API share.

use std::time::Duration;

use incumbent::{CampaignOptions, Preset};

/// Far longer than anything here takes, on however busy a machine.
const GENEROUS: Duration = Duration::from_secs(30);

/// The shortest lease that leaves room for a retry is a little under this.
pub(crate) const LEASE: Duration = Duration::from_millis(800);

/// A candidate with a short lease and no splay.
pub(crate) fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Test).lease(LEASE).splay(Duration::ZERO)
}

/// Waits, but not for ever.
pub(crate) async fn soon<F: IntoFuture>(work: F) -> F::Output {
    tokio::time::timeout(GENEROUS, work).await.expect("it takes too long")
}

/// Waits until `done` says so.
pub(crate) async fn until(mut done: impl FnMut() -> bool) {
    soon(async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
