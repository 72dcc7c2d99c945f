//! A long vacancy: a candidate reports once what it waits for, and never while it sees a leader.

use incumbent_core::campaign::{Event, Warning};
use incumbent_core::candidacy::{Obstacle, Waiting};
use incumbent_core::record::{Attempt, Entry, TermInfo};
use incumbent_core::session::{Command, Input, Output, Timer};
use incumbent_core::store::{Outcome, StoreInfo};
use incumbent_core::{Incarnation, Revision, Token};

use crate::harness::{Bench, foreign, ms, secs};

/// The worst fail-over: the bench's lease of 30 s, 0.25 s of the store's granularity, a first poll, an attempt, and a
/// renewal.
const WORST: core::time::Duration = ms(30_000 + 250 + 100 + 2_000 + 10_000);

/// The warnings of campaign 1 after this input.
fn warnings(bench: &mut Bench, input: Input) -> Vec<Warning> {
    bench.session.handle(bench.now, input).expect("nothing that breaks the contract");
    let mut warnings = Vec::new();
    loop {
        match bench.session.poll() {
            Output::WakeAt(_) => return warnings,
            Output::Report { id: 1, events, .. } => {
                warnings.extend(events.into_iter().filter_map(|event| {
                    if let Event::Warning(warning) = event { Some(warning) } else { None }
                }))
            }
            _ => {}
        }
    }
}

/// The warnings at the wake-ups within `span`.
fn while_passing(bench: &mut Bench, span: core::time::Duration) -> Vec<Warning> {
    let until = bench.now + span;
    let mut all = Vec::new();
    while let Some((wait, _)) = bench.wake().filter(|(wait, _)| bench.now + *wait <= until) {
        bench.now = bench.now + wait;
        all.extend(warnings(bench, Input::Tick));
    }
    bench.now = until;
    all
}

fn no_leader(warnings: &[Warning]) -> Vec<&Obstacle> {
    let mut found = Vec::new();
    for warning in warnings {
        if let Warning::NoLeader { because, .. } = warning {
            found.push(because);
        }
    }
    found
}

/// A record of another candidate, which has led for `led_for` or has not reported its win.
fn held(revision: u64, led_for: Option<u64>) -> Entry {
    let Entry::Live(mut record) = foreign(revision) else { unreachable!() };
    let token = Token { incarnation: Incarnation(1), sequence: Revision(revision) };
    record.term_info = Some(TermInfo { token, led_for: led_for.map(secs) });
    Entry::Live(record)
}

#[test]
fn a_candidate_that_sees_no_leader_for_the_worst_fail_over_says_so_once_with_what_it_waits_for() {
    let mut bench = Bench::with_a_candidate();
    assert_eq!(bench.session.campaign(1).unwrap().worst_fail_over(bench.now), WORST);
    // Its read is never answered.
    assert_eq!(no_leader(&while_passing(&mut bench, WORST - ms(1))), [&Obstacle::Unanswered; 0]);
    // The candidate is woken to ask again, and reports the vacancy then.
    let found = while_passing(&mut bench, secs(3));
    let [Warning::NoLeader { lasted, because: Obstacle::Unanswered }] = found[..] else {
        panic!("{found:?}")
    };
    assert!(lasted >= WORST, "{lasted:?}");
    assert_eq!(no_leader(&while_passing(&mut bench, WORST * 10)), [&Obstacle::Unanswered; 0], "once");
}

#[test]
fn it_is_said_again_once_a_leader_was_seen_meanwhile() {
    let mut bench = Bench::with_a_candidate();
    while_passing(&mut bench, WORST);
    warnings(&mut bench, Input::Watched { number: 1, election: "jobs".into(), shown: held(5, Some(3)) });
    assert!(bench.session.campaign(1).unwrap().knows_a_leader());
    // The leader vanishes without a trace, and no read is answered.
    let found = while_passing(&mut bench, secs(30) + ms(250) + WORST + secs(1));
    assert_eq!(no_leader(&found).len(), 1, "{found:?}");
}

#[test]
fn a_candidate_beside_a_leader_is_not_woken_for_it_and_says_nothing() {
    let mut bench = Bench::with_a_candidate();
    bench.read(1, 1, held(5, None));
    assert_eq!(bench.wake().unwrap().1, Timer::Campaign(1, incumbent_core::campaign::Timer::Poll));
    for revision in 6..60 {
        assert_eq!(while_passing(&mut bench, secs(10)), []);
        let shown = held(revision, Some(revision));
        assert_eq!(warnings(&mut bench, Input::Watched { number: 1, election: "jobs".into(), shown }), []);
        assert_eq!(bench.wake().unwrap().1, Timer::Campaign(1, incumbent_core::campaign::Timer::Poll));
    }
}

#[test]
fn a_holder_elsewhere_that_never_reports_its_win_is_named() {
    let mut bench = Bench::with_a_candidate();
    bench.read(1, 1, held(5, None));
    let mut found = Vec::new();
    for revision in 6..12 {
        found.extend(while_passing(&mut bench, secs(10)));
        let shown = held(revision, None);
        found.extend(warnings(&mut bench, Input::Watched { number: 1, election: "jobs".into(), shown }));
    }
    assert_eq!(no_leader(&found), [&Obstacle::Holder { name: "other".into() }]);
}

#[test]
fn the_wait_for_a_new_store_comes_before_the_worst_fail_over() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    bench.watching(1);
    let info = StoreInfo { age: Some(secs(10)), ..bench.info() };
    bench.give(Input::Inspected { number: 1, result: Ok(info) });
    let since = bench.now;
    bench.read(1, 1, held(5, None));
    // Wins wait for 30 s from the store's creation, and a second for the store's clock.
    assert_eq!(bench.session.campaign(1).unwrap().worst_fail_over(since), WORST + secs(21));
    assert_eq!(bench.session.campaign(1).unwrap().worst_fail_over(since + secs(20)), WORST + secs(1));
}

#[test]
fn an_unhealthy_candidate_waits_for_nothing() {
    let mut bench = Bench::with_a_candidate();
    bench.command(1, Command::Health(false));
    assert_eq!(no_leader(&while_passing(&mut bench, WORST * 3)), [&Obstacle::Unanswered; 0]);
}

/// Creates a candidate that acquired the free key of a store of this age.
fn holder_in_a_store(age: u64, never_used: bool) -> (Bench, Vec<Warning>) {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    bench.watching(1);
    let info = StoreInfo { age: Some(secs(age)), never_used, ..bench.info() };
    bench.give(Input::Inspected { number: 1, result: Ok(info) });
    bench.read(1, 1, Entry::Vacant);
    bench.tick_at_next();
    let applied = Outcome::Applied { revision: Revision(5), incarnation: None };
    let mut found = warnings(&mut bench, Input::wrote(1, Attempt(1), applied));
    let info = StoreInfo { age: Some(secs(age)), never_used, ..bench.info() };
    found.extend(warnings(&mut bench, Input::Inspected { number: 2, result: Ok(info) }));
    (bench, found)
}

#[test]
fn a_holder_in_a_new_store_says_how_long_it_waits_once_it_holds() {
    let (mut bench, found) = holder_in_a_store(10, false);
    // The wait ends 30 s after the store's creation, and a second later for the store's clock. The bench begins at 3600
    // s, when the store is 10 s old.
    let left = (incumbent_core::Instant::ZERO + secs(3600 + 21)).since(bench.now);
    let left = secs(left.as_secs() + u64::from(left.subsec_nanos() > 0));
    assert_eq!(found, [Warning::YoungStore { left, can_be_stated: true }]);
    assert_eq!(while_passing(&mut bench, secs(5)), [], "once");
}

#[test]
fn a_holder_in_an_old_store_or_in_one_that_was_never_used_has_nothing_to_say() {
    for (age, never_used) in [(100, false), (1, true)] {
        let (bench, found) = holder_in_a_store(age, never_used);
        assert_eq!(found, []);
        assert!(bench.session.campaign(1).unwrap().is_leader(bench.now));
    }
}
