//! The candidates in the elections of a store.
//!
//! A waiting candidate writes nothing to the store, so the store does not know of it. Each connection keeps a registry
//! of its own candidates. The adapter announces this registry to other connections in whatever way its store allows: on
//! request, or by storing it at every change.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::record::Nonce;

use crate::clock::Clock;
use crate::fork::ForkGuard;

/// A candidate in an election, whatever its state: waiting, acquiring, holding, leading or leaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateInfo {
    /// The election's key.
    pub election: String,
    /// The candidate's name.
    pub name: String,
    /// The nonce of the candidate's campaign, which distinguishes candidates with the same name; `None` if it is not
    /// reported.
    pub nonce: Option<Nonce>,
    /// For how long it has been a candidate without interruption. The time starts again after the candidate was
    /// unhealthy, or its process restarted.
    pub standing_for: Duration,
}

/// The present candidates of one connection.
///
/// A registry is cheap to clone, and all clones are the same registry. It is empty once its store is closed, and in a
/// forked child.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    birth: ForkGuard,
    /// The registrations are in boxes, because half of a map's slots may be empty.
    registered: Mutex<BTreeMap<u64, Box<Registration>>>,
}

/// A registered candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The election's key.
    pub election: Arc<str>,
    /// The candidate's name.
    pub name: String,
    /// The nonce of its campaign.
    pub nonce: Option<Nonce>,
    /// On the store's clock.
    pub since: Instant,
}

impl Registry {
    /// An empty registry.
    pub fn new(clock: &Clock) -> Self {
        let (clock, birth, registered) = (clock.clone(), ForkGuard::new(), Mutex::default());
        Self { shared: Arc::new(Shared { clock, birth, registered }) }
    }

    /// The present candidates by election, the longest-registered one first.
    pub fn list(&self) -> Vec<CandidateInfo> {
        let now = self.shared.clock.now();
        let mut present: Vec<_> =
            self.registrations().into_iter().map(|registration| registration.at(now)).collect();
        sort(&mut present);
        present
    }

    /// Returns true if there are no candidates now.
    pub fn is_empty(&self) -> bool {
        self.shared.is_forked() || self.shared.lock().is_empty()
    }

    /// Adds the candidate with that number.
    pub fn enter(&self, id: u64, registration: Registration) {
        self.shared.lock().insert(id, Box::new(registration));
    }

    /// Removes the candidate with that number, if present.
    pub fn leave(&self, id: u64) {
        self.shared.lock().remove(&id);
    }

    /// Removes all candidates.
    pub fn clear(&self) {
        self.shared.lock().clear();
    }

    /// The candidates, as they registered.
    pub fn registrations(&self) -> Vec<Registration> {
        if self.shared.is_forked() {
            return Vec::new();
        }
        self.shared.lock().values().map(|registration| (**registration).clone()).collect()
    }

    /// Returns a reference to this registry that does not keep it alive.
    pub fn downgrade(&self) -> WeakRegistry {
        WeakRegistry(Arc::downgrade(&self.shared))
    }
}

impl Shared {
    /// Returns true in a forked child. This is checked before the lock is taken, because a thread of the parent may
    /// have held the lock during the fork.
    fn is_forked(&self) -> bool {
        self.birth.is_forked()
    }

    /// Locks the registrations. No code panics while it holds this lock.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Box<Registration>>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reference to a [`Registry`] that does not keep it alive.
#[derive(Clone, Debug)]
pub struct WeakRegistry(Weak<Shared>);

impl WeakRegistry {
    /// The registry, while its driver runs.
    pub fn upgrade(&self) -> Option<Registry> {
        self.0.upgrade().map(|shared| Registry { shared })
    }

    /// Whether it is that registry.
    pub fn is_of(&self, registry: &Registry) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&registry.shared))
    }
}

impl Registration {
    /// The information about the candidate at an instant.
    pub fn at(self, now: Instant) -> CandidateInfo {
        let Self { election, name, nonce, since } = self;
        CandidateInfo { election: election.as_ref().to_owned(), name, nonce, standing_for: now.since(since) }
    }
}

/// Merges a connection's own candidates with those of other connections, for all elections or for one. Each campaign
/// appears once.
pub fn merge(
    own: Vec<CandidateInfo>,
    heard: Vec<CandidateInfo>,
    election: Option<&str>,
) -> Vec<CandidateInfo> {
    let mut known = HashSet::new();
    let mut present: Vec<_> = own
        .into_iter()
        .chain(heard)
        .filter(|present| election.is_none_or(|election| present.election == election))
        .filter(|present| present.nonce.is_none_or(|nonce| known.insert(nonce)))
        .collect();
    sort(&mut present);
    present
}

fn sort(present: &mut [CandidateInfo]) {
    present.sort_by(|one, other| {
        let order = one.election.cmp(&other.election);
        order.then(other.standing_for.cmp(&one.standing_for)).then_with(|| one.name.cmp(&other.name))
    });
}

/// The registries of this process's connections to one store, which are the list of a store that cannot ask other
/// processes.
#[derive(Debug, Default)]
pub struct Connections(Mutex<Vec<WeakRegistry>>);

impl Connections {
    /// Adds the registry of a connection, unless it has already been added.
    pub fn add(&self, registry: &Registry) {
        let mut known = self.lock();
        known.retain(|known| known.upgrade().is_some());
        if !known.iter().any(|known| known.is_of(registry)) {
            known.push(registry.downgrade());
        }
    }

    /// The candidates of all connections.
    pub fn candidates(&self) -> Vec<CandidateInfo> {
        self.lock().iter().filter_map(WeakRegistry::upgrade).flat_map(|registry| registry.list()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WeakRegistry>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(election: &str, name: &str, nonce: u128, since: u64) -> Registration {
        let since = Instant::from_nanos(since);
        Registration { election: election.into(), name: name.into(), nonce: Some(Nonce(nonce)), since }
    }

    fn present(election: &str, name: &str, nonce: Option<u128>, nanos: u64) -> CandidateInfo {
        let standing_for = Duration::from_nanos(nanos);
        CandidateInfo { election: election.into(), name: name.into(), nonce: nonce.map(Nonce), standing_for }
    }

    #[test]
    fn a_list_holds_the_candidates_of_that_instant_and_for_how_long_they_are_registered() {
        let clock = Clock::manual(Instant::from_nanos(100));
        let registry = Registry::new(&clock);
        assert!(registry.is_empty());
        let kept = registry.clone();
        registry.enter(1, registration("jobs", "ada", 1, 100));
        clock.advance(Duration::from_nanos(5));
        assert_eq!(kept.list(), [present("jobs", "ada", Some(1), 5)]);
        registry.leave(1);
        assert_eq!(kept.list(), []);
        assert!(kept.is_empty());
    }

    #[test]
    fn elections_come_by_key_and_in_each_the_one_that_stood_longest_first() {
        let clock = Clock::manual(Instant::from_nanos(100));
        let registry = Registry::new(&clock);
        let all = [("b", "z", 1), ("b", "y", 3), ("b", "x", 3), ("a", "w", 9)];
        for (id, (election, name, since)) in all.into_iter().enumerate() {
            registry.enter(id as u64, registration(election, name, id as u128, since));
        }
        let names: Vec<_> = registry.list().into_iter().map(|present| present.name).collect();
        assert_eq!(names, ["w", "z", "x", "y"]);
    }

    #[test]
    fn a_campaign_that_is_received_twice_is_listed_once_as_its_own_connection_has_it() {
        let own = vec![present("a", "ada", Some(1), 10)];
        let heard = vec![
            present("a", "ada", Some(1), 9),
            present("a", "ben", Some(2), 11),
            present("a", "ben", Some(2), 12),
            present("b", "cleo", Some(3), 1),
        ];
        let told = merge(own.clone(), heard.clone(), None);
        assert_eq!(told, [heard[1].clone(), own[0].clone(), heard[3].clone()]);
        assert_eq!(merge(own, heard.clone(), Some("b")), [heard[3].clone()]);
    }

    #[test]
    fn candidates_without_a_nonce_are_listed_one_by_one() {
        let heard = vec![present("a", "x", None, 2), present("a", "x", None, 1)];
        assert_eq!(merge(Vec::new(), heard.clone(), None), heard);
    }

    #[test]
    fn a_weak_registry_keeps_no_candidate() {
        let registry = Registry::new(&Clock::system());
        let weak = registry.downgrade();
        assert!(weak.is_of(&registry) && !weak.is_of(&Registry::new(&Clock::system())));
        drop(registry);
        assert!(weak.upgrade().is_none());
    }
}
