//! The reasons why no broker can be used: a listener that expects TLS or a user, and refused credentials; each with the
//! setting that helps.
//!
//! A query of librdkafka only reports that no broker answered. The reasons come as events and log lines of its client,
//! which are kept here until a query fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use incumbent_core::Revision;
use incumbent_core::induction::{Answer as Reported, Failure};
use incumbent_core::record::Attempt;
use incumbent_core::store::{Fault, FaultKind};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::ProducerContext;

use super::faults::failure;
use super::native::{ClientError, Log};
use super::report::{Answers, Report};
use super::settings::KafkaSettings;

/// For how long the failure to reach a broker explains unanswered queries. The client tries the broker again within ten
/// seconds, and reports another failure within half a minute.
const LATELY: Duration = Duration::from_secs(45);

/// The client's message for a TLS alert, whose first bytes it takes for the size of an answer.
const ALERT: &str = "Invalid response size 352518912";

/// The reports of a connection's client: why no broker can be used, and the outcome of each record.
#[derive(Clone, Default)]
pub(super) struct Reports {
    /// Why the connection or the credentials are refused. A query itself only reports that there is no answer.
    refused: Arc<Mutex<Option<ClientError>>>,
    /// The last failure to reach a broker, with its address, and when it was reported.
    unreached: Arc<Mutex<Option<(Instant, String)>>>,
}

/// The destination of a record's delivery report.
pub(super) struct Delivery {
    pub(super) attempt: Attempt,
    pub(super) answers: Answers,
}

impl Reports {
    /// Records why a broker could not be reached.
    fn failed(&self, reason: &str) {
        let failed = (Instant::now(), reason.to_owned());
        *lock(&self.unreached) = Some(failed);
    }

    /// The fault of credentials that were refused since the last call.
    pub(super) fn take_refused(&self) -> Option<Fault> {
        let error = lock(&self.refused).take()?;
        Some(Fault { kind: FaultKind::Denied, detail: refusal(&error) })
    }

    /// Why a broker could not be reached since the last call.
    pub(super) fn take_unreached(&self) -> Option<String> {
        lock(&self.unreached).take().map(|(_, why)| why)
    }

    /// Why a broker could not be reached, if that still explains an unanswered query.
    pub(super) fn unreached_lately(&self) -> Option<String> {
        let unreached = lock(&self.unreached).clone();
        unreached.filter(|(at, _)| at.elapsed() < LATELY).map(|(_, why)| why)
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        // A listener that expects TLS or a user closes the connection, and the client reports that only in its log.
        if expected(line).is_some() {
            // Leaves out the name of the client's thread.
            let reason = line.split_once("]: ").map_or(line, |(_, reason)| reason);
            self.failed(reason);
        }
        Log.log(level, facility, line);
    }

    fn error(&self, error: rdkafka::error::KafkaError, reason: &str) {
        let ClientError { name, .. } = ClientError::of_kafka(&error);
        if matches!(name.as_str(), "_AUTHENTICATION" | "_SSL") {
            let refused = ClientError { name, text: reason.to_owned() };
            *lock(&self.refused) = Some(refused);
        } else if name != "_ALL_BROKERS_DOWN" {
            self.failed(reason);
        }
        Log.error(error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<Delivery>;

    fn delivery(&self, result: &DeliveryResult<'_>, delivery: Box<Delivery>) {
        let result = match result {
            Ok(message) => u64::try_from(message.offset()).map(Revision).map_err(|_| Failure::Unknown),
            Err((error, _)) => Err(failure(&ClientError::of_kafka(error))),
        };
        // If the campaign is over, the answer has no receiver.
        let _ =
            delivery.answers.send(Report::Answer(Reported::Published { attempt: delivery.attempt, result }));
    }
}

/// The setting that may help if a broker could not be reached for this reason.
pub(super) fn remedy(settings: &KafkaSettings, why: &str) -> &'static str {
    match expected(why) {
        Some(Expected::Tls) if !settings.uses_tls() => {
            "; it probably requires TLS: write kafkas:// instead of kafka://"
        }
        Some(Expected::User) if !settings.authenticates() => {
            "; it probably requires a user and a password: write user:password@ before the first host"
        }
        _ if why.contains(ALERT) => "; it requires TLS: write kafkas:// instead of kafka://",
        _ if why.contains("Invalid response size") => "; that is not a Kafka broker",
        _ if why.contains("PLAINTEXT broker listener") => {
            "; it has no TLS: write kafka:// instead of kafkas://"
        }
        _ => "",
    }
}

/// What a listener may expect that the client's settings lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Tls,
    User,
}

/// The age in milliseconds from which a connection is no longer new. A broker that asks for neither TLS nor a user
/// keeps a new connection for longer (2 s, as librdkafka counts).
const NEW: u64 = 2000;

/// What a listener probably expected when it closed a new connection, from the client's log line about that: TLS if the
/// listener could not read the first request, and a user if it answered only that request.
fn expected(line: &str) -> Option<Expected> {
    // `Disconnected: connection closed by peer: … (after 2ms in state UP, 1 identical error(s) suppressed)`.
    let (_, after) = line.split_once("Disconnected")?.1.rsplit_once("(after ")?;
    let (millis, state) = after.split_once("ms in state ")?;
    let is_new = millis.parse::<u64>().is_ok_and(|millis| millis < NEW);
    match state.split([',', ')']).next()? {
        "APIVERSION_QUERY" => Some(Expected::Tls),
        "UP" if is_new => Some(Expected::User),
        _ => None,
    }
}

/// Why there is no connection to the brokers, with the setting that may help.
fn refusal(ClientError { name, text }: &ClientError) -> String {
    let remedy = if name == "_AUTHENTICATION" {
        "correct the user and the password (user:password@ before the first host), or the mechanism (`sasl`)"
    } else if text.contains("certificate required") || text.contains("bad certificate") {
        "the brokers require a client certificate: set ssl.certificate.location and ssl.key.location"
    } else {
        "set ssl.ca.location to the authority that signed the brokers' certificates"
    };
    format!("the brokers cannot be used: {text}; {remedy}")
}

/// The lock is never held while other code runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_closes_a_new_connection_expects_tls_or_a_user() {
        let closed = |state: &str| {
            expected(&format!(
                "[thrd:10.0.0.1:9092/bootstrap]: 10.0.0.1:9092/bootstrap: Disconnected: connection closed by peer: \
                 receive 0 after POLLIN (after {state})"
            ))
        };
        assert_eq!(closed("2ms in state APIVERSION_QUERY"), Some(Expected::Tls));
        assert_eq!(closed("2ms in state UP, 1 identical error(s) suppressed"), Some(Expected::User));
        assert_eq!(closed("2000ms in state UP"), None);
        assert_eq!(closed("2ms in state SSL_HANDSHAKE"), None);
        assert_eq!(
            expected("10.0.0.1:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused"),
            None
        );
    }
}
