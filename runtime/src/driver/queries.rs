//! The driver's work for observers, for callers that query the store, and for an operator's requests.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use incumbent_core::Revision;
use incumbent_core::record::Entry;
use incumbent_core::session::Request;
use incumbent_core::store::{Fault, StoreInfo};

use super::Driver;
use super::command::Reply;
use super::observed::ObservedElection;
use crate::observation::Observation;
use crate::queue::Queue;
use incumbent_store::Result;
use incumbent_store::link::{Input, Link};
use incumbent_store::request::{self, AcceptReset, HandOver, Request as OperatorRequest};
use incumbent_store::{CandidateInfo, EntryInfo, WatchEvent};

impl<L: Link> Driver<L> {
    /// Refuses a key that no election of this store can have.
    pub(super) fn check_election(&self, key: &str) -> Result<()> {
        request::check_election(key)?;
        self.store.link.check_key(key)
    }

    pub(super) fn entry(&mut self, election: String, reply: Reply<Entry>) {
        if let Err(error) = self.check_election(&election) {
            return drop(reply.send(Err(error)));
        }
        self.in_flight.push(self.store.answer(reply, self.store.link.entry(&election)));
    }

    pub(super) fn entry_info(&mut self, election: String, reply: Reply<Option<EntryInfo>>) {
        if let Err(error) = self.check_election(&election) {
            return drop(reply.send(Err(error)));
        }
        self.in_flight.push(self.store.answer(reply, self.store.link.written(&election)));
    }

    pub(super) fn candidates(&mut self, election: Option<String>, reply: Reply<Option<Vec<CandidateInfo>>>) {
        if let Err(error) = election.as_deref().map_or(Ok(()), |key| self.check_election(key)) {
            return drop(reply.send(Err(error)));
        }
        let ask = self.store.link.candidates(&self.roll, election);
        self.in_flight.push(self.store.answer(reply, ask));
    }

    pub(super) fn list(&mut self, reply: Reply<Vec<WatchEvent>>) {
        self.in_flight.push(self.store.answer(reply, self.store.link.list()));
    }

    pub(super) fn store_info(&mut self, reply: Reply<StoreInfo>) {
        self.in_flight.push(self.store.answer(reply, self.store.link.inspect()));
    }

    pub(super) fn observe(&mut self, election: String, queue: Arc<Queue<Observation>>, reply: Reply) {
        if let Err(error) = self.check_election(&election) {
            return drop(reply.send(Err(error)));
        }
        let key: Arc<str> = election.into();
        let new = || ObservedElection::new(Arc::clone(&key), L::ENTRIES_STAY);
        self.observed.entry(Arc::clone(&key)).or_insert_with(new).add(queue);
        self.store.link.follow(&key);
        self.read_for_observers(&key);
        self.feed(Input::<L>::Observe);
        drop(reply.send(Ok(())));
    }

    /// Forgets an election whose last observer is gone.
    pub(super) fn unobserved(&mut self, key: &str) {
        let Some((key, mut election)) = self.observed.remove_entry(key) else { return };
        if election.is_unobserved() {
            self.checks.set(&key, None);
            self.unfollow_unless_needed(&key);
        } else {
            self.observed.insert(key, election);
        }
    }

    /// Leaves an election out of the watch once no campaign and no observer needs it.
    pub(super) fn unfollow_unless_needed(&self, key: &str) {
        if !self.session.is_contested(key) && !self.observed.contains_key(key) {
            self.store.link.unfollow(key);
        }
    }

    /// Processes a change of a key from the watch, for its observers.
    pub(super) fn observe_entry(&mut self, key: &str, entry: &Entry) {
        let Some((key, mut election)) = self.observed.remove_entry(key) else { return };
        let (check, woken) = election.changed(self.clock.now(), entry, self.max_age());
        self.checks.set(&key, check);
        self.observed.insert(key, election);
        wake_all(woken);
    }

    /// Processes a change of an election whose new entry is not known, for its observers.
    pub(super) fn observe_change(&mut self, key: &str) {
        if let Some((key, mut election)) = self.observed.remove_entry(key) {
            election.note_change();
            self.observed.insert(Arc::clone(&key), election);
            self.read_for_observers(&key);
        }
    }

    /// The store's maximum age, from the last inspection.
    fn max_age(&self) -> Option<Duration> {
        self.session.info().and_then(|info| info.max_age)
    }

    /// Reads a key for its observers.
    pub(super) fn read_for_observers(&mut self, key: &Arc<str>) {
        let Some(election) = self.observed.get_mut(key) else { return };
        if let Some(changes) = election.begin_read() {
            self.in_flight.push(self.store.read_for_observers(key, changes));
        }
    }

    pub(super) fn observers_read(
        &mut self,
        key: &Arc<str>,
        changes: u64,
        result: std::result::Result<Entry, Fault>,
    ) {
        let (now, max_age) = (self.clock.now(), self.max_age());
        let Some(election) = self.observed.get_mut(key) else { return };
        let (check, woken) = election.read(now, changes, result.as_ref().ok(), max_age);
        let again = election.wants_read();
        self.checks.set(key, check);
        wake_all(woken);
        if again {
            self.read_for_observers(key);
        }
    }

    /// Processes an operator's request, which the watch showed under a reserved key.
    pub(super) fn operator_request(&mut self, key: &str, text: &str, revision: Revision) {
        let Some((election, asked)) = request::read(key, text) else { return };
        let request = match asked {
            OperatorRequest::HandOver(HandOver { leader, to }) => {
                if self.store.link.check_name(&to).is_err() {
                    tracing::debug!(election, to, "an operator's request names an impossible successor");
                    return;
                }
                Request::HandOver { leader, successor: to }
            }
            OperatorRequest::AcceptReset(AcceptReset { seen, incarnation }) => {
                Request::AcceptReset { seen, incarnation }
            }
        };
        self.feed(Input::<L>::Requested { election: election.into(), revision, request });
    }

    /// Ends the streams of all observers.
    pub(super) fn end_observers(&mut self) {
        wake_all(self.observed.drain().flat_map(|(_, election)| election.end()).collect());
    }
}

fn wake_all(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
