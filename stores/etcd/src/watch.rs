//! The watch: all companions of a prefix and an operator's requests, and the places of each election that is followed.
//!
//! One watch of the whole prefix would be simpler, but without a prefix it would deliver, and need permission for,
//! every key of the cluster.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use incumbent_core::Revision;
use incumbent_core::queue::{Change, Operation};
use incumbent_core::store::Fault;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use super::keys::{Keys, name_of, revision};
use super::transaction::fault;
use super::wire::connection::{Answers, Connection, method};
use super::wire::messages::{
    Event, EventKind, KeyValue, RangeRequest, RangeResponse, WatchCancel, WatchCreate, WatchRequest,
    WatchResponse,
};
use incumbent_store::link::Watched;
use incumbent_store::request;

/// The number of the watch of the companions. Watches of places have the numbers after it.
const COMPANIONS: i64 = 1;
/// How long the removal of a place waits for the removal of its companion at the same revision, or vice versa. A member
/// sends both at once, so anything later is a separate removal.
const TOGETHER: Duration = Duration::from_millis(3);

/// The watches of a connection.
pub(super) struct Watches {
    connection: Arc<Connection>,
    keys: Keys,
    followed: Mutex<Followed>,
}

/// The followed elections, and the open watch.
#[derive(Default)]
struct Followed {
    /// The number of the watch on each election's places, from the first read on.
    numbers: HashMap<String, Option<i64>>,
    elections: HashMap<i64, String>,
    /// The newest number. No number is reused, because a server may still answer a cancelled watch.
    last: i64,
    /// The channel for watching another election's places.
    requests: Option<mpsc::UnboundedSender<WatchRequest>>,
}

impl Watches {
    pub(super) fn new(connection: &Arc<Connection>, keys: &Keys) -> Self {
        Self { connection: Arc::clone(connection), keys: keys.clone(), followed: Mutex::default() }
    }

    /// Watches the places of an election from its next read on, in this watch and all later ones.
    pub(super) fn follow(&self, election: &str) {
        self.followed().numbers.entry(election.to_owned()).or_default();
    }

    /// Stops watching the places of an election.
    pub(super) fn unfollow(&self, election: &str) {
        let mut followed = self.followed();
        let Some(number) = followed.numbers.remove(election).flatten() else { return };
        followed.elections.remove(&number);
        let cancel = WatchRequest { create: None, cancel: Some(WatchCancel { watch_id: number }) };
        followed.send(cancel);
    }

    /// The number of followed elections.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let followed = self.followed();
        assert!(
            followed.elections.len() <= followed.numbers.len(),
            "a watch remains for an election that was left"
        );
        followed.numbers.len()
    }

    /// Reports that an election was read at this revision, from which its watch begins. If the election has been
    /// unfollowed meanwhile, no watch begins.
    pub(super) fn read(&self, election: &str, read: Revision) {
        let mut followed = self.followed();
        if followed.numbers.get(election) != Some(&None) {
            return;
        }
        followed.last = followed.last.max(COMPANIONS) + 1;
        let number = followed.last;
        followed.numbers.insert(election.to_owned(), Some(number));
        followed.elections.insert(number, election.to_owned());
        followed.send(watch(number, self.keys.places(election), read));
    }

    /// Begins a watch.
    pub(super) async fn begin(self: &Arc<Self>) -> Result<BoxStream<'static, Watched<Change>>, Fault> {
        let ours = self.keys.watched();
        let (key, range_end) = self.keys.requests();
        let read = RangeRequest { key, range_end, ..Default::default() };
        let standing = self.connection.call::<_, RangeResponse>(method::RANGE, read).await;
        let standing = standing.map_err(|status| fault(Operation::Watch, &status))?;
        // A watch from another revision would miss changes or show old ones.
        let header = standing
            .header
            .ok_or_else(|| fault(Operation::Watch, &Status::unknown("etcd answered without a header")))?;
        let read = revision(header.revision);

        let (requests, queued) = mpsc::unbounded_channel();
        {
            let mut followed = self.followed();
            // The receiver is in scope.
            let _ = requests.send(watch(COMPANIONS, ours.clone(), read));
            for (number, election) in &followed.elections {
                let _ = requests.send(watch(*number, self.keys.places(election), read));
            }
            followed.requests = Some(requests);
        }
        let answers = self.connection.watches(queued).await;
        let answers = answers.map_err(|status| fault(Operation::Watch, &status))?;
        let ready = standing.kvs.iter().filter_map(|kv| request_of(kv, name_of(kv, &ours))).collect();
        let reading = Reading {
            watches: Arc::clone(self),
            answers,
            fragments: HashMap::new(),
            held: BTreeMap::new(),
            held_until: None,
            ready,
            ended: false,
        };
        Ok(stream::unfold(reading, Reading::next).boxed())
    }

    fn election(&self, number: i64) -> Option<String> {
        self.followed().elections.get(&number).cloned()
    }

    fn follows(&self, election: &str) -> bool {
        self.followed().numbers.get(election).is_some_and(Option::is_some)
    }

    /// Never held across an await.
    fn followed(&self) -> MutexGuard<'_, Followed> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Followed {
    /// Sends a request. A watch that has ended takes no more requests, because the next watch covers all elections
    /// followed when it begins.
    fn send(&self, request: WatchRequest) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(request);
        }
    }
}

/// A request to watch a range from the revision after the one that was read.
fn watch(number: i64, (key, range_end): (Vec<u8>, Vec<u8>), read: Revision) -> WatchRequest {
    let start_revision = i64::try_from(read.0).unwrap_or(i64::MAX).saturating_add(1);
    let create = WatchCreate { key, range_end, start_revision, watch_id: number, fragment: true };
    WatchRequest { create: Some(create), cancel: None }
}

/// The operator's request under a key, if it is one.
fn request_of(kv: &KeyValue, key: String) -> Option<Watched<Change>> {
    let text = String::from_utf8_lossy(&kv.value).into_owned();
    request::is_reserved(&key).then(|| Watched::Requested { key, text, revision: revision(kv.mod_revision) })
}

/// A watch, and the changes that it has not emitted yet.
struct Reading {
    watches: Arc<Watches>,
    answers: Answers<WatchResponse>,
    /// The events of answers that are not complete, by the number of the watch.
    fragments: HashMap<i64, Vec<Event>>,
    /// Changes that are, or may be, incomplete.
    held: BTreeMap<(Revision, String), Held>,
    held_until: Option<Instant>,
    ready: VecDeque<Watched<Change>>,
    ended: bool,
}

/// The known changes of an election at one revision.
#[derive(Default)]
struct Held {
    change: Change,
    of_places: bool,
    of_companions: bool,
}

impl Held {
    /// Whether everything that matters to campaigns has arrived.
    fn is_complete(&self) -> bool {
        let removes = !self.change.removed_places.is_empty() || !self.change.removed_companions.is_empty();
        !removes || (self.of_places && self.of_companions)
    }
}

impl Reading {
    async fn next(mut self) -> Option<(Watched<Change>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            if self.ended {
                return None;
            }
            let held_until = self.held_until;
            let wait = async {
                match held_until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                answer = self.answers.next() => match answer {
                    Ok(answer) => self.take(answer),
                    Err(status) => self.end(status.message()),
                },
                () = wait => self.release(|_, _| true),
            }
        }
    }

    fn end(&mut self, reason: &str) {
        tracing::debug!("the watch of etcd ended: {reason}");
        self.ended = true;
        self.release(|_, _| true);
    }

    fn take(&mut self, mut answer: WatchResponse) {
        let number = answer.watch_id;
        if number != COMPANIONS && self.watches.election(number).is_none() {
            // These are answers for an unfollowed election: the confirmation, or changes that were already on their
            // way.
            self.fragments.remove(&number);
            return;
        }
        if answer.canceled {
            let reason = match answer.compact_revision {
                0 => answer.cancel_reason,
                oldest => format!("revisions before {oldest} are compacted"),
            };
            return self.end(&reason);
        }
        if answer.fragment {
            return self.fragments.entry(number).or_default().append(&mut answer.events);
        }
        let mut events = self.fragments.remove(&number).unwrap_or_default();
        events.append(&mut answer.events);
        for event in events {
            self.hold(number, &event);
        }
        // The changes of an election are emitted in the order of their revisions.
        let mut complete = HashMap::<String, Revision>::new();
        for ((revision, election), held) in &self.held {
            if held.is_complete() {
                complete.insert(election.clone(), *revision);
            }
        }
        self.release(|election, revision| complete.get(election).is_some_and(|last| revision <= *last));
    }

    fn hold(&mut self, number: i64, event: &Event) {
        let Some(kv) = &event.kv else { return };
        let deleted = event.kind() == EventKind::Delete;
        let keys = &self.watches.keys;
        if number != COMPANIONS {
            let Some(election) = self.watches.election(number) else { return };
            let key = name_of(kv, &keys.places(&election));
            let held = self.held.entry((revision(kv.mod_revision), election)).or_default();
            held.of_places = true;
            if deleted {
                held.change.removed_places.push(key);
            }
            return;
        }
        let name = name_of(kv, &keys.watched());
        let Some((election, key)) = name.split_once('/') else {
            if !deleted {
                self.ready.extend(request_of(kv, name));
            }
            return;
        };
        if !self.watches.follows(election) {
            return;
        }
        let held = self.held.entry((revision(kv.mod_revision), election.to_owned())).or_default();
        held.of_companions = true;
        if deleted {
            held.change.removed_companions.push(key.to_owned());
        } else if kv.create_revision < kv.mod_revision {
            held.change.rewritten_companions.push(key.to_owned());
        }
    }

    /// Emits the held changes for which `may_go` is true.
    fn release(&mut self, may_go: impl Fn(&str, Revision) -> bool) {
        let held = std::mem::take(&mut self.held);
        for ((revision, election), held) in held {
            if may_go(&election, revision) {
                let change = Change { revision, ..held.change };
                self.ready.push_back(Watched::Changed { election, shown: change });
            } else {
                self.held.insert((revision, election), held);
            }
        }
        self.held_until = match self.held.is_empty() {
            true => None,
            false => self.held_until.or_else(|| Some(Instant::now() + TOGETHER)),
        };
    }
}
