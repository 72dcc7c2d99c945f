//! The records published under an ownership, and the newest that is proven.

use alloc::collections::VecDeque;

use crate::record::Attempt;
use crate::time::Instant;
use crate::token::{Revision, Token};

/// The number of records that are remembered until a commit proves a newer one.
pub(super) const REMEMBERED: usize = 256;

/// The records published under the present ownership.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Proof {
    /// The records that no commit has proved yet, and the newest record appended.
    pub(super) sent: VecDeque<Sent>,
    pub(super) awaited: Option<Awaited>,
    /// When the awaited step was requested.
    pub(super) asked_at: Instant,
    /// The newest record that a commit proved.
    pub(super) proven: Option<Sent>,
    /// The newest record that was passed to the producer and appended, renewal or not, and its offset.
    pub(super) appended: Option<(Attempt, Revision)>,
    /// The last record of the previous ownership.
    pub(super) former: Attempt,
}

/// A record that was passed to the producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) attempt: Attempt,
    /// `h`: the clock's reading before the record was passed to the producer.
    pub(super) at: Instant,
    pub(super) offset: Option<Revision>,
    /// The token that the record's first commit stated.
    pub(super) stated: Option<Token>,
}

/// The step that a candidate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Awaited {
    Token,
    Append(Attempt),
    Commit(Attempt),
}

impl Proof {
    /// The newest record that was appended, and its offset.
    pub(super) fn newest_appended(&self) -> Option<(Sent, Revision)> {
        self.sent.iter().rev().find_map(|sent| Some((*sent, sent.offset?)))
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.sent.len() <= REMEMBERED
    }

    /// The offset of the newest record that a commit proved.
    pub(super) fn proven_offset(&self) -> Option<Revision> {
        self.proven.and_then(|proven| proven.offset)
    }

    /// Whether the group's metadata has this token, or a larger one.
    pub(super) fn has_stated(&self, token: Token) -> bool {
        self.proven.is_some_and(|proven| proven.stated >= Some(token))
    }

    pub(super) fn has_sent(&self, attempt: Attempt) -> bool {
        self.sent.iter().any(|sent| sent.attempt == attempt)
    }

    /// Whether the record's offset is below the offset of a record that was passed to the producer earlier, which never
    /// happens within one log.
    pub(super) fn is_in_another_log(&mut self, attempt: Attempt, offset: Revision) -> bool {
        if attempt <= self.former {
            return false;
        }
        let kept = self.sent.iter().chain(&self.proven).filter_map(|sent| Some((sent.attempt, sent.offset?)));
        let before = kept.chain(self.appended).filter(|(other, _)| *other < attempt);
        let is_below = before.map(|(_, offset)| offset).max().is_some_and(|before| offset <= before);
        self.appended = self.appended.max(Some((attempt, offset)));
        is_below
    }
}
