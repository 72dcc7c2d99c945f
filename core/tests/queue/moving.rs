//! The companions of a connection move to another lease if one of them cannot be deleted, or if their lease is older
//! than the raft term.

use std::time::Duration;

use incumbent_core::Revision;
use incumbent_core::queue::{Change, Failure, Input, LeaseId, Snapshot, Timer, Told};
use incumbent_core::store::FaultKind;

use crate::harness::*;

/// The third lease of the connection's companions.
const D: LeaseId = LeaseId::of_companions(TERM, 0xd);

const DENIED: fn() -> Failure = || fault(FaultKind::Denied);

/// Creates a candidate that gave way and cannot delete its companion.
fn stranded() -> Bench {
    let mut bench = Bench::waiting();
    bench.next();
    loop {
        bench.kept();
        if bench.read_failed(DENIED()).contains(&"revoke A1".into()) {
            break;
        }
        while bench.next() != ["keep alive A1 B"] {}
    }
    assert_eq!(bench.revoked(1), ["leave 2 A1"]);
    assert_eq!(bench.failed(2, DENIED()), ["leave 3 A1 companion"]);
    assert_eq!(bench.failed(3, DENIED()), ["stranded on B"]);
    bench
}

/// Tries to delete the companion until another output follows. Returns that output, and how long it took.
fn until_something_follows(bench: &mut Bench) -> (Vec<String>, Duration) {
    let began = bench.now;
    loop {
        let asked = bench.next();
        let attempt = asked[0].strip_prefix("leave ").and_then(|text| text.strip_suffix(" A1 companion"));
        let attempt = attempt.and_then(|attempt| attempt.parse().ok()).expect("another deletion");
        let outputs = bench.failed(attempt, DENIED());
        if !outputs.is_empty() {
            return (outputs, bench.now.since(began));
        }
    }
}

/// Creates a leader that has to move its companion from B to C, and has begun the round for the move.
fn moving() -> Bench {
    let mut bench = Bench::leader();
    bench.sleep(secs(1));
    assert_eq!(bench.give(Input::Told(Told::Move { from: B, to: C })), ["keep alive A1 B C"]);
    bench
}

/// Answers the keep-alives of all three leases, and the read that follows.
fn round(bench: &mut Bench) -> Vec<String> {
    for lease in [bench.lease(1), B, C] {
        bench.kept_alive(lease, T, TERM);
    }
    let snapshot = bench.snapshot();
    bench.read(snapshot)
}

#[test]
fn a_companion_that_cannot_be_deleted_is_left_to_run_out_and_its_candidate_rests() {
    let mut bench = stranded();
    let (outputs, took) = until_something_follows(&mut bench);
    assert_eq!(outputs, ["warning Denied", "share, not B"]);
    assert!((T..T + secs(3)).contains(&took), "{took:?}");
    assert_eq!(
        bench.texts.last().map(String::as_str),
        Some(
            "the store refuses. A companion of a former place could not be deleted for a whole lease and blocks \
             this election; the other candidates of this process move to another lease, so that this one runs out"
        )
    );
    assert_eq!(bench.shared(C), ["all from B to C"]);
    bench.give(Input::Told(Told::Move { from: B, to: C }));

    assert_eq!(bench.give(Input::Told(Told::Left(B))), NOTHING);
    let (outputs, took) = until_something_follows(&mut bench);
    assert_eq!(outputs, ["read A1"]);
    assert_eq!(bench.read_failed(DENIED()), ["warning GAVE_WAY", "state WAITING"]);
    let certain = T + ms(500) + secs(2);
    assert!((certain..certain + secs(3)).contains(&took), "{took:?}");
    assert_eq!(bench.next(), ["grant A2"], "it probes");
    assert_eq!(bench.granted(2), ["keep alive A2 C"], "the probe no longer keeps the former lease alive");
}

#[test]
fn where_no_other_candidate_is_on_its_lease_a_companion_runs_out_at_once() {
    let mut bench = stranded();
    assert_eq!(
        bench.give(Input::Told(Told::Left(B))),
        ["share, not B"],
        "so that no candidate can start to keep it alive"
    );
    assert_eq!(bench.shared(C), ["all from B to C"]);
    bench.give(Input::Told(Told::Move { from: B, to: C }));
    bench.give(Input::Told(Told::Left(B)));
    let (outputs, took) = until_something_follows(&mut bench);
    assert_eq!(outputs, ["read A1"]);
    let certain = T + ms(500) + secs(2);
    assert!((certain..certain + secs(3)).contains(&took), "{took:?}");
    // A new leader of the store has extended the lease.
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), NOTHING);
    assert_eq!(until_something_follows(&mut bench).0, ["read A1"]);
    let mut gone = bench.snapshot();
    gone.companion = None;
    assert_eq!(bench.read(gone), ["warning GAVE_WAY", "state WAITING"]);
}

#[test]
fn a_companion_runs_out_a_lease_after_the_first_answer_that_follows_a_time_without_any() {
    let mut bench = stranded();
    bench.give(Input::Told(Told::Left(B)));
    bench.shared(C);
    bench.give(Input::Told(Told::Move { from: B, to: C }));
    bench.give(Input::Told(Told::Left(B)));
    bench.sleep(secs(1));
    let asked = bench.tick();
    let attempt = asked[0].strip_prefix("leave ").and_then(|text| text.strip_suffix(" A1 companion"));
    let attempt = attempt.and_then(|attempt| attempt.parse().ok()).expect("a deletion");
    assert_eq!(bench.failed(attempt, Failure::Unknown), ["reconnect"]);
    bench.give(Input::Reconnected);
    // The store elects a leader meanwhile.
    bench.sleep(T / 2);
    let (outputs, took) = until_something_follows(&mut bench);
    assert_eq!(outputs, ["read A1"]);
    let certain = T + ms(500) + secs(2);
    assert!((certain..certain + secs(3)).contains(&took), "{took:?}");
}

#[test]
fn a_companion_that_can_be_deleted_after_all_needs_no_other_lease() {
    let mut bench = stranded();
    assert_eq!(bench.next(), ["leave 4 A1 companion"]);
    // Another party may have written the place, which then would not disappear with its lease.
    assert_eq!(bench.removed(4), ["leave 5 A1"]);
    assert_eq!(bench.removed(5), ["warning GAVE_WAY", "state WAITING"]);
}

/// Creates a closed candidate that reads what is left, because its deletions were not answered for a lease.
fn unanswered() -> Bench {
    let mut bench = Bench::entering();
    bench.failed(1, Failure::Unknown);
    bench.give(Input::Close);
    bench.revoked(1);
    bench.failed(2, Failure::Unknown);
    bench.sleep(T);
    assert_eq!(bench.tick(), ["leave 3 A1", "state CLOSED"]);
    assert_eq!(bench.failed(3, Failure::Unknown), ["read A1"]);
    bench
}

#[test]
fn without_an_answer_to_its_deletion_a_companion_is_read_after_a_lease() {
    for shown in [true, false] {
        let mut bench = unanswered();
        let mut snapshot = bench.snapshot();
        if !shown {
            snapshot.place = None;
            snapshot.companion = None;
        }
        let outputs = bench.read(snapshot);
        match shown {
            true => assert_eq!(outputs, ["leave 4 A1 companion"]),
            false => assert!(outputs.is_empty() && bench.campaign.is_settled(), "{outputs:?}"),
        }
    }
}

#[test]
fn a_place_that_another_party_wrote_is_deleted_until_that_is_answered() {
    let mut bench = unanswered();
    let mut snapshot = bench.snapshot();
    snapshot.companion = None;
    assert!(snapshot.place.is_some(), "the place did not disappear with the lease");
    assert_eq!(bench.read(snapshot), NOTHING);
    assert_eq!(bench.next(), ["leave 4 A1"]);
    bench.removed(4);
    assert!(bench.campaign.is_settled());
}

#[test]
fn a_read_that_is_denied_is_no_answer_to_the_deletion_of_both_which_is_repeated_after_that_of_the_companion()
{
    let mut bench = unanswered();
    assert_eq!(bench.read_failed(DENIED()), ["leave 4 A1 companion"]);
    assert_eq!(bench.removed(4), ["leave 5 A1"], "a place that another party wrote may still exist");
    bench.removed(5);
    assert!(bench.campaign.is_settled());
}

#[test]
fn where_no_other_lease_can_be_had_the_former_one_stays_and_a_warning_says_what_that_costs() {
    let mut bench = stranded();
    until_something_follows(&mut bench);
    assert_eq!(bench.not_shared(fault(FaultKind::Broken)), ["warning Broken"]);
    assert_eq!(
        bench.texts.last().map(String::as_str),
        Some(
            "the store refuses. A companion cannot be deleted and its lease stays in use because no other lease is \
             available: this election has no leader until this is fixed or the process ends"
        )
    );
    let (outputs, took) = until_something_follows(&mut bench);
    assert_eq!(outputs, ["share, not B"], "asked again, and warned once");
    assert!((T / 3..T / 3 + secs(3)).contains(&took), "{took:?}");
}

#[test]
fn a_companion_moves_once_both_leases_are_kept_alive_and_is_moved_once_a_read_shows_it() {
    let mut bench = moving();
    assert_eq!(round(&mut bench), ["move 2 A1@10 C"]);
    assert_eq!(bench.remaining(), Some(T - M), "both were kept alive");
    assert_eq!(bench.wrote(2, applied(120)), ["keep alive A1 B C"], "an answer alone proves nothing");
    bench.companion_is_on(C, 120);
    assert_eq!(round(&mut bench), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
    assert_eq!(bench.next(), ["keep alive A1 C"], "and the former lease is left");
    bench.prove(|snapshot| snapshot);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn the_deadline_counts_only_where_the_lease_was_kept_alive_that_the_read_shows() {
    for (shown, extends) in [(B, false), (C, true)] {
        let mut bench = moving();
        bench.sleep(secs(1));
        bench.kept_alive(bench.lease(1), T, TERM);
        bench.keep_alive_failed(B, DENIED());
        bench.kept_alive(C, T, TERM);
        bench.companion_is_on(shown, 10);
        let snapshot = bench.snapshot();
        let outputs = bench.read(snapshot);
        let expected = if extends { vec![] } else { vec!["move 2 A1@10 C"] };
        assert_eq!(outputs, expected);
        let remaining = if extends { T - M } else { T - M - secs(2) };
        assert_eq!(bench.remaining(), Some(remaining));
    }
}

#[test]
fn a_companion_that_moves_is_ours_on_either_lease_and_on_no_third() {
    for (on, lost) in [(B, false), (C, false), (D, true)] {
        let mut bench = moving();
        round(&mut bench);
        bench.failed(2, Failure::Unknown);
        bench.give(Input::Reconnected);
        while bench.wake().is_some_and(|(timer, _)| timer != Timer::Answer) {
            bench.next();
        }
        bench.companion_is_on(on, 120);
        let outputs = round(&mut bench);
        assert_eq!(outputs.contains(&"lost 10 USURPED".into()), lost, "{outputs:?}");
        assert_eq!(bench.leads(), !lost);
    }
}

#[test]
fn a_move_without_an_answer_is_repeated_by_the_next_round_that_shows_the_companion_where_it_was() {
    let mut bench = moving();
    round(&mut bench);
    bench.failed(2, Failure::NotSent);
    assert_eq!(bench.next(), ["keep alive A1 B C"]);
    assert_eq!(round(&mut bench), ["move 3 A1@10 C"]);
    assert_eq!(bench.wrote(3, refused()), ["keep alive A1 B C"], "a read shows why the put was refused");
    bench.companion_is_on(B, 110);
    assert_eq!(round(&mut bench), ["move 4 A1@110 C"], "the put compares the revision that was read last");
}

#[test]
fn a_companion_that_cannot_be_put_onto_the_other_lease_stays_and_its_candidate_leads() {
    let mut bench = moving();
    round(&mut bench);
    assert_eq!(bench.failed(2, fault(FaultKind::Broken)), ["warning Broken"]);
    for attempt in 3..6 {
        assert_eq!(bench.next(), ["keep alive A1 B C"]);
        assert_eq!(round(&mut bench), [format!("move {attempt} A1@10 C")]);
        assert_eq!(bench.failed(attempt, fault(FaultKind::Broken)), NOTHING, "warned once");
        assert_eq!(bench.remaining(), Some(T - M));
    }
}

#[test]
fn a_lease_to_move_to_that_is_gone_is_given_up_and_ends_no_term() {
    let mut bench = moving();
    bench.kept_alive(bench.lease(1), T, TERM);
    bench.kept_alive(B, T, TERM);
    assert_eq!(bench.kept_alive(C, Duration::ZERO, TERM), ["share, not C", "read A1"]);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    bench.prove(|snapshot| snapshot);
    bench.give(shared(D));
    assert_eq!(bench.next(), ["keep alive A1 B D"], "another is moved to");
}

#[test]
fn while_a_put_may_be_applied_nothing_is_proved_without_the_lease_that_it_names() {
    let mut bench = moving();
    round(&mut bench);
    bench.failed(2, Failure::Unknown);
    bench.give(Input::Reconnected);
    bench.sleep(secs(1));
    bench.kept_alive(bench.lease(1), T, TERM);
    bench.kept_alive(B, T, TERM);
    assert_eq!(bench.kept_alive(C, Duration::ZERO, TERM), ["read A1"]);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["move 3 A1@10 C"]);
    assert_eq!(bench.remaining(), Some(T - M - secs(1)));
    // The store refuses this put as a whole, because it names a missing lease. Every earlier put is refused too.
    assert_eq!(bench.failed(3, Failure::LeaseGone), ["share, not C", "keep alive A1 B"]);
    bench.prove(|snapshot| snapshot);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_former_lease_that_is_gone_ends_no_term_where_the_companion_has_left_it() {
    for (shown, leads) in [(Some(C), true), (None, false)] {
        let mut bench = moving();
        round(&mut bench);
        bench.wrote(2, applied(120));
        bench.sleep(secs(1));
        bench.kept_alive(bench.lease(1), T, TERM);
        assert_eq!(
            bench.kept_alive(B, Duration::ZERO, TERM),
            NOTHING,
            "the companion may be on the other lease"
        );
        assert_eq!(bench.kept_alive(C, T, TERM), ["read A1"]);
        bench.companion_is_on(C, 120);
        let mut snapshot = bench.snapshot();
        snapshot.companion = snapshot.companion.filter(|_| shown.is_some());
        let outputs = bench.read(snapshot);
        assert_eq!(outputs.contains(&"lost 10 DELETED".into()), !leads, "{outputs:?}");
        assert_eq!(bench.remaining(), leads.then_some(T - M));
    }
}

#[test]
fn one_move_ends_before_the_next_begins() {
    let mut bench = moving();
    round(&mut bench);
    assert_eq!(bench.give(Input::Told(Told::Move { from: C, to: D })), NOTHING);
    assert_eq!(bench.wrote(2, applied(120)), ["keep alive A1 B C"]);
    bench.companion_is_on(C, 120);
    round(&mut bench);
    assert_eq!(bench.next(), ["keep alive A1 C D"]);
}

#[test]
fn a_name_that_is_written_after_a_move_compares_that_and_hangs_on_the_lease_moved_to() {
    let mut bench = moving();
    round(&mut bench);
    bench.wrote(2, applied(120));
    bench.companion_is_on(C, 120);
    round(&mut bench);
    assert_eq!(bench.give(Input::HandOver("next".into())), ["keep alive A1 C"]);
    let outputs = bench.prove(|snapshot| snapshot.ours(50, "other").ours(60, "next"));
    assert_eq!(outputs, ["name 3 A1@120 C next"]);
}

#[test]
fn a_name_that_is_written_as_the_move_is_shown_hangs_on_the_lease_moved_to() {
    let mut bench = moving();
    round(&mut bench);
    bench.wrote(2, applied(120));
    bench.companion_is_on(C, 120);
    bench.give(Input::HandOver("next".into()));
    for lease in [bench.lease(1), B, C] {
        bench.kept_alive(lease, T, TERM);
    }
    let snapshot = bench.snapshot().ours(50, "other").ours(60, "next");
    assert_eq!(bench.read(snapshot), ["name 3 A1@120 C next"]);
}

#[test]
fn a_candidate_that_was_entering_on_the_former_lease_moves_its_companion() {
    let mut bench = Bench::entering();
    assert_eq!(bench.give(Input::Told(Told::Move { from: B, to: C })), NOTHING);
    bench.failed(1, Failure::Unknown);
    bench.give(Input::Reconnected);
    assert_eq!(
        bench.next(),
        ["enter 2 A1 B", "state ACQUIRING"],
        "the same lease, because the first transaction may have been applied"
    );
    let outputs = bench.applied(2, R);
    assert!(outputs.contains(&"keep alive A1 B C".into()), "{outputs:?}");
    assert!(bench.campaign.keeps_companion_on(B));
}

#[test]
fn an_answer_that_is_older_than_the_move_shares_the_former_lease_no_more() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    bench.granted(1);
    bench.give(Input::Told(Told::Move { from: B, to: C }));
    assert_eq!(bench.shared(B), ["state WAITING"]);
    assert_eq!(bench.next(), ["share, not B", "state ACQUIRING"]);
    assert_eq!(bench.shared(C), ["enter 1 A1 C"]);
}

#[test]
fn a_lease_that_may_not_be_kept_alive_any_more_is_left_for_another() {
    let mut bench = Bench::leader();
    bench.next();
    bench.kept_alive(bench.lease(1), T, TERM);
    assert_eq!(bench.keep_alive_failed(B, DENIED()), ["warning Denied", "share, not B"]);
    assert_eq!(bench.give(shared(C)), ["all from B to C"]);
    assert_eq!(bench.give(Input::Told(Told::Move { from: B, to: C })), ["keep alive A1 B C"]);
    bench.kept_alive(bench.lease(1), T, TERM);
    bench.kept_alive(C, T, TERM);
    assert_eq!(bench.keep_alive_failed(B, DENIED()), ["read A1"]);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["move 2 A1@10 C"]);
    bench.wrote(2, applied(120));
    bench.kept_alive(bench.lease(1), T, TERM);
    bench.kept_alive(C, T, TERM);
    bench.keep_alive_failed(B, DENIED());
    bench.companion_is_on(C, 120);
    let snapshot = bench.snapshot();
    bench.read(snapshot);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn another_lease_of_candidates_with_another_lease_time_concerns_no_other_candidate() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Told(Told::Move { from: C, to: D })), NOTHING);
    assert_eq!(bench.next(), ["keep alive A1 B"]);
}

#[test]
fn others_that_move_are_no_change_of_ones_own() {
    let mut bench = moving();
    round(&mut bench);
    let change = Change {
        revision: Revision(120),
        rewritten_companions: vec![bench.lease(1).to_string()],
        ..Change::default()
    };
    assert_eq!(bench.give(Input::Watched(change)), NOTHING, "our own companion");
}

/// A lease of the next raft term after the bench's.
const NEW: LeaseId = LeaseId::of_companions(TERM + 1, 0xe);

/// Answers the keep-alives of these leases and the read that follows, in the next raft term after the bench's.
fn round_in_the_next_term(bench: &mut Bench, leases: &[LeaseId]) -> Vec<String> {
    for lease in [bench.lease(1)].iter().chain(leases) {
        bench.kept_alive(*lease, T, TERM + 1);
    }
    let mut snapshot = bench.snapshot();
    snapshot.raft_term = TERM + 1;
    bench.read(snapshot)
}

/// Creates a leader whose companion is on a lease of the former raft term, while its connection has a lease of the next
/// term.
fn renewing() -> Bench {
    let mut bench = Bench::leader();
    bench.next();
    round_in_the_next_term(&mut bench, &[B]);
    bench.give(shared(NEW));
    bench
}

#[test]
fn a_companion_on_a_lease_that_is_older_than_the_raft_term_moves_to_one_of_that_term() {
    let mut bench = Bench::leader();
    bench.next();
    assert_eq!(round_in_the_next_term(&mut bench, &[B]), ["share, not B"]);
    assert_eq!(bench.remaining(), Some(T - M), "the proof counts");
    assert_eq!(bench.give(shared(NEW)), NOTHING, "there is no haste");
    assert_eq!(bench.next(), ["keep alive A1 B E"]);
    assert_eq!(round_in_the_next_term(&mut bench, &[B, NEW]), ["move 2 A1@10 E"]);
    assert_eq!(bench.wrote(2, applied(120)), ["keep alive A1 B E"]);
    bench.companion_is_on(NEW, 120);
    assert_eq!(round_in_the_next_term(&mut bench, &[B, NEW]), NOTHING);
    assert_eq!(bench.next(), ["keep alive A1 E"]);
    assert_eq!(round_in_the_next_term(&mut bench, &[NEW]), NOTHING, "the lease is of this raft term");
    assert!(bench.leads());
}

#[test]
fn where_no_lease_of_the_raft_term_is_to_be_had_it_is_asked_for_at_the_next_proof() {
    let mut bench = Bench::leader();
    bench.next();
    round_in_the_next_term(&mut bench, &[B]);
    assert_eq!(bench.not_shared(DENIED()), NOTHING);
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    assert_eq!(round_in_the_next_term(&mut bench, &[B]), ["share, not B"]);
    assert!(bench.leads());
}

#[test]
fn a_companion_that_cannot_be_put_onto_a_lease_of_the_raft_term_stays_without_a_warning() {
    let mut bench = renewing();
    bench.next();
    round_in_the_next_term(&mut bench, &[B, NEW]);
    assert_eq!(bench.failed(2, DENIED()), NOTHING);
    assert_eq!(bench.next(), ["keep alive A1 B E"]);
    assert_eq!(round_in_the_next_term(&mut bench, &[B, NEW]), ["move 3 A1@10 E"], "it is tried again");
    assert!(bench.leads());
}

#[test]
fn an_answer_that_shares_a_lease_of_an_earlier_raft_term_comes_too_late() {
    let mut bench = renewing();
    bench.give(shared(B));
    assert_eq!(bench.next(), ["keep alive A1 B E"]);
}

#[test]
fn a_companion_moves_from_a_lease_of_a_term_to_come_that_the_store_had_before_it_was_restored() {
    let mut bench = renewing();
    bench.next();
    round_in_the_next_term(&mut bench, &[B, NEW]);
    bench.wrote(2, applied(120));
    bench.companion_is_on(NEW, 120);
    round_in_the_next_term(&mut bench, &[B, NEW]);
    bench.next();
    // The next read is of an earlier term, and so are its keep-alives.
    bench.kept_alive(bench.lease(1), T, TERM);
    bench.kept_alive(NEW, T, TERM);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["share, not E"]);
    bench.give(shared(D));
    assert_eq!(bench.next(), ["keep alive A1 E D"]);
}

/// Shows the first companion on this lease.
fn on(mut snapshot: Snapshot, lease: LeaseId) -> Snapshot {
    snapshot.companions[0].lease = Some(lease);
    snapshot
}

#[test]
fn a_companion_that_is_ahead_for_a_lease_without_its_place_has_all_leave_its_lease() {
    let mut bench = Bench::placed();
    let behind = |snapshot: Snapshot| on(snapshot.companion(5), B);
    assert_eq!(bench.prove(behind), ["leader me"]);
    for _ in 0..2 {
        bench.next();
        assert_eq!(bench.prove(behind), NOTHING);
    }
    bench.next();
    assert_eq!(bench.prove(behind), ["share, not B"], "a lease after the companion was first read");
    assert_eq!(bench.shared(C), ["all from B to C"]);
    bench.next();
    assert_eq!(bench.prove(behind), NOTHING, "once in a lease");
}
