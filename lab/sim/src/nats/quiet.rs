//! Orderly changes after every fault is over, and the help of an operator.

use std::time::Duration;

use incumbent_core::Token;

use super::World;
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::Order;

/// A lease that is long enough to survive the failure of one server.
const LONG: Duration = Duration::from_secs(30);

/// A gap in the sequence that candidates close on their own.
const SMALL_GAP: u64 = 360;

impl World {
    /// Draws the orderly change of a turn. At first the leader leaves. In later turns it is deleted, isolated together
    /// with its server, or crashes.
    pub(super) fn drawn_order(&self, turn: u32, leader: usize, mut dice: Dice) -> Option<Order> {
        let successor = dice.below(self.nodes.len() as u64) as usize;
        let all_watch = (0..self.nodes.len()).all(|node| self.is_watching(node));
        // A candidate that only now learns that the store was recreated may have a record in it without knowing that
        // record, and must wait until it expires.
        let present = Some(self.store.cluster.bucket.incarnation);
        // A candidate that follows the Go library's rules leads without reporting it, so the end of the wait would be
        // unknown.
        if self.plan.choice.peers > 0 || self.nodes.iter().any(|node| node.inspected() != present) {
            return None;
        }
        // A leader whose term began while the maximum age was lower may count on less than its own lease.
        let fails_over = self.plan.replicas > 1
            && !self.promises.happened.ever(Kind::LowerAge)
            && !self.promises.happened.ever(Kind::RecreateLower)
            && self.plan.settings.iter().all(|setting| setting.lease >= LONG);
        // A candidate that could not prove its claim may still rest.
        let may_rest = self
            .plan
            .script
            .iter()
            .any(|fault| fault.kind == Kind::NoProof && fault.victim == Some(successor));
        match (turn, dice.below(3)) {
            // A candidate whose watch ended with a former incarnation of the store learns of no changes, and a
            // candidate whose token would be too small does not try to win.
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
        let present = self.store.cluster.bucket.incarnation;
        watch.ready
            && watch.on.is_some_and(|(incarnation, server)| {
                incarnation == present && self.store.cluster.is_up(server)
            })
    }

    /// Whether candidates stay out because the store went back so far, or so often, that they cannot make up for it.
    pub(super) fn some_stay_out(&self) -> bool {
        let newest = (self.store.cluster.bucket.incarnation, self.store.cluster.bucket.sequence);
        let far = |seen: Token| seen.incarnation > newest.0 || seen.sequence.0 > newest.1 + SMALL_GAP;
        let all_barred = self.nodes.iter().all(|node| node.barred.is_some());
        let barred = all_barred || self.nodes.iter().filter_map(|node| node.barred).any(far);
        barred && !self.nodes.iter().any(|node| node.leads(self.now))
    }
}
