//! Decides which fault comes when. It reads no clock and acts on no candidate: a [trial](crate::trial) carries out its
//! steps.

use std::time::Duration;

use fastrand::Rng;
use incumbent::Instant;

/// A fault made while a candidate leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Kill the leader's process.
    Kill,
    /// Stop it for longer than its lease.
    Stop,
    /// Let it leave cleanly, and start it again.
    Restart,
    /// Let it hand over.
    HandOver,
    /// Delete the election's key.
    Delete,
    /// Overwrite the election's key.
    Overwrite,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 6] =
        [Self::Kill, Self::Stop, Self::Restart, Self::HandOver, Self::Delete, Self::Overwrite];

    /// The fault's name on a command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::HandOver => "hand-over",
            Self::Delete => "delete",
            Self::Overwrite => "overwrite",
        }
    }

    /// Returns true if only a process can suffer it.
    pub const fn needs_process(self) -> bool {
        matches!(self, Self::Kill | Self::Stop)
    }

    /// Returns true if the successor observes it at once; after the other faults a lease passes first.
    const fn is_quick(self) -> bool {
        matches!(self, Self::Restart | Self::HandOver)
    }

    /// Returns true if the victim's run ends with it.
    const fn ends_the_run(self) -> bool {
        matches!(self, Self::Kill | Self::Restart)
    }
}

/// Draws every item once, in a random order, before any repeats.
#[derive(Clone, Debug)]
pub struct Rotation<T> {
    all: Vec<T>,
    left: Vec<T>,
}

impl<T: Copy> Rotation<T> {
    /// A rotation of these items.
    pub fn new(all: Vec<T>) -> Self {
        Self { all, left: Vec::new() }
    }

    /// Draws the next item that fits; none if no remaining item does.
    pub fn draw(&mut self, rng: &mut Rng, fits: impl FnMut(&T) -> bool) -> Option<T> {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
            rng.shuffle(&mut self.left);
        }
        let index = self.left.iter().rposition(fits)?;
        Some(self.left.remove(index))
    }
}

/// The state of the candidates, as far as known.
#[derive(Clone, Debug)]
pub struct Situation {
    /// The time.
    pub now: Instant,
    /// When the trial ends; none if that is not known yet.
    pub end: Option<Instant>,
    /// The leader, if known.
    pub leader: Option<usize>,
    /// For each candidate, whether it takes part.
    pub well: Vec<bool>,
    /// For each candidate, whether its process or task exists.
    pub present: Vec<bool>,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make a fault.
    Inject(Injection),
    /// Repair the effect of the fault: start the victim again, or let it continue.
    Repair(Injection),
    /// No candidate took over for a long time: report it.
    ReportVacancy(Injection),
}

/// A fault and its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The fault.
    pub fault: Fault,
    /// The number of the victim.
    pub victim: usize,
    /// The successor, if the victim hands over.
    pub successor: Option<usize>,
    /// When it was made.
    pub at: Instant,
}

/// Chooses faults and their times.
#[derive(Debug)]
pub struct Schedule {
    rng: Rng,
    faults: Rotation<Fault>,
    lease: Duration,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// No fault is active, and none is made until that time.
    Pause { until: Instant },
    /// A fault was made, and no candidate has won since then.
    Injected { injection: Injection, report_at: Instant },
    /// A candidate leads again; the fault is repaired at that time.
    Recovered { injection: Injection, repair_at: Instant },
}

/// The shortest and the longest pause before a fault, in milliseconds.
const PAUSE: std::ops::Range<u64> = 600..1_800;
/// How long a victim is left alone after another candidate leads.
const REST: Duration = Duration::from_millis(400);
/// The longest expected duration of a fault that the successor observes at once.
const QUICK: Duration = Duration::from_millis(700);

impl Schedule {
    /// A schedule of these faults, beginning now, for leases of that duration.
    pub fn new(faults: Vec<Fault>, lease: Duration, seed: u64, now: Instant) -> Self {
        let mut rng = Rng::with_seed(seed);
        let until = pause(&mut rng, now);
        Self { rng, faults: Rotation::new(faults), lease, phase: Phase::Pause { until } }
    }

    /// Returns the next step, if any.
    pub fn step(&mut self, situation: &Situation) -> Option<Step> {
        match self.phase {
            Phase::Pause { until } if situation.now >= until => self.inject(situation),
            Phase::Pause { .. } => None,
            Phase::Injected { injection, report_at } if situation.now >= report_at => {
                self.phase = Phase::Recovered { injection, repair_at: situation.now };
                Some(Step::ReportVacancy(injection))
            }
            Phase::Injected { .. } => None,
            Phase::Recovered { injection, repair_at } if situation.now >= repair_at => {
                self.repair(injection, situation)
            }
            Phase::Recovered { .. } => None,
        }
    }

    /// Records that a candidate has won. Returns the fault whose vacancy thereby ends.
    pub fn won(&mut self, now: Instant) -> Option<Injection> {
        let Phase::Injected { injection, .. } = self.phase else { return None };
        let repair_at = match injection.fault {
            // Longer than the lease, so that the victim wakes up in another candidate's term.
            Fault::Stop => (injection.at + self.lease * 5 / 4).max(now + REST),
            _ => now + REST,
        };
        self.phase = Phase::Recovered { injection, repair_at };
        Some(injection)
    }

    /// The fault could not be made: the victim no longer led.
    pub fn missed(&mut self, now: Instant) {
        if let Phase::Injected { .. } = self.phase {
            self.phase = Phase::Pause { until: pause(&mut self.rng, now) };
        }
    }

    fn inject(&mut self, situation: &Situation) -> Option<Step> {
        let victim = situation.leader.filter(|&leader| situation.well[leader])?;
        let others: Vec<usize> =
            (0..situation.well.len()).filter(|&i| situation.well[i] && i != victim).collect();
        let successor = self.rng.choice(others)?;
        let fault = self.draw(situation)?;
        let successor = (fault == Fault::HandOver).then_some(successor);
        let injection = Injection { fault, victim, successor, at: situation.now };
        // The worst fault takes twice a lease; the rest is an allowance for a busy machine.
        let report_at = situation.now + self.lease * 3 + Duration::from_secs(5);
        self.phase = Phase::Injected { injection, report_at };
        Some(Step::Inject(injection))
    }

    fn repair(&mut self, injection: Injection, situation: &Situation) -> Option<Step> {
        let leaves = injection.fault.ends_the_run();
        if leaves && situation.present[injection.victim] {
            return None;
        }
        self.phase = Phase::Pause { until: pause(&mut self.rng, situation.now) };
        (leaves || injection.fault == Fault::Stop).then_some(Step::Repair(injection))
    }

    /// Draws a fault that will be over in time.
    fn draw(&mut self, situation: &Situation) -> Option<Fault> {
        let left = situation.end.map_or(Duration::MAX, |end| end.since(situation.now));
        let lease = self.lease;
        let in_time = |fault: &Fault| left >= if fault.is_quick() { QUICK } else { lease * 5 / 4 + QUICK };
        self.faults.draw(&mut self.rng, in_time)
    }
}

fn pause(rng: &mut Rng, now: Instant) -> Instant {
    now + Duration::from_millis(rng.u64(PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn situation(millis: u64, leader: Option<usize>) -> Situation {
        Situation { now: at(millis), end: None, leader, well: vec![true; 3], present: vec![true; 3] }
    }

    fn schedule(faults: &[Fault]) -> Schedule {
        Schedule::new(faults.to_vec(), LEASE, 7, at(0))
    }

    fn struck(schedule: &mut Schedule, millis: u64) -> Injection {
        match schedule.step(&situation(millis, Some(1))) {
            Some(Step::Inject(injection)) => injection,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_fault_is_injected_before_the_pause_is_over_or_while_no_candidate_leads() {
        let mut schedule = schedule(&Fault::ALL);
        assert_eq!(schedule.step(&situation(599, Some(1))), None);
        assert_eq!(schedule.step(&situation(1_800, None)), None);
        assert_eq!(struck(&mut schedule, 1_801).victim, 1);
    }

    #[test]
    fn every_fault_is_made_once_before_any_is_made_again() {
        let mut schedule = schedule(&Fault::ALL);
        let mut made = Vec::new();
        for round in 0..12 {
            let mut situation = situation(100_000 * (round + 1), Some(1));
            let Some(Step::Inject(injection)) = schedule.step(&situation) else { panic!() };
            made.push(injection.fault);
            schedule.won(situation.now);
            situation.now = situation.now + LEASE * 2;
            situation.present[1] = false;
            schedule.step(&situation);
        }
        for half in made.chunks_mut(6) {
            half.sort();
            assert_eq!(half, Fault::ALL);
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_faults() {
        let made = || {
            let mut schedule = schedule(&Fault::ALL);
            (0..6).map(|_| schedule.draw(&situation(0, None))).collect::<Vec<_>>()
        };
        assert_eq!(made(), made());
    }

    #[test]
    fn the_second_fault_waits_until_a_candidate_leads_again() {
        let mut schedule = schedule(&[Fault::Delete]);
        let injection = struck(&mut schedule, 2_000);
        assert_eq!(schedule.step(&situation(4_000, None)), None);
        assert_eq!(schedule.won(at(4_500)), Some(injection));
        assert_eq!(schedule.won(at(4_600)), None);
        assert_eq!(schedule.step(&situation(4_900, Some(2))), None);
        assert_eq!(schedule.step(&situation(4_900 + 599, Some(2))), None);
        assert!(matches!(schedule.step(&situation(4_900 + 1_800, Some(2))), Some(Step::Inject(_))));
    }

    #[test]
    fn a_stopped_leader_goes_on_only_after_its_lease() {
        let mut schedule = schedule(&[Fault::Stop]);
        let injection = struck(&mut schedule, 2_000);
        schedule.won(at(2_100));
        assert_eq!(schedule.step(&situation(4_499, Some(0))), None);
        assert_eq!(schedule.step(&situation(4_500, Some(0))), Some(Step::Repair(injection)));
    }

    #[test]
    fn a_leader_that_leaves_is_started_again_once_it_is_gone() {
        let mut schedule = schedule(&[Fault::Restart]);
        let injection = struck(&mut schedule, 2_000);
        schedule.won(at(2_100));
        let mut situation = situation(3_000, Some(0));
        assert_eq!(schedule.step(&situation), None);
        situation.present[1] = false;
        assert_eq!(schedule.step(&situation), Some(Step::Repair(injection)));
    }

    #[test]
    fn a_hand_over_names_another_candidate_that_is_healthy() {
        let mut schedule = schedule(&[Fault::HandOver]);
        let mut situation = situation(2_000, Some(1));
        situation.well[0] = false;
        let Some(Step::Inject(injection)) = schedule.step(&situation) else { panic!() };
        assert_eq!(injection.successor, Some(2));
    }

    #[test]
    fn a_vacancy_that_does_not_end_is_reported_and_repaired() {
        let mut schedule = schedule(&[Fault::Kill]);
        let injection = struck(&mut schedule, 2_000);
        assert_eq!(schedule.step(&situation(12_999, None)), None);
        assert_eq!(schedule.step(&situation(13_000, None)), Some(Step::ReportVacancy(injection)));
        let mut situation = situation(13_000, None);
        situation.present[1] = false;
        assert_eq!(schedule.step(&situation), Some(Step::Repair(injection)));
    }

    #[test]
    fn a_fault_that_missed_is_followed_by_another() {
        let mut schedule = schedule(&[Fault::HandOver]);
        struck(&mut schedule, 2_000);
        schedule.missed(at(2_010));
        assert!(matches!(schedule.step(&situation(4_000, Some(0))), Some(Step::Inject(_))));
    }

    #[test]
    fn shortly_before_the_end_only_swift_faults_are_made() {
        let mut schedule = schedule(&[Fault::Kill, Fault::HandOver]);
        let mut situation = Situation { end: Some(at(5_000)), ..situation(2_000, Some(1)) };
        let Some(Step::Inject(injection)) = schedule.step(&situation) else { panic!() };
        assert_eq!(injection.fault, Fault::HandOver);
        schedule.won(at(2_010));
        situation.now = at(2_500);
        schedule.step(&situation);
        situation.now = at(4_300);
        assert_eq!(schedule.step(&situation), None);
    }

    #[test]
    fn without_faults_nothing_is_done() {
        assert_eq!(schedule(&[]).step(&situation(5_000, Some(1))), None);
    }
}
