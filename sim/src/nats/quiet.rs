//! The quiet phase: every fault ends, and a candidate must lead before long.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Token;
use incumbent_core::record::Kind as Message;
use incumbent_core::session::Command;

use super::cluster::Put;
use super::{Event, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Order};
use crate::oracle::ACandidateLeads;

/// A lease that survives the failure of one server.
const LONG: Duration = Duration::from_secs(30);

/// A gap in the sequence that candidates use up by themselves.
const SMALL_GAP: u64 = 360;

impl World {
    /// Ends every fault.
    pub(super) fn end_all_faults(&mut self) {
        let places: Vec<_> = self.plan.script.iter().map(|fault| fault.place).collect();
        for place in places {
            self.end_fault(place);
        }
        self.quiet = true;
        self.cluster.max_age = self.plan.max_age;
        self.note(|trace| write!(trace, "no more faults"));
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
            self.elect_after(Duration::from_secs(1));
        }
        self.expire_later();
        self.observe(&Observation::Quiet);
        let worst = ACandidateLeads::worst(&self.plan);
        let usual = ACandidateLeads::usual(&self.plan, &self.promises.happened, self.now);
        self.after(usual, Event::Operator);
        // By then a candidate leads, or an oracle has reported a violation.
        self.after(worst * 2 + Duration::from_secs(1), Event::Order(0));
    }

    /// Makes an orderly change happen to the leader: first it leaves, later it is removed.
    pub(super) fn order(&mut self, turn: u32) {
        if turn == 0 {
            let wanted = self.plan.delay();
            self.after(self.plan.drain() + wanted + Duration::from_secs(6), Event::Order(1));
        }
        let Some(order) = self.next_order(turn) else { return };
        self.note(|trace| write!(trace, "{order:?}"));
        self.observe(&Observation::Order(order));
        match order {
            Order::Resign { leader } => self.command(leader, Command::Resign),
            Order::HandOver { leader, successor } => {
                self.command(leader, Command::HandOver(format!("c{successor}")));
            }
            Order::Delete { .. } => self.operate(&Put::bare(Message::Tombstone)),
            Order::Isolate { .. } => self.isolate_leader(self.plan.choice.seed.is_multiple_of(3)),
            Order::Crash { leader } => {
                self.end_process(leader);
                self.start_process(leader, Duration::from_secs(1));
            }
        }
    }

    fn next_order(&self, turn: u32) -> Option<Order> {
        let leader = (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.now))?;
        let mut dice = Dice::new(self.plan.choice.seed, 5 + u64::from(turn));
        let successor = dice.below(self.nodes.len() as u64) as usize;
        let all_watch = (0..self.nodes.len()).all(|node| self.is_watching(node));
        // A candidate that learns only now that the store was made again may have a record in it that it does not know
        // of, and must wait for it.
        let present = Some(self.cluster.bucket.incarnation);
        // A candidate after the Go library's rules leads without a report, so the end of the wait would be unknown.
        if self.plan.choice.peers > 0 || self.nodes.iter().any(|node| node.inspected() != present) {
            return None;
        }
        // A leader from a time with a lower maximum age may count on less than its own lease.
        let fails_over = self.plan.replicas > 1
            && !self.promises.happened.ever(Kind::LowerAge)
            && !self.promises.happened.ever(Kind::RecreateLower)
            && self.plan.settings.iter().all(|setting| setting.lease >= LONG);
        // One that could not prove may rest still.
        let may_rest = self
            .plan
            .script
            .iter()
            .any(|fault| fault.kind == Kind::NoProof && fault.victim == Some(successor));
        match (turn, dice.below(3)) {
            // A candidate whose watch ended with a former incarnation of the store gets no change, and one whose token
            // would be too small does not try.
            (0, _)
                if successor == leader
                    || may_rest
                    || !self.is_watching(successor)
                    || self.nodes[successor].barred.is_some() =>
            {
                None
            }
            (0, 0) => Some(Order::HandOver { leader, successor }),
            (0, _) => Some(Order::Resign { leader }),
            (1.., _) if !all_watch => None,
            (_, 0) if !self.can_operate() => None,
            (_, 0) => Some(Order::Delete { leader }),
            (_, 1) if fails_over => Some(Order::Isolate { leader }),
            _ => Some(Order::Crash { leader }),
        }
    }

    /// Whether a candidate has a watch that reports changes of the key.
    fn is_watching(&self, node: usize) -> bool {
        let watch = &self.nodes[node].watch;
        let present = self.cluster.bucket.incarnation;
        watch.ready
            && watch
                .on
                .is_some_and(|(incarnation, server)| incarnation == present && self.cluster.is_up(server))
    }

    /// An operator accepts that tokens start again, where candidates stay out because the store went back further, or more
    /// often, than they can make up for by themselves.
    pub(super) fn operator(&mut self) {
        let newest = (self.cluster.bucket.incarnation, self.cluster.bucket.sequence);
        let far = |seen: Token| seen.incarnation > newest.0 || seen.sequence.0 > newest.1 + SMALL_GAP;
        let all_barred = self.nodes.iter().all(|node| node.barred.is_some());
        let barred = all_barred || self.nodes.iter().filter_map(|node| node.barred).any(far);
        let led = (0..self.nodes.len()).any(|node| self.nodes[node].leads(self.now));
        if !barred || led {
            return;
        }
        self.note(|trace| write!(trace, "an operator accepts that tokens start again"));
        self.observe(&Observation::Accepted);
        for node in 0..self.nodes.len() {
            self.nodes[node].barred = None;
            self.command(node, Command::Accept);
        }
    }
}
