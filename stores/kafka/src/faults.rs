//! The faults that the client's errors mean, each with its remedy.

use incumbent_core::induction::{Failure, Operation};
use incumbent_core::store::{Fault, FaultKind};

use super::native::ClientError;

/// The failure of a record that was not appended.
pub(super) fn failure(error: &ClientError) -> Failure {
    Failure::of(Operation::Publish, &error.name, &error.text)
}

/// Turns a missing permission into one for this topic.
pub(super) fn of_topic(mut fault: Fault, topic: &str) -> Fault {
    if fault.kind == FaultKind::Denied {
        fault.detail = format!("{} {topic:?}", fault.detail);
    }
    fault
}

/// Whether a group's coordinator is changing, or still reading what the group committed.
pub(super) fn is_between_coordinators(fault: &Fault) -> bool {
    ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"]
        .iter()
        .any(|code| fault.detail.starts_with(code))
}

/// Whether a topic does not exist.
pub(super) fn is_missing(fault: &Fault) -> bool {
    fault.detail.starts_with("UNKNOWN_TOPIC_OR_PART")
}

/// The fault of a failed query; its text begins with the error's name.
pub(super) fn of_client(ClientError { name, text }: &ClientError) -> Fault {
    let (kind, remedy) = match name.as_str() {
        "TOPIC_AUTHORIZATION_FAILED" => (FaultKind::Denied, "; allow Read, Write and Describe on the topic"),
        "GROUP_AUTHORIZATION_FAILED" => (FaultKind::Denied, "; allow Read and Describe on the group"),
        "CLUSTER_AUTHORIZATION_FAILED" => (FaultKind::Denied, "; allow Describe on the cluster"),
        "_AUTHENTICATION" | "SASL_AUTHENTICATION_FAILED" | "_SSL" => {
            (FaultKind::Denied, "; check the credentials")
        }
        "UNKNOWN_TOPIC_OR_PART" | "UNKNOWN_TOPIC_ID" => {
            (FaultKind::Broken, "; prepare the store with this election again")
        }
        "UNSUPPORTED_VERSION" | "_UNSUPPORTED_FEATURE" => (FaultKind::Broken, "; the brokers are too old"),
        _ => (FaultKind::Unreachable, ""),
    };
    Fault { kind, detail: format!("{name}: {text}{remedy}") }
}

/// The fault of a query that was not answered.
pub(super) fn unreachable(detail: &str) -> Fault {
    Fault { kind: FaultKind::Unreachable, detail: detail.into() }
}
