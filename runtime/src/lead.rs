//! Work that runs only while this candidate leads.

use std::convert::Infallible;
use std::fmt;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::candidate::Candidate;
use crate::handlers::message;
use crate::leave::LeaveRequest;
use crate::term::Term;
use incumbent_store::{ErrorKind, Result};

impl Candidate {
    /// Does `work` in every term of this candidate, until the campaign is over.
    ///
    /// The work is dropped the moment its term ends, and not resumed after the deadline even if the process was stopped
    /// in between. While the term drains it keeps running, and the term ends when it returns;
    /// [`TermView::draining`](crate::TermView::draining) reports that it is time to finish.
    ///
    /// If the work ends by itself:
    /// - after `()` or `Ok` the term continues, for other work of the application. To leave instead, call
    ///   [`resign`](Self::resign) as the last step.
    /// - after an error or a panic, which is logged, the term ends with
    ///   [`Reason::HandlerFailed`](crate::Reason::HandlerFailed).
    ///
    /// Dropping the returned future while leading drops the work and resigns, because the term would have no work left.
    /// So pin it if it is one branch of a loop around `select!`.
    ///
    /// ```
    /// # use incumbent::{CampaignOptions, Store};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
    /// # let store = Store::open("memory:").await?;
    /// let candidate = store.campaign("jobs", CampaignOptions::new()).await?;
    /// candidate
    ///     .lead(async |term| {
    ///         println!("leading with token {}", term.token());
    ///         // … the work of a leader …
    ///         candidate.close().await
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Forked` in a forked child. A closed campaign is not an error.
    pub async fn lead<F, Fut>(&self, mut work: F) -> Result<()>
    where
        F: FnMut(Term) -> Fut,
        Fut: Future<Output: WorkResult>,
    {
        loop {
            let term = match self.next_term().await {
                Ok(term) => term,
                Err(error) if error.kind() == ErrorKind::Closed => return Ok(()),
                Err(error) => return Err(error),
            };
            let resign = ResignOnDrop { candidate: self, ended: term.cancellation() };
            let work = AssertUnwindSafe(async { work(term.clone()).await }).catch_unwind();
            let failure = match LeaveRequest::awaited_in(term.run(work)).await {
                Err(_ended) => None,
                Ok(Ok(result)) => result.failure(),
                Ok(Err(panic)) => Some(format!("panicked: {}", message(&*panic))),
            };
            if let Some(failure) = failure {
                let (election, candidate, token) = (self.election(), self.name(), term.token());
                tracing::error!(election, candidate, term = %token, "the work of the term failed: {failure}");
                term.fail();
            }
            drop(term);
            resign.ended.cancelled().await;
        }
    }
}

/// The result type of a term's work: nothing, or a `Result`.
pub trait WorkResult {
    /// The failure; `None` for success.
    fn failure(self) -> Option<String>;
}

impl WorkResult for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl WorkResult for Infallible {
    fn failure(self) -> Option<String> {
        match self {}
    }
}

impl<E: fmt::Display> WorkResult for std::result::Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// Resigns when the work is dropped while its term still runs.
struct ResignOnDrop<'a> {
    candidate: &'a Candidate,
    ended: CancellationToken,
}

impl Drop for ResignOnDrop<'_> {
    fn drop(&mut self) {
        if !self.ended.is_cancelled() {
            drop(self.candidate.request_resign());
        }
    }
}
