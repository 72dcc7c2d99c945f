//! Output for output what the native core gives.

use std::collections::HashMap;

use incumbent_sim::{Choice, Recorded, record};

use crate::bindings::incumbent::election::settings::Candidacy;
use crate::bindings::incumbent::election::types::Nonce;
use crate::given;
use crate::support::{Candidate, Instance, compiled, defaults, input, output};

/// How many runs of the simulator the component is taken through.
const SEEDS: u64 = 40;

#[test]
fn in_simulated_elections_the_component_says_what_the_native_core_says() {
    let engine = compiled();
    let (mut inputs, mut outputs, mut terms) = (0, 0, 0);
    for seed in 0..SEEDS {
        let (outcome, tape) = record(&Choice::of_seed(seed));
        assert!(outcome.violation.is_none(), "seed {seed}");
        let mut instance = Instance::new(&engine);
        let mut candidates: HashMap<u64, Candidate> = HashMap::new();
        for (place, recorded) in tape.into_iter().enumerate() {
            match recorded {
                Recorded::Begins { process, name, lease, drain, store, facts, nonce, seed, now } => {
                    let settings = Candidacy {
                        lease: Some(given::nanos(lease)),
                        drain: Some(given::nanos(drain)),
                        ..defaults(&name)
                    };
                    let asked_at = facts.asked_at.as_nanos();
                    let nonce = Nonce { high: (nonce.0 >> 64) as u64, low: nonce.0 as u64 };
                    let (store, facts) = (given::capabilities(store), given::facts(facts));
                    let created =
                        instance.create(&settings, store, facts, asked_at, nonce, seed, now.as_nanos());
                    candidates.insert(process, created.unwrap());
                }
                Recorded::Hands { process, now, input: taped, lease } => {
                    let candidate = candidates[&process];
                    instance.handle(candidate, now.as_nanos(), &input(&taped)).unwrap();
                    let own = instance.lease(candidate);
                    assert_eq!(own, lease, "seed {seed}, {place}: after {taped:?}");
                    inputs += 1;
                }
                Recorded::Says { process, output: taped } => {
                    let own = output(instance.poll(candidates[&process]));
                    assert_eq!(own, taped, "seed {seed}, {place}");
                    outputs += 1;
                    terms += u32::from(matches!(
                        taped,
                        incumbent::core::campaign::Output::Event(incumbent::core::campaign::Event::Won(_))
                    ));
                }
            }
        }
    }
    assert!(
        inputs > 10_000 && outputs > 20_000 && terms > 40,
        "{inputs} inputs, {outputs} outputs, {terms} terms"
    );
}
