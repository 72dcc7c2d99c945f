//! A scripted election.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use incumbent_core::campaign::{Event, Leader, Lease, Reason, State, Term, Warning};
use incumbent_core::{Incarnation, Instant, Revision, Token};
use tokio::sync::watch;

use crate::candidate::Candidate;
use crate::candidate_state::CandidateState;
use crate::driver::command::{Command, CommandSink, LeaveReplies, Reply};
use incumbent_store::clock::Clock;
use incumbent_store::{Error, ErrorKind};

/// An election that a test controls, at once and without a store.
///
/// The code under test has an ordinary [`Candidate`]; the test has this. Requests of the code (a resignation, for
/// instance) are carried out as in a real election, and recorded.
///
/// ```
/// use incumbent::testing::{Asked, ScriptedElection};
/// use incumbent::{Clock, Reason};
///
/// let (election, candidate) = ScriptedElection::new("jobs", "worker-7", Clock::system());
/// assert!(!candidate.is_leader());
///
/// let token = election.acquire();
/// assert!(candidate.is_leader());
/// assert_eq!(candidate.term().map(|term| term.token()), Some(token));
///
/// election.revoke(Reason::Usurped);
/// assert!(!candidate.is_leader());
///
/// assert!(election.acquire() > token);
/// drop(candidate.request_resign());
/// assert!(!candidate.is_leader());
/// assert_eq!(election.asked(), [Asked::Resign]);
/// ```
pub struct ScriptedElection {
    script: Arc<Script>,
}

/// A request of the code under test to its candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To resign.
    Resign,
    /// To hand over to the candidate of this name.
    HandOver(String),
    /// To close, by a call or by dropping the last handle.
    Close,
    /// To set whether the candidate is healthy.
    Healthy(bool),
    /// To accept a reset of the store.
    AcceptReset,
    /// To end the term because its work failed.
    HandlerFailed,
}

impl ScriptedElection {
    /// Returns an election, and its only candidate, which does not lead yet. Deadlines are counted on `clock`.
    pub fn new(election: &str, candidate: &str, clock: Clock) -> (Self, Candidate) {
        let shared = CandidateState::new(election.into(), candidate.into(), clock);
        let script = Arc::new_cyclic(|me: &Weak<Script>| Script {
            me: Weak::clone(me),
            shared: Arc::clone(&shared),
            state: Mutex::default(),
            deadline: watch::Sender::new(None),
            watched: Once::new(),
        });
        script.update(None, [Event::StateChanged(State::Waiting)]);
        let candidate = Candidate::new(shared, Arc::clone(&script) as Arc<dyn CommandSink>);
        (Self { script }, candidate)
    }

    /// Makes the candidate win, with a lease that lasts until the next step of the script. Returns the term's token,
    /// which is larger than every earlier one. If the candidate already leads, returns its current token.
    pub fn acquire(&self) -> Token {
        self.script.acquire(Instant::NEVER)
    }

    /// Makes the candidate win, or its term continue, with a lease that is proven until `lease` from now. After that
    /// instant the candidate does not lead. Soon after, a thread of the election reports that the term ended with
    /// [`Reason::Expired`].
    pub fn acquire_for(&self, lease: Duration) -> Token {
        self.script.watch();
        self.script.acquire(self.script.shared.clock.now() + lease)
    }

    /// Ends the term at once, for that reason, without a drain. Does nothing without a term.
    pub fn revoke(&self, reason: Reason) {
        self.script.lose(&mut self.script.current(), reason);
    }

    /// Ends the term at once with [`Reason::Expired`], as for a lease that cannot be proven in time.
    pub fn fence(&self) {
        self.revoke(Reason::Expired);
    }

    /// Drains the term for that reason. The term ends when no handle holds it. The limit of a second is reported but
    /// not enforced: end the term with [`revoke`](Self::revoke). Does nothing without a term.
    pub fn drain(&self, reason: Reason) {
        self.script.drain(&mut self.script.current(), reason);
    }

    /// Reports another leader, or none.
    pub fn leader(&self, leader: Option<Leader>) {
        self.script.report(Event::LeaderChanged(leader));
    }

    /// Emits a warning.
    pub fn warning(&self, warning: Warning) {
        self.script.report(Event::Warning(warning));
    }

    /// The requests of the code under test so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.script.state().asked.clone()
    }
}

impl fmt::Debug for ScriptedElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedElection").field("asked", &self.asked()).finish_non_exhaustive()
    }
}

struct Script {
    me: Weak<Script>,
    shared: Arc<CandidateState>,
    state: Mutex<ScriptState>,
    /// The end of the present lease, for the thread that watches it.
    deadline: watch::Sender<Option<Instant>>,
    watched: Once,
}

#[derive(Default)]
struct ScriptState {
    /// The number of terms.
    terms: u64,
    term: Option<Term>,
    lease: Option<Lease>,
    draining: Option<Reason>,
    closing: bool,
    closed: bool,
    waiting: Vec<Reply>,
    asked: Vec<Asked>,
}

/// The drain time that a draining term reports.
const DRAIN: Duration = Duration::from_secs(1);

impl Script {
    fn acquire(&self, deadline: Instant) -> Token {
        let mut state = self.current();
        let is_new = state.term.is_none();
        state.terms += u64::from(is_new);
        let started = self.shared.clock.now();
        let token = Token { incarnation: Incarnation(1), sequence: Revision(state.terms) };
        let term = *state.term.get_or_insert(Term { token, started });
        state.lease = Some(Lease { token, deadline });
        let events = [Event::Won(term), Event::StateChanged(State::Leading)];
        self.update(state.lease, events.into_iter().filter(|_| is_new));
        token
    }

    fn drain(&self, state: &mut ScriptState, reason: Reason) {
        let Some(term) = state.term else { return };
        if state.draining.is_some() {
            return;
        }
        state.draining = Some(reason);
        let until = self.shared.clock.now() + DRAIN;
        let events = [Event::Draining { term, until, reason }, Event::StateChanged(State::Draining)];
        if self.update(state.lease, events) {
            self.lose(state, reason);
        }
    }

    fn lose(&self, state: &mut ScriptState, reason: Reason) {
        state.draining = None;
        state.lease = None;
        if let Some(term) = state.term.take() {
            self.update(None, [Event::Lost { term, reason }, Event::StateChanged(State::Waiting)]);
        }
        if state.closing {
            state.closed = true;
            self.shared.end(Reason::Closed);
        }
        // A caller that no longer waits has dropped its receiver.
        state.waiting.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
    }

    /// Leaves, and answers when the term is over, or at once without a term.
    fn leave(&self, state: &mut ScriptState, reason: Reason, leave: LeaveReplies) {
        let _ = leave.begun.send(Ok(()));
        state.waiting.push(leave.done);
        if state.term.is_some() { self.drain(state, reason) } else { self.lose(state, reason) }
    }

    fn report(&self, event: Event) {
        let state = self.current();
        self.update(state.lease, [event]);
    }

    fn update(&self, lease: Option<Lease>, events: impl IntoIterator<Item = Event>) -> bool {
        self.deadline.send_replace(lease.map(|lease| lease.deadline));
        self.shared.update(lease, events, &(Weak::clone(&self.me) as Weak<dyn CommandSink>))
    }

    /// Begins to watch for the end of leases. This runs on a thread, because a test may have no runtime or a blocked
    /// one.
    fn watch(&self) {
        self.watched.call_once(|| {
            let (script, deadline) = (Weak::clone(&self.me), self.deadline.subscribe());
            let clock = self.shared.clock.clone();
            // If no thread can be started, the end is reported at the next step of the script.
            let _ = std::thread::Builder::new().name("incumbent-script".into()).spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                if let Ok(runtime) = runtime {
                    runtime.block_on(report_ends(script, deadline, clock));
                }
            });
        });
    }

    /// The current state. If the lease has expired, its end is reported before any other step.
    fn current(&self) -> MutexGuard<'_, ScriptState> {
        let mut state = self.state();
        if state.lease.is_some_and(|lease| self.shared.clock.now() >= lease.deadline) {
            self.lose(&mut state, Reason::Expired);
        }
        state
    }

    fn state(&self) -> MutexGuard<'_, ScriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports the end of each lease that expires, until the election is dropped.
async fn report_ends(script: Weak<Script>, mut deadline: watch::Receiver<Option<Instant>>, clock: Clock) {
    loop {
        let at = *deadline.borrow_and_update();
        let due = async {
            match at {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = deadline.changed() => if changed.is_err() { return },
            () = due => match script.upgrade() {
                Some(script) => drop(script.current()),
                None => return,
            },
        }
    }
}

impl CommandSink for Script {
    fn send(&self, command: Command) {
        let mut state = self.current();
        if state.closed {
            // A waiting caller sees that its reply was dropped, as with a driver.
            return;
        }
        let is_present = |token| state.term.is_some_and(|term| term.token == token);
        match command {
            Command::Resign(leave) => {
                state.asked.push(Asked::Resign);
                self.leave(&mut state, Reason::Resigned, leave);
            }
            Command::HandOver(to, leave) => {
                state.asked.push(Asked::HandOver(to));
                if state.term.is_none() || state.draining.is_some() {
                    let error = || Error::new(ErrorKind::NotLeader, "only the leader can hand over");
                    let _ = leave.begun.send(Err(error()));
                    let _ = leave.done.send(Err(error()));
                    return;
                }
                self.leave(&mut state, Reason::HandedOver, leave);
            }
            Command::Close(leave) => {
                state.asked.push(Asked::Close);
                state.closing = true;
                self.leave(&mut state, Reason::Closed, leave);
            }
            Command::Abandon(_) => {
                state.asked.push(Asked::Close);
                state.closing = true;
                self.lose(&mut state, Reason::Closed);
            }
            Command::Health(is_well) => {
                state.asked.push(Asked::Healthy(is_well));
                if !is_well {
                    self.drain(&mut state, Reason::Unhealthy);
                }
            }
            Command::AcceptReset => state.asked.push(Asked::AcceptReset),
            Command::Drained(token) if is_present(token) => {
                if let Some(reason) = state.draining {
                    self.lose(&mut state, reason);
                }
            }
            Command::HandlerFailed(token) if is_present(token) => {
                state.asked.push(Asked::HandlerFailed);
                self.lose(&mut state, Reason::HandlerFailed);
            }
            // A scripted candidate's event loop is never watched.
            Command::LoopResponds(_) | Command::Drained(_) | Command::HandlerFailed(_) => {}
        }
    }

    /// Nothing waits for the work, because there is no lease in a store to release.
    fn waits_for_work(&self) -> bool {
        false
    }
}
