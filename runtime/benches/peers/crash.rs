//! Leaders that are killed, and the candidates that wait for their leases to run out.

use std::thread;

use incumbent_testkit::figure::Sample;

use crate::side::{Pair, Side};

/// Multiples of it, less their whole parts, lie evenly between 0 and 1, however many they are.
const GOLDEN: f64 = 0.618_033_988_75;

/// The times from each kill to the next leader's report, for each side.
///
/// All sides are measured at the same time, because they mostly wait: each has so many pairs, whose leaders are killed in
/// each round, at all phases between two renewals.
pub(crate) fn measure(sides: &[Side], pairs: usize, rounds: usize) -> Vec<Sample> {
    let mut running: Vec<Pair<'_>> = thread::scope(|scope| {
        let starting: Vec<_> = sides
            .iter()
            .flat_map(|side| (0..pairs).map(move |number| (side, number)))
            .map(|(side, number)| scope.spawn(move || Pair::start(side, &format!("crash-{number}"))))
            .collect();
        starting.into_iter().map(|pair| pair.join().expect("a pair that starts")).collect()
    });
    let mut samples = vec![Sample::default(); sides.len()];
    for round in 0..rounds {
        if round > 0 {
            thread::scope(|scope| {
                for pair in &mut running {
                    scope.spawn(|| pair.replace());
                }
            });
        }
        let times: Vec<_> = thread::scope(|scope| {
            let crashing: Vec<_> = running
                .iter_mut()
                .enumerate()
                .map(|(place, pair)| {
                    let phase = ((round * pairs + place % pairs) as f64 * GOLDEN).fract();
                    scope.spawn(move || {
                        thread::sleep(pair.side.renewal.mul_f64(phase));
                        pair.crash()
                    })
                })
                .collect();
            crashing.into_iter().map(|time| time.join().expect("another candidate leads")).collect()
        });
        for (place, time) in times.into_iter().enumerate() {
            samples[place / pairs].extend(time);
        }
    }
    samples
}
