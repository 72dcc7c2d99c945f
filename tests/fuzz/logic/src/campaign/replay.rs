//! I14, and once more I13 and the harmlessness of misuse: all inputs are replayed with another
//! campaign, without the calls that must not change anything.

use incumbent_core::Instant;
use incumbent_core::campaign::{Campaign, Input, Output};

use super::plan::Plan;

pub(super) fn check(plan: &Plan, inputs: &[(Instant, Input)], trace: &[Output], first: &Campaign) {
    let mut again = plan.campaign().expect("settings that were accepted");
    let mut said = trace.iter();
    for (now, input) in inputs {
        again.handle(*now, input.clone()).expect("what was accepted");
        loop {
            let output = again.poll();
            assert_eq!(Some(&output), said.next(), "I13, I14: the same inputs, and other outputs");
            if matches!(output, Output::WakeAt(_)) {
                break;
            }
        }
    }
    assert_eq!(said.next(), None, "I14: the first said more");
    let shown = (again.lease(), again.state(), again.leader());
    assert_eq!(shown, (first.lease(), first.state(), first.leader()), "I14");
}
