//! Requests to the JetStream API, and the classification of its errors.
//!
//! This module parses the answers itself: the client's own types leave out the time of an answer, and lose unknown
//! settings when a stream is updated.

use async_nats::jetstream;
use bytes::Bytes;
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::text::Text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bucket::Bucket;
use super::stream::AccountInfo;
use crate::connection::{Connection, NoAnswer};
use incumbent_store::{Error, ErrorKind};

/// The JetStream API as one account sees it, for one bucket.
pub(crate) struct Api {
    pub(crate) connection: Connection,
    pub(crate) bucket: Bucket,
}

/// The failure of an API request.
#[derive(Debug)]
pub(crate) enum Failure {
    NoAnswer(NoAnswer),
    /// The server refused it.
    Api(ApiError),
    /// The answer cannot be read.
    Unreadable(String),
}

/// An error in the API's own form.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// The code that identifies the error; see the server's `errors.json`.
    #[serde(default)]
    pub(crate) err_code: u64,
    #[serde(default)]
    pub(crate) description: String,
}

pub(crate) const CONSUMERS_LIMITED: u64 = 10026;
pub(crate) const STREAM_NOT_FOUND: u64 = 10059;
pub(crate) const NOT_ENABLED_FOR_ACCOUNT: u64 = 10039;
pub(crate) const NOT_ENABLED: u64 = 10076;

impl From<&jetstream::Error> for ApiError {
    fn from(error: &jetstream::Error) -> Self {
        Self { err_code: error.error_code().0, description: error.to_string() }
    }
}

/// The error in an answer that is a refusal. Each answer is first parsed for this alone, because a parser for both
/// cases would keep a copy of the whole answer.
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    error: Option<ApiError>,
}

impl Api {
    /// Sends a request to the API; `request` is the subject after the prefix.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        request: &str,
        payload: &impl Serialize,
    ) -> Result<T, Failure> {
        let payload = serde_json::to_vec(payload).map_err(|error| Failure::Unreadable(error.to_string()))?;
        let subject = self.bucket.api_subject(request);
        let reply = self
            .connection
            .ask(subject.clone(), None, Bytes::from(payload))
            .await
            .map_err(Failure::NoAnswer)?;
        if let Ok(Refusal { error: Some(error) }) = serde_json::from_slice(&reply.payload) {
            return Err(Failure::Api(error));
        }
        serde_json::from_slice(&reply.payload)
            .map_err(|error| Failure::Unreadable(format!("{subject}: {error}")))
    }

    /// Requests the description of the bucket's stream.
    pub(crate) async fn stream_info<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.ask(&format!("STREAM.INFO.{}", self.bucket.stream), &serde_json::json!({})).await
    }

    /// The API level of the account's servers; `None` without permission to ask.
    pub(crate) async fn account_level(&self) -> Result<Option<u32>, Failure> {
        match self.ask::<AccountInfo>("INFO", &serde_json::json!({})).await {
            Ok(account) => Ok(Some(account.level())),
            Err(Failure::NoAnswer(NoAnswer::PublishDenied { .. })) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Refuses a server that is too old for any election.
    pub(crate) fn check_server(&self) -> Result<(), Error> {
        let client = self.connection.client();
        if client.is_server_compatible(2, 10, 0) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "nats-server is {:?}; elections need 2.10 or newer: upgrade",
                client.server_info().version
            ),
        ))
    }
}

impl Failure {
    /// The fault to report, with the remedy.
    pub(crate) fn fault(self, bucket: &Bucket) -> Fault {
        let name = &bucket.name;
        let (kind, detail) = match self {
            Self::NoAnswer(error) => return no_answer_fault(&error, bucket),
            Self::Unreadable(why) => (FaultKind::Broken, format!("NATS sent an unreadable answer: {why}")),
            Self::Api(error) => return error.fault(name),
        };
        Fault { kind, detail }
    }

    /// The error to return while opening the store, with the remedy.
    pub(crate) fn error(self, bucket: &Bucket) -> Error {
        let missing = matches!(&self, Self::Api(error) if error.err_code == STREAM_NOT_FOUND);
        if missing {
            let name = &bucket.name;
            let missing = Text::from(format!("the NATS bucket {name:?} does not exist; "));
            return Error::named(ErrorKind::NotFound, missing.and(Text::init(&[])).and(" creates it"));
        }
        self.fault(bucket).into()
    }
}

/// The fault for a missing answer.
pub(crate) fn no_answer_fault(error: &NoAnswer, bucket: &Bucket) -> Fault {
    let (kind, detail) = match error {
        NoAnswer::NotConnected => (FaultKind::Unreachable, "not connected to NATS".to_string()),
        NoAnswer::Disconnected => {
            (FaultKind::Unreachable, "the connection to NATS broke before the answer came".to_string())
        }
        NoAnswer::NoResponders => (
            FaultKind::Unreachable,
            format!(
                "no server answers for the NATS bucket {:?}: JetStream is not enabled or is starting, or `domain` or \
                 `api_prefix` is wrong",
                bucket.name
            ),
        ),
        NoAnswer::NotSendable(why) => (FaultKind::Broken, format!("cannot be sent over NATS: {why}")),
        NoAnswer::PublishDenied { subject, .. } => {
            (FaultKind::Denied, format!("NATS does not let us publish to {subject}; allow that for our user"))
        }
        NoAnswer::RepliesDenied { subject } => (
            FaultKind::Denied,
            format!(
                "NATS does not let us receive replies on {subject}; allow that for our user, or set `inbox_prefix` to \
                 an allowed prefix"
            ),
        ),
    };
    Fault { kind, detail }
}

impl ApiError {
    /// The fault to report, with the remedy.
    pub(crate) fn fault(&self, bucket: &str) -> Fault {
        let said = &self.description;
        let (kind, detail) = match self.err_code {
            STREAM_NOT_FOUND => (
                FaultKind::Broken,
                format!(
                    "the NATS bucket {bucket:?} no longer exists; create it again, as it was first created"
                ),
            ),
            NOT_ENABLED | NOT_ENABLED_FOR_ACCOUNT => (
                FaultKind::Broken,
                format!("{said} ({}): enable JetStream for the account of our user", self.err_code),
            ),
            // 10008 and 10009: the cluster currently has no leader.
            10008 | 10009 => {
                (FaultKind::Unreachable, format!("NATS cannot serve the bucket {bucket:?} now: {said}"))
            }
            10118 | 10194 => (
                FaultKind::Broken,
                format!(
                    "the stream of the NATS bucket {bucket:?} is offline: start the servers that hold it"
                ),
            ),
            CONSUMERS_LIMITED => (
                FaultKind::Broken,
                format!(
                    "the NATS bucket {bucket:?} has reached its limit of consumers ({said}), and each process needs \
                     one: raise `max_consumers` of its stream KV_{bucket} or of the account; if neither is set, \
                     nats-server 2.15 and newer allow 1,000"
                ),
            ),
            code => (
                FaultKind::Broken,
                format!("NATS refuses a request for the bucket {bucket:?}: {said} ({code})"),
            ),
        };
        Fault { kind, detail }
    }
}
