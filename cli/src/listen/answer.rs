//! The answer at each path.

use incumbent::{Candidate, State, TermView};
use serde_json::json;

use super::http::Answer;
use super::metrics::Metrics;
use crate::output::millis;

/// The paths that exist.
const PATHS: &str = "there are /leader, /healthz and /metrics\n";

pub(super) fn answer(path: &str, candidate: &Candidate, metrics: &Metrics, alone: bool) -> Answer {
    match path {
        "/leader" => leader(candidate, alone),
        "/healthz" => healthz(candidate),
        "/metrics" => Answer {
            status: 200,
            content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
            headers: Vec::new(),
            body: metrics.text(candidate),
        },
        _ => Answer::text(404, PATHS),
    }
}

/// 200 for the leader, with its token, and 503 for every other candidate.
fn leader(candidate: &Candidate, alone: bool) -> Answer {
    let (election, name) = (candidate.election(), candidate.name());
    // Reads the term before it checks that the term is current: an ended lease is never reported as leadership.
    let term = candidate.term().map(|term| term.view());
    let ends = |term: &TermView| alone && term.drains_until().is_some();
    let (status, headers, body) = match term.filter(|term| candidate.is_leader() && !ends(term)) {
        Some(term) => {
            let token = term.token();
            let body = json!({
                "leader": true,
                "election": election,
                "name": name,
                "token": token.to_string(),
                "sequence": token.sequence.0,
                "remaining_ms": millis(term.remaining()),
            });
            (200, vec![("Incumbent-Token", token.to_string())], body)
        }
        None => {
            let holder = candidate.leader().map(|leader| leader.name);
            (
                503,
                Vec::new(),
                json!({ "leader": false, "election": election, "name": name, "holder": holder }),
            )
        }
    };
    Answer { status, content_type: "application/json", headers, body: format!("{body}\n") }
}

/// Returns true if this process takes part. A store that does not answer is no reason to restart the process.
fn healthz(candidate: &Candidate) -> Answer {
    match candidate.state() {
        State::Closed => Answer::text(503, "the candidacy is over\n"),
        _ => Answer::text(200, "ok\n"),
    }
}
