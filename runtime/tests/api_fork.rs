//! A forked child never believes that it leads; its parent is unaffected.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests panic as tests do"
)]

use std::time::Duration;

use incumbent::{CampaignOptions, Candidate, ErrorKind, Preset, State, Store, Term};

/// A lease that does not end just because the machine is busy.
const LEASE: Duration = Duration::from_secs(10);

async fn soon<F: IntoFuture>(work: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it takes too long")
}

fn now<F: Future>(work: F) -> Option<F::Output> {
    use futures_util::FutureExt;
    work.now_or_never()
}

/// Makes every call that a child may make. Each answer comes at once, because the child has no thread that could answer
/// later. Returns the number of the first wrong answer, or 0.
fn wrong_answer(store: &Store, candidate: &Candidate, term: &Term) -> i32 {
    let is_forked = |error: &incumbent::Error| error.kind() == ErrorKind::Forked;
    let mut events = candidate.events();
    let checks = [
        !candidate.is_leader(),
        !term.is_current(),
        candidate.term().is_none(),
        term.remaining() == Duration::ZERO,
        candidate.state() == State::Closed,
        matches!(now(events.next()), Some(None)),
        matches!(now(candidate.next_term()), Some(Err(error)) if is_forked(&error)),
        matches!(now(candidate.resign()), Some(Err(error)) if is_forked(&error)),
        matches!(now(candidate.hand_over("b")), Some(Err(error)) if is_forked(&error)),
        matches!(now(candidate.close()), Some(Err(error)) if is_forked(&error)),
        matches!(now(candidate.lead(async |_| ())), Some(Err(error)) if is_forked(&error)),
        matches!(now(store.leader("jobs")), Some(Err(error)) if is_forked(&error)),
        matches!(now(store.campaign("jobs", CampaignOptions::new())), Some(Err(error)) if is_forked(&error)),
        matches!(now(store.close()), Some(Err(error)) if is_forked(&error)),
        matches!(now(term.run(std::future::pending::<()>())), Some(Err(_))),
        now(term.ended()).is_some(),
    ];
    candidate.set_healthy(false);
    candidate.accept_reset();
    let wrong = checks.iter().position(|is_right| !is_right);
    wrong.map_or(0, |place| i32::try_from(place).unwrap_or(i32::MAX) + 1)
}

/// Runs `child` in a forked child. Returns its answer, an exit code.
fn in_a_child(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child uses nothing that other threads may have locked, except the code under test, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "cannot fork");
    if pid == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(255);
        // SAFETY: `_exit` ends the child without running any of the parent's code.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: `pid` is a child of this process, and the status is written to a local integer.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    assert!(libc::WIFEXITED(status), "the child was killed: {status}");
    libc::WEXITSTATUS(status)
}

#[tokio::test(flavor = "current_thread")]
async fn a_forked_child_is_not_the_leader_and_its_parent_still_is() {
    let store = Store::open("memory:").await.unwrap();
    let options = CampaignOptions::new().name("a").preset(Preset::Test).lease(LEASE).splay(Duration::ZERO);
    let candidate = store.campaign("jobs", options).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    // Two renewals later.
    let goal = term.deadline() + LEASE / 2;
    assert_eq!(in_a_child(|| wrong_answer(&store, &candidate, &term)), 0);
    let dropped = in_a_child(|| {
        // SAFETY: each value is dropped only once in this process, which leaves by `_exit`.
        unsafe {
            drop(std::ptr::read(&raw const term));
            drop(std::ptr::read(&raw const candidate));
            drop(std::ptr::read(&raw const store));
        }
        0
    });
    assert_eq!(dropped, 0);
    soon(async {
        while term.deadline() < goal {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert!(candidate.is_leader() && term.is_current());
}
