//! Faults: the beginning and the end of each kind.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::record::{Headers, Kind as Message};
use incumbent_core::session::Command;

use super::cluster::{Isolated, Put};
use super::process::{Incoming, Lacks};
use super::{Event, Remaking, World, drift, stops};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::Observation;
use crate::plan::{CLOCK_STEP, Fault, RAISED};
use crate::promise::Excuse;

/// [`CLOCK_STEP`] in nanoseconds.
const STEP: i64 = CLOCK_STEP.as_nanos() as i64;

impl World {
    fn fault(&self, place: usize) -> Option<Fault> {
        self.plan.script.iter().find(|fault| fault.place == place).cloned()
    }

    /// Begins the fault with this index of the script.
    pub(super) fn begin_fault(&mut self, place: usize) {
        let Some(fault) = self.fault(place) else { return };
        if self.quiet {
            return;
        }
        let Fault { kind, lasts, roll, .. } = fault;
        let mut dice = Dice::new(roll, 3);
        let mut victim = dice.below(self.nodes.len() as u64) as usize;
        if dice.percent(60) {
            victim = self.incumbent().unwrap_or(victim);
        }
        victim = fault.victim.unwrap_or(victim);
        self.note(|trace| write!(trace, "fault {place}: {kind} for {lasts:?}, c{victim} if any"));
        self.hit[place] = vec![victim];
        self.active[kind as usize] += 1;
        self.promises.happened.begins(kind);
        self.observe(&Observation::Fault { kind, node: node_of(kind, victim), place, begins: true });
        self.after(lasts, Event::EndFault(place));
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
            Kind::Cut | Kind::Queue => {
                self.nodes[victim].cut_out += 1;
                self.nodes[victim].cut_in += 1;
                self.nodes[victim].queueing += u32::from(kind == Kind::Queue);
            }
            Kind::CutRequests => self.nodes[victim].cut_out += 1,
            Kind::CutReplies => self.nodes[victim].cut_in += 1,
            Kind::Denied => self.nodes[victim].denied += 1,
            Kind::Drift => {
                let rate = drift(&mut dice);
                self.set_rate(victim, rate, true);
            }
            Kind::BadDrift => {
                self.promises.falsify(victim, Excuse::Clock);
                let rate = dice.pick(&[-300_000, -100_000, 100_000, 300_000]);
                self.set_rate(victim, rate, false);
            }
            Kind::Resign if dice.percent(50) => self.command(victim, Command::Resign),
            Kind::Resign => {
                let successor = format!("c{}", dice.below(self.nodes.len() as u64));
                self.command(victim, Command::HandOver(successor));
            }
            Kind::Handler => self.command(victim, Command::HandlerFailed),
            Kind::Illness => self.set_health(victim, false),
            Kind::Close => self.command(victim, Command::Close),
            Kind::FailOver | Kind::Quorum | Kind::Isolate => self.fail_servers(place, kind, &mut dice),
            Kind::Skew => self.set_skew(),
            Kind::Delete => self.operate(&Put::bare(Message::Tombstone)),
            Kind::Overwrite => {
                let headers = &Headers::new();
                self.operate(&Put {
                    kind: Message::Live,
                    value: "operator",
                    headers,
                    ttl: None,
                    write_id: None,
                });
            }
            Kind::Recreate => self.delete_bucket(&mut dice, lasts, false, None),
            Kind::RecreateNew => self.delete_bucket(&mut dice, lasts, true, None),
            Kind::RecreateLower => {
                let lower = self.plan.max_age * dice.pick(&[3, 5, 8]) / 10;
                self.delete_bucket(&mut dice, lasts, false, Some(lower));
            }
            Kind::RaiseAge if !self.cluster.gone => {
                self.cluster.max_age = self.plan.max_age * dice.pick(&RAISED) / 10;
                self.promises.happened.aged(self.cluster.max_age);
                self.expire_later();
            }
            Kind::SlowConsumer => self.nodes[victim].slow += 1,
            Kind::SlowProcess => {
                for (from, stopped) in stops(&mut dice, lasts) {
                    self.after(from, Event::Stop(victim, stopped));
                }
            }
            Kind::NoProof => self.nodes[victim].lacks = Some(Lacks::drawn(&mut Dice::new(roll, 4))),
            Kind::Purge if self.can_operate() => self.remove(false),
            Kind::LowerAge if !self.cluster.gone => {
                self.cluster.max_age = self.plan.max_age * dice.pick(&[3, 5, 8]) / 10;
                self.expire_later();
            }
            Kind::ClockStep => self.step_clocks(place, &mut dice),
            Kind::LostWrites => {
                let span = dice.millis(1, 3_000);
                self.go_back(span);
            }
            Kind::Restore => {
                let span = dice.millis(2_000, 3 * self.plan.lease.as_millis() as u64);
                self.go_back(span);
            }
            Kind::Loss
            | Kind::Delay
            | Kind::Duplication
            | Kind::SilentWatch
            | Kind::Starve
            | Kind::ClockBack
            | Kind::SlowCommit
            | Kind::Unsent
            | Kind::Full
            | Kind::Erase
            | Kind::Purge
            | Kind::LowerAge
            | Kind::RaiseAge
            | Kind::OldIncarnation => {}
            // Of another store; no bucket's script has them.
            Kind::Revoke
            | Kind::Unleased
            | Kind::EarlyRevocation
            | Kind::PausedLeader
            | Kind::Lag
            | Kind::TokenExpiry
            | Kind::Compact
            | Kind::Removal
            | Kind::EmptyGroup
            | Kind::Replacement
            | Kind::Rebalance
            | Kind::Coordinator
            | Kind::CutGroup
            | Kind::CutLog
            | Kind::HeldPoll
            | Kind::DeleteGroup
            | Kind::DeleteRecords
            | Kind::NewProducer
            | Kind::RecreateAtEnd
            | Kind::StaleTopic
            | Kind::StaleEpochs => {}
        }
    }

    /// Ends the fault with this index of the script.
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
        self.observe(&Observation::Fault { kind, node: node_of(kind, victim), place, begins: false });
        match kind {
            Kind::Cut | Kind::Queue => {
                self.nodes[victim].cut_out -= 1;
                self.nodes[victim].cut_in -= 1;
                self.nodes[victim].queueing -= u32::from(kind == Kind::Queue);
            }
            Kind::CutRequests => self.nodes[victim].cut_out -= 1,
            Kind::CutReplies => self.nodes[victim].cut_in -= 1,
            Kind::Denied => self.nodes[victim].denied -= 1,
            Kind::BadDrift | Kind::Freeze => {
                self.set_rate(victim, self.nodes[victim].rate, true);
                self.promises.rectify(self.now, victim);
            }
            Kind::Illness => self.set_health(victim, true),
            Kind::Close if !self.nodes[victim].alive => {
                self.start_process(victim, Duration::from_millis(100))
            }
            Kind::FailOver | Kind::Quorum | Kind::Isolate => {
                for server in &hit[1..] {
                    self.heal(*server, kind == Kind::Isolate && self.plan.replicas > 1);
                }
            }
            Kind::LowerAge | Kind::RaiseAge | Kind::RecreateLower if !self.is_aged() => {
                self.cluster.max_age = self.plan.max_age;
                self.expire_later();
            }
            Kind::SlowConsumer => self.nodes[victim].slow -= 1,
            Kind::NoProof => self.nodes[victim].lacks = None,
            Kind::ClockStep => {
                for server in &hit[1..] {
                    let ahead = if fault.roll & 1 == 0 { -STEP } else { STEP };
                    self.set_wall(*server, self.cluster.servers[*server].ahead + ahead);
                }
            }
            _ => {}
        }
        if self.nodes[victim].cut_out == 0 {
            self.flush(victim);
        }
    }

    /// Whether the bucket has another maximum age than it should have.
    fn is_aged(&self) -> bool {
        [Kind::LowerAge, Kind::RaiseAge, Kind::RecreateLower].into_iter().any(|kind| self.is_on(kind))
    }

    pub(super) fn stop(&mut self, node: usize, lasts: Duration, frozen: bool) {
        let place = &mut self.nodes[node];
        place.stopped_until = place.stopped_until.max(self.now + lasts);
        let until = place.stopped_until;
        if frozen {
            self.set_rate(node, -1_000_000, false);
        }
        self.observe(&Observation::Stopped { node, stopped: true });
        self.queue.put(until, Event::Resume(node));
    }

    /// Sets the rate of a clock, for good or for a while.
    fn set_rate(&mut self, node: usize, rate: i64, lasting: bool) {
        let place = &mut self.nodes[node];
        if lasting {
            place.rate = rate;
        }
        place.clock.set_rate(self.now, rate);
        place.leads_until = place.lease.map(|lease| place.clock.when(lease.deadline));
        // Its wake-ups now come sooner, or later.
        place.wakes = place.wakes.min(self.now);
        let (process, until) = (place.process, place.leads_until);
        self.queue.put(self.now, Event::Wake { node, process });
        self.observe(&Observation::Clock { node, until });
    }

    /// Sends a user's command to a candidate; a stopped one gets it later.
    pub(super) fn command(&mut self, node: usize, command: Command) {
        if self.nodes[node].alive {
            self.deliver(node, Incoming::Command(command));
        }
    }

    fn set_health(&mut self, node: usize, healthy: bool) {
        self.nodes[node].healthy = healthy;
        self.command(node, Command::Health(healthy));
    }

    fn fail_servers(&mut self, place: usize, kind: Kind, dice: &mut Dice) {
        let count = self.cluster.servers.len();
        let first = self.cluster.leader.unwrap_or(0);
        match kind {
            Kind::Isolate if count > 1 => {
                let server = if dice.percent(75) { first } else { (first + 1) % count };
                if self.isolate(server) {
                    self.hit[place].push(server);
                }
            }
            Kind::Quorum if count > 1 => {
                for server in [first, (first + 1) % count] {
                    self.cluster.servers[server].down += 1;
                    self.hit[place].push(server);
                }
            }
            _ => {
                self.cluster.servers[first].down += 1;
                self.hit[place].push(first);
            }
        }
        self.depose();
    }

    /// Cuts a server off from the other servers, if it is not.
    fn isolate(&mut self, server: usize) -> bool {
        if self.cluster.servers[server].isolated.is_some() {
            return false;
        }
        let led = self.cluster.leader == Some(server);
        let knew = self.cluster.bucket.clone();
        let stuck = self.in_flight.is_some();
        self.cluster.servers[server].isolated = Some(Isolated { knew, since: self.now, led, stuck });
        true
    }

    /// Isolates the server that leads the stream; perhaps it has just taken a write.
    pub(super) fn isolate_leader(&mut self, stuck: bool) {
        if let Some(leader) = self.cluster.leader {
            self.isolate(leader);
            if let Some(isolated) = &mut self.cluster.servers[leader].isolated {
                isolated.stuck |= stuck;
            }
            self.depose();
        }
    }

    /// Heals a server, whose watches catch up.
    fn heal(&mut self, server: usize, isolated: bool) {
        if isolated {
            self.cluster.servers[server].isolated = None;
        } else {
            self.cluster.servers[server].down -= 1;
        }
        if self.cluster.leader.is_none() {
            let wait = self.dice.millis(500, 2_000);
            self.elect_after(wait);
        }
        if !self.cluster.is_up(server) {
            return;
        }
        let entry = self.cluster.bucket.entry();
        for node in 0..self.nodes.len() {
            if self.nodes[node].watch.on.is_some_and(|(_, on)| on == server) && entry.revision().is_some() {
                self.publish_to(node, &entry);
            }
        }
    }

    /// Lets the servers' clocks disagree as far as the setting allows, where the run has that.
    pub(super) fn set_skew(&mut self) {
        if !self.plan.has(Kind::Skew) {
            return;
        }
        let half = self.plan.skew.as_micros() as u64 / 2;
        for server in 0..self.cluster.servers.len() {
            let stepped = self.cluster.servers[server].ahead.unsigned_abs() > half * 1000;
            if !stepped {
                let ahead = (self.dice.below(2 * half + 1) as i64 - half as i64) * 1000;
                self.set_wall(server, ahead);
            }
        }
    }

    pub(super) fn set_wall(&mut self, server: usize, ahead: i64) {
        self.cluster.servers[server].ahead = ahead;
        self.expire_later();
    }

    fn step_clocks(&mut self, place: usize, dice: &mut Dice) {
        let ahead = if self.fault(place).is_some_and(|fault| fault.roll & 1 == 0) { STEP } else { -STEP };
        let one = dice.percent(50).then_some(self.cluster.leader.unwrap_or(0));
        for server in 0..self.cluster.servers.len() {
            if one.is_none_or(|one| one == server) {
                self.hit[place].push(server);
                self.set_wall(server, self.cluster.servers[server].ahead + ahead);
            }
        }
        // A young incarnation looks old.
        if self.now.since(self.cluster.bucket.made) < self.plan.lease * 2 {
            self.promises.waive(self.now, self.plan.lease * 2, Excuse::ServerClocks);
        }
    }

    pub(super) fn can_operate(&self) -> bool {
        self.cluster.leader.is_some() && !self.cluster.gone && self.in_flight.is_none()
    }

    /// Lets an operator write to the key.
    pub(super) fn operate(&mut self, put: &Put<'_>) {
        if self.can_operate() {
            let wall = self.cluster.leaders_wall(self.now);
            self.others_write();
            self.cluster.bucket.put(put, self.now, wall);
            self.key_changed();
        }
    }

    fn delete_bucket(
        &mut self,
        dice: &mut Dice,
        lasts: Duration,
        never_used: bool,
        max_age: Option<Duration>,
    ) {
        if !self.can_operate() {
            return;
        }
        let revision = self.cluster.bucket.revision().0;
        let sequence = match dice.below(4) {
            0 => 0,
            1 => revision.saturating_sub(1 + dice.below(3)),
            _ => revision.saturating_sub(1),
        };
        self.cluster.gone = true;
        let remaking = Remaking { sequence, never_used, max_age };
        self.after(lasts.min(Duration::from_secs(2)), Event::Remake(remaking));
    }

    /// Sets the store back to an earlier state.
    fn go_back(&mut self, span: Duration) {
        if !self.can_operate() {
            return;
        }
        let then = self.now.before(span);
        let all = self.all_saw_it();
        let before = self.history.iter().rev().find(|(at, _)| *at <= then).map(|(_, bucket)| bucket.clone());
        let Some(bucket) = before.filter(|before| before.sequence < self.cluster.bucket.sequence) else {
            return;
        };
        let (incarnation, highest) = (self.cluster.bucket.incarnation, self.cluster.bucket.sequence);
        self.promises.went_back(incarnation, highest, all);
        for server in &mut self.cluster.servers {
            if let Some(isolated) = &mut server.isolated {
                isolated.led = false;
            }
        }
        self.history.retain(|(at, _)| *at <= then);
        self.cluster.bucket = bucket;
        self.note(|trace| write!(trace, "store: what it was {span:?} ago"));
        self.observe(&Observation::WentBack);
        self.key_changed();
    }
}

/// The candidate that a fault hits, if any.
fn node_of(kind: Kind, victim: usize) -> Option<usize> {
    let one = matches!(
        kind,
        Kind::Cut
            | Kind::Queue
            | Kind::CutRequests
            | Kind::CutReplies
            | Kind::Pause
            | Kind::Suspend
            | Kind::Freeze
            | Kind::Crash
            | Kind::Denied
            | Kind::Drift
            | Kind::BadDrift
            | Kind::SlowConsumer
            | Kind::NoProof
            | Kind::SlowProcess
            | Kind::Resign
            | Kind::Handler
            | Kind::Illness
            | Kind::Close
    );
    one.then_some(victim)
}
