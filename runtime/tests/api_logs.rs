//! A leader logs its terms, and a healthy waiting candidate logs nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests panic as tests do"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use incumbent::{CampaignOptions, Preset, Store};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::Registry;

/// A lease that does not end just because the machine is busy.
const LEASE: Duration = Duration::from_secs(10);

type Fields = BTreeMap<&'static str, String>;

/// All log lines of this process. One subscriber serves all tests, because the interest in a line is cached per
/// process.
static KEPT: LazyLock<Mutex<Vec<(tracing::Level, Fields)>>> = LazyLock::new(|| {
    tracing::subscriber::set_global_default(Registry::default().with(Keep)).unwrap();
    Mutex::default()
});

struct Keep;

impl<S: tracing::Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Visit(Fields);
        impl tracing::field::Visit for Visit {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
                self.0.insert(field.name(), format!("{value:?}"));
            }
            fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
                self.0.insert(field.name(), value.to_owned());
            }
        }
        let mut visit = Visit(Fields::new());
        event.record(&mut visit);
        KEPT.lock().unwrap().push((*event.metadata().level(), visit.0));
    }
}

/// The log lines of one candidate, or of none.
fn logged(candidate: &str) -> Vec<(tracing::Level, Fields)> {
    let kept = KEPT.lock().unwrap();
    let is_of = |fields: &Fields| fields.get("candidate").is_none_or(|name| name == candidate);
    kept.iter().filter(|(_, fields)| is_of(fields)).cloned().collect()
}

fn above_debug(candidate: &str) -> Vec<Fields> {
    let logged = logged(candidate).into_iter();
    logged.filter(|(level, _)| *level < tracing::Level::DEBUG).map(|(_, fields)| fields).collect()
}

fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Test).lease(LEASE).splay(Duration::ZERO)
}

async fn soon<F: IntoFuture>(work: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it takes too long")
}

async fn until(mut done: impl FnMut() -> bool) {
    soon(async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_candidate_that_waits_and_is_well_logs_nothing_above_debug() {
    LazyLock::force(&KEPT);
    let store = Store::open("memory:").await.unwrap();
    let leader = store.campaign("jobs", options("leader")).await.unwrap();
    let term = soon(leader.next_term()).await.unwrap();
    let standby = store.campaign("jobs", options("standby")).await.unwrap();
    until(|| standby.leader().is_some()).await;
    // Two renewals later.
    let goal = term.deadline() + LEASE / 2;
    until(|| term.deadline() > goal).await;
    soon(standby.close()).await.unwrap();
    soon(store.close()).await.unwrap();
    assert_eq!(above_debug("standby"), [] as [Fields; 0]);
    assert!(logged("standby").iter().any(|(_, fields)| fields.contains_key("candidate")));
}

#[tokio::test]
async fn a_term_is_logged_when_it_begins_and_when_it_ends() {
    LazyLock::force(&KEPT);
    let store = Store::open("memory:").await.unwrap();
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let token = soon(candidate.next_term()).await.unwrap().token().to_string();
    // Once the store is closed, the subscriber has received all lines.
    soon(store.close()).await.unwrap();
    let reported = |message: &str| -> Fields {
        let fields = [("message", message), ("election", "jobs"), ("candidate", "a"), ("term", &*token)];
        fields.map(|(name, text)| (name, text.to_owned())).into_iter().collect()
    };
    assert_eq!(above_debug("a"), [reported("won"), reported("lost: closed")]);
}
