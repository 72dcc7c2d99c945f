//! The number of runs in which two kinds of faults met.

use crate::kind::Kind;

const KINDS: usize = Kind::ALL.len();

/// A count for each pair of different kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    counts: Vec<u64>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self { counts: vec![0; KINDS * KINDS] }
    }
}

impl Pairs {
    /// The count of a pair, in either order.
    pub fn of(&self, one: Kind, other: Kind) -> u64 {
        self.counts[place(one, other)]
    }

    /// Counts a run once for each pair among its kinds.
    pub(super) fn count(&mut self, kinds: &[Kind]) {
        for (one, other) in pairs(kinds) {
            self.counts[place(one, other)] += 1;
        }
    }
}

/// Each pair of different kinds once.
pub(super) fn pairs(kinds: &[Kind]) -> impl Iterator<Item = (Kind, Kind)> {
    let rest = kinds.iter().enumerate();
    rest.flat_map(|(place, one)| kinds[place + 1..].iter().map(|other| (*one, *other)))
}

fn place(one: Kind, other: Kind) -> usize {
    let (first, second) = (one.min(other) as usize, one.max(other) as usize);
    first * KINDS + second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_once_for_each_pair_in_either_order() {
        let mut met = Pairs::default();
        met.count(&[Kind::Loss, Kind::Cut, Kind::Pause]);
        met.count(&[Kind::Cut, Kind::Loss]);
        assert_eq!((met.of(Kind::Loss, Kind::Cut), met.of(Kind::Cut, Kind::Loss)), (2, 2));
        assert_eq!((met.of(Kind::Pause, Kind::Loss), met.of(Kind::Pause, Kind::Delay)), (1, 0));
    }
}
