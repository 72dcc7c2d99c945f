//! The hub's loop.

mod campaigns;
mod commands;
mod requests;
mod roll;
mod spectators;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use incumbent_core::campaign::{Input, Warning};
use incumbent_core::store::{Capabilities, Fault, StoreInfo};
use incumbent_core::{Incarnation, Instant};
use tokio::sync::mpsc;

use super::enlisting::Enlisting;
use super::errand::{Done, Errand, Errands, within};
use super::inspection::Inspection;
use super::seat::Seat;
use super::slot::{Slot, Stage};
use super::wakes::{Sleeper, Wakes};
use super::watch::Watch;
use super::{CampaignId, Request};
use crate::clock::Clock;
use crate::driver::{Leave, Reply};
use crate::meter::Meter;
use crate::notifier::Notifier;
use crate::store::{Adapter, Roll, WatchEvent};

/// How long closing the connection may take.
const CLOSING: Duration = Duration::from_secs(2);
/// How long others may be told meanwhile that nobody stands here any more.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long log subscribers and listeners may take for what they were not yet given.
pub(super) const LAST_NOTICES: Duration = Duration::from_secs(1);

/// What runs all elections of a store.
pub(super) struct Hub {
    clock: Clock,
    capabilities: Capabilities,
    fail_fast: bool,
    errands: Errands,
    requests: mpsc::UnboundedReceiver<Request>,
    slots: HashMap<CampaignId, Slot>,
    elections: HashMap<Arc<str>, Vec<CampaignId>>,
    seats: HashMap<Arc<str>, Seat>,
    under_way: FuturesUnordered<Errand>,
    wakes: Wakes,
    watch: Watch,
    inspection: Inspection,
    /// Which of the candidates stand.
    roll: Roll,
    enlisting: Enlisting,
    /// The store's maximum age, as last told.
    max_age: Option<Duration>,
    /// Which life of the store this is, as last told.
    incarnation: Option<Incarnation>,
    /// What is unsafe about the store's settings, as last reported.
    flaw: Option<Fault>,
    reconnecting: bool,
    /// When the present connection was made, where it is not the first.
    reconnected: Option<Instant>,
    /// Every handle was dropped.
    deserted: bool,
    /// The store is closing; who waits for it.
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
        Self {
            capabilities: adapter.capabilities(),
            fail_fast,
            errands: Errands { adapter: adapter.into(), clock: clock.clone(), meter, notifier },
            roll: Roll::new(&clock),
            enlisting: Enlisting::default(),
            clock,
            requests,
            slots: HashMap::new(),
            elections: HashMap::new(),
            seats: HashMap::new(),
            under_way: FuturesUnordered::new(),
            wakes: Wakes::default(),
            watch: Watch::default(),
            inspection: Inspection::default(),
            max_age: None,
            incarnation: None,
            flaw: None,
            reconnecting: false,
            reconnected: None,
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
            let wake = self.wakes.next();
            tokio::select! {
                request = self.requests.recv(), if !self.deserted => self.request(request),
                Some(done) = self.under_way.next() => self.done(done),
                watched = self.watch.next() => self.watched(watched),
                () = sleep(&self.clock, wake) => {}
            }
            // In every turn, so that no flood of other work keeps a timer waiting; and each once, so
            // that no timer keeps other work waiting.
            for sleeper in self.wakes.take_due(self.clock.now()) {
                self.wake(sleeper);
            }
        }
        self.finish().await;
    }

    async fn finish(mut self) {
        self.end_seats();
        let adapter = Arc::clone(&self.errands.adapter);
        let until = self.clock.now() + CLOSING;
        let (roll, told) = (self.roll.clone(), self.enlisting.is_done());
        let close = async {
            if !told {
                // What others are told is worth neither an error nor the time to close.
                let _ = within(self.clock.clone(), FAREWELL, adapter.enlist(&roll)).await;
            }
            adapter.close().await;
        };
        tokio::select! {
            () = close => {}
            () = self.clock.sleep_until(until) => {}
        }
        // What was logged of it all is out before a caller goes on, perhaps to end the program.
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
            // The one that was asked for tells it too.
            #[cfg(feature = "nats")]
            Some(Request::Connected) => {
                if !self.reconnecting {
                    self.new_connection();
                }
            }
            Some(Request::Close(Leave { begun, done })) => {
                self.close(Some(done));
                // Not before the drains were told. A caller that no longer waits needs no answer.
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
            Done::Wrote(id, attempt, outcome) => self.feed(id, Input::Wrote { attempt, outcome }),
            Done::Read(id, read, result) => self.feed(id, Input::Read { read, result }),
            Done::Inspected(number, result) => self.inspected(number, result),
            Done::Reconnected(true) => self.new_connection(),
            Done::Reconnected(false) => self.under_way.push(self.errands.reconnect()),
            Done::Watching(number, _) if !self.watch.is_present(number) => {}
            Done::Watching(_, Ok(stream)) => {
                let since = self.clock.now();
                self.watch.stands(stream, since);
                self.feed_all(&Input::Watching { since });
                // The store may be another than before, which knows of nobody.
                if !self.roll.is_empty() {
                    self.enlist();
                }
                // What vanished while nobody watched is told by no watch.
                let keys: Vec<_> = self.seats.keys().cloned().collect();
                keys.iter().for_each(|key| self.look(key));
            }
            Done::Watching(_, Err(fault)) => {
                tracing::debug!("the store cannot be watched at present: {fault}");
                self.watch_later();
            }
            Done::Looked(key, changes, result) => self.looked(&key, changes, result),
            Done::Enlisted(told) => self.enlisted(told),
            Done::Joined(id) => self.joined(id),
            Done::Told => {}
        }
    }

    fn wake(&mut self, sleeper: Sleeper) {
        match sleeper {
            Sleeper::Campaign(id) => match self.slots.get(&id).map(|slot| &slot.stage) {
                Some(Stage::Racing(_)) => self.feed(id, Input::Tick),
                Some(Stage::Entering(_)) => {
                    self.inspection.want(id, self.clock.now());
                    self.inspect();
                }
                Some(Stage::Over) | None => {}
            },
            Sleeper::Roll => self.enlist(),
            Sleeper::Seat(key) => self.look(&key),
            Sleeper::Watch => {
                let number = self.watch.begin();
                self.begin_watch(number);
            }
        }
    }

    fn inspect(&mut self) {
        if let Some(number) = self.inspection.begin(self.clock.now()) {
            self.under_way.push(self.errands.inspect(number));
        }
    }

    fn inspected(&mut self, number: u64, result: Result<StoreInfo, Fault>) {
        if !self.inspection.is_under_way(number) {
            // It was given up with its connection: what it says may be older than what is known by now.
            return;
        }
        if let Ok(info) = &result {
            self.max_age = info.max_age;
            self.report_flaw();
            if self.incarnation.replace(info.incarnation).is_some_and(|known| known != info.incarnation) {
                self.another_life(info);
            }
        }
        for id in self.inspection.answered(number, result.as_ref().ok().map(|info| info.asked_at)) {
            match self.slots.get(&id).map(|slot| &slot.stage) {
                Some(Stage::Entering(_)) => self.entered(id, &result),
                _ => self.feed(id, Input::Inspected(result.clone())),
            }
        }
        self.inspect();
    }

    /// Reports that the store's settings have become unsafe, once for each change, to all who campaign.
    fn report_flaw(&mut self) {
        let flaw = self.errands.adapter.flaw();
        if flaw == self.flaw {
            return;
        }
        self.flaw = flaw;
        if let Some(flaw) = &self.flaw {
            self.slots.values_mut().for_each(|slot| slot.report(Warning::Store(flaw.clone())));
        }
    }

    /// The store was made anew. Revisions of the old life mean nothing in this one, so what the old watch
    /// still has to tell is not for campaigns that know of it, and they all know at once.
    fn another_life(&mut self, info: &StoreInfo) {
        let number = self.watch.anew();
        self.begin_watch(number);
        self.feed_all(&Input::Inspected(Ok(*info)));
    }

    fn reconnect(&mut self) {
        if !std::mem::replace(&mut self.reconnecting, true) {
            self.under_way.push(self.errands.reconnect());
        }
    }

    fn new_connection(&mut self) {
        self.reconnecting = false;
        self.reconnected = Some(self.clock.now());
        self.inspection.give_up();
        self.inspect();
        self.feed_all(&Input::Reconnected);
    }

    fn want_watch(&mut self) {
        let number = self.watch.want();
        self.begin_watch(number);
    }

    fn begin_watch(&mut self, number: Option<u64>) {
        self.under_way.extend(number.map(|number| self.errands.watch(number)));
    }

    fn watch_later(&mut self) {
        let at = self.watch.ended(self.clock.now());
        self.wakes.set(Sleeper::Watch, Some(at));
    }

    fn watched(&mut self, watched: Option<WatchEvent>) {
        let Some(WatchEvent { key, entry }) = watched else { return self.watch_later() };
        if self.seats.contains_key(&*key) {
            self.see(&key, &entry);
        }
        let Some(ids) = self.elections.get(&*key).cloned() else { return self.asked(&key, &entry) };
        ids.into_iter().for_each(|id| self.feed(id, Input::Watched(entry.clone())));
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Empty after an orderly close. After a panic, nobody is left who could renew: every term ends now.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notifier::Notifier;
    use crate::store::{Memory, MemorySettings};

    #[tokio::test]
    async fn the_answer_of_an_inspection_that_was_given_up_changes_nothing() {
        let clock = Clock::system();
        let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
        let present = memory.inspect().await.unwrap();
        let (_requests, receiver) = mpsc::unbounded_channel();
        let mut hub = Hub::new(Box::new(memory), clock, true, Meter::default(), Notifier::new(), receiver);
        hub.want_watch();
        let watch = hub.watch.number();
        hub.inspection.want(1, Instant::ZERO);
        let given_up = hub.inspection.begin(Instant::ZERO).unwrap();
        hub.inspection.give_up();
        let asked = hub.inspection.begin(Instant::ZERO).unwrap();
        hub.inspected(asked, Ok(present));
        let Incarnation(incarnation) = present.incarnation;
        let late = StoreInfo { incarnation: Incarnation(incarnation - 1), max_age: None, ..present };
        hub.inspected(given_up, Ok(late));
        assert_eq!((hub.incarnation, hub.max_age), (Some(present.incarnation), present.max_age));
        assert_eq!(hub.watch.number(), watch, "no watch begins again");
    }
}
