//! One measurement on many pairs of all sides at the same time.

use std::thread;
use std::time::Duration;

use incumbent_testkit::drawn::Drawn;
use incumbent_testkit::figure::Sample;

use crate::pair::{Fault, Pair};
use crate::side::{Leaving, Side};

/// The time between a NATS server's removals of expired records. The starts of faults are spread over this time too.
const SWEEP: Duration = Duration::from_millis(250);
/// The number of hand-overs of one side before the next side's turn, so that all see the same machine.
const TURN: usize = 5;

/// The pairs of each side, and the rounds.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) pairs: usize,
    pub(crate) rounds: usize,
}

impl Extent {
    /// The number of measurements of each side.
    pub(crate) fn all(self) -> usize {
        self.pairs * self.rounds
    }
}

/// Returns the results of `measure_one` for each side's pairs.
///
/// All sides are measured at the same time, because they mostly wait. Each round measures each pair once, at a random
/// phase between two renewals and between two of the server's removals.
pub(crate) fn measure<T: Send>(
    sides: &[Side],
    extent: Extent,
    election: &str,
    fault: Option<Fault>,
    measure_one: impl Fn(&mut Pair<'_>) -> Option<T> + Sync,
) -> Vec<Vec<T>> {
    if sides.is_empty() {
        return Vec::new();
    }
    let Extent { pairs, rounds } = extent;
    let mut running: Vec<Pair<'_>> = thread::scope(|scope| {
        let starting: Vec<_> = sides
            .iter()
            .flat_map(|side| (0..pairs).map(move |number| (side, number)))
            .map(|(side, number)| {
                scope.spawn(move || Pair::start(side, &format!("{election}-{number}"), fault))
            })
            .collect();
        starting.into_iter().map(|pair| pair.join().expect("a pair that starts")).collect()
    });
    let mut measured: Vec<Vec<T>> = sides.iter().map(|_| Vec::new()).collect();
    let mut drawn = Drawn::of_this_run(&format!("{election}: phases between two renewals"));
    for round in 0..rounds {
        thread::scope(|scope| {
            for pair in &mut running {
                scope.spawn(|| pair.complete());
            }
        });
        let phase = |pair: &Pair<'_>| drawn.below(pair.side.renewal) + drawn.below(SWEEP);
        let phases: Vec<Duration> = running.iter().map(phase).collect();
        let shown: Vec<u128> = phases.iter().map(Duration::as_millis).collect();
        eprintln!("{election}, round {round}: after ms {shown:?}");
        let outcomes: Vec<_> = thread::scope(|scope| {
            let measure_one = &measure_one;
            let measuring: Vec<_> = running
                .iter_mut()
                .zip(phases)
                .map(|(pair, phase)| {
                    scope.spawn(move || {
                        thread::sleep(phase);
                        measure_one(pair)
                    })
                })
                .collect();
            measuring.into_iter().map(|one| one.join().expect("another candidate leads")).collect()
        });
        for (place, outcome) in outcomes.into_iter().enumerate() {
            measured[place / pairs].extend(outcome);
        }
    }
    measured
}

/// The times of [`measure`].
pub(crate) fn times(
    sides: &[Side],
    extent: Extent,
    election: &str,
    measure_one: impl Fn(&mut Pair<'_>) -> Option<Duration> + Sync,
) -> Vec<Sample> {
    measure(sides, extent, election, None, measure_one).into_iter().map(sample).collect()
}

/// Times as a sample.
pub(crate) fn sample(times: impl IntoIterator<Item = Duration>) -> Sample {
    let mut sample = Sample::default();
    sample.extend(times);
    sample
}

/// Returns, for each side, the times from each request to leave to the next leader's report; `None` for a side that
/// cannot leave. The sides are measured one after another, because hand-overs are short.
pub(crate) fn hand_over(sides: &[Side], rounds: usize) -> Vec<Option<Sample>> {
    let mut measured: Vec<_> = sides
        .iter()
        .map(|side| {
            (side.leaving != Leaving::Never)
                .then(|| (Pair::start(side, "hand-over", None), Sample::default()))
        })
        .collect();
    for _ in 0..rounds / TURN {
        for (pair, sample) in measured.iter_mut().flatten() {
            sample.extend((0..TURN).filter_map(|_| pair.hand_over()));
        }
    }
    measured.into_iter().map(|side| side.map(|(_, sample)| sample)).collect()
}
