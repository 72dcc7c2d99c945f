//! One inspection and one reconnect for all campaigns.

use std::time::Duration;

use incumbent_core::campaign::{Event, Preset, ReadId, Settings, Warning};
use incumbent_core::queue::{Campaign, Queue, Server};
use incumbent_core::record::{Attempt, Entry, Nonce};
use incumbent_core::session::{Enter, Input, Output, Session, Timer};
use incumbent_core::store::{Fault, FaultKind, Outcome, StoreInfo};
use incumbent_core::{Instant, Revision};

use crate::harness::{Bench, INCARNATION, enter, foreign, ms, secs, unreachable};

/// Creates two campaigns whose third read in a row failed, so that each wants a new connection.
fn two_that_fail(bench: &mut Bench) -> Vec<String> {
    bench.enter(2, "mail");
    bench.inspected(2);
    let mut outputs = Vec::new();
    for _ in 0..60 {
        bench.now = bench.now + ms(200);
        for id in [1, 2] {
            for read in 1..=20 {
                let result = Err(unreachable());
                let _ = bench.session.handle(bench.now, Input::read(id, ReadId(read), result));
            }
        }
        outputs.extend(bench.drain().into_iter().filter(|output| output.starts_with("reconnect")));
    }
    outputs
}

#[test]
fn one_reconnect_serves_all_campaigns_that_ask() {
    let mut bench = Bench::with_a_candidate();
    assert_eq!(two_that_fail(&mut bench), ["reconnect within 10s"]);
}

#[test]
fn after_a_reconnect_the_candidates_that_wait_send_one_inspection_among_them() {
    let mut bench = Bench::new();
    for id in 0..1_000 {
        let election = format!("jobs-{id}");
        bench.enter(id, &election);
        bench.inspected(id + 1);
        bench.read(id, 1, foreign(id + 1));
    }
    bench.watching(1);
    assert_eq!(bench.give(Input::WatchEnded { number: 1 }), [""; 0]);
    let mut outputs = bench.give(Input::Reconnected);
    outputs.extend(bench.after(ms(100)));
    assert_eq!(outputs, ["inspect 1001 within 2s", "watch 2 within 5s"]);
    let mut outputs = bench.inspected(1_001);
    bench.now = bench.now + ms(1);
    outputs.extend(bench.watching(2));
    // The watch began after the inspection, so another inspection follows.
    assert_eq!(outputs, ["inspect 1002 within 2s"]);
    let mut outputs = bench.inspected(1_002);
    outputs.extend((0..1_000).flat_map(|id| bench.watched(2, &format!("jobs-{id}"), foreign(id + 1))));
    assert_eq!(outputs, [""; 0]);
}

/// The number of renewals that a session with `leaders` leaders sends in each second, if they all won at the same
/// instant.
fn renewals_by_the_second(leaders: u64) -> Vec<usize> {
    let mut bench = Bench::new();
    for id in 0..leaders {
        let campaign = enter(id, &format!("jobs-{id}"));
        // Modulo a third of the lease, these nonces differ as random numbers would.
        let nonce = Nonce(u128::from(id) * 6_180_339_887);
        bench.give(Input::Enter(Box::new(Enter { nonce, ..campaign })));
    }
    bench.watching(1);
    let mut asked = bench.inspected(1);
    let mut renewals = vec![0; 30];
    let mut revision = 0;
    let mut inspections = 2..;
    for tenths in 0..300 {
        while !asked.is_empty() {
            let mut more = Vec::new();
            for output in asked {
                let words: Vec<&str> = output.split(' ').collect();
                let &[id, what, number, ..] = &words[..] else { continue };
                revision += 1;
                let outcome = Outcome::Applied { revision: Revision(revision), incarnation: None };
                let wrote = || {
                    let (id, attempt) =
                        (id.parse().expect("a number"), Attempt(number.parse().expect("a number")));
                    Input::wrote(id, attempt, outcome.clone())
                };
                more.extend(match what {
                    "read" => bench.read(
                        id.parse().expect("a number"),
                        number.parse().expect("a number"),
                        Entry::Vacant,
                    ),
                    "acquire" => bench.give(wrote()),
                    "renew" => {
                        renewals[tenths / 10] += 1;
                        bench.give(wrote())
                    }
                    _ if id == "inspect" => {
                        bench.inspected(inspections.next().expect("there is no last number"))
                    }
                    _ => continue,
                });
            }
            asked = more;
        }
        asked = bench.after(ms(100));
    }
    renewals
}

#[test]
fn the_renewals_of_many_leaders_are_spread_and_those_of_few_come_when_they_are_due() {
    let few = renewals_by_the_second(63);
    assert_eq!(few.iter().filter(|renewals| **renewals > 0).collect::<Vec<_>>(), [&63, &63]);
    let many = renewals_by_the_second(1_000);
    assert!(many.iter().all(|renewals| (80..=120).contains(renewals)), "{many:?}");
}

#[test]
fn a_reconnect_that_failed_is_tried_again_later_and_later_until_there_is_a_connection() {
    let mut bench = Bench::with_a_candidate();
    two_that_fail(&mut bench);
    for wait in [100, 200, 400, 800, 1600, 2000, 2000] {
        bench.give(Input::NotReconnected);
        let outputs = bench.after(ms(wait));
        assert!(outputs.contains(&"reconnect within 10s".to_owned()), "{outputs:?}");
    }
    bench.give(Input::Reconnected);
    assert_eq!(bench.give(Input::NotReconnected), [""; 0]);
}

#[test]
fn a_connection_that_came_by_itself_counts_unless_another_is_under_way() {
    let mut bench = Bench::with_a_leader();
    bench.now = bench.now + secs(9);
    assert_eq!(bench.give(Input::Connected), ["inspect 3 within 2s", "1 renew 2 over 5 within 30s"]);
    let mut bench = Bench::with_a_candidate();
    two_that_fail(&mut bench);
    assert_eq!(bench.give(Input::Connected), [""; 0]);
}

#[test]
fn an_inspection_over_an_old_connection_is_asked_again_and_its_late_answer_ignored() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    assert_eq!(bench.give(Input::Connected), ["inspect 2 within 2s"]);
    assert_eq!(bench.inspected(1), [""; 0]);
    assert_eq!(bench.session.info(), None);
    assert_eq!(bench.inspected(2)[0], "1 entered");
}

#[test]
fn one_inspection_serves_the_renewals_of_all_campaigns() {
    let mut bench = Bench::with_a_leader();
    bench.enter(2, "mail");
    bench.inspected(3);
    bench.read(2, 1, Entry::Vacant);
    bench.tick_at_next();
    let applied = Outcome::Applied { revision: Revision(6), incarnation: None };
    bench.give(Input::wrote(2, Attempt(1), applied));
    bench.inspected(4);
    bench.now = bench.now + secs(12);
    assert_eq!(
        bench.give(Input::Tick),
        ["inspect 5 within 2s", "1 renew 2 over 5 within 30s", "2 renew 2 over 6 within 30s"]
    );
}

#[test]
fn an_answer_to_a_question_that_was_never_asked_is_returned() {
    let mut bench = Bench::with_a_candidate();
    let wrote = Input::wrote(1, Attempt(9), Outcome::Busy);
    assert!(bench.session.handle(bench.now, wrote).is_err());
    let unknown = Input::wrote(9, Attempt(9), Outcome::Busy);
    assert_eq!(bench.session.handle(bench.now, unknown), Ok(()), "of a campaign that is over");
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut bench = Bench::new();
    bench.give(Input::Observe);
    bench.give(Input::WatchEnded { number: 1 });
    let then = bench.now;
    bench.now = Instant::ZERO;
    assert_eq!(bench.give(Input::Tick), [""; 0]);
    bench.now = then;
    assert_eq!(bench.wake(), Some((ms(100), Timer::Watch)));
}

/// Servers whose shortest lease is `shortest`, if it is known.
fn servers(shortest: Option<u64>) -> Server {
    Server { shortest: shortest.map(secs) }
}

/// Creates a session on a store whose elections are queues, with an entering campaign that has this lease.
fn entering_in_a_queue(store: Server, lease: Duration) -> (Session<Queue>, Instant) {
    let mut session = Session::<Queue>::new(store);
    let now = Instant::ZERO + secs(3600);
    let settings = Settings { preset: Preset::Fast, lease: Some(lease), ..Settings::new("a") };
    let (election, nonce) = ("jobs".into(), Nonce(1));
    let enter = Enter { id: 1, election, settings, nonce, seed: 1, fail_fast: false };
    session.handle(now, Input::Enter(Box::new(enter))).expect("sound settings");
    (session, now)
}

fn info(asked_at: Instant) -> StoreInfo {
    StoreInfo { asked_at, incarnation: INCARNATION, age: None, never_used: true, max_age: None, newest: None }
}

/// The texts of the warnings, and the next wake-up.
fn warnings(session: &mut Session<Queue>) -> (Vec<String>, Option<Instant>) {
    let mut texts = Vec::new();
    loop {
        match session.poll() {
            Output::WakeAt(wake) => return (texts, wake.map(|wake| wake.at)),
            Output::Report { events, .. } => texts.extend(events.iter().filter_map(|event| match event {
                Event::Warning(Warning::Store(fault)) => Some(fault.to_string()),
                _ => None,
            })),
            Output::Refused(_, refusal) => panic!("{refusal:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_lease_that_the_servers_could_not_be_asked_about_waits_with_the_reason_and_begins_once_they_answer() {
    let (mut session, now) = entering_in_a_queue(servers(None), secs(3));
    let full = Fault { kind: FaultKind::Broken, detail: "the store is full".into() };
    session.handle(now, Input::Flaw(Some(full))).expect("a flaw");
    session.handle(now, Input::Inspected { number: 1, result: Ok(info(now)) }).expect("it was asked for");
    let (texts, wake) = warnings(&mut session);
    assert_eq!((texts, wake), (vec!["the store is full".to_owned()], Some(now + ms(100))));
    assert!(session.campaign(1).is_none());

    let now = now + ms(100);
    session.handle(now, Input::Tick).expect("a tick");
    session.handle(now, Input::Inspected { number: 2, result: Ok(info(now)) }).expect("it was asked for");
    let (texts, wake) = warnings(&mut session);
    assert_eq!((texts, wake), (Vec::new(), Some(now + ms(200))), "the same reason is said once");

    let now = now + ms(200);
    session.handle(now, Input::Tick).expect("a tick");
    session.set_store(servers(Some(1)));
    session.handle(now, Input::Flaw(None)).expect("no flaw");
    session.handle(now, Input::Inspected { number: 3, result: Ok(info(now)) }).expect("it was asked for");
    assert_eq!(session.campaign(1).map(Campaign::lease_time), Some(secs(3)));
}

#[test]
fn a_lease_that_turns_out_to_be_too_short_does_not_begin() {
    let (mut session, now) = entering_in_a_queue(servers(None), secs(3));
    session.handle(now, Input::Inspected { number: 1, result: Ok(info(now)) }).expect("it was asked for");
    assert_eq!(
        warnings(&mut session).0,
        [
            "the shortest lease is unknown, because the store has not granted a lease yet; the store is asked again"
        ]
    );
    let now = now + ms(100);
    session.handle(now, Input::Tick).expect("a tick");
    session.set_store(servers(Some(2)));
    session.handle(now, Input::Inspected { number: 2, result: Ok(info(now)) }).expect("it was asked for");
    let (texts, _) = warnings(&mut session);
    assert!(texts.iter().any(|text| text.contains("lease is 3s, and must be at least 6s")), "{texts:?}");
    assert!(session.campaign(1).is_none());
}
