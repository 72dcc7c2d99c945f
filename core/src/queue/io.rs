//! The inputs of a campaign in a queue, and its outputs.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;
use core::time::Duration;

use super::answers::Failure;
use super::timers::Timer;
use crate::campaign::ReadId;
use crate::candidacy;
use crate::record::{Attempt, Nonce};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// The number of one of the store's leases, to which keys are attached. The names of both keys of a candidacy end in
/// this number, in hexadecimal, as Go's `concurrency.Election` names its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

impl LeaseId {
    /// The number of bits below the raft term. A lease's number is positive and has 63 bits.
    const DRAWN_BITS: u32 = 31;

    /// The number of a lease for companions: `raft_term`, followed by 31 bits of `drawn`. An answer's header showed
    /// this raft term before the lease was requested, so no leader of an earlier term ever knew the lease.
    ///
    /// A term above 2³² − 1 is capped at that number, and then differs from the store's.
    pub const fn of_companions(raft_term: u64, drawn: u64) -> Self {
        let largest = u32::MAX as u64;
        let term = if raft_term < largest { raft_term } else { largest };
        let number = (term << Self::DRAWN_BITS) | (drawn & ((1 << Self::DRAWN_BITS) - 1));
        // Zero asks the server to choose.
        Self(if number == 0 { 1 } else { number })
    }

    /// The raft term in the number of a lease for companions; meaningless for any other lease.
    pub const fn raft_term(self) -> u64 {
        self.0 >> Self::DRAWN_BITS
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// A key of the standard queue: a candidate of ours, or a foreign one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The part of the key after the election's name and the slash.
    pub key: String,
    /// The revision that created the key, which orders the queue.
    pub created: Revision,
    /// The revision that last wrote the key.
    pub modified: Revision,
    /// The lease to which the key is attached, if any.
    pub lease: Option<LeaseId>,
    /// The value: the candidate's name.
    pub name: String,
}

/// A key of our own queue, for the place with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Companion {
    /// The part of the key after the election's name and the slash.
    pub key: String,
    /// The revision that created the key, which orders the queue.
    pub created: Revision,
    /// The revision that last wrote the key.
    pub modified: Revision,
    /// The lease to which the key is attached, if any.
    pub lease: Option<LeaseId>,
    /// The campaign that wrote the companion; `None` if that cannot be read.
    pub nonce: Option<Nonce>,
    /// The lease time of that campaign; zero if it cannot be read.
    pub lease_time: Duration,
    /// The successor's name, while the companion's leader hands over.
    pub successor: Option<String>,
    /// What the leader publishes about itself.
    pub metadata: Vec<(String, String)>,
}

/// What one linearised read showed. All of it belongs to one revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The store's revision, from the answer's header.
    pub revision: Revision,
    /// The raft term, from the answer's header.
    pub raft_term: u64,
    /// The birth record.
    pub birth: Option<Incarnation>,
    /// The candidate's own place.
    pub place: Option<Place>,
    /// The candidate's own companion.
    pub companion: Option<Companion>,
    /// The places in the order of their creation: at least the first two, or all if asked for.
    pub places: Vec<Place>,
    /// The companions, likewise.
    pub companions: Vec<Companion>,
    /// A warning that names both prefixes and the remedy, if the places include a key that belongs to another prefix's
    /// elections.
    pub overlap: Option<String>,
}

impl Snapshot {
    /// Whether the store may have had another leader before the leader that answered this read. The store's log begins
    /// in raft term 1, which has no leader; this also holds after a restore (raft's `Bootstrap`, etcd's `snapshot
    /// restore`).
    pub(super) fn may_have_a_former_leader(&self) -> bool {
        self.raft_term > 2
    }
}

/// A store's answer to a keep-alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeptAlive {
    /// The lease's time to live; zero if the store knows no such lease.
    pub ttl: Duration,
    /// The raft term, from the answer's header.
    pub raft_term: u64,
}

/// What a watch delivered for one revision, covering both queues of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The revision.
    pub revision: Revision,
    /// The places that it removed.
    pub removed_places: Vec<String>,
    /// The companions that it removed.
    pub removed_companions: Vec<String>,
    /// The companions that the revision wrote again.
    pub rewritten_companions: Vec<String>,
}

/// The leases to which the keys of one candidacy are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leases {
    /// The lease of the place.
    pub place: LeaseId,
    /// The lease of the companion.
    pub companion: LeaseId,
    /// The lease to which the companion moves. Until a read shows the companion there, it may be on either lease.
    pub moves_to: Option<LeaseId>,
}

impl Leases {
    /// All of these leases, in the order in which they are kept alive.
    pub fn iter(&self) -> impl Iterator<Item = LeaseId> {
        [self.place, self.companion].into_iter().chain(self.moves_to)
    }
}

/// The keys of one candidacy, as conditions for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Own {
    /// The lease of the place. Both keys are named after it.
    pub lease: LeaseId,
    /// The revision that created them.
    pub revision: Revision,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The transaction's number; the answer carries it too.
    pub attempt: Attempt,
    /// What it does.
    pub action: Action,
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create a place and its companion, if neither exists.
    Enter {
        /// The lease of the place. Both keys are named after it.
        lease: LeaseId,
        /// The lease of the companion.
        companion: LeaseId,
        /// An earlier place and companion to delete; both must still exist with the revision that created them.
        replaces: Option<Own>,
    },
    /// Write the companion again, if it was last written at `modified`.
    Name {
        /// The keys.
        own: Own,
        /// The revision that last wrote the companion. With this condition, an earlier write that is applied late moves
        /// nothing back.
        modified: Revision,
        /// The lease of the companion.
        companion: LeaseId,
        /// The successor to name; `None` to name none.
        successor: Option<String>,
    },
    /// Attach the companion to another lease, if it was last written at `modified`. Its value remains.
    Move {
        /// The keys.
        own: Own,
        /// The revision that last wrote the companion.
        modified: Revision,
        /// The lease to which the companion is to be attached.
        to: LeaseId,
    },
    /// Delete only the companion, whatever its revision. This needs fewer permissions than [`Leave`](Self::Leave).
    LeaveCompanion {
        /// The lease of the place, after which the companion is named.
        lease: LeaseId,
    },
    /// Delete the place and the companion. If `revision` is known, each is deleted only if it was created at that
    /// revision; otherwise both are deleted unconditionally. No other candidacy has keys with these names.
    Leave {
        /// The lease of the place. Both keys are named after it.
        lease: LeaseId,
        /// The revision that created both keys, if known.
        revision: Option<Revision>,
    },
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exactly this attempt has just written the keys.
    Applied {
        /// The revision, from the answer's header.
        revision: Revision,
    },
    /// A compare failed.
    Refused {
        /// The revision that created the place, if the place exists with its lease because an earlier attempt was
        /// applied.
        created: Option<Revision>,
    },
    /// The transaction failed for this reason.
    Failed(Failure),
}

/// What happens to a campaign.
///
/// The watch only gives hints: a change means that a round is worth its cost. A new watch means the same, because
/// changes may have been missed. A new connection has a new stream of keep-alives.
pub type Input = candidacy::Input<Answer, Change, Told>;

/// What a campaign wants done, in order. It asks for inspections only to learn whether the store has a birth record, so
/// any inspection will do.
pub type Output = candidacy::Output<Request, Timer, Tell>;

/// The connection's notices to its candidates about their companions' leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The connection now uses another lease for companions. Companions on `from` must move to it, so that `from` can
    /// run out.
    Move {
        /// The lease to leave.
        from: LeaseId,
        /// The lease to move to.
        to: LeaseId,
    },
    /// No candidate of this connection keeps this lease alive any more. It is the lease of a [stranded](Tell::Stranded)
    /// companion, or one that a [move](Tell::Move) replaces.
    Left(LeaseId),
}

/// A candidate's notices to its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tell {
    /// A hand-over was not carried out, and the term continues.
    NotNext {
        /// The successor.
        successor: String,
        /// The first candidate ahead of the successor; `None` if the successor itself is not in the queue.
        before: Option<String>,
    },
    /// This candidate has a companion whose place is gone and that cannot be deleted. Answer with [`Told::Left`] once
    /// no candidate of the connection keeps the companion's lease alive.
    Stranded {
        /// The lease to which the companion is attached.
        on: LeaseId,
    },
    /// Send [`Told::Move`] to every candidate of the connection. Send [`Told::Left`] to this candidate once no
    /// candidate keeps the former lease alive.
    Move {
        /// The lease to leave.
        from: LeaseId,
        /// The lease to move to.
        to: LeaseId,
    },
}

/// Candidates of other rules send the connection no notices.
impl From<Infallible> for Tell {
    fn from(nothing: Infallible) -> Self {
        match nothing {}
    }
}

/// A request of a campaign to the store.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Ask for a lease of this number, and answer with [`Answer::Granted`].
    Grant {
        /// The lease's number, never used before.
        lease: LeaseId,
        /// The lease's time to live.
        ttl: Duration,
    },
    /// Answer with [`Answer::Shared`], which names the connection's lease for companions, or a new one if there is none
    /// yet. The [number](LeaseId::of_companions) of that lease shows the raft term in which it was asked for.
    Share {
        /// A lease that must not be returned, because the store no longer knows it, it is older than the raft term, or
        /// companions are leaving it.
        gone: Option<LeaseId>,
        /// The lease's time to live.
        ttl: Duration,
    },
    /// Send keep-alives of these leases over one stream, and answer each with [`Answer::KeptAlive`].
    KeepAlive {
        /// The leases.
        leases: Leases,
    },
    /// Read the queue, linearised, and answer with [`Answer::Read`].
    Read {
        /// The read's number.
        read: ReadId,
        /// The lease after which the candidate's own keys are named; `None` if it has none.
        own: Option<LeaseId>,
        /// Return all places and companions, not only the first two.
        whole: bool,
    },
    /// Send this transaction, and answer with [`Answer::Wrote`].
    Write(Write),
    /// Revoke a lease, and answer with [`Answer::Revoked`].
    Revoke {
        /// The lease.
        lease: LeaseId,
    },
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A lease was granted for a place, or the grant failed.
    Granted {
        /// The lease that was asked for.
        lease: LeaseId,
        /// The lease's time to live, or the failure.
        result: Result<Duration, Failure>,
    },
    /// The lease for this connection's companions. The caller keeps one for all campaigns with this lease time.
    Shared {
        /// The lease, or the failure.
        result: Result<LeaseId, Failure>,
    },
    /// A keep-alive was answered.
    KeptAlive {
        /// The lease.
        lease: LeaseId,
        /// The reading of the caller's clock before the keep-alive was sent.
        sent_at: Instant,
        /// The answer.
        result: Result<KeptAlive, Failure>,
    },
    /// A read was answered.
    Read {
        /// The read's number.
        read: ReadId,
        /// The reading of the caller's clock before the read was sent.
        sent_at: Instant,
        /// What it showed.
        result: Result<Box<Snapshot>, Failure>,
    },
    /// A transaction was answered.
    Wrote {
        /// The transaction's number.
        attempt: Attempt,
        /// The transaction's outcome.
        outcome: Outcome,
    },
    /// A revocation was answered.
    Revoked {
        /// The lease.
        lease: LeaseId,
        /// `Ok` if the lease is gone; or the failure.
        result: Result<(), Failure>,
    },
}

impl From<Answer> for Input {
    fn from(answer: Answer) -> Self {
        Self::Answered(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_lease_for_companions_says_its_raft_term_and_is_a_positive_one_of_63_bits() {
        for (raft_term, drawn) in [(2, 0), (7, 5), (7, u64::MAX), (u64::from(u32::MAX), u64::MAX)] {
            let lease = LeaseId::of_companions(raft_term, drawn);
            assert_eq!(lease.raft_term(), raft_term);
            assert!(lease.0 > 0 && lease.0 <= u64::MAX >> 1, "{lease}");
        }
    }

    #[test]
    fn a_raft_term_that_has_no_place_in_the_number_is_not_the_stores() {
        let term = 1 << 32;
        assert!(LeaseId::of_companions(term, 9).raft_term() < term);
        assert_ne!(LeaseId::of_companions(0, 0), LeaseId(0), "zero asks the server to choose");
    }
}
