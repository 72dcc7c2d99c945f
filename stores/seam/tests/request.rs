//! An operator's requests, written to a store and read from it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use incumbent_core::record::Nonce;
use incumbent_core::{Incarnation, Revision, Token};
use incumbent_memory::{Memory, MemorySettings};
use incumbent_store::request::{AcceptReset, HandOver, Request, check_election, read};
use incumbent_store::{Adapter, Clock, ErrorKind};

#[tokio::test]
async fn a_request_reads_back_from_next_to_the_key() {
    let store = Memory::open(&MemorySettings::private(), &Clock::system()).unwrap();
    let request = HandOver { leader: Nonce(0xfeed), to: "worker 8".into() };
    request.ask(&store, "jobs").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap().revision(), None);
    let entry = store.read("_incumbent.hand-over.jobs").await.unwrap();
    let text = &entry.live().unwrap().candidate;
    assert_eq!(read("_incumbent.hand-over.jobs", text), Some(("jobs", Request::HandOver(request))));
    HandOver::withdraw(&store, "jobs").await.unwrap();
    assert!(store.read("_incumbent.hand-over.jobs").await.unwrap().live().is_none());
}

#[test]
fn what_is_no_request_asks_for_nothing() {
    for text in ["", "worker-8", "feed worker-8", "+000000000000000000000000000000a worker-8"] {
        assert_eq!(HandOver::read(text), None, "{text:?}");
    }
    let text = "0000000000000000000000000000feed worker-8";
    assert!(read("_incumbent.hand-over.jobs", text).is_some());
    for key in ["jobs", "_incumbent.hand-over.", "_incumbent.accept-reset.jobs"] {
        assert_eq!(read(key, text), None, "{key:?}");
    }
}

#[tokio::test]
async fn an_acceptance_reads_back_from_next_to_the_key() {
    let store = Memory::open(&MemorySettings::private(), &Clock::system()).unwrap();
    let seen = Token { incarnation: Incarnation(7), sequence: Revision(42) };
    let request = AcceptReset { seen, incarnation: Incarnation(6) };
    request.ask(&store, "jobs").await.unwrap();
    let key = "_incumbent.accept-reset.jobs";
    let entry = store.read(key).await.unwrap();
    let text = &entry.live().unwrap().candidate;
    assert_eq!(text, "0000000000000007-000000000000002a 0000000000000006");
    assert_eq!(read(key, text), Some(("jobs", Request::AcceptReset(request))));
    for text in
        ["", "0000000000000007-000000000000002a", "0000000000000007-000000000000002a +000000000000006"]
    {
        assert_eq!(read(key, text), None, "{text:?}");
    }
}

#[test]
fn no_election_has_the_key_of_a_request() {
    assert_eq!(check_election("_incumbent.hand-over.jobs").unwrap_err().kind(), ErrorKind::InvalidName);
    check_election("jobs").unwrap();
}
