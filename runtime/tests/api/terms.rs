//! Terms are won, lost, handed over, and given up by dropping and closing.

use std::sync::atomic::Ordering;
use std::time::Duration;

use incumbent::{Clock, ErrorKind, Event, Instant, Preset, Reason, State, Store, TermEnded};

use crate::support::{LEASE, SHORT, Switched, alone, lost, options, soon, until};

#[tokio::test]
async fn a_lone_candidate_wins_and_loses_by_closing() {
    let candidate = alone(options("a")).await;
    let term = soon(candidate.next_term()).await.unwrap();
    assert!(candidate.is_leader());
    assert!(term.is_current());
    assert_eq!(candidate.state(), State::Leading);
    assert_eq!(candidate.term().as_ref(), Some(&term));
    assert_eq!(candidate.leader().map(|leader| leader.name), Some("a".into()));
    drop(term);
    let mut events = candidate.events();
    soon(candidate.close()).await.unwrap();
    assert!(!candidate.is_leader());
    assert!(candidate.term().is_none());
    assert_eq!(candidate.state(), State::Closed);
    let mut reasons = Vec::new();
    while let Some(event) = soon(events.next()).await {
        if let Event::Lost { reason, .. } = event {
            reasons.push(reason);
        }
    }
    assert_eq!(reasons, [Reason::Closed]);
}

#[tokio::test]
async fn the_next_leader_follows_a_resignation_with_a_larger_token() {
    let store = Store::open("memory:").await.unwrap();
    let first = store.campaign("jobs", options("first")).await.unwrap();
    let before = soon(first.next_term()).await.unwrap().token();
    let second = store.campaign("jobs", options("second")).await.unwrap();
    until(|| second.leader().is_some()).await;
    soon(first.resign()).await.unwrap();
    assert!(!first.is_leader());
    assert!(soon(second.next_term()).await.unwrap().token() > before);
    assert!(!first.is_leader());
}

#[tokio::test]
async fn a_hand_over_goes_to_the_candidate_it_names() {
    let store = Store::open("memory:").await.unwrap();
    let first = store.campaign("jobs", options("first")).await.unwrap();
    drop(soon(first.next_term()).await.unwrap());
    let others = ["b", "c", "d", "e"].map(|name| store.campaign("jobs", options(name)));
    let others = futures_util::future::join_all(others).await;
    let others: Vec<_> = others.into_iter().map(Result::unwrap).collect();
    until(|| others.iter().all(|other| other.leader().is_some())).await;
    let mut events = first.events();
    soon(first.hand_over("d")).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::HandedOver);
    until(|| others.iter().any(|other| other.is_leader())).await;
    let leaders: Vec<_> = others.iter().filter(|c| c.is_leader()).map(|c| c.name().to_owned()).collect();
    assert_eq!(leaders, ["d"]);
}

#[tokio::test]
async fn only_a_leader_can_hand_over_and_every_candidate_can_resign() {
    let store = Store::open("memory:").await.unwrap();
    let leader = store.campaign("jobs", options("leader")).await.unwrap();
    let term = soon(leader.next_term()).await.unwrap();
    let other = store.campaign("jobs", options("other")).await.unwrap();
    let error = soon(other.hand_over("leader")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotLeader);
    soon(other.resign()).await.unwrap();
    assert!(term.is_current());
}

#[tokio::test]
async fn an_election_is_not_handed_to_a_name_that_no_candidate_can_have() {
    let candidate = alone(options("a")).await;
    let term = soon(candidate.next_term()).await.unwrap();
    for name in ["", " b", "b\nIncumbent-Lease: 1", &"b".repeat(256)] {
        let error = soon(candidate.hand_over(name)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{name:?}");
    }
    assert!(term.is_current());
}

#[tokio::test]
async fn a_closed_candidate_says_so() {
    let candidate = alone(options("a")).await;
    drop(soon(candidate.next_term()).await.unwrap());
    soon(candidate.close()).await.unwrap();
    soon(candidate.close()).await.unwrap();
    assert_eq!(soon(candidate.next_term()).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(soon(candidate.resign()).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(soon(candidate.hand_over("b")).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn settings_that_do_not_fit_are_refused_with_the_remedy() {
    let store = Store::open("memory:").await.unwrap();
    let refused =
        store.campaign("jobs", options("a").lease(SHORT).preset(Preset::Standard)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidSetting);
    assert_eq!(
        refused.message(),
        "lease is 800ms, and must be at least 5s: use a lease (or a bucket TTL) of 5s or more"
    );
}

#[tokio::test]
async fn keys_and_names_the_store_cannot_hold_are_refused() {
    let store = Store::open("memory:").await.unwrap();
    for (key, name) in [("", "a"), ("jobs\n", "a"), ("jobs", "a\n")] {
        let refused = store.campaign(key, options(name)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidName, "{key:?} {name:?}");
    }
    assert_eq!(store.observe("").await.unwrap_err().kind(), ErrorKind::InvalidName);
    assert_eq!(store.leader("").await.unwrap_err().kind(), ErrorKind::InvalidName);
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_term_at_once_and_releases_when_its_work_has_ended() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    let mut events = candidate.events();
    let clone = candidate.clone();
    drop(candidate);
    assert!(term.is_current());
    drop(clone);
    assert!(!term.is_current());
    assert_eq!(term.reason(), Some(Reason::Closed));
    assert_eq!(lost(&mut events).await, Reason::Closed);
    assert!(store.leader("jobs").await.unwrap().is_some(), "the term is held");
    assert_eq!(switched.switches.releases.load(Ordering::SeqCst), 0);
    drop(term);
    until(|| switched.switches.releases.load(Ordering::SeqCst) == 1).await;
    assert!(store.leader("jobs").await.unwrap().is_none());
}

#[tokio::test]
async fn a_candidate_keeps_its_store_open_and_the_last_handle_closes_it() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    drop(store);
    drop(soon(candidate.next_term()).await.unwrap());
    assert_eq!(switched.switches.closed.load(Ordering::SeqCst), 0);
    drop(candidate);
    until(|| switched.switches.closed.load(Ordering::SeqCst) == 1).await;
    assert_eq!(switched.switches.releases.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn closing_a_store_closes_its_candidates_in_good_order() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let a = store.campaign("a", options("a")).await.unwrap();
    let b = store.campaign("b", options("b")).await.unwrap();
    drop((soon(a.next_term()).await.unwrap(), soon(b.next_term()).await.unwrap()));
    soon(store.close()).await.unwrap();
    assert_eq!([a.state(), b.state()], [State::Closed; 2]);
    assert_eq!(switched.switches.releases.load(Ordering::SeqCst), 2);
    assert_eq!(switched.switches.closed.load(Ordering::SeqCst), 1);
    soon(store.close()).await.unwrap();
    assert_eq!(store.campaign("a", options("a")).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_leader_stops_at_its_deadline_by_the_clock_alone() {
    let clock = Clock::manual(Instant::from_nanos(1_000_000_000));
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    let mut events = candidate.events();
    switched.switches.silent.store(true, Ordering::SeqCst);
    clock.advance(term.remaining() - Duration::from_nanos(1));
    assert!(candidate.is_leader() && term.is_current());
    clock.advance(Duration::from_nanos(1));
    assert!(!candidate.is_leader() && !term.is_current());
    assert!(candidate.term().is_none());
    assert_eq!(term.remaining(), Duration::ZERO);
    assert_eq!(lost(&mut events).await, Reason::Expired);
    assert_eq!(term.reason(), Some(Reason::Expired));
}

#[tokio::test]
async fn work_run_in_a_term_is_dropped_when_the_term_ends() {
    let candidate = alone(options("a")).await;
    let term = soon(candidate.next_term()).await.unwrap();
    assert_eq!(soon(term.run(async { 6 * 7 })).await, Ok(42));
    let endless = term.run(std::future::pending::<()>());
    let failing = async {
        term.fail();
        soon(term.ended()).await
    };
    let (ended, reason) = tokio::join!(endless, failing);
    assert_eq!(ended, Err(TermEnded { reason: Reason::HandlerFailed }));
    assert_eq!(reason, Reason::HandlerFailed);
    assert!(term.cancellation().is_cancelled());
    assert_eq!(term.deadline(), Instant::ZERO);
}

#[tokio::test]
async fn work_is_not_resumed_after_the_deadline_though_the_loss_is_not_reported_yet() {
    let clock = Clock::manual(Instant::from_nanos(1_000_000_000));
    let (election, candidate) = incumbent::testing::ScriptedElection::new("jobs", "a", clock.clone());
    election.acquire_for(LEASE);
    let term = candidate.term().unwrap();
    let mut polls = 0;
    let work = std::future::poll_fn(|cx| {
        polls += 1;
        clock.advance(2 * LEASE);
        cx.waker().wake_by_ref();
        std::task::Poll::<()>::Pending
    });
    assert_eq!(term.run(work).await, Err(TermEnded { reason: Reason::Expired }));
    assert_eq!(polls, 1);
}
