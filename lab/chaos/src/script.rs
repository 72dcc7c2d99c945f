//! The order of faults, which depends only on a seed.

use std::time::Duration;

use fastrand::Rng;
use incumbent_rig::schedule::Rotation;

use crate::kind::{Kind, Touch};
use crate::scenario::{MARKED, Scenario};

/// A time without faults, and then one or two of them at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) pause: Duration,
    pub(crate) faults: Vec<Fault>,
}

/// A fault. Its victim depends on who leads when it comes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// The election it is aimed at, by its place in the scenario.
    pub(crate) aim: usize,
    /// Chooses among possible victims: the follower, the successor, the second server.
    pub(crate) pick: usize,
    /// The fault's duration, between the shortest (0) and the longest (1) of its kind.
    pub(crate) hold: f64,
}

/// Endless steps.
#[derive(Debug)]
pub(crate) struct Script {
    rng: Rng,
    kinds: Vec<Kind>,
    /// Draws the kinds in turn. A kill comes more often, because it is timed.
    rotation: Rotation<Kind>,
    aims: Vec<usize>,
    /// The elections whose bucket allows a purge; a bucket without markers rightly refuses one.
    purgeable: Vec<usize>,
    /// The elections that other software takes part in.
    mixed: Vec<usize>,
    step: u32,
}

/// The shortest and the longest time without faults, in milliseconds.
const QUIET: std::ops::Range<u64> = 200..1_400;
/// One step in this many has two faults.
const PAIRS: u32 = 5;
/// Faults that keep a leader from seeing that its key was changed, so that it leads until its deadline: the next
/// leader's wait exists for them. In half of the cases the leader is blinded before its key is changed.
const BLINDING: [Kind; 4] = [Kind::Freeze, Kind::Cut, Kind::CutReplies, Kind::HalfOpen];
/// The additional kills of a leader in each round of faults: only fail-overs after a kill are timed.
const MORE_KILLS: usize = 3;

impl Script {
    /// The script of that seed.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let possible = |kind: &Kind| kind.is_possible(scenario.store, scenario.servers);
        let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(possible).collect();
        let is_purgeable = |aim: &usize| scenario.elections[*aim].bucket == MARKED;
        Self {
            purgeable: scenario.aims().into_iter().filter(is_purgeable).collect(),
            mixed: (0..scenario.elections.len()).filter(|at| scenario.elections[*at].is_mixed).collect(),
            rng: Rng::with_seed(seed),
            rotation: Rotation::new([&kinds[..], &[Kind::Kill; MORE_KILLS]].concat()),
            kinds,
            aims: scenario.aims(),
            step: 0,
        }
    }

    fn fault(&mut self, kind: Kind) -> Fault {
        let aims = match kind {
            Kind::Purge => &self.purgeable,
            _ if kind.touch() == Touch::Foreign => &self.mixed,
            _ => &self.aims,
        };
        let aim = self.rng.choice(aims).copied().unwrap_or_default();
        Fault { kind, aim, pick: self.rng.usize(..1 << 20), hold: self.rng.f64() }
    }

    /// A second fault together with one of that kind: a fault of the servers with one of a process or a key, and vice
    /// versa. A fault that no election may notice comes alone: otherwise it would not be clear which fault was noticed.
    fn companion(&mut self, kind: Kind) -> Option<Fault> {
        if kind.touch() == Touch::Follower {
            return None;
        }
        let fits =
            |other: &Kind| other.touch() != Touch::Follower && other.is_of_servers() != kind.is_of_servers();
        let kinds: Vec<Kind> = self.kinds.iter().copied().filter(fits).collect();
        let other = self.rng.choice(kinds)?;
        Some(self.fault(other))
    }
}

impl Iterator for Script {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let kind = self.rotation.draw(&mut self.rng, |_| true)?;
        self.step += 1;
        let pause = Duration::from_millis(self.rng.u64(QUIET));
        let mut faults = vec![self.fault(kind)];
        if kind.touch() == Touch::Key && self.rng.bool() {
            let blinding = self.rng.choice(BLINDING).unwrap_or(Kind::Freeze);
            let aim = faults[0].aim;
            faults.push(Fault { aim, ..self.fault(blinding) });
        } else if self.step.is_multiple_of(PAIRS) {
            faults.extend(self.companion(kind));
        }
        // The order of the faults: a leader is blinded before its key is changed, and faults of servers come last,
        // because an operator that finds the store gone would wait until it is back.
        faults.sort_by_key(|fault| (fault.kind.is_of_servers(), fault.kind.touch() == Touch::Key));
        Some(Step { pause, faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::StoreKind;
    use std::collections::BTreeSet;

    fn steps(scenario: &Scenario, seed: u64, count: usize) -> Vec<Step> {
        Script::new(scenario, seed).take(count).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_script_and_another_seed_another() {
        for scenario in Scenario::all() {
            assert_eq!(steps(&scenario, 7, 100), steps(&scenario, 7, 100));
            assert_ne!(steps(&scenario, 7, 100), steps(&scenario, 8, 100));
        }
    }

    #[test]
    fn every_possible_kind_comes_before_it_all_begins_again() {
        for scenario in Scenario::all() {
            let possible =
                Kind::ALL.iter().copied().filter(|kind| kind.is_possible(scenario.store, scenario.servers));
            let possible: Vec<Kind> = possible.collect();
            let first = steps(&scenario, 3, possible.len() + MORE_KILLS);
            let drawn: BTreeSet<Kind> = first.iter().flat_map(|step| &step.faults).map(|f| f.kind).collect();
            assert_eq!(drawn, possible.into_iter().collect());
        }
    }

    #[test]
    fn two_at_once_are_of_different_things_and_none_is_a_followers() {
        for scenario in Scenario::all() {
            let pairs = steps(&scenario, 5, 500).into_iter().filter(|step| step.faults.len() == 2);
            let kinds: Vec<[Kind; 2]> =
                pairs.map(|step| [step.faults[0].kind, step.faults[1].kind]).collect();
            assert!(kinds.len() > 50, "{}", kinds.len());
            for [one, other] in kinds {
                assert_ne!(one.touch(), other.touch());
                assert!(!one.is_of_servers(), "servers go last");
                assert!(one.touch() != Touch::Follower && other.touch() != Touch::Follower);
            }
        }
    }

    #[test]
    fn a_leader_is_blinded_before_its_own_key_is_touched() {
        for scenario in Scenario::all() {
            let is_of_key = |step: &Step| step.faults.last().is_some_and(|f| f.kind.touch() == Touch::Key);
            let of_keys: Vec<Step> = steps(&scenario, 5, 500).into_iter().filter(is_of_key).collect();
            let blinded: Vec<&Step> = of_keys.iter().filter(|step| step.faults.len() == 2).collect();
            assert!(blinded.len() * 3 > of_keys.len(), "{} of {}", blinded.len(), of_keys.len());
            for step in blinded {
                assert!(BLINDING.contains(&step.faults[0].kind), "{step:?}");
                assert_eq!(step.faults[0].aim, step.faults[1].aim);
            }
        }
    }

    #[test]
    fn only_a_bucket_that_allows_it_is_purged() {
        for scenario in Scenario::all().into_iter().filter(|scenario| scenario.store == StoreKind::Nats) {
            let faults = steps(&scenario, 5, 300).into_iter().flat_map(|step| step.faults);
            let purged: Vec<_> = faults.filter(|fault| fault.kind == Kind::Purge).collect();
            assert!(purged.len() > 5);
            assert!(purged.iter().all(|fault| scenario.elections[fault.aim].bucket == MARKED));
        }
    }

    #[test]
    fn faults_are_aimed_only_at_elections_that_are_meant_for_it() {
        for scenario in Scenario::all() {
            let aimed = steps(&scenario, 5, 300).into_iter().flat_map(|step| step.faults);
            for fault in aimed {
                let contest = &scenario.elections[fault.aim];
                let is_foreign = fault.kind.touch() == Touch::Foreign;
                assert!(if is_foreign { contest.is_mixed } else { contest.is_aimed_at }, "{fault:?}");
            }
        }
    }
}
