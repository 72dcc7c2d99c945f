//! Classifies what the client reports.
//!
//! The errors are named as librdkafka's `rd_kafka_err2name` prints them; those that begin with `_` are the client's
//! own. The list has errors that pass on their own, and errors that need a person, with the remedy. An unlisted error
//! proves nothing and is reported with its name, which a person may recognise. Measured on librdkafka 2.12.1 with Kafka
//! 4.3.1, or read in their sources.

use alloc::format;
use alloc::string::String;

use super::io::{Answer, Failure, Loss, Shown};
use crate::store::{Fault, FaultKind};

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The delivery of a record.
    Publish,
    /// A commit. Its error is the error of the whole answer or that of the partition, whichever is set.
    Commit,
}

fn fault(kind: FaultKind, name: &str, text: &str, remedy: &str) -> Fault {
    Fault { kind, detail: format!("{name}: {text}; {remedy}") }
}

/// The remedy for an unlisted error.
const UNLISTED: &str = "the operation is repeated; the brokers' logs may show the cause";
/// The remedy for refused credentials.
const CREDENTIALS: &str = "check the credentials of the URL and the brokers' certificates";

/// Whether this error passes on its own: a broker is unreachable, starting, or no longer responsible, or the client is
/// closing. The failed operation may have been applied, or may still be.
fn passes(name: &str) -> bool {
    matches!(
        name,
        "_ALL_BROKERS_DOWN"
            | "_DESTROY"
            | "_DESTROY_BROKER"
            | "_IN_PROGRESS"
            | "_INTR"
            | "_ISR_INSUFF"
            | "_MSG_TIMED_OUT"
            | "_NODE_UPDATE"
            | "_OUTDATED"
            | "_PREV_IN_PROGRESS"
            | "_PURGE_INFLIGHT"
            | "_PURGE_QUEUE"
            | "_QUEUE_FULL"
            | "_RESOLVE"
            | "_RETRY"
            | "_TIMED_OUT"
            | "_TIMED_OUT_QUEUE"
            | "_TRANSPORT"
            | "_UNKNOWN_BROKER"
            | "_WAIT_CACHE"
            | "_WAIT_COORD"
            | "BROKER_NOT_AVAILABLE"
            | "COORDINATOR_LOAD_IN_PROGRESS"
            | "COORDINATOR_NOT_AVAILABLE"
            | "FENCED_LEADER_EPOCH"
            | "LEADER_NOT_AVAILABLE"
            | "NETWORK_EXCEPTION"
            | "NOT_COORDINATOR"
            | "NOT_ENOUGH_REPLICAS"
            | "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
            | "NOT_LEADER_FOR_PARTITION"
            | "OFFSET_NOT_AVAILABLE"
            | "REBOOTSTRAP_REQUIRED"
            | "REPLICA_NOT_AVAILABLE"
            | "REQUEST_TIMED_OUT"
            | "STALE_BROKER_EPOCH"
            | "STALE_CTRL_EPOCH"
            | "UNKNOWN_LEADER_EPOCH"
            | "UNSTABLE_OFFSET_COMMIT"
    )
}

fn replaced(name: &str, text: &str) -> Loss {
    let remedy = "another process has the same group.instance.id; give every candidate its own";
    Loss::Replaced(fault(FaultKind::Denied, name, text, remedy))
}

impl Failure {
    /// Classifies the failure of a delivery or a commit.
    pub fn of(operation: Operation, name: &str, text: &str) -> Self {
        let denied = |remedy| Self::Denied(fault(FaultKind::Denied, name, text, remedy));
        let broken = |remedy| Self::Denied(fault(FaultKind::Broken, name, text, remedy));
        match (operation, name) {
            (Operation::Commit, "FENCED_INSTANCE_ID") => Self::GroupLost(replaced(name, text)),
            (Operation::Commit, "UNKNOWN_MEMBER_ID" | "FENCED_MEMBER_EPOCH" | "GROUP_ID_NOT_FOUND") => {
                Self::GroupLost(Loss::Rejoins)
            }
            (Operation::Commit, "_FATAL") => {
                let remedy = "the client is unusable and will be replaced";
                Self::GroupLost(Loss::Dead(fault(FaultKind::Broken, name, text, remedy)))
            }
            // A cooperative member keeps its partition through a rebalance, and its client may learn the new generation
            // later than the coordinator. If the client is no longer a member, it reports that separately.
            (Operation::Commit, "ILLEGAL_GENERATION" | "STALE_MEMBER_EPOCH" | "REBALANCE_IN_PROGRESS") => {
                Self::Refused
            }
            (Operation::Commit, "_ASSIGNMENT_LOST") => Self::Refused,
            // The client replaces a producer that is dead, and the record is published again.
            (
                Operation::Publish,
                "_FATAL"
                | "_FENCED"
                | "_GAPLESS_GUARANTEE"
                | "_INCONSISTENT"
                | "DUPLICATE_SEQUENCE_NUMBER"
                | "INVALID_PRODUCER_EPOCH"
                | "INVALID_PRODUCER_ID_MAPPING"
                | "OUT_OF_ORDER_SEQUENCE_NUMBER"
                | "PRODUCER_FENCED"
                | "UNKNOWN_PRODUCER_ID",
            ) => Self::Unknown,
            (
                _,
                "UNKNOWN_TOPIC_OR_PART"
                | "UNKNOWN_TOPIC_ID"
                | "_UNKNOWN_TOPIC"
                | "_UNKNOWN_PARTITION"
                | "_NOENT",
            ) => Self::TopicGone,
            (_, "GROUP_AUTHORIZATION_FAILED") => denied("a candidate needs Read and Describe on its group"),
            (_, "TOPIC_AUTHORIZATION_FAILED") => {
                denied("a candidate needs Read, Write and Describe on its topic")
            }
            // An idempotent producer needs Write on some topic before it can send anything.
            (Operation::Publish, "CLUSTER_AUTHORIZATION_FAILED") => {
                denied("a candidate needs Write on its topic")
            }
            (Operation::Commit, "OFFSET_METADATA_TOO_LARGE") => {
                broken("raise offset.metadata.max.bytes of the brokers")
            }
            (Operation::Publish, "INVALID_RECORD") => {
                broken("records have no key, so set cleanup.policy=delete for the topic")
            }
            (Operation::Publish, "POLICY_VIOLATION") => broken("the brokers' policy refuses the record"),
            (Operation::Publish, "MSG_SIZE_TOO_LARGE" | "INVALID_MSG_SIZE" | "RECORD_LIST_TOO_LARGE") => {
                broken("shorten the candidate's metadata, or raise max.message.bytes of the topic")
            }
            (Operation::Publish, "INVALID_TIMESTAMP") => broken(
                "set this machine's clock, or raise message.timestamp.before.max.ms and message.timestamp.after.max.ms of \
                 the topic",
            ),
            (Operation::Publish, "UNSUPPORTED_FOR_MESSAGE_FORMAT") => {
                broken("records have headers: raise message.format.version of the topic to 0.11 or newer")
            }
            (_, "KAFKA_STORAGE_ERROR" | "LOG_DIR_NOT_FOUND") => {
                broken("check the disks of the broker that leads the partition")
            }
            (_, "THROTTLING_QUOTA_EXCEEDED") => broken("raise the quota of this user"),
            (_, "_AUTHENTICATION" | "_SSL" | "SASL_AUTHENTICATION_FAILED" | "SECURITY_DISABLED") => {
                denied(CREDENTIALS)
            }
            (_, name) if passes(name) => Self::Unknown,
            _ => broken(UNLISTED),
        }
    }

    /// The fault to report to a person, if any.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Denied(fault) | Self::GroupLost(Loss::Dead(fault) | Loss::Replaced(fault)) => Some(fault),
            _ => None,
        }
    }
}

/// Classifies an error from polling the member. `fatal` states whether the client says that it cannot continue. Returns
/// the answer to pass on, or `None` if the error does not matter.
pub fn polled(name: &str, fatal: bool, text: &str) -> Option<Answer> {
    let warn = |kind, remedy| Some(Answer::Denied(fault(kind, name, text, remedy)));
    match name {
        // The client has already left the group (measured: another member led 10.9 s before goNELI's flag fell).
        "_MAX_POLL_EXCEEDED" => Some(Answer::GroupLost(Loss::Rejoins)),
        "FENCED_INSTANCE_ID" => Some(Answer::GroupLost(replaced(name, text))),
        "UNRELEASED_INSTANCE_ID" => {
            let remedy = "a live member has the same group.instance.id; give every candidate its own";
            Some(Answer::GroupLost(Loss::Dead(fault(FaultKind::Denied, name, text, remedy))))
        }
        _ if fatal => {
            let remedy = "the client is unusable and will be replaced";
            Some(Answer::GroupLost(Loss::Dead(fault(FaultKind::Broken, name, text, remedy))))
        }
        "GROUP_AUTHORIZATION_FAILED" => {
            warn(FaultKind::Denied, "a candidate needs Read and Describe on its group")
        }
        "TOPIC_AUTHORIZATION_FAILED" => {
            warn(FaultKind::Denied, "a candidate needs Read, Write and Describe on its topic")
        }
        "INCONSISTENT_GROUP_PROTOCOL" => warn(
            FaultKind::Broken,
            "the group's members use incompatible assignors or group protocols; give all of them the same",
        ),
        "UNSUPPORTED_VERSION" | "UNSUPPORTED_ASSIGNOR" => {
            warn(FaultKind::Broken, "the brokers do not support the group protocol; use the classic one")
        }
        "INVALID_SESSION_TIMEOUT" => warn(
            FaultKind::Broken,
            "use a session timeout within group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers",
        ),
        "GROUP_MAX_SIZE_REACHED" => warn(FaultKind::Broken, "raise group.max.size of the brokers"),
        "_ALL_BROKERS_DOWN" | "_RESOLVE" | "_TRANSPORT" => Some(Answer::Denied(unreachable())),
        "_AUTHENTICATION" | "_SSL" | "SASL_AUTHENTICATION_FAILED" => warn(FaultKind::Denied, CREDENTIALS),
        // These errors are ignored: a revocation reports the end of a membership, an inspection reports a missing
        // topic, and a member fetches nothing.
        "FENCED_MEMBER_EPOCH"
        | "GROUP_ID_NOT_FOUND"
        | "ILLEGAL_GENERATION"
        | "MEMBER_ID_REQUIRED"
        | "REBALANCE_IN_PROGRESS"
        | "STALE_MEMBER_EPOCH"
        | "UNKNOWN_MEMBER_ID"
        | "UNKNOWN_TOPIC_ID"
        | "UNKNOWN_TOPIC_OR_PART"
        | "_UNKNOWN_PARTITION"
        | "_UNKNOWN_TOPIC"
        | "OFFSET_OUT_OF_RANGE"
        | "_AUTO_OFFSET_RESET"
        | "_LOG_TRUNCATION"
        | "_NO_OFFSET"
        | "_NOOP"
        | "_PARTITION_EOF" => None,
        name if passes(name) => None,
        _ => warn(FaultKind::Broken, UNLISTED),
    }
}

/// Classifies an error of the reader.
pub fn read(name: &str) -> Option<Shown> {
    matches!(
        name,
        "OFFSET_OUT_OF_RANGE" | "_AUTO_OFFSET_RESET" | "UNKNOWN_TOPIC_ID" | "UNKNOWN_TOPIC_OR_PART"
    )
    .then_some(Shown::Gap)
}

/// The fault of brokers that do not answer.
pub(super) fn unreachable() -> Fault {
    let detail = String::from(
        "the brokers do not answer, or not enough of them are in sync; check that they are up and can be reached",
    );
    Fault { kind: FaultKind::Unreachable, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(name: &str) -> Failure {
        Failure::of(Operation::Commit, name, "text")
    }

    fn delivery(name: &str) -> Failure {
        Failure::of(Operation::Publish, name, "text")
    }

    fn denied(failure: &Failure) -> Option<FaultKind> {
        match failure {
            Failure::Denied(fault) => Some(fault.kind),
            _ => None,
        }
    }

    #[test]
    fn a_commit_of_a_client_that_is_no_member_loses_the_group() {
        for name in ["UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "GROUP_ID_NOT_FOUND"] {
            assert_eq!(commit(name), Failure::GroupLost(Loss::Rejoins), "{name}");
            assert!(matches!(delivery(name), Failure::Denied(_)), "no known answer to a delivery");
        }
    }

    #[test]
    fn a_commit_under_a_replaced_static_id_keeps_the_older_process_out() {
        assert!(matches!(commit("FENCED_INSTANCE_ID"), Failure::GroupLost(Loss::Replaced(_))));
        assert!(matches!(polled("FENCED_INSTANCE_ID", true, ""), Some(Answer::GroupLost(Loss::Replaced(_)))));
    }

    #[test]
    fn a_commit_of_a_dead_client_asks_for_another() {
        assert!(matches!(commit("_FATAL"), Failure::GroupLost(Loss::Dead(_))));
    }

    #[test]
    fn a_commit_in_a_rebalance_or_of_an_older_generation_is_repeated() {
        for name in ["ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "REBALANCE_IN_PROGRESS"] {
            assert_eq!(commit(name), Failure::Refused, "{name}");
        }
    }

    #[test]
    fn a_coordinator_that_is_away_and_silence_prove_nothing() {
        for name in [
            "_WAIT_COORD",
            "_TRANSPORT",
            "_TIMED_OUT",
            "NOT_COORDINATOR",
            "COORDINATOR_LOAD_IN_PROGRESS",
            "COORDINATOR_NOT_AVAILABLE",
            "REQUEST_TIMED_OUT",
            "_DESTROY",
        ] {
            assert_eq!(commit(name), Failure::Unknown, "{name}");
        }
    }

    #[test]
    fn a_record_that_was_not_delivered_may_land_later() {
        for name in [
            "_MSG_TIMED_OUT",
            "_TRANSPORT",
            "NOT_ENOUGH_REPLICAS",
            "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
            "REQUEST_TIMED_OUT",
            "_PURGE_QUEUE",
            "_PURGE_INFLIGHT",
        ] {
            assert_eq!(delivery(name), Failure::Unknown, "{name}");
        }
    }

    #[test]
    fn a_topic_that_is_gone_is_inspected() {
        for name in ["UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"] {
            assert_eq!(commit(name), Failure::TopicGone, "{name}");
        }
    }

    #[test]
    fn a_missing_permission_is_named() {
        for name in ["GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"] {
            assert_eq!(denied(&commit(name)), Some(FaultKind::Denied), "{name}");
        }
        for name in ["TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"] {
            assert_eq!(denied(&delivery(name)), Some(FaultKind::Denied), "{name}");
        }
        let detail = commit("TOPIC_AUTHORIZATION_FAILED").fault().map(|fault| fault.detail.clone());
        assert!(detail.is_some_and(|detail| detail.contains("Read, Write and Describe")));
    }

    #[test]
    fn a_topic_or_a_broker_that_is_wrongly_set_up_is_named() {
        assert_eq!(denied(&commit("OFFSET_METADATA_TOO_LARGE")), Some(FaultKind::Broken));
        for name in ["INVALID_RECORD", "POLICY_VIOLATION"] {
            assert_eq!(denied(&delivery(name)), Some(FaultKind::Broken), "{name}");
        }
    }

    #[test]
    fn a_refused_record_is_named_with_what_to_do() {
        for (name, remedy) in [
            ("MSG_SIZE_TOO_LARGE", "shorten the candidate's metadata"),
            ("INVALID_TIMESTAMP", "set this machine's clock"),
            ("UNSUPPORTED_FOR_MESSAGE_FORMAT", "message.format.version"),
            ("KAFKA_STORAGE_ERROR", "check the disks"),
            ("SASL_AUTHENTICATION_FAILED", "check the credentials"),
        ] {
            let fault = delivery(name).fault().cloned().unwrap();
            assert!(
                fault.detail.starts_with(&format!("{name}: text; ")) && fault.detail.contains(remedy),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn an_error_that_is_not_listed_is_reported_with_its_name() {
        let expected = Fault {
            kind: FaultKind::Broken,
            detail: "LATER: text; the operation is repeated; the brokers' logs may show the cause".into(),
        };
        assert_eq!(delivery("LATER"), Failure::Denied(expected.clone()));
        assert_eq!(commit("LATER"), Failure::Denied(expected.clone()));
        assert_eq!(polled("LATER", false, "text"), Some(Answer::Denied(expected)));
    }

    #[test]
    fn a_producer_that_is_dead_is_replaced_without_a_report() {
        for name in ["_FATAL", "OUT_OF_ORDER_SEQUENCE_NUMBER", "PRODUCER_FENCED"] {
            assert_eq!(delivery(name), Failure::Unknown, "{name}");
        }
    }

    #[test]
    fn a_poll_that_came_too_late_has_lost_the_group() {
        assert_eq!(polled("_MAX_POLL_EXCEEDED", false, ""), Some(Answer::GroupLost(Loss::Rejoins)));
    }

    #[test]
    fn a_newcomer_under_a_static_id_in_use_is_refused_with_its_reason() {
        let Some(Answer::GroupLost(Loss::Dead(fault))) = polled("UNRELEASED_INSTANCE_ID", true, "") else {
            panic!("another answer")
        };
        assert!(fault.kind == FaultKind::Denied && fault.detail.contains("group.instance.id"), "{fault:?}");
    }

    #[test]
    fn any_fatal_error_loses_the_group_with_the_client() {
        assert!(matches!(polled("_SOMETHING", true, ""), Some(Answer::GroupLost(Loss::Dead(_)))));
    }

    #[test]
    fn a_group_that_refuses_the_client_is_a_warning() {
        for name in [
            "GROUP_AUTHORIZATION_FAILED",
            "TOPIC_AUTHORIZATION_FAILED",
            "INCONSISTENT_GROUP_PROTOCOL",
            "UNSUPPORTED_VERSION",
            "UNSUPPORTED_ASSIGNOR",
            "INVALID_SESSION_TIMEOUT",
            "GROUP_MAX_SIZE_REACHED",
            "_ALL_BROKERS_DOWN",
            "_RESOLVE",
            "_TRANSPORT",
        ] {
            assert!(matches!(polled(name, false, ""), Some(Answer::Denied(_))), "{name}");
        }
        assert_eq!(polled("_PARTITION_EOF", false, ""), None);
    }

    #[test]
    fn a_reader_that_lost_its_place_has_a_gap() {
        for name in ["OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET", "UNKNOWN_TOPIC_ID"] {
            assert_eq!(read(name), Some(Shown::Gap), "{name}");
        }
        assert_eq!(read("_TRANSPORT"), None);
    }
}
