//! A campaign that runs, and the program's handle to it.

use std::sync::{Arc, Mutex, PoisonError};

use incumbent::incumbent_core::Instant;
use incumbent::incumbent_core::campaign::{Event, Leader, Lease, Reason, State, Term};
use incumbent::{Clock, Token};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use crate::bindings::Campaigner as Instance;
use crate::campaigner;
use crate::error::{Error, ErrorKind, Result};
use crate::host::{Bounded, Computed};
use crate::provide::Provision;

/// A candidate's campaign in one election, run by a component on a task of tokio.
///
/// Dropping it ends the campaign without a message to the store, and the key of a leader stays taken until the lease
/// expires; [`close`](Self::close) releases it.
pub struct Candidate {
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Event>>,
    /// Closed when the campaign is over.
    over: watch::Receiver<()>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    clock: Clock,
    lease: Mutex<Option<Lease>>,
    observed: Mutex<Observed>,
    /// The error that ended the campaign, if the component failed.
    failure: Mutex<Option<Error>>,
}

/// The latest state and leader that the guest reported.
struct Observed {
    state: State,
    leader: Option<Leader>,
}

/// A request of a handle to the task.
enum Command {
    Resign,
    HandOver(String, oneshot::Sender<Result<()>>),
    Drained,
    Health(bool),
    HandlerFailed,
    Accept,
    Close,
}

impl Candidate {
    /// Returns true if this candidate leads now. Compares the clock with the proven deadline at every call, so it is
    /// right even when the task has not run for an hour. Calls neither the guest nor a timer.
    pub fn is_leader(&self) -> bool {
        self.lease().is_some()
    }

    /// The fencing token of the current term; `None` while this candidate does not lead.
    pub fn token(&self) -> Option<Token> {
        self.lease().map(|lease| lease.token)
    }

    /// The proven right to lead; `None` while this candidate does not lead.
    pub fn lease(&self) -> Option<Lease> {
        let lease = *lock(&self.shared.lease);
        lease.filter(|lease| self.shared.clock.now() < lease.deadline)
    }

    /// The state of the campaign.
    pub fn state(&self) -> State {
        lock(&self.shared.observed).state
    }

    /// The leader, as far as this candidate has observed; `None` if there is none, or none was observed yet.
    pub fn leader(&self) -> Option<Leader> {
        lock(&self.shared.observed).leader.clone()
    }

    /// Waits for the next event; `None` when the campaign is over. If several callers wait, each event goes to one of
    /// them. Cancel-safe.
    pub async fn next(&self) -> Option<Event> {
        self.events.lock().await.recv().await
    }

    /// Gives up leadership, if this candidate leads, and keeps campaigning, behind the other candidates. `Draining` is
    /// emitted first; call [`drained`](Self::drained) as soon as the work is done.
    ///
    /// # Errors
    /// `Closed`.
    pub fn resign(&self) -> Result<()> {
        self.request(Command::Resign)
    }

    /// Hands leadership over to the candidate of this name. Returns when the request was accepted, and does not wait
    /// for the drain.
    ///
    /// # Errors
    /// `Refused` for a name that no candidate can have; `NotLeader`; `Closed`.
    pub async fn hand_over(&self, successor: &str) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.request(Command::HandOver(successor.into(), reply))?;
        answer.await.map_err(|_| closed())?
    }

    /// Reports that the work of the term has ended. Nothing is released before this call: if the drain's time is up
    /// first, the term is lost, and its lease runs out.
    pub fn drained(&self) {
        self.send(Command::Drained);
    }

    /// Sets the outcome of the candidate's own health check.
    pub fn set_healthy(&self, healthy: bool) {
        self.send(Command::Health(healthy));
    }

    /// Reports that the leader's work failed and has ended: the term ends at once.
    pub fn handler_failed(&self) {
        self.send(Command::HandlerFailed);
    }

    /// Accepts, for an operator, that tokens start again after a reset of the store.
    pub fn accept_reset(&self) {
        self.send(Command::Accept);
    }

    /// Gives up leadership and ends the campaign. This takes as long as the drain, which [`drained`](Self::drained)
    /// ends, and 2 s more at most. [`next`](Self::next) still returns events, and [`ended`](Self::ended) waits for the
    /// end.
    pub fn close(&self) {
        self.send(Command::Close);
    }

    /// Waits until the campaign is over. [`next`](Self::next) still returns the remaining events. Cancel-safe.
    ///
    /// # Errors
    /// `Guest`: the component failed or was stopped. Returned once.
    pub async fn ended(&self) -> Result<()> {
        let mut over = self.over.clone();
        // Nothing is ever sent on it, so an error means that the task has ended.
        while over.changed().await.is_ok() {}
        lock(&self.shared.failure).take().map_or(Ok(()), Err)
    }

    fn request(&self, command: Command) -> Result<()> {
        if self.state() == State::Closed {
            return Err(closed());
        }
        self.commands.send(command).map_err(|_| closed())
    }

    fn send(&self, command: Command) {
        // A campaign that is over ignores commands.
        let _ = self.commands.send(command);
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An instance that campaigns.
pub(crate) struct Guest {
    pub(crate) store: Store<Bounded<Provision>>,
    pub(crate) computed: Computed,
    pub(crate) instance: Instance,
    pub(crate) resource: ResourceAny,
    pub(crate) news: Arc<Notify>,
}

pub(crate) fn start(guest: Guest, clock: Clock) -> Candidate {
    let (commands, received) = mpsc::unbounded_channel();
    let (events, unread) = mpsc::unbounded_channel();
    let observed = Mutex::new(Observed { state: State::Idle, leader: None });
    let shared = Arc::new(Shared { clock, lease: Mutex::default(), observed, failure: Mutex::default() });
    let (ends, over) = watch::channel(());
    let task = Task { guest, shared: Arc::clone(&shared), events, term: None, _ends: ends };
    let task = tokio::spawn(task.run(received));
    Candidate { shared, commands, events: tokio::sync::Mutex::new(unread), over, task }
}

struct Task {
    guest: Guest,
    shared: Arc<Shared>,
    events: mpsc::UnboundedSender<Event>,
    /// The term that was won and not yet lost.
    term: Option<Term>,
    /// Dropped with the task.
    _ends: watch::Sender<()>,
}

impl Task {
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        if let Err(cause) = self.campaign(&mut commands).await {
            let error = Error::of(ErrorKind::Guest, "the component failed", cause);
            tracing::error!("the campaign is over: {error}");
            *lock(&self.shared.failure) = Some(error);
        }
        *lock(&self.shared.lease) = None;
        if let Some(term) = self.term.take() {
            self.report(Event::Lost { term, reason: Reason::Closed });
        }
        lock(&self.shared.observed).state = State::Closed;
    }

    async fn campaign(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> wasmtime::Result<()> {
        loop {
            let Some(wake_at) = self.step().await? else { return Ok(()) };
            let news = Arc::clone(&self.guest.news);
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.carry_out(command).await?,
                    None => return Ok(()),
                },
                () = news.notified() => {}
                () = self.shared.clock.sleep_until(wake_at) => {}
            }
        }
    }

    /// Steps the guest; returns the time of the next step, or `None` once the campaign is over.
    async fn step(&mut self) -> wasmtime::Result<Option<Instant>> {
        let Guest { store, computed, instance, resource, .. } = &mut self.guest;
        let candidate = instance.incumbent_election_elections().candidate();
        computed.begin();
        let result = candidate.call_step(&mut *store, *resource, 0).await?;
        let lease = candidate.call_lease(&mut *store, *resource).await?;
        *lock(&self.shared.lease) = lease.map(Into::into);
        for event in result.events {
            match event.try_into() {
                Ok(event) => self.report(event),
                Err(text) => tracing::warn!("the component reports a warning of an unknown kind: {text}"),
            }
        }
        Ok(result.wake_at.map(Instant::from_nanos))
    }

    async fn carry_out(&mut self, command: Command) -> wasmtime::Result<()> {
        let Guest { store, computed, instance, resource, .. } = &mut self.guest;
        let candidate = instance.incumbent_election_elections().candidate();
        let resource = *resource;
        computed.begin();
        match command {
            Command::Resign => candidate.call_resign(store, resource).await,
            Command::HandOver(successor, reply) => {
                let answer = candidate.call_hand_over(store, resource, &successor).await?;
                // A caller that no longer waits has dropped its receiver.
                let _ = reply.send(answer.map_err(campaigner::error));
                Ok(())
            }
            Command::Drained => candidate.call_drained(store, resource).await,
            Command::Health(healthy) => candidate.call_set_healthy(store, resource, healthy).await,
            Command::HandlerFailed => candidate.call_handler_failed(store, resource).await,
            Command::Accept => candidate.call_accept_reset(store, resource).await,
            Command::Close => candidate.call_close(store, resource).await,
        }
    }

    fn report(&mut self, event: Event) {
        match &event {
            Event::Won(term) => self.term = Some(*term),
            Event::Lost { .. } => self.term = None,
            Event::LeaderChanged(leader) => lock(&self.shared.observed).leader.clone_from(leader),
            Event::StateChanged(state) => lock(&self.shared.observed).state = *state,
            Event::Draining { .. } | Event::Warning(_) => {}
        }
        // A handle that was dropped needs no event.
        let _ = self.events.send(event);
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the campaign is over")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No code panics halfway through a change while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
