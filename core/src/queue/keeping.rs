//! The keep-alives of a round or a probe, and what their answers prove together with a read.

use core::time::Duration;

use super::io::{KeptAlive, LeaseId, Leases};
use crate::time::Instant;

/// Keep-alives that were requested together, and their answers.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct KeepAlives {
    began: Instant,
    leases: Leases,
    /// The answers for three leases: the place's, the companion's, and the one to which the companion moves.
    answers: [Answered; 3],
}

#[derive(Clone, Copy, Debug, Hash)]
enum Answered {
    Awaited,
    Kept {
        sent_at: Instant,
        answer: KeptAlive,
    },
    /// The lease was not kept alive, or no keep-alive was requested for it.
    Not,
}

impl KeepAlives {
    pub(super) fn new(leases: Leases, now: Instant) -> Self {
        let last = if leases.moves_to.is_some() { Answered::Awaited } else { Answered::Not };
        Self { began: now, leases, answers: [Answered::Awaited, Answered::Awaited, last] }
    }

    pub(super) fn leases(&self) -> Leases {
        self.leases
    }

    /// When they were asked for.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Whether a keep-alive sent at `sent_at` is one of these. An answer to an earlier keep-alive proves nothing about
    /// them.
    pub(super) fn expect(&self, lease: LeaseId, sent_at: Instant) -> bool {
        sent_at >= self.began && self.leases.iter().any(|asked| asked == lease)
    }

    pub(super) fn kept(&mut self, lease: LeaseId, sent_at: Instant, answer: KeptAlive) {
        self.set(lease, Answered::Kept { sent_at, answer });
    }

    /// Notes that this lease was not kept alive, so that it proves nothing.
    pub(super) fn not_kept(&mut self, lease: LeaseId) {
        self.set(lease, Answered::Not);
    }

    /// Notes that the companion cannot be on the lease to which it was to move.
    pub(super) fn moves_nowhere(&mut self) {
        (self.leases.moves_to, self.answers[2]) = (None, Answered::Not);
    }

    fn set(&mut self, lease: LeaseId, answered: Answered) {
        for (of, answer) in self.leases.iter().zip(&mut self.answers) {
            *answer = if of == lease { answered } else { *answer };
        }
    }

    pub(super) fn are_answered(&self) -> bool {
        !self.answers.iter().any(|answer| matches!(answer, Answered::Awaited))
    }

    /// When the last of these keep-alives was sent.
    pub(super) fn last_sent(&self) -> Instant {
        self.all_kept().map(|(sent_at, _)| sent_at).max().unwrap_or(self.began)
    }

    /// Whether the store surely elected no other leader between these keep-alives and a read of this raft term.
    pub(super) fn are_of(&self, raft_term: u64) -> bool {
        self.all_kept().all(|(_, answer)| answer.raft_term == raft_term)
    }

    /// The instant from which the kept leases certainly existed, and their time to live. `None` if the lease to which
    /// the companion moves was not kept, because the companion may be on it before the next round.
    pub(super) fn since(&self) -> Option<(Instant, Duration)> {
        if let Some(moves_to) = self.leases.moves_to {
            self.answer(moves_to)?;
        }
        let sent_at = self.all_kept().map(|(sent_at, _)| sent_at).min()?;
        Some((sent_at, self.all_kept().map(|(_, answer)| answer.ttl).min()?))
    }

    /// The answer for this lease, if it was kept alive.
    pub(super) fn answer(&self, lease: LeaseId) -> Option<KeptAlive> {
        let (_, answer) = self.leases.iter().zip(&self.answers).find(|(of, _)| *of == lease)?;
        match answer {
            Answered::Kept { answer, .. } => Some(*answer),
            Answered::Awaited | Answered::Not => None,
        }
    }

    fn all_kept(&self) -> impl Iterator<Item = (Instant, KeptAlive)> {
        self.answers.iter().filter_map(|answer| match answer {
            Answered::Kept { sent_at, answer } => Some((*sent_at, *answer)),
            Answered::Awaited | Answered::Not => None,
        })
    }
}
