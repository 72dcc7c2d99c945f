//! Output for output what the native core gives.

use std::collections::HashMap;

use incumbent::core::campaign::{Backoff, Event, Output};
use incumbent_sim::{Choice, Recorded, record};

use crate::bindings::incumbent::election::types::Nonce;
use crate::support::{Candidate, Instance, compiled, input, output};
use crate::wishes::candidacy;
use crate::{ErrorKind, given};

/// How many runs of the simulator the component is taken through.
const SEEDS: u64 = 40;

#[test]
fn in_simulated_elections_the_component_says_what_the_native_core_says() {
    let engine = compiled();
    let (mut inputs, mut outputs, mut terms, mut begun, mut left_out) = (0, 0, 0, 0, 0);
    for seed in 0..SEEDS {
        let (outcome, tape) = record(&Choice::of_seed(seed));
        assert!(outcome.violation.is_none(), "seed {seed}");
        let mut instance = Instance::new(&engine);
        let mut candidates: HashMap<u64, Candidate> = HashMap::new();
        for (place, recorded) in tape.into_iter().enumerate() {
            match recorded {
                Recorded::Begins { process, settings, store, facts, nonce, seed, now } => {
                    // A function of the program's own is the one wish that does not go into a component.
                    if matches!(settings.backoff, Backoff::Custom(_)) {
                        assert_eq!(candidacy(*settings).unwrap_err().kind(), ErrorKind::Refused);
                        left_out += 1;
                        continue;
                    }
                    let settings = candidacy(*settings).unwrap();
                    let asked_at = facts.asked_at.as_nanos();
                    let nonce = Nonce { high: (nonce.0 >> 64) as u64, low: nonce.0 as u64 };
                    let (store, facts) = (given::capabilities(store), given::facts(facts));
                    let created =
                        instance.create(&settings, store, facts, asked_at, nonce, seed, now.as_nanos());
                    candidates.insert(process, created.unwrap());
                    begun += 1;
                }
                Recorded::Hands { process, now, input: taped, lease } => {
                    let Some(&candidate) = candidates.get(&process) else { continue };
                    instance.handle(candidate, now.as_nanos(), &input(&taped)).unwrap();
                    let own = instance.lease(candidate);
                    assert_eq!(own, lease, "seed {seed}, {place}: after {taped:?}");
                    inputs += 1;
                }
                Recorded::Says { process, output: taped } => {
                    let Some(&candidate) = candidates.get(&process) else { continue };
                    let own = output(instance.poll(candidate));
                    assert_eq!(own, taped, "seed {seed}, {place}");
                    outputs += 1;
                    terms += u32::from(matches!(taped, Output::Event(Event::Won(_))));
                }
            }
        }
    }
    assert!(left_out * 2 < begun, "{left_out} candidates left out, {begun} taken");
    assert!(
        inputs > 10_000 && outputs > 20_000 && terms > 40,
        "{inputs} inputs, {outputs} outputs, {terms} terms"
    );
}
