//! What watches showed of an election before its campaign began.

use core::time::Duration;

use super::KeyLease;
use super::settings::LONGEST_SHARED;
use crate::candidacy::{Candidacy, Early};
use crate::record::Entry;
use crate::store::StoreInfo;
use crate::time::Instant;
use crate::token::{Incarnation, Token};

/// What watches showed of an election before its campaign began.
///
/// A campaign begins once the store has been inspected. The inspection may be late, fail, or be refused, while a watch
/// already shows a leader. The watch shows that leader only once. If the leader's record is then removed without a
/// trace, as by a purge, nothing shows any more that this leader may still rely on its lease. So a session that watches
/// before it has a campaign keeps here what the watch shows, and passes it to the new campaign through
/// [`Campaign::recall`](super::Campaign::recall).
///
/// The sights are kept as a wait, because a revision means nothing without its incarnation, which is not known yet. The
/// lease of each revision counts from its first sight, and the wait ends when the last of these leases does, even if
/// another watch follows. Only a later release that the same watch shows shortens the wait, and only in the incarnation
/// that the release states.
#[derive(Clone, Debug, Default, Hash)]
pub struct EarlySights {
    /// Shown by earlier watches.
    before: Owed,
    /// Shown by the present watch.
    shown: Owed,
    /// The last release shown: the incarnation that it states, and the wait that it owed, extended by whatever was
    /// shown after it.
    released: Option<(Incarnation, Owed)>,
    /// The entry that the current watch showed last.
    newest: Option<Entry>,
    /// The lease of the last holder shown; `Some(None)` if its record does not state a lease.
    holder: Option<Option<Duration>>,
    /// The largest token that may have been given before the shown entries were written.
    token: Option<Token>,
}

/// The latest end of several leases, each counted from its first sight. How much of a lease is believed depends on the
/// store's maximum age, which is not known yet.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Owed {
    /// The latest end of the leases that every store believes.
    until: Instant,
    /// For longer leases, the latest sight of one and the longest of them.
    longer: Option<(Instant, Duration)>,
    /// The latest sight of a record that does not state its lease.
    unstated: Option<Instant>,
}

impl Owed {
    /// Adds a lease that was first seen at `seen`. Sights are added in order of time.
    fn add(&mut self, seen: Instant, lease: Option<Duration>) {
        match lease {
            None => self.unstated = Some(seen),
            Some(lease) if lease <= LONGEST_SHARED => self.until = self.until.max(seen + lease),
            Some(lease) => {
                let longest = self.longer.map_or(lease, |(_, longest)| longest.max(lease));
                self.longer = Some((seen, longest));
            }
        }
    }

    fn and(self, later: Self) -> Self {
        let longer = match (self.longer, later.longer) {
            (Some((_, one)), Some((seen, other))) => Some((seen, one.max(other))),
            (one, other) => other.or(one),
        };
        Self { until: self.until.max(later.until), longer, unstated: later.unstated.or(self.unstated) }
    }

    /// The end of the wait. `bound` limits how long a stated lease is believed; `default` replaces an unstated one.
    fn end(self, bound: impl Fn(Duration) -> Duration, default: Duration) -> Instant {
        let longer = self.longer.map(|(seen, lease)| seen + bound(lease));
        let unstated = self.unstated.map(|seen| seen + default);
        self.until.max(longer.unwrap_or_default()).max(unstated.unwrap_or_default())
    }
}

impl Early<Entry> for EarlySights {
    /// Keeps the wait of earlier watches but forgets their entries, because the new watch may show another incarnation.
    fn watch_began(&mut self) {
        self.before = self.before.and(self.shown);
        (self.shown, self.released, self.newest) = (Owed::default(), None, None);
    }

    fn observe(&mut self, entry: &Entry, now: Instant) {
        let before = self.newest.replace(entry.clone());
        if before.as_ref().is_some_and(|before| before.revision() == entry.revision()) {
            return;
        }
        match entry {
            Entry::Live(record) => {
                self.owe(now, record.lease);
                let before = before.as_ref().and_then(Entry::live);
                if let Some(before) = before.filter(|before| !before.has_the_holder_of(record)) {
                    // The previous holder may have renewed unseen until this holder acquired, and its lease may be
                    // longer.
                    self.owe(now, before.lease);
                }
                self.holder = Some(record.lease);
                let own = record.revision;
                let token = record.term_info.map(|term_info| {
                    let token = term_info.token;
                    Token { sequence: token.sequence.min(own), ..token }
                });
                self.token = self.token.max(token);
            }
            Entry::Released(release) => {
                // A release that states another incarnation than the campaign's counts as a deletion.
                self.owe_for_a_deletion(now, None);
                let mut owed = Owed::default();
                owed.add(now, Some(release.owed));
                self.released = Some((release.incarnation, owed));
                // Every term before the release has a smaller token.
                let token = Token { incarnation: release.incarnation, sequence: release.revision };
                self.token = self.token.max(Some(token));
            }
            Entry::Deleted { lease, .. } => self.owe_for_a_deletion(now, *lease),
            Entry::Expired { .. } | Entry::Vacant => {}
        }
    }
}

impl EarlySights {
    fn owe(&mut self, seen: Instant, lease: Option<Duration>) {
        self.shown.add(seen, lease);
        if let Some((_, owed)) = &mut self.released {
            owed.add(seen, lease);
        }
    }

    /// Counts the possible leases of a deleted holder from the deletion, because the holder may have renewed unseen
    /// until then.
    fn owe_for_a_deletion(&mut self, seen: Instant, stated: Option<Duration>) {
        self.owe(seen, None);
        for lease in [self.holder.flatten(), stated].into_iter().flatten() {
            self.owe(seen, Some(lease));
        }
    }

    /// The wait that is owed in this incarnation.
    fn owed(&self, incarnation: Incarnation) -> Owed {
        let released = self.released.filter(|(stated, _)| *stated == incarnation);
        self.before.and(released.map_or(self.shown, |(_, owed)| owed))
    }
}

impl Candidacy<KeyLease> {
    /// Waits for the leaders that were shown before this campaign began. Call it before any input, with the inspection
    /// from which the campaign was created.
    pub fn recall(&mut self, sights: &EarlySights, info: &StoreInfo) {
        let (present, default) = (self.own.store.incarnation(), self.default_lease());
        let until = sights.owed(present).end(|lease| self.bound(lease), default);
        self.own.key.wait_until(until);
        if let Some(lease) = sights.holder {
            self.own.key.recall_holder(lease.map_or(default, |lease| self.bound(lease)));
            // A leader of an earlier incarnation may have a longer lease than this campaign.
            let skew = self.rules.margin.skew(self.lease);
            self.own.store.begin(info, info.never_used, self.longest_lease(), skew, self.now);
        }
        if let Some(token) = sights.token {
            // No term of this incarnation or an earlier one has a larger token.
            self.own.store.observe_token(token.min(Token { incarnation: present, ..token }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Attempt, Nonce, Record, Release, TermInfo, WriteId};
    use crate::token::Revision;
    use alloc::vec::Vec;

    const PRESENT: Incarnation = Incarnation(7);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + secs_of(secs)
    }

    const fn secs_of(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn by(nonce: u128, revision: u64, lease: Option<u64>) -> Entry {
        Entry::Live(Record {
            revision: Revision(revision),
            candidate: "other".into(),
            write_id: Some(WriteId { nonce: Nonce(nonce), attempt: Attempt(1) }),
            lease: lease.map(secs_of),
            term_info: None,
            metadata: Vec::new(),
            oversize: None,
        })
    }

    fn live(revision: u64, lease: u64) -> Entry {
        by(1, revision, Some(lease))
    }

    fn released(revision: u64, owed: u64, incarnation: Incarnation) -> Entry {
        let (revision, owed) = (Revision(revision), secs_of(owed));
        Entry::Released(Release { revision, write_id: None, owed, incarnation, successor: None })
    }

    /// Returns when the wait in the present incarnation ends after a watch showed each entry at its second. An unstated
    /// lease counts as 20 s; of a lease longer than an hour only 25 s are believed.
    fn owed(shown: &[(u64, Entry)]) -> Instant {
        owed_over(&[shown])
    }

    /// When the wait ends after several watches.
    fn owed_over(watches: &[&[(u64, Entry)]]) -> Instant {
        let mut sights = EarlySights::default();
        for shown in watches {
            sights.watch_began();
            shown.iter().for_each(|(secs, entry)| sights.observe(entry, at(*secs)));
        }
        let bound = |lease| if lease <= LONGEST_SHARED { lease } else { secs_of(25) };
        sights.owed(PRESENT).end(bound, secs_of(20))
    }

    #[test]
    fn each_revision_is_owed_its_lease_from_its_first_sight() {
        assert_eq!(owed(&[(1, live(4, 30)), (9, live(4, 30))]), at(31));
        assert_eq!(owed(&[(1, live(4, 30)), (9, live(5, 30))]), at(39));
        assert_eq!(owed(&[(1, live(4, 30)), (2, live(5, 10))]), at(31), "the latest of them");
    }

    #[test]
    fn a_lease_that_is_not_stated_or_not_believed_is_owed_as_long_as_the_store_says() {
        assert_eq!(owed(&[(1, by(1, 4, None))]), at(21));
        assert_eq!(owed(&[(1, live(4, 1_000_000)), (2, live(5, 5))]), at(26));
    }

    #[test]
    fn an_earlier_holder_with_a_longer_lease_may_have_renewed_unseen_until_the_next_one_came() {
        assert_eq!(owed(&[(1, by(1, 4, Some(30))), (9, by(2, 7, Some(10)))]), at(39));
    }

    #[test]
    fn an_absence_or_an_expiry_shortens_nothing() {
        assert_eq!(owed(&[(1, live(4, 30)), (2, Entry::Vacant)]), at(31));
        assert_eq!(owed(&[(1, live(4, 30)), (2, Entry::Expired { revision: Revision(5) })]), at(31));
    }

    #[test]
    fn a_release_of_the_incarnation_replaces_what_its_watch_showed_before_it() {
        assert_eq!(owed(&[(1, live(4, 30)), (2, released(5, 3, PRESENT))]), at(5));
        assert_eq!(owed(&[(1, live(4, 30)), (2, released(5, 3, PRESENT)), (6, live(6, 10))]), at(16));
    }

    #[test]
    fn a_release_of_another_incarnation_is_a_deletion() {
        assert_eq!(owed(&[(1, live(4, 30)), (2, released(5, 3, Incarnation(6)))]), at(32));
    }

    #[test]
    fn a_deletion_is_owed_the_longest_lease_that_is_known_of_its_holder() {
        let deleted =
            |lease: Option<u64>| Entry::Deleted { revision: Revision(5), lease: lease.map(secs_of) };
        assert_eq!(owed(&[(2, deleted(None))]), at(22), "the store's");
        assert_eq!(owed(&[(1, live(4, 30)), (2, deleted(None))]), at(32), "that of its last record");
        assert_eq!(owed(&[(1, live(4, 30)), (2, deleted(Some(40)))]), at(42), "the one that is stated");
    }

    #[test]
    fn a_release_that_another_watch_shows_shortens_nothing() {
        assert_eq!(owed_over(&[&[(1, live(4, 30))], &[(2, released(5, 0, PRESENT))]]), at(31));
    }

    #[test]
    fn what_another_watch_shows_again_may_be_of_another_incarnation() {
        assert_eq!(owed_over(&[&[(1, live(4, 30))], &[(9, live(4, 30))]]), at(39));
    }

    #[test]
    fn the_largest_token_is_kept_and_none_above_the_revision_of_its_record() {
        let of = |revision: u64, sequence: u64| match live(revision, 30) {
            Entry::Live(record) => {
                let token = Token { incarnation: PRESENT, sequence: Revision(sequence) };
                Entry::Live(Record { term_info: Some(TermInfo { token, led_for: None }), ..record })
            }
            other => other,
        };
        let mut sights = EarlySights::default();
        for entry in [of(9, 8), of(12, 11), of(10, 99)] {
            sights.observe(&entry, at(1));
        }
        assert_eq!(sights.token, Some(Token { incarnation: PRESENT, sequence: Revision(11) }));
    }
}
