//! Which life of the store this is, how far its history is known, and which tokens were seen.

use alloc::vec::Vec;
use core::time::Duration;

use crate::store::Facts;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// How many lives of the store are remembered.
const REMEMBERED: usize = 4;

/// How an answer compares with what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It may be the present.
    Fresh,
    /// It is older than something known: an isolated server, or one that lags.
    Stale,
    /// Lower answers for a whole lease, over two new connections: the store went back.
    Regressed,
}

/// What an inspection changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inspection {
    /// Asked before one that was answered earlier; it says nothing new.
    Old,
    /// The life known already.
    Same,
    /// Another life.
    New,
}

#[derive(Debug)]
struct Doubt {
    since: Instant,
    connection: u64,
}

/// The life of the store, as known to one campaign.
#[derive(Debug)]
pub(super) struct Life {
    incarnation: Incarnation,
    /// `i0`: when the newest answer that showed this incarnation was asked for.
    shown: Instant,
    /// Nobody is told a win before this: the store may have been made anew under a leader.
    old_at: Instant,
    max_age: Option<Duration>,
    newest: Option<Revision>,
    /// The highest revision known of each life, newest life last.
    marks: Vec<(Incarnation, Revision)>,
    doubt: Option<Doubt>,
    /// How many connections there have been.
    connection: u64,
    /// The largest token that may have been told to anybody.
    seen: Option<Token>,
}

impl Life {
    pub(super) fn new(facts: &Facts, lease: Duration, skew: Duration, now: Instant) -> Self {
        let mut life = Self {
            incarnation: facts.incarnation,
            shown: facts.asked_at,
            old_at: Instant::ZERO,
            max_age: facts.max_age,
            newest: facts.newest,
            marks: Vec::new(),
            doubt: None,
            connection: 0,
            seen: None,
        };
        life.begin(facts, lease, skew, now);
        life
    }

    /// Takes in an inspection.
    pub(super) fn inspect(
        &mut self,
        facts: &Facts,
        lease: Duration,
        skew: Duration,
        now: Instant,
    ) -> Inspection {
        if facts.asked_at < self.shown {
            return Inspection::Old;
        }
        self.shown = facts.asked_at;
        self.max_age = facts.max_age;
        self.newest = facts.newest;
        if facts.incarnation == self.incarnation {
            return Inspection::Same;
        }
        self.incarnation = facts.incarnation;
        self.doubt = None;
        self.begin(facts, lease, skew, now);
        Inspection::New
    }

    /// A life is trusted when it is a lease old, by the store's clocks or by ours.
    fn begin(&mut self, facts: &Facts, lease: Duration, skew: Duration, now: Instant) {
        let ours = now + lease;
        let theirs = facts.age.map(|age| now + lease.saturating_add(skew).saturating_sub(age));
        let old_at = if facts.never_used { Instant::ZERO } else { theirs.map_or(ours, |at| at.min(ours)) };
        self.old_at = self.old_at.max(old_at);
        if !self.marks.iter().any(|(life, _)| *life == self.incarnation) {
            if self.marks.len() == REMEMBERED {
                self.marks.remove(0);
            }
            self.marks.push((self.incarnation, Revision(0)));
        }
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(super) fn shown(&self) -> Instant {
        self.shown
    }

    /// An acknowledgement carried this life's incarnation.
    pub(super) fn show(&mut self, asked_at: Instant) {
        self.shown = self.shown.max(asked_at);
    }

    pub(super) fn old_at(&self) -> Instant {
        self.old_at
    }

    pub(super) fn max_age(&self) -> Option<Duration> {
        self.max_age
    }

    pub(super) fn mark(&self) -> Revision {
        self.marks.iter().find(|(life, _)| *life == self.incarnation).map_or(Revision(0), |(_, mark)| *mark)
    }

    /// A revision that is certainly in the store's history.
    pub(super) fn saw(&mut self, revision: Revision) {
        if revision >= self.mark() {
            self.doubt = None;
            self.set_mark(revision);
        }
    }

    fn set_mark(&mut self, revision: Revision) {
        let present = self.incarnation;
        if let Some((_, mark)) = self.marks.iter_mut().find(|(life, _)| *life == present) {
            *mark = revision;
        }
    }

    /// Compares an answer with the mark that was known when it was asked for.
    pub(super) fn judge(
        &mut self,
        revision: Revision,
        mark: Revision,
        lease: Duration,
        now: Instant,
    ) -> Freshness {
        if revision >= mark {
            return Freshness::Fresh;
        }
        let connection = self.connection;
        let doubt = self.doubt.get_or_insert(Doubt { since: now, connection });
        if connection >= doubt.connection + 2 && now >= doubt.since + lease {
            Freshness::Regressed
        } else {
            Freshness::Stale
        }
    }

    /// Believes that the store went back to `revision`: another life under the same name.
    pub(super) fn regress(&mut self, revision: Revision, lease: Duration, now: Instant) {
        self.doubt = None;
        self.set_mark(revision);
        self.newest = Some(revision);
        self.old_at = self.old_at.max(now + lease);
    }

    pub(super) fn connected(&mut self) {
        self.connection += 1;
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// A revision of this life that may be somebody's token.
    pub(super) fn saw_token(&mut self, sequence: Revision) {
        let token = Token { incarnation: self.incarnation, sequence };
        self.seen = self.seen.max(Some(token));
    }

    /// The largest token that may have been told to anybody.
    pub(super) fn largest_token(&self) -> Option<Token> {
        self.seen
    }

    /// Whether the next write can have a token above every token seen.
    pub(super) fn can_exceed(&self, token: Token) -> bool {
        let newest = self.newest.unwrap_or_default().max(self.mark());
        Token { incarnation: self.incarnation, sequence: newest } >= token
    }

    /// An operator accepts that tokens start again.
    pub(super) fn forget_tokens(&mut self) {
        self.seen = None;
    }
}
