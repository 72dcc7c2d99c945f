//! A campaign's nonce and seed, made from what its caller drew.
//!
//! Two campaigns with the same nonce may take each other's records for their own if their names and attempts also
//! match. So numbers that cannot be random are refused, and everything else that tells two campaigns apart is mixed in.
//! A cloned machine, a restored snapshot or a stub may repeat its random numbers, but rarely its clock too.

use alloc::format;

use super::settings::InvalidSettings;
use crate::record::Nonce;
use crate::refusals;
use crate::time::Instant;

/// Tells apart two campaigns whose random numbers are equal.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The candidate's name.
    pub name: &'a str,
    /// The election's key.
    pub key: &'a str,
    /// A reading of the clock.
    pub now: Instant,
    /// Further sources: the process number, the time of day.
    pub process: &'a [u64],
}

/// A campaign's nonce and seed, from three numbers drawn from the operating system.
///
/// # Errors
/// Refuses the setting `random` if a number is zero or two are equal. That happens to truly random numbers in one of
/// 10^18 draws.
pub fn draw([high, low, seed]: [u64; 3], identity: Identity<'_>) -> Result<(Nonce, u64), InvalidSettings> {
    if [high, low, seed].contains(&0) || high == low || low == seed || seed == high {
        return Err(refusals::random(&format!("{high:#018x}, {low:#018x}, {seed:#018x}")));
    }
    let high = high ^ identity.mixed(1);
    let low = low ^ identity.mixed(2);
    Ok((Nonce(u128::from(high) << 64 | u128::from(low)), seed ^ identity.mixed(3)))
}

impl Identity<'_> {
    /// A hash of all fields, different for every `lane`.
    fn mixed(&self, lane: u64) -> u64 {
        let mut state = absorb(0, lane);
        for text in [self.name, self.key] {
            state = absorb(state, text.len() as u64);
            for chunk in text.as_bytes().chunks(8) {
                let word = chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                state = absorb(state, word);
            }
        }
        state = absorb(state, self.now.as_nanos());
        self.process.iter().fold(state, |state, word| absorb(state, *word))
    }
}

/// One step of SplitMix64, which mixes in a word: G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014; the constants are from its published code.
fn absorb(state: u64, word: u64) -> u64 {
    let state = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    const DRAWN: [u64; 3] = [11, 22, 33];

    fn me() -> Identity<'static> {
        Identity { name: "a", key: "jobs", now: Instant::from_nanos(7), process: &[1, 2] }
    }

    #[test]
    fn numbers_that_are_zero_or_equal_are_refused() {
        for drawn in [[0, 0, 0], [0, 1, 2], [1, 0, 2], [1, 2, 0], [1, 1, 2], [1, 2, 1], [2, 1, 1], [5, 5, 5]]
        {
            assert_eq!(draw(drawn, me()).unwrap_err().setting, "random", "{drawn:?}");
        }
        let refused = draw([0; 3], me()).unwrap_err();
        assert!(refused.value.starts_with("0x0000000000000000, "), "{}", refused.value);
        assert!(refused.remedy.to_string().contains("operating system"), "{refused}");
    }

    #[test]
    fn the_same_numbers_give_others_where_anything_else_differs() {
        let others = [
            me(),
            Identity { name: "b", ..me() },
            Identity { name: "aj", key: "obs", ..me() },
            Identity { name: "a\0", ..me() },
            Identity { name: "", ..me() },
            Identity { key: "jobs-two", ..me() },
            Identity { now: Instant::from_nanos(8), ..me() },
            Identity { process: &[1, 3], ..me() },
            Identity { process: &[], ..me() },
        ];
        let drawn = others.map(|identity| draw(DRAWN, identity).unwrap());
        assert_eq!(drawn.iter().map(|(nonce, _)| nonce).collect::<BTreeSet<_>>().len(), others.len());
        assert_eq!(drawn.iter().map(|(_, seed)| seed).collect::<BTreeSet<_>>().len(), others.len());
    }

    #[test]
    fn the_same_of_everything_gives_the_same() {
        assert_eq!(draw(DRAWN, me()), draw(DRAWN, me()));
    }

    #[test]
    fn every_bit_that_was_drawn_is_in_what_comes_of_it() {
        let (nonce, seed) = draw(DRAWN, me()).unwrap();
        for bit in 0..64 {
            let flipped = |place: usize| {
                let mut drawn = DRAWN;
                drawn[place] ^= 1 << bit;
                draw(drawn, me()).unwrap_or((Nonce(0), 0))
            };
            assert_ne!(flipped(0).0, nonce);
            assert_ne!(flipped(1).0, nonce);
            assert_ne!(flipped(2).1, seed);
        }
    }
}
