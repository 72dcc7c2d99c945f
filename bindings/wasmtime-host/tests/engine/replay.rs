//! Compares each output of the component with the native core's.

use std::collections::HashMap;

use incumbent::incumbent_core::campaign::{Backoff, Event, Output};
use incumbent_sim::{Choice, Kind, Recorded, Store, record};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::support::{Candidate, Instance, compiled};
use crate::wit::settings::CampaignSettings;

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
fn the_component_agrees_with_the_native_core_in_simulated_elections() {
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
fn the_component_agrees_with_the_native_core_under_every_kind_of_fault() {
    let engine = compiled();
    for kind in Kind::ALL.iter().filter(|kind| kind.is_of(Store::Nats)) {
        let mut counted = Counted::default();
        // If all leaders of a run have settings that no component can have, there are no terms to compare.
        let mut seeds = 1..=4;
        while let Some(seed) = seeds.next().filter(|_| counted.terms == 0) {
            replay(&engine, &Choice { faults: Some(vec![*kind]), ..Choice::of_seed(seed) }, &mut counted);
        }
        assert!(counted.outputs > 100 && counted.terms > 0, "{kind}: {counted:?}");
    }
}

/// Records a run, and replays it on the component.
fn replay(engine: &(Engine, Component), choice: &Choice, counted: &mut Counted) {
    let (outcome, recording) = record(choice);
    assert!(outcome.violation.is_none(), "{choice:?}");
    let mut instance = Instance::new(engine);
    let mut candidates: HashMap<u64, Candidate> = HashMap::new();
    for (place, recorded) in recording.into_iter().enumerate() {
        match recorded {
            Recorded::Begins { process, settings, store, info, nonce, seed, now } => {
                // A custom function is the one setting that cannot be passed to a component.
                if matches!(settings.backoff, Backoff::Custom(_)) {
                    assert!(CampaignSettings::try_from(*settings).unwrap_err().contains("use `Fixed`"));
                    counted.left_out += 1;
                    continue;
                }
                let settings = CampaignSettings::try_from(*settings).unwrap();
                let asked_at = info.asked_at.as_nanos();
                let (store, info, nonce) = (store.into(), info.into(), nonce.into());
                let now = now.as_nanos();
                let created = instance.create(&settings, store, info, asked_at, nonce, seed, now);
                candidates.insert(process, created.unwrap());
                counted.begun += 1;
            }
            Recorded::Input { process, now, input, lease } => {
                let Some(&candidate) = candidates.get(&process) else { continue };
                instance.handle(candidate, now.as_nanos(), &input.clone().into()).unwrap();
                let own = instance.lease(candidate);
                assert_eq!(own, lease, "{choice:?}, {place}: after {input:?}");
                counted.inputs += 1;
            }
            Recorded::Output { process, output } => {
                let Some(&candidate) = candidates.get(&process) else { continue };
                let own = Output::try_from(instance.poll(candidate)).unwrap();
                assert_eq!(own, output, "{choice:?}, {place}");
                counted.outputs += 1;
                counted.terms += usize::from(matches!(output, Output::Event(Event::Won(_))));
            }
        }
    }
}
