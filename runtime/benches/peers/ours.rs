//! A candidate of this library in a process of its own, which prints what happens as the programs of `tests/interop` do.

use std::io::BufRead as _;
use std::time::Duration;

use incumbent::{CampaignOptions, Candidate, Clock, Event, Preset, Store};
use serde_json::json;
use tokio::sync::mpsc;

/// Campaigns until its input ends. Its orders are `resign`, and `campaign`, after which it reports that it waits: it
/// stays in the election when it resigns.
pub(crate) async fn campaign(url: &str, election: &str, name: &str, lease: Duration, preset: Preset) {
    let clock = Clock::system();
    let report = |event: &str| {
        println!("{}", json!({"t": clock.now().as_nanos(), "name": name, "event": event}));
    };
    let store = Store::open(url).await.expect("the store is there");
    let options = CampaignOptions::new().name(name).preset(preset).lease(lease).splay(Duration::ZERO);
    let candidate = store.campaign(election, options).await.expect("sound settings");
    let mut events = candidate.events();
    let mut orders = orders();
    let mut reports_waiting = true;
    report("campaigning");
    loop {
        if reports_waiting && waits(&candidate) {
            report("waiting");
            reports_waiting = false;
        }
        tokio::select! {
            event = events.next() => match event {
                Some(Event::Won(_)) => report("elected"),
                Some(_) => {}
                None => return,
            },
            order = orders.recv() => match order.as_deref() {
                Some("resign") => {
                    report("resigning");
                    candidate.resign().await.expect("it leads");
                    report("resigned");
                }
                Some("campaign") => reports_waiting = true,
                Some(other) => panic!("no order: {other:?}"),
                None => break,
            },
        }
    }
    store.close().await.expect("closed once");
}

/// Returns true if the candidate knows that another one leads.
fn waits(candidate: &Candidate) -> bool {
    candidate.leader().is_some_and(|leader| leader.name != candidate.name())
}

/// The lines of the standard input.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (send, receive) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}
