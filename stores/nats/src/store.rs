//! Implements `Settings` for a NATS bucket, for the driver and the tools.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use incumbent_store::link::{CONNECTION, Reports};
use incumbent_store::selectors::{Selector, named};
use incumbent_store::{
    Adapter, Clock, Error, ErrorKind, Examination, InitOptions, InitReport, Permissions, RecordLink, Result,
    Role, Settings, StoreAdmin,
};
use serde_json::json;

use crate::adapter::Nats;
use crate::admin::init::init;
use crate::admin::permissions::permissions;
use crate::config::context::Environment;
use crate::config::names;
use crate::config::settings::NatsSettings;
use crate::config::url;
use crate::connection::event::ConnectionEvent;
use crate::doctor;

/// The interval at which a fault that only a person can remove is logged again (10 min).
const RARELY: Duration = Duration::from_secs(600);

impl Settings for NatsSettings {
    type Link = RecordLink;

    fn from_url(url: &str) -> Result<Self> {
        url::read(url, &Environment::of_process())
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        let prefix = self.api_prefix.as_deref().unwrap_or_default();
        let domain = prefix.strip_prefix("$JS.").and_then(|rest| rest.strip_suffix(".API"));
        let subjects = domain.map_or(("api_prefix", prefix), |domain| ("domain", domain));
        named("bucket", &self.bucket).chain(named(subjects.0, subjects.1)).collect()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        names::check_key(key)
    }

    /// Connects to the bucket. The connection's events are reported and logged, and the notifier calls the user's
    /// listener.
    async fn connect(&self, reports: Reports) -> Result<RecordLink> {
        let (users, notifier) = (self.listener.clone(), reports.notifier.clone());
        let log = logged();
        let connected = Arc::clone(&reports.connected);
        let settings = self.clone().on_event(move |event| {
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

    async fn adapter(&self, clock: &Clock) -> Result<Box<dyn Adapter>> {
        Ok(Box::new(Nats::open(self, clock).await?))
    }

    async fn admin(&self, clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        Ok(Box::new(Nats::open(self, clock).await?))
    }

    async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        init(self, options).await
    }

    async fn examine(&self) -> Result<Examination> {
        doctor::examine(self).await
    }

    /// The subjects that a user needs, in the syntax of the server's configuration or as claims of a JWT.
    fn permissions(&self, role: Role, elections: &[&str]) -> Result<Option<Permissions>> {
        if role == Role::Candidate && elections.is_empty() {
            let message = "a candidate's permissions name its elections: give their keys";
            return Err(Error::new(ErrorKind::InvalidName, message));
        }
        let subjects = permissions(self, role, elections)?;
        let list = |what: &str, subjects: &[String]| {
            let first = format!("  {what}: {{ allow: [");
            let subjects = subjects.iter().map(|subject| format!("    \"{subject}\""));
            [first].into_iter().chain(subjects).chain(["  ] }".into()]).collect::<Vec<_>>()
        };
        let mut lines = vec!["permissions: {".to_owned()];
        lines.extend(list("publish", &subjects.publish));
        lines.extend(list("subscribe", &subjects.subscribe));
        lines.push("}".into());
        let json = json!({ "pub": { "allow": subjects.publish }, "sub": { "allow": subjects.subscribe } });
        Ok(Some(Permissions { lines, json }))
    }

    fn fail_fast(self, fail_fast: bool) -> Self {
        self.fail_fast(fail_fast)
    }

    fn expected_lease(self, lease: Duration) -> Self {
        self.expected_lease(lease)
    }
}

/// Logs the events of a connection.
fn logged() -> impl Fn(&ConnectionEvent) + Send + Sync {
    let failing = AtomicBool::new(false);
    // Every attempt would report the same fault again, so it is logged only rarely.
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
