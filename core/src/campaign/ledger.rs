//! The writes a campaign has sent, and what each of them would mean if it were applied.

use alloc::collections::VecDeque;

use super::sight::Wait;
use crate::record::Attempt;
use crate::store::Expect;
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// How many attempts are remembered. An older one that turns out to have been applied is treated
/// as a record of ours about which nothing else is known, which is safe and only slower.
const REMEMBERED: usize = 128;

/// What a write was meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Acquire,
    Renew,
    Release,
}

/// A write that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) attempt: Attempt,
    pub(super) purpose: Purpose,
    pub(super) expect: Expect,
    /// `c0`: the clock before the write was handed out.
    pub(super) at: Instant,
    /// The win delay that goes with a record of this attempt.
    pub(super) wait: Wait,
    /// The highest revision known when it was sent; an acknowledgement must be above it.
    pub(super) mark: Revision,
    /// An acknowledgement makes a holder only before this.
    pub(super) counts_before: Instant,
    /// The incarnation it was meant for.
    pub(super) incarnation: Incarnation,
    /// Whether its outcome is still open: awaited, or given up waiting for.
    pub(super) open: bool,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    last: Attempt,
    awaited: Option<Attempt>,
    sent: VecDeque<Sent>,
}

impl Ledger {
    /// The number for the next write.
    pub(super) fn next(&mut self) -> Attempt {
        self.last.0 += 1;
        self.last
    }

    /// Remembers a write that is being sent; its answer is awaited.
    pub(super) fn send(&mut self, sent: Sent) {
        debug_assert!(self.awaited.is_none(), "one write is awaited at a time");
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
        }
        self.awaited = Some(sent.attempt);
        self.sent.push_back(sent);
    }

    pub(super) fn was_made(&self, attempt: Attempt) -> bool {
        (1..=self.last.0).contains(&attempt.0)
    }

    /// Whether an answer is awaited.
    pub(super) fn is_awaiting(&self) -> bool {
        self.awaited.is_some()
    }

    /// The purpose of the write whose answer is awaited.
    pub(super) fn awaited(&self) -> Option<Purpose> {
        let awaited = self.awaited?;
        self.find(awaited).map(|sent| sent.purpose)
    }

    /// Stops waiting for the answer; the write stays open.
    pub(super) fn stop_waiting(&mut self) {
        self.awaited = None;
    }

    /// Notes that `attempt` was answered, and whether that settles it. Tells what it was before,
    /// unless it is forgotten, and whether its answer was the awaited one.
    pub(super) fn answer(&mut self, attempt: Attempt, settled: bool) -> (Option<Sent>, bool) {
        let was_awaited = self.awaited == Some(attempt);
        if was_awaited {
            self.awaited = None;
        }
        let sent = self.sent.iter_mut().rev().find(|sent| sent.attempt == attempt);
        let sent = sent.map(|sent| {
            let before = *sent;
            sent.open &= !settled;
            before
        });
        (sent, was_awaited)
    }

    pub(super) fn find(&self, attempt: Attempt) -> Option<Sent> {
        self.sent.iter().rev().find(|sent| sent.attempt == attempt).copied()
    }

    /// Whether some write that would make a live record may have been applied, or may be later.
    pub(super) fn may_hold(&self) -> bool {
        self.sent.iter().any(|sent| sent.open && sent.purpose != Purpose::Release)
    }

    /// The latest write that would make a live record and whose outcome is open.
    pub(super) fn newest_open(&self) -> Option<Sent> {
        self.sent.iter().rev().find(|sent| sent.open && sent.purpose != Purpose::Release).copied()
    }

    /// Settles every write that expected something older than `revision`, which is now known to be
    /// there: its compare can never hold again.
    pub(super) fn settle_below(&mut self, revision: Revision) {
        for sent in &mut self.sent {
            let outdated = match sent.expect {
                Expect::Absent => true,
                Expect::Revision(expected) => expected < revision,
            };
            if outdated && Some(sent.attempt) != self.awaited {
                sent.open = false;
            }
        }
    }
}
