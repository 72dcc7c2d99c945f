//! The candidates of a bucket's elections, requested over plain NATS.
//!
//! Nothing is stored, and nothing is sent before a call:
//!
//! | subject | subscribers | message |
//! |---|---|---|
//! | `_incumbent.roll.BUCKET` | every connection that has candidates | the call, with the incarnation of the bucket it concerns |
//! | `_incumbent.roll.BUCKET.TOKEN` | the caller, with a random token | the answers, as many messages as needed |
//!
//! The answers do not go to an inbox: the caller names the subject of its answers, so a candidate would publish, with
//! its own permissions, to any subject that a caller chose. Below the subject of the call there is nothing to damage.

mod answer;
mod request;
pub(super) mod wire;

pub(super) use answer::Answering;
pub(super) use request::call;

use super::wire::api::Bucket;

const PREFIX: &str = "_incumbent.roll.";
/// The longest accepted token. This crate's own tokens are shorter.
const LONGEST_TOKEN: usize = 64;

/// The subject of calls.
pub(super) fn calls(bucket: &Bucket) -> String {
    format!("{PREFIX}{}", bucket.name)
}

/// The subject of all answers.
pub(super) fn answers(bucket: &Bucket) -> String {
    answers_to(bucket, "*")
}

fn answers_to(bucket: &Bucket, token: &str) -> String {
    format!("{PREFIX}{}.{token}", bucket.name)
}

/// Returns true if the subject is for answers to a call.
fn takes_answers(bucket: &Bucket, subject: &str) -> bool {
    let token = subject.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(&bucket.name));
    token.and_then(|rest| rest.strip_prefix('.')).is_some_and(|token| {
        (1..=LONGEST_TOKEN).contains(&token.len()) && token.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// Returns true if a subject belongs to a request for candidates, of any bucket.
pub(super) fn is_request_for_candidates(subject: &str) -> bool {
    subject.starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_below_the_call_and_nowhere_else() {
        let bucket = Bucket::new("b", None);
        assert!(takes_answers(&bucket, &answers_to(&bucket, "0aZ")));
        for subject in [
            "$KV.b.jobs",
            "_INBOX.x.y",
            "_incumbent.roll.b",
            "_incumbent.roll.b.",
            "_incumbent.roll.b.*",
            "_incumbent.roll.b.>",
            "_incumbent.roll.b.x.y",
            "_incumbent.roll.bb.x",
            "_incumbent.roll.c.x",
        ] {
            assert!(!takes_answers(&bucket, subject), "{subject}");
        }
        assert!(!takes_answers(&bucket, &answers_to(&bucket, &"x".repeat(65))));
    }
}
