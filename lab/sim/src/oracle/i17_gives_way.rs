//! I17.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::candidacy::Rule;

use super::Oracle;
use crate::clock::START;
use crate::kind::{Kind, Store};
use crate::observation::{Observation, Seen, View};
use crate::plan::Plan;

/// The time allowed for things that are not part of the rule: a new store, processes that start, and a lost race.
const COMING: Duration = Duration::from_secs(5);

/// Checks the phase with faults of a run in which one candidate cannot prove its claim ([`Kind::NoProof`]) while the
/// other candidates and the store are well. In that phase leaders may resign, and nothing else happens.
///
/// From the first such fault until the faults end, a vacancy lasts at most this many leases, and all vacancies together
/// last at most a tenth of the time plus one such vacancy. This holds whether the candidate is faulty permanently or,
/// in a bucket, again and again. To the leases are added
/// - the hundredth by which clocks may be slow;
/// - the users' settings, which are win delays and waits after failures. With win delays, which every new leader owes,
///   the sum of the vacancies is not checked, and no leader resigns. The sum is also not checked in a group whose
///   leaders resign, because each of them stays out for a lease;
/// - [`COMING`], and the time that a change of leaders takes in a group.
#[derive(Debug)]
pub(crate) struct GivesWay {
    /// The number of leases within which another candidate must lead.
    leases: u32,
    /// Whether nothing else happens in this run.
    applies: bool,
    until: Vec<Option<Instant>>,
    /// Since when the candidate has been faulty.
    faulty: Option<Instant>,
    /// The instant up to which vacancies are counted, when a candidate last led, and the sum of the vacancies.
    seen: Instant,
    led: Instant,
    vacant: Duration,
    /// Whether the candidate became able to prove its claim again before the faulty phase ended.
    now_and_then: bool,
    over: bool,
}

impl GivesWay {
    /// Creates the oracle for a store in which another candidate must lead within a number of leases.
    pub(super) fn within(leases: u32, plan: &Plan) -> Self {
        Self {
            leases,
            applies: Self::applies(plan),
            until: vec![None; plan.choice.candidates],
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
            // A candidate that owes a delay may resign before it leads.
            Kind::Resign => plan.delay().is_zero(),
            _ => false,
        };
        plan.choice.candidates > 1 && plan.choice.peers == 0 && plan.kinds.iter().all(is_well)
    }

    fn most(&self, plan: &Plan) -> Duration {
        let change = match plan.choice.store {
            // The group's members are well, so no session has to run out. They learn of a change with their next
            // heartbeats.
            Store::Kafka => plan.group.beat() * 2,
            Store::Nats | Store::Etcd => plan.owed(),
        };
        plan.lease * self.leases * 101 / 100 + plan.delay() + plan.backoff() + change + COMING
    }

    /// Counts the time since the last event. `until` is the one of that event, and gives the latest end of a term.
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
            "If one candidate cannot prove its claim, another leads within three leases, and at most a tenth of the time is lost.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        if self.applies { Seen::ALL } else { &[] }
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        if self.over || !self.applies {
            return Ok(());
        }
        self.count(view.now);
        match observation {
            Observation::Fault { kind: Kind::NoProof, begins: true, .. } => {
                // Candidates first wait because the store is new.
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
                "no candidate has led for {vacancy:?}, although only one cannot prove its claim; at most {most:?} are allowed"
            ));
        }
        let elapsed = view.now.since(faulty);
        let store = view.plan.choice.store;
        let is_summed = view.plan.delay().is_zero()
            // In a queue, a candidate that loses its term leaves its place. A candidate that is faulty now and then
            // therefore causes changes of leaders, and never gives way.
            && !(self.now_and_then && store == Store::Etcd)
            // Each leader that resigns stays out for a lease.
            && !(store == Store::Kafka && view.plan.has(Kind::Resign));
        if self.over && is_summed && self.vacant > elapsed / 10 + most {
            return Err(format!(
                "no candidate led for {:?} of the {elapsed:?} since one cannot prove its claim",
                self.vacant
            ));
        }
        Ok(())
    }
}
