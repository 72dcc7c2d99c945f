//! Faults, the beginning and the end of each kind; and the quiet phase after them.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Revision;
use incumbent_core::queue::Change;
use incumbent_core::session::Command;

use super::cluster::ELECTION;
use super::process::Incoming;
use super::{Content, Event, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Order};
use crate::oracle::ACandidateLeads;
use crate::plan::Fault;
use crate::world::drift;

/// The key of a place that an operator puts.
const OPERATORS: &str = "operator";

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
        self.note(|trace| write!(trace, "fault {place}: {kind} for {lasts:?}, c{victim} if any"));
        self.hit[place] = vec![victim];
        self.active[kind as usize] += 1;
        self.observe(&Observation::Fault { kind, node: Some(victim), place, begins: true });
        self.after(lasts, Event::EndFault(place));
        match kind {
            Kind::Pause => self.stop(victim, lasts, false),
            Kind::Freeze => {
                self.promises.falsify(victim);
                self.stop(victim, lasts, true);
            }
            Kind::Suspend => {
                for node in 0..self.nodes.len() {
                    if node == victim || dice.percent(50) {
                        self.stop(node, lasts, false);
                    }
                }
            }
            Kind::Crash if self.nodes[victim].alive => {
                self.end_process(victim);
                self.start_process(victim, lasts / 4);
            }
            Kind::Cut => {
                self.nodes[victim].cut_out += 1;
                self.nodes[victim].cut_in += 1;
            }
            Kind::CutRequests => self.nodes[victim].cut_out += 1,
            Kind::CutReplies => self.nodes[victim].cut_in += 1,
            Kind::Denied => self.nodes[victim].denied += 1,
            Kind::SlowConsumer => self.nodes[victim].slow += 1,
            Kind::Drift => {
                let rate = drift(&mut dice);
                self.set_rate(victim, rate, true);
            }
            Kind::BadDrift => {
                self.promises.falsify(victim);
                let rate = dice.pick(&[-300_000, -100_000, 100_000, 300_000]);
                self.set_rate(victim, rate, false);
            }
            Kind::Resign if dice.percent(50) => self.command(victim, Command::Resign),
            Kind::Resign => {
                let successor = format!("c{}", dice.below(self.nodes.len() as u64));
                self.command(victim, Command::HandOver(successor));
            }
            Kind::Handler => self.command(victim, Command::HandlerFailed),
            Kind::Illness => self.command(victim, Command::Health(false)),
            Kind::Close => self.command(victim, Command::Close),
            Kind::FailOver | Kind::Quorum | Kind::Isolate | Kind::PausedLeader => {
                self.fail_members(place, kind, &mut dice);
            }
            Kind::Delete => self.delete_place(&mut dice),
            Kind::Revoke => self.revoke_place(),
            Kind::Overwrite => self.overwrite_place(),
            Kind::Unleased if self.cluster.leader.is_some() => {
                self.cluster.content.put_place(OPERATORS, None, "operator");
                self.changed(&Change::default());
            }
            Kind::EarlyRevocation => self.revoke_early(&mut dice),
            Kind::Lag => {
                let member = dice.below(self.cluster.members.len() as u64) as usize;
                self.hit[place].push(member);
            }
            Kind::Recreate => self.wipe(),
            Kind::Restore => {
                let span = dice.millis(100, 3 * self.plan.lease.as_millis() as u64);
                self.restore(span, &mut dice);
            }
            // The other kinds only count as active, or are of another store.
            _ => {}
        }
    }

    /// Ends the fault with this index of the script.
    pub(super) fn end_fault(&mut self, place: usize) {
        let Some(fault) = self.fault(place) else { return };
        let hit = std::mem::take(&mut self.hit[place]);
        let Some(&victim) = hit.first() else { return };
        let kind = fault.kind;
        self.active[kind as usize] -= 1;
        self.note(|trace| write!(trace, "fault {place}: {kind} is over"));
        self.observe(&Observation::Fault { kind, node: Some(victim), place, begins: false });
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
            Kind::FailOver | Kind::Quorum | Kind::Isolate | Kind::PausedLeader => {
                for member in &hit[1..] {
                    self.heal(*member, kind);
                }
            }
            Kind::Unleased | Kind::Overwrite => self.delete_unleased(),
            Kind::Lag => self.catch_up(),
            _ => {}
        }
    }

    fn stop(&mut self, node: usize, lasts: Duration, frozen: bool) {
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
    fn command(&mut self, node: usize, command: Command) {
        if self.nodes[node].alive {
            self.deliver(node, Incoming::Command(command));
        }
    }

    // ---- the members ----

    fn fail_members(&mut self, place: usize, kind: Kind, dice: &mut Dice) {
        let count = self.cluster.members.len();
        let first = self.cluster.leader.unwrap_or(0);
        let hit = match kind {
            Kind::Quorum if count > 1 => vec![first, (first + 1) % count],
            Kind::Isolate if count > 1 && dice.percent(25) => vec![(first + 1) % count],
            _ => vec![first],
        };
        for member in &hit {
            let at = &mut self.cluster.members[*member];
            match kind {
                Kind::Isolate if count > 1 => at.isolated += 1,
                Kind::PausedLeader => at.stopped += 1,
                _ => at.down += 1,
            }
        }
        if self.cluster.leader.is_some_and(|leader| hit.contains(&leader)) {
            // An isolated leader steps down within two election timeouts; a dead or stopped one answers nothing now.
            let until = match kind {
                Kind::Isolate => self.now + ELECTION * 2,
                _ => self.now,
            };
            self.cluster.depose(until);
            self.elect_later();
        } else if !self.cluster.has_majority() {
            self.cluster.depose(self.now);
        }
        self.hit[place].extend(hit);
    }

    fn heal(&mut self, member: usize, kind: Kind) {
        let at = &mut self.cluster.members[member];
        match kind {
            Kind::Isolate if self.plan.replicas > 1 => at.isolated -= 1,
            Kind::PausedLeader => at.stopped -= 1,
            _ => at.down -= 1,
        }
        if kind == Kind::PausedLeader {
            self.go_on(member);
        } else {
            at.former = None;
        }
        if self.cluster.leader.is_none() {
            self.elect_later();
        }
        self.catch_up();
    }

    /// A leader that was stopped goes on: what waited for it is answered first, as it knows of no other leader.
    fn go_on(&mut self, member: usize) {
        let moment = self.dice.millis(0, 300);
        if let Some(former) = &mut self.cluster.members[member].former {
            former.until = self.now + moment;
        }
        for node in 0..self.nodes.len() {
            if self.nodes[node].stream.held.is_empty() || !self.nodes[node].alive {
                continue;
            }
            // Its own streams, and those of members that had passed the keep-alive on to it.
            let own = self.nodes[node].stream.member == member;
            let passed_on = self.cluster.deposed == Some(member) && self.nodes[node].dice.percent(50);
            if own || passed_on {
                self.release_from(node, member, own);
            }
        }
    }

    fn release_from(&mut self, node: usize, member: usize, own: bool) {
        if !own {
            return self.release(node, Some(member));
        }
        let at = self.cluster.members[member].applied;
        // The member applied nothing since it was stopped.
        let raft_term = self.cluster.members[member].former.as_ref().map(|former| former.raft_term());
        self.cluster.members[member].applied = raft_term.unwrap_or(at);
        self.release(node, Some(member));
    }

    fn elect_later(&mut self) {
        self.cluster.elections += 1;
        let wait = self.dice.millis(1_000, 2_000);
        self.after(wait, Event::Elect(self.cluster.elections));
    }

    /// The members elect a leader, if they can.
    pub(super) fn elect(&mut self, number: u64) {
        if self.cluster.elections != number || self.cluster.leader.is_some() || !self.cluster.has_majority() {
            return;
        }
        let up: Vec<_> =
            (0..self.cluster.members.len()).filter(|member| self.cluster.is_up(*member)).collect();
        let leader = self.dice.pick(&up);
        let raft_term = self.cluster.raft_term + 1 + self.dice.below(2);
        self.lead(leader, raft_term);
    }

    fn lead(&mut self, leader: usize, raft_term: u64) {
        self.cluster.elect(self.now, leader, raft_term);
        self.note(|trace| write!(trace, "store: member {leader} leads in term {raft_term}"));
        let leases: Vec<_> = self.cluster.content.leases.keys().copied().collect();
        for lease in leases {
            let Some(at) = self.cluster.expires(lease) else { continue };
            self.expire_after(lease, at);
            // As much as a keep-alive that was sent until now could.
            for node in 0..self.nodes.len() {
                let sent_at = self.nodes[node].clock.at(self.now);
                self.observe(&Observation::Kept { node, lease, sent_at });
            }
        }
        self.catch_up();
        self.cluster.members[leader].applied = raft_term;
    }

    /// The members that are up apply the leader's entries, but one that lags.
    fn catch_up(&mut self) {
        let lagging: Vec<_> = self
            .plan
            .script
            .iter()
            .filter(|fault| fault.kind == Kind::Lag)
            .filter_map(|fault| self.hit[fault.place].get(1).copied())
            .collect();
        if self.cluster.leader.is_none() {
            return;
        }
        for member in 0..self.cluster.members.len() {
            if self.cluster.is_up(member) && !lagging.contains(&member) {
                self.cluster.members[member].applied = self.cluster.raft_term;
            }
        }
    }

    // ---- operators ----

    fn place_removed(&mut self) {
        self.promises.place_removed(self.now);
    }

    fn delete_place(&mut self, dice: &mut Dice) {
        let places: Vec<_> = self.cluster.content.places.keys().cloned().collect();
        let first = self.cluster.content.first().map(|(key, _)| key.clone());
        let Some(first) = first.filter(|_| self.cluster.leader.is_some()) else { return };
        let place = match dice.percent(70) {
            true => first,
            false => places[dice.below(places.len() as u64) as usize].clone(),
        };
        self.place_removed();
        let change = self.cluster.content.delete_place(&place);
        self.changed(&change);
    }

    fn revoke_place(&mut self) {
        let first = self.cluster.content.first();
        let Some(lease) = first.and_then(|(_, key)| key.lease) else { return };
        if self.cluster.leader.is_some() {
            self.place_removed();
            let change = self.cluster.revoke(lease);
            self.changed(&change);
        }
    }

    fn overwrite_place(&mut self) {
        let Some((key, _)) = self.cluster.content.first() else { return };
        let key = key.clone();
        if self.cluster.leader.is_some() {
            self.cluster.content.put_place(&key, None, "operator");
            self.changed(&Change::default());
        }
    }

    /// An operator deletes the places without a lease, as the warning says.
    fn delete_unleased(&mut self) {
        let unleased = |content: &Content| {
            let mut places = content.places.iter();
            places.find(|(_, place)| place.lease.is_none()).map(|(key, _)| key.clone())
        };
        while let Some(place) = unleased(&self.cluster.content) {
            // It may be one of a leader that does not know yet that it was written over.
            self.place_removed();
            let change = self.cluster.content.delete_place(&place);
            self.changed(&change);
        }
    }

    /// A leader whose disk hung revokes live leases when it recovers.
    fn revoke_early(&mut self, dice: &mut Dice) {
        if self.plan.keeps_leases || self.cluster.leader.is_none() {
            return;
        }
        if !self.plan.has_one_lease() {
            // A candidate that never observed the longer lease of another does not wait for it.
            self.promises.waive(self.now, self.plan.lease * 2);
        }
        self.place_removed();
        let leases: Vec<_> = self.cluster.content.leases.keys().copied().collect();
        for lease in leases {
            if dice.percent(60) {
                let change = self.cluster.revoke(lease);
                self.changed(&change);
            }
        }
    }

    // ---- another store ----

    fn wipe(&mut self) {
        if !self.plan.has_one_lease() {
            self.promises.waive(self.now, self.plan.lease * 2);
        }
        self.place_removed();
        self.cluster.content = Content::new();
        self.wiped = true;
        self.history.clear();
        self.note(|trace| write!(trace, "store: wiped"));
        self.observe(&Observation::Remade { max_age: self.plan.max_age });
        self.restart(2);
    }

    /// Sets the store back to an earlier state, as a restore of a backup does.
    fn restore(&mut self, span: Duration, dice: &mut Dice) {
        let then = self.now.before(span);
        let before =
            self.history.iter().rev().find(|(at, _)| *at <= then).map(|(_, content)| content.clone());
        let Some(content) = before.filter(|before| before.revision < self.cluster.content.revision) else {
            return;
        };
        // Candidates that have not read the store since may not notice it, and know no token of what is undone.
        self.promises.waive(self.now, self.plan.lease * 4);
        self.promises.waive_tokens();
        self.place_removed();
        self.history.retain(|(at, _)| *at <= then);
        self.cluster.content = content;
        self.note(|trace| write!(trace, "store: what it was {span:?} ago"));
        self.observe(&Observation::WentBack);
        let raft_term = if dice.percent(50) { 2 } else { self.cluster.raft_term + 1 };
        self.restart(raft_term);
    }

    /// All members begin again: every connection is lost.
    fn restart(&mut self, raft_term: u64) {
        let leader = (0..self.cluster.members.len()).find(|member| self.cluster.is_up(*member));
        for member in &mut self.cluster.members {
            (member.former, member.applied) = (None, raft_term);
        }
        for node in &mut self.nodes {
            node.stream.broken = true;
            node.watch.on = None;
        }
        self.cluster.leader = None;
        match leader.filter(|_| self.cluster.has_majority()) {
            Some(leader) => self.lead(leader, raft_term),
            None => self.cluster.raft_term = raft_term,
        }
        self.changed(&Change { revision: Revision(0), ..Change::default() });
    }

    // ---- the quiet phase ----

    /// Ends every fault.
    pub(super) fn end_all_faults(&mut self) {
        let places: Vec<_> = self.plan.script.iter().map(|fault| fault.place).collect();
        for place in places {
            self.end_fault(place);
        }
        self.quiet = true;
        self.note(|trace| write!(trace, "no more faults"));
        self.delete_unleased();
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_stopped(self.now) {
                self.nodes[node].stopped_until = self.now;
                self.resume(node);
            }
            if !self.nodes[node].alive {
                self.start_process(node, Duration::from_millis(100));
            }
        }
        if self.cluster.leader.is_none() {
            self.elect_later();
        }
        self.observe(&Observation::Quiet);
        let worst = ACandidateLeads::worst(&self.plan);
        self.after(ACandidateLeads::usual(&self.plan), Event::Operator);
        // By then a candidate leads, or an oracle has reported a violation.
        self.after(worst * 2 + Duration::from_secs(1), Event::Order(0));
    }

    /// Makes an orderly change happen to the leader: first it leaves, later it is removed.
    pub(super) fn order(&mut self, turn: u32) {
        if turn == 0 {
            let wanted = self.plan.delay() + self.plan.owed();
            self.after(self.plan.drain() + wanted + Duration::from_secs(6), Event::Order(1));
        }
        let Some(leader) = (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.now)) else {
            return;
        };
        let present = self.cluster.content.companions.len();
        // Of candidates that have no place yet, none follows at once.
        if self.plan.choice.peers > 0 || present < self.nodes.len() || self.nodes.len() < 2 {
            return;
        }
        let mut dice = Dice::new(self.plan.choice.seed, 5 + u64::from(turn));
        let order = match (turn, dice.percent(50)) {
            (0, _) => Order::Resign { leader },
            (_, true) => Order::Delete { leader },
            _ => Order::Crash { leader },
        };
        self.note(|trace| write!(trace, "{order:?}"));
        self.observe(&Observation::Order(order));
        match order {
            Order::Delete { .. } => {
                let first = self.cluster.content.first().map(|(key, _)| key.clone());
                let change = self.cluster.content.delete_place(&first.unwrap_or_default());
                self.changed(&change);
            }
            Order::Crash { .. } => {
                self.end_process(leader);
                self.start_process(leader, Duration::from_secs(1));
            }
            _ => self.command(leader, Command::Resign),
        }
    }

    /// An operator accepts that tokens start again, where candidates stay out because the store went back.
    pub(super) fn operator(&mut self) {
        let barred = self.nodes.iter().any(|node| node.barred.is_some());
        let led = (0..self.nodes.len()).any(|node| self.nodes[node].leads(self.now));
        if !barred || led {
            return;
        }
        self.note(|trace| write!(trace, "an operator accepts that tokens start again"));
        self.promises.waive_tokens();
        self.observe(&Observation::Accepted);
        for node in 0..self.nodes.len() {
            self.nodes[node].barred = None;
            self.command(node, Command::Accept);
        }
    }
}
