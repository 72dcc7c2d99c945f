//! The faults that every store has, and the quiet phase after all faults.

use std::fmt::Write as _;
use std::iter;
use std::time::Duration;

use incumbent_core::session::{Command, Input};

use super::{CANDIDATE, Event, Hooks, Node, Store, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Order};
use crate::oracle::ACandidateLeads;
use crate::plan::{DRIFT, Fault};
use crate::promise::Excuse;

impl<S: Store> World<S>
where
    Self: Hooks<S>,
{
    fn fault(&self, place: usize) -> Option<Fault> {
        self.plan.script.iter().find(|fault| fault.place == place).cloned()
    }

    /// Begins the fault with an index in the script.
    pub(super) fn begin_fault(&mut self, place: usize) {
        let Some(fault) = self.fault(place) else { return };
        if self.quiet {
            return;
        }
        let Fault { kind, lasts, roll, .. } = fault;
        let mut dice = Dice::new(roll, 3);
        let mut victim = dice.below(self.nodes.len() as u64) as usize;
        if dice.percent(60) {
            victim = self.leader().or_else(|| self.owner()).unwrap_or(victim);
        }
        victim = fault.victim.unwrap_or(victim);
        self.note(|trace| write!(trace, "fault {place}: {kind} for {lasts:?}, c{victim} if any"));
        self.hit[place] = vec![victim];
        self.active[kind as usize] += 1;
        self.promises.happened.begins(kind);
        let node = kind.hits_one().then_some(victim);
        self.observe_all(&Observation::Fault { kind, node, place, begins: true });
        self.later(lasts, Event::EndFault(place));
        match kind {
            Kind::Pause => self.stop(victim, lasts, false),
            Kind::Freeze => {
                self.promises.falsify(victim, Excuse::Clock);
                self.stop(victim, lasts, true);
            }
            Kind::Suspend => {
                for node in 0..self.nodes.len() {
                    if node == victim || dice.percent(50) {
                        self.stop(node, lasts, false);
                    }
                }
            }
            Kind::Crash => {
                if self.nodes[victim].alive {
                    self.end_process(victim);
                    self.start_process(victim, lasts / 4);
                }
            }
            Kind::Cut => {
                self.nodes[victim].cut_out += 1;
                self.nodes[victim].cut_in += 1;
            }
            Kind::CutRequests => self.nodes[victim].cut_out += 1,
            Kind::CutReplies => self.nodes[victim].cut_in += 1,
            Kind::Denied => self.nodes[victim].denied += 1,
            Kind::SlowConsumer => self.nodes[victim].slow += 1,
            Kind::SlowProcess => {
                for (from, stopped) in stops(&mut dice, lasts) {
                    self.later(from, Event::Stop(victim, stopped));
                }
            }
            Kind::Drift => {
                let rate = drift(&mut dice);
                self.set_rate(victim, rate, true);
            }
            Kind::BadDrift => {
                self.promises.falsify(victim, Excuse::Clock);
                let rate = dice.pick(&[-300_000, -100_000, 100_000, 300_000]);
                self.set_rate(victim, rate, false);
            }
            Kind::Handler | Kind::Close if self.is_of_second(roll) => {
                self.command_second(
                    victim,
                    if kind == Kind::Close { Command::Close } else { Command::HandlerFailed },
                );
            }
            Kind::Handler => self.command(victim, Command::HandlerFailed),
            Kind::Illness => self.command(victim, Command::Health(false)),
            Kind::Close => self.command(victim, Command::Close),
            _ => self.begin_own_fault(&fault, victim, &mut dice),
        }
    }

    /// Ends the fault with an index in the script.
    pub(super) fn end_fault(&mut self, place: usize) {
        let Some(fault) = self.fault(place) else { return };
        let hit = std::mem::take(&mut self.hit[place]);
        let Some(&victim) = hit.first() else { return };
        let kind = fault.kind;
        self.active[kind as usize] -= 1;
        if !self.is_on(kind) {
            self.promises.happened.ends(self.now, kind);
        }
        self.note(|trace| write!(trace, "fault {place}: {kind} is over"));
        let node = kind.hits_one().then_some(victim);
        self.observe_all(&Observation::Fault { kind, node, place, begins: false });
        match kind {
            Kind::Cut => {
                self.nodes[victim].cut_out -= 1;
                self.nodes[victim].cut_in -= 1;
            }
            Kind::CutRequests => self.nodes[victim].cut_out -= 1,
            Kind::CutReplies => self.nodes[victim].cut_in -= 1,
            Kind::Denied => self.nodes[victim].denied -= 1,
            Kind::SlowConsumer => self.nodes[victim].slow -= 1,
            Kind::BadDrift | Kind::Freeze => {
                self.set_rate(victim, self.nodes[victim].rate, true);
                self.promises.rectify(self.now, victim);
            }
            Kind::Illness => self.command(victim, Command::Health(true)),
            Kind::Close if !self.nodes[victim].alive => {
                self.start_process(victim, Duration::from_millis(100));
            }
            _ => self.end_own_fault(&fault, &hit),
        }
        if self.nodes[victim].cut_out == 0 {
            self.reaches_again(victim);
        }
    }

    /// Stops a process for a while. If it is frozen, its clock stops as well.
    pub(super) fn stop(&mut self, node: usize, lasts: Duration, frozen: bool) {
        let place = &mut self.nodes[node];
        place.stopped_until = place.stopped_until.max(self.now + lasts);
        let until = place.stopped_until;
        if frozen {
            self.set_rate(node, -1_000_000, false);
        }
        self.observe_all(&Observation::Stopped { node, stopped: true });
        self.queue.put(until, Event::Resume(node));
    }

    /// Changes the rate of a clock, permanently or for a while.
    fn set_rate(&mut self, node: usize, rate: i64, lasting: bool) {
        let place = &mut self.nodes[node];
        if lasting {
            place.rate = rate;
        }
        place.clock.set_rate(self.now, rate);
        place.leads_until = place.lease.map(|lease| place.clock.when(lease.deadline));
        place.second.leads_until = place.second.lease.map(|lease| place.clock.when(lease.deadline));
        // The candidate's next wake-up may now be earlier or later.
        place.wakes = place.wakes.min(self.now);
        let (process, until, of_second) = (place.process, place.leads_until, place.second.leads_until);
        let second = place.second.id;
        self.queue.put(self.now, Event::Wake { node, process });
        self.observe_by(CANDIDATE, &Observation::Clock { node, until });
        self.observe_by(second, &Observation::Clock { node, until: of_second });
    }

    /// Sends a user's command to a candidate. A stopped candidate gets it later.
    pub(crate) fn command(&mut self, node: usize, command: Command) {
        if self.nodes[node].alive {
            self.deliver(node, Input::Command { id: CANDIDATE, command }.into());
        }
    }

    /// Whether a fault that affects one candidate affects the candidate in the second election.
    pub(crate) fn is_of_second(&self, roll: u64) -> bool {
        self.second.is_some() && roll.is_multiple_of(3)
    }

    /// Sends a user's command to a process's candidate in the second election.
    pub(crate) fn command_second(&mut self, node: usize, command: Command) {
        let id = self.nodes[node].second.id;
        if self.nodes[node].alive && id != 0 {
            self.deliver(node, Input::Command { id, command }.into());
        }
    }

    /// Ends every fault.
    pub(super) fn end_all_faults(&mut self) {
        let places: Vec<_> = self.plan.script.iter().map(|fault| fault.place).collect();
        for place in places {
            self.end_fault(place);
        }
        self.quiet = true;
        self.note(|trace| write!(trace, "no more faults"));
        self.faults_ended();
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_stopped(self.now) {
                self.nodes[node].stopped_until = self.now;
                self.resume(node);
            }
            if !self.nodes[node].alive {
                self.start_process(node, Duration::from_millis(100));
            }
        }
        self.observe_all(&Observation::Quiet);
        let worst = ACandidateLeads::worst(&self.plan);
        // By then a candidate leads, or an oracle has reported a violation.
        self.later(worst * 2 + Duration::from_secs(1), Event::Order(0));
    }

    /// Arranges that an operator helps the candidates that stay out, once one of them should lead.
    pub(crate) fn help_later(&mut self) {
        let usual = ACandidateLeads::usual(&self.plan, &self.promises.happened, self.now);
        self.later(usual, Event::Operator);
    }

    /// Makes an orderly change happen to the leader. At first it leaves, and in a later turn it is removed or crashes.
    pub(super) fn order(&mut self, turn: u32) {
        if turn == 0 {
            self.later(self.plan.drain() + self.change() + Duration::from_secs(6), Event::Order(1));
        }
        let Some(leader) = self.leader() else { return };
        let dice = Dice::new(self.plan.choice.seed, 5 + u64::from(turn));
        let Some(order) = self.next_order(turn, leader, dice) else { return };
        self.note(|trace| write!(trace, "{order:?}"));
        self.observe(&Observation::Order(order));
        match order {
            Order::Resign { .. } => self.command(leader, Command::Resign),
            Order::HandOver { successor, .. } => {
                self.command(leader, Command::HandOver(format!("c{successor}")));
            }
            Order::Delete { .. } => self.remove(leader),
            Order::Isolate { .. } => self.isolate(),
            Order::Crash { .. } => {
                self.end_process(leader);
                self.start_process(leader, Duration::from_secs(1));
            }
        }
    }

    /// Returns the change in which the leader resigns at first, if it `may_resign`, and later is removed or crashes.
    /// Returns none if candidates that the store does not know yet would not follow at once.
    pub(crate) fn usual_order(
        &self,
        turn: u32,
        leader: usize,
        mut dice: Dice,
        present: usize,
        may_resign: bool,
    ) -> Option<Order> {
        let follows = self.plan.choice.peers == 0 && present >= self.nodes.len() && self.nodes.len() > 1;
        follows.then(|| match (turn, dice.percent(50)) {
            (0, _) if may_resign => Order::Resign { leader },
            (_, true) => Order::Delete { leader },
            _ => Order::Crash { leader },
        })
    }

    /// Whether any candidate stays out while none leads, in either election.
    pub(crate) fn any_stays_out(&self) -> bool {
        let now = self.now;
        let barred = self.nodes.iter().any(|node| node.barred.is_some()) && self.leader().is_none();
        let leads = |node: &Node<S>| node.second.leads_until.is_some_and(|until| now < until);
        let second = self.nodes.iter().any(|node| node.second.barred) && !self.nodes.iter().any(leads);
        barred || second
    }

    /// Lets an operator accept that the tokens start again, if candidates stay out because the store went back.
    pub(super) fn operator(&mut self) {
        if !self.needs_an_operator() {
            return;
        }
        self.note(|trace| write!(trace, "an operator accepts that tokens start again"));
        self.observe_all(&Observation::Accepted);
        for node in 0..self.nodes.len() {
            self.nodes[node].barred = None;
            self.command(node, Command::Accept);
            if self.second.is_some() {
                self.nodes[node].second.barred = false;
                self.command_second(node, Command::Accept);
            }
        }
    }
}

/// Draws the rate of a clock that drifts within the setting, often at its limit.
pub(super) fn drift(dice: &mut Dice) -> i64 {
    match dice.below(3) {
        0 => DRIFT,
        1 => -DRIFT,
        _ => dice.below(2 * DRIFT as u64 + 1) as i64 - DRIFT,
    }
}

/// Draws when a process that gets only part of the processor's time does not run, counted from the beginning of a
/// fault, and for how long each time. The stops are within a quota's periods of 100 ms, or longer ones as on a machine
/// that swaps.
fn stops(dice: &mut Dice, lasts: Duration) -> impl Iterator<Item = (Duration, Duration)> + use<> {
    let period = Duration::from_millis(dice.pick(&[100, 500, 2_000, 5_000])).max(lasts / 200);
    let stopped = period * (100 - dice.pick(&[5, 10, 20, 30])) / 100;
    let begins = iter::successors(Some(Duration::ZERO), move |from| Some(*from + period));
    begins.take_while(move |from| *from < lasts).map(move |from| (from, stopped.min(lasts - from)))
}
