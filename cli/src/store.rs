//! The choice of the store, and opening it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use incumbent::store::nats::ConnectionEvent;
use incumbent::store::{NatsSettings, StoreSettings};
use incumbent::{Error, ErrorKind, Store, StoreBuilder};
use tokio::time::{sleep, sleep_until};

use crate::failure::Failure;
use crate::output::span;
use crate::stderr::{notice, warn};

/// The options of every command that select the store.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store: memory:, sqlite:FILE, nats://HOST:4222/BUCKET or etcd://HOST:2379/PREFIX
    // Its value may hold a password, which must not appear in `--help`.
    #[arg(long, help_heading = "Store", value_name = "URL", env = "INCUMBENT_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// A context of the `nats` tool, for servers and credentials that the URL leaves out; without --store, the bucket
    /// ELECTIONS there
    #[arg(long, help_heading = "Store", value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Whether a store that does not answer is an error; by default candidates wait for it. A command that reads or
    /// acts once waits for at most 10 s
    #[arg(long, help_heading = "Store")]
    pub(crate) fail_fast: bool,
}

/// The bucket if a context is given but no URL.
const USUAL_BUCKET: &str = "ELECTIONS";

impl StoreArgs {
    /// The URL, including the context; `None` if neither is given.
    pub(crate) fn url(&self) -> Option<String> {
        match (&self.store, &self.context) {
            (Some(url), None) => Some(url.clone()),
            (None, Some(context)) => Some(format!("nats:///{USUAL_BUCKET}?context={}", encoded(context))),
            (Some(url), Some(context)) => Some(with_parameter(url, "context", &encoded(context))),
            (None, None) => None,
        }
    }

    /// The settings in the URL.
    pub(crate) fn settings(&self) -> Result<StoreSettings, Failure> {
        let url = self.url().ok_or_else(|| {
            Failure::usage(
                "no store given: give --store URL (such as sqlite:elections.db, \
                 nats://127.0.0.1:4222/ELECTIONS or etcd://127.0.0.1:2379/app), or set INCUMBENT_STORE",
            )
        })?;
        Ok(url.parse()?)
    }

    /// The settings for a command that only reads, for which a missing file is an error.
    pub(crate) fn settings_to_look(&self) -> Result<StoreSettings, Failure> {
        Ok(match self.settings()? {
            StoreSettings::Sqlite(settings) => StoreSettings::Sqlite(settings.create(false).read_only(true)),
            settings => settings,
        })
    }

    /// The settings for a command that only reads one election. An invalid key is refused without waiting for the
    /// store.
    pub(crate) fn settings_of(&self, key: &str) -> Result<StoreSettings, Failure> {
        let settings = self.settings_to_look()?;
        settings.check_election(key)?;
        Ok(settings)
    }

    /// Opens the store. If it does not answer, waits for it and reports that on the standard error.
    pub(crate) async fn open(
        &self,
        builder: StoreBuilder,
        settings: StoreSettings,
    ) -> Result<Store, Failure> {
        self.open_reporting(builder, settings, &ConnectionReports::default()).await
    }

    /// Opens the store, and reports the connection's warnings through `reports`.
    pub(crate) async fn open_reporting(
        &self,
        builder: StoreBuilder,
        settings: StoreSettings,
        reports: &ConnectionReports,
    ) -> Result<Store, Failure> {
        let builder = builder.fail_fast(self.fail_fast);
        let waits = !self.fail_fast;
        Ok(self.attempts(builder, settings, reports, Limit::NONE, waits).await?.store)
    }

    /// Tries to open the store, again and again if the command waits for that. Reports the wait with its cause.
    async fn attempts(
        &self,
        builder: StoreBuilder,
        settings: StoreSettings,
        reports: &ConnectionReports,
        limit: Limit,
        waits: bool,
    ) -> Result<Answered, Failure> {
        let settings = match settings.fail_fast(true) {
            StoreSettings::Nats(settings) => {
                StoreSettings::Nats(Box::new(report_warnings(*settings, reports.clone())))
            }
            settings => settings,
        };
        let place = self.url().as_deref().map(shown).unwrap_or_default();
        reports.waits_for(&format!("{place} has not answered yet"));
        let (mut late, mut pause) = (false, FIRST_PAUSE);
        let mut patient = pin!(sleep(REPORT_AFTER));
        loop {
            let mut attempt = pin!(builder.clone().open_settings(settings.clone()));
            let opened = loop {
                tokio::select! {
                    opened = &mut attempt => break opened,
                    () = &mut patient, if waits && !late => {
                        late = true;
                        reports.notice(&format!("waiting for the store: {}", reports.cause()));
                    }
                    () = limit.over() => return Err(limit.unanswered(&reports.cause())),
                }
            };
            let error = match opened {
                Ok(store) => {
                    if late {
                        reports.notice("the store answers");
                    }
                    reports.is_open();
                    return Ok(Answered { store, late });
                }
                Err(error) => error,
            };
            if error.kind() != ErrorKind::StoreUnavailable || !waits {
                return Err(error.into());
            }
            reports.waits_for(&Failure::from(error).to_string());
            if !std::mem::replace(&mut late, true) {
                reports.notice(&format!("waiting for the store: {}", reports.cause()));
            }
            tokio::select! {
                () = sleep(pause) => pause = (2 * pause).min(LONGEST_PAUSE),
                () = limit.over() => return Err(limit.unanswered(&reports.cause())),
            }
        }
    }
}

/// The options of a command that reads or acts once.
///
/// It waits only briefly for a store that does not answer: a person or a script waits for the command, and the request
/// may be wrong by the time the store answers.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OnceArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Wait as long as it takes for a store that does not answer. By default the command ends with exit code 3 after 10
    /// s, with --fail-fast at once. After such a wait an action must be confirmed again
    #[arg(long, help_heading = "Store")]
    wait_for_store: bool,
}

/// A store, opened by a command that reads or acts once.
pub(crate) struct Answered {
    pub(crate) store: Store,
    /// True if the store did not answer at first, so that what the command was asked to do may be out of date.
    pub(crate) late: bool,
}

impl OnceArgs {
    /// Opens the store within this limit, and within 10 s.
    ///
    /// # Errors
    /// `StoreUnavailable` if the store does not answer in time, with the cause.
    pub(crate) async fn open(&self, settings: StoreSettings, limit: Limit) -> Result<Answered, Failure> {
        let limit = if self.wait_for_store { limit } else { limit.or(Limit::of_store()) };
        let waits = self.wait_for_store || !self.store.fail_fast;
        let (builder, reports) = (Store::builder(), ConnectionReports::once());
        self.store.attempts(builder, settings, &reports, limit, waits).await
    }
}

/// The longest time for which a command that reads or acts once waits for the store, and a candidate that does not
/// wait.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The pause between two attempts to open a store that does not answer: at first, and after several attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The time by which a command ends, counted from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    time: Duration,
    /// `None` if that time is too far away to matter.
    until: Option<Instant>,
}

impl Limit {
    /// The limit of a command that has none.
    pub(crate) const NONE: Self = Self { time: Duration::MAX, until: None };

    /// Returns the limit that is this long from now.
    pub(crate) fn of(time: Duration) -> Self {
        Self { time, until: Instant::now().checked_add(time) }
    }

    /// Returns the limit of a wait for the store, for a command that reads or acts once.
    pub(crate) fn of_store() -> Self {
        Self::of(LONGEST_WAIT)
    }

    /// The earlier one.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self.until, other.until) {
            (Some(ours), Some(theirs)) if theirs < ours => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    /// Returns this limit, moved by the time for which the command waited for a person.
    pub(crate) fn later(self, by: Duration) -> Self {
        Self { until: self.until.and_then(|until| until.checked_add(by)), ..self }
    }

    /// Returns at the limit. Cancel-safe.
    pub(crate) async fn over(self) {
        match self.until {
            Some(until) => sleep_until(until.into()).await,
            None => std::future::pending().await,
        }
    }

    /// The failure of a command whose store did not answer in time.
    pub(crate) fn unanswered(self, cause: &str) -> Failure {
        let text = format!("the store did not answer within {}: {cause}", span(self.time));
        Error::new(ErrorKind::StoreUnavailable, text).into()
    }
}

/// The time after which a store that does not answer is reported.
const REPORT_AFTER: Duration = Duration::from_secs(3);

/// Reports a connection's warnings on the standard error, until stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionReports(Arc<Reported>);

#[derive(Debug, Default)]
struct Reported {
    is_stopped: AtomicBool,
    /// Whether a loss of the connection is reported, which is true once it has been up.
    is_open: AtomicBool,
    /// True for a command that ends with the next failure.
    is_once: bool,
    /// The cause for which the store has not been opened yet.
    cause: Mutex<String>,
}

impl ConnectionReports {
    /// Returns reports for a command that reads or acts once. If the connection is lost later, the command's request
    /// fails and reports that.
    fn once() -> Self {
        Self(Arc::new(Reported { is_once: true, ..Reported::default() }))
    }

    /// Stops reporting, because the terminal shows something else.
    pub(crate) fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }

    /// The cause for which the store has not been opened yet.
    pub(crate) fn cause(&self) -> String {
        self.0.cause.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn waits_for(&self, cause: &str) {
        cause.clone_into(&mut self.0.cause.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The connection was made.
    fn is_open(&self) {
        self.0.is_open.store(!self.0.is_once, Ordering::Relaxed);
    }

    fn reports_losses(&self) -> bool {
        self.0.is_open.load(Ordering::Relaxed)
    }

    fn notice(&self, text: &str) {
        if !self.0.is_stopped.load(Ordering::Relaxed) {
            notice(text);
        }
    }

    fn warn(&self, text: &str) {
        if !self.0.is_stopped.load(Ordering::Relaxed) {
            warn(text);
        }
    }
}

/// The time after which a permission that is still missing is reported again (10 min).
const RARELY: Duration = Duration::from_secs(600);
/// A connection that is lost again within this time is not reported again (10 s).
const FLAPPING: Duration = Duration::from_secs(10);

/// Reports missing permissions on the standard error, and when a connection is lost and restored, in one line each.
fn report_warnings(settings: NatsSettings, reports: ConnectionReports) -> NatsSettings {
    let is_waiting = AtomicBool::new(false);
    let said = Said::default();
    settings.on_event(move |event| match event {
        ConnectionEvent::NotPermitted { action, subject } => {
            let missing = format!("a permission is missing: allow {action:?} on {subject:?}");
            if said.is_new(&missing, RARELY) {
                reports.warn(&missing);
            }
        }
        _ if !reports.reports_losses() => {}
        ConnectionEvent::Connected { .. } if is_waiting.swap(false, Ordering::Relaxed) => {
            reports.notice("the store answers");
        }
        ConnectionEvent::Failed { detail } | ConnectionEvent::NotAuthorized { detail }
            if !is_waiting.load(Ordering::Relaxed) && said.is_new("waiting", FLAPPING) =>
        {
            is_waiting.store(true, Ordering::Relaxed);
            reports.notice(&format!("waiting for the store: {detail}"));
        }
        _ => {}
    })
}

/// The time at which each line was last written.
#[derive(Debug, Default)]
struct Said(Mutex<HashMap<String, Instant>>);

impl Said {
    /// Returns true if the line has not been written within that time, and counts it as written now.
    fn is_new(&self, line: &str, after: Duration) -> bool {
        let now = Instant::now();
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = said.get(line).is_none_or(|at| now.duration_since(*at) >= after);
        if is_new {
            said.insert(line.to_owned(), now);
        }
        is_new
    }
}

/// Returns true if the elections of the store are queues, whose places are written once and never renewed.
pub(crate) fn is_queue(settings: &StoreSettings) -> bool {
    matches!(settings, StoreSettings::Etcd(_))
}

/// Whether the elections of the store are consumer groups.
pub(crate) fn is_kafka(settings: &StoreSettings) -> bool {
    #[cfg(feature = "kafka")]
    return matches!(settings, StoreSettings::Kafka(_));
    #[cfg(not(feature = "kafka"))]
    return {
        let _ = settings;
        false
    };
}

/// A URL to show: without credentials, and without parameters, which may hold credentials.
pub(crate) fn shown(url: &str) -> String {
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    let Some((scheme, rest)) = place.split_once("://") else { return place.to_owned() };
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let bare: Vec<&str> = hosts.split(',').map(|host| host.rsplit('@').next().unwrap_or(host)).collect();
    format!("{scheme}://{}/{path}", bare.join(","))
}

fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{name}={value}")
}

/// A text, encoded for a URL. Letters and digits stay as they are.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let piece = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(store: Option<&str>, context: Option<&str>) -> StoreArgs {
        StoreArgs { store: store.map(Into::into), context: context.map(Into::into), fail_fast: false }
    }

    #[test]
    fn a_context_becomes_part_of_the_url() {
        let url = |store, context| args(store, context).url();
        assert_eq!(url(None, None), None);
        assert_eq!(url(Some("sqlite:e.db"), None).as_deref(), Some("sqlite:e.db"));
        assert_eq!(url(None, Some("prod")).as_deref(), Some("nats:///ELECTIONS?context=prod"));
        assert_eq!(url(Some("nats:///JOBS"), Some("a b")).as_deref(), Some("nats:///JOBS?context=a%20b"));
        assert_eq!(
            url(Some("nats://h/JOBS?tls_first=true"), Some("x")).as_deref(),
            Some("nats://h/JOBS?tls_first=true&context=x")
        );
    }

    #[test]
    fn credentials_are_not_shown() {
        assert_eq!(shown("nats://me:secret@a:4222,you:pw@b/JOBS?token=x"), "nats://a:4222,b/JOBS");
        assert_eq!(shown("nats://a/JOBS"), "nats://a/JOBS");
        assert_eq!(shown("etcds://me:secret@a:2379,b/app?tls_key=k"), "etcds://a:2379,b/app");
        assert_eq!(shown("sqlite:/var/e.db?poll=5ms"), "sqlite:/var/e.db");
        assert_eq!(shown("memory:"), "memory:");
    }
}
