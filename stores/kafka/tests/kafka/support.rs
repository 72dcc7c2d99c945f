//! Helpers for these tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use incumbent::{CampaignOptions, Candidate, Event, Events, Preset, Reason, Store, Token};
use incumbent_testkit::kafka::shared::Shared;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The limit of anything that has no limit of its own. It is long because the machine may also be building.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// A lease that outlasts a stall of 10 s.
pub(super) const LONG: Duration = Duration::from_secs(12);

/// The session of candidates with [a lease of 2 s](brief).
pub(super) const SESSION: Duration = Duration::from_secs(6);
/// The parameters of three kinds of groups: with cooperative assignors, with goNELI's eager ones, and with KIP-848.
pub(super) const GROUPS: [&str; 3] = ["", "?goneli=true", "?protocol=consumer"];

/// The broker that is shared by all tests that do not stop it.
pub(super) fn broker() -> Arc<Shared> {
    Shared::broker()
}

/// An election that no other test has.
pub(super) fn election(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A store on the brokers at this address, with these parameters.
pub(super) async fn open(address: &str, parameters: &str) -> Store {
    let url = format!("kafka://{address}/{parameters}");
    timeout(LIMIT, Store::open(&url)).await.expect("a store in time").expect("a store")
}

/// A candidate's options with a long lease.
pub(super) fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).lease(LONG)
}

/// A candidate's options with the shortest lease for which a session of 6 s is long enough.
pub(super) fn brief(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Fast).lease(Duration::from_secs(2))
}

/// A candidate of an election that another candidate has released, so that this one does not wait for a lease as in an
/// empty log.
pub(super) async fn once_released(store: &Store, election: &str, options: CampaignOptions) -> Candidate {
    let first = store.campaign(election, brief("first")).await.unwrap();
    drop(next_term(&first).await);
    timeout(LIMIT, first.close()).await.unwrap().unwrap();
    store.campaign(election, options).await.unwrap()
}

/// Waits for the next term of a candidate.
pub(super) async fn next_term(candidate: &Candidate) -> incumbent::Term {
    timeout(LIMIT, candidate.next_term()).await.expect("a term in time").expect("a term")
}

/// Waits until a condition holds.
pub(super) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LIMIT, waiting).await.unwrap_or_else(|_| panic!("{what} did not happen within {LIMIT:?}"));
}

/// Waits for the end of a candidate's term.
pub(super) async fn lost(events: &mut Events) -> Reason {
    let lost = async {
        loop {
            match events.next().await {
                Some(Event::Lost { reason, .. }) => return reason,
                Some(_) => {}
                None => panic!("the candidate is closed, and reported no loss"),
            }
        }
    };
    timeout(LIMIT, lost).await.unwrap_or_else(|_| panic!("no loss within {LIMIT:?}"))
}

/// Waits for a warning with this text.
pub(super) async fn warned(events: &mut Events, text: &str) -> String {
    let warned = async {
        loop {
            match events.next().await {
                Some(Event::Warning(warning)) => {
                    let warning = warning.to_string();
                    if warning.contains(text) {
                        return warning;
                    }
                }
                Some(_) => {}
                None => panic!("the candidate is closed, and no warning had {text:?}"),
            }
        }
    };
    timeout(LIMIT, warned).await.unwrap_or_else(|_| panic!("no warning with {text:?} within {LIMIT:?}"))
}

/// Returns the number of leaders, and fails if there are two.
pub(super) fn leaders<'a>(candidates: impl Iterator<Item = &'a Candidate> + Clone) -> usize {
    let token = |candidate: &Candidate| -> Option<Token> {
        candidate.term().filter(|term| term.is_current()).map(|term| term.token())
    };
    let before: Vec<_> = candidates.clone().map(token).collect();
    // Candidates that had the same terms at both readings led at the same time in between.
    let throughout = candidates.map(token).zip(before).filter(|(one, other)| one.is_some() && one == other);
    let count = throughout.count();
    assert!(count <= 1, "two lead at once");
    count
}

/// Candidates that are constantly checked: the test fails if two of them lead at once.
pub(super) struct Watched {
    candidates: Vec<Candidate>,
    task: JoinHandle<()>,
}

impl Watched {
    pub(super) fn new(candidates: &[&Candidate]) -> Self {
        let candidates: Vec<_> = candidates.iter().map(|candidate| (*candidate).clone()).collect();
        let watched = candidates.clone();
        let task = tokio::spawn(async move {
            loop {
                leaders(watched.iter());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Self { candidates, task }
    }

    /// Waits until one of the candidates leads, and returns it.
    pub(super) async fn one_leads(&self) -> &Candidate {
        let what = "one of them leads";
        until(what, async || self.candidates.iter().any(Candidate::is_leader) || self.task.is_finished())
            .await;
        assert!(!self.task.is_finished(), "two led at once");
        self.candidates.iter().find(|candidate| candidate.is_leader()).unwrap_or(&self.candidates[0])
    }

    pub(super) fn never_two(&self) {
        assert!(!self.task.is_finished(), "two led at once");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}
