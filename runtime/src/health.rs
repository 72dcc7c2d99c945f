//! The candidate's health check, called periodically.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::candidate_state::CandidateState;
use crate::driver::{Command, CommandSink};

type Check = dyn Fn() -> BoxFuture<'static, bool> + Send + Sync;

/// The user's check, and the interval between two calls.
#[derive(Clone)]
pub(crate) struct HealthCheck {
    interval: Duration,
    check: Arc<Check>,
}

impl HealthCheck {
    pub(crate) fn new<F, Fut>(interval: Duration, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        Self { interval, check: Arc::new(move || check().boxed()) }
    }

    /// Calls the check until the campaign is over, and reports changes to the driver.
    pub(crate) fn start(self, shared: &Arc<CandidateState>, driver: Weak<dyn CommandSink>) {
        let over = shared.over();
        let keep = self.keep_asking(Arc::clone(shared), driver);
        shared.tasks.spawn(async move {
            // The check may never end; the campaign does.
            over.run_until_cancelled(keep).await;
        });
    }

    async fn keep_asking(self, shared: Arc<CandidateState>, driver: Weak<dyn CommandSink>) {
        // A candidate is healthy at first.
        let mut was_well = true;
        loop {
            let is_well = self.ask(&shared).await;
            if is_well != was_well {
                was_well = is_well;
                let Some(driver) = driver.upgrade() else { return };
                driver.send(Command::Health(is_well));
            }
            tokio::time::sleep(self.interval).await;
        }
    }

    async fn ask(&self, shared: &CandidateState) -> bool {
        let (election, candidate) = (&*shared.election, &*shared.candidate);
        // The closure itself may panic as well as the future it makes.
        let asked = AssertUnwindSafe(async { (self.check)().await }).catch_unwind();
        match tokio::time::timeout(self.interval, asked).await {
            Ok(Ok(is_well)) => is_well,
            Ok(Err(_)) => {
                tracing::error!(election, candidate, "the health check panicked and counts as failed");
                false
            }
            Err(_) => {
                tracing::warn!(election, candidate, limit = ?self.interval, "the health check takes too long and counts as failed");
                false
            }
        }
    }
}
