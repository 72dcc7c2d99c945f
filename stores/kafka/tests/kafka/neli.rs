//! The crate `incumbent_neli`: goNELI's integration test with one node and with four, and what the constructor refuses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use incumbent::ErrorKind;
use incumbent_neli::{Config, Event, Neli, PulseError, Pulser, State};
use incumbent_testkit::kafka::shared::Shared;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::support::{LIMIT, LONG, broker, election, open, until};

/// Members of one group, and what their barriers saw: the event, and the number of leaders at the call.
struct Nodes {
    broker: Arc<Shared>,
    group: String,
    live: Arc<Mutex<Vec<Neli>>>,
    seen: Arc<Mutex<Vec<(Event, usize)>>>,
    calls: Arc<AtomicUsize>,
    pulsers: Vec<Pulser>,
    listed: Vec<watch::Sender<bool>>,
}

fn leaders(live: &Mutex<Vec<Neli>>) -> usize {
    live.lock().unwrap().iter().filter(|neli| neli.state() == State::Live && neli.is_leader()).count()
}

fn config(broker: &Shared, group: &str) -> Config {
    Config::new()
        .kafka("bootstrap.servers", broker.address())
        .leader_group(group)
        .leader_topic(format!("{group}.topic"))
        .heartbeat_timeout(LONG)
}

impl Nodes {
    fn new(name: &str) -> Self {
        Self {
            broker: broker(),
            group: election(name),
            live: Arc::default(),
            seen: Arc::default(),
            calls: Arc::default(),
            pulsers: Vec::new(),
            listed: Vec::new(),
        }
    }

    async fn start(&mut self, number: usize, compatible: bool) {
        let (live, seen) = (Arc::clone(&self.live), Arc::clone(&self.seen));
        let config = config(&self.broker, &self.group).name(format!("neli-#{number}")).compatible(compatible);
        let (listed, is_listed) = watch::channel(false);
        let config = config.barrier(move |event| {
            let (live, seen, mut is_listed) = (Arc::clone(&live), Arc::clone(&seen), is_listed.clone());
            async move {
                // A member may lead before the test has put it into the list of members.
                is_listed.wait_for(|listed| *listed).await.unwrap();
                let count = leaders(&live);
                seen.lock().unwrap().push((event, count));
            }
        });
        let neli = timeout(LIMIT, Neli::new(config)).await.unwrap().unwrap();
        self.live.lock().unwrap().push(neli.clone());
        listed.send_replace(true);
        self.listed.push(listed);
        let calls = Arc::clone(&self.calls);
        self.pulsers.push(neli.background(move |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(10))
        }));
    }

    async fn one_leads(&self) {
        until("one of them leads", async || leaders(&self.live) == 1).await;
    }
}

async fn nodes_that_come_and_go_never_lead_together(count: usize, compatible: bool) {
    let mut nodes = Nodes::new("neli");
    let watching = open(&nodes.broker.address(), "").await;
    for number in 1..=count {
        nodes.start(number, compatible).await;
        let group = &nodes.group;
        // A coordinator that has just begun to serve refuses queries for a moment.
        let members = async || watching.candidates(group).await.ok().flatten().unwrap_or_default().len();
        until("all are members", async || members().await == number).await;
        nodes.one_leads().await;
    }
    let all: Vec<_> = nodes.live.lock().unwrap().clone();
    for (number, neli) in all.iter().enumerate() {
        timeout(LIMIT, neli.close()).await.unwrap().unwrap();
        timeout(LIMIT, neli.closed()).await.unwrap();
        assert_eq!((neli.state(), neli.is_leader()), (State::Closed, false));
        if number + 1 < count {
            nodes.one_leads().await;
        }
    }
    for pulser in &nodes.pulsers {
        timeout(LIMIT, pulser.ended()).await.unwrap().unwrap();
    }
    let seen = nodes.seen.lock().unwrap().clone();
    for (event, leaders) in &seen {
        assert_eq!(*leaders, usize::from(*event == Event::Acquired), "{seen:?}");
    }
    let acquired = seen.iter().filter(|(event, _)| *event == Event::Acquired).count();
    assert!(acquired >= 1 && 2 * acquired == seen.len(), "every acquisition ends once: {seen:?}");
    assert!(nodes.calls.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn one_node_leads_until_it_is_closed() {
    nodes_that_come_and_go_never_lead_together(1, true).await;
}

#[tokio::test]
async fn four_nodes_that_are_closed_in_order_never_lead_together() {
    nodes_that_come_and_go_never_lead_together(4, true).await;
}

#[tokio::test]
async fn four_nodes_without_gonelis_assignors_never_lead_together() {
    nodes_that_come_and_go_never_lead_together(4, false).await;
}

#[tokio::test]
async fn a_pulse_is_timed_and_after_a_close_it_is_an_error_of_its_own() {
    let (broker, group) = (broker(), election("pulse"));
    let first = timeout(LIMIT, Neli::new(config(&broker, &group).compatible(false))).await.unwrap().unwrap();
    assert!(first.pulse(LIMIT).await.unwrap());
    let term = first.candidate().term().expect("it leads");
    assert!(first.is_leader() && term.remaining() <= LONG);
    drop(term);
    let second = timeout(LIMIT, Neli::new(config(&broker, &group).compatible(false).name("second"))).await;
    let second = second.unwrap().unwrap();
    assert!(!second.pulse(Duration::from_millis(10)).await.unwrap());
    timeout(LIMIT, first.close()).await.unwrap().unwrap();
    assert!(matches!(first.pulse(LIMIT).await, Err(PulseError::NotLive)));
    assert!(second.pulse(LIMIT).await.unwrap());
    timeout(LIMIT, second.close()).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_goneli_refuses_is_refused_before_a_connection_is_tried() {
    let nowhere = || Config::new().kafka("bootstrap.servers", "127.0.0.1:1").leader_group("jobs");
    for (config, part) in [
        (nowhere().min_poll_interval(Duration::ZERO), "min_poll_interval"),
        (nowhere().kafka("group.id", "another"), "cannot override"),
        (nowhere().kafka("linger.ms", "5"), "cannot override"),
        (nowhere().kafka("foo", "bar"), "foo"),
        (nowhere().name("some%thing"), "some%thing"),
    ] {
        let refused = timeout(LIMIT, Neli::new(config)).await.expect("at once").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidSetting, "{refused}");
        assert!(refused.message().contains(part), "{refused}");
    }
}
