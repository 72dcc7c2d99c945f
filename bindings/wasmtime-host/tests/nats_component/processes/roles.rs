//! The roles of child processes that run this test binary again.

use std::process::Command;
use std::time::Duration;

use incumbent::Clock;
use incumbent::incumbent_core::campaign::{Event, Preset, Settings};
use incumbent_wasmtime::{Campaigner, Host, Stores};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::compiled::compiled;

/// The variable with the arguments of a child.
const ARGUMENTS: &str = "INCUMBENT_TEST_ARGUMENTS";
/// The interval at which a leader writes that it leads.
const INTERVAL: Duration = Duration::from_millis(5);

/// Returns the command for a child in this role.
pub(crate) fn command(role: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1"]);
    command.arg(format!("processes::roles::{role}"));
    command.env(ARGUMENTS, arguments.join("\n"));
    command
}

/// Returns the arguments of this role; `None` outside of a child.
fn arguments() -> Option<Vec<String>> {
    let arguments = std::env::var(ARGUMENTS).ok()?;
    // The test harness leaves its first line unfinished.
    println!();
    Some(arguments.lines().map(str::to_owned).collect())
}

/// Reads the clock that Python calls monotonic and Node high-resolution, in nanoseconds.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

#[test]
#[ignore = "it is the role of a child that another test starts"]
fn work_that_continues_while_it_lives() {
    if arguments().is_none() {
        return;
    }
    let token = std::env::var("INCUMBENT_TOKEN").unwrap();
    loop {
        let now = now();
        println!("{}", json!({ "event": "leads", "token": token, "before": now, "after": now }));
        std::thread::sleep(INTERVAL);
    }
}

#[test]
#[ignore = "it is the role of a child that another test starts"]
fn component_that_campaigns() {
    let Some(arguments) = arguments() else { return };
    let [url, key, name] = arguments.try_into().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(campaign(url, key, name));
}

async fn campaign(url: String, key: String, name: String) {
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    let clock = Clock::system();
    let host = Host::new().unwrap();
    let campaigner =
        Campaigner::from_component(&host, &compiled(host.engine(), "incumbent-campaigner")).unwrap();
    let store = incumbent::store::open(&url, &clock).await.unwrap();
    let stores = Stores::new(clock).with("elections", store);
    let settings = Settings { preset: Preset::Fast, ..Settings::new(name) };
    let election = campaigner.campaign(&stores, "elections", &key, settings).await.unwrap();
    println!("{}", json!({ "event": "ready" }));
    let mut records = tokio::time::interval(INTERVAL);
    loop {
        tokio::select! {
            event = election.next() => match event {
                None => return,
                Some(Event::Draining { .. }) => election.drained(),
                Some(_) => {}
            },
            _ = terminated.recv() => election.close(),
            _ = records.tick() => {
                let before = now();
                if let Some(token) = election.token() {
                    let token = token.to_string();
                    println!("{}", json!({ "event": "leads", "token": token, "before": before, "after": now() }));
                }
            }
        }
    }
}
