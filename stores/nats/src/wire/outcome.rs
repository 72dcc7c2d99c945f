//! The outcome of a write, from NATS's answer.
//!
//! The codes are from the server's `errors.json`. Every answer means `Unknown`, except an acknowledgement and the
//! answers that *prove* that the write was not applied.

use std::borrow::Cow;

use incumbent_core::Revision;
use incumbent_core::store::{Fault, FaultKind, Outcome};
use serde::Deserialize;

use super::api::{self, ApiError};
use super::bucket::Bucket;
use crate::connection::NoAnswer;

const WRONG_LAST_SEQUENCE: u64 = 10071;
const IN_FLIGHT: u64 = 10164;
const TOO_MANY_REQUESTS: u64 = 10167;
const STORE_FAILED: u64 = 10077;
const TTL_INVALID: u64 = 10165;
const TTL_DISABLED: u64 = 10166;

/// The acknowledgement of a publish.
#[derive(Deserialize)]
struct Acknowledgement<'a> {
    #[serde(default)]
    error: Option<ApiError>,
    #[serde(borrow, default)]
    stream: Cow<'a, str>,
    #[serde(default)]
    domain: Option<String>,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

/// The outcome, from an answer. `domain` is the JetStream domain of the bucket's stream.
pub(crate) fn of_answer(payload: &[u8], bucket: &Bucket, domain: Option<&str>) -> Outcome {
    let acknowledgement: Acknowledgement<'_> = match serde_json::from_slice(payload) {
        Ok(acknowledgement) => acknowledgement,
        Err(error) => {
            tracing::warn!(bucket = bucket.name, %error, "NATS sent an unreadable answer to a write");
            return Outcome::Unknown;
        }
    };
    match acknowledgement {
        Acknowledgement { error: Some(error), .. } => of_error(&error, bucket),
        // This crate sends no `Nats-Msg-Id`, so the duplicate belongs to another write.
        Acknowledgement { duplicate: true, .. } | Acknowledgement { seq: 0, .. } => Outcome::Unknown,
        Acknowledgement { stream, .. } if stream != bucket.stream => Outcome::Unknown,
        // If two JetStream domains are joined, a stream of the same name in the second domain may answer too.
        Acknowledgement { domain: theirs, .. } if theirs.as_deref().unwrap_or("") != domain.unwrap_or("") => {
            tracing::warn!(bucket = bucket.name, theirs, domain, "another JetStream domain answered a write");
            Outcome::Unknown
        }
        Acknowledgement { seq, .. } => Outcome::Applied { revision: Revision(seq), incarnation: None },
    }
}

fn of_error(error: &ApiError, bucket: &Bucket) -> Outcome {
    let name = &bucket.name;
    let broken = |detail: String| Outcome::Failed(Fault { kind: FaultKind::Broken, detail });
    match error.err_code {
        // Without the number, the key may be empty or have a newer record.
        WRONG_LAST_SEQUENCE => match last_sequence(&error.description) {
            Some(current) => Outcome::Refused { current },
            None => unclear(error, name),
        },
        IN_FLIGHT => Outcome::Busy,
        // Dropped before it was processed.
        TOO_MANY_REQUESTS => Outcome::NotSent,
        // These words mean that a limit was reached before the write was stored. After any other error, such as a
        // failing disk, another replica may have stored it.
        STORE_FAILED if is_limit(&error.description) => broken(format!(
            "the NATS bucket {name:?} is full ({}): raise its limits, or remove unneeded keys",
            error.description
        )),
        TTL_INVALID | TTL_DISABLED => broken(format!(
            "the NATS bucket {name:?} no longer takes lease times per record ({}): set `allow_msg_ttl` of its stream \
             again, or reopen the store",
            error.description
        )),
        // 10054 and 10097: the record is too large; 10109: the stream is sealed; 10002, 10023, 10047: the account's or
        // the server's resources are exhausted.
        10002 | 10023 | 10047 | 10054 | 10097 | 10109 => broken(format!(
            "NATS refuses writes to the bucket {name:?}: {} ({})",
            error.description, error.err_code
        )),
        api::STREAM_NOT_FOUND | api::NOT_ENABLED | api::NOT_ENABLED_FOR_ACCOUNT | 10118 | 10194 => {
            Outcome::Failed(error.fault(name))
        }
        _ => unclear(error, name),
    }
}

fn unclear(error: &ApiError, bucket: &str) -> Outcome {
    let (code, said) = (error.err_code, &error.description);
    tracing::warn!(bucket, code, said, "NATS refused a write with an unknown error");
    Outcome::Unknown
}

/// The server's words for a limit of the stream.
fn is_limit(description: &str) -> bool {
    description.contains("exceeded") || description.contains("too large")
}

/// The number in `wrong last sequence: 7`, which is zero for an empty key.
fn last_sequence(description: &str) -> Option<Revision> {
    let (_, number) = description.rsplit_once(':')?;
    number.trim().parse().ok().map(Revision)
}

/// The outcome of a write without an answer.
pub(crate) fn of_no_answer(error: &NoAnswer, bucket: &Bucket) -> Outcome {
    match error {
        NoAnswer::NotConnected | NoAnswer::NoResponders => Outcome::NotSent,
        NoAnswer::NotSendable(_) | NoAnswer::PublishDenied { certain: true, .. } => {
            Outcome::Failed(api::no_answer_fault(error, bucket))
        }
        // Without permission for replies a write may still be applied.
        NoAnswer::Disconnected
        | NoAnswer::PublishDenied { certain: false, .. }
        | NoAnswer::RepliesDenied { .. } => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        Bucket::new("b", None)
    }

    fn answer(text: &str) -> Outcome {
        of_answer(text.as_bytes(), &bucket(), Some("hub"))
    }

    fn error(code: u64, description: &str) -> Outcome {
        let text = format!(
            r#"{{"error": {{"code": 400, "err_code": {code}, "description": "{description}"}}, "stream": "KV_b", "seq": 0}}"#
        );
        answer(&text)
    }

    fn kind(outcome: &Outcome) -> Option<FaultKind> {
        match outcome {
            Outcome::Failed(fault) => Some(fault.kind),
            _ => None,
        }
    }

    #[test]
    fn an_acknowledgement_is_applied_at_its_sequence() {
        assert_eq!(
            answer(r#"{"stream": "KV_b", "seq": 42, "domain": "hub"}"#),
            Outcome::Applied { revision: Revision(42), incarnation: None }
        );
    }

    #[test]
    fn a_duplicate_is_unknown() {
        assert_eq!(
            answer(r#"{"stream": "KV_b", "seq": 42, "domain": "hub", "duplicate": true}"#),
            Outcome::Unknown
        );
    }

    #[test]
    fn an_acknowledgement_of_another_stream_is_unknown() {
        assert_eq!(answer(r#"{"stream": "OTHER", "seq": 42, "domain": "hub"}"#), Outcome::Unknown);
    }

    #[test]
    fn an_acknowledgement_of_another_domain_is_unknown() {
        let applied = Outcome::Applied { revision: Revision(42), incarnation: None };
        for (theirs, ours, outcome) in [
            (r#", "domain": "hub""#, Some("hub"), &applied),
            (r#", "domain": "edge""#, Some("hub"), &Outcome::Unknown),
            (r#", "domain": "edge""#, None, &Outcome::Unknown),
            ("", Some("hub"), &Outcome::Unknown),
            ("", None, &applied),
        ] {
            let text = format!(r#"{{"stream": "KV_b", "seq": 42{theirs}}}"#);
            assert_eq!(of_answer(text.as_bytes(), &bucket(), ours), *outcome, "{text} for {ours:?}");
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_unknown() {
        for text in ["", "null", "+OK", r#"{"stream": "KV_b"}"#, r#"{"stream": "KV_b", "seq": 0}"#] {
            assert_eq!(answer(text), Outcome::Unknown, "{text:?}");
        }
    }

    #[test]
    fn a_failed_compare_is_refused_with_the_keys_last_sequence() {
        assert_eq!(error(10071, "wrong last sequence: 7"), Outcome::Refused { current: Revision(7) });
        assert_eq!(error(10071, "wrong last sequence: 0"), Outcome::Refused { current: Revision(0) });
    }

    #[test]
    fn a_failed_compare_without_the_sequence_does_not_say_that_the_key_is_empty() {
        for text in ["wrong last sequence", "wrong last sequence: ?"] {
            assert_eq!(error(10071, text), Outcome::Unknown, "{text}");
        }
    }

    #[test]
    fn a_write_in_flight_is_busy() {
        assert_eq!(error(10164, "wrong last sequence"), Outcome::Busy);
    }

    #[test]
    fn a_server_with_too_much_to_do_has_not_taken_the_write() {
        assert_eq!(error(10167, "too many requests"), Outcome::NotSent);
    }

    #[test]
    fn a_limit_of_the_bucket_is_broken_and_says_the_remedy() {
        let outcome = error(10077, "maximum bytes exceeded");
        assert_eq!(kind(&outcome), Some(FaultKind::Broken));
        assert!(format!("{outcome:?}").contains("raise its limits"), "{outcome:?}");
    }

    #[test]
    fn a_failing_disk_is_unknown() {
        assert_eq!(error(10077, "write /data/1.blk: no space left on device"), Outcome::Unknown);
        assert_eq!(error(10077, "store is closed"), Outcome::Unknown);
    }

    #[test]
    fn what_needs_a_person_is_broken() {
        for code in
            [10002, 10023, 10039, 10047, 10054, 10059, 10076, 10097, 10109, 10118, 10165, 10166, 10194]
        {
            let outcome = error(code, "said");
            assert_eq!(kind(&outcome), Some(FaultKind::Broken), "{code}");
            assert!(format!("{outcome:?}").contains("said") || format!("{outcome:?}").contains("\\\"b\\\""));
        }
    }

    #[test]
    fn any_other_error_is_unknown() {
        for code in [0, 10008, 10009, 10068, 10070, 19999] {
            assert_eq!(error(code, "said"), Outcome::Unknown, "{code}");
        }
    }

    #[test]
    fn nothing_was_sent_where_there_was_no_connection_or_no_responder() {
        assert_eq!(of_no_answer(&NoAnswer::NotConnected, &bucket()), Outcome::NotSent);
        assert_eq!(of_no_answer(&NoAnswer::NoResponders, &bucket()), Outcome::NotSent);
    }

    #[test]
    fn a_broken_connection_is_unknown() {
        assert_eq!(of_no_answer(&NoAnswer::Disconnected, &bucket()), Outcome::Unknown);
    }

    #[test]
    fn a_missing_permission_is_denied_only_where_it_concerns_this_write() {
        let denied = |certain| {
            of_no_answer(&NoAnswer::PublishDenied { subject: "$KV.b.k".into(), certain }, &bucket())
        };
        assert_eq!(
            denied(true),
            Outcome::Failed(Fault {
                kind: FaultKind::Denied,
                detail: "NATS does not let us publish to $KV.b.k; allow that for our user".into(),
            })
        );
        assert_eq!(denied(false), Outcome::Unknown);
        let replies = NoAnswer::RepliesDenied { subject: "_INBOX.>".into() };
        assert_eq!(of_no_answer(&replies, &bucket()), Outcome::Unknown);
    }
}
