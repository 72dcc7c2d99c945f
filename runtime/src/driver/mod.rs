//! One thread, one connection and one watch for a store, however many elections run on it.
//!
//! ```text
//!   handles: Store, Candidate, Term, Observer            user's runtime
//!      │ requests (never wait)        ▲ deadline, events, observations (never wait)
//! ─────▼──────────────────────────────┴─────────────────────────────────────────────
//!   Driver::run ── one Session, a Campaign a candidate       the store's own thread
//!      │   ▲    (incumbent-core: decides everything)
//!      ▼   │
//!   requests: writes, reads, one inspection, one reconnection, one watch
//!      ▼   │
//!   Link: RecordLink                   or Queues (etcd)    or Groups (Kafka)
//!      ▼   │
//!   Adapter (memory, SQLite, NATS …)
//!      │ log lines, what listeners are called with (never wait)
//! ─────▼────────────────────────────────────────────────────────────────────────────
//!   Notifier: the user's log subscriber and listeners     a thread of their own
//! ```
//!
//! The store has its own thread for one reason: nothing that runs on the user's runtime, such as a handler that blocks
//! its thread, may delay a renewal. So no user code runs here: handlers and the work of a term run on the user's
//! runtime, log subscribers and listeners on the thread of the [`Notifier`](incumbent_store::notifier). This thread calls only
//! the wakers of the user's runtime, and the user's adapter if there is one. A forked child inherits no thread, so it
//! has no driver and sends nothing.
//!
//! Tokio's timers do not count the time a machine is suspended, so the driver sleeps a second at most
//! ([`Clock::sleep_until`](crate::Clock::sleep_until)): the loss of a lease that ran out meanwhile is reported within a
//! second of the resume. `is_leader` has been right since the resume itself, because it trusts no timer.

mod candidates;
pub(crate) mod command;
pub(crate) mod connection;
mod entry;
mod in_flight;
mod observed;
pub(crate) mod opened;
mod queries;
pub(crate) mod request;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, SelectAll};
use futures_util::{FutureExt, Stream, StreamExt};
use incumbent_core::Instant;
use incumbent_core::candidacy::Rule;
use incumbent_core::session::{self, CampaignId, Session};
use incumbent_core::store::FaultKind;
use tokio::sync::mpsc;

use self::command::{LeaveReplies, Reply};
use self::entry::CandidateEntry;
use self::in_flight::{Done, InFlight, StoreRequests, answered};
use self::observed::{Checks, ObservedElection};
use self::request::Request;
use incumbent_store::clock::Clock;
use incumbent_store::link::{Asked, Asking, Input, Link, OneAnswer, Output, Watch, Watched, within};
use incumbent_store::notifier::Notifier;
use incumbent_store::registry::Registry;

/// The time limit for closing the connection, and for removing the keys that closed campaigns left in the store.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// The part of that limit for notifying other processes that this process has no more candidates.
const DEREGISTER_LIMIT: Duration = Duration::from_secs(1);
/// The time for log subscribers and listeners to receive the queued notices.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// The number of inputs that are handled before the store's client gets its turn. The tasks of the client share this
/// thread, and a driver that is always busy would starve them.
const INPUTS: u32 = 64;
/// The number of inputs of one kind that are handled before those of another kind.
const BATCH: u32 = INPUTS / 2;

/// Carries out the outputs of a store's session, and serves its observers.
struct Driver<L: Link> {
    clock: Clock,
    fail_fast: bool,
    store: StoreRequests<L>,
    requests: mpsc::UnboundedReceiver<Request>,
    session: Session<L::Rule>,
    /// The next wake-up that the session asked for.
    wake: Option<Instant>,
    /// The entries are in boxes, because half of the map's slots may be empty.
    candidates: HashMap<CampaignId, Box<CandidateEntry>>,
    /// The elections that have observers.
    observed: HashMap<Arc<str>, ObservedElection>,
    /// The times at which keys are read again for their observers.
    checks: Checks,
    in_flight: SelectAll<InFlight<L>>,
    /// Requests of campaigns that have one answer each.
    asked: FuturesUnordered<OneAnswer<(CampaignId, <L::Rule as Rule>::Answer)>>,
    /// The earliest limit of these requests, or an earlier time.
    first_limit: Option<Instant>,
    /// The number of the newest watch.
    watch: u64,
    /// The changes that the newest watch reports, once it has begun.
    watched: Option<Watch<L>>,
    /// The reason in the last warning about a missing watch. Each reason is reported once, not for each attempt.
    unwatched: Option<String>,
    /// The registered candidates.
    roll: Registry,
    /// The number of inputs that have been handled since other tasks of this thread last ran.
    inputs: u32,
    /// True if every handle has been dropped, so that no more requests will come.
    handles_dropped: bool,
    /// The callers that close the store, if it is closing. They are answered once it is closed.
    closing: Option<Vec<Reply>>,
}

impl<L: Link> Driver<L> {
    fn new(
        link: L,
        clock: Clock,
        fail_fast: bool,
        notifier: Notifier,
        requests: mpsc::UnboundedReceiver<Request>,
    ) -> Self {
        let session = Session::new(link.properties());
        Self {
            fail_fast,
            store: StoreRequests { link, clock: clock.clone(), notifier },
            roll: Registry::new(&clock),
            clock,
            requests,
            session,
            wake: None,
            candidates: HashMap::new(),
            observed: HashMap::new(),
            checks: Checks::default(),
            in_flight: SelectAll::new(),
            asked: FuturesUnordered::new(),
            first_limit: None,
            watch: 0,
            watched: None,
            unwatched: None,
            inputs: 0,
            handles_dropped: false,
            closing: None,
        }
    }

    /// Runs until the store is closed and every campaign is over.
    async fn run(mut self) {
        while self.closing.is_none() || !self.candidates.values().all(|entry| entry.is_over()) {
            self.turn(None).await;
        }
        self.finish().await;
    }

    /// Waits for the next event, until `until` at most, and handles it.
    async fn turn(&mut self, until: Option<Instant>) {
        let wake = [self.wake, self.checks.next(), self.first_limit, until].into_iter().flatten().min();
        tokio::select! {
            request = self.requests.recv(), if !self.handles_dropped => self.request(request),
            Some((id, answer)) = self.asked.next() => self.feed(Input::<L>::Answered { id, answer }),
            Some(done) = self.in_flight.next() => self.done(done),
            event = next(&mut self.watched) => self.watched(event),
            () = sleep(&self.clock, wake) => {}
        }
        self.inputs += 1;
        self.take_ready();
        // Timers are checked in every turn, so that a flood of other work does not delay them. Each is checked only
        // once per turn, so that no timer delays other work.
        let now = self.clock.now();
        if self.wake.is_some_and(|wake| wake <= now) {
            self.feed(Input::<L>::Tick);
        }
        for key in self.checks.take_due(now) {
            self.read_for_observers(&key);
        }
        if self.first_limit.is_some_and(|limit| limit <= now) {
            self.end_late_requests(now);
        }
        self.in_flight.extend(self.store.link.ask_together().map(answered));
        if self.inputs >= INPUTS {
            self.inputs = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Handles inputs that have arrived already, without setting a timer for a wait. Takes a batch of each kind, so
    /// that no kind delays another for long, and so that everything that one inspection can serve has arrived when it
    /// is answered.
    fn take_ready(&mut self) {
        let mut before = 0;
        while self.inputs < INPUTS && self.inputs != before {
            before = self.inputs;
            for _ in 0..BATCH {
                let Ok(request) = self.requests.try_recv() else { break };
                self.inputs += 1;
                self.request(Some(request));
            }
            for _ in 0..BATCH {
                let Some(Some((id, answer))) = self.asked.next().now_or_never() else { break };
                self.inputs += 1;
                self.feed(Input::<L>::Answered { id, answer });
            }
            for _ in 0..BATCH {
                let Some(event) = next(&mut self.watched).now_or_never() else { break };
                self.inputs += 1;
                self.watched(event);
            }
            for _ in 0..BATCH {
                let Some(Some(done)) = self.in_flight.next().now_or_never() else { break };
                self.inputs += 1;
                self.done(done);
            }
        }
    }

    /// Polls the requests whose limits have passed, so that they end without an answer.
    fn end_late_requests(&mut self, now: Instant) {
        let asked = std::mem::take(&mut self.asked);
        self.first_limit = asked.iter().map(|one| one.until).filter(|until| *until > now).min();
        self.asked.extend(asked);
    }

    async fn finish(mut self) {
        let until = self.clock.now() + CLOSE_LIMIT;
        // Continues until everything that closed campaigns left in the store has been removed.
        while !self.candidates.is_empty() && self.clock.now() < until {
            self.turn(Some(until)).await;
        }
        self.end_observers();
        let (roll, registered) = (self.roll.clone(), self.session.is_registered());
        // Closing the connection gives up the leases that protect the work of a closed campaign. So if anything is left
        // in the store, the connection is not closed, and the leases run out.
        let gives_up = self.candidates.drain().count() == 0;
        let (register, close) = (self.store.link.register(&roll), self.store.link.close());
        let close = async {
            if !registered {
                // A failed notice to other processes is neither an error nor a reason to delay closing.
                let _ = within(self.clock.clone(), DEREGISTER_LIMIT, register).await;
            }
            if gives_up {
                close.await;
            }
        };
        tokio::select! {
            () = close => {}
            () = self.clock.sleep_until(until) => {}
        }
        // The log is flushed before a caller continues, because it may then end the program.
        within(self.clock.clone(), FLUSH_LIMIT, self.store.notifier.flush()).await;
        for waiter in self.closing.take().into_iter().flatten() {
            let _ = waiter.send(Ok(()));
        }
    }

    fn request(&mut self, request: Option<Request>) {
        match request {
            Some(Request::Enter(enter)) => self.enter(*enter),
            Some(Request::Command(id, command)) => self.command(id, command),
            Some(Request::Observe { election, queue, reply }) => self.observe(election, queue, reply),
            Some(Request::Unobserved { election }) => self.unobserved(&election),
            Some(Request::Entry { election, reply }) => self.entry(election, reply),
            Some(Request::EntryInfo { election, reply }) => self.entry_info(election, reply),
            Some(Request::List { reply }) => self.list(reply),
            Some(Request::Candidates { election, reply }) => self.candidates(election, reply),
            Some(Request::StoreInfo { reply }) => self.store_info(reply),
            // A caller that no longer waits has dropped its receiver.
            Some(Request::Load { reply }) => drop(reply.send(Ok(self.session.load()))),
            Some(Request::Connected) => self.feed(Input::<L>::Connected),
            Some(Request::Close(LeaveReplies { begun, done })) => {
                self.close(Some(done));
                // The answer must come after the reports of the drains. A caller that no longer waits has dropped its
                // receiver.
                let _ = begun.send(Ok(()));
            }
            None => {
                self.handles_dropped = true;
                self.close(None);
            }
        }
    }

    fn close(&mut self, waiter: Option<Reply>) {
        self.closing.get_or_insert_default().extend(waiter);
        let ids: Vec<_> = self.candidates.keys().copied().collect();
        ids.into_iter().for_each(|id| self.close_campaign(id));
    }

    fn done(&mut self, done: Done<L>) {
        match done {
            Done::Answered(answers) => {
                for (id, answer) in answers {
                    self.feed(Input::<L>::Answered { id, answer });
                }
            }
            Done::Inspected(number, result) => {
                if result.is_ok() {
                    self.session.set_store(self.store.link.properties());
                    self.feed(Input::<L>::Flaw(self.store.link.flaw()));
                }
                self.feed(Input::<L>::Inspected { number, result });
            }
            Done::Reconnected(true) => self.feed(Input::<L>::Reconnected),
            Done::Reconnected(false) => self.feed(Input::<L>::NotReconnected),
            // A newer watch has been started meanwhile.
            Done::Watching(number, _) if number != self.watch => {}
            Done::Watching(number, Ok(stream)) => {
                self.watched = Some(stream);
                self.unwatched = None;
                self.feed(Input::<L>::Watching { number });
                // A new watch does not show that keys vanished while there was no watch, so all keys are read.
                let keys: Vec<_> = self.observed.keys().cloned().collect();
                keys.iter().for_each(|key| self.read_for_observers(key));
            }
            Done::Watching(number, Err(fault)) => {
                // A store that does not answer is reported elsewhere, so the watch is not blamed for it.
                if fault.kind == FaultKind::Unreachable || self.unwatched.as_ref() == Some(&fault.detail) {
                    tracing::debug!("the store cannot be watched at present: {fault}");
                } else {
                    tracing::warn!(
                        "the store cannot be watched, so a release or a crash is noticed later; trying again: {fault}"
                    );
                    self.unwatched = Some(fault.detail);
                }
                self.feed(Input::<L>::WatchEnded { number });
            }
            Done::ReadForObservers(key, changes, result) => self.observers_read(&key, changes, result),
            Done::Registered(done) => self.feed(Input::<L>::Registered(done)),
            Done::OverlapChecked(enter, checked) => self.enter_checked(*enter, checked),
            Done::HandlersReturned(id) => self.handlers_returned(id),
            Done::Replied => {}
        }
    }

    fn watched(&mut self, event: Option<Watched<<L::Rule as Rule>::Shown>>) {
        let number = self.watch;
        match event {
            Some(Watched::Changed { election, shown }) => {
                match L::entry_of(&shown) {
                    Some(entry) => self.observe_entry(&election, entry),
                    None => self.observe_change(&election),
                }
                self.feed(Input::<L>::Watched { number, election, shown });
            }
            Some(Watched::Requested { key, text, revision }) => self.operator_request(&key, &text, revision),
            Some(Watched::ShownAll(of)) => self.feed(Input::<L>::WatchedAll { number, of }),
            None => {
                self.watched = None;
                self.feed(Input::<L>::WatchEnded { number });
            }
        }
    }

    /// Gives an input to the session, and carries out all of its outputs.
    fn feed(&mut self, input: Input<L>) {
        let mut input = Some(input);
        loop {
            if let Some(input) = input.take()
                && let Err(misuse) = self.session.handle(self.clock.now(), input)
            {
                tracing::error!("a bug in this library, please report it: {misuse}");
            }
            match self.session.poll() {
                Output::<L>::WakeAt(wake) => {
                    self.wake = wake.map(|wake| wake.at);
                    return;
                }
                Output::<L>::Report { id, lease, lease_time, events } => {
                    if self.report(id, lease, lease_time, events) {
                        input = Some(Input::<L>::Command { id, command: session::Command::Drained });
                    }
                }
                Output::<L>::Ask { id, request, limit } => {
                    let candidate = self.candidates.get(&id).zip(self.session.campaign(id));
                    let Some((entry, campaign)) = candidate else { continue };
                    let (election, since) = (Arc::clone(&entry.shared.election), entry.since);
                    let asked = Asked { id, election, since, request, limit };
                    match self.store.link.ask(campaign, asked) {
                        Some(Asking::One(one)) => {
                            let first = self.first_limit.map_or(one.until, |first| first.min(one.until));
                            self.first_limit = Some(first);
                            self.asked.push(one);
                        }
                        Some(Asking::Several(answers)) => self.in_flight.push(answered(answers)),
                        None => {}
                    }
                }
                Output::<L>::Inspect { number, limit } => {
                    self.in_flight.push(self.store.inspect(number, limit));
                }
                Output::<L>::Watch { number, limit } => {
                    (self.watch, self.watched) = (number, None);
                    self.in_flight.push(self.store.watch(number, limit));
                }
                Output::<L>::Reconnect { limit } => self.in_flight.push(self.store.reconnect(limit)),
                Output::<L>::Register { limit } => {
                    self.in_flight.push(self.store.register(&self.roll, limit));
                }
                Output::<L>::Entered(id) => {
                    self.candidates.get_mut(&id).into_iter().for_each(|entry| entry.entered());
                }
                Output::<L>::Refused(id, refusal) => self.refused(id, refusal),
                Output::<L>::Campaigning(id, campaigning) => self.register(id, campaigning),
                Output::<L>::Closed(id) => {
                    self.store.link.ended(id);
                    self.settled(id);
                }
                Output::<L>::Considered { id, request, accepted } => self.considered(id, &request, accepted),
                Output::<L>::NotNext { id, successor, before } => self.not_next(id, &successor, before),
            }
        }
    }
}

impl<L: Link> Drop for Driver<L> {
    fn drop(&mut self) {
        // The map is empty after an orderly close. After a panic no thread is left to renew the leases, so every term
        // ends now.
        for entry in self.candidates.values_mut() {
            let shared = &entry.shared;
            let (election, candidate) = (&*shared.election, &*shared.candidate);
            tracing::error!(election, candidate, "the store's driver panicked; the campaign is over");
            entry.end();
        }
        self.roll.clear();
        self.end_observers();
    }
}

async fn sleep(clock: &Clock, until: Option<Instant>) {
    match until {
        Some(until) => clock.sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// The next change; `None` when the watch has ended. Waits until there is a watch.
async fn next<W: Stream + Unpin>(watched: &mut Option<W>) -> Option<W::Item> {
    match watched {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}
