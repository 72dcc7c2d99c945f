//! Decides which fault comes when. Reads no clock and acts on no candidate: [`super::show`] carries out its moves.

use std::time::Duration;

use fastrand::Rng;
use incumbent::Instant;

use super::fault::Fault;

/// The state of the candidates, as the director sees it.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) now: Instant,
    /// The end of the demo; none where a signal ends it.
    pub(super) end: Option<Instant>,
    /// The leader, as far as is known.
    pub(super) leader: Option<usize>,
    /// For each candidate, whether it takes part.
    pub(super) well: Vec<bool>,
    /// For each candidate, whether its process or task exists.
    pub(super) present: Vec<bool>,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Make a fault.
    Strike(Blow),
    /// Repair what the fault left behind: start the victim again, or let it go on.
    Mend(Blow),
    /// No candidate took over for a long time: report it.
    Wonder(Blow),
}

/// A fault and its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blow {
    pub(super) fault: Fault,
    pub(super) victim: usize,
    /// The successor, where the victim hands over.
    pub(super) successor: Option<usize>,
    pub(super) at: Instant,
}

/// Chooses faults and their times.
pub(super) struct Director {
    rng: Rng,
    faults: Vec<Fault>,
    /// Faults still to be made before any repeats.
    bag: Vec<Fault>,
    lease: Duration,
    phase: Phase,
}

enum Phase {
    /// No fault is open, and none is made until then.
    Calm { until: Instant },
    /// A fault was made, and no candidate has won since.
    Struck { blow: Blow, wonder_at: Instant },
    /// A candidate leads again; the rest of the fault is repaired then.
    Taken { blow: Blow, mend_at: Instant },
}

/// The shortest and the longest calm before a fault, in milliseconds.
const CALM: std::ops::Range<u64> = 600..1_800;
/// The time that a victim is left alone after another candidate leads.
const REST: Duration = Duration::from_millis(400);
/// The longest expected duration of a fault that the successor hears of at once.
const SWIFT: Duration = Duration::from_millis(700);

impl Director {
    pub(super) fn new(faults: Vec<Fault>, lease: Duration, seed: u64, now: Instant) -> Self {
        let mut rng = Rng::with_seed(seed);
        let until = calm(&mut rng, now);
        Self { rng, faults, bag: Vec::new(), lease, phase: Phase::Calm { until } }
    }

    /// Returns the next move, if any.
    pub(super) fn step(&mut self, scene: &Scene) -> Option<Move> {
        match self.phase {
            Phase::Calm { until } if scene.now >= until => self.strike(scene),
            Phase::Calm { .. } => None,
            Phase::Struck { blow, wonder_at } if scene.now >= wonder_at => {
                self.phase = Phase::Taken { blow, mend_at: scene.now };
                Some(Move::Wonder(blow))
            }
            Phase::Struck { .. } => None,
            Phase::Taken { blow, mend_at } if scene.now >= mend_at => self.mend(blow, scene),
            Phase::Taken { .. } => None,
        }
    }

    /// Takes in that a candidate has won. Returns the fault whose vacancy that ends.
    pub(super) fn won(&mut self, now: Instant) -> Option<Blow> {
        let Phase::Struck { blow, .. } = self.phase else { return None };
        let mend_at = match blow.fault {
            // Longer than the lease, so that the victim wakes up in another candidate's term.
            Fault::Stop => (blow.at + self.lease * 5 / 4).max(now + REST),
            _ => now + REST,
        };
        self.phase = Phase::Taken { blow, mend_at };
        Some(blow)
    }

    /// The fault could not be made: the victim no longer led.
    pub(super) fn missed(&mut self, now: Instant) {
        if let Phase::Struck { .. } = self.phase {
            self.phase = Phase::Calm { until: calm(&mut self.rng, now) };
        }
    }

    fn strike(&mut self, scene: &Scene) -> Option<Move> {
        let victim = scene.leader.filter(|&leader| scene.well[leader])?;
        let others: Vec<usize> = (0..scene.well.len()).filter(|&i| scene.well[i] && i != victim).collect();
        let successor = self.rng.choice(others)?;
        let fault = self.draw(scene)?;
        let successor = (fault == Fault::HandOver).then_some(successor);
        let blow = Blow { fault, victim, successor, at: scene.now };
        // Twice a lease is the worst of all faults; the rest is an allowance for a busy machine.
        let wonder_at = scene.now + self.lease * 3 + Duration::from_secs(5);
        self.phase = Phase::Struck { blow, wonder_at };
        Some(Move::Strike(blow))
    }

    fn mend(&mut self, blow: Blow, scene: &Scene) -> Option<Move> {
        let leaves = matches!(blow.fault, Fault::Kill | Fault::Restart);
        if leaves && scene.present[blow.victim] {
            return None;
        }
        self.phase = Phase::Calm { until: calm(&mut self.rng, scene.now) };
        (leaves || blow.fault == Fault::Stop).then_some(Move::Mend(blow))
    }

    /// Draws every fault once, in a random order, before any repeats; none that would not be over in time.
    fn draw(&mut self, scene: &Scene) -> Option<Fault> {
        if self.bag.is_empty() {
            self.bag.clone_from(&self.faults);
            self.rng.shuffle(&mut self.bag);
        }
        let left = scene.end.map_or(Duration::MAX, |end| end.since(scene.now));
        let in_time =
            |fault: &Fault| left >= if fault.is_swift() { SWIFT } else { self.lease * 5 / 4 + SWIFT };
        let index = self.bag.iter().rposition(in_time)?;
        Some(self.bag.remove(index))
    }
}

fn calm(rng: &mut Rng, now: Instant) -> Instant {
    now + Duration::from_millis(rng.u64(CALM))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn scene(millis: u64, leader: Option<usize>) -> Scene {
        Scene { now: at(millis), end: None, leader, well: vec![true; 3], present: vec![true; 3] }
    }

    fn director(faults: &[Fault]) -> Director {
        Director::new(faults.to_vec(), LEASE, 7, at(0))
    }

    fn struck(director: &mut Director, millis: u64) -> Blow {
        match director.step(&scene(millis, Some(1))) {
            Some(Move::Strike(blow)) => blow,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_fault_is_injected_before_the_pause_is_over_or_while_no_candidate_leads() {
        let mut director = director(&Fault::ALL);
        assert_eq!(director.step(&scene(599, Some(1))), None);
        assert_eq!(director.step(&scene(1_800, None)), None);
        assert_eq!(struck(&mut director, 1_801).victim, 1);
    }

    #[test]
    fn every_fault_is_made_once_before_any_is_made_again() {
        let mut director = director(&Fault::ALL);
        let mut made = Vec::new();
        for round in 0..12 {
            let mut scene = scene(100_000 * (round + 1), Some(1));
            let Some(Move::Strike(blow)) = director.step(&scene) else { panic!() };
            made.push(blow.fault);
            director.won(scene.now);
            scene.now = scene.now + LEASE * 2;
            scene.present[1] = false;
            director.step(&scene);
        }
        for half in made.chunks_mut(6) {
            half.sort();
            assert_eq!(half, Fault::ALL);
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_faults() {
        let made = || {
            let mut director = director(&Fault::ALL);
            (0..6).map(|_| director.draw(&scene(0, None))).collect::<Vec<_>>()
        };
        assert_eq!(made(), made());
    }

    #[test]
    fn the_second_fault_waits_until_a_candidate_leads_again() {
        let mut director = director(&[Fault::Delete]);
        let blow = struck(&mut director, 2_000);
        assert_eq!(director.step(&scene(4_000, None)), None);
        assert_eq!(director.won(at(4_500)), Some(blow));
        assert_eq!(director.won(at(4_600)), None);
        assert_eq!(director.step(&scene(4_900, Some(2))), None);
        assert_eq!(director.step(&scene(4_900 + 599, Some(2))), None);
        assert!(matches!(director.step(&scene(4_900 + 1_800, Some(2))), Some(Move::Strike(_))));
    }

    #[test]
    fn a_stopped_leader_goes_on_only_after_its_lease() {
        let mut director = director(&[Fault::Stop]);
        let blow = struck(&mut director, 2_000);
        director.won(at(2_100));
        assert_eq!(director.step(&scene(4_499, Some(0))), None);
        assert_eq!(director.step(&scene(4_500, Some(0))), Some(Move::Mend(blow)));
    }

    #[test]
    fn a_leader_that_leaves_is_started_again_once_it_is_gone() {
        let mut director = director(&[Fault::Restart]);
        let blow = struck(&mut director, 2_000);
        director.won(at(2_100));
        let mut scene = scene(3_000, Some(0));
        assert_eq!(director.step(&scene), None);
        scene.present[1] = false;
        assert_eq!(director.step(&scene), Some(Move::Mend(blow)));
    }

    #[test]
    fn a_hand_over_names_another_candidate_that_is_healthy() {
        let mut director = director(&[Fault::HandOver]);
        let mut scene = scene(2_000, Some(1));
        scene.well[0] = false;
        let Some(Move::Strike(blow)) = director.step(&scene) else { panic!() };
        assert_eq!(blow.successor, Some(2));
    }

    #[test]
    fn a_vacancy_that_does_not_end_is_reported_and_repaired() {
        let mut director = director(&[Fault::Kill]);
        let blow = struck(&mut director, 2_000);
        assert_eq!(director.step(&scene(12_999, None)), None);
        assert_eq!(director.step(&scene(13_000, None)), Some(Move::Wonder(blow)));
        let mut scene = scene(13_000, None);
        scene.present[1] = false;
        assert_eq!(director.step(&scene), Some(Move::Mend(blow)));
    }

    #[test]
    fn a_fault_that_missed_is_followed_by_another() {
        let mut director = director(&[Fault::HandOver]);
        struck(&mut director, 2_000);
        director.missed(at(2_010));
        assert!(matches!(director.step(&scene(4_000, Some(0))), Some(Move::Strike(_))));
    }

    #[test]
    fn shortly_before_the_end_only_swift_faults_are_made() {
        let mut director = director(&[Fault::Kill, Fault::HandOver]);
        let mut scene = Scene { end: Some(at(5_000)), ..scene(2_000, Some(1)) };
        let Some(Move::Strike(blow)) = director.step(&scene) else { panic!() };
        assert_eq!(blow.fault, Fault::HandOver);
        director.won(at(2_010));
        scene.now = at(2_500);
        director.step(&scene);
        scene.now = at(4_300);
        assert_eq!(director.step(&scene), None);
    }

    #[test]
    fn without_faults_nothing_is_done() {
        assert_eq!(director(&[]).step(&scene(5_000, Some(1))), None);
    }
}
