//! Interruptions that no fault explains: times in which the store took no writes from an independent client on every
//! server, and times in which the machine had no processor time left.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream;
use incumbent::Clock;
use incumbent_testkit::etcd::takes_a_write;
use tokio::task::JoinSet;

use crate::log::{Log, Nanos, Note};
use crate::scenario::StoreKind;

/// The interval between two writes of each client.
const BEAT: Duration = Duration::from_millis(200);
/// The longest wait for an acknowledgement.
const LIMIT: Duration = Duration::from_millis(1_000);
/// The shortest outage that is logged.
const OUTAGE: Nanos = 450_000_000;
/// The interval between two checks for processor time. A check that is late by [`STALL`] shows that there was none.
const NAP: Duration = Duration::from_millis(10);
const STALL: Nanos = 80_000_000;

/// Writes to every bucket through every server, at short intervals.
#[derive(Debug)]
pub(crate) struct Pulse {
    beats: Vec<Arc<Beat>>,
    /// Ends when it is dropped.
    _writers: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    machine: Option<JoinHandle<()>>,
    clock: Clock,
}

/// The newest acknowledged write to a bucket.
#[derive(Debug)]
struct Beat {
    bucket: &'static str,
    last: Mutex<Nanos>,
    log: Arc<Log>,
    count: AtomicU64,
}

impl Beat {
    fn take(&self, now: Nanos) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_sub(*last) > OUTAGE {
            self.log.write(&Note::Outage { bucket: self.bucket.into(), from: *last, until: now });
        }
        *last = now.max(*last);
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Pulse {
    /// Begins to write. Must be called within a tokio runtime.
    pub(crate) fn start(
        store: StoreKind,
        addresses: &[String],
        buckets: &[&'static str],
        log: &Arc<Log>,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let clock = Clock::system();
        let mut writers = JoinSet::new();
        let mut beats = Vec::new();
        for bucket in buckets {
            let last = Mutex::new(clock.now().as_nanos());
            let beat = Arc::new(Beat { bucket, last, log: Arc::clone(log), count: AtomicU64::new(0) });
            for (at, address) in addresses.iter().enumerate() {
                let (address, beat) = (address.clone(), Arc::clone(&beat));
                match store {
                    StoreKind::Nats => {
                        writers.spawn(write(address, format!("$KV.{bucket}.pulse-{}", at + 1), beat));
                    }
                    StoreKind::Etcd => {
                        let is_over = Arc::clone(&is_over);
                        writers.spawn_blocking(move || write_to_member(&address, &beat, &is_over));
                    }
                }
            }
            beats.push(beat);
        }
        let machine = Some(watch_machine(Arc::clone(log), Arc::clone(&is_over)));
        Self { beats, _writers: writers, is_over, machine, clock }
    }

    /// Returns true if every bucket took a write just now.
    pub(crate) fn is_there(&self) -> bool {
        let now = self.clock.now().as_nanos();
        self.beats.iter().all(|beat| {
            let last = *beat.last.lock().unwrap_or_else(PoisonError::into_inner);
            beat.count.load(Ordering::Relaxed) > 0 && now.saturating_sub(last) < OUTAGE
        })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(machine) = self.machine.take() {
            // The thread has no code that could panic.
            let _ = machine.join();
        }
    }
}

async fn write(address: String, subject: String, beat: Arc<Beat>) {
    let delay = |_| Duration::from_millis(100);
    let options = ConnectOptions::new()
        .retry_on_initial_connect()
        .ignore_discovered_servers()
        .connection_timeout(LIMIT)
        .ping_interval(LIMIT)
        .reconnect_delay_callback(delay);
    let Ok(client) = options.connect(address).await else { return };
    let context = jetstream::new(client);
    let clock = Clock::system();
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let written = async { context.publish(subject.clone(), "pulse".into()).await.ok()?.await.ok() };
        if let Ok(Some(_)) = tokio::time::timeout(LIMIT, written).await {
            beat.take(clock.now().as_nanos());
        }
    }
}

fn write_to_member(address: &str, beat: &Beat, is_over: &AtomicBool) {
    let clock = Clock::system();
    while !is_over.load(Ordering::Acquire) {
        if takes_a_write(address, LIMIT) {
            beat.take(clock.now().as_nanos());
        }
        thread::sleep(BEAT);
    }
}

fn watch_machine(log: Arc<Log>, is_over: Arc<AtomicBool>) -> JoinHandle<()> {
    thread::spawn(move || {
        let clock = Clock::system();
        let mut last = clock.now().as_nanos();
        while !is_over.load(Ordering::Acquire) {
            thread::sleep(NAP);
            let now = clock.now().as_nanos();
            if now - last > STALL {
                log.write(&Note::Stall { from: last, until: now });
            }
            last = now;
        }
    })
}
