//! The connection events of NATS, for the hub and for the log.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Request, Requests};
use crate::store::nats::ConnectionEvent;

/// Reports every connection to the hub, and logs the rest. Does not keep the hub alive.
pub(super) fn listener(requests: &Requests) -> impl Fn(ConnectionEvent) + Send + Sync + use<> {
    let hub = requests.sender.as_ref().map(|sender| sender.downgrade());
    let failing = AtomicBool::new(false);
    move |event| match event {
        ConnectionEvent::Connected { .. } => {
            failing.store(false, Ordering::Relaxed);
            if let Some(hub) = hub.as_ref().and_then(|hub| hub.upgrade()) {
                // A hub that has ended needs no connection.
                let _ = hub.send(Request::Connected);
            }
        }
        ConnectionEvent::Disconnected => tracing::debug!("the connection to the store is gone"),
        ConnectionEvent::ServerLeaving => tracing::debug!("the store's server will shut down soon"),
        // One line for each outage, not for each attempt.
        ConnectionEvent::Failed { detail } if !failing.swap(true, Ordering::Relaxed) => {
            tracing::warn!("the store cannot be reached, and is tried again: {detail}");
        }
        ConnectionEvent::Failed { detail } => tracing::debug!("the store cannot be reached: {detail}"),
        ConnectionEvent::NotAuthorized { detail } => {
            tracing::error!("the store does not accept these credentials: {detail}");
        }
        ConnectionEvent::NotPermitted { action, subject } => {
            tracing::error!("a permission is missing: allow {action:?} on {subject:?}");
        }
    }
}
