//! Giving way: a holder that can write but cannot prove its claim leaves the election to others, and rests.

use std::time::Duration;

use incumbent_core::campaign::{Answer, Input, Output, Request};
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, FaultKind, Outcome};
use incumbent_core::{Instant, Revision};

use crate::harness::*;

/// A store that answers at once while it is up.
struct Store {
    /// Whether the store answers inspections; otherwise it denies them.
    inspects: bool,
    /// It answers at all.
    up: bool,
    /// The entry of the key.
    entry: Entry,
    /// The newest revision of the key.
    revision: u64,
    /// The number of inspections that the store was asked for.
    inspections: u32,
}

impl Store {
    fn new() -> Self {
        Self { inspects: true, up: true, entry: Entry::Vacant, revision: 9, inspections: 0 }
    }

    /// Another candidate acquires, or renews.
    fn others_write(&mut self) {
        self.revision += 1;
        self.entry = theirs(self.revision);
    }

    /// The other candidate releases.
    fn others_release(&mut self) {
        self.revision += 1;
        self.entry = released(self.revision, Duration::ZERO);
    }

    /// The answer to an output; none while the store is down.
    fn answer(&mut self, bench: &Bench, output: &Output) -> Option<Input> {
        match output {
            Output::Inspect { .. } => {
                self.inspections += 1;
                let denied = Err(fault(FaultKind::Denied));
                let answer = if self.inspects { Ok(store_info(bench.now)) } else { denied };
                self.up.then_some(Input::Inspected(answer))
            }
            Output::Ask(Request::Read(read)) => {
                if self.entry.live().is_some_and(|record| record.candidate != "me") {
                    self.others_write();
                }
                self.up.then(|| Input::Answered(Answer::Read { read: *read, result: Ok(self.entry.clone()) }))
            }
            Output::Ask(Request::Write(write)) if self.up => {
                self.revision += 1;
                let outcome = Outcome::Applied { revision: Revision(self.revision), incarnation: None };
                self.entry = match in_short(output).starts_with("release") {
                    false => mine(self.revision, write.attempt.0),
                    true => released(self.revision, Duration::ZERO),
                };
                Some(Input::Answered(Answer::Wrote { attempt: write.attempt, outcome }))
            }
            Output::Reconnect if self.up => Some(Input::Reconnected),
            _ => None,
        }
    }
}

/// Hands in an input and lets time pass. Lists the events, each with its second.
fn run(bench: &mut Bench, store: &mut Store, input: Input, span: Duration) -> Vec<String> {
    let end = bench.now + span;
    let mut events = Vec::new();
    let mut inputs = vec![input];
    loop {
        while let Some(input) = inputs.pop() {
            for output in bench.give_in_full(input) {
                if let Output::Event(_) = output {
                    let at = bench.now.since(Instant::ZERO + secs(3600)).as_secs();
                    events.push(format!("{at} {}", in_short(&output)));
                }
                inputs.extend(store.answer(bench, &output));
            }
        }
        match bench.wake().filter(|(_, wait)| bench.now + *wait <= end) {
            Some((_, wait)) => bench.sleep(wait),
            None => break,
        }
        inputs.push(Input::Tick);
    }
    bench.now = end;
    events
}

fn pass(bench: &mut Bench, store: &mut Store, span: Duration) -> Vec<String> {
    run(bench, store, Input::Tick, span)
}

/// Creates a candidate that finds the key vacant at second 0 and acquires, in a store that denies it inspections. After
/// 40 s the candidate has given way.
fn that_gave_way() -> (Bench, Store) {
    let (mut bench, mut store) = (Bench::new(), Store { inspects: false, ..Store::new() });
    let events = run(&mut bench, &mut store, Input::Campaign, secs(40));
    let expected = [
        "0 state WAITING",
        "0 state ACQUIRING",
        "0 leader me",
        "0 state HOLDING",
        "0 warning Denied",
        "30 state RELEASING",
        "30 warning GaveWay {Inspect} 300s",
        "30 leader vacant",
        "30 state WAITING",
    ];
    assert_eq!(events, expected);
    (bench, store)
}

#[test]
fn a_holder_that_writes_and_cannot_inspect_gives_way_after_a_lease_and_rests_ten_times_as_long() {
    let (mut bench, mut store) = that_gave_way();
    store.others_write();
    assert_eq!(pass(&mut bench, &mut store, secs(285)), ["50 leader other"]);
    store.others_release();
    assert_eq!(
        pass(&mut bench, &mut store, secs(15)),
        ["330 leader vacant", "330 state ACQUIRING", "330 leader me", "330 state HOLDING"]
    );
}

#[test]
fn while_it_rests_the_inspection_is_repeated_every_third_of_a_lease() {
    let (mut bench, mut store) = that_gave_way();
    store.others_write();
    store.inspections = 0;
    pass(&mut bench, &mut store, secs(200));
    assert_eq!(store.inspections, 20);
}

#[test]
fn a_rest_ends_when_what_failed_works_again() {
    let (mut bench, mut store) = that_gave_way();
    store.others_write();
    pass(&mut bench, &mut store, secs(55));
    store.others_release();
    store.inspects = true;
    assert_eq!(
        pass(&mut bench, &mut store, secs(10)),
        ["100 leader vacant", "100 state ACQUIRING", "100 won 22", "100 leader me", "100 state LEADING"]
    );
}

#[test]
fn the_next_rest_in_a_row_is_twice_as_long() {
    let (mut bench, mut store) = that_gave_way();
    store.others_write();
    pass(&mut bench, &mut store, secs(285));
    store.others_release();
    let events = pass(&mut bench, &mut store, secs(40));
    assert_eq!(events[4..6], ["360 state RELEASING", "360 warning GaveWay {Inspect} 600s"]);
}

/// The worst fail-over is 32.35 s here.
#[test]
fn alone_it_rests_no_longer_than_the_worst_fail_over() {
    let (mut bench, mut store) = that_gave_way();
    let again = ["62 state ACQUIRING", "62 leader me", "62 state HOLDING"];
    assert_eq!(pass(&mut bench, &mut store, secs(30)), again);
    // The rest that ended early does not count in the series.
    let events = pass(&mut bench, &mut store, secs(30));
    assert_eq!(events[..2], ["92 state RELEASING", "92 warning GaveWay {Inspect} 300s"]);
}

#[test]
fn in_an_outage_of_the_whole_store_no_one_gives_way() {
    let (mut bench, mut store) = (Bench::new(), Store::new());
    run(&mut bench, &mut store, Input::Campaign, secs(35));
    assert!(bench.leads());
    store.up = false;
    let events = pass(&mut bench, &mut store, secs(200));
    assert_eq!(events[1..3], ["58 lost 10 EXPIRED", "58 state WAITING"]);
    assert!(events.iter().all(|event| !event.contains("GaveWay")), "{events:?}");
    store.up = true;
    pass(&mut bench, &mut store, secs(10));
    assert!(bench.leads());
}

#[test]
fn the_time_in_which_the_process_did_not_run_does_not_count() {
    let (mut bench, mut store) = (Bench::new(), Store { inspects: false, ..Store::new() });
    run(&mut bench, &mut store, Input::Campaign, secs(11));
    bench.sleep(secs(15));
    let events = pass(&mut bench, &mut store, secs(30));
    assert_eq!(events[..2], ["46 state RELEASING", "46 warning GaveWay {Inspect} 309s"]);
}

/// The candidate last asked for an inspection at 30 s.
#[test]
fn a_leader_whose_inspections_fail_for_good_loses_its_term_retakes_its_record_and_gives_way_a_third_later() {
    let (mut bench, mut store) = (Bench::new(), Store::new());
    run(&mut bench, &mut store, Input::Campaign, secs(35));
    store.inspects = false;
    assert_eq!(
        pass(&mut bench, &mut store, secs(40)),
        [
            "40 warning Denied",
            "58 lost 10 EXPIRED",
            "58 state ACQUIRING",
            "58 state HOLDING",
            "70 state RELEASING",
            "70 warning GaveWay {Inspect} 304s",
            "70 leader vacant",
            "70 state WAITING",
        ]
    );
}

/// Inspections fail for 28 s of every 35 s. Each time the term is lost, and the next is won before inspections have
/// failed for a lease.
#[test]
fn a_leader_that_loses_its_term_again_and_again_and_is_well_in_between_gives_way_the_second_time() {
    let (mut bench, mut store) = (Bench::new(), Store::new());
    let mut events = run(&mut bench, &mut store, Input::Campaign, secs(35));
    for _ in 0..2 {
        store.inspects = false;
        events.extend(pass(&mut bench, &mut store, secs(28)));
        store.inspects = true;
        events.extend(pass(&mut bench, &mut store, secs(7)));
    }
    events.retain(|event| ["won", "lost", "GaveWay"].iter().any(|word| event.contains(word)));
    let expected = [
        "0 won 10",
        "58 lost 10 EXPIRED",
        "63 won 16",
        "96 lost 16 EXPIRED",
        "96 warning GaveWay {Inspect} 367s",
    ];
    assert_eq!(events, expected);
}

#[test]
fn where_acknowledgements_carry_the_incarnation_no_inspection_is_missed() {
    let store = Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::leader_with(settings(), store);
    for attempt in 2..20 {
        let outputs = bench.pass(secs(10));
        assert_eq!(outputs.last(), Some(&format!("renew {attempt} over {}", attempt + 8)));
        assert_eq!(bench.wrote(attempt, acknowledged(attempt + 9, Some(INCARNATION))), NOTHING);
        bench.reconnected();
        bench.give(Input::Inspected(Err(fault(FaultKind::Denied))));
    }
    assert!(bench.leads());
}
