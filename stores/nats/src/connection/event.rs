//! The events of a connection.

use std::fmt;
use std::sync::Arc;

use async_nats::{ClientError, Event, ServerError};

use crate::candidates::subjects::is_request_for_candidates;

/// A change of the connection, reported as it happens.
///
/// Requests do not depend on these events: a request that can get no answer ends on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// A connection was established, either the first or a later one. Earlier knowledge of the store may be outdated.
    Connected {
        /// The server, without credentials.
        server: String,
    },
    /// The connection is lost. The client will connect again.
    Disconnected,
    /// A server could not be reached, or refused the connection. Another attempt follows.
    Failed {
        /// The error, without credentials.
        detail: String,
    },
    /// The server does not accept the credentials, or no longer accepts them.
    NotAuthorized {
        /// The server's message.
        detail: String,
    },
    /// A permission is missing. Requests that need it go unanswered until an operator grants it.
    NotPermitted {
        /// The denied action.
        action: Action,
        /// The subject to allow.
        subject: String,
    },
    /// The server will shut down soon.
    ServerLeaving,
}

/// The actions that a permission allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// To send to a subject.
    Publish,
    /// To receive from a subject.
    Subscribe,
}

/// The listener for events.
#[derive(Clone, Default)]
pub(crate) struct Listener(Option<Arc<dyn Fn(ConnectionEvent) + Send + Sync>>);

impl Listener {
    pub(crate) fn new(listener: impl Fn(ConnectionEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn notify(&self, event: ConnectionEvent) {
        if let Some(listener) = &self.0 {
            listener(event);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "listener" } else { "none" })
    }
}

impl ConnectionEvent {
    /// Converts the client's event; `None` for irrelevant events. `server` is the last server tried.
    pub(crate) fn of(event: &Event, server: impl FnOnce() -> String) -> Option<Self> {
        match event {
            Event::Connected => Some(Self::Connected { server: server() }),
            Event::Disconnected => Some(Self::Disconnected),
            Event::LameDuckMode => Some(Self::ServerLeaving),
            Event::ServerError(ServerError::AuthorizationViolation) => {
                Some(Self::NotAuthorized { detail: "authorization violation".into() })
            }
            Event::ServerError(ServerError::Other(text)) => Some(Self::of_server_error(text)),
            // For a failed connection attempt, the client reports only the name of the error's kind.
            Event::ClientError(ClientError::Other(kind)) if kind == "authorization violation" => {
                Some(Self::NotAuthorized { detail: kind.clone() })
            }
            Event::ClientError(error) => Some(Self::Failed { detail: error.to_string() }),
            // A slow subscriber loses messages; the watch notices the gap.
            Event::ServerError(ServerError::SlowConsumer(_))
            | Event::SlowConsumer(_)
            | Event::Draining
            | Event::Closed => None,
        }
    }

    /// The subject of a request for candidates that this event denies. Such a denial deserves no warning: its only
    /// effect is that candidates do not see each other across connections.
    pub(crate) fn of_a_request_for_candidates(&self) -> Option<&str> {
        match self {
            Self::NotPermitted { subject, .. } => Some(&**subject).filter(|on| is_request_for_candidates(on)),
            _ => None,
        }
    }

    fn of_server_error(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        if let Some((_, what)) = lower.split_once("permissions violation for ") {
            // The subject's case matters, so it is taken from the original.
            let subject = text.split('"').nth(1).unwrap_or_default().to_string();
            // "Publish with Reply of" concerns the reply subject, to which the client must be allowed to subscribe.
            let publish = what.starts_with("publish to ");
            let action = if publish { Action::Publish } else { Action::Subscribe };
            return Self::NotPermitted { action, subject };
        }
        let about_us = ["authentication", "authorization", "credentials", "account"];
        if about_us.iter().any(|word| lower.contains(word)) {
            return Self::NotAuthorized { detail: text.to_string() };
        }
        Self::Failed { detail: text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_server(text: &str) -> ConnectionEvent {
        ConnectionEvent::of(&Event::ServerError(ServerError::Other(text.into())), String::new).unwrap()
    }

    #[test]
    fn a_missing_permission_is_reported_with_its_subject() {
        assert_eq!(
            of_server("Permissions Violation for Publish to \"$KV.Elections.a\""),
            ConnectionEvent::NotPermitted { action: Action::Publish, subject: "$KV.Elections.a".into() }
        );
        assert_eq!(
            of_server("Permissions Violation for Subscription to \"_INBOX.x.*\" (sid \"0\")"),
            ConnectionEvent::NotPermitted { action: Action::Subscribe, subject: "_INBOX.x.*".into() }
        );
        assert_eq!(
            of_server("Permissions Violation for Publish with Reply of \"_INBOX.x.y\""),
            ConnectionEvent::NotPermitted { action: Action::Subscribe, subject: "_INBOX.x.y".into() }
        );
    }

    #[test]
    fn what_is_denied_of_a_request_for_candidates_is_distinguished() {
        let of_roll = |text: &str| of_server(text).of_a_request_for_candidates().map(str::to_owned);
        let subject = "_incumbent.roll.Elections";
        for what in ["Publish to", "Subscription to"] {
            let denied = of_roll(&format!("Permissions Violation for {what} \"{subject}\""));
            assert_eq!(denied.as_deref(), Some(subject));
        }
        for text in [
            "Permissions Violation for Publish to \"$KV.Elections._incumbent.roll.x\"",
            "Permissions Violation for Subscription to \"_INBOX.x.*\"",
            "User Authentication Expired",
        ] {
            assert_eq!(of_roll(text), None, "{text}");
        }
    }

    #[test]
    fn credentials_that_are_no_longer_valid_are_reported_as_that() {
        for text in
            ["User Authentication Expired", "Account Authentication Expired", "Authentication Revoked"]
        {
            assert_eq!(of_server(text), ConnectionEvent::NotAuthorized { detail: text.into() });
        }
    }

    #[test]
    fn anything_else_a_server_says_is_a_failure() {
        let text = "maximum connections exceeded";
        assert_eq!(of_server(text), ConnectionEvent::Failed { detail: text.into() });
    }
}
