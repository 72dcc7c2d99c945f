//! A term that was lost and whose owner is leaving.

use super::record::TopicId;
use crate::campaign::Reason;
use crate::record::{Attempt, TermInfo};
use crate::time::Instant;
use crate::token::Revision;

/// A term that was lost and whose owner is leaving.
#[derive(Clone, Debug, Hash)]
pub struct Ending {
    pub(super) reason: Reason,
    /// Whether a revocation waits for its answer.
    pub(super) revoked: bool,
    /// The release that was published; `None` until the work has ended.
    pub(super) release: Option<Attempt>,
    /// The content of the release, and the term's newest proof.
    pub(super) statement: TermInfo,
    pub(super) proven: Revision,
    /// The topic in which the term was proven.
    pub(super) topic: Option<TopicId>,
    pub(super) deadline: Instant,
}

impl Ending {
    pub(super) fn leaves(&self) -> bool {
        leaves_the_group(self.reason)
    }

    /// The term's release was published.
    pub(super) fn is_released(&self) -> bool {
        self.release.is_some()
    }
}

/// Whether a term that ends for this reason also ends the membership.
pub(super) fn leaves_the_group(reason: Reason) -> bool {
    matches!(reason, Reason::Resigned | Reason::Unhealthy | Reason::Closed | Reason::HandlerFailed)
}
