//! A forked child has handles that do not lead, and can start its own engine.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

use std::time::Duration;

use incumbent_ffi::settings::{Campaign, Dialect, Value, campaign, opening};
use incumbent_ffi::{
    Candidate, ErrorKind, Event, Feed, Hold, Leave, Operation, Result, Store, Term, shut_down,
};

const DIALECT: Dialect = Dialect::PYTHON;
const LIMIT: Duration = Duration::from_secs(60);

fn answer<T: Send + 'static>(operation: &Operation<T>) -> Result<T> {
    assert!(operation.ready().wait(Some(LIMIT)), "it takes too long");
    operation.take().unwrap()
}

fn open() -> Store {
    answer(&Store::open(opening("memory:", Vec::new(), DIALECT).unwrap())).unwrap()
}

fn settings() -> Campaign {
    campaign(vec![("splay".to_owned(), Value::Number(0.0))], DIALECT).unwrap()
}

struct Parent {
    store: Store,
    candidate: Candidate,
    events: Feed<Event<Term>>,
    hold: Hold,
    /// A call whose answer never reaches the child.
    pending: Operation<Option<Hold>>,
}

impl Parent {
    fn leading() -> Self {
        let store = open();
        let candidate = answer(&store.campaign("jobs".into(), settings())).unwrap();
        let events = candidate.events(|event| event.map_term(Term::from)).unwrap();
        let hold = answer(&candidate.next_term(None)).unwrap().unwrap();
        let pending = candidate.next_term(Some(hold.term().clone()));
        Self { store, candidate, events, hold, pending }
    }

    /// Returns the number of the first wrong answer in a child, or 0.
    fn wrong_answer(&self) -> i32 {
        fn forked<T>(outcome: Result<T>) -> bool {
            outcome.is_err_and(|error| error.code == ErrorKind::Forked)
        }
        fn refused<T: Send + 'static>(operation: &Operation<T>) -> bool {
            operation.ready().wait(Some(LIMIT)) && operation.take().is_some_and(forked)
        }
        let checks = [
            !self.candidate.is_leader(),
            !self.hold.term().is_current(),
            self.hold.term().remaining() == Duration::ZERO,
            self.candidate.term().is_none(),
            forked(self.events.take()),
            self.events.ready().wait(None),
            !self.events.ready().wake(Box::new(|| ())),
            forked(self.candidate.events(|event| event)),
            forked(self.candidate.set_healthy(false)),
            forked(self.hold.check()),
            refused(&self.pending),
            refused(&self.candidate.leave(Leave::Resign, false)),
            refused(&self.candidate.leave(Leave::Close, false)),
            refused(&self.candidate.next_term(None)),
            refused(&self.store.leader("jobs".into())),
            refused(&self.store.campaign("jobs".into(), settings())),
            refused(&self.store.close(false)),
        ];
        let wrong = checks.iter().position(|is_right| !is_right);
        wrong.map_or(0, |place| i32::try_from(place).unwrap_or(i32::MAX) + 1)
    }
}

/// Runs `child` in a forked child and returns its answer, an exit code.
fn in_a_child(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child uses nothing that other threads may have locked, except for what is under test here, and leaves
    // by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "cannot fork");
    if pid == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(255);
        // SAFETY: ends the child without running any code of the parent.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: waits for a child of ours, and writes to one integer.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    assert!(libc::WIFEXITED(status), "the child was killed: {status}");
    libc::WEXITSTATUS(status)
}

#[test]
fn a_child_is_refused_everything_by_handles_of_its_parent_who_leads_on() {
    let parent = Parent::leading();
    assert_eq!(in_a_child(|| parent.wrong_answer()), 0);
    assert!(parent.candidate.is_leader() && parent.hold.term().is_current());
    assert!(parent.pending.take().is_none());
}

#[test]
fn a_child_may_drop_its_parents_handles_and_shut_down_and_the_parent_keeps_leading() {
    let parent = Parent::leading();
    let code = in_a_child(|| {
        // SAFETY: dropped only once in this process, which leaves by `_exit`.
        drop(unsafe { std::ptr::read(&raw const parent) });
        shut_down(LIMIT);
        0
    });
    assert_eq!(code, 0);
    // Later than a renewal after the fork.
    answer(&parent.store.leader("jobs".into())).unwrap();
    assert!(parent.candidate.is_leader());
    answer(&parent.candidate.leave(Leave::Resign, true)).unwrap();
}

#[test]
fn a_child_can_open_a_store_of_its_own_and_lead_there() {
    let parent = Parent::leading();
    let code = in_a_child(|| {
        let store = open();
        let candidate = answer(&store.campaign("jobs".into(), settings())).unwrap();
        let hold = answer(&candidate.next_term(None)).unwrap().unwrap();
        let leads = candidate.is_leader() && hold.term().is_current();
        shut_down(LIMIT);
        i32::from(!leads || candidate.is_leader())
    });
    assert_eq!(code, 0);
    assert!(parent.candidate.is_leader());
}

#[test]
fn a_file_that_was_open_when_the_process_forked_is_refused_in_the_child() {
    let path = std::env::temp_dir().join(format!("incumbent-fork-{}.db", std::process::id()));
    let url = format!("sqlite:{}", path.display());
    let open = || answer(&Store::open(opening(&url, Vec::new(), DIALECT).unwrap()));
    let store = open().unwrap();
    let refused = in_a_child(|| i32::from(open().unwrap_err().code != ErrorKind::Forked));
    answer(&store.close(false)).unwrap();
    let allowed = in_a_child(|| open().map_or(1, |store| i32::from(answer(&store.close(false)).is_err())));
    for end in ["", "-journal"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    assert_eq!((refused, allowed), (0, 0));
}
