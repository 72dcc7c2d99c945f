//! The store as one campaign observes it: its incarnation, the highest revision, and the tokens.

use core::time::Duration;

use super::io::Snapshot;
use crate::store::StoreInfo;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// The store's incarnation, and how much is known about it.
#[derive(Clone, Debug, Hash)]
pub(super) struct StoreView {
    incarnation: Incarnation,
    /// No win is reported before this instant, because a leader of an earlier incarnation may lead until then.
    trusted_at: Instant,
    /// The highest revision that a linearised answer showed.
    mark: Revision,
    /// The largest token observed.
    largest: Option<Token>,
    /// The longest lease of all candidates observed.
    longest: Duration,
    /// The number of the present connection, and that of the connection over which an answer was doubtful.
    connection: u64,
    doubted: Option<u64>,
}

/// What a read shows about the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// The store is the known one.
    Same,
    /// The store may be another one, or have gone back. Ask again over a new connection.
    Doubtful,
    /// A second connection also shows another store, or one that went back.
    Reset,
}

impl StoreView {
    pub(super) fn new(info: &StoreInfo, lease: Duration, now: Instant) -> Self {
        Self {
            incarnation: info.incarnation,
            trusted_at: trusted_at(info, lease, now),
            mark: Revision(0),
            largest: None,
            longest: lease,
            connection: 0,
            doubted: None,
        }
    }

    /// Compares a read with what is known. `own` is the revision that created the candidate's own keys.
    pub(super) fn sight(&mut self, snapshot: &Snapshot, own: Option<Revision>) -> Sight {
        if snapshot.birth == Some(self.incarnation) && snapshot.revision >= self.mark {
            self.mark = snapshot.revision;
            self.doubted = None;
            self.observe(snapshot, own);
            return Sight::Same;
        }
        match self.doubted {
            Some(connection) if connection < self.connection => Sight::Reset,
            _ => {
                self.doubted.get_or_insert(self.connection);
                Sight::Doubtful
            }
        }
    }

    /// Takes in a read of a campaign without a place, whatever revision it shows.
    pub(super) fn look(&mut self, snapshot: &Snapshot) {
        if snapshot.birth == Some(self.incarnation) {
            self.mark = snapshot.revision;
            self.observe(snapshot, None);
        }
    }

    fn observe(&mut self, snapshot: &Snapshot, own: Option<Revision>) {
        for companion in &snapshot.companions {
            self.longest = self.longest.max(companion.lease_time);
        }
        // A leader's token is the revision that created its place and companion. Only the first candidate can lead.
        if let Some(first) = snapshot.companions.first().filter(|first| Some(first.created) != own) {
            self.observe_token(self.token(first.created));
        }
    }

    pub(super) fn token(&self, revision: Revision) -> Token {
        Token { incarnation: self.incarnation, sequence: revision }
    }

    pub(super) fn observe_token(&mut self, token: Token) {
        self.largest = self.largest.max(Some(token));
    }

    pub(super) fn forget_tokens(&mut self) {
        self.largest = None;
    }

    pub(super) fn largest_token(&self) -> Option<Token> {
        self.largest
    }

    /// The smallest token that a new place could have.
    pub(super) fn next_token(&self) -> Token {
        self.token(Revision(self.mark.0.saturating_add(1)))
    }

    /// Whether a new place could get a token that does not exceed every observed token.
    pub(super) fn is_barred(&self) -> bool {
        self.largest.is_some_and(|largest| self.next_token() <= largest)
    }

    /// The longest lease that any leader can have, as far as observed.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(super) fn trusted_at(&self) -> Instant {
        self.trusted_at
    }

    pub(super) fn reconnected(&mut self) {
        self.connection += 1;
    }

    /// Notes that the store was replaced or went back, so that earlier leaders may lead for another lease.
    pub(super) fn reset(&mut self, incarnation: Option<Incarnation>, revision: Revision, now: Instant) {
        self.incarnation = incarnation.unwrap_or(self.incarnation);
        self.trusted_at = now + self.longest;
        self.mark = revision;
        self.doubted = None;
    }
}

/// When wins may be reported: a lease after the first sight of the birth record, or a lease after its creation if the
/// store's age is known. If an operator stated that the name was never used, wins may be reported at once; that counts
/// only for a campaign that has known no other incarnation.
fn trusted_at(info: &StoreInfo, lease: Duration, now: Instant) -> Instant {
    match info.never_used {
        true => now,
        false => info.asked_at + lease.saturating_sub(info.age.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn view() -> StoreView {
        let info = StoreInfo {
            asked_at: at(10),
            incarnation: Incarnation(7),
            age: None,
            never_used: false,
            max_age: None,
            newest: None,
        };
        StoreView::new(&info, Duration::from_secs(30), at(11))
    }

    fn snapshot(birth: u64, revision: u64) -> Snapshot {
        Snapshot {
            revision: Revision(revision),
            raft_term: 2,
            birth: Some(Incarnation(birth)),
            place: None,
            companion: None,
            places: Vec::new(),
            companions: Vec::new(),
            overlap: None,
        }
    }

    #[test]
    fn a_birth_record_is_trusted_a_lease_after_it_was_asked_for() {
        assert_eq!(view().trusted_at(), at(40));
    }

    #[test]
    fn a_lower_revision_and_another_birth_are_believed_over_a_second_connection_only() {
        for odd in [snapshot(7, 4), snapshot(8, 9)] {
            let mut view = view();
            assert_eq!(view.sight(&snapshot(7, 5), None), Sight::Same);
            assert_eq!(view.sight(&odd, None), Sight::Doubtful);
            assert_eq!(view.sight(&odd, None), Sight::Doubtful, "the same connection again");
            view.reconnected();
            assert_eq!(view.sight(&odd, None), Sight::Reset);
        }
    }

    #[test]
    fn a_regression_that_the_next_connection_does_not_confirm_is_forgotten() {
        let mut view = view();
        view.sight(&snapshot(7, 5), None);
        view.sight(&snapshot(7, 4), None);
        view.reconnected();
        assert_eq!(view.sight(&snapshot(7, 5), None), Sight::Same);
        assert_eq!(view.sight(&snapshot(7, 4), None), Sight::Doubtful);
    }

    #[test]
    fn a_store_that_went_back_bars_until_its_revisions_are_above_the_largest_token() {
        let mut view = view();
        view.observe_token(view.token(Revision(9)));
        view.reset(None, Revision(4), at(50));
        assert!(view.is_barred());
        assert_eq!(view.trusted_at(), at(80));
        view.look(&snapshot(7, 8));
        assert!(view.is_barred(), "the next would be 9");
        view.look(&snapshot(7, 9));
        assert!(!view.is_barred());
    }
}
