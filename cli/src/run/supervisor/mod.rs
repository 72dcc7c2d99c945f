//! Campaigns, and runs the [command](work) in every term.

mod work;

use std::time::Duration;

use incumbent::{Candidate, Clock, Event, Instant, Reason, Store, Term};
use rustix::process::Signal;
use serde_json::{Value, json};

use self::work::Work;
use super::args::Args;
use super::backoff::Backoff;
use super::cgroup::Cgroup;
use super::deadline::DeadlineFile;
use super::guard::{Guard, Order};
use super::health::Health;
use super::signals::{Asked, Signals};
use super::stale;
use super::timeout::{ElectionTimeout, NO_STORE};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::listen::Listener;
use crate::output::span;
use crate::stderr::report;
use crate::stderr::warn;

/// The interval between two checks for a new deadline, and for the command's end where no signal reported it.
const TICK: Duration = Duration::from_millis(50);
/// The time before the end of a drain at which the command is killed, so that it is dead by then.
const DYING: Duration = Duration::from_millis(200);

/// `incumbent run … -- CMD`. Returns the exit code.
pub(super) async fn run(args: Args, key: &str, as_json: bool) -> Result<u8, Failure> {
    let timeout = ElectionTimeout::new(args.wait);
    let mut signals = Signals::new()?;
    // Not beside the leftovers of an earlier supervisor.
    let _ = tokio::task::spawn_blocking(stale::sweep).await;
    let mut listener = Listener::of(args.listen, as_json).await?;
    // Before any wait: a signal meanwhile ends this process.
    let opened = tokio::select! {
        opened = open(&args, key, &listener) => opened,
        () = signals.end() => return Ok(Exit::Done as u8),
        () = timeout.sleep(), if timeout.is_set() => {
            report(format_args!("incumbent: {}", timeout.message(NO_STORE)));
            return Ok(Exit::NotElected as u8);
        }
    };
    let (store, candidate) = opened?;
    listener.serve(&candidate);
    let file = DeadlineFile::new()?;
    let cgroup = Cgroup::new()
        .inspect_err(
            |error| tracing::info!(%error, "what leaves the command's process group is not followed"),
        )
        .ok();
    let mut supervisor = Supervisor {
        clock: store.clock().clone(),
        candidate,
        guard: Guard::start(file.folder(), &where_to_look(cgroup.as_ref()))?,
        health: Health::start(&args),
        file,
        cgroup,
        work: None,
        rest: None,
        backoff: Backoff::default(),
        has_led: false,
        result: None,
        asked: None,
        timeout,
        args,
        as_json,
    };
    let done = supervisor.supervise(&mut signals).await;
    // Dropped first in every case: the command does not outlive the candidate.
    supervisor.work = None;
    supervisor.rest = None;
    store.close().await?;
    done
}

async fn open(args: &Args, key: &str, listener: &Listener) -> Result<(Store, Candidate), Failure> {
    let store = open_store(args, listener).await?;
    let candidate = store.campaign(key, args.options(args.drain + DYING)).await?;
    Ok((store, candidate))
}

/// Opens the store for a candidate.
pub(super) async fn open_store(args: &Args, listener: &Listener) -> Result<Store, Failure> {
    let settings = args.store.settings()?;
    let builder = match args.lease.lease {
        Some(lease) => Store::builder().expected_lease(lease),
        None => Store::builder(),
    };
    let store = args.store.open(listener.meter(builder), settings).await?;
    say_that_it_is_young(&store, args).await;
    Ok(store)
}

/// Reports how long there will be no leader in a new store, because nothing else shows it.
async fn say_that_it_is_young(store: &Store, args: &Args) {
    // A store that does not answer here will not answer the candidate either, and the candidate reports that.
    let Ok(info) = store.store_info().await else { return };
    let Ok(forecast) = args.lease.options().forecast(store.capabilities(), &info) else { return };
    let left = info.age.and_then(|age| forecast.lease.checked_sub(age));
    if let Some(left) = left.filter(|left| !info.never_used && !left.is_zero()) {
        report(format_args!(
            "incumbent: the store was just made, so no candidate leads for {}; `incumbent init --new` lifts that for a name \
             under which no election was ever held",
            span(left)
        ));
    }
}

struct Supervisor {
    args: Args,
    as_json: bool,
    clock: Clock,
    candidate: Candidate,
    guard: Guard,
    health: Health,
    file: DeadlineFile,
    /// Holds the command and all its children, where control groups can be used.
    cgroup: Option<Cgroup>,
    work: Option<Work>,
    /// The term whose command is started again, and the time.
    rest: Option<(Term, Instant)>,
    backoff: Backoff,
    has_led: bool,
    /// The exit code, once it is known; then only leaving remains.
    result: Option<u8>,
    timeout: ElectionTimeout,
    /// The signal that asked the supervisor to end.
    asked: Option<Signal>,
}

/// The orders that say where the command and all its children are kept.
fn where_to_look(cgroup: Option<&Cgroup>) -> Vec<Order> {
    cgroup.map(|cgroup| Order::Within(cgroup.path().to_owned())).into_iter().collect()
}

enum Next {
    Look,
    Event(Event),
    Signal(Asked),
    GuardGone,
    TimedOut,
}

impl Supervisor {
    async fn supervise(&mut self, signals: &mut Signals) -> Result<u8, Failure> {
        let mut events = self.candidate.events();
        let mut ticks = tokio::time::interval(TICK);
        let timeout = self.timeout.sleep();
        tokio::pin!(timeout);
        loop {
            let waits = self.timeout.is_set() && !self.has_led && self.result.is_none();
            let next = tokio::select! {
                event = events.next() => match event {
                    Some(event) => Next::Event(event),
                    None => return Ok(self.result.unwrap_or(Exit::Done as u8)),
                },
                signal = signals.next() => signal.map_or(Next::Look, Next::Signal),
                () = self.guard.gone() => Next::GuardGone,
                () = self.health.changed() => Next::Look,
                () = &mut timeout, if waits && self.asked.is_none() => Next::TimedOut,
                _ = ticks.tick(), if self.work.is_some() || self.rest.is_some() => Next::Look,
            };
            // First of all, because this process may have been stopped: a command whose lease is over dies.
            self.look()?;
            match next {
                Next::Look => {}
                Next::Event(event) => self.take(event).await?,
                Next::Signal(signal) => self.signalled(signal),
                Next::GuardGone => self.replace_guard()?,
                Next::TimedOut => self.not_elected(),
            }
            self.health.apply(&self.candidate);
            self.start_again().await?;
            self.look()?;
        }
    }

    async fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Won(term) => self.start(term).await?,
            Event::Draining { reason, .. } => {
                tracing::info!(%reason, "leaving");
                self.rest = None;
                self.end_work(self.asked.unwrap_or(Signal::TERM));
            }
            Event::Lost { term, reason } => {
                let (token, at) = (term.token().to_string(), self.clock.now().as_nanos());
                self.rest = None;
                // Before any output: it may take long until that is read.
                self.kill_work().await?;
                self.emit(json!({ "event": "lost", "token": token, "reason": reason.code(), "at": at }));
                if self.args.once && self.result.is_none() {
                    self.lost(reason);
                }
            }
            Event::Warning(warning) => warn(self.as_json, &warning.to_string()),
            Event::LeaderChanged(leader) => {
                tracing::info!(leader = leader.map(|leader| leader.name), "the leader changed");
            }
            Event::StateChanged(_) => {}
        }
        Ok(())
    }

    async fn start(&mut self, term: Term) -> Result<(), Failure> {
        let (token, at) = (term.token().to_string(), term.started().as_nanos());
        self.emit(json!({ "event": "won", "token": token, "at": at }));
        self.has_led = true;
        if self.result.is_some() || self.asked.is_some() {
            return Ok(());
        }
        self.begin(term).await
    }

    fn signalled(&mut self, asked: Asked) {
        match (asked, &self.work) {
            (Asked::PassOn(signal), Some(work)) => work.group.signal(signal),
            (Asked::PassOn(Signal::HUP), None) => self.leave(Signal::HUP),
            (Asked::PassOn(_), None) => {}
            (Asked::End(signal), _) if self.asked.is_none() => self.leave(signal),
            (Asked::End(_), Some(work)) => work.group.signal(Signal::KILL),
            (Asked::End(_), None) => {}
        }
    }

    fn leave(&mut self, signal: Signal) {
        self.asked = Some(signal);
        // The event `Draining` reports it where there is something to drain.
        drop(self.candidate.request_close());
    }

    fn replace_guard(&mut self) -> Result<(), Failure> {
        tracing::warn!("the process that guards the command has ended, and is started again");
        let mut orders = where_to_look(self.cgroup.as_ref());
        if let Some(work) = &self.work {
            orders.extend(work.watch.map(|(_, watch)| Order::Watch(watch)));
            if work.is_overdue {
                work.group.signal(Signal::TERM);
            }
        }
        self.guard = Guard::start(self.file.folder(), &orders)?;
        Ok(())
    }

    /// The time limit for the election has passed.
    fn not_elected(&mut self) {
        let leader = self.candidate.leader();
        let who = leader.map_or("no candidate".into(), |leader| leader.name);
        let said = self.timeout.message(&format!("{who} leads"));
        report(format_args!("incumbent: {said}"));
        self.result = Some(Exit::NotElected as u8);
        drop(self.candidate.request_close());
    }

    /// A term was lost, and no other is to follow.
    fn lost(&mut self, reason: Reason) {
        if self.asked.is_none() {
            report(format_args!("incumbent: the term was lost ({reason}), and --once asks for no other"));
            self.result = Some(Exit::Failure as u8);
            drop(self.candidate.request_close());
        }
    }

    /// Writes an event to the standard error, because the standard output is the command's. `at` is the
    /// machine's clock in nanoseconds, shared by all processes.
    fn emit(&self, event: Value) {
        if self.as_json {
            report(event);
        } else {
            tracing::info!(target: "incumbent::run", "{event}");
        }
    }
}
