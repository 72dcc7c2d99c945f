//! The driver's link to a bucket: the adapter's link, with a connection whose events are reported and logged.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Nats;
use super::config::settings::NatsSettings;
use super::connection::event::ConnectionEvent;
use crate::Result;
use crate::store::RecordLink;
use crate::store::seam::{CONNECTION, Reports};

/// The interval at which a fault that only a person can remove is logged again (10 min).
const RARELY: Duration = Duration::from_secs(600);

/// Connects to the bucket. The notifier calls the user's listener.
///
/// # Errors
/// Those of [`Nats::open`].
pub(crate) async fn connect(settings: &NatsSettings, reports: Reports) -> Result<RecordLink> {
    let (users, notifier) = (settings.listener.clone(), reports.notifier.clone());
    let log = logged();
    let connected = Arc::clone(&reports.connected);
    let settings = settings.clone().on_event(move |event| {
        if users.is_there() {
            let (users, event) = (users.clone(), event.clone());
            notifier.notify(move || users.notify(event));
        }
        log(&event);
        if matches!(event, ConnectionEvent::Connected { .. }) {
            connected();
        }
    });
    let nats = Nats::open(&settings, &reports.clock).await?;
    Ok(RecordLink::new(Box::new(nats), reports))
}

/// Logs the events of a connection.
fn logged() -> impl Fn(&ConnectionEvent) + Send + Sync {
    let failing = AtomicBool::new(false);
    // Every attempt would report it again, so it is logged only rarely.
    let reported: Mutex<HashMap<String, Instant>> = Mutex::default();
    let report = move |message: String| {
        let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.get(&message).is_some_and(|at| at.elapsed() < RARELY) {
            tracing::debug!(target: CONNECTION, "still: {message}");
        } else {
            tracing::error!(target: CONNECTION, "{message}");
            reported.insert(message, Instant::now());
        }
    };
    move |event| match event {
        ConnectionEvent::Connected { .. } => failing.store(false, Ordering::Relaxed),
        ConnectionEvent::Disconnected => {
            tracing::debug!(target: CONNECTION, "the connection to the store is lost")
        }
        ConnectionEvent::ServerLeaving => {
            tracing::debug!(target: CONNECTION, "the store's server will shut down soon")
        }
        // Logs one line for each outage, not for each attempt.
        ConnectionEvent::Failed { detail } if !failing.swap(true, Ordering::Relaxed) => {
            tracing::warn!(target: CONNECTION, "the store cannot be reached, trying again: {detail}");
        }
        ConnectionEvent::Failed { detail } => {
            tracing::debug!(target: CONNECTION, "the store cannot be reached: {detail}")
        }
        ConnectionEvent::NotAuthorized { detail } => {
            report(format!("the store does not accept these credentials: {detail}"));
        }
        ConnectionEvent::NotPermitted { action, subject } => {
            report(format!("a permission is missing: allow {action:?} on {subject:?}"));
        }
    }
}
