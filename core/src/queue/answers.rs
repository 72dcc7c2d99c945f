//! Classifies etcd's errors.
//!
//! Any other answer is [`Failure::Unknown`], which proves nothing. The texts are those of etcd 3.4.23 and 3.7.3
//! (`api/v3rpc/rpctypes/error.go`). A proxy or a later server may word them differently, so each class is chosen so
//! that an unknown text is safe.

use alloc::format;
use alloc::string::String;

use crate::store::{Fault, FaultKind};

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A read.
    Read,
    /// A transaction that creates or writes keys.
    Put,
    /// A transaction that only deletes.
    Delete,
    /// A grant of a lease.
    Grant,
    /// A revocation of a lease.
    Revoke,
    /// A keep-alive.
    KeepAlive,
    /// A watch.
    Watch,
}

/// The gRPC codes that etcd uses, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "gRPC's own names")]
pub enum Code {
    Canceled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    OutOfRange = 11,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

/// The meaning of an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The store knows no such lease. It refuses a whole transaction that names the lease, but a revocation has already
    /// reached its goal.
    LeaseGone,
    /// A lease with this number already exists.
    LeaseExists,
    /// The store is busy; nothing was proposed.
    Busy,
    /// The request was certainly not applied and will not be. Authenticate and send it again.
    NotSent,
    /// A read or a keep-alive that proves nothing; a write that may have been applied, or may still be.
    Unknown,
    /// Like [`Unknown`](Self::Unknown), but no answer came in time. A late answer still counts.
    Unanswered,
    /// The batch is too large; nothing was applied.
    TooLarge,
    /// The revision from which a watch should begin has been compacted.
    Compacted,
    /// The store has not reached a revision that it once had, so it was restored, or is another store.
    Behind,
    /// The request was not applied; an operator has to act.
    Fault(Fault),
}

impl Failure {
    /// Classifies an error.
    pub fn of(operation: Operation, code: Code, text: &str) -> Self {
        let says = |part: &str| text.contains(part);
        let fault = |kind, remedy: &str| Self::Fault(Fault { kind, detail: format!("{text}; {remedy}") });
        match code {
            Code::NotFound if says("requested lease not found") => Self::LeaseGone,
            Code::FailedPrecondition if says("lease already exists") => Self::LeaseExists,
            Code::ResourceExhausted if says("too many requests") => Self::Busy,
            Code::ResourceExhausted if says("database space exceeded") => fault(
                FaultKind::Broken,
                "the store is full: leaders stay, new candidates wait; compact and defragment it, then disarm the alarm",
            ),
            Code::Unauthenticated if says("invalid auth token") => Self::NotSent,
            Code::InvalidArgument if says("revision of auth store is old") => Self::NotSent,
            Code::InvalidArgument if says("user name is empty") || says("authentication failed") => {
                fault(FaultKind::Denied, "check the user and the password")
            }
            Code::PermissionDenied => {
                fault(FaultKind::Denied, "`incumbent permissions` prints the role that a candidate needs")
            }
            Code::InvalidArgument | Code::ResourceExhausted
                if says("too many operations") || says("duplicate key") || says("request is too large") =>
            {
                Self::TooLarge
            }
            Code::OutOfRange if says("compacted") => Self::Compacted,
            Code::OutOfRange if says("future revision") => Self::Behind,
            Code::DataLoss => fault(FaultKind::Broken, "the cluster is corrupt: stop it and repair it"),
            // This error comes from a learner; another member can serve the request.
            Code::FailedPrecondition | Code::Unavailable if says("not supported for learner") => {
                Self::not_sent(operation)
            }
            _ => Self::Unknown,
        }
    }

    /// The failure of a request that a member refused before proposing it. Another member may accept the request.
    fn not_sent(operation: Operation) -> Self {
        match operation {
            Operation::Read | Operation::KeepAlive | Operation::Watch => Self::Unknown,
            _ => Self::NotSent,
        }
    }

    /// Whether another stream or member may answer a request that failed like this. If an answer did not come in time,
    /// the store may just be busy, and a request to another member would only add to the store's load.
    pub fn wants_another_member(&self) -> bool {
        matches!(self, Self::Unknown | Self::Behind)
    }

    /// Whether a transaction that failed like this may still be applied.
    pub fn may_be_applied(&self) -> bool {
        matches!(self, Self::Unknown | Self::Unanswered | Self::Behind | Self::Compacted)
    }

    /// The fault to report to a person, if any.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}

/// The fault of a store that does not answer.
pub(super) fn unreachable() -> Fault {
    let detail = String::from("the store does not answer; check that it is up and can be reached");
    Fault { kind: FaultKind::Unreachable, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(failure: &Failure) -> Option<FaultKind> {
        failure.fault().map(|fault| fault.kind)
    }

    fn of(code: Code, text: &str) -> Failure {
        Failure::of(Operation::Put, code, text)
    }

    #[test]
    fn a_transaction_that_names_a_dead_lease_is_refused_whole() {
        let failure = of(Code::NotFound, "etcdserver: requested lease not found");
        assert_eq!(failure, Failure::LeaseGone);
        assert!(!failure.may_be_applied());
    }

    #[test]
    fn a_number_that_a_lease_has_already_is_a_collision() {
        let text = "etcdserver: lease already exists";
        assert_eq!(Failure::of(Operation::Grant, Code::FailedPrecondition, text), Failure::LeaseExists);
    }

    #[test]
    fn silence_and_leader_changes_prove_nothing_and_a_write_may_still_be_applied() {
        for (code, text) in [
            (Code::Unavailable, "etcdserver: no leader"),
            (Code::Unavailable, "etcdserver: leader changed"),
            (Code::Unavailable, "etcdserver: request timed out, possibly due to previous leader failure"),
            (Code::Unavailable, "etcdserver: server stopped"),
            (Code::Canceled, "context canceled"),
            (Code::DeadlineExceeded, "context deadline exceeded"),
            (Code::Unknown, "etcdserver: not a primary lessor"),
            (Code::Unavailable, "transport is closing"),
        ] {
            for operation in [Operation::Read, Operation::Put, Operation::KeepAlive] {
                let failure = Failure::of(operation, code, text);
                assert_eq!(failure, Failure::Unknown, "{text}");
                assert!(failure.may_be_applied() && failure.wants_another_member());
            }
        }
    }

    #[test]
    fn too_many_requests_were_not_proposed() {
        let failure = of(Code::ResourceExhausted, "etcdserver: too many requests");
        assert_eq!(failure, Failure::Busy);
        assert!(!failure.may_be_applied());
    }

    #[test]
    fn a_full_store_refuses_for_certain_and_a_person_has_to_act() {
        let failure = of(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded");
        assert_eq!(kind(&failure), Some(FaultKind::Broken));
        assert!(!failure.may_be_applied());
    }

    #[test]
    fn an_old_token_was_not_sent() {
        assert_eq!(of(Code::Unauthenticated, "etcdserver: invalid auth token"), Failure::NotSent);
        let text = "etcdserver: revision of auth store is old";
        assert_eq!(of(Code::InvalidArgument, text), Failure::NotSent);
    }

    #[test]
    fn a_missing_permission_and_wrong_credentials_are_denied() {
        for (code, text) in [
            (Code::PermissionDenied, "etcdserver: permission denied"),
            (Code::InvalidArgument, "etcdserver: user name is empty"),
            (Code::InvalidArgument, "etcdserver: authentication failed, invalid user ID or password"),
        ] {
            assert_eq!(kind(&of(code, text)), Some(FaultKind::Denied), "{text}");
        }
    }

    #[test]
    fn a_batch_that_is_too_large_was_not_applied() {
        for (code, text) in [
            (Code::InvalidArgument, "etcdserver: too many operations in txn request"),
            (Code::InvalidArgument, "etcdserver: duplicate key given in txn request"),
            (Code::InvalidArgument, "etcdserver: request is too large"),
        ] {
            assert_eq!(of(code, text), Failure::TooLarge, "{text}");
        }
    }

    #[test]
    fn a_compacted_revision_is_a_watch_gap_and_a_future_one_a_store_that_went_back() {
        let text = "etcdserver: mvcc: required revision has been compacted";
        assert_eq!(Failure::of(Operation::Watch, Code::OutOfRange, text), Failure::Compacted);
        let text = "etcdserver: mvcc: required revision is a future revision";
        assert_eq!(Failure::of(Operation::Read, Code::OutOfRange, text), Failure::Behind);
    }

    #[test]
    fn a_corrupt_cluster_is_broken_and_a_learner_is_left_for_another_member() {
        let failure = of(Code::DataLoss, "etcdserver: corrupt cluster");
        assert_eq!(kind(&failure), Some(FaultKind::Broken));
        let text = "etcdserver: rpc not supported for learner";
        assert_eq!(of(Code::FailedPrecondition, text), Failure::NotSent);
        assert_eq!(Failure::of(Operation::Read, Code::Unavailable, text), Failure::Unknown);
    }

    #[test]
    fn a_text_that_is_not_known_proves_nothing() {
        assert_eq!(of(Code::InvalidArgument, "something new"), Failure::Unknown);
        assert_eq!(of(Code::NotFound, "etcdserver: key not found"), Failure::Unknown);
    }
}
