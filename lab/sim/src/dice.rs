//! Randomness that a seed decides.

use std::time::Duration;

use oorandom::Rand64;

/// A source of random numbers, the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Dice(Rand64);

impl Dice {
    /// Creates one of several independent sources for a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        // In the 128 bits, 56 bits of the stream's number are above the seed and 8 are below it.
        let (high, low) = (u128::from(stream >> 8), u128::from(stream & 0xff));
        Self(Rand64::new(high << 72 | u128::from(seed) << 8 | low))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0.rand_u64()
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.rand_range(0..bound)
    }

    /// Returns true in `chance` of a hundred cases on average.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        chance > 0 && self.below(100) < chance
    }

    /// A span between two numbers of microseconds.
    pub(crate) fn micros(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_micros(from + self.below(to - from + 1))
    }

    /// A span between two numbers of milliseconds.
    pub(crate) fn millis(&mut self, from: u64, to: u64) -> Duration {
        self.micros(from * 1000, to * 1000)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
