//! The subjects of a request for candidates, and of the answers to it.

use crate::wire::bucket::Bucket;

const PREFIX: &str = "_incumbent.roll.";
/// The longest accepted token. This crate's own tokens are shorter.
const LONGEST_TOKEN: usize = 64;

/// The subject of calls.
pub(crate) fn calls(bucket: &Bucket) -> String {
    format!("{PREFIX}{}", bucket.name)
}

/// The subject of all answers.
pub(crate) fn answers(bucket: &Bucket) -> String {
    answers_to(bucket, "*")
}

pub(super) fn answers_to(bucket: &Bucket, token: &str) -> String {
    format!("{PREFIX}{}.{token}", bucket.name)
}

/// Returns true if the subject is for answers to a call.
pub(super) fn takes_answers(bucket: &Bucket, subject: &str) -> bool {
    let token = subject.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(&bucket.name));
    token.and_then(|rest| rest.strip_prefix('.')).is_some_and(|token| {
        (1..=LONGEST_TOKEN).contains(&token.len()) && token.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// Returns true if a subject belongs to a request for candidates, of any bucket.
pub(crate) fn is_request_for_candidates(subject: &str) -> bool {
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
