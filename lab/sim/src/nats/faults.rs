//! The faults of a bucket and of its servers.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::record::{Headers, Kind as Message};
use incumbent_core::session::Command;

use super::cluster::{Isolated, Put};
use super::process::Lacks;
use super::{Event, Remaking, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::Observation;
use crate::plan::{CLOCK_STEP, Fault, RAISED};
use crate::promise::Excuse;

/// [`CLOCK_STEP`] in nanoseconds.
const STEP: i64 = CLOCK_STEP.as_nanos() as i64;

impl World {
    pub(super) fn begin_store_fault(&mut self, fault: &Fault, victim: usize, dice: &mut Dice) {
        let Fault { kind, lasts, roll, place, .. } = *fault;
        match kind {
            Kind::Queue => {
                self.nodes[victim].cut_out += 1;
                self.nodes[victim].cut_in += 1;
                self.nodes[victim].queueing += 1;
            }
            Kind::Resign if dice.percent(50) => self.command(victim, Command::Resign),
            Kind::Resign => {
                let successor = format!("c{}", dice.below(self.nodes.len() as u64));
                self.command(victim, Command::HandOver(successor));
            }
            Kind::FailOver | Kind::Quorum | Kind::Isolate => self.fail_servers(place, kind, dice),
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
            Kind::Recreate => self.delete_bucket(dice, lasts, false, None),
            Kind::RecreateNew => self.delete_bucket(dice, lasts, true, None),
            Kind::RecreateLower => {
                let lower = self.plan.max_age * dice.pick(&[3, 5, 8]) / 10;
                self.delete_bucket(dice, lasts, false, Some(lower));
            }
            Kind::RaiseAge if !self.store.cluster.gone => {
                self.store.cluster.max_age = self.plan.max_age * dice.pick(&RAISED) / 10;
                self.promises.happened.aged(self.store.cluster.max_age);
                self.expire_later();
            }
            Kind::NoProof => self.nodes[victim].lacks = Some(Lacks::drawn(&mut Dice::new(roll, 4))),
            Kind::Purge if self.can_operate() => self.remove_message(false),
            Kind::LowerAge if !self.store.cluster.gone => {
                self.store.cluster.max_age = self.plan.max_age * dice.pick(&[3, 5, 8]) / 10;
                self.expire_later();
            }
            Kind::ClockStep => self.step_clocks(place, roll, dice),
            Kind::LostWrites => {
                let span = dice.millis(1, 3_000);
                self.go_back(span);
            }
            Kind::Restore => {
                let span = dice.millis(2_000, 3 * self.plan.lease.as_millis() as u64);
                self.go_back(span);
            }
            // Faults of the other kinds are only counted as active, or belong to another store.
            _ => {}
        }
    }

    pub(super) fn end_store_fault(&mut self, fault: &Fault, hit: &[usize]) {
        let Some(&victim) = hit.first() else { return };
        let kind = fault.kind;
        match kind {
            Kind::Queue => {
                self.nodes[victim].cut_out -= 1;
                self.nodes[victim].cut_in -= 1;
                self.nodes[victim].queueing -= 1;
            }
            Kind::FailOver | Kind::Quorum | Kind::Isolate => {
                for server in &hit[1..] {
                    self.heal(*server, kind == Kind::Isolate && self.plan.replicas > 1);
                }
            }
            Kind::LowerAge | Kind::RaiseAge | Kind::RecreateLower if !self.is_aged() => {
                self.store.cluster.max_age = self.plan.max_age;
                self.expire_later();
            }
            Kind::NoProof => self.nodes[victim].lacks = None,
            Kind::ClockStep => {
                for server in &hit[1..] {
                    let ahead = if fault.roll & 1 == 0 { -STEP } else { STEP };
                    self.set_wall(*server, self.store.cluster.servers[*server].ahead + ahead);
                }
            }
            _ => {}
        }
    }

    /// Whether an active fault has changed the bucket's maximum age.
    fn is_aged(&self) -> bool {
        [Kind::LowerAge, Kind::RaiseAge, Kind::RecreateLower].into_iter().any(|kind| self.is_on(kind))
    }

    fn fail_servers(&mut self, place: usize, kind: Kind, dice: &mut Dice) {
        let count = self.store.cluster.servers.len();
        let first = self.store.cluster.leader.unwrap_or(0);
        match kind {
            Kind::Isolate if count > 1 => {
                let server = if dice.percent(75) { first } else { (first + 1) % count };
                if self.cut_off(server) {
                    self.hit[place].push(server);
                }
            }
            Kind::Quorum if count > 1 => {
                for server in [first, (first + 1) % count] {
                    self.store.cluster.servers[server].down += 1;
                    self.hit[place].push(server);
                }
            }
            _ => {
                self.store.cluster.servers[first].down += 1;
                self.hit[place].push(first);
            }
        }
        self.depose();
    }

    /// Cuts a server off from the other servers, unless it is already cut off.
    fn cut_off(&mut self, server: usize) -> bool {
        if self.store.cluster.servers[server].isolated.is_some() {
            return false;
        }
        let led = self.store.cluster.leader == Some(server);
        let knew = self.store.cluster.bucket.clone();
        let stuck = self.store.in_flight.is_some();
        self.store.cluster.servers[server].isolated = Some(Isolated { knew, since: self.now, led, stuck });
        true
    }

    /// Isolates the server that leads the stream, which may have accepted a write just before.
    pub(super) fn isolate_leader(&mut self, stuck: bool) {
        if let Some(leader) = self.store.cluster.leader {
            self.cut_off(leader);
            if let Some(isolated) = &mut self.store.cluster.servers[leader].isolated {
                isolated.stuck |= stuck;
            }
            self.depose();
        }
    }

    /// Ends the isolation of a server, whose watches then catch up.
    fn heal(&mut self, server: usize, isolated: bool) {
        if isolated {
            self.store.cluster.servers[server].isolated = None;
        } else {
            self.store.cluster.servers[server].down -= 1;
        }
        if self.store.cluster.leader.is_none() {
            let wait = self.dice.millis(500, 2_000);
            self.elect_after(wait);
        }
        if !self.store.cluster.is_up(server) {
            return;
        }
        let entry = self.store.cluster.bucket.entry();
        for node in 0..self.nodes.len() {
            if self.nodes[node].watch.on.is_some_and(|(_, on)| on == server) && entry.revision().is_some() {
                self.publish_to(node, &entry);
            }
        }
    }

    /// Makes the servers' clocks differ as far as the setting allows, if the run has skew.
    pub(super) fn set_skew(&mut self) {
        if !self.plan.has(Kind::Skew) {
            return;
        }
        let half = self.plan.skew.as_micros() as u64 / 2;
        for server in 0..self.store.cluster.servers.len() {
            let stepped = self.store.cluster.servers[server].ahead.unsigned_abs() > half * 1000;
            if !stepped {
                let ahead = (self.dice.below(2 * half + 1) as i64 - half as i64) * 1000;
                self.set_wall(server, ahead);
            }
        }
    }

    pub(super) fn set_wall(&mut self, server: usize, ahead: i64) {
        self.store.cluster.servers[server].ahead = ahead;
        self.expire_later();
    }

    fn step_clocks(&mut self, place: usize, roll: u64, dice: &mut Dice) {
        let ahead = if roll & 1 == 0 { STEP } else { -STEP };
        let one = dice.percent(50).then_some(self.store.cluster.leader.unwrap_or(0));
        for server in 0..self.store.cluster.servers.len() {
            if one.is_none_or(|one| one == server) {
                self.hit[place].push(server);
                self.set_wall(server, self.store.cluster.servers[server].ahead + ahead);
            }
        }
        let wrong = self.store.cluster.servers.iter().map(|server| server.ahead.unsigned_abs()).max();
        self.promises.happened.steps(Duration::from_nanos(wrong.unwrap_or_default()));
        // A young incarnation looks old.
        if self.now.since(self.store.cluster.bucket.made) < self.plan.lease * 2 {
            self.promises.waive(self.now, self.plan.lease * 2, Excuse::ServerClocks);
        }
    }

    pub(super) fn can_operate(&self) -> bool {
        self.store.cluster.leader.is_some() && !self.store.cluster.gone && self.store.in_flight.is_none()
    }

    /// Lets an operator write to the key.
    pub(super) fn operate(&mut self, put: &Put<'_>) {
        if self.can_operate() {
            let wall = self.store.cluster.leaders_wall(self.now);
            self.others_write();
            self.store.cluster.bucket.put(put, self.now, wall);
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
        let revision = self.store.cluster.bucket.revision().0;
        let sequence = match dice.below(4) {
            0 => 0,
            1 => revision.saturating_sub(1 + dice.below(3)),
            _ => revision.saturating_sub(1),
        };
        self.store.cluster.gone = true;
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
        let before =
            self.store.history.iter().rev().find(|(at, _)| *at <= then).map(|(_, bucket)| bucket.clone());
        let Some(bucket) = before.filter(|before| before.sequence < self.store.cluster.bucket.sequence)
        else {
            return;
        };
        let (incarnation, highest) =
            (self.store.cluster.bucket.incarnation, self.store.cluster.bucket.sequence);
        self.promises.went_back(incarnation, highest, all);
        for server in &mut self.store.cluster.servers {
            if let Some(isolated) = &mut server.isolated {
                isolated.led = false;
            }
        }
        self.store.history.retain(|(at, _)| *at <= then);
        self.store.cluster.bucket = bucket;
        self.note(|trace| write!(trace, "store: what it was {span:?} ago"));
        self.observe(&Observation::WentBack);
        self.key_changed();
    }
}
