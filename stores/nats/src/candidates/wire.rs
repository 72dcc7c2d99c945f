//! The messages of a request for candidates: JSON, whose readers skip unknown parts.
//!
//! ```json
//! {"incarnation": "1795251600000000001"}
//! {"candidates": [{"election": "jobs", "name": "ada", "nonce": "00…2a", "standing_ms": 1500}]}
//! ```

use std::time::Duration;

use bytes::Bytes;
use incumbent_core::Incarnation;
use incumbent_core::record::Nonce;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::names;
use incumbent_store::{CandidateInfo, request};

const OPENING: &[u8] = br#"{"candidates":["#;
const CLOSING: &[u8] = b"]}";

#[derive(Serialize, Deserialize)]
struct Call {
    /// The incarnation of the bucket, as text, because not every JSON parser reads numbers exactly.
    #[serde(default)]
    incarnation: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    candidates: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    election: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    standing_ms: u64,
}

/// A call to the candidates of this incarnation of the bucket.
pub(super) fn call(Incarnation(incarnation): Incarnation) -> Bytes {
    serde_json::json!({ "incarnation": incarnation.to_string() }).to_string().into()
}

/// Returns true if a call concerns this incarnation of the bucket. A call that names no incarnation concerns all.
pub(super) fn concerns(call: &[u8], Incarnation(ours): Incarnation) -> bool {
    if call.is_empty() {
        return true;
    }
    let Ok(Call { incarnation }) = serde_json::from_slice(call) else { return false };
    incarnation.is_none_or(|theirs| theirs == ours.to_string())
}

/// The answers for all candidates. Only an answer with a single candidate may be longer than `limit` bytes.
pub(crate) fn answers(present: &[CandidateInfo], limit: usize) -> Vec<Bytes> {
    let mut answers = Vec::new();
    let mut page = OPENING.to_vec();
    for one in present {
        // Every part of the message is valid JSON.
        let Ok(line) = serde_json::to_vec(&Line::of(one)) else { continue };
        if page.len() > OPENING.len() {
            if page.len() + line.len() + 1 + CLOSING.len() > limit {
                page.extend(CLOSING);
                answers.push(std::mem::replace(&mut page, OPENING.to_vec()).into());
            } else {
                page.push(b',');
            }
        }
        page.extend(line);
    }
    if page.len() > OPENING.len() {
        page.extend(CLOSING);
        answers.push(page.into());
    }
    answers
}

/// The candidates of an answer, without unreadable and invalid ones.
pub(crate) fn read(answer: &[u8]) -> impl Iterator<Item = CandidateInfo> + use<> {
    let answer = serde_json::from_slice(answer).unwrap_or(Answer { candidates: Vec::new() });
    answer.candidates.into_iter().filter_map(|line| serde_json::from_value::<Line>(line).ok()?.read())
}

impl Line {
    fn of(present: &CandidateInfo) -> Self {
        Self {
            election: present.election.clone(),
            name: present.name.clone(),
            nonce: present.nonce.map(|nonce| nonce.to_string()),
            standing_ms: u64::try_from(present.standing_for.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn read(self) -> Option<CandidateInfo> {
        let Self { election, name, nonce, standing_ms } = self;
        names::check_key(&election).and_then(|()| request::check_election(&election)).ok()?;
        names::check_name(&name).ok()?;
        let nonce = nonce.map(|text| number(&text).ok_or(())).transpose().ok()?;
        Some(CandidateInfo { election, name, nonce, standing_for: Duration::from_millis(standing_ms) })
    }
}

/// Parses a nonce, which must have exactly the form in which nonces are written.
fn number(text: &str) -> Option<Nonce> {
    let number = Nonce(u128::from_str_radix(text, 16).ok()?);
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(election: &str, name: &str, nonce: Option<u128>, millis: u64) -> CandidateInfo {
        let standing_for = Duration::from_millis(millis);
        CandidateInfo { election: election.into(), name: name.into(), nonce: nonce.map(Nonce), standing_for }
    }

    fn read_all(answers: &[Bytes]) -> Vec<CandidateInfo> {
        answers.iter().flat_map(|answer| read(answer)).collect()
    }

    #[test]
    fn a_call_concerns_the_incarnation_of_the_bucket_that_it_names() {
        let ours = Incarnation(1_795_251_600_000_000_001);
        assert_eq!(call(ours), r#"{"incarnation":"1795251600000000001"}"#);
        assert!(concerns(&call(ours), ours));
        assert!(!concerns(&call(Incarnation(1_795_251_600_000_000_002)), ours));
    }

    #[test]
    fn a_call_that_names_no_incarnation_concerns_every_one_and_one_that_cannot_be_read_none() {
        for call in ["", "{}", r#"{"of_later": 1}"#] {
            assert!(concerns(call.as_bytes(), Incarnation(1)), "{call:?}");
        }
        for call in ["x", "[]x", "1", r#"{"incarnation": 1}"#, r#"{"incarnation": "1x"}"#] {
            assert!(!concerns(call.as_bytes(), Incarnation(1)), "{call:?}");
        }
    }

    #[test]
    fn an_answer_reads_back() {
        let all = [present("a.b", "Zürich \"2\"", Some(42), 1500), present("c", "x", None, u64::MAX)];
        let answers = answers(&all, 1000);
        let text = "{\"candidates\":[\
            {\"election\":\"a.b\",\"name\":\"Zürich \\\"2\\\"\",\
             \"nonce\":\"0000000000000000000000000000002a\",\"standing_ms\":1500},\
            {\"election\":\"c\",\"name\":\"x\",\"standing_ms\":18446744073709551615}]}";
        assert_eq!(answers, [text]);
        assert_eq!(read_all(&answers), all);
    }

    #[test]
    fn many_are_listed_in_answers_below_the_limit() {
        let all: Vec<_> = (0..100).map(|n| present(&format!("e{n}"), "ada", Some(n), 1)).collect();
        let several = answers(&all, 300);
        assert!(several.len() > 10 && several.iter().all(|answer| answer.len() <= 300), "{several:?}");
        assert_eq!(read_all(&several), all);
        // A single candidate's answer that is too long is sent anyway, for the server to refuse.
        assert_eq!(answers(&all[..2], 10).len(), 2);
        assert_eq!(answers(&[], 300), Vec::<Bytes>::new());
    }

    #[test]
    fn what_cannot_be_read_names_no_candidate_and_what_is_unknown_is_skipped() {
        for answer in ["", "x", "[]", "{}", r#"{"candidates": 1}"#, r#"{"candidates": [1, null, {}]}"#] {
            assert_eq!(read(answer.as_bytes()).count(), 0, "{answer:?}");
        }
        let line = |election: &str, name: &str, more: &str| {
            format!(
                r#"{{"candidates": [{{"election": "{election}", "name": "{name}", "standing_ms": 1{more}}}]}}"#
            )
        };
        assert_eq!(
            read(line("jobs", "ada", r#", "of_later": []"#).as_bytes()).collect::<Vec<_>>(),
            [present("jobs", "ada", None, 1)]
        );
        let long = "n".repeat(1025);
        for (election, name, more) in [
            ("", "ada", ""),
            ("a b", "ada", ""),
            ("_incumbent.hand-over.jobs", "ada", ""),
            ("jobs", "", ""),
            ("jobs", "\\u001b[2J", ""),
            ("jobs", &long, ""),
            ("jobs", "ada", r#", "nonce": "2a""#),
            ("jobs", "ada", r#", "nonce": "+000000000000000000000000000002a""#),
        ] {
            assert_eq!(read(line(election, name, more).as_bytes()).count(), 0, "{election} {name} {more}");
        }
        let well_among_others = format!(
            r#"{{"candidates": [7, {{"election": "jobs", "name": "ada", "standing_ms": -1}}, {}]}}"#,
            r#"{"election": "jobs", "name": "ben", "standing_ms": 2}"#
        );
        assert_eq!(read(well_among_others.as_bytes()).collect::<Vec<_>>(), [present("jobs", "ben", None, 2)]);
    }
}
