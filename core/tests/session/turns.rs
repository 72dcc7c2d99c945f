//! Requests that find no place wait, and are made when their turn comes.

use std::collections::VecDeque;

use incumbent_core::Revision;
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::session::{CampaignId, Command, Input};
use incumbent_core::store::Outcome;

use crate::harness::{Bench, LEASE, foreign, ms, secs};

/// The time that an answer takes.
const ANSWER: std::time::Duration = ms(20);

fn election(id: CampaignId) -> String {
    format!("jobs-{id}")
}

/// Applies the write of a campaign.
fn applied(bench: &mut Bench, id: CampaignId, attempt: u64) -> Vec<String> {
    let revision = Revision(100 * attempt + id);
    bench.give(Input::wrote(id, Attempt(attempt), Outcome::Applied { revision, incarnation: None }))
}

/// Creates `count` leaders, all elected within the last second, on a store that accepts eight requests at a time.
fn leaders(count: CampaignId) -> Bench {
    let mut bench = Bench::with_window(8);
    let mut outputs: VecDeque<String> = (1..=count).flat_map(|id| bench.enter(id, &election(id))).collect();
    outputs.extend(bench.watching(1));
    while let Some(output) = outputs.pop_front() {
        let words: Vec<_> = output.split(' ').collect();
        let number = |place: usize| words[place].parse().expect("a number");
        if ["inspect", "read", "acquire"].iter().any(|asked| words.contains(asked)) {
            bench.now = bench.now + ANSWER;
        }
        match words[..] {
            ["inspect", ..] => outputs.extend(bench.inspected(number(1))),
            [_, "read", ..] => outputs.extend(bench.read(number(0), number(2), Entry::Vacant)),
            [_, "acquire", ..] => outputs.extend(applied(&mut bench, number(0), number(2))),
            _ => {}
        }
        if outputs.is_empty() && (1..=count).any(|id| !leads(&bench, id)) {
            outputs.extend(bench.tick_at_next());
        }
    }
    bench
}

fn leads(bench: &Bench, id: CampaignId) -> bool {
    bench.session.campaign(id).expect("it runs").is_leader(bench.now)
}

/// The number of the inspection among these outputs.
fn inspection(outputs: &[String]) -> u64 {
    let asked = outputs.iter().find_map(|output| output.strip_prefix("inspect "));
    asked.and_then(|asked| asked.split(' ').next()?.parse().ok()).expect("an inspection")
}

/// The campaigns whose renewals are among these outputs.
fn renewing(outputs: &[String]) -> Vec<CampaignId> {
    let renewals = outputs.iter().filter(|output| output.contains(" renew "));
    renewals.map(|output| output.split(' ').next().expect("a word").parse().expect("a number")).collect()
}

/// Answers the renewals of these campaigns, and returns the requests that take their places.
fn answered(bench: &mut Bench, ids: &[CampaignId]) -> Vec<String> {
    ids.iter()
        .flat_map(|id| applied(bench, *id, 2))
        .filter(|output| output.contains(" over ") || output.contains(" read "))
        .collect()
}

#[test]
fn as_many_renewals_leave_as_there_are_places_and_each_answer_lets_the_next_one_leave() {
    let mut bench = leaders(12);
    assert_eq!(renewing(&bench.after(secs(10))), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(answered(&mut bench, &[3]), ["9 renew 2 over 109 within 30s"]);
    assert_eq!(renewing(&answered(&mut bench, &[1, 2, 4])), [10, 11, 12]);
    assert_eq!(answered(&mut bench, &[5, 6, 7, 8, 9, 10, 11, 12]), [""; 0]);
}

#[test]
fn a_lease_counts_from_when_its_renewal_left_and_not_from_when_it_was_due() {
    let mut bench = leaders(12);
    let number = inspection(&bench.after(secs(10)));
    bench.now = bench.now + secs(1);
    assert_eq!(renewing(&answered(&mut bench, &[1])), [9]);
    let left = bench.now;
    bench.now = bench.now + secs(1);
    applied(&mut bench, 9, 2);
    bench.inspected(number);
    let campaign = bench.session.campaign(9).expect("it runs");
    let lease = campaign.lease().expect("it leads");
    assert_eq!(lease.deadline, (left + LEASE).before(campaign.margin()));
}

/// Creates twelve leaders whose renewals are due, waiting or in flight. Campaign 13 has been reading its key for a
/// second.
fn with_a_candidate() -> (Bench, Vec<String>) {
    let mut bench = leaders(12);
    bench.after(ms(9_000));
    let number = inspection(&bench.enter(13, "more"));
    bench.inspected(number);
    let outputs = bench.after(secs(1));
    assert_eq!(renewing(&outputs), [1, 2, 3, 4, 5, 6, 7]);
    (bench, outputs)
}

#[test]
fn renewals_leave_before_the_reads_of_candidates_and_those_before_their_acquires() {
    let (mut bench, outputs) = with_a_candidate();
    assert_eq!(renewing(&bench.read(13, 1, Entry::Vacant)), [8]);
    bench.enter(14, "most");
    bench.inspected(inspection(&outputs));
    let left = answered(&mut bench, &[1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(renewing(&left), [9, 10, 11, 12]);
    assert_eq!(left[4..], ["14 read 1 within 10s", "13 acquire 1 over absent within 30s"]);
}

#[test]
fn a_release_leaves_before_renewals_that_have_a_third_of_their_lease_left() {
    let mut bench = leaders(12);
    bench.after(secs(10));
    bench.command(1, Command::Resign);
    bench.command(1, Command::Drained);
    // The answer to the candidate's own renewal is followed by its release.
    assert_eq!(answered(&mut bench, &[1])[0], "1 release 3 over 201 within 30s");
}

#[test]
fn renewals_near_their_deadline_leave_before_a_release() {
    let mut bench = leaders(12);
    bench.after(secs(19));
    bench.command(1, Command::Resign);
    bench.command(1, Command::Drained);
    assert_eq!(renewing(&answered(&mut bench, &[1])), [9]);
    assert_eq!(renewing(&answered(&mut bench, &[2, 3, 4])), [10, 11, 12]);
    assert_eq!(answered(&mut bench, &[5]), ["1 release 3 over 201 within 30s"]);
}

#[test]
fn while_other_requests_wait_a_renewal_that_would_be_answered_too_late_does_not_leave() {
    let mut bench = leaders(12);
    let number = inspection(&bench.after(secs(10)));
    let all: Vec<_> = (1..=12).collect();
    bench.now = bench.now + ANSWER;
    assert_eq!(renewing(&answered(&mut bench, &all[..8])), all[8..]);
    bench.now = bench.now + ANSWER;
    answered(&mut bench, &all[8..]);
    bench.inspected(number);
    let [first, last] = [1, 12].map(|id| bench.session.campaign(id).expect("it runs"));
    let [first, last] = [first, last].map(|campaign| campaign.lease().expect("it leads").deadline);
    assert_eq!(last, first + ANSWER);
    bench.now = first.before(ms(10));
    assert_eq!(renewing(&bench.give(Input::Tick)), all[..8]);
    bench.now = bench.now + ANSWER;
    let next = bench.give(Input::wrote(1, Attempt(3), Outcome::Busy));
    assert_eq!(renewing(&next), [12], "only the last renewal, because no other request waits: {next:?}");
}

#[test]
fn a_renewal_that_would_be_answered_too_late_leaves_where_nothing_else_waits() {
    let mut bench = leaders(1);
    let number = inspection(&bench.enter(2, "jobs-2"));
    (3..=9).for_each(|id| drop(bench.enter(id, &election(id))));
    let deadline = bench.session.campaign(1).expect("it runs").lease().expect("it leads").deadline;
    bench.now = deadline.before(ms(30));
    let outputs = bench.inspected(number);
    assert_eq!(renewing(&outputs), [0; 0], "eight reads have all places");
    bench.now = deadline.before(ms(10));
    assert_eq!(renewing(&bench.read(2, 1, foreign(900))), [1]);
}

#[test]
fn an_acquire_whose_reason_is_gone_when_its_turn_comes_does_not_leave() {
    let acquires = |shown: Option<Entry>| {
        let (mut bench, _) = with_a_candidate();
        bench.read(13, 1, Entry::Vacant);
        shown.into_iter().for_each(|entry| drop(bench.watched(1, "more", entry)));
        let rest = answered(&mut bench, &[1, 2, 3, 4, 5, 6, 7]);
        rest.iter().any(|output| output.contains("acquire"))
    };
    assert!(acquires(None));
    assert!(!acquires(Some(foreign(7))));
}

#[test]
fn requests_that_outlast_their_limits_leave_their_places() {
    let mut bench = leaders(12);
    bench.after(secs(10));
    assert_eq!(bench.wake().expect("a timer").0, secs(2));
    assert_eq!(renewing(&bench.after(secs(2))), [9, 10, 11, 12]);
}

/// The reports of an overload among these outputs.
fn overloads(outputs: &[String]) -> Vec<&str> {
    outputs.iter().map(String::as_str).filter(|output| output.contains("warning (")).collect()
}

#[test]
fn candidates_whose_requests_wait_for_a_third_of_a_lease_report_it_once_until_none_waits() {
    let mut bench = leaders(12);
    let report = |waited, took| {
        let report = format!("warning (4 wait, the first for {waited}s, answers take {took})");
        [9, 10, 11, 12].map(|id| format!("{id} leads: {report}"))
    };
    let outputs = bench.after(secs(19));
    let number = inspection(&outputs);
    assert_eq!(overloads(&outputs), [""; 0]);
    assert_eq!(overloads(&bench.after(secs(1))), report("10.26", "180ms"));
    // Three still wait.
    assert_eq!(answered(&mut bench, &[1]), ["9 renew 2 over 109 within 30s"]);
    assert_eq!(overloads(&bench.after(ms(500))), [""; 0]);
    (2..=12).for_each(|id| drop(applied(&mut bench, id, 2)));
    bench.inspected(number);
    assert_eq!(bench.session.load().waiting, 0);
    assert_eq!(overloads(&bench.after(secs(20))), report("10.5", "0ns"));
}

#[test]
fn over_a_new_connection_all_places_are_free() {
    let mut bench = leaders(12);
    bench.after(secs(10));
    assert_eq!(renewing(&bench.give(Input::Connected)), [9, 10, 11, 12]);
}

#[test]
fn a_campaign_that_is_over_waits_no_longer() {
    let (mut bench, outputs) = with_a_candidate();
    bench.enter(14, "most");
    bench.inspected(inspection(&outputs));
    bench.command(14, Command::Close);
    let rest = answered(&mut bench, &[1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(renewing(&rest), [8, 9, 10, 11, 12]);
    assert_eq!(rest.len(), 5);
}

#[test]
fn a_time_limit_alone_asks_for_no_new_connection_where_the_store_answers_others() {
    let asks = |answers_one: bool| {
        let mut bench = leaders(12);
        bench.after(secs(10));
        bench.now = bench.now + secs(1);
        if answers_one {
            answered(&mut bench, &[1]);
        }
        bench.after(secs(1)).iter().any(|output| output.starts_with("reconnect"))
    };
    assert!(asks(false));
    assert!(!asks(true));
}
