//! Compares each output of the component with the native core's.

use std::collections::HashMap;

use incumbent::incumbent_core::campaign::{Backoff, Event, Output};
use incumbent_sim::{Choice, Kind, Recorded, record};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::bindings::incumbent::election::types::Nonce;
use crate::support::{Candidate, Instance, compiled, input, output};
use crate::wishes::campaign_settings;
use crate::{ErrorKind, given};

/// The number of runs, with all sorts of faults.
const SEEDS: u64 = 40;

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Counted {
    inputs: usize,
    outputs: usize,
    terms: usize,
    begun: usize,
    left_out: usize,
}

#[test]
fn in_simulated_elections_the_component_says_what_the_native_core_says() {
    let engine = compiled();
    let mut counted = Counted::default();
    for seed in 0..SEEDS {
        replay(&engine, &Choice::of_seed(seed), &mut counted);
    }
    let Counted { inputs, outputs, terms, begun, left_out } = counted;
    assert!(left_out * 2 < begun, "{counted:?}");
    assert!(inputs > 10_000 && outputs > 20_000 && terms > 40, "{counted:?}");
}

#[test]
fn under_every_kind_of_fault_the_component_says_what_the_native_core_says() {
    let engine = compiled();
    for kind in Kind::ALL {
        let mut counted = Counted::default();
        // In a run where only candidates lead that no component can have, there are no terms to compare.
        let mut seeds = 1..=4;
        while let Some(seed) = seeds.next().filter(|_| counted.terms == 0) {
            replay(&engine, &Choice { faults: Some(vec![*kind]), ..Choice::of_seed(seed) }, &mut counted);
        }
        assert!(counted.outputs > 100 && counted.terms > 0, "{kind}: {counted:?}");
    }
}

/// Makes a run, and replays it on the component.
fn replay(engine: &(Engine, Component), choice: &Choice, counted: &mut Counted) {
    let (outcome, recording) = record(choice);
    assert!(outcome.violation.is_none(), "{choice:?}");
    let mut instance = Instance::new(engine);
    let mut candidates: HashMap<u64, Candidate> = HashMap::new();
    for (place, step) in recording.into_iter().enumerate() {
        match step {
            Recorded::Begins { process, settings, store, info, nonce, seed, now } => {
                // A custom function is the one setting that cannot be passed to a component.
                if matches!(settings.backoff, Backoff::Custom(_)) {
                    assert_eq!(campaign_settings(*settings).unwrap_err().kind(), ErrorKind::Refused);
                    counted.left_out += 1;
                    continue;
                }
                let settings = campaign_settings(*settings).unwrap();
                let asked_at = info.asked_at.as_nanos();
                let nonce = Nonce { high: (nonce.0 >> 64) as u64, low: nonce.0 as u64 };
                let (store, info) = (given::capabilities(store), given::store_info(info));
                let now = now.as_nanos();
                let created = instance.create(&settings, store, info, asked_at, nonce, seed, now);
                candidates.insert(process, created.unwrap());
                counted.begun += 1;
            }
            Recorded::Input { process, now, input: recorded, lease } => {
                let Some(&candidate) = candidates.get(&process) else { continue };
                instance.handle(candidate, now.as_nanos(), &input(&recorded)).unwrap();
                let own = instance.lease(candidate);
                assert_eq!(own, lease, "{choice:?}, {place}: after {recorded:?}");
                counted.inputs += 1;
            }
            Recorded::Output { process, output: recorded } => {
                let Some(&candidate) = candidates.get(&process) else { continue };
                let own = output(instance.poll(candidate));
                assert_eq!(own, recorded, "{choice:?}, {place}");
                counted.outputs += 1;
                counted.terms += usize::from(matches!(recorded, Output::Event(Event::Won(_))));
            }
        }
    }
}
