//! The win: one test for each kind of record below the claim, and for the other conditions.

use std::time::Duration;

use incumbent_core::campaign::{Preset, Settings, WinDelay};
use incumbent_core::induction::{Answer, Failure, Group, Input, Kind, Record, Shown, Timer, Topic};
use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};

use crate::harness::*;

/// The outputs of a win whose claim is at this offset.
fn won(offset: u64) -> Vec<String> {
    vec![format!("won {offset}"), "heartbeat 2".into(), "state LEADING".into()]
}

/// Proves a claim at once, one second after the last of these records was read. Returns the time until the win.
fn wait_after(records: &[(u128, Kind)]) -> Duration {
    let mut bench = Bench::member();
    for (author, kind) in records {
        bench.other(*author, *kind);
    }
    bench.sleep(secs(1));
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    match bench.committed(1) {
        outputs if outputs.iter().any(|output| output.starts_with("won")) => Duration::ZERO,
        _ => bench.time_to_win(assigned),
    }
}

#[test]
fn an_owner_claims_commits_reads_back_and_wins() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Campaign), ["join", "state WAITING"]);
    assert_eq!(bench.assigned_only(), ["ask token 1", "state ACQUIRING"]);
    assert_eq!(bench.informed(""), ["claim 1"]);
    assert_eq!(bench.appended(1), ["inspect", "commit 1 11"]);
    assert_eq!(bench.read_back(1, Kind::Claim), NOTHING);
    assert_eq!(bench.inspected(), NOTHING);
    assert_eq!(bench.committed(1), won(10));
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn after_a_clean_release_the_win_is_at_once() {
    assert_eq!(wait_after(&[(1, Kind::Claim), (1, Kind::Heartbeat), (1, released(11))]), Duration::ZERO);
}

#[test]
fn our_own_records_do_not_spoil_a_release() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    bench.other(1, released(10));
    bench.assigned();
    bench.appended(1);
    bench.read_back(1, Kind::Claim);
    bench.not_committed(1, Failure::Refused);
    bench.give(Answer::Revoked);
    // The next claim lies above our own first claim.
    bench.assigned();
    bench.claimed(2);
    assert_eq!(bench.committed(2), ["won 13", "heartbeat 3", "state LEADING"]);
}

#[test]
fn over_a_heartbeat_the_win_waits_a_lease_from_its_first_sight() {
    assert_eq!(wait_after(&[(1, Kind::Claim), (1, Kind::Heartbeat)]), T - secs(1));
}

#[test]
fn over_a_claim_the_win_waits_as_well() {
    assert_eq!(wait_after(&[(1, Kind::Claim)]), T - secs(1));
}

#[test]
fn over_a_release_with_a_third_candidate_in_its_range_the_win_waits() {
    assert_eq!(wait_after(&[(1, Kind::Heartbeat), (2, Kind::Heartbeat), (1, released(10))]), T - secs(1));
}

#[test]
fn over_a_record_of_gonelis_the_win_waits_its_five_seconds() {
    assert_eq!(wait_after(&[(0, Kind::Heartbeat)]), secs(4));
    let mut bench =
        Bench::with(Settings { preset: Preset::Fast, lease: Some(secs(2)), ..settings() }, Group::default());
    bench.give(Input::Campaign);
    bench.other(0, Kind::Heartbeat);
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(
        bench.time_to_win(assigned),
        secs(5),
        "other software's lease is waited for, though our own is shorter"
    );
}

#[test]
fn a_record_that_names_a_longer_lease_is_waited_for_as_long() {
    let mut bench = Bench::member();
    let longer = Record { lease: Some(secs(9)), ..record(10, 1, Kind::Heartbeat) };
    bench.give(Shown::Record(longer));
    bench.next = 11;
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), secs(9));
}

#[test]
fn a_record_that_is_read_after_the_assignment_is_waited_for_from_the_assignment() {
    let mut bench = Bench::member();
    let assigned = bench.now;
    bench.assigned();
    bench.sleep(ms(300));
    bench.other(1, Kind::Heartbeat);
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T);
}

#[test]
fn records_above_the_claim_change_nothing() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.claimed(1);
    bench.other(1, Kind::Heartbeat);
    assert_eq!(bench.committed(1), won(10));
}

#[test]
fn an_empty_log_is_waited_for_from_the_beginning_of_its_reading() {
    let mut bench = Bench::member();
    bench.give(Shown::Gap);
    bench.sleep(secs(2));
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T - secs(2));
}

#[test]
fn what_was_not_read_counts_as_first_observed_behind_the_gap() {
    let mut bench = Bench::member_after(&[(1, Kind::Heartbeat)]);
    // Offset 11 is missing.
    bench.next = 12;
    bench.other(1, released(10));
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T);
}

#[test]
fn no_win_comes_before_the_claim_is_read_back() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.appended(1);
    bench.inspected();
    assert_eq!(bench.committed(1), ["state HOLDING"]);
    assert_eq!(bench.read_back(1, Kind::Claim), won(10));
}

#[test]
fn no_win_comes_before_a_commit_is_acknowledged() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.claimed(1);
    assert!(!bench.leads() && bench.remaining().is_none());
    assert_eq!(bench.committed(1), won(10));
}

#[test]
fn a_claim_may_be_read_back_before_its_append_is_reported() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.read_back_at(1, Kind::Claim, 10);
    assert_eq!(bench.appended(1), ["inspect", "commit 1 11"]);
    bench.inspected();
    assert_eq!(bench.committed(1), won(10));
}

#[test]
fn without_the_topics_id_the_win_waits_from_the_assignment_whatever_lies_below() {
    for clean in [false, true] {
        let mut bench = Bench::member();
        if clean {
            bench.other(1, released(9));
        }
        bench.sleep(secs(60));
        let assigned = bench.now;
        bench.assigned();
        bench.appended(1);
        bench.read_back(1, Kind::Claim);
        bench.inspected_as(None);
        bench.topic = None;
        bench.committed(1);
        assert_eq!(bench.time_to_win(assigned), T, "clean: {clean}");
    }
}

#[test]
fn an_id_that_was_asked_for_before_the_claim_was_appended_confirms_nothing() {
    let mut bench = Bench::member();
    let asked_at = bench.now;
    bench.assigned();
    bench.sleep(ms(5));
    bench.appended(1);
    bench.read_back(1, Kind::Claim);
    let topic = Topic { asked_at, id: Some(TOPIC), time_of_day: ms(DAY) };
    bench.give(Answer::Inspected(Ok(topic)));
    assert_eq!(bench.committed(1), ["state HOLDING"]);
    assert_eq!(bench.inspected()[0], "won 10");
}

#[test]
fn a_win_whose_lease_ran_out_during_the_wait_is_not_reported() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    bench.sleep(T);
    let outputs = bench.tick();
    assert!(!outputs.iter().any(|output| output.starts_with("won")), "{outputs:?}");
    assert!(!bench.leads());
}

#[test]
fn cautious_and_fixed_waits_are_floors() {
    for (win_delay, expected) in
        [(WinDelay::Cautious, T), (WinDelay::Fixed(secs(3)), secs(3)), (WinDelay::Automatic, secs(0))]
    {
        let mut bench = Bench::with(Settings { win_delay, ..settings() }, Group::default());
        bench.give(Input::Campaign);
        let assigned = bench.now;
        bench.assigned();
        bench.claimed(1);
        let outputs = bench.committed(1);
        let at_once = outputs.iter().any(|output| output.starts_with("won"));
        let waited = if at_once { Duration::ZERO } else { bench.time_to_win(assigned) };
        assert_eq!(waited, expected, "{win_delay:?}");
    }
}

#[test]
fn a_claim_in_a_part_of_the_log_that_was_not_read_is_replaced() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    bench.assigned();
    bench.appended(1);
    bench.give(Shown::Gap);
    assert_eq!(bench.other(1, Kind::Heartbeat), ["claim 2"]);
}

#[test]
fn a_claim_that_is_not_appended_is_published_again() {
    let mut bench = Bench::member();
    bench.assigned();
    assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Answer));
    assert_eq!(bench.until(Timer::Answer), NOTHING);
    assert_eq!(bench.until(Timer::Renew), ["claim 2"]);
    // The first claim was appended after all, but does not count.
    bench.read_back_at(1, Kind::Claim, 10);
    bench.next = 11;
    assert_eq!(bench.appended(2), ["inspect", "commit 2 12"]);
    bench.read_back(2, Kind::Claim);
    bench.inspected();
    assert_eq!(bench.committed(2)[0], "won 11");
}

#[test]
fn of_very_many_claims_that_are_not_appended_within_a_long_lease_the_newest_are_remembered() {
    let mut bench = Bench::member_with(Settings { lease: Some(secs(600)), ..settings() });
    bench.assigned();
    for attempt in 1..=300 {
        bench.not_appended(attempt, Failure::Unknown);
        assert_eq!(bench.until(Timer::Renew), [format!("claim {}", attempt + 1)]);
    }
    assert_eq!(bench.appended(301), ["inspect", "commit 301 11"]);
}

#[test]
fn a_restarted_candidate_waits_for_the_records_of_its_former_self() {
    let mut bench = Bench::member();
    let write_id = Some(WriteId { nonce: Nonce(0xb), attempt: Attempt(4) });
    bench.give(Shown::Record(Record { name: "me".into(), write_id, ..record(10, 1, Kind::Heartbeat) }));
    bench.next = 11;
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T);
}

#[test]
fn the_incarnation_is_the_largest_at_the_claim_or_below() {
    let mut bench = Bench::claimed_above(DAY + 7);
    // The claim was committed before it was read back, so its commit stated a smaller token than the term's. The win
    // waits for the next commit.
    assert_eq!(bench.committed(1), ["heartbeat 2", "state HOLDING"]);
    bench.renewed(2);
    assert_eq!(bench.token(), Some(token(DAY + 7, 11)));
}

#[test]
fn the_first_claim_of_a_topic_states_the_time_of_day_and_later_ones_copy_what_lies_below() {
    let mut bench = Bench::member();
    bench.sleep(ms(50));
    bench.assigned();
    let stated = format!("{:016x}-{:016x} -------------", DAY + 50, 0);
    assert_eq!(bench.header(1, "Incumbent-Term"), Some(stated));
    bench.claimed(1);
    bench.not_committed(1, Failure::Refused);
    bench.give(Answer::Revoked);
    bench.sleep(ms(50));
    bench.assigned();
    assert_eq!(bench.header(2, "Incumbent-Term"), bench.header(1, "Incumbent-Term"));
}

#[test]
fn a_claim_that_would_not_be_above_every_token_observed_is_replaced_by_one_of_a_larger_incarnation() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(DAY + 9, 500), led_for: Some(secs(1)) };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(10, 1, released(9)) }));
    bench.next = 11;
    bench.assigned();
    bench.claimed(1);
    assert_eq!(bench.committed(1), ["warning STORE_RESET", "claim 2", "state HOLDING"]);
    bench.claimed(2);
    bench.committed(2);
    assert_eq!(bench.token(), Some(token(DAY + 10, 12)));
}
