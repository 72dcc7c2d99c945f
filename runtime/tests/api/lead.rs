//! Work that is done only while leading.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use incumbent::{Reason, Term};
use tokio::sync::{Notify, mpsc};

use crate::support::{alone, lost, options, soon, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_is_done_in_every_term_and_dropped_with_it() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    let candidate = alone(options("a")).await;
    let dropped = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let leading = tokio::spawn({
        let (candidate, dropped) = (candidate.clone(), Arc::clone(&dropped));
        async move {
            let work = |term: Term| {
                let (guard, sender) = (Dropped(Arc::clone(&dropped)), &sender);
                async move {
                    let _guard = guard;
                    sender.send(term.token()).unwrap();
                    term.fail();
                    std::future::pending::<()>().await;
                }
            };
            candidate.lead(work).await
        }
    });
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(soon(receiver.recv()).await.unwrap());
    }
    assert!(tokens.is_sorted() && tokens[0] < tokens[1] && tokens[1] < tokens[2], "{tokens:?}");
    until(|| dropped.load(Ordering::SeqCst) >= 3).await;
    soon(candidate.close()).await.unwrap();
    soon(leading).await.unwrap().unwrap();
}

#[tokio::test]
async fn work_that_fails_ends_its_term() {
    let candidate = alone(options("a")).await;
    let mut events = candidate.events();
    let reason = tokio::select! {
        reason = lost(&mut events) => reason,
        _ = candidate.lead(async |_| Err("on purpose")) => panic!("the candidate is open"),
    };
    assert_eq!(reason, Reason::HandlerFailed);
}

#[tokio::test]
async fn work_that_panics_ends_its_term() {
    let candidate = alone(options("a")).await;
    let mut events = candidate.events();
    let reason = tokio::select! {
        reason = lost(&mut events) => reason,
        _ = candidate.lead(async |_| -> () { panic!("on purpose") }) => panic!("the candidate is open"),
    };
    assert_eq!(reason, Reason::HandlerFailed);
}

#[tokio::test]
async fn work_that_is_done_leaves_the_term_going_on_and_unheld() {
    let candidate = alone(options("a").drain(Duration::from_secs(3600))).await;
    let done = Notify::new();
    let rest = async {
        soon(done.notified()).await;
        let mut events = candidate.events();
        assert!(candidate.is_leader());
        soon(candidate.close()).await.unwrap();
        lost(&mut events).await
    };
    let work = candidate.lead(async |_| done.notify_one());
    let (led, reason) = tokio::join!(soon(work), rest);
    led.unwrap();
    assert_eq!(reason, Reason::Closed);
}

#[tokio::test]
async fn work_that_learns_of_the_drain_finishes_in_it() {
    let candidate = alone(options("a").drain(Duration::from_secs(3600))).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut events = candidate.events();
    let work = candidate.lead(async |term: Term| {
        sender.send("began").unwrap();
        term.draining().await;
        assert!(term.is_current());
        sender.send("finished").unwrap();
    });
    let rest = async {
        assert_eq!(soon(receiver.recv()).await, Some("began"));
        soon(candidate.close()).await.unwrap();
    };
    let (led, ()) = tokio::join!(soon(work), rest);
    led.unwrap();
    assert_eq!(receiver.try_recv(), Ok("finished"));
    assert_eq!(lost(&mut events).await, Reason::Closed);
}

#[tokio::test]
async fn work_may_close_its_candidate_and_wait_for_it() {
    let candidate = alone(options("a").drain(Duration::from_secs(3600))).await;
    let work = candidate.lead(async |term: Term| {
        candidate.close().await.unwrap();
        assert!(term.is_current());
    });
    soon(work).await.unwrap();
    assert!(!candidate.is_leader());
}

#[tokio::test]
async fn dropping_the_work_from_outside_resigns() {
    let candidate = alone(options("a").drain(Duration::from_secs(3600))).await;
    let mut events = candidate.events();
    let began = Notify::new();
    tokio::select! {
        () = soon(began.notified()) => {}
        _ = candidate.lead(async |_| {
            began.notify_one();
            std::future::pending::<()>().await
        }) => panic!("the candidate is open"),
    }
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}
