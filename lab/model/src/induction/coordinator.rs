//! The coordinator of the group: members, the owner of the partition, and commits.

use incumbent_core::induction::{Answer, Failure, Loss, Membership};

use super::action::is_known;
use super::{Group, InductionPart};
use crate::step::Step;

/// The membership as the client knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Client {
    /// The number of the client's member id.
    pub(super) member: u8,
    /// Whether the client believes that it is a member.
    pub(super) joined: bool,
    /// Whether the client joins again on its own, because it was not asked to leave.
    pub(super) rejoins: bool,
    /// Whether a revocation is pending, during which the client reports no loss.
    pub(super) revoking: bool,
    /// The number of the client's member id when the partition was assigned to it.
    pub(super) assigned: u8,
}

impl Step<'_, Group> {
    pub(super) fn assign(&mut self, place: usize) {
        let client = &mut self.node(place).client;
        client.assigned = client.member;
        let member = member_id(client.member);
        self.deliver(place, Answer::Assigned { member }.into());
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.state.store.members[place] = None;
        if self.state.store.owner == Some(place) {
            self.state.store.owner = None;
        }
    }

    /// Joins under a new member id.
    pub(super) fn join(&mut self, place: usize) {
        let client = &mut self.node(place).client;
        client.member += 1;
        (client.joined, client.revoking, client.rejoins) = (true, false, true);
        let member = client.member;
        self.state.store.members[place] = Some(member);
    }

    pub(super) fn leave(&mut self, place: usize) {
        if is_known(&self.state, place) {
            self.remove(place);
        }
        let client = &mut self.node(place).client;
        (client.joined, client.revoking, client.rejoins) = (false, false, false);
    }

    pub(super) fn yields(&mut self, place: usize) {
        let known = is_known(&self.state, place);
        let client = &mut self.node(place).client;
        let pending = std::mem::take(&mut client.revoking);
        match (pending, client.joined) {
            (true, true) if known && self.state.store.owner == Some(place) => self.state.store.owner = None,
            (true, false) => self.join(place),
            _ => {}
        }
    }

    pub(super) fn commit(&mut self, place: usize, metadata: String) -> Result<Membership, Failure> {
        let client = self.state.nodes[place].client;
        let empty = self.state.store.members.iter().all(Option::is_none);
        let accepted = is_known(&self.state, place) || (!client.joined && empty);
        if !accepted && !self.world.lacks(InductionPart::Commit) {
            return Err(Failure::GroupLost(Loss::Rejoins));
        }
        if accepted {
            self.state.store.committed = metadata;
        }
        let trusted = self.world.lacks(InductionPart::Commit) || self.world.lacks(InductionPart::Membership);
        let (member, generation) = match trusted {
            true => (client.assigned, 1),
            false => (client.member, if client.joined { 1 } else { -1 }),
        };
        Ok(Membership { member: member_id(member), generation, owns: trusted || client.joined })
    }
}

fn member_id(number: u8) -> String {
    format!("m{number}")
}
