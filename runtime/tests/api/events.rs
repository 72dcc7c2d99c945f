//! Events: every subscriber gets all of them, each `Won` is followed by its `Lost`, and no subscriber delays the
//! driver.

use incumbent::testing::ScriptedElection;
use incumbent::{Clock, Event, Events, Reason, State, Token};

use crate::support::{alone, options, soon};

/// The wins (+) and losses (-) among the events until the campaign is over.
async fn pairs(mut events: Events) -> Vec<(char, Token)> {
    let mut pairs = Vec::new();
    while let Some(event) = soon(events.next()).await {
        match event {
            Event::Won(term) => pairs.push(('+', term.token())),
            Event::Lost { term, .. } => pairs.push(('-', term.token())),
            _ => {}
        }
    }
    pairs
}

fn assert_alternates(pairs: &[(char, Token)]) {
    assert_eq!(pairs.len() % 2, 0, "{pairs:?}");
    for pair in pairs.chunks(2) {
        assert_eq!([pair[0].0, pair[1].0], ['+', '-']);
        assert_eq!(pair[0].1, pair[1].1);
    }
    assert!(pairs.chunks(2).map(|pair| pair[0].1).is_sorted_by(|one, other| one < other));
}

#[tokio::test]
async fn every_win_is_reported_once_and_so_is_its_loss() {
    let candidate = alone(options("a")).await;
    let early = candidate.events();
    for _ in 0..3 {
        let term = soon(candidate.next_term()).await.unwrap();
        term.fail();
        soon(term.ended()).await;
    }
    drop(soon(candidate.next_term()).await.unwrap());
    let late = candidate.events();
    soon(candidate.close()).await.unwrap();
    let (early, late) = (pairs(early).await, pairs(late).await);
    assert_alternates(&early);
    assert_alternates(&late);
    assert_eq!(early.len(), 8);
    assert_eq!(late, early[6..]);
}

#[tokio::test]
async fn a_subscription_begins_with_what_holds() {
    let candidate = alone(options("a")).await;
    let term = soon(candidate.next_term()).await.unwrap();
    crate::support::until(|| candidate.state() == State::Leading).await;
    let mut events = candidate.events();
    let Some(Event::Won(reported)) = soon(events.next()).await else { panic!("not a win") };
    assert_eq!(reported, term);
    let Some(Event::LeaderChanged(Some(leader))) = soon(events.next()).await else { panic!("no leader") };
    assert_eq!(leader.name, "a");
    assert!(matches!(soon(events.next()).await, Some(Event::StateChanged(State::Leading))));
}

#[tokio::test]
async fn a_reader_that_does_not_keep_up_misses_whole_terms_and_never_half_of_one() {
    let (election, candidate) = ScriptedElection::new("jobs", "a", Clock::system());
    let mut behind = candidate.events();
    let read = candidate.events();
    for _ in 0..1000 {
        election.acquire();
        election.revoke(Reason::Usurped);
    }
    drop(read);
    // The reader has read the win of a term whose loss has not been emitted yet.
    while !matches!(soon(behind.next()).await, Some(Event::Won(_))) {}
    for _ in 0..1000 {
        election.acquire();
        election.revoke(Reason::Usurped);
    }
    drop(election);
    drop(candidate);
    assert!(behind.missed() > 0);
    let mut rest = pairs(behind).await;
    assert_eq!(rest.remove(0).0, '-');
    assert_alternates(&rest);
    assert!(rest.len() > 900, "{}", rest.len());
    assert_eq!(rest.last().map(|(_, token)| token.sequence.0), Some(2000));
}

#[tokio::test]
async fn a_stream_ends_with_the_campaign() {
    let candidate = alone(options("a")).await;
    let mut events = candidate.events();
    drop(candidate);
    let mut last = None;
    while let Some(event) = soon(events.next()).await {
        last = Some(event);
    }
    assert!(matches!(last, Some(Event::StateChanged(State::Closed))), "{last:?}");
}
