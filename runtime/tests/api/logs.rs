//! What is logged: a leader's terms, and nothing of a candidate that waits and is well.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use incumbent::store::{Memory, MemorySettings};
use incumbent::{Clock, Store};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::Registry;

use crate::support::{LEASE, options, soon, until};

type Fields = BTreeMap<&'static str, String>;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(tracing::Level, Fields)>>>);

impl Kept {
    fn above_debug(&self) -> Vec<Fields> {
        let kept = self.0.lock().unwrap();
        kept.iter().filter(|(level, _)| *level < tracing::Level::DEBUG).map(|(_, f)| f.clone()).collect()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Kept {
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
        self.0.lock().unwrap().push((*event.metadata().level(), visit.0));
    }
}

/// A store on `memory` whose logs are kept.
fn logged(memory: &Memory, clock: &Clock) -> (Store, Kept) {
    let kept = Kept::default();
    let _default = tracing::subscriber::set_default(Registry::default().with(kept.clone()));
    (Store::from_adapter(Box::new(memory.clone()), clock.clone()).unwrap(), kept)
}

#[tokio::test]
async fn a_candidate_that_waits_and_is_well_logs_nothing_above_debug() {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let other = Store::from_adapter(Box::new(memory.clone()), clock.clone()).unwrap();
    let leader = other.campaign("jobs", options("leader")).await.unwrap();
    let term = soon(leader.won()).await.unwrap();
    let (store, kept) = logged(&memory, &clock);
    let standby = store.campaign("jobs", options("standby")).await.unwrap();
    until(|| standby.leader().is_some()).await;
    let goal = term.deadline() + 2 * LEASE;
    until(|| term.deadline() > goal).await;
    soon(standby.close()).await.unwrap();
    assert_eq!(kept.above_debug(), [] as [Fields; 0]);
    let all = kept.0.lock().unwrap();
    assert!(all.iter().any(|(_, fields)| fields.get("candidate").is_some_and(|name| name == "standby")));
}

#[tokio::test]
async fn a_term_is_logged_when_it_begins_and_when_it_ends() {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let (store, kept) = logged(&memory, &clock);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let token = soon(candidate.won()).await.unwrap().token().to_string();
    soon(candidate.close()).await.unwrap();
    let told = |message: &str| -> Fields {
        let fields = [("message", message), ("election", "jobs"), ("candidate", "a"), ("term", &*token)];
        fields.map(|(name, text)| (name, text.to_owned())).into_iter().collect()
    };
    assert_eq!(kept.above_debug(), [told("won"), told("lost: closed")]);
}
