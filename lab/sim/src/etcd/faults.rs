//! The faults of an etcd.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Revision;
use incumbent_core::queue::Change;
use incumbent_core::session::Command;

use super::cluster::ELECTION;
use super::process::Lacks;
use super::{Content, Event, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::Observation;
use crate::plan::Fault;
use crate::promise::Excuse;

/// The key of a place that an operator creates.
const OPERATORS: &str = "operator";

/// The time after which a member without a leader proposes again.
const PROPOSED_AGAIN: Duration = Duration::from_millis(20);

impl World {
    pub(super) fn begin_store_fault(&mut self, fault: &Fault, victim: usize, dice: &mut Dice) {
        let (kind, place) = (fault.kind, fault.place);
        match kind {
            Kind::Resign if self.is_of_second(fault.roll) => self.command_second(victim, Command::Resign),
            Kind::Resign if dice.percent(50) => self.command(victim, Command::Resign),
            Kind::Resign => {
                let successor = format!("c{}", dice.below(self.nodes.len() as u64));
                self.command(victim, Command::HandOver(successor));
            }
            Kind::FailOver | Kind::Quorum | Kind::Isolate | Kind::PausedLeader => {
                self.fail_members(place, kind, dice);
            }
            Kind::Delete => self.delete_place(dice),
            Kind::Revoke => self.revoke_place(),
            Kind::Overwrite => self.overwrite_place(),
            Kind::Unleased if self.store.cluster.leader.is_some() => {
                self.store.cluster.content.put_place(OPERATORS, None, "operator");
                self.changed(&Change::default());
            }
            Kind::EarlyRevocation => self.begin_early_revocation(place, dice),
            Kind::Lag => {
                let member = dice.below(self.store.cluster.members.len() as u64) as usize;
                self.hit[place].push(member);
            }
            Kind::NoProof => {
                self.nodes[victim].lacks = Some(Lacks::drawn(&mut Dice::new(fault.roll, 4)));
            }
            Kind::Recreate => self.wipe(),
            Kind::Restore => {
                let span = dice.millis(100, 3 * self.plan.lease.as_millis() as u64);
                self.restore(span, dice);
            }
            // Other kinds only count as active faults, or belong to another store.
            _ => {}
        }
    }

    pub(super) fn end_store_fault(&mut self, kind: Kind, hit: &[usize]) {
        match kind {
            Kind::FailOver | Kind::Quorum | Kind::Isolate | Kind::PausedLeader => {
                for member in &hit[1..] {
                    self.heal(*member, kind);
                }
            }
            Kind::EarlyRevocation => self.end_early_revocation(hit),
            Kind::Unleased | Kind::Overwrite => self.delete_unleased(),
            Kind::Lag => self.catch_up(),
            Kind::NoProof => self.nodes[hit[0]].lacks = None,
            _ => {}
        }
    }

    // ---- the members ----

    fn fail_members(&mut self, place: usize, kind: Kind, dice: &mut Dice) {
        let count = self.store.cluster.members.len();
        let first = self.store.cluster.leader.unwrap_or(0);
        let hit = match kind {
            Kind::Quorum if count > 1 => vec![first, (first + 1) % count],
            Kind::Isolate if count > 1 && dice.percent(25) => vec![(first + 1) % count],
            _ => vec![first],
        };
        for member in &hit {
            let at = &mut self.store.cluster.members[*member];
            match kind {
                Kind::Isolate if count > 1 => at.isolated += 1,
                Kind::PausedLeader => at.stopped += 1,
                _ => at.down += 1,
            }
        }
        if self.store.cluster.leader.is_some_and(|leader| hit.contains(&leader)) {
            // An isolated leader steps down within two election timeouts. A dead or stopped leader answers nothing from
            // now on.
            let until = match kind {
                Kind::Isolate => self.now + ELECTION * 2,
                _ => self.now,
            };
            self.store.cluster.depose(until);
            self.elect_later();
        } else if !self.store.cluster.has_majority() {
            self.store.cluster.depose(self.now);
        }
        self.hit[place].extend(hit);
    }

    fn heal(&mut self, member: usize, kind: Kind) {
        let at = &mut self.store.cluster.members[member];
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
        if self.store.cluster.leader.is_none() {
            self.elect_later();
        }
        self.catch_up();
    }

    /// Lets a stopped leader continue. It first answers the requests that waited for it, because it knows of no other
    /// leader.
    fn go_on(&mut self, member: usize) {
        let moment = self.dice.millis(0, 300);
        if let Some(former) = &mut self.store.cluster.members[member].former {
            former.until = self.now + moment;
        }
        for node in 0..self.nodes.len() {
            if self.nodes[node].stream.held.is_empty() || !self.nodes[node].alive {
                continue;
            }
            // These are the member's own streams, and those of members that had forwarded a keep-alive to it.
            let own = self.nodes[node].stream.member == member;
            let passed_on = self.store.cluster.deposed == Some(member) && self.nodes[node].dice.percent(50);
            if own || passed_on {
                self.release_from(node, member, own);
            }
        }
    }

    fn release_from(&mut self, node: usize, member: usize, own: bool) {
        if !own {
            return self.release(node, Some(member));
        }
        let at = self.store.cluster.members[member].applied;
        // The member has applied nothing since it was stopped.
        let raft_term = self.store.cluster.members[member].former.as_ref().map(|former| former.raft_term());
        self.store.cluster.members[member].applied = raft_term.unwrap_or(at);
        self.release(node, Some(member));
    }

    pub(super) fn elect_later(&mut self) {
        self.store.cluster.elections += 1;
        let wait = self.dice.millis(1_000, 2_000);
        self.after(wait, Event::Elect(self.store.cluster.elections));
    }

    /// Lets the members elect a leader, if they can.
    pub(super) fn elect(&mut self, number: u64) {
        if self.store.cluster.elections != number
            || self.store.cluster.leader.is_some()
            || !self.store.cluster.has_majority()
        {
            return;
        }
        let up: Vec<_> = (0..self.store.cluster.members.len())
            .filter(|member| self.store.cluster.is_up(*member))
            .collect();
        let leader = self.dice.pick(&up);
        let raft_term = self.store.cluster.raft_term + 1 + self.dice.below(2);
        self.lead(leader, raft_term);
    }

    fn lead(&mut self, leader: usize, raft_term: u64) {
        self.store.cluster.elect(self.now, leader, raft_term);
        self.note(|trace| write!(trace, "store: member {leader} leads in term {raft_term}"));
        let leases: Vec<_> = self.store.cluster.content.leases.keys().copied().collect();
        for lease in leases {
            let Some(at) = self.store.cluster.expires(lease) else { continue };
            self.expire_after(lease, at);
            // The new leader extends the lease as much as a keep-alive sent now would have done.
            for node in 0..self.nodes.len() {
                let sent_at = self.nodes[node].clock.at(self.now);
                self.observe_all(&Observation::Kept { node, lease, sent_at });
            }
        }
        self.catch_up();
        self.store.cluster.members[leader].applied = raft_term;
    }

    /// Lets the members that are up apply the leader's entries, except a member that lags.
    fn catch_up(&mut self) {
        let lagging: Vec<_> = self
            .plan
            .script
            .iter()
            .filter(|fault| fault.kind == Kind::Lag)
            .filter_map(|fault| self.hit[fault.place].get(1).copied())
            .collect();
        if self.store.cluster.leader.is_none() {
            return;
        }
        for member in 0..self.store.cluster.members.len() {
            if self.store.cluster.is_up(member) && !lagging.contains(&member) {
                self.store.cluster.members[member].applied = self.store.cluster.raft_term;
            }
        }
    }

    // ---- operators ----

    fn place_removed(&mut self) {
        self.promises.place_removed(self.now);
    }

    fn delete_place(&mut self, dice: &mut Dice) {
        let places: Vec<_> = self.store.cluster.content.places.keys().cloned().collect();
        let first = self.store.cluster.content.first().map(|(key, _)| key.clone());
        let Some(first) = first.filter(|_| self.store.cluster.leader.is_some()) else { return };
        let place = match dice.percent(70) {
            true => first,
            false => places[dice.below(places.len() as u64) as usize].clone(),
        };
        self.place_removed();
        let change = self.store.cluster.content.delete_place(&place);
        self.changed(&change);
    }

    fn revoke_place(&mut self) {
        let first = self.store.cluster.content.first();
        let Some(lease) = first.and_then(|(_, key)| key.lease) else { return };
        if self.store.cluster.leader.is_some() {
            self.place_removed();
            self.revoke(lease);
        }
    }

    fn overwrite_place(&mut self) {
        let Some((key, _)) = self.store.cluster.content.first() else { return };
        let key = key.clone();
        if self.store.cluster.leader.is_some() {
            self.store.cluster.content.put_place(&key, None, "operator");
            self.changed(&Change::default());
        }
    }

    /// Lets an operator delete the places without a lease, as the warning about them advises.
    pub(super) fn delete_unleased(&mut self) {
        let unleased = |content: &Content| {
            let mut places = content.places.iter();
            places.find(|(_, place)| place.lease.is_none()).map(|(key, _)| key.clone())
        };
        while let Some(place) = unleased(&self.store.cluster.content) {
            // The place may belong to a leader that does not yet know that the place was overwritten.
            self.place_removed();
            let change = self.store.cluster.content.delete_place(&place);
            self.changed(&change);
        }
    }

    // ---- a member that led before ----

    /// Begins an early revocation, in one of two ways. A former leader revokes leases now; or the leader is stopped,
    /// another is elected, and the former one revokes leases when it continues.
    fn begin_early_revocation(&mut self, place: usize, dice: &mut Dice) {
        match dice.percent(50) {
            true => self.fail_members(place, Kind::PausedLeader, dice),
            false => self.revoke_early(dice.number()),
        }
    }

    fn end_early_revocation(&mut self, hit: &[usize]) {
        let Some(member) = hit.get(1) else { return };
        self.heal(*member, Kind::PausedLeader);
        let longest = 3 * self.plan.lease.as_millis() as u64;
        let wait = if self.dice.percent(50) { Duration::ZERO } else { self.dice.millis(0, longest) };
        let roll = self.dice.number();
        self.after(wait, Event::RevokeEarly(roll));
    }

    /// Lets a former leader revoke leases that it knows, whether they live or not. It gave up its leadership before it
    /// applied anything of the present raft term, so it knows only leases of earlier terms. Its proposals wait until
    /// there is a leader.
    pub(super) fn revoke_early(&mut self, roll: u64) {
        if self.quiet {
            return;
        }
        let present = self.store.cluster.raft_term;
        if self.store.cluster.leader.is_none() {
            return self.after(PROPOSED_AGAIN, Event::RevokeEarly(roll));
        }
        let mut dice = Dice::new(roll, 1);
        let leases = self.store.cluster.content.leases.iter();
        let known = leases.filter(|(_, lease)| lease.raft_term < present && dice.percent(60));
        let revoked: Vec<_> = known.map(|(lease, _)| *lease).collect();
        if revoked.is_empty() {
            return;
        }
        if !self.plan.has_one_lease() {
            // A candidate that never observed the longer lease of another candidate does not wait for it.
            self.promises.waive(self.now, self.plan.lease * 2, Excuse::OtherLeases);
        }
        if revoked.iter().any(|lease| lease.raft_term() == present) {
            // A restored cluster elected leaders so quickly that it reached the term of a companion's lease before the
            // companion moved. The earlier store had granted that lease, but no candidate can tell.
            self.promises.waive(self.now, self.plan.lease * 2, Excuse::Restored);
        }
        self.place_removed();
        for lease in revoked {
            self.note(|trace| write!(trace, "store: lease {lease} is revoked before its time"));
            self.revoke(lease);
        }
    }

    // ---- another store ----

    fn wipe(&mut self) {
        if !self.plan.has_one_lease() {
            self.promises.waive(self.now, self.plan.lease * 2, Excuse::OtherLeases);
        }
        self.place_removed();
        self.store.cluster.content = Content::new();
        self.promises.began_after(self.now);
        self.store.wiped = true;
        self.store.history.clear();
        self.note(|trace| write!(trace, "store: wiped"));
        self.observe_all(&Observation::Remade { max_age: self.plan.max_age });
        self.restart(2);
    }

    /// Sets the store back to an earlier state, like the restore of a backup.
    fn restore(&mut self, span: Duration, dice: &mut Dice) {
        let then = self.now.before(span);
        let before =
            self.store.history.iter().rev().find(|(at, _)| *at <= then).map(|(_, content)| content.clone());
        let Some(content) = before.filter(|before| before.revision < self.store.cluster.content.revision)
        else {
            return;
        };
        // Candidates that have not read the store since that state may not notice, and know none of the undone tokens.
        self.promises.waive(self.now, self.plan.lease * 4, Excuse::Restored);
        self.promises.undid_tokens(self.store.cluster.content.revision);
        self.place_removed();
        self.store.history.retain(|(at, _)| *at <= then);
        self.store.cluster.content = content;
        self.note(|trace| write!(trace, "store: what it was {span:?} ago"));
        self.observe_all(&Observation::WentBack);
        let raft_term = if dice.percent(50) { 2 } else { self.store.cluster.raft_term + 1 };
        self.restart(raft_term);
    }

    /// Restarts all members. Every connection is lost.
    fn restart(&mut self, raft_term: u64) {
        let leader = (0..self.store.cluster.members.len()).find(|member| self.store.cluster.is_up(*member));
        for member in &mut self.store.cluster.members {
            (member.former, member.applied) = (None, raft_term);
        }
        for node in &mut self.nodes {
            node.stream.broken = true;
            node.watch.on = None;
        }
        // Every leader, including the first, knows the leases of a backup, as if they were granted in its term.
        for lease in self.store.cluster.content.leases.values_mut() {
            lease.raft_term = raft_term;
        }
        self.store.cluster.leader = None;
        match leader.filter(|_| self.store.cluster.has_majority()) {
            Some(leader) => self.lead(leader, raft_term),
            None => self.store.cluster.raft_term = raft_term,
        }
        self.changed(&Change { revision: Revision(0), ..Change::default() });
    }
}
