//! The faults of Kafka.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::induction::value;
use incumbent_core::session::Command;

use super::process::{Incoming, Lacks};
use super::{Event, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::Observation;
use crate::plan::Assigning;

impl World {
    pub(super) fn begin_store_fault(&mut self, kind: Kind, victim: usize, dice: &mut Dice) {
        match kind {
            Kind::CutGroup => self.nodes[victim].cut_group += 1,
            Kind::CutLog => self.nodes[victim].cut_log += 1,
            Kind::NoProof => self.nodes[victim].lacks = Lacks::drawn(dice),
            Kind::HeldPoll if dice.percent(50) => self.nodes[victim].hold_next = true,
            Kind::HeldPoll => self.hold(victim),
            // This resignation is left out, because a candidate that resigns before it leads would prolong a vacancy
            // that is counted.
            Kind::Resign if self.plan.has(Kind::NoProof) && !self.nodes[victim].leads(self.now) => {}
            Kind::Resign => self.command(victim, Command::Resign),
            Kind::FailOver => self.store.log.down += 1,
            Kind::Coordinator => self.store.group.away += 1,
            Kind::Removal => self.remove_member(victim),
            Kind::EmptyGroup => {
                self.store.group.closed += 1;
                self.store.group.remove_all();
            }
            Kind::DeleteGroup => self.store.group.delete(),
            Kind::DeleteRecords => {
                self.store.log.delete_records();
                self.note(|trace| write!(trace, "log: every record deleted"));
            }
            Kind::NewProducer => self.replace_producer(victim),
            Kind::Replacement => self.replace_member(victim, dice),
            Kind::Rebalance => self.rebalance(dice.percent(60)),
            Kind::Recreate => self.remake_topic(),
            Kind::Overwrite => {
                let value = value(self.time_of_day(victim), "operator");
                self.append_value(&value, &[]);
            }
            // Other kinds only count as active faults, or belong to another store.
            _ => {}
        }
    }

    pub(super) fn end_store_fault(&mut self, kind: Kind, hit: &[usize]) {
        let Some(&victim) = hit.first() else { return };
        match kind {
            Kind::CutGroup => self.nodes[victim].cut_group -= 1,
            Kind::CutLog => self.nodes[victim].cut_log -= 1,
            Kind::NoProof => self.nodes[victim].lacks = Lacks::default(),
            Kind::HeldPoll => self.poll_again(victim),
            Kind::FailOver => self.store.log.down -= 1,
            Kind::Coordinator => {
                self.store.group.away -= 1;
                self.store.group.load(self.now);
            }
            Kind::EmptyGroup => self.store.group.closed -= 1,
            // The operator gives the replaced process a static id of its own.
            Kind::Replacement if hit.len() > 1 && self.nodes[victim].alive => {
                self.end_process(victim);
                self.start_process(victim, Duration::from_millis(100));
            }
            _ => {}
        }
    }

    /// Handles the end of a term, which the candidate may still have to release.
    pub(super) fn term_ended(&mut self) {
        if self.is_on(Kind::RecreateAtEnd) && self.dice.percent(70) {
            self.remake_topic();
        }
    }

    fn remake_topic(&mut self) {
        if !self.plan.group.has_ids {
            // Without topic ids, a candidate that keeps reading cannot know that the topic was replaced, nor the claims
            // that it has not read.
            self.promises.undid_tokens(self.store.log.next());
        }
        self.store.log.remake();
        if self.is_on(Kind::StaleEpochs) {
            for node in &mut self.nodes {
                node.reader.dead = node.reader.on;
            }
        }
        let lease = self.plan.lease;
        self.note(|trace| write!(trace, "log: deleted and made again"));
        self.observe(&Observation::Remade { max_age: lease });
    }

    // ---- polls ----

    fn hold(&mut self, node: usize) {
        let now = self.now;
        let place = &mut self.nodes[node];
        if place.held == 0 {
            place.held_since = now;
        }
        place.held += 1;
    }

    /// Notes that the client was assigned the partition. If the fault demands it, the client is not polled from now on.
    pub(super) fn hold_if_wanted(&mut self, node: usize) {
        if std::mem::take(&mut self.nodes[node].hold_next) {
            // The client still reports the assignment itself.
            let process = self.nodes[node].process;
            self.after(Duration::from_millis(1), Event::Hold { node, process });
        }
    }

    /// Stops polling a client that was to be held at its assignment.
    pub(super) fn hold_now(&mut self, node: usize) {
        if self.is_on(Kind::HeldPoll) {
            self.hold(node);
        }
    }

    fn poll_again(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        place.hold_next = false;
        if !self.is_on(Kind::HeldPoll) {
            // All clients are held until the last of these faults is over.
            for node in 0..self.nodes.len() {
                self.nodes[node].held = 0;
                // Answers to commits come first, because they overtake the client's other reports.
                let mut unpolled: Vec<_> = std::mem::take(&mut self.nodes[node].unpolled).into();
                unpolled.sort_by_key(|incoming| matches!(incoming, Incoming::Polled { .. }));
                for incoming in unpolled {
                    let process = self.nodes[node].process;
                    self.deliver_after(Duration::ZERO, node, process, incoming);
                }
            }
        }
    }

    // ---- the group ----

    pub(super) fn remove_member(&mut self, node: usize) {
        if let Some(member) = self.store.group.member_of(node) {
            self.note(|trace| write!(trace, "group: an operator removes m{member}"));
            let replies = self.store.group.remove(member);
            self.reply_all(replies);
        }
    }

    /// Begins a process with the same static id. The newer protocol refuses it; in the older protocol it evicts the
    /// former process.
    fn replace_member(&mut self, node: usize, dice: &mut Dice) {
        let other = (node + 1 + dice.below(self.nodes.len().max(2) as u64 - 1) as usize) % self.nodes.len();
        let (Some(of), Some(by)) = (self.store.group.member_of(node), self.store.group.member_of(other))
        else {
            return;
        };
        let place = &self.nodes[other];
        // The other member is one that could have joined only now: it owns nothing, and it reaches the coordinator.
        let comes = !place.client.owns
            && !place.client.revoking
            && place.cut_out + place.cut_in + place.cut_group == 0;
        if other == node || !comes {
            return;
        }
        if self.plan.group.assigning == Assigning::Consumer {
            self.die(other, "UNRELEASED_INSTANCE_ID");
            return;
        }
        self.note(|trace| write!(trace, "group: m{by} takes the place of m{of}"));
        let place = self.hit.iter_mut().rev().find(|hit| hit.first() == Some(&node));
        if let Some(hit) = place {
            hit.push(other);
        }
        let replies = self.store.group.replace(of, by);
        if !replies.is_empty() {
            // The other member has joined under the static id, and waits for the answer.
            self.nodes[other].client.joining = true;
        }
        self.reply_all(replies);
    }

    fn rebalance(&mut self, moves: bool) {
        let owner = self.store.group.rebalance(moves);
        self.reply_all(Vec::new());
        if let Some(owner) = owner.filter(|_| self.plan.group.assigning == Assigning::Consumer) {
            self.after(self.plan.group.rebalance, Event::HeldBack(owner));
        }
    }
}
