//! I17.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::candidacy::Rule;

use super::Oracle;
use crate::clock::START;
use crate::kind::{Kind, Store};
use crate::observation::{Observation, View};
use crate::plan::Plan;

/// Time for what is not a part of the rule: a store that was just made, processes that start, a race that is lost.
const COMING: Duration = Duration::from_secs(5);

/// Checks the phase with faults of a run in which one candidate cannot prove its claim ([`Kind::NoProof`]) and the other candidates
/// and the store are well: leaders resign, and nothing else happens.
///
/// From the first such fault on, until the faults end, no one leads for no longer than so many leases at a time, and for no more
/// than a tenth of the time and one such vacancy, whether the candidate is faulty for good or, in a bucket, again and again. To the leases come
/// - the hundredth by which clocks may be slow;
/// - the users' settings: win delays, waits after failures; with win delays, which every new leader owes, the sum of the
///   vacancies is not checked, and no one resigns; nor is it in a group whose leaders resign, as each stays out for a lease;
/// - [`COMING`], and the time that a change of leaders takes in a group.
pub(crate) struct GivesWay {
    /// The leases within which another candidate leads.
    leases: u32,
    until: Vec<Option<Instant>>,
    /// The candidate is faulty since then.
    faulty: Option<Instant>,
    /// The time up to which vacancies are counted, the last time at which a candidate led, and their sum.
    seen: Instant,
    led: Instant,
    vacant: Duration,
    /// The candidate was well again before the end.
    now_and_then: bool,
    over: bool,
}

impl GivesWay {
    /// For a store in which another candidate leads within so many leases.
    pub(super) fn within(leases: u32, count: usize) -> Self {
        Self {
            leases,
            until: vec![None; count],
            faulty: None,
            seen: START,
            led: START,
            vacant: Duration::ZERO,
            now_and_then: false,
            over: false,
        }
    }

    fn applies(plan: &Plan) -> bool {
        let is_well = |kind: &Kind| match kind {
            Kind::NoProof => true,
            // One that owes a delay may resign before it leads.
            Kind::Resign => plan.delay().is_zero(),
            _ => false,
        };
        plan.choice.candidates > 1 && plan.choice.peers == 0 && plan.kinds.iter().all(is_well)
    }

    fn most(&self, plan: &Plan) -> Duration {
        let change = match plan.choice.store {
            // Its members are well, so no session has to run out: they learn of a change by their next heartbeat.
            Store::Kafka => plan.group.beat() * 2,
            Store::Nats | Store::Etcd => plan.owed(),
        };
        plan.lease * self.leases * 101 / 100 + plan.delay() + plan.backoff() + change + COMING
    }

    /// Counts the time since the last event. `until` is that event's: it tells the latest end of a term.
    fn count(&mut self, now: Instant) {
        let end = self.until.iter().flatten().max().copied().unwrap_or(START);
        self.led = self.led.max(end.min(now));
        if self.faulty.is_some() {
            self.vacant += now.since(self.led.max(self.seen));
        }
        self.seen = now;
    }
}

impl<R: Rule> Oracle<R> for GivesWay {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I17",
            "With one candidate that cannot prove, another leads within three leases, and a tenth of the time is lost at most.",
        )
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        if self.over || !Self::applies(view.plan) {
            return Ok(());
        }
        self.count(view.now);
        match observation {
            Observation::Fault { kind: Kind::NoProof, begins: true, .. } => {
                // A store that was just made is waited out first.
                let known = START + view.plan.max_age;
                if self.faulty.is_none() && view.now >= known {
                    self.faulty = Some(view.now);
                    self.led = self.led.max(view.now);
                }
            }
            Observation::Handled { node, until, .. } | Observation::Clock { node, until } => {
                self.until[*node] = *until;
            }
            Observation::Ends { node } => self.until[*node] = None,
            Observation::Fault { kind: Kind::NoProof, begins: false, .. } => {
                self.now_and_then |= view.now < START + view.plan.faulty;
            }
            Observation::Quiet => self.over = true,
            _ => {}
        }
        let Some(faulty) = self.faulty else { return Ok(()) };
        let most = self.most(view.plan);
        let vacancy = view.now.since(self.led);
        if vacancy > most {
            return Err(format!(
                "no candidate has led for {vacancy:?}, though only one cannot prove; {most:?} are the most"
            ));
        }
        let elapsed = view.now.since(faulty);
        let store = view.plan.choice.store;
        let is_summed = view.plan.delay().is_zero()
            // In a queue a lost term leaves the place, so what is sick now and then changes the leader and never gives way.
            && !(self.now_and_then && store == Store::Etcd)
            // Each that resigns stays out for a lease.
            && !(store == Store::Kafka && view.plan.has(Kind::Resign));
        if self.over && is_summed && self.vacant > elapsed / 10 + most {
            return Err(format!(
                "no candidate led for {:?} of the {elapsed:?} since one cannot prove",
                self.vacant
            ));
        }
        Ok(())
    }
}
