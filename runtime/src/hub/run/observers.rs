//! The driver's work for observers, for callers with a query, and for an operator's requests.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use incumbent_core::record::Entry;
use incumbent_core::session::{Input, Request};
use incumbent_core::store::{Fault, StoreInfo};

use super::Hub;
use crate::Result;
use crate::hub::Answer;
use crate::hub::seat::Seat;
use crate::observe::Observation;
use crate::queue::Queue;
use crate::store::registry::merge;
use crate::store::request::{self, AcceptReset, HandOver, Request as Asked};
use crate::store::{CandidateInfo, EntryInfo, WatchEvent};

impl Hub {
    /// Refuses keys that no election of this store can have.
    pub(super) fn check_election(&self, key: &str) -> Result<()> {
        request::check_election(key)?;
        self.errands.adapter.check_key(key)
    }

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

    pub(super) fn candidates(&mut self, election: Option<String>, reply: Answer<Option<Vec<CandidateInfo>>>) {
        if let Err(error) = election.as_deref().map_or(Ok(()), |key| self.check_election(key)) {
            return drop(reply.send(Err(error)));
        }
        let (adapter, own) = (Arc::clone(&self.errands.adapter), self.roll.clone());
        let ask = async move {
            let heard = adapter.candidates().await?;
            Ok(heard.map(|heard| merge(own.list(), heard, election.as_deref())))
        };
        self.under_way.push(self.errands.answer(reply, ask));
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
        self.feed(Input::Observe);
        drop(reply.send(Ok(())));
    }

    /// Processes a change of a key from the watch, for its observers.
    pub(super) fn see(&mut self, key: &str, entry: &Entry) {
        let (now, max_age) = (self.clock.now(), self.max_age());
        let Some((key, mut seat)) = self.seats.remove_entry(key) else { return };
        if seat.is_deserted() {
            return self.checks.set(&key, None);
        }
        let (check, woken) = seat.see(now, entry, max_age);
        self.checks.set(&key, check);
        self.seats.insert(key, seat);
        wake_all(woken);
    }

    /// The store's maximum age, as last inspected.
    fn max_age(&self) -> Option<Duration> {
        self.session.info().and_then(|info| info.max_age)
    }

    /// Reads a key for its observers.
    pub(super) fn look(&mut self, key: &Arc<str>) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        if seat.is_deserted() {
            self.seats.remove(key);
            return self.checks.set(key, None);
        }
        if let Some(changes) = seat.begin_read() {
            self.under_way.push(self.errands.look(key, changes));
        }
    }

    pub(super) fn looked(&mut self, key: &Arc<str>, changes: u64, result: std::result::Result<Entry, Fault>) {
        let (now, max_age) = (self.clock.now(), self.max_age());
        let Some(seat) = self.seats.get_mut(key) else { return };
        let (check, woken) = seat.read(now, changes, result.as_ref().ok(), max_age);
        self.checks.set(key, check);
        wake_all(woken);
    }

    /// Processes a change of a key that is no election here: it may be an operator's request.
    pub(super) fn requested(&mut self, key: &str, entry: &Entry) {
        let Some(record) = entry.live() else { return };
        let Some((election, asked)) = request::read(key, &record.candidate) else { return };
        let request = match asked {
            Asked::HandOver(HandOver { leader, to }) => {
                if self.errands.adapter.check_name(&to).is_err() {
                    tracing::debug!(election, to, "an operator's request names a successor that cannot be");
                    return;
                }
                Request::HandOver { leader, successor: to }
            }
            Asked::AcceptReset(AcceptReset { seen, incarnation }) => {
                Request::AcceptReset { seen, incarnation }
            }
        };
        self.feed(Input::Requested { election: election.into(), revision: record.revision, request });
    }

    /// Ends the streams of all observers.
    pub(super) fn end_seats(&mut self) {
        wake_all(self.seats.drain().flat_map(|(_, seat)| seat.end()).collect());
    }
}

fn wake_all(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
