//! What the hub does for those who do not campaign: observers, and callers with a question.

use std::sync::Arc;
use std::task::Waker;

use incumbent_core::record::Entry;
use incumbent_core::store::{Fault, StoreInfo};

use super::Hub;
use crate::hub::Answer;
use crate::hub::seat::Seat;
use crate::hub::wakes::Sleeper;
use crate::observe::Observation;
use crate::queue::Queue;
use crate::store::{EntryInfo, WatchEvent};

impl Hub {
    pub(super) fn read(&mut self, election: String, reply: Answer<Entry>) {
        if let Err(error) = self.check_election(&election) {
            return drop(reply.send(Err(error)));
        }
        let adapter = Arc::clone(&self.errands.adapter);
        self.under_way.push(self.errands.answer(reply, async move { adapter.read(&election).await }));
    }

    pub(super) fn written(&mut self, election: String, reply: Answer<Option<EntryInfo>>) {
        if let Err(error) = self.check_election(&election) {
            return drop(reply.send(Err(error)));
        }
        let adapter = Arc::clone(&self.errands.adapter);
        self.under_way.push(self.errands.answer(reply, async move { adapter.written(&election).await }));
    }

    pub(super) fn list(&mut self, reply: Answer<Vec<WatchEvent>>) {
        let adapter = Arc::clone(&self.errands.adapter);
        self.under_way.push(self.errands.answer(reply, async move { adapter.list().await }));
    }

    pub(super) fn store_info(&mut self, reply: Answer<StoreInfo>) {
        let adapter = Arc::clone(&self.errands.adapter);
        self.under_way.push(self.errands.answer(reply, async move { adapter.inspect().await }));
    }

    pub(super) fn observe(&mut self, election: String, queue: Arc<Queue<Observation>>, reply: Answer<()>) {
        if let Err(error) = self.check_election(&election) {
            return drop(reply.send(Err(error)));
        }
        let key: Arc<str> = election.into();
        let seat = self.seats.entry(Arc::clone(&key)).or_insert_with(|| Seat::new(Arc::clone(&key)));
        seat.join(queue);
        self.look(&key);
        self.want_watch();
        drop(reply.send(Ok(())));
    }

    /// Takes in what the watch tells of a key, for its observers.
    pub(super) fn see(&mut self, key: &str, entry: &Entry) {
        let now = self.clock.now();
        let Some((key, mut seat)) = self.seats.remove_entry(key) else { return };
        if seat.is_deserted() {
            return self.wakes.set(Sleeper::Seat(key), None);
        }
        let (check, woken) = seat.see(now, entry, self.max_age);
        self.wakes.set(Sleeper::Seat(Arc::clone(&key)), check);
        self.seats.insert(key, seat);
        wake_all(woken);
    }

    /// Reads a key for its observers.
    pub(super) fn look(&mut self, key: &Arc<str>) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        if seat.is_deserted() {
            self.seats.remove(key);
            return self.wakes.set(Sleeper::Seat(Arc::clone(key)), None);
        }
        if let Some(changes) = seat.begin_read() {
            self.under_way.push(self.errands.look(key, changes));
        }
    }

    pub(super) fn looked(&mut self, key: &Arc<str>, changes: u64, result: Result<Entry, Fault>) {
        let now = self.clock.now();
        let Some(seat) = self.seats.get_mut(key) else { return };
        let (check, woken) = seat.read(now, changes, result.as_ref().ok(), self.max_age);
        self.wakes.set(Sleeper::Seat(Arc::clone(key)), check);
        wake_all(woken);
    }

    /// Nothing more will be told to any observer.
    pub(super) fn end_seats(&mut self) {
        wake_all(self.seats.drain().flat_map(|(_, seat)| seat.end()).collect());
    }
}

fn wake_all(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
