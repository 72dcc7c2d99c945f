//! Leaders that leave.

use incumbent_testkit::figure::Sample;

use crate::side::{Pair, Side};

/// The rounds of one side before the next has its turn, so that all see the same machine.
const TURN: usize = 5;

/// The times from each request to leave to the next leader's report, for each side; none for sides that cannot leave.
pub(crate) fn measure(sides: &[Side], rounds: usize) -> Vec<Option<Sample>> {
    let mut measured: Vec<_> = sides
        .iter()
        .map(|side| side.resigns.then(|| (Pair::start(side, "hand-over"), Sample::default())))
        .collect();
    for _ in 0..rounds / TURN {
        for (pair, sample) in measured.iter_mut().flatten() {
            sample.extend((0..TURN).filter_map(|_| pair.hand_over()));
        }
    }
    measured.into_iter().map(|side| side.map(|(_, sample)| sample)).collect()
}
