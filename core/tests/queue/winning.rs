//! The conditions under which a proof is a win.

use incumbent_core::campaign::{Settings, WinDelay};
use incumbent_core::queue::{Companion, Failure, Input, LeaseId, Timer};

use crate::harness::*;

#[test]
fn the_first_in_both_queues_wins_with_the_creation_of_its_place_as_its_token() {
    let mut bench = Bench::placed();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
    let token = bench.campaign.lease().expect("a lease").token;
    assert_eq!((token.incarnation, token.sequence.0), (BIRTH, R));
}

#[test]
fn candidates_behind_change_nothing() {
    let mut bench = Bench::placed();
    let outputs = bench.prove(|snapshot| snapshot.ours(11, "other").foreign(12, "go"));
    assert_eq!(outputs, ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn a_foreign_place_ahead_is_waited_for() {
    let mut bench = Bench::placed();
    assert_eq!(bench.prove(|snapshot| snapshot.foreign(5, "go")), ["leader go"]);
    assert!(!bench.leads());
}

#[test]
fn a_companion_ahead_whose_place_is_gone_is_waited_for() {
    let mut bench = Bench::placed();
    assert_eq!(bench.prove(|snapshot| snapshot.companion(5)), ["leader me"]);
    assert!(!bench.leads());
}

#[test]
fn a_release_of_the_last_one_ahead_is_worth_a_read_and_that_read_wins() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.released(5), ["read A1"]);
    assert!(!bench.leads(), "a watch proves nothing");
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn a_win_by_a_read_has_the_deadline_of_the_keep_alives_before_it() {
    let mut bench = Bench::waiting();
    bench.sleep(secs(3));
    bench.released(5);
    let snapshot = bench.snapshot();
    bench.read(snapshot);
    let deadline = bench.campaign.lease().unwrap().deadline;
    let mut early = Bench::waiting();
    early.released(5);
    let snapshot = early.snapshot();
    early.read(snapshot);
    assert_eq!(deadline, early.campaign.lease().unwrap().deadline);
    // The next round is due as usual, and extends the lease.
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    bench.prove(|snapshot| snapshot);
    assert!(bench.campaign.lease().unwrap().deadline > deadline);
}

#[test]
fn a_read_of_another_raft_term_than_the_keep_alives_before_it_does_not_win() {
    let mut bench = Bench::waiting();
    bench.released(5);
    let mut snapshot = bench.snapshot();
    snapshot.raft_term = TERM + 1;
    assert_eq!(bench.read(snapshot), ["keep alive A1 B"]);
    assert!(!bench.leads());
}

#[test]
fn a_change_after_the_deadline_of_the_last_keep_alives_begins_a_round() {
    let mut bench = Bench::waiting();
    bench.sleep(T);
    assert_eq!(bench.released(5), ["keep alive A1 B"]);
}

#[test]
fn the_disappearance_of_one_of_two_ahead_is_worth_no_round() {
    let mut bench = Bench::placed();
    bench.prove(|snapshot| snapshot.ours(5, "other").foreign(6, "go"));
    assert_eq!(bench.released(5), NOTHING);
    assert_eq!(bench.vanished(6), ["read A1"]);
}

#[test]
fn without_a_watch_the_next_round_elects() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.wake(), Some((Timer::Round, secs(10))));
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn after_a_watch_gap_the_whole_queue_is_read() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.give(Input::Watching { since: bench.now }), ["keep alive A1 B"]);
    assert_eq!(bench.kept(), ["read A1 and all"]);
}

#[test]
fn a_proof_that_is_over_when_it_comes_wins_nothing() {
    let mut bench = Bench::placed();
    // The process is stopped after the keep-alives and before the read's answer.
    bench.kept();
    bench.sleep(T - M);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["leader me", "state HOLDING"]);
    assert!(!bench.leads());
}

#[test]
fn a_win_waits_a_lease_after_the_first_sight_of_a_birth_record() {
    let mut bench = Bench::with_info(settings(), |info| incumbent_core::store::StoreInfo {
        asked_at: info.asked_at + secs(60),
        ..info
    });
    bench.give(Input::Campaign);
    bench.granted(1);
    bench.shared(B);
    bench.applied(1, R);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    for _ in 0..2 {
        bench.next();
        assert_eq!(bench.prove(|snapshot| snapshot), NOTHING);
    }
    assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Owed));
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

#[test]
fn a_name_that_was_never_used_owes_nothing() {
    let mut bench = Bench::with_info(settings(), |info| incumbent_core::store::StoreInfo {
        asked_at: info.asked_at + secs(60),
        never_used: true,
        ..info
    });
    bench.give(Input::Campaign);
    bench.granted(1);
    bench.shared(B);
    bench.applied(1, R);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn after_another_deleted_our_companion_a_lease_is_owed() {
    let mut bench = Bench::waiting();
    bench.next();
    let lost = bench.prove(|mut snapshot| {
        (snapshot.place, snapshot.companion) = (None, None);
        snapshot.places.clear();
        snapshot.companions.clear();
        snapshot
    });
    assert_eq!(lost, ["leave 2 A1@10", "state RELEASING"]);
    bench.removed(2);
    bench.revoked(1);
    assert_eq!(bench.granted(2), ["enter 3 A2 B"]);
    bench.applied(3, 20);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    bench.sleep(T);
    assert_eq!(bench.tick(), ["keep alive A2 B"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 20", "state LEADING"]);
}

#[test]
fn a_companion_that_ran_out_with_its_lease_owes_nothing() {
    let mut bench = Bench::waiting();
    bench.next();
    bench.kept_as(T, ms(0), TERM);
    bench.removed(2);
    bench.revoked(1);
    bench.granted(2);
    bench.shared(C);
    bench.applied(3, 20);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 20", "state LEADING"]);
}

#[test]
fn where_leases_may_be_older_than_the_raft_term_a_newcomer_waits_a_lease() {
    let mut bench = Bench::placed_in_a_later_term();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    bench.sleep(T);
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

/// Creates a candidate that waited for a lease behind another candidate of ours. The lease of that candidate's
/// companion is older than the raft term.
fn waiting_in_a_later_term() -> Bench {
    let mut bench = Bench::placed_in_a_later_term();
    bench.prove(|snapshot| snapshot.ours(5, "other"));
    bench.sleep(T);
    bench.tick();
    bench.prove(|snapshot| snapshot.ours(5, "other"));
    bench
}

#[test]
fn a_companion_whose_lease_is_older_than_the_raft_term_is_waited_out_where_it_was_not_released() {
    let mut bench = waiting_in_a_later_term();
    assert_eq!(bench.vanished(5), ["read A1"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    bench.sleep(T);
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

/// Puts the companion of the candidate ahead on a lease of this raft term.
fn on_a_lease_of(raft_term: u64, companion: &mut Companion) {
    companion.lease = Some(LeaseId::of_companions(raft_term, 0xef));
}

#[test]
fn a_companion_whose_lease_is_of_the_raft_term_of_the_read_that_does_not_show_it_owes_nothing() {
    let mut bench = waiting_in_a_later_term();
    bench.next();
    // The companion moved to a lease of this raft term.
    bench.prove(|snapshot| {
        let mut snapshot = snapshot.ours(5, "other");
        on_a_lease_of(TERM + 1, &mut snapshot.companions[0]);
        snapshot
    });
    assert_eq!(bench.vanished(5), ["read A1"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn while_the_store_has_its_first_leader_a_companion_that_vanished_owes_nothing_whatever_its_lease() {
    let mut bench = Bench::placed();
    bench.prove(|snapshot| {
        let mut snapshot = snapshot.ours(5, "other");
        on_a_lease_of(TERM - 1, &mut snapshot.companions[0]);
        snapshot
    });
    bench.next();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn a_companion_that_is_missing_in_a_later_raft_term_is_waited_out_from_when_that_is_noticed() {
    let mut bench = Bench::waiting();
    let next_term = |mut snapshot: incumbent_core::queue::Snapshot| {
        snapshot.raft_term = TERM + 1;
        snapshot
    };
    bench.next();
    bench.kept_as(T, T, TERM + 1);
    let snapshot = next_term(bench.snapshot());
    assert_eq!(bench.read(snapshot), ["leader me", "share, not B", "state HOLDING"]);
    bench.sleep(T);
    bench.tick();
    bench.kept_as(T, T, TERM + 1);
    let snapshot = next_term(bench.snapshot());
    assert_eq!(bench.read(snapshot), ["won 10", "share, not B", "state LEADING"]);
}

#[test]
fn a_release_is_waited_for_no_longer_whatever_lease_the_companion_was_on() {
    let mut bench = waiting_in_a_later_term();
    assert_eq!(bench.released(5), ["read A1"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn a_release_that_the_watch_shows_after_the_read_ends_the_wait() {
    let mut bench = waiting_in_a_later_term();
    bench.next();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    assert_eq!(bench.released(5), ["read A1"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

#[test]
fn a_release_that_the_watch_showed_before_an_older_read_costs_no_lease() {
    let mut bench = waiting_in_a_later_term();
    bench.give(Input::Watching { since: bench.now });
    assert_eq!(bench.kept(), ["read A1 and all"]);
    // The store answered the read before the release, but the answer arrives after the watch showed the release.
    let before = bench.snapshot().ours(5, "other");
    bench.released(5);
    bench.read(before);
    bench.next();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn where_leases_may_be_older_than_the_raft_term_a_lease_is_owed_from_the_first_read_of_the_queue() {
    let mut bench = Bench::placed_in_a_later_term();
    // The store has no leader for longer than a lease. So no read shows who was ahead, or that their leases were
    // revoked.
    bench.kept();
    bench.read_failed(Failure::Unknown);
    bench.sleep(T);
    assert_eq!(bench.tick(), ["keep alive A1 B"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    bench.sleep(T - ms(1));
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), NOTHING);
    bench.sleep(ms(1));
    assert_eq!(bench.tick(), ["keep alive A1 B"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

#[test]
fn the_users_win_delay_counts_from_the_first_read_of_the_queue() {
    for (win_delay, wait) in [(WinDelay::Cautious, T), (WinDelay::Fixed(secs(4)), secs(4))] {
        let mut bench = Bench::placed_with(Settings { win_delay, ..settings() });
        bench.kept();
        bench.read_failed(Failure::Unknown);
        bench.sleep(T);
        bench.tick();
        assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
        bench.sleep(wait);
        bench.tick();
        assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
    }
}

#[test]
fn a_lease_owed_for_a_deleted_companion_counts_from_the_first_read_of_the_queue() {
    let mut bench = Bench::waiting();
    bench.next();
    bench.prove(|mut snapshot| {
        (snapshot.place, snapshot.companion) = (None, None);
        snapshot.places.clear();
        snapshot.companions.clear();
        snapshot
    });
    bench.removed(2);
    bench.revoked(1);
    bench.granted(2);
    bench.applied(3, 20);
    bench.kept();
    bench.read_failed(Failure::Unknown);
    bench.sleep(T);
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    bench.sleep(T);
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 20", "state LEADING"]);
}

#[test]
fn one_that_vanished_between_two_reads_is_waited_out_though_it_was_never_first() {
    let mut bench = Bench::placed_in_a_later_term();
    bench.prove(|snapshot| snapshot.ours(4, "x").ours(5, "y").ours(6, "z"));
    bench.sleep(T);
    bench.tick();
    bench.prove(|snapshot| snapshot.ours(4, "x").ours(5, "y").ours(6, "z"));
    bench.released(4);
    bench.released(5);
    bench.next();
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"], "z vanished");
}

#[test]
fn a_longer_lease_of_another_candidate_is_what_is_owed() {
    let mut bench = Bench::placed_in_a_later_term();
    bench.prove(|snapshot| {
        let mut snapshot = snapshot.ours(5, "other");
        snapshot.companions[0].lease_time = secs(60);
        snapshot
    });
    bench.sleep(secs(60));
    bench.tick();
    bench.prove(|snapshot| snapshot.ours(5, "other"));
    bench.vanished(5);
    bench.prove(|snapshot| snapshot);
    bench.sleep(secs(59));
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), NOTHING);
    bench.sleep(secs(1));
    bench.tick();
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

#[test]
fn the_users_win_delay_is_a_floor() {
    for (win_delay, wait) in [(WinDelay::Cautious, T), (WinDelay::Fixed(secs(4)), secs(4))] {
        let mut bench = Bench::placed_with(Settings { win_delay, ..settings() });
        assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
        bench.sleep(wait);
        bench.tick();
        assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
    }
}
