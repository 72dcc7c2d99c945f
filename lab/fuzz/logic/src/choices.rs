//! Where a target's choices come from: a fuzzer's bytes, or random numbers.

use arbitrary::Unstructured;
use oorandom::Rand64;

/// A source of small decisions.
#[derive(Debug)]
pub struct Choices<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    Bytes(Unstructured<'a>),
    Dice(Rand64),
}

impl<'a> Choices<'a> {
    /// Reads decisions from bytes; one of up to 256 takes one byte.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(Unstructured::new(bytes)))
    }

    /// Draws random numbers, the same for the same seed.
    pub fn of_dice(seed: u64) -> Self {
        Self(Source::Dice(Rand64::new(seed.into())))
    }

    /// Returns true if the source is used up. Random numbers never end.
    pub fn are_used_up(&self) -> bool {
        match &self.0 {
            Source::Bytes(bytes) => bytes.is_empty(),
            Source::Dice(_) => false,
        }
    }

    /// From zero to `most`; zero once the bytes are used up.
    pub fn up_to(&mut self, most: u64) -> u64 {
        match &mut self.0 {
            Source::Bytes(bytes) => bytes.int_in_range(0..=most).unwrap_or(0),
            Source::Dice(_) if most == u64::MAX => self.any(),
            Source::Dice(dice) => dice.rand_range(0..most + 1),
        }
    }

    /// From zero to less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.up_to(end - 1)
    }

    /// True one time in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these values.
    pub fn one_of<T: Copy, const N: usize>(&mut self, these: [T; N]) -> T {
        these[usize::try_from(self.below(N as u64)).unwrap_or(0)]
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        match &mut self.0 {
            Source::Bytes(bytes) => bytes.arbitrary().unwrap_or(0),
            Source::Dice(dice) => dice.rand_u64(),
        }
    }
}
