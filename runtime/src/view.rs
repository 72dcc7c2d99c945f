//! A term for code that does not work for it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::campaign::Reason;
use incumbent_core::{Instant, Token};

use crate::term::{Tenure, Term};

/// A view of a [`Term`]: keeping it does not hold up a drain.
///
/// For languages with garbage collection, and for code that keeps terms in a list. Code that works for
/// the term [holds](Self::hold) it meanwhile.
///
/// ```
/// # use incumbent::{CampaignOptions, Store};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
/// # let store = Store::open("memory:").await?;
/// # let candidate = store.campaign("jobs", CampaignOptions::new()).await?;
/// let view = candidate.next_term().await?.view();
/// assert!(view.is_current());
/// candidate.resign().await?; // nobody holds the term, so there is nothing to wait for
/// assert!(!view.is_current());
/// # candidate.close().await }
/// ```
#[derive(Clone)]
pub struct TermView {
    tenure: Arc<Tenure>,
}

impl TermView {
    pub(crate) fn of(tenure: &Arc<Tenure>) -> Self {
        Self { tenure: Arc::clone(tenure) }
    }

    /// The term for code that works for it: a drain waits for the returned handle.
    pub fn hold(&self) -> Term {
        Tenure::hold(&self.tenure)
    }

    /// As [`Term::token`].
    pub fn token(&self) -> Token {
        self.tenure.token()
    }

    /// As [`Term::election`].
    pub fn election(&self) -> &str {
        self.tenure.election()
    }

    /// As [`Term::started`].
    pub fn started(&self) -> Instant {
        self.tenure.started()
    }

    /// As [`Term::age`].
    pub fn age(&self) -> Duration {
        self.tenure.age()
    }

    /// As [`Term::deadline`].
    pub fn deadline(&self) -> Instant {
        self.tenure.deadline()
    }

    /// As [`Term::remaining`].
    pub fn remaining(&self) -> Duration {
        self.tenure.remaining()
    }

    /// As [`Term::is_current`].
    pub fn is_current(&self) -> bool {
        self.tenure.is_current()
    }

    /// As [`Term::reason`].
    pub fn reason(&self) -> Option<Reason> {
        self.tenure.reason()
    }

    /// As [`Term::drains_until`].
    pub fn drains_until(&self) -> Option<Instant> {
        self.tenure.drains_until()
    }

    /// As [`Term::drain_remaining`].
    pub fn drain_remaining(&self) -> Option<Duration> {
        self.tenure.drain_remaining()
    }

    /// As [`Term::draining`].
    pub async fn draining(&self) {
        self.tenure.drain_begun().await;
    }

    /// As [`Term::ended`].
    pub async fn ended(&self) -> Reason {
        self.tenure.over().await
    }

    /// As [`Term::drained`].
    pub fn drained(&self) {
        self.tenure.send_drained();
    }

    /// As [`Term::fail`].
    pub fn fail(&self) {
        self.tenure.send_failed();
    }
}

impl PartialEq for TermView {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tenure, &other.tenure)
    }
}

impl Eq for TermView {}

impl fmt::Debug for TermView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TermView")
            .field("election", &self.election())
            .field("token", &format_args!("{}", self.token()))
            .field("is_current", &self.is_current())
            .field("reason", &self.reason())
            .finish()
    }
}
