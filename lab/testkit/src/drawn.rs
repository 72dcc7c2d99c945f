//! Times that are drawn for a run of a benchmark; the same seed draws the same times.

use std::time::Duration;

/// The environment variable with the number of the run, counted from 1. That number is the seed; it is 1 if the
/// variable is not set.
pub const RUN: &str = "INCUMBENT_BENCH_RUN";

/// A generator of times.
#[derive(Debug)]
pub struct Drawn(fastrand::Rng);

impl Drawn {
    /// Returns the generator of this run, and prints its seed on standard error.
    pub fn of_this_run(what: &str) -> Self {
        let seed = std::env::var(RUN).ok().and_then(|run| run.parse().ok()).unwrap_or(1);
        eprintln!("{what} are drawn with the seed {seed}");
        Self::with_seed(seed)
    }

    /// The generator of this seed.
    pub fn with_seed(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Returns a time below `span`.
    pub fn below(&mut self, span: Duration) -> Duration {
        span.mul_f64(self.0.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_times_and_another_seed_others() {
        let span = Duration::from_millis(250);
        let times = |seed| {
            let mut drawn = Drawn::with_seed(seed);
            [(); 3].map(|()| drawn.below(span))
        };
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
        assert!(times(1).into_iter().all(|time| time < span));
    }
}
