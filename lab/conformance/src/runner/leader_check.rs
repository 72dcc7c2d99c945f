//! Repeatedly asks all candidates whether they lead. Two candidates of one election must never both say yes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent::{Clock, Instant};
use incumbent_rig::probe::Probe;

use super::implementation::CandidateHandle;

/// The interval at which each candidate is asked.
const EVERY: Duration = Duration::from_millis(1);
/// If more time passes between two answers of a candidate, they may come from two terms.
const CLOSE: Duration = Duration::from_millis(50);

/// The candidates that may lead, and the result so far.
pub(super) struct LeaderCheck {
    shared: Arc<Shared>,
    _probe: Probe,
}

#[derive(Default)]
struct Shared {
    asked: Mutex<Vec<Asked>>,
    two_leaders: Mutex<Option<String>>,
}

struct Asked {
    election: String,
    id: String,
    who: Who,
}

enum Who {
    Alive(Arc<dyn CandidateHandle>),
    /// A candidate that died. It may have led until this instant.
    Dead(Instant),
}

impl Asked {
    fn leads(&self, clock: &Clock) -> bool {
        match &self.who {
            Who::Alive(handle) => handle.is_leader(),
            Who::Dead(until) => clock.now() < *until,
        }
    }
}

impl LeaderCheck {
    /// Starts a thread that asks the candidates.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start() -> io::Result<Self> {
        let (shared, clock) = (Arc::<Shared>::default(), Clock::system());
        let asking = Arc::clone(&shared);
        let probe = Probe::every(EVERY, move || {
            if let Some(two) = two_lead(&lock(&asking.asked), &clock) {
                lock(&asking.two_leaders).get_or_insert(two);
            }
        })?;
        Ok(Self { shared, _probe: probe })
    }

    /// Asks this candidate from now on, in place of an earlier one with the same id.
    pub(super) fn ask(&self, election: &str, id: &str, handle: &Arc<dyn CandidateHandle>) {
        self.replace(election, id, Who::Alive(Arc::clone(handle)));
    }

    /// Records that a candidate is dead. It counts as a leader until `deadline`.
    pub(super) fn died(&self, election: &str, id: &str, deadline: Instant) {
        self.replace(election, id, Who::Dead(deadline));
    }

    /// Returns a description of two candidates that led at once, if that has been observed.
    pub(super) fn two_leaders(&self) -> Option<String> {
        lock(&self.shared.two_leaders).clone()
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

/// Finds two candidates that certainly led at once: the first answered yes both before and after the second answered
/// yes.
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

    /// Returns a candidate that leads until `until` seconds, on a clock that shows 5 s.
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

    /// Returns a candidate that leads, in a store of its own.
    async fn leader(id: &str) -> Arc<dyn CandidateHandle> {
        let store = Library.open("memory:", Duration::from_secs(15)).await.unwrap();
        let settings = Settings { splay: Some(Duration::ZERO), ..Settings::new(id) };
        let candidate = store.campaign("jobs", settings, false).await.unwrap();
        while !matches!(candidate.next().await.unwrap().event, Event::Won(_)) {}
        candidate
    }

    #[tokio::test]
    async fn candidates_that_both_lead_are_seen() {
        let (a, b) = (leader("a").await, leader("b").await);
        let leader_check = LeaderCheck::start().unwrap();
        leader_check.ask("jobs", "a", &a);
        leader_check.ask("mail", "b", &b);
        assert_eq!((leader_check.leaders("jobs"), leader_check.two_leaders()), (vec!["a".into()], None));
        leader_check.ask("jobs", "b", &b);
        while leader_check.two_leaders().is_none() {
            tokio::time::sleep(EVERY).await;
        }
        assert_eq!(leader_check.two_leaders().as_deref(), Some("a and b both lead \"jobs\""));
    }
}
