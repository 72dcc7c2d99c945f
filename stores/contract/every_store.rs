//! Tests of what every store must do, whatever the rule of its elections.
//!
//! A store's own test file implements [`Fixture`] and calls `every_store::tests!(ItsFixture);`. Every behaviour is then a
//! separate test, on a separate store or under a name of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::future::Future;
use std::time::Duration;

use incumbent::store::{InitOptions, Severity, StoreSettings};
use incumbent::{CampaignOptions, Candidate, ErrorKind, Observer, State, Store};

/// The longest wait for something that must happen soon.
const LIMIT: Duration = Duration::from_secs(60);
/// The name of the election.
const JOBS: &str = "jobs";

/// A store under test, in which no other test has elections.
pub(crate) trait Fixture: Sized + Send + Sync + 'static {
    /// Makes the store. A store on a server is also prepared, so that its first leader need not wait for an earlier
    /// one.
    fn start() -> impl Future<Output = Self> + Send;

    /// Its URL.
    fn url(&self) -> String;

    /// The options that prepare the store; `None` for a store that needs no preparation and refuses it.
    fn preparation(&self) -> Option<InitOptions>;

    /// Closes every connection to the store's server, which continues to accept new ones.
    fn interrupt(&self) {}

    /// The options of a candidate that leads soon, and outlasts a stall of a busy machine.
    fn options(&self, name: &str) -> CampaignOptions;
}

macro_rules! tests {
    ($fixture:ident) => {
        $crate::every_store::tests! { $fixture:
            a_key_that_it_cannot_hold_is_refused_without_a_connection,
            a_name_that_it_cannot_hold_is_refused_when_the_candidate_enters,
            preparing_it_twice_changes_nothing,
            an_examination_finds_nothing_broken,
            every_connection_is_shown_the_same_incarnation_and_capabilities,
            an_observer_of_another_connection_is_shown_the_leader_and_its_end,
            a_list_shows_the_leader_with_its_name,
            tokens_grow_from_one_connection_to_the_next,
            a_leader_and_its_observer_outlive_their_connections,
            a_closed_store_has_no_candidates_and_refuses_calls,
        }
    };
    ($fixture:ident: $($behaviour:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $behaviour() {
            let fixture = <$fixture as $crate::every_store::Fixture>::start().await;
            $crate::every_store::$behaviour(&fixture).await;
        }
    )*};
}
pub(crate) use tests;

fn settings(fixture: &impl Fixture) -> StoreSettings {
    fixture.url().parse().unwrap()
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, work).await.unwrap_or_else(|_| panic!("within {LIMIT:?}: {what}"))
}

async fn open(fixture: &impl Fixture) -> Store {
    soon("the store opens", Store::open(&fixture.url())).await.unwrap()
}

/// A candidate that leads.
async fn leader(store: &Store, fixture: &impl Fixture, name: &str) -> Candidate {
    let candidate = store.campaign(JOBS, fixture.options(name)).await.unwrap();
    drop(soon("it leads", candidate.next_term()).await.unwrap());
    candidate
}

/// Asks again until the answer satisfies `is_so`.
async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    let asking = async {
        loop {
            let answer = ask().await;
            if is_so(&answer) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(what, asking).await
}

/// Waits until the observer sees this leader, or no leader for `None`.
async fn shown(observer: &mut Observer, name: Option<&str>) {
    let shown = async {
        loop {
            let leader = observer.next().await.expect("the store is open").leader;
            if leader.as_ref().map(|leader| leader.name.as_str()) == name {
                return;
            }
        }
    };
    soon(&format!("{name:?} is shown"), shown).await;
}

pub(crate) async fn a_key_that_it_cannot_hold_is_refused_without_a_connection(fixture: &impl Fixture) {
    let settings = settings(fixture);
    for key in ["jobs", "jobs.nightly", "Jobs_2-b", "a"] {
        settings.check_election(key).unwrap();
    }
    let long = "x".repeat(100_000);
    for key in ["", "a\nb", "a\0b", "a\n", " a", "a ", &long] {
        let error = settings.check_election(key).expect_err(key);
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
}

pub(crate) async fn a_name_that_it_cannot_hold_is_refused_when_the_candidate_enters(fixture: &impl Fixture) {
    let store = open(fixture).await;
    for name in ["", "a\nb", "a\0b", " a", "a "] {
        let error = store.campaign(JOBS, fixture.options(name)).await.map(drop).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
}

pub(crate) async fn preparing_it_twice_changes_nothing(fixture: &impl Fixture) {
    let settings = settings(fixture);
    let Some(preparation) = fixture.preparation() else {
        let error = settings.init(&InitOptions::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSetting, "{error}");
        return;
    };
    soon("it is prepared", settings.init(&preparation)).await.unwrap();
    let again = soon("it is prepared again", settings.init(&preparation)).await.unwrap();
    assert!(!again.created && !again.updated && again.is_ready(), "{again:?}");
}

pub(crate) async fn an_examination_finds_nothing_broken(fixture: &impl Fixture) {
    let examined = soon("it is examined", settings(fixture).examine()).await.unwrap();
    assert!(!examined.settings.is_empty());
    let bad = |finding: &&incumbent::store::Finding| finding.severity <= Severity::Refused;
    assert_eq!(examined.findings.iter().filter(bad).collect::<Vec<_>>(), Vec::<&_>::new());
}

pub(crate) async fn every_connection_is_shown_the_same_incarnation_and_capabilities(fixture: &impl Fixture) {
    let (one, other) = (open(fixture).await, open(fixture).await);
    // On etcd and Kafka, the first candidate determines the incarnation.
    let _leader = leader(&one, fixture, "ada").await;
    let (shown, to_other) = (one.store_info().await.unwrap(), other.store_info().await.unwrap());
    assert_eq!(shown.incarnation, to_other.incarnation);
    assert_eq!(one.capabilities(), other.capabilities());
}

pub(crate) async fn an_observer_of_another_connection_is_shown_the_leader_and_its_end(
    fixture: &impl Fixture,
) {
    let (one, other) = (open(fixture).await, open(fixture).await);
    let mut observer = other.observe(JOBS).await.unwrap();
    let leader = leader(&one, fixture, "ada").await;
    shown(&mut observer, Some("ada")).await;
    soon("it closes", leader.close()).await.unwrap();
    shown(&mut observer, None).await;
}

pub(crate) async fn a_list_shows_the_leader_with_its_name(fixture: &impl Fixture) {
    let (one, other) = (open(fixture).await, open(fixture).await);
    let _leader = leader(&one, fixture, "ada").await;
    let listed = async || other.list().await.unwrap();
    let of_jobs = |listed: &Vec<incumbent::ElectionInfo>| {
        listed.iter().any(|election| {
            election.election == JOBS && election.leader.as_ref().is_some_and(|leader| leader.name == "ada")
        })
    };
    until("it is listed", listed, of_jobs).await;
    let read = async || other.leader(JOBS).await.unwrap();
    until("it is read", read, |leader| leader.as_ref().is_some_and(|leader| leader.name == "ada")).await;
}

pub(crate) async fn tokens_grow_from_one_connection_to_the_next(fixture: &impl Fixture) {
    let mut tokens = Vec::new();
    for name in ["ada", "bob", "cy"] {
        let store = open(fixture).await;
        let candidate = store.campaign(JOBS, fixture.options(name)).await.unwrap();
        let term = soon("it leads", candidate.next_term()).await.unwrap();
        tokens.push(term.token());
        drop(term);
        soon("the store closes", store.close()).await.unwrap();
    }
    assert!(tokens.is_sorted_by(|earlier, later| earlier < later), "{tokens:?}");
}

pub(crate) async fn a_leader_and_its_observer_outlive_their_connections(fixture: &impl Fixture) {
    let (one, other) = (open(fixture).await, open(fixture).await);
    let mut observer = other.observe(JOBS).await.unwrap();
    let candidate = one.campaign(JOBS, fixture.options("ada")).await.unwrap();
    let term = soon("it leads", candidate.next_term()).await.unwrap();
    shown(&mut observer, Some("ada")).await;
    let deadline = term.deadline();
    fixture.interrupt();
    until("it renews", async || term.deadline(), |renewed| *renewed > deadline).await;
    assert!(term.is_current());
    drop(term);
    soon("it closes", candidate.close()).await.unwrap();
    shown(&mut observer, None).await;
}

pub(crate) async fn a_closed_store_has_no_candidates_and_refuses_calls(fixture: &impl Fixture) {
    let (one, other) = (open(fixture).await, open(fixture).await);
    let first = leader(&one, fixture, "ada").await;
    soon("it closes", one.close()).await.unwrap();
    soon("it is closed already", one.close()).await.unwrap();
    assert_eq!(first.state(), State::Closed);
    assert_eq!(one.leader(JOBS).await.unwrap_err().kind(), ErrorKind::Closed);
    let refused = one.campaign(JOBS, fixture.options("bob")).await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    // The release was sent, so another candidate need not wait for the lease.
    let _second = leader(&other, fixture, "cy").await;
}
