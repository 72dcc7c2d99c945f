//! The members of an etcd cluster: which member leads, which members believe that they do, and when leases run out.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::queue::{Change, KeptAlive, LeaseId};

use super::content::{Content, Lease};

/// The election timeout. The shortest lease is one and a half times this timeout, rounded up to whole seconds.
pub(super) const ELECTION: Duration = Duration::from_secs(1);
/// The shortest lease that the servers grant.
pub(super) const SHORTEST: Duration = Duration::from_secs(2);
/// The longest time for which a lease may still exist after its end (measured: 0.5 s).
pub(super) const LATE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) content: Content,
    pub(super) members: Vec<Member>,
    pub(super) leader: Option<usize>,
    /// The previous leader, to which members forward keep-alives until another leader is elected.
    pub(super) deposed: Option<usize>,
    pub(super) raft_term: u64,
    /// When the leases that the leader knows run out.
    expires: BTreeMap<LeaseId, Instant>,
    /// The number of elections begun. A new election cancels an earlier one.
    pub(super) elections: u64,
    /// By how many parts per million the servers' clocks run fast.
    rate: i64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    /// The numbers of faults that keep the member dead, cut off from the other members, and stopped.
    pub(super) down: u32,
    pub(super) isolated: u32,
    pub(super) stopped: u32,
    /// The raft term of the last entry that the member applied.
    pub(super) applied: u64,
    /// What the member knows of the leases as a former leader, and until when it answers from that.
    pub(super) former: Option<Former>,
}

/// A former leader of the store that does not know that it has been replaced.
#[derive(Clone, Debug)]
pub(super) struct Former {
    raft_term: u64,
    expires: BTreeMap<LeaseId, Instant>,
    leases: BTreeMap<LeaseId, Lease>,
    pub(super) until: Instant,
}

impl Former {
    pub(super) fn raft_term(&self) -> u64 {
        self.raft_term
    }

    /// The former leader's answer to a keep-alive, with the raft term of the member that forwards the answer.
    pub(super) fn keep_alive(
        &self,
        now: Instant,
        lease: LeaseId,
        raft_term: Option<u64>,
    ) -> Option<KeptAlive> {
        let ttl = self.leases.get(&lease)?.ttl;
        let lives = self.expires.get(&lease).is_some_and(|at| *at > now);
        lives.then_some(KeptAlive { ttl, raft_term: raft_term.unwrap_or(self.raft_term) })
    }
}

impl Cluster {
    pub(super) fn new(members: usize, rate: i64, raft_term: u64) -> Self {
        let member = Member { applied: raft_term, ..Member::default() };
        Self {
            content: Content::new(),
            members: vec![member; members],
            leader: Some(0),
            deposed: None,
            raft_term,
            expires: BTreeMap::new(),
            elections: 0,
            rate,
        }
    }

    pub(super) fn is_up(&self, member: usize) -> bool {
        let Member { down, isolated, stopped, .. } = self.members[member];
        down + isolated + stopped == 0
    }

    /// Whether a majority of the members is up.
    pub(super) fn has_majority(&self) -> bool {
        (0..self.members.len()).filter(|member| self.is_up(*member)).count() * 2 > self.members.len()
    }

    /// The next member after `after` that accepts connections.
    pub(super) fn next_member(&self, after: usize) -> Option<usize> {
        let count = self.members.len();
        (1..=count).map(|step| (after + step) % count).find(|member| self.members[*member].down == 0)
    }

    /// The span in the world's time that the servers' clocks measure as `span`.
    fn span(&self, span: Duration) -> Duration {
        let nanos = span.as_nanos() * 1_000_000 / (1_000_000 + i128::from(self.rate)).unsigned_abs();
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Grants a lease. Returns when it runs out, or `None` if the lease already exists.
    pub(super) fn grant(&mut self, now: Instant, lease: LeaseId, ttl: Duration) -> Option<Instant> {
        if self.content.leases.contains_key(&lease) {
            return None;
        }
        self.content.leases.insert(lease, Lease { ttl, raft_term: self.raft_term });
        let at = now + self.span(ttl);
        self.expires.insert(lease, at);
        Some(at)
    }

    /// Extends a lease. Returns its time to live, or `None` if there is no such lease.
    pub(super) fn keep_alive(&mut self, now: Instant, lease: LeaseId) -> Option<Duration> {
        let ttl = self.content.leases.get(&lease)?.ttl;
        let at = now + self.span(ttl);
        self.expires.insert(lease, at);
        Some(ttl)
    }

    pub(super) fn revoke(&mut self, lease: LeaseId) -> [Change; 2] {
        self.expires.remove(&lease);
        self.content.revoke(lease)
    }

    /// When a lease runs out; `None` while the store has no leader.
    pub(super) fn expires(&self, lease: LeaseId) -> Option<Instant> {
        self.leader.and_then(|_| self.expires.get(&lease).copied())
    }

    /// Ends the leader's leadership. The member may believe until `until` that it still leads.
    pub(super) fn depose(&mut self, until: Instant) {
        let Some(leader) = self.leader.take() else { return };
        self.deposed = Some(leader);
        self.members[leader].former = Some(Former {
            raft_term: self.raft_term,
            expires: self.expires.clone(),
            leases: self.content.leases.clone(),
            until,
        });
    }

    /// Elects another leader. Each lease lives for its whole time and an election timeout from now.
    pub(super) fn elect(&mut self, now: Instant, leader: usize, raft_term: u64) {
        (self.leader, self.raft_term) = (Some(leader), raft_term);
        self.members[leader].former = None;
        let ends: Vec<_> = self
            .content
            .leases
            .iter()
            .map(|(lease, Lease { ttl, .. })| (*lease, now + self.span(*ttl) + ELECTION))
            .collect();
        self.expires = ends.into_iter().collect();
    }
}
