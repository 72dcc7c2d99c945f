//! What the log shows about the leader.

use incumbent_core::campaign::Leader;
use incumbent_core::induction::{Kind, Record, Shown, Timer};
use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};

use crate::harness::*;

fn heartbeat(offset: u64, author: u128, led_for: Option<std::time::Duration>) -> Record {
    let term_info = Some(TermInfo { token: token(DAY, 3), led_for });
    Record { term_info, ..record(offset, author, Kind::Heartbeat) }
}

#[test]
fn the_leader_is_the_candidate_that_last_wrote_that_it_leads() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Shown::Record(heartbeat(10, 1, None))), NOTHING, "a holder without a win");
    assert_eq!(bench.give(Shown::Record(heartbeat(11, 1, Some(secs(1))))), ["leader other"]);
    assert_eq!(bench.give(Shown::Record(heartbeat(12, 1, Some(secs(2))))), NOTHING);
    let leader = bench.campaign.leader().map(|leader: &Leader| (leader.nonce, leader.revision.0));
    assert_eq!(leader, Some((Some(Nonce(1)), 11)));
}

#[test]
fn a_leader_that_writes_no_more_counts_for_its_lease_after_it_was_first_observed() {
    let mut bench = Bench::new();
    bench.give(Shown::Record(heartbeat(10, 1, Some(secs(1)))));
    bench.sleep(secs(2));
    bench.give(Shown::Record(heartbeat(11, 1, Some(secs(3)))));
    assert_eq!(bench.wake(), Some((Timer::Vacant, T)));
    assert_eq!(bench.until(Timer::Vacant), ["leader none"]);
}

#[test]
fn a_release_of_the_leader_makes_the_election_vacant_at_once() {
    let mut bench = Bench::new();
    bench.give(Shown::Record(heartbeat(10, 1, Some(secs(1)))));
    assert_eq!(bench.give(Shown::Record(record(11, 2, released(9)))), NOTHING, "another's");
    assert_eq!(bench.give(Shown::Record(record(12, 1, released(10)))), ["leader none"]);
}

#[test]
fn a_heartbeat_of_gonelis_names_its_leader() {
    let mut bench = Bench::new();
    assert_eq!(bench.other(0, Kind::Heartbeat), ["leader other"]);
    assert_eq!(bench.wake(), Some((Timer::Vacant, secs(5))));
}

#[test]
fn our_own_term_is_read_from_the_log_too() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    bench.appended(2);
    assert_eq!(bench.read_back(2, Kind::Heartbeat), ["leader me"]);
}

#[test]
fn a_heartbeat_states_the_term_and_the_time_that_it_has_lasted() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    let term = format!("{:016x}-{:016x} {:013}", DAY, 10, 1_000);
    assert_eq!(bench.header(3, "Incumbent-Term"), Some(term));
    assert_eq!(bench.header(3, "Incumbent-Lease"), Some("5000".into()));
    assert_eq!(bench.header(3, "Incumbent-Kind"), Some("heartbeat".into()));
}

#[test]
fn a_record_with_our_nonce_that_we_did_not_write_is_another_candidates() {
    let mut bench = Bench::member();
    let write_id = Some(WriteId { nonce: ME, attempt: Attempt(99) });
    let twin = |offset| Record { write_id, ..record(offset, 1, Kind::Heartbeat) };
    assert_eq!(bench.give(Shown::Record(twin(10))), ["warning SAME_NONCE"]);
    assert_eq!(bench.give(Shown::Record(twin(11))), NOTHING);
    bench.next = 12;
    bench.assigned();
    bench.claimed(1);
    assert_eq!(bench.committed(1), ["state HOLDING"], "the win waits for this record");
}
