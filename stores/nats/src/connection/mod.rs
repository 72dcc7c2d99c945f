//! One dedicated connection, and requests over it.
//!
//! This module corrects two habits of the client. The client queues messages while it is disconnected and sends them
//! later, so this module gives it none then, and answers [`NoAnswer::NotConnected`]. And the client keeps a request
//! waiting when its connection is lost, so in this module every wait ends with the connection.

pub(crate) mod event;
mod probe;
pub(crate) mod rotation;
pub(crate) mod waiting;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::client::Request;
use async_nats::connection::State;
use async_nats::jetstream::{self, context::ContextBuilder};
use async_nats::{
    AuthError, Client, ConnectError, ConnectErrorKind, ConnectOptions, HeaderMap, Message, ReconnectToServer,
    RequestErrorKind, ServerAddr, Statistics, Subject,
};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use self::event::ConnectionEvent;
use self::rotation::Rotation;
use self::waiting::{Cancelled, Waiting};
use crate::config::settings::{NatsSettings, shown};
use incumbent_store::{Error, ErrorKind, Result, threads};

/// The longest wait between two attempts to connect, which is the project's limit for retries.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// A connection with its own client, which nothing else uses.
pub(crate) struct Connection {
    client: Client,
    jetstream: jetstream::Context,
    waiting: Arc<Waiting>,
    link: watch::Receiver<Link>,
    closed: Arc<AtomicBool>,
    /// The shortest known lease, in nanoseconds, which limits the time that a new connection may take.
    lease: Arc<AtomicU64>,
}

/// The client's present connection, according to its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    /// The number of connections so far, by the client's own count, so that a lost event has no lasting effect.
    pub(crate) number: u64,
    /// True if the newest connection is up.
    pub(crate) up: bool,
}

/// The reason why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// There is no connection; nothing was sent.
    NotConnected,
    /// The subject has no subscriber; nothing was delivered.
    NoResponders,
    /// The client refused to send the request.
    NotSendable(String),
    /// The connection was lost; the request may have been delivered.
    Disconnected,
    /// A permission is missing: to publish on the subject.
    PublishDenied { subject: String, certain: bool },
    /// A permission is missing: to subscribe to the replies.
    RepliesDenied { subject: String },
}

impl Connection {
    /// Connects, and waits for a server unless `fail_fast` is set.
    pub(crate) async fn open(settings: &NatsSettings) -> Result<Self> {
        settings.check_files()?;
        let rotation = Arc::new(Mutex::new(Rotation::default()));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let error = match Self::attempt(settings, &rotation).await {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            let all_tried = attempts >= settings.servers.len();
            if error.kind() != ErrorKind::StoreUnavailable || (settings.fail_fast && all_tried) {
                return Err(error);
            }
            settings.listener.notify(ConnectionEvent::Failed { detail: error.message().to_string() });
            // There is no pause until each server has been tried once.
            tokio::time::sleep(delay((attempts + 2).saturating_sub(settings.servers.len()))).await;
        }
    }

    /// Tries the next server.
    ///
    /// The client's own `retry_on_initial_connect` is not used: it would continue in the background after the caller
    /// has stopped waiting.
    async fn attempt(settings: &NatsSettings, rotation: &Arc<Mutex<Rotation>>) -> Result<Self> {
        threads::ready().await?;
        let waiting = Arc::new(Waiting::default());
        let closed = Arc::new(AtomicBool::new(false));
        let (link_sender, link) = watch::channel(Link::default());
        // The client's counters, once the first connection is up.
        let statistics = Arc::new(OnceLock::<Arc<Statistics>>::new());
        let lease = Arc::new(AtomicU64::new(nanos(settings.lease())));
        let known = Known { closed: closed.clone(), statistics: statistics.clone(), lease: lease.clone() };
        let options = choosing(options(settings), settings, rotation, known);
        let options = options.event_callback({
            let (waiting, listener) = (waiting.clone(), settings.listener.clone());
            let statistics = statistics.clone();
            let rotation = rotation.clone();
            move |event| {
                let server = || lock(&rotation).last().map(shown).unwrap_or_default();
                let event = ConnectionEvent::of(&event, server);
                if let Some(subject) = event.as_ref().and_then(ConnectionEvent::of_a_request_for_candidates) {
                    tracing::debug!(
                        "this connection and others cannot see each other's candidates: {subject} is \
                         denied"
                    );
                    waiting.deny_request_for_candidates(subject);
                } else if let Some(event) = event {
                    waiting.on_event(&event);
                    link_sender.send_modify(|link| match event {
                        ConnectionEvent::Connected { .. } => {
                            let number =
                                statistics.get().map_or(1, |all| all.connects.load(Ordering::Relaxed));
                            *link = Link { number, up: true };
                        }
                        ConnectionEvent::Disconnected => link.up = false,
                        _ => {}
                    });
                    listener.notify(event);
                }
                std::future::ready(())
            }
        });
        let client = options.connect(settings.servers.as_slice()).await.map_err(|error| {
            let kind = match error.kind() {
                ConnectErrorKind::Authentication => ErrorKind::Authentication,
                ConnectErrorKind::AuthorizationViolation => ErrorKind::PermissionDenied,
                ConnectErrorKind::ServerParse => ErrorKind::InvalidUrl,
                ConnectErrorKind::Dns
                | ConnectErrorKind::TimedOut
                | ConnectErrorKind::Tls
                | ConnectErrorKind::Io
                | ConnectErrorKind::MaxReconnects => ErrorKind::StoreUnavailable,
            };
            let server = lock(rotation).last().map(shown).unwrap_or_default();
            let message = match kind {
                ErrorKind::PermissionDenied => {
                    format!("NATS refuses our credentials at {server}: check user, token, nkey or creds")
                }
                ErrorKind::Authentication => {
                    format!("cannot sign the nonce from NATS at {server}: check nkey or creds")
                }
                _ => format!("cannot connect to NATS at {server}: {}", cause(&error, settings)),
            };
            Error::new(kind, message).caused_by(error)
        })?;
        // The value is set only here, so this cannot fail.
        let _ = statistics.set(client.statistics());
        let jetstream = match &settings.api_prefix {
            Some(prefix) => ContextBuilder::new().api_prefix(prefix).build(client.clone()),
            None => jetstream::new(client.clone()),
        };
        Ok(Self { client, jetstream, waiting, link, closed, lease })
    }

    /// Takes the bucket's lease into account for the time that may be spent on each address.
    pub(crate) fn shorten_lease(&self, max_age: Duration) {
        if !max_age.is_zero() {
            self.lease.fetch_min(nanos(max_age), Ordering::Relaxed);
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    /// The number of connections so far. Unlike [`Link::number`], it does not lag behind.
    pub(crate) fn number(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// Follows the client's connection.
    pub(crate) fn link(&self) -> watch::Receiver<Link> {
        self.link.clone()
    }

    /// Returns true if a message sent now would go out at once.
    pub(crate) fn is_usable(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && self.client.connection_state() == State::Connected
    }

    /// Sends a request, and waits for the answer for as long as one can come.
    pub(crate) async fn ask(
        &self,
        subject: impl Into<Subject>,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, NoAnswer> {
        let subject = subject.into();
        // The caller bounds the wait.
        let request = Request { payload: Some(payload), headers, timeout: Some(None), inbox: None };
        let answer = self.client.send_request(subject.clone(), request);
        self.await_answer(&subject, answer).await?.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => NoAnswer::NoResponders,
            RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                NoAnswer::NotSendable(error.to_string())
            }
            RequestErrorKind::TimedOut | RequestErrorKind::Other => NoAnswer::Disconnected,
        })
    }

    /// Drives a request that the client sends on `subject`, and abandons it once no answer can come.
    pub(crate) async fn await_answer<F: Future>(
        &self,
        subject: &Subject,
        request: F,
    ) -> Result<F::Output, NoAnswer> {
        if !self.is_usable() {
            return Err(NoAnswer::NotConnected);
        }
        let mut ticket = self.waiting.note(self.number(), subject.clone());
        let request = pin!(request);
        tokio::select! {
            biased;
            answer = request => {
                ticket.answered();
                Ok(answer)
            }
            why = ticket.cancelled() => Err(match why {
                Cancelled::Disconnected => NoAnswer::Disconnected,
                Cancelled::PublishDenied { certain } => {
                    NoAnswer::PublishDenied { subject: subject.to_string(), certain }
                }
                Cancelled::RepliesDenied { subject } => NoAnswer::RepliesDenied { subject },
            }),
        }
    }

    /// Replaces the present connection by a new one, and waits until it is up.
    pub(crate) async fn renew(&self) {
        let before = self.number();
        // If the client is already reconnecting, another reconnection would only break the new connection.
        if self.is_usable() && self.client.force_reconnect().await.is_err() {
            return;
        }
        let mut link = self.link();
        // An error means that the client has ended.
        let _ = link.wait_for(|link| link.up && link.number > before).await;
    }

    /// Ends the connection, even for streams that still use the client.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // An error means that the connection has already ended.
        let _ = self.client.drain().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
    }
}

fn options(settings: &NatsSettings) -> ConnectOptions {
    let credentials = settings.credentials.clone();
    let mut options = ConnectOptions::with_auth_callback(move |nonce| {
        let credentials = credentials.clone();
        async move {
            spawn_blocking(move || credentials.answer(&nonce))
                .await
                .map_err(AuthError::new)?
                .map_err(|error| AuthError::new(error.message()))
        }
    })
    .name(settings.client_name.as_deref().unwrap_or("incumbent"))
    .connection_timeout(settings.connect_timeout)
    .ping_interval(settings.effective_ping_interval())
    .request_timeout(None)
    .require_tls(settings.wants_tls())
    .reconnect_delay_callback(delay);
    if settings.tls_first {
        options = options.tls_first();
    }
    if let Some(ca) = &settings.files.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &settings.files.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    if let Some(prefix) = &settings.inbox_prefix {
        options = options.custom_inbox_prefix(prefix);
    }
    // A cluster advertises its plain addresses, not those of its websockets.
    if !settings.discover || settings.servers.iter().any(ServerAddr::is_websocket) {
        options = options.ignore_discovered_servers();
    }
    options
}

/// The knowledge that a reconnection needs.
struct Known {
    /// The connection is closed and must not be renewed.
    closed: Arc<AtomicBool>,
    /// The client's counters, once the first connection is up.
    statistics: Arc<OnceLock<Arc<Statistics>>>,
    /// The shortest lease, in nanoseconds.
    lease: Arc<AtomicU64>,
}

/// Makes the client connect to the server that [`Rotation`] chooses and, after the first connection, only to a server
/// that answers.
fn choosing(
    options: ConnectOptions,
    settings: &NatsSettings,
    rotation: &Arc<Mutex<Rotation>>,
    Known { closed, statistics, lease }: Known,
) -> ConnectOptions {
    let rotation = rotation.clone();
    let (connect_timeout, tls_first) = (settings.connect_timeout, settings.tls_first);
    options.reconnect_to_server_callback(move |pool, _| {
        let closed = closed.load(Ordering::Acquire);
        let order = lock(&rotation).order(&pool);
        let was_connected = statistics.get().is_some();
        let limit = probe::limit(Duration::from_nanos(lease.load(Ordering::Relaxed)), connect_timeout);
        let rotation = rotation.clone();
        async move {
            if closed {
                // The client offers no other way to stop its reconnection.
                std::future::pending::<()>().await;
            }
            let addr = match was_connected {
                true => probe::choose(order, |server| probe::answers(server, tls_first, limit)).await?,
                // The first connection is not probed, because a failed attempt itself reports the reason.
                false => order.into_iter().next()?,
            };
            lock(&rotation).try_now(&addr, &pool);
            Some(ReconnectToServer { addr, delay: None })
        }
    })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn lock(rotation: &Mutex<Rotation>) -> MutexGuard<'_, Rotation> {
    rotation.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The wait before the attempt of that number. It is zero before the first, then 50 ms, doubled up to a second, ±20 %
/// so that many clients do not reconnect at once.
fn delay(attempt: usize) -> Duration {
    let Some(exponent) = attempt.checked_sub(2) else { return Duration::ZERO };
    let full = Duration::from_millis(50) * 2_u32.saturating_pow(exponent.min(10) as u32);
    // Without random numbers all clients reconnect at once, which is harmless.
    let spread = getrandom::u32().unwrap_or(u32::MAX / 2) % 401;
    full.min(LONGEST_DELAY) * (800 + spread) / 1000
}

/// The reason for which there is no connection, and what to check.
fn cause(error: &ConnectError, settings: &NatsSettings) -> String {
    let text = chain(error);
    let remedy = match error.kind() {
        ConnectErrorKind::TimedOut => {
            return format!(
                "nothing answered like a NATS server within {:?}; check the host and the port",
                settings.connect_timeout
            );
        }
        ConnectErrorKind::Dns => "check the host",
        // The server's first bytes were not TLS.
        _ if text.contains("InvalidContentType") => "the server does not use TLS there; write nats://",
        _ if text.contains("certificate") => "check tls_ca, tls_cert and tls_key",
        _ => "check the host and the port",
    };
    format!("{text}; {remedy}")
}

/// The message of an error and of its causes, because the client's own message has only the error's kind.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_spaced_further_and_further_up_to_a_second() {
        assert_eq!(delay(0), Duration::ZERO);
        assert_eq!(delay(1), Duration::ZERO);
        for (attempt, full) in [(2, 50), (3, 100), (5, 400), (7, 1000), (1000, 1000)] {
            let wait = delay(attempt).as_millis() as u64;
            assert!((full * 8 / 10..=full * 12 / 10).contains(&wait), "{attempt}: {wait} ms");
        }
    }
}
