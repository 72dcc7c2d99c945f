//! The group's coordinator: its members, generations or epochs, the owner of partition zero, and which commits it
//! accepts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::Instant;

use crate::dice::Dice;
use crate::plan::Assigning;

/// The number of a member, from which its id is made.
pub(super) type MemberId = u64;

/// A client, wherever it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A candidate's client: the process, the client, and the client's membership at the time of its request.
    Candidate { node: usize, process: u64, client: u64, life: u64 },
    /// A member that uses goNELI, in one of its sessions.
    Peer { peer: usize, session: u64 },
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// The request arrived, and nothing has changed.
    Beat,
    /// The group is being rebalanced, so the member must join again.
    Rebalance,
    Assigned {
        member: MemberId,
        generation: i32,
        owns: bool,
    },
    /// It is not a member.
    Unknown,
    /// It is from another generation.
    Illegal,
    /// Another process has the member's static id.
    Fenced,
}

#[derive(Debug)]
struct Member {
    who: Who,
    /// The order in which assignors sort members.
    rank: u64,
    heard: Instant,
    /// Whether the member has joined in the current rebalance.
    joined: bool,
    /// Whether the member owns partition zero, by its last request.
    holds: bool,
    /// The member's epoch, in a protocol in which each member has one.
    epoch: i32,
}

#[derive(Debug)]
pub(super) struct Group {
    assigning: Assigning,
    session: Duration,
    members: BTreeMap<MemberId, Member>,
    /// Members whose static id belongs to another process now.
    fenced: Vec<MemberId>,
    newest: MemberId,
    pub(super) generation: i32,
    owner: Option<MemberId>,
    /// The number of the current rebalance.
    pub(super) rebalance: Option<u64>,
    rebalances: u64,
    /// The member that does not get the partition in the next rebalance if there is another one.
    avoid: Option<MemberId>,
    dice: Dice,
    /// The metadata of the newest commit.
    pub(super) committed: Option<Arc<str>>,
    /// The number of faults that make the coordinator unreachable.
    pub(super) away: u32,
    /// The number of faults that keep clients from joining.
    pub(super) closed: u32,
}

/// The replies to members that result from a step of the coordinator.
pub(super) type Replies = Vec<(Who, Reply)>;

impl Group {
    pub(super) fn new(assigning: Assigning, session: Duration, dice: Dice) -> Self {
        Self {
            assigning,
            session,
            members: BTreeMap::new(),
            fenced: Vec::new(),
            newest: 0,
            generation: 0,
            owner: None,
            rebalance: None,
            rebalances: 0,
            avoid: None,
            dice,
            committed: None,
            away: 0,
            closed: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    pub(super) fn has(&self, id: MemberId) -> bool {
        self.members.contains_key(&id)
    }

    pub(super) fn owner(&self) -> Option<Who> {
        self.members.get(&self.owner?).map(|owner| owner.who)
    }

    /// The member of the group that is this candidate's client.
    pub(super) fn member_of(&self, node: usize) -> Option<MemberId> {
        let of_node = |who| matches!(who, Who::Candidate { node: at, .. } if at == node);
        self.members.iter().rev().find(|(_, member)| of_node(member.who)).map(|(id, _)| *id)
    }

    fn is_classic(&self) -> bool {
        self.assigning != Assigning::Consumer
    }

    /// Lets a client join, under its former membership if it knows one. Returns the member's number.
    pub(super) fn join(
        &mut self,
        now: Instant,
        who: Who,
        known: Option<MemberId>,
        holds: bool,
    ) -> (MemberId, Replies) {
        if let Some(id) = known.filter(|id| self.fenced.contains(id)) {
            return (id, vec![(who, Reply::Fenced)]);
        }
        let present = known.filter(|id| self.members.contains_key(id));
        if let (None, Some(id), true) = (present, known, self.is_classic()) {
            return (id, vec![(who, Reply::Unknown)]);
        }
        let id = match (present, known) {
            (Some(id), _) => id,
            // A client of the newer protocol chooses its own id.
            (None, Some(id)) => id,
            (None, None) => {
                self.newest += 1;
                self.newest
            }
        };
        if present.is_some() && self.is_settled_for(id, holds) {
            // The assignment is sent again, because the answer to the member's previous request may have been lost.
            let assigned =
                Reply::Assigned { member: id, generation: self.generation, owns: self.owner == Some(id) };
            return (id, vec![(who, assigned)]);
        }
        let rank = self.dice.number();
        let member = self.members.entry(id).or_insert(Member {
            who,
            rank,
            heard: now,
            joined: false,
            holds,
            epoch: 0,
        });
        (member.who, member.heard, member.holds) = (who, now, holds);
        if !self.is_classic() {
            if present.is_none() {
                self.generation += 1;
            }
            return (id, self.reconcile(id));
        }
        if self.rebalance.is_none() {
            self.begin();
        }
        if let Some(member) = self.members.get_mut(&id) {
            member.joined = true;
        }
        (id, self.complete_if_all_joined())
    }

    /// Whether a member that joins again unchanged is sent its current assignment. That is so in a group of the older
    /// protocol, outside a rebalance, for every member except the one whose client assigns
    /// (`GroupCoordinator.doJoinGroup` in Kafka).
    fn is_settled_for(&self, id: MemberId, holds: bool) -> bool {
        let assigns = self.members.keys().next() == Some(&id);
        let has_the_same = self.members.get(&id).is_some_and(|member| member.holds == holds);
        self.is_classic() && self.rebalance.is_none() && self.owner.is_some() && has_the_same && !assigns
    }

    /// The members must join again.
    fn begin(&mut self) {
        self.rebalances += 1;
        self.rebalance = Some(self.rebalances);
        self.members.values_mut().for_each(|member| member.joined = false);
    }

    fn complete_if_all_joined(&mut self) -> Replies {
        if self.rebalance.is_some() && self.members.values().all(|member| member.joined) {
            self.complete()
        } else {
            Vec::new()
        }
    }

    /// Ends the rebalance with the members that have joined.
    fn complete(&mut self) -> Replies {
        self.rebalance = None;
        self.members.retain(|_, member| member.joined);
        self.generation += 1;
        let holder = self.members.iter().find(|(_, member)| member.holds).map(|(id, _)| *id);
        let moves = holder.is_some() && self.avoid == holder;
        self.owner = match holder.filter(|_| self.assigning == Assigning::Cooperative) {
            // The owner first gives up the partition, and joins again.
            Some(_) if moves => None,
            Some(holder) => Some(holder),
            None => self.first(),
        };
        if self.owner.is_some() {
            self.avoid = None;
        }
        let generation = self.generation;
        let owner = self.owner;
        let assigned = |(id, member): (&MemberId, &Member)| {
            (member.who, Reply::Assigned { member: *id, generation, owns: owner == Some(*id) })
        };
        self.members.iter().map(assigned).collect()
    }

    /// The first member in the assignor's order.
    fn first(&self) -> Option<MemberId> {
        let ranked = |avoided: Option<MemberId>| {
            let others = self.members.iter().filter(|(id, _)| Some(**id) != avoided);
            others.min_by_key(|(_, member)| member.rank).map(|(id, _)| *id)
        };
        ranked(self.avoid).or_else(|| ranked(None))
    }

    /// Sends a member its assignment in the newer protocol. The member gets the partition once the previous owner has
    /// given it up.
    fn reconcile(&mut self, id: MemberId) -> Replies {
        let stays = self.owner.filter(|owner| self.members.contains_key(owner) && self.avoid != Some(*owner));
        let target = stays.or_else(|| self.first());
        let Some(member) = self.members.get_mut(&id) else { return Vec::new() };
        let (who, owner) = (member.who, self.owner);
        if owner == Some(id) && target != Some(id) {
            if member.holds {
                return vec![(who, Reply::Assigned { member: id, generation: member.epoch, owns: false })];
            }
            (self.owner, self.avoid) = (None, None);
        } else if owner.is_none() && target == Some(id) {
            (self.owner, self.avoid) = (Some(id), None);
        }
        member.epoch = self.generation;
        let (generation, owns) = (member.epoch, self.owner == Some(id));
        vec![(who, Reply::Assigned { member: id, generation, owns })]
    }

    pub(super) fn beat(
        &mut self,
        now: Instant,
        who: Who,
        id: MemberId,
        generation: i32,
        holds: bool,
    ) -> Replies {
        if self.fenced.contains(&id) {
            return vec![(who, Reply::Fenced)];
        }
        let classic = self.is_classic();
        let Some(member) = self.members.get_mut(&id) else { return vec![(who, Reply::Unknown)] };
        (member.heard, member.holds) = (now, holds);
        if !classic {
            return self.reconcile(id);
        }
        match (self.rebalance, member.joined) {
            (Some(_), true) => vec![(who, Reply::Beat)],
            (_, _) if generation != self.generation => vec![(who, Reply::Illegal)],
            (Some(_), false) => vec![(who, Reply::Rebalance)],
            (None, _) => vec![(who, Reply::Beat)],
        }
    }

    /// Accepts or refuses a commit. Returns whether an accepted commit comes from a current member.
    pub(super) fn commit(
        &mut self,
        now: Instant,
        id: Option<MemberId>,
        generation: i32,
        metadata: &Arc<str>,
    ) -> Result<bool, &'static str> {
        let is_member = self.check_commit(now, id, generation)?;
        self.committed = Some(Arc::clone(metadata));
        Ok(is_member)
    }

    fn check_commit(
        &mut self,
        now: Instant,
        id: Option<MemberId>,
        generation: i32,
    ) -> Result<bool, &'static str> {
        if generation < 0 && self.members.is_empty() {
            return Ok(false);
        }
        if id.is_some_and(|id| self.fenced.contains(&id)) {
            return Err("FENCED_INSTANCE_ID");
        }
        let classic = self.is_classic();
        let Some(member) = id.and_then(|id| self.members.get_mut(&id)) else {
            return Err("UNKNOWN_MEMBER_ID");
        };
        if !classic {
            return if generation == member.epoch { Ok(true) } else { Err("STALE_MEMBER_EPOCH") };
        }
        if generation != self.generation {
            return Err("ILLEGAL_GENERATION");
        }
        member.heard = now;
        Ok(true)
    }

    /// Removes a member that leaves, that is evicted, or that was silent for its session timeout.
    pub(super) fn remove(&mut self, id: MemberId) -> Replies {
        if self.members.remove(&id).is_none() {
            return Vec::new();
        }
        if self.owner == Some(id) {
            self.owner = None;
        }
        if self.is_classic() {
            if self.members.is_empty() {
                self.rebalance = None;
            } else if self.rebalance.is_none() {
                self.begin();
            }
            return self.complete_if_all_joined();
        }
        self.generation += 1;
        Vec::new()
    }

    pub(super) fn remove_all(&mut self) {
        let all: Vec<_> = self.members.keys().copied().collect();
        for id in all {
            self.remove(id);
        }
    }

    /// Deletes the group and its remaining members. The next member to join creates another group.
    pub(super) fn delete(&mut self) {
        self.remove_all();
        (self.generation, self.committed) = (0, None);
    }

    /// When a member's session timeout ends; `None` if it is not a member.
    pub(super) fn session_ends(&self, now: Instant, id: MemberId) -> Option<Instant> {
        let member = self.members.get(&id)?;
        let waits = self.rebalance.is_some() && member.joined;
        Some(if waits { now } else { member.heard } + self.session)
    }

    /// Ends a rebalance whose time is up. Members that have not joined are removed.
    pub(super) fn time_is_up(&mut self, number: u64) -> Replies {
        if self.rebalance == Some(number) {
            return self.complete();
        }
        Vec::new()
    }

    /// Whether this member keeps the partition from moving, for which the newer protocol removes it.
    pub(super) fn holds_back(&self, id: MemberId) -> bool {
        self.avoid == Some(id) && self.owner == Some(id)
    }

    /// Begins a rebalance. If `moves`, the partition goes to another member if possible. Returns the present owner.
    pub(super) fn rebalance(&mut self, moves: bool) -> Option<MemberId> {
        if moves && self.members.len() > 1 {
            self.avoid = self.owner;
        }
        match self.is_classic() {
            true if self.rebalance.is_none() && !self.members.is_empty() => self.begin(),
            true => {}
            false => self.generation += 1,
        }
        self.owner
    }

    /// Lets another process take a member's place under its static id, in the same generation. The former member is
    /// fenced.
    pub(super) fn replace(&mut self, of: MemberId, by: MemberId) -> Replies {
        if of == by || self.rebalance.is_some() || !self.members.contains_key(&by) {
            return Vec::new();
        }
        if self.members.remove(&of).is_none() {
            return Vec::new();
        }
        self.fenced.push(of);
        if self.owner == Some(of) {
            self.owner = Some(by);
        }
        let owns = self.owner == Some(by);
        let generation = self.generation;
        let reply = |member: &Member| (member.who, Reply::Assigned { member: by, generation, owns });
        self.members.get(&by).map(reply).into_iter().collect()
    }

    /// Begins every session again, because another coordinator has loaded the group.
    pub(super) fn load(&mut self, now: Instant) {
        self.members.values_mut().for_each(|member| member.heard = now);
    }
}
