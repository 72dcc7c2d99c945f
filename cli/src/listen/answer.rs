//! The answer at each path.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use incumbent::{Candidate, State, Store, TermView};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::metrics::Metrics;
use crate::output::millis;

/// The paths that exist.
const PATHS: &str = "the paths are /leader, /healthz and /metrics\n";

/// The time within which a connected store answers. A scraper waits for 10 s by default.
const CONNECTED: Duration = Duration::from_secs(2);

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The subject of the answers.
pub(super) struct Subject {
    pub(super) store: Store,
    pub(super) candidate: Candidate,
    pub(super) metrics: Metrics,
    /// True if nothing other than these answers asks the candidate's work to end.
    pub(super) alone: bool,
}

type Answer = Response<Full<Bytes>>;

impl Subject {
    pub(super) async fn answer(&self, request: &Request<Incoming>) -> Answer {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, "use GET or HEAD\n".into());
        }
        match request.uri().path() {
            "/leader" => self.leader(),
            "/healthz" => self.healthz(),
            "/metrics" => self.metrics().await,
            _ => answer(StatusCode::NOT_FOUND, TEXT, PATHS.into()),
        }
    }

    /// Returns 200 with the token if this candidate leads, and 503 otherwise.
    fn leader(&self) -> Answer {
        let candidate = &self.candidate;
        let (election, name) = (candidate.election(), candidate.name());
        // The term is read before the check that it is current, so that an ended lease is never reported as leadership.
        let term = candidate.term().map(|term| term.view());
        let ends = |term: &TermView| self.alone && term.drains_until().is_some();
        let Some(term) = term.filter(|term| candidate.is_leader() && !ends(term)) else {
            let holder = candidate.leader().map(|leader| leader.name);
            let body = json!({ "leader": false, "election": election, "name": name, "holder": holder });
            return json_answer(StatusCode::SERVICE_UNAVAILABLE, &body);
        };
        let token = term.token();
        let mut leads = json_answer(
            StatusCode::OK,
            &json!({
                "leader": true,
                "election": election,
                "name": name,
                "token": token.to_string(),
                "sequence": token.sequence.0,
                "remaining_ms": millis(term.remaining()),
            }),
        );
        // A token's text is always valid in a header.
        if let Ok(value) = HeaderValue::try_from(token.to_string()) {
            leads.headers_mut().insert(HeaderName::from_static("incumbent-token"), value);
        }
        leads
    }

    /// Returns 200 if this process takes part. A store that does not answer is no reason to restart the process.
    fn healthz(&self) -> Answer {
        match self.candidate.state() {
            State::Closed => answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, "the candidacy is over\n".into()),
            _ => answer(StatusCode::OK, TEXT, "ok\n".into()),
        }
    }

    async fn metrics(&self) -> Answer {
        self.metrics.connected(matches!(timeout(CONNECTED, self.store.store_info()).await, Ok(Ok(_))));
        let load = self.store.load().await.unwrap_or_default();
        match self.metrics.page(&self.candidate, load).text() {
            Ok(text) => answer(StatusCode::OK, OPEN_METRICS, text),
            Err(error) => answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        }
    }
}

fn json_answer(status: StatusCode, body: &Value) -> Answer {
    answer(status, JSON, format!("{body}\n"))
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
