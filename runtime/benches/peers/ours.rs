//! A candidate of this library in a separate process, which prints what happens like the programs of `lab/interop`.

use std::io::BufRead as _;
use std::thread;
use std::time::Duration;

use incumbent::{CampaignOptions, Candidate, Clock, Event, Instant, Preset, Store};
use serde_json::json;
use tokio::sync::mpsc;

use crate::side::{LED, QUESTIONS};

/// The settings of a candidate.
pub(crate) struct Setup<'a> {
    pub(crate) url: &'a str,
    pub(crate) election: &'a str,
    pub(crate) name: &'a str,
    /// The lease; `None` for the default of its store.
    pub(crate) lease: Option<Duration>,
    /// True if the candidate is polled whether it leads.
    pub(crate) is_asked: bool,
}

/// Campaigns until its input ends, or until the order `close`. The other orders are `resign`, after which the candidate
/// stays in the election, and `campaign`, after which it reports that it waits.
pub(crate) async fn campaign(setup: Setup<'_>) {
    let clock = Clock::system();
    let name = setup.name.to_owned();
    let report_at = move |at: Instant, event: &str| {
        println!("{}", json!({"t": at.as_nanos(), "name": name, "event": event}));
    };
    let report = |event: &str| report_at(clock.now(), event);
    let store = Store::open(setup.url).await.expect("the store is there");
    let mut options = CampaignOptions::new().name(setup.name).splay(Duration::ZERO);
    if let Some(lease) = setup.lease {
        let preset = if lease < Duration::from_secs(5) { Preset::Fast } else { Preset::Standard };
        options = options.preset(preset).lease(lease);
    }
    let candidate = store.campaign(setup.election, options).await.expect("sound settings");
    let mut events = candidate.events();
    let mut orders = orders();
    let mut reports_waiting = true;
    report("campaigning");
    if setup.is_asked {
        let (candidate, clock, report_at) = (candidate.clone(), clock.clone(), report_at.clone());
        thread::spawn(move || ask(&candidate, &clock, report_at));
    }
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
                Some("close") => {
                    report("closing");
                    candidate.close().await.expect("closed once");
                    report("closed");
                    break;
                }
                Some(other) => panic!("no order: {other:?}"),
                None => break,
            },
        }
    }
    store.close().await.expect("closed once");
}

/// Returns true if the candidate knows that another leads.
fn waits(candidate: &Candidate) -> bool {
    candidate.leader().is_some_and(|leader| leader.name != candidate.name())
}

/// Polls whether the candidate leads. Once the answer is no, reports the time of the last yes. The clock is read before
/// the question, so the answer was true at that time or later, however long the process is stopped in between.
fn ask(candidate: &Candidate, clock: &Clock, report_at: impl Fn(Instant, &str)) {
    let mut last = None;
    loop {
        let at = clock.now();
        if candidate.is_leader() {
            last = Some(at);
        } else if let Some(last) = last.take() {
            report_at(last, LED);
        }
        thread::sleep(QUESTIONS);
    }
}

/// The lines of the standard input.
pub(crate) fn orders() -> mpsc::UnboundedReceiver<String> {
    let (send, receive) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}
