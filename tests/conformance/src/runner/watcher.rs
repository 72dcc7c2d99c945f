//! An observer, and its observations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use incumbent::incumbent_core::campaign::Leader;
use incumbent::{Clock, Instant, Observer};

/// An observer of a scenario.
pub(super) struct Watcher {
    sights: Arc<Mutex<Sights>>,
}

#[derive(Default)]
pub(super) struct Sights {
    pub(super) all: Vec<(Instant, Option<Leader>)>,
    /// The number of those that a step has consumed or skipped.
    pub(super) read: usize,
}

impl Watcher {
    pub(super) fn new(mut observer: Observer) -> Self {
        let sights = Arc::<Mutex<Sights>>::default();
        let seen = Arc::clone(&sights);
        tokio::spawn(async move {
            let clock = Clock::system();
            while let Some(observation) = observer.next().await {
                let mut sights = seen.lock().unwrap_or_else(PoisonError::into_inner);
                sights.all.push((clock.now(), observation.leader));
            }
        });
        Self { sights }
    }

    pub(super) fn sights(&self) -> MutexGuard<'_, Sights> {
        self.sights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a candidate of that name, publishing at least that, leads; or whether there is a vacancy, where
/// none is named.
pub(super) fn fits<'a>(
    leader: Option<&Leader>,
    name: Option<&str>,
    metadata: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> bool {
    let publishes = |key: &String, text: &String| {
        leader.is_some_and(|leader| leader.metadata.iter().any(|(k, t)| (k, t) == (key, text)))
    };
    leader.map(|leader| &*leader.name) == name && metadata.into_iter().all(|(key, text)| publishes(key, text))
}

/// The leader as a report shows it.
pub(super) fn shown(leader: Option<&Leader>) -> String {
    match leader {
        Some(leader) => format!("{:?} {:?}", leader.name, leader.metadata),
        None => "no leader".into(),
    }
}
