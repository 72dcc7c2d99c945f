//! A candidate on this library, in a separate process. The process is this test binary, with its settings in the
//! environment. It prints its events as lines of JSON, like the Go candidate.

use std::process::Command;
use std::time::Duration;

use incumbent::{CampaignOptions, Event, Instant, Preset, Store, Term};
use incumbent_testkit::json::JsonProgram;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

const URL: &str = "INCUMBENT_TEST_URL";
const KEY: &str = "INCUMBENT_TEST_KEY";
const NAME: &str = "INCUMBENT_TEST_NAME";

/// The interval at which a leader checks whether it leads.
const LOOK: Duration = Duration::from_millis(1);

pub(crate) fn start(url: &str, key: &str, name: &str) -> JsonProgram {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "candidate::part_of_a_child"]);
    command.envs([(URL, url), (KEY, key), (NAME, name)]);
    JsonProgram::on_stdout(command)
}

#[test]
#[ignore = "other tests start it as a child process"]
fn part_of_a_child() {
    let Ok(url) = std::env::var(URL) else { return };
    let (key, name) = (std::env::var(KEY).unwrap(), std::env::var(NAME).unwrap());
    // Ends the line that the test harness has begun.
    println!();
    tokio::runtime::Runtime::new().unwrap().block_on(campaign(&url, &key, &name));
}

/// A term, and the last time at which the candidate found it current.
struct Leading {
    term: Term,
    seen: Instant,
}

async fn campaign(url: &str, key: &str, name: &str) {
    let mut asked = signal(SignalKind::terminate()).unwrap();
    println!("{}", json!({ "name": name, "event": "ready" }));
    let store = Store::open(url).await.unwrap();
    let clock = store.clock().clone();
    let options = CampaignOptions::new().name(name).preset(Preset::Fast);
    let candidate = store.campaign(key, options).await.unwrap();
    let mut events = candidate.events();
    let mut looks = tokio::time::interval(LOOK);
    let mut leading: Option<Leading> = None;
    loop {
        tokio::select! {
            biased;
            event = events.next() => match event {
                None => break,
                Some(Event::Won(term)) => {
                    let at = term.started();
                    println!("{}", line(name, "won", at, &term));
                    leading = Some(Leading { term, seen: at });
                }
                Some(Event::Draining { term, .. }) => term.drained(),
                Some(Event::Lost { term, .. }) => {
                    // The reported time is the last one at which the candidate led, rather than now, because the event
                    // may have taken a while to arrive.
                    let seen = leading.take().filter(|leading| leading.term == term).unwrap().seen;
                    println!("{}", line(name, "lost", seen, &term));
                }
                Some(_) => {}
            },
            _ = asked.recv() => drop(candidate.request_close()),
            _ = looks.tick() => if let Some(leading) = &mut leading {
                let now = clock.now();
                if leading.term.is_current() {
                    leading.seen = now;
                }
            },
        }
    }
    store.close().await.unwrap();
}

fn line(name: &str, event: &str, at: Instant, term: &Term) -> serde_json::Value {
    json!({ "at": at.as_nanos(), "name": name, "event": event, "token": term.token().to_string() })
}
