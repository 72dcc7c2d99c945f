//! Implements `Settings` for a NATS bucket, for the driver and the tools.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use incumbent_store::link::{CONNECTION, Reports};
use incumbent_store::selectors::Selector;
use incumbent_store::{
    Adapter, Clock, Error, ErrorKind, Examination, InitOptions, InitReport, Permissions, RecordLink, Result,
    Role, Settings, StoreAdmin,
};
use serde_json::json;

use crate::admin::init as admin;
use crate::admin::permissions::permissions;
use crate::admin::survey::{Survey, survey};
use crate::config::names;
use crate::config::settings::NatsSettings;
use crate::connection::event::ConnectionEvent;
use crate::{Nats, doctor};

/// The interval at which a fault that only a person can remove is logged again (10 min).
const RARELY: Duration = Duration::from_secs(600);

/// The default lease of a new bucket.
const LEASE: Duration = Duration::from_secs(30);

/// The most attempts to examine a bucket whose servers do not answer.
const SURVEYS: u32 = 4;

impl Settings for NatsSettings {
    type Link = RecordLink;

    fn from_url(url: &str) -> Result<Self> {
        Self::from_url(url)
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        self.selectors().collect()
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
        options.of_whole_store()?;
        let asked = |lease: Duration, replicas: u32| {
            let asked = admin::InitOptions::new(lease)
                .replicas(replicas)
                .markers(options.markers)
                .own_leases(options.own_leases)
                .never_used(options.never_used)
                .update(options.update);
            match options.max_bytes {
                Some(bytes) => asked.max_bytes(bytes),
                None => asked,
            }
        };
        asked(options.lease.unwrap_or(LEASE), options.replicas.unwrap_or(1)).check()?;
        let existing = match (options.lease, options.replicas) {
            (Some(_), Some(_)) => None,
            // A bucket that could not be examined may exist, so the default lease and replicas must not be assumed.
            _ => existing(self).await?,
        };
        // An existing bucket keeps its values of the settings that the options leave out.
        let lease = options.lease.or_else(|| existing.as_ref()?.max_age).unwrap_or(LEASE);
        let replicas =
            options.replicas.or_else(|| existing.as_ref().map(|bucket| bucket.replicas)).unwrap_or(1);
        let admin::InitReport { created, updated, differences } =
            admin::init(self, &asked(lease, replicas)).await?;
        let stated = options.never_used || existing.is_some_and(|bucket| bucket.info.never_used);
        let mut report = InitReport::default();
        (report.created, report.updated, report.differences) = (created, updated, differences);
        report.lease = Some(lease);
        report.never_used = stated && report.is_ready();
        Ok(report)
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

/// The existing bucket; `None` if there is none. The request is repeated if need be, because a cluster that has just
/// elected a leader loses requests.
async fn existing(settings: &NatsSettings) -> Result<Option<Survey>> {
    let settings = settings.clone().fail_fast(true);
    let mut tries = 1..SURVEYS;
    loop {
        match survey(&settings, &Clock::system()).await {
            Ok(existing) => return Ok(Some(existing)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::StoreUnavailable && tries.next().is_some() => {}
            Err(error) => return Err(error),
        }
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
