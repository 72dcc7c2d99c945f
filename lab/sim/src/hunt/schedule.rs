//! The runs of a hunt in their order, all derived from its first seed.

use super::pairs::{Pairs, pairs};
use crate::dice::Dice;
use crate::kind::{Kind, Store};
use crate::plan::Choice;

/// The stream of a schedule's draws, separate from that of any run with the same seed.
const STREAM: u64 = 0x9_0000;

/// The numbers of candidates, weighted by repetition: runs with few candidates find most, and cost least.
const CANDIDATES: [usize; 10] = [2, 3, 3, 3, 4, 5, 5, 5, 7, 9];

/// One run in this number has candidates of other software. The number is larger on Kafka, where such candidates write
/// ten heartbeats a second, and a run takes ten times as long.
const WITH_PEERS: u64 = 3;
const WITH_PEERS_ON_KAFKA: u64 = 12;

/// The factor with which pairs count that include a kind under which little is promised, so that they are drawn less
/// often.
const BREAKS: u64 = 4;

/// The runs to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The seed of the first run. Each further run has the next seed.
    pub seed: u64,
    /// The stores, in turn.
    pub stores: Vec<Store>,
    /// The kinds of faults; `None` for all kinds.
    pub faults: Option<Vec<Kind>>,
    /// The number of candidates of other software. If `None`, a third of the runs (on Kafka, a twelfth) have one to
    /// three, and the other runs none.
    pub peers: Option<usize>,
}

/// The endless runs of a hunt. They alternate between the mix of faults that a seed draws from all kinds, and a group
/// of three to five kinds from the pairs that met least so far.
#[derive(Debug)]
pub struct Schedule {
    wanted: Wanted,
    dice: Dice,
    number: u64,
    /// For each store, the pairs of kinds in the groups so far.
    drawn: [Pairs; Store::ALL.len()],
}

impl Schedule {
    /// The schedule of a hunt.
    pub fn new(wanted: &Wanted) -> Self {
        let dice = Dice::new(wanted.seed, STREAM);
        Self { wanted: wanted.clone(), dice, number: 0, drawn: Default::default() }
    }

    /// Draws a group of kinds: a pair that has met least, and further kinds that have met the group's kinds least.
    fn group(&mut self, store: Store, kinds: &[Kind]) -> Vec<Kind> {
        let size = self.dice.pick(&[3, 4, 5]);
        if kinds.len() <= size {
            return kinds.to_vec();
        }
        let drawn = &self.drawn[store as usize];
        let met = |one: Kind, other: Kind| {
            let breaks = one.breaks_an_assumption() || other.breaks_an_assumption();
            drawn.of(one, other) * if breaks { BREAKS } else { 1 }
        };
        let (one, other) = least(&mut self.dice, pairs(kinds), |(one, other)| met(*one, *other));
        let mut group = vec![one, other];
        while group.len() < size {
            let others = kinds.iter().copied().filter(|kind| !group.contains(kind));
            let next =
                least(&mut self.dice, others, |kind| group.iter().map(|member| met(*kind, *member)).sum());
            group.push(next);
        }
        group.sort_unstable();
        self.drawn[store as usize].count(&group);
        group
    }
}

impl Iterator for Schedule {
    type Item = Choice;

    fn next(&mut self) -> Option<Choice> {
        let stores = &self.wanted.stores;
        let (turn, place) =
            (self.number / stores.len().max(1) as u64, self.number % stores.len().max(1) as u64);
        let store = *stores.get(place as usize)?;
        let seed = self.wanted.seed.wrapping_add(self.number);
        self.number += 1;
        let candidates = self.dice.pick(&CANDIDATES);
        let one_in = if store == Store::Kafka { WITH_PEERS_ON_KAFKA } else { WITH_PEERS };
        let some = if self.dice.below(one_in) == 0 { self.dice.pick(&[1, 2, 3]) } else { 0 };
        let peers = self.wanted.peers.unwrap_or(some);
        let plain = self.dice.percent(15);
        let faults = if turn % 2 == 0 {
            self.wanted.faults.clone()
        } else {
            let kinds = kinds(store, peers, self.wanted.faults.as_deref());
            Some(self.group(store, &kinds))
        };
        Some(Choice { seed, store, candidates, faults, peers, plain, keep: None, lasts: None })
    }
}

/// The kinds of faults that a run on a store may have.
pub(super) fn kinds(store: Store, peers: usize, named: Option<&[Kind]>) -> Vec<Kind> {
    let spared = |kind: &Kind| store != Store::Nats || peers == 0 || kind.spares_go_peers();
    let is_named = |kind: &Kind| named.is_none_or(|named| named.contains(kind));
    let all = Kind::ALL.iter().copied();
    all.filter(|kind| kind.is_of(store) && spared(kind) && is_named(kind)).collect()
}

/// One of the items with the smallest count. There is at least one item.
fn least<T: Copy>(dice: &mut Dice, items: impl Iterator<Item = T>, count: impl Fn(&T) -> u64) -> T {
    let mut fewest = u64::MAX;
    let mut least = Vec::new();
    for item in items {
        let count = count(&item);
        if count < fewest {
            least.clear();
        }
        if count <= fewest {
            fewest = count;
            least.push(item);
        }
    }
    dice.pick(&least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(seed: u64, stores: &[Store]) -> Wanted {
        Wanted { seed, stores: stores.to_vec(), faults: None, peers: None }
    }

    #[test]
    fn the_same_seed_gives_the_same_runs_and_another_seed_others() {
        let runs = |seed| Schedule::new(&wanted(seed, &Store::ALL)).take(300).collect::<Vec<_>>();
        assert_eq!(runs(7), runs(7));
        let varied = |seed| runs(seed).into_iter().map(|run| (run.candidates, run.peers)).collect::<Vec<_>>();
        assert_ne!(varied(7), varied(8));
    }

    #[test]
    fn every_run_has_a_seed_of_its_own_and_the_stores_and_the_mixes_take_turns() {
        let runs: Vec<_> = Schedule::new(&wanted(40, &[Store::Etcd, Store::Kafka])).take(6).collect();
        let seen: Vec<_> = runs.iter().map(|run| (run.seed, run.store, run.faults.is_some())).collect();
        let (etcd, kafka) = (Store::Etcd, Store::Kafka);
        assert_eq!(
            seen,
            [
                (40, etcd, false),
                (41, kafka, false),
                (42, etcd, true),
                (43, kafka, true),
                (44, etcd, false),
                (45, kafka, false)
            ]
        );
    }

    #[test]
    fn every_pair_of_kinds_meets_within_so_many_groups() {
        for store in Store::ALL {
            let kinds = kinds(store, 0, None);
            let all = kinds.len() * (kinds.len() - 1) / 2;
            let mut schedule = Schedule::new(&Wanted { peers: Some(0), ..wanted(1, &[store]) });
            // A group of four kinds has six pairs, but the last pairs are found one at a time.
            for _ in 0..all {
                schedule.next();
            }
            let drawn = &schedule.drawn[store as usize];
            let left = pairs(&kinds).filter(|(one, other)| drawn.of(*one, *other) == 0).count();
            assert_eq!(left, 0, "{} of {all} pairs on {}", left, store.name());
        }
    }

    #[test]
    fn a_group_has_three_to_five_kinds_that_the_store_and_its_foreign_candidates_take() {
        for run in Schedule::new(&wanted(3, &Store::ALL)).take(600) {
            let Some(group) = &run.faults else { continue };
            assert!((3..=5).contains(&group.len()), "{run:?}");
            assert!(group.iter().all(|kind| kind.is_of(run.store)), "{run:?}");
            let is_spared = run.store != Store::Nats || run.peers == 0;
            assert!(is_spared || group.iter().all(|kind| kind.spares_go_peers()), "{run:?}");
        }
    }

    #[test]
    fn kinds_under_which_little_is_promised_come_seldom() {
        let runs = Schedule::new(&Wanted { peers: Some(0), ..wanted(3, &[Store::Nats]) }).take(4_000);
        let mut counts = [0_u64; Kind::ALL.len()];
        runs.filter_map(|run| run.faults).flatten().for_each(|kind| counts[kind as usize] += 1);
        let (loss, freeze) = (counts[Kind::Loss as usize], counts[Kind::Freeze as usize]);
        assert!(freeze > 0 && freeze * 2 < loss, "{freeze} and {loss}");
    }

    #[test]
    fn with_and_without_foreign_candidates_and_with_few_and_many_of_ours() {
        let runs: Vec<_> = Schedule::new(&wanted(3, &[Store::Nats])).take(900).collect();
        let with = runs.iter().filter(|run| run.peers > 0).count();
        assert!((200..400).contains(&with), "{with}");
        for candidates in CANDIDATES {
            assert!(runs.iter().any(|run| run.candidates == candidates), "{candidates}");
        }
    }

    #[test]
    fn named_kinds_are_all_there_is() {
        let named = vec![Kind::Loss, Kind::Cut];
        let wanted = Wanted { faults: Some(named.clone()), peers: Some(2), ..wanted(3, &[Store::Etcd]) };
        for run in Schedule::new(&wanted).take(20) {
            assert_eq!((run.faults.as_ref(), run.peers), (Some(&named), 2));
        }
    }
}
