//! Measures the cost of a campaign in a component to its host. With the argument `languages`, the calls that
//! `cargo xtask bench languages` compares with those of other languages: the same as `runtime/benches/languages.rs`, as
//! far as a component has them. A component delivers no events: a step returns them.

#![allow(clippy::expect_used, reason = "a benchmark that cannot run says why")]

use std::time::{Duration, Instant};

use incumbent::Clock;
use incumbent_testkit::figure::Figure;
use incumbent_testkit::tools::component;
use incumbent_wasmtime::{Bounded, Host, Limits, Provides, Provision, Stores, add_to_linker, interruptible};
use serde_json::{Value, json};
use wasmtime::Store;
use wasmtime::component::{Component, Linker, ResourceAny};

mod bindings {
    #![allow(missing_docs, unused_qualifications, clippy::all, reason = "generated")]
    wasmtime::component::bindgen!({ path: "wit", world: "campaigner", exports: { default: async } });
}

use bindings::exports::incumbent::election::elections::StepResult;
use bindings::incumbent::election as wit;
use bindings::{Campaigner, CampaignerPre};
use settings::defaults;
use wit::events::Event;
use wit::settings::CampaignSettings;

#[path = "../examples/worker/src/settings.rs"]
mod settings;

/// Calls in a run, and the number of runs. The quickest run counts.
const CALLS: u32 = 10_000;
const RUNS: usize = 100;
const STEPS: usize = 20_000;
const INSTANTIATIONS: usize = 500;
const INSTANCES: usize = 1_000;

struct Guest {
    store: Store<Bounded<Provision>>,
    world: Campaigner,
    election: ResourceAny,
}

struct Bench {
    host: Host,
    pre: CampaignerPre<Bounded<Provision>>,
    stores: Stores,
}

impl Bench {
    fn store(&self) -> Store<Bounded<Provision>> {
        interruptible(self.host.engine(), Provision::new(self.stores.clone(), Limits::default()))
    }

    async fn campaign(&self, key: &str) -> Guest {
        let mut store = self.store();
        let world = self.pre.instantiate_async(&mut store).await.expect("it is of its world");
        let elections = world.incumbent_election_elections().candidate();
        let lease = Some(Duration::from_secs(3600).as_nanos() as u64);
        let settings = CampaignSettings { lease, splay: Some(0), ..defaults("bench") };
        let made = elections.call_campaign(&mut store, "elections", key, &settings).await;
        let election = made.expect("no trap").expect("sound settings");
        Guest { store, world, election }
    }
}

impl Guest {
    async fn step(&mut self) -> StepResult {
        self.store.data_mut().provision().computed().begin();
        let elections = self.world.incumbent_election_elections().candidate();
        elections.call_step(&mut self.store, self.election, 0).await.expect("no trap")
    }

    async fn is_leader(&mut self) -> bool {
        self.store.data_mut().provision().computed().begin();
        let elections = self.world.incumbent_election_elections().candidate();
        elections.call_is_leader(&mut self.store, self.election).await.expect("no trap")
    }

    /// Steps until the candidate leads and nothing is left to do.
    async fn settle(&mut self, clock: &Clock) {
        let mut leads = false;
        loop {
            let result = self.step().await;
            leads |= result.events.iter().any(|event| matches!(event, Event::Won(_)));
            let wake = incumbent::Instant::from_nanos(result.wake_at.expect("the campaign continues"));
            let idle = wake.since(clock.now());
            if leads && idle > Duration::from_secs(1) {
                return;
            }
            clock.sleep_until(wake).await;
        }
    }
}

/// The resident memory of this process, in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("Rss:")).expect("it has a line for it");
    let kilobytes: f64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kilobytes * 1024.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bytes = std::fs::read(component("incumbent-campaigner").expect("it is built")).expect("it is there");
    let clock = Clock::system();
    let memory = incumbent::store::open("memory:", &clock).await.expect("always there");
    let host = Host::new().expect("an engine");
    let precompiled = host.engine().precompile_component(&bytes).expect("a component");
    // SAFETY: precompiled a line above, by this very engine.
    #[allow(unsafe_code, reason = "made a line above, by this very engine")]
    let compiled = unsafe { Component::deserialize(host.engine(), &precompiled) }.expect("just compiled");
    let mut linker = Linker::new(host.engine());
    add_to_linker(&mut linker).expect("nothing is there yet");
    let pre = linker.instantiate_pre(&compiled).and_then(CampaignerPre::new).expect("it is of its world");
    let bench = Bench { host, pre, stores: Stores::new(clock.clone()).with("elections", memory) };

    if std::env::args().any(|argument| argument == "languages") {
        eprintln!("    a component in Wasmtime");
        let figures = [is_leader(&bench, &clock).await];
        println!("{}", serde_json::to_string(&figures).expect("plain numbers"));
        return;
    }
    let mut figures = Vec::new();
    eprintln!("{STEPS} steps of a leader with nothing to do");
    figures.push(steps(&bench, &clock).await);
    eprintln!("{INSTANTIATIONS} instantiations");
    figures.push(instantiations(&bench).await);
    eprintln!("{INSTANCES} instances");
    figures.push(instances(&bench).await);
    println!("{}", serde_json::to_string(&figures).expect("plain numbers"));
}

/// The time of one call, in the quickest of many short runs.
async fn is_leader(bench: &Bench, clock: &Clock) -> Figure {
    let mut guest = bench.campaign("calls").await;
    guest.settle(clock).await;
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let began = Instant::now();
        for _ in 0..CALLS {
            assert!(guest.is_leader().await, "it leads all the time");
        }
        least = least.min(began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    Figure::plain("is_leader()", least, "ns", RUNS)
}

async fn steps(bench: &Bench, clock: &Clock) -> Value {
    let mut guest = bench.campaign("steps").await;
    guest.settle(clock).await;
    let mut sample = Sample::default();
    for _ in 0..STEPS {
        let began = Instant::now();
        guest.step().await;
        sample.add(began.elapsed());
    }
    let p50 = sample.percentile(50).as_secs_f64() * 1e6;
    at_most("step without I/O, p50", p50, "µs", 5.0, STEPS)
}

async fn instantiations(bench: &Bench) -> Value {
    let mut sample = Sample::default();
    for _ in 0..INSTANTIATIONS {
        let began = Instant::now();
        let mut store = bench.store();
        bench.pre.instantiate_async(&mut store).await.expect("it is of its world");
        sample.add(began.elapsed());
    }
    let p50 = sample.percentile(50).as_secs_f64() * 1e3;
    at_most("instantiation, precompiled, p50", p50, "ms", 1.0, INSTANTIATIONS)
}

/// A thousand campaigns, each in its own election and stepped a few times.
async fn instances(bench: &Bench) -> Value {
    let before = resident();
    let mut guests = Vec::new();
    for number in 0..INSTANCES {
        let mut guest = bench.campaign(&format!("jobs-{number}")).await;
        for _ in 0..8 {
            guest.step().await;
        }
        guests.push(guest);
    }
    let used = (resident() - before) / 1e6;
    at_most("1,000 instances, resident", used, "MB", 100.0, guests.len())
}

/// The line of the result for a figure with a limit.
fn at_most(figure: &str, value: f64, unit: &str, goal: f64, samples: usize) -> Value {
    json!({
        "figure": figure, "value": value, "unit": unit,
        "goal": {"most": goal}, "samples": samples,
    })
}

/// Measured durations.
#[derive(Default)]
struct Sample(Vec<Duration>);

impl Sample {
    fn add(&mut self, span: Duration) {
        self.0.push(span);
    }

    /// Returns the smallest duration that `percent` of all do not exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let place = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len());
        sorted[place - 1]
    }
}
