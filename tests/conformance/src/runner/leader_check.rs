//! Repeatedly asks all candidates whether they lead: two of one election must never both say yes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use incumbent::{Clock, Instant};

use super::implementation::Player;

/// The interval between two questions to a candidate.
const EVERY: Duration = Duration::from_millis(1);
/// Two answers of one candidate with a longer interval may be from two terms.
const CLOSE: Duration = Duration::from_millis(50);

/// The candidates that may lead, and the result so far.
pub(super) struct Witness {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    asked: Mutex<Vec<Asked>>,
    verdict: Mutex<Option<String>>,
    stop: AtomicBool,
}

struct Asked {
    election: String,
    id: String,
    who: Who,
}

enum Who {
    Player(Arc<dyn Player>),
    /// A candidate that died while it led may have led until then.
    Dead(Instant),
}

impl Asked {
    fn leads(&self, clock: &Clock) -> bool {
        match &self.who {
            Who::Player(player) => player.is_leader(),
            Who::Dead(until) => clock.now() < *until,
        }
    }
}

impl Witness {
    pub(super) fn new() -> Self {
        let shared = Arc::<Shared>::default();
        let asking = Arc::clone(&shared);
        let ask = move || {
            let clock = Clock::system();
            while !asking.stop.load(Ordering::Relaxed) {
                if let Some(two) = two_lead(&lock(&asking.asked), &clock) {
                    lock(&asking.verdict).get_or_insert(two);
                }
                thread::sleep(EVERY);
            }
        };
        Self { shared, thread: Some(thread::spawn(ask)) }
    }

    /// Asks this candidate from now on, and no longer the one that it replaces.
    pub(super) fn ask(&self, election: &str, id: &str, player: &Arc<dyn Player>) {
        self.replace(election, id, Who::Player(Arc::clone(player)));
    }

    /// Takes in that a candidate is dead: it counts as leader until its deadline.
    pub(super) fn died(&self, election: &str, id: &str, deadline: Instant) {
        self.replace(election, id, Who::Dead(deadline));
    }

    /// The observation of two candidates that led at once.
    pub(super) fn verdict(&self) -> Option<String> {
        lock(&self.shared.verdict).clone()
    }

    /// The candidates of an election that lead at this moment.
    pub(super) fn leaders(&self, election: &str) -> Vec<String> {
        let clock = Clock::system();
        let asked = lock(&self.shared.asked);
        let leads = asked.iter().filter(|one| one.election == election && one.leads(&clock));
        leads.map(|one| one.id.clone()).collect()
    }

    fn replace(&self, election: &str, id: &str, who: Who) {
        let mut asked = lock(&self.shared.asked);
        asked.retain(|one| one.id != id);
        asked.push(Asked { election: election.into(), id: id.into(), who });
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Two that certainly led at once: the first said so before and after the second did.
fn two_lead(asked: &[Asked], clock: &Clock) -> Option<String> {
    for (at, one) in asked.iter().enumerate() {
        let before = clock.now();
        if !one.leads(clock) {
            continue;
        }
        let others =
            asked.iter().enumerate().filter(|(other, asked)| *other != at && asked.election == one.election);
        for (_, other) in others {
            if other.leads(clock) && one.leads(clock) && clock.now().since(before) < CLOSE {
                return Some(format!("{} and {} both lead {:?}", one.id, other.id, one.election));
            }
        }
    }
    None
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use incumbent::incumbent_core::campaign::{Event, Settings};

    use super::*;
    use crate::runner::{Implementation, Library};

    /// A candidate that leads until these seconds of a clock that shows 5 s.
    fn asked(election: &str, id: &str, until: u64) -> Asked {
        let until = Instant::ZERO + Duration::from_secs(until);
        Asked { election: election.into(), id: id.into(), who: Who::Dead(until) }
    }

    #[test]
    fn two_leaders_of_an_election_are_seen_and_of_two_elections_are_not() {
        let clock = Clock::manual(Instant::ZERO + Duration::from_secs(5));
        let rivals = [asked("jobs", "a", 6), asked("jobs", "b", 5), asked("jobs", "c", 7)];
        assert_eq!(two_lead(&rivals, &clock).as_deref(), Some("a and c both lead \"jobs\""));
        let neighbours = [asked("jobs", "a", 6), asked("jobs", "b", 5), asked("mail", "c", 7)];
        assert_eq!(two_lead(&neighbours, &clock), None);
    }

    /// A candidate that leads, in a store of its own.
    async fn leader(id: &str) -> Arc<dyn Player> {
        let store = Library.open("memory:", Duration::from_secs(15)).await.unwrap();
        let settings = Settings { splay: Some(Duration::ZERO), ..Settings::new(id) };
        let candidate = store.campaign("jobs", settings, false).await.unwrap();
        while !matches!(candidate.next().await.unwrap().event, Event::Won(_)) {}
        candidate
    }

    #[tokio::test]
    async fn the_witness_sees_candidates_that_both_lead() {
        let (a, b) = (leader("a").await, leader("b").await);
        let witness = Witness::new();
        witness.ask("jobs", "a", &a);
        witness.ask("mail", "b", &b);
        assert_eq!((witness.leaders("jobs"), witness.verdict()), (vec!["a".into()], None));
        witness.ask("jobs", "b", &b);
        while witness.verdict().is_none() {
            tokio::time::sleep(EVERY).await;
        }
        assert_eq!(witness.verdict().as_deref(), Some("a and b both lead \"jobs\""));
    }
}
