//! The loop of the driver's thread.

mod commands;
mod observers;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, FuturesUnordered};
use incumbent_core::Instant;
use incumbent_core::session::{self, Input, Output, Session};
use incumbent_core::store::Capabilities;
use tokio::sync::mpsc;

use super::checks::Checks;
use super::errand::{Done, Errand, Errands, within};
use super::seat::Seat;
use super::slot::Slot;
use super::{CampaignId, Request, log};
use crate::clock::Clock;
use crate::driver::{Leave, Reply};
use crate::meter::Meter;
use crate::notifier::Notifier;
use crate::store::{Adapter, Registry, WatchEvent};

/// The time limit for closing the connection.
const CLOSING: Duration = Duration::from_secs(2);
/// The time, within that limit, for notifying other processes that no candidate stands here any more.
const FAREWELL: Duration = Duration::from_secs(1);
/// The time for log subscribers and listeners to receive what is still queued.
pub(super) const LAST_NOTICES: Duration = Duration::from_secs(1);

/// Carries out the outputs of a store's session, and serves its observers.
pub(super) struct Hub {
    clock: Clock,
    capabilities: Capabilities,
    fail_fast: bool,
    errands: Errands,
    requests: mpsc::UnboundedReceiver<Request>,
    session: Session,
    /// The next wake-up that the session asked for.
    wake: Option<Instant>,
    slots: HashMap<CampaignId, Slot>,
    seats: HashMap<Arc<str>, Seat>,
    /// The times at which keys are read again for their observers.
    checks: Checks,
    under_way: FuturesUnordered<Errand>,
    /// The number of the newest watch.
    watch: u64,
    /// The changes of that watch, once it has begun.
    watched: Option<BoxStream<'static, WatchEvent>>,
    /// The registered candidates.
    roll: Registry,
    /// Every handle was dropped.
    deserted: bool,
    /// The store is closing; answered once it is closed.
    closing: Option<Vec<Reply>>,
}

impl Hub {
    pub(super) fn new(
        adapter: Box<dyn Adapter>,
        clock: Clock,
        fail_fast: bool,
        meter: Meter,
        notifier: Notifier,
        requests: mpsc::UnboundedReceiver<Request>,
    ) -> Self {
        let capabilities = adapter.capabilities();
        Self {
            capabilities,
            fail_fast,
            errands: Errands { adapter: adapter.into(), clock: clock.clone(), meter, notifier },
            roll: Registry::new(&clock),
            clock,
            requests,
            session: Session::new(capabilities),
            wake: None,
            slots: HashMap::new(),
            seats: HashMap::new(),
            checks: Checks::default(),
            under_way: FuturesUnordered::new(),
            watch: 0,
            watched: None,
            deserted: false,
            closing: None,
        }
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Runs until the store is closed and every campaign is over.
    pub(super) async fn run(mut self) {
        while self.closing.is_none() || !self.slots.is_empty() {
            let wake = [self.wake, self.checks.next()].into_iter().flatten().min();
            tokio::select! {
                request = self.requests.recv(), if !self.deserted => self.request(request),
                Some(done) = self.under_way.next() => self.done(done),
                event = next(&mut self.watched) => self.watched(event),
                () = sleep(&self.clock, wake) => {}
            }
            // Checked in every turn, so that a flood of other work does not delay a timer; and each
            // only once, so that no timer delays other work.
            let now = self.clock.now();
            if self.wake.is_some_and(|wake| wake <= now) {
                self.feed(Input::Tick);
            }
            for key in self.checks.take_due(now) {
                self.look(&key);
            }
        }
        self.finish().await;
    }

    async fn finish(mut self) {
        self.end_seats();
        let adapter = Arc::clone(&self.errands.adapter);
        let until = self.clock.now() + CLOSING;
        let (roll, registered) = (self.roll.clone(), self.session.is_registered());
        let close = async {
            if !registered {
                // A failed notice to other processes is neither an error nor a reason to delay closing.
                let _ = within(self.clock.clone(), FAREWELL, adapter.register(&roll)).await;
            }
            adapter.close().await;
        };
        tokio::select! {
            () = close => {}
            () = self.clock.sleep_until(until) => {}
        }
        // Flush the log before a caller goes on, perhaps to end the program.
        within(self.clock.clone(), LAST_NOTICES, self.errands.notifier.flush()).await;
        for waiter in self.closing.take().into_iter().flatten() {
            let _ = waiter.send(Ok(()));
        }
    }

    fn request(&mut self, request: Option<Request>) {
        match request {
            Some(Request::Enter(enter)) => self.enter(*enter),
            Some(Request::To(id, command)) => self.command(id, command),
            Some(Request::Observe { election, queue, reply }) => self.observe(election, queue, reply),
            Some(Request::Read { election, reply }) => self.read(election, reply),
            Some(Request::Written { election, reply }) => self.written(election, reply),
            Some(Request::List { reply }) => self.list(reply),
            Some(Request::RollCall { election, reply }) => self.candidates(election, reply),
            Some(Request::Inspect { reply }) => self.store_info(reply),
            #[cfg(feature = "nats")]
            Some(Request::Connected) => self.feed(Input::Connected),
            Some(Request::Close(Leave { begun, done })) => {
                self.close(Some(done));
                // Not before the drains were reported. A caller that no longer waits needs no answer.
                let _ = begun.send(Ok(()));
            }
            None => {
                self.deserted = true;
                self.close(None);
            }
        }
    }

    fn close(&mut self, waiter: Option<Reply>) {
        self.closing.get_or_insert_default().extend(waiter);
        let ids: Vec<_> = self.slots.keys().copied().collect();
        ids.into_iter().for_each(|id| self.close_campaign(id));
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Wrote(id, attempt, outcome) => self.feed(Input::Wrote { id, attempt, outcome }),
            Done::Read(id, read, result) => self.feed(Input::Read { id, read, result }),
            Done::Inspected(number, result) => {
                if result.is_ok() {
                    self.feed(Input::Flaw(self.errands.adapter.flaw()));
                }
                self.feed(Input::Inspected { number, result });
            }
            Done::Reconnected(true) => self.feed(Input::Reconnected),
            Done::Reconnected(false) => self.feed(Input::NotReconnected),
            // A newer watch was started meanwhile.
            Done::Watching(number, _) if number != self.watch => {}
            Done::Watching(number, Ok(stream)) => {
                self.watched = Some(stream);
                self.feed(Input::Watching { number });
                // A key that vanished while there was no watch is shown by no watch, so read all of them.
                let keys: Vec<_> = self.seats.keys().cloned().collect();
                keys.iter().for_each(|key| self.look(key));
            }
            Done::Watching(number, Err(fault)) => {
                tracing::debug!("the store cannot be watched at present: {fault}");
                self.feed(Input::WatchEnded { number });
            }
            Done::Looked(key, changes, result) => self.looked(&key, changes, result),
            Done::Registered(done) => self.feed(Input::Registered(done)),
            Done::Joined(id) => self.joined(id),
            Done::Told => {}
        }
    }

    fn watched(&mut self, event: Option<WatchEvent>) {
        let number = self.watch;
        let Some(WatchEvent { key, entry }) = event else {
            self.watched = None;
            return self.feed(Input::WatchEnded { number });
        };
        if self.seats.contains_key(&*key) {
            self.see(&key, &entry);
        }
        if !self.session.is_contested(&key) {
            self.requested(&key, &entry);
        }
        self.feed(Input::Watched { number, election: key, entry });
    }

    /// Gives an input to the session, and carries out all of its outputs.
    fn feed(&mut self, input: Input) {
        self.hand_in(input);
        loop {
            match self.session.poll() {
                Output::WakeAt(wake) => {
                    self.wake = wake.map(|wake| wake.at);
                    return;
                }
                output => self.carry_out(output),
            }
        }
    }

    fn hand_in(&mut self, input: Input) {
        if let Err(misuse) = self.session.handle(self.clock.now(), input) {
            tracing::error!("a defect of this library, please report it: {misuse}");
        }
    }

    fn carry_out(&mut self, output: Output) {
        let errands = &self.errands;
        let errand = match output {
            Output::Write { id, write, limit } => {
                let Some(slot) = self.slots.get(&id) else { return };
                errands.write(id, &slot.standing.election, write, limit)
            }
            Output::Read { id, read, limit } => {
                let Some(slot) = self.slots.get(&id) else { return };
                errands.read(id, &slot.standing.election, read, limit)
            }
            Output::Inspect { number, limit } => errands.inspect(number, limit),
            Output::Watch { number, limit } => {
                (self.watch, self.watched) = (number, None);
                errands.watch(number, limit)
            }
            Output::Reconnect { limit } => errands.reconnect(limit),
            Output::Register { limit } => errands.register(&self.roll, limit),
            output => return self.publish(output),
        };
        self.under_way.push(errand);
    }

    /// Publishes an output about a candidate.
    fn publish(&mut self, output: Output) {
        match output {
            Output::Entered(id) => self.slots.get_mut(&id).into_iter().for_each(Slot::entered),
            Output::Refused(id, refusal) => {
                self.slots.get_mut(&id).into_iter().for_each(|slot| slot.refused(refusal.clone()));
                self.over(id);
            }
            Output::Report { id, lease, lease_time, events } => {
                let Some(slot) = self.slots.get_mut(&id) else { return };
                let drained = slot.report(lease, lease_time, events);
                slot.settle(commands::state(&self.session, id));
                if drained {
                    self.hand_in(Input::Command { id, command: session::Command::Drained });
                }
            }
            Output::Campaigning(id, campaigning) => self.stands(id, campaigning),
            Output::Closed(id) => self.over(id),
            Output::Considered { id, request, accepted } => {
                if let Some(slot) = self.slots.get(&id) {
                    log::considered(&slot.standing, &request, accepted);
                }
            }
            // Handled in `feed` and `carry_out`.
            Output::Write { .. }
            | Output::Read { .. }
            | Output::Inspect { .. }
            | Output::Watch { .. }
            | Output::Reconnect { .. }
            | Output::Register { .. }
            | Output::WakeAt(_) => {}
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Empty after an orderly close. After a panic no thread is left to renew the leases: every term ends now.
        for slot in self.slots.values_mut() {
            let standing = &slot.standing;
            let (election, candidate) = (&*standing.election, &*standing.candidate);
            tracing::error!(election, candidate, "the store's driver broke down; the campaign is over");
            slot.end();
        }
        self.roll.clear();
        self.end_seats();
    }
}

async fn sleep(clock: &Clock, until: Option<Instant>) {
    match until {
        Some(until) => clock.sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// The next change; `None` when the watch ended. Waits until there is a watch.
async fn next(watched: &mut Option<BoxStream<'static, WatchEvent>>) -> Option<WatchEvent> {
    match watched {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}
