//! A campaign that runs, and the program's handle to it.

use std::sync::{Arc, Mutex, PoisonError};

use incumbent::incumbent_core::Instant;
use incumbent::incumbent_core::campaign::{Event, Leader, Lease, Reason, State, Term};
use incumbent::{Clock, Token};
use tokio::sync::{Notify, mpsc, oneshot};
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use crate::bindings::Campaigner as Instance;
use crate::campaigner;
use crate::error::{Error, ErrorKind, Result};
use crate::guest::{Bounded, Computed};
use crate::provide::Provision;
use crate::translate;

/// A candidate's campaign in one election, run by a component on a task of tokio.
///
/// Dropping it ends the campaign without a message to the store, and the key of a leader stays taken until the lease
/// expires; [`close`](Self::close) releases it.
pub struct Candidate {
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Event>>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    clock: Clock,
    lease: Mutex<Option<Lease>>,
    seen: Mutex<Seen>,
    /// The error that ended the campaign, where the component failed.
    broken: Mutex<Option<Error>>,
}

/// The latest state and leader that the guest reported.
struct Seen {
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
    /// Whether this candidate leads now. Compares the clock with the proven deadline at every call, so it is right even
    /// when the task has not run for an hour. Calls neither the guest nor a timer.
    pub fn is_leader(&self) -> bool {
        self.lease().is_some()
    }

    /// The fencing token of the current term; `None` where this candidate does not lead.
    pub fn token(&self) -> Option<Token> {
        self.lease().map(|lease| lease.token)
    }

    /// The proven right to lead; `None` where this candidate does not lead.
    pub fn lease(&self) -> Option<Lease> {
        let lease = *lock(&self.shared.lease);
        lease.filter(|lease| self.shared.clock.now() < lease.deadline)
    }

    /// The state of the campaign.
    pub fn state(&self) -> State {
        lock(&self.shared.seen).state
    }

    /// The leader, as far as this candidate has seen; `None` where there is none, or none was seen yet.
    pub fn leader(&self) -> Option<Leader> {
        lock(&self.shared.seen).leader.clone()
    }

    /// Waits for the next event; `None` when the campaign is over. Where several callers wait, each event goes to one
    /// of them. Cancel-safe.
    pub async fn next(&self) -> Option<Event> {
        self.events.lock().await.recv().await
    }

    /// Gives up leadership, if this candidate leads, and campaigns on behind the other candidates. `Draining` is
    /// emitted first; call [`drained`](Self::drained) as soon as the work is done.
    ///
    /// # Errors
    /// `Closed`.
    pub fn resign(&self) -> Result<()> {
        self.ask(Command::Resign)
    }

    /// Hands leadership over to the candidate of this name. Returns when the request was accepted, and does not wait
    /// for the drain.
    ///
    /// # Errors
    /// `Refused` for a name that no candidate can have; `NotLeader`; `Closed`.
    pub async fn hand_over(&self, successor: &str) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::HandOver(successor.into(), reply))?;
        answer.await.map_err(|_| closed())?
    }

    /// Reports that the work of the term has ended. Nothing is released before this call: where the drain's time is up
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

    /// Gives up leadership and ends the campaign. This takes the drain, which [`drained`](Self::drained) ends, and 2 s
    /// at most. [`next`](Self::next) still returns events, and [`ended`](Self::ended) waits for the end.
    pub fn close(&self) {
        self.send(Command::Close);
    }

    /// Waits until the campaign is over, and drops the remaining events.
    ///
    /// # Errors
    /// `Guest`: the component failed or was stopped.
    pub async fn ended(self) -> Result<()> {
        while self.next().await.is_some() {}
        lock(&self.shared.broken).take().map_or(Ok(()), Err)
    }

    fn ask(&self, command: Command) -> Result<()> {
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
    let (commands, asked) = mpsc::unbounded_channel();
    let (told, events) = mpsc::unbounded_channel();
    let seen = Mutex::new(Seen { state: State::Idle, leader: None });
    let shared = Arc::new(Shared { clock, lease: Mutex::default(), seen, broken: Mutex::default() });
    let events = tokio::sync::Mutex::new(events);
    let task = tokio::spawn(Task { guest, shared: Arc::clone(&shared), told, term: None }.run(asked));
    Candidate { shared, commands, events, task }
}

struct Task {
    guest: Guest,
    shared: Arc<Shared>,
    told: mpsc::UnboundedSender<Event>,
    /// The term that was won and not yet lost.
    term: Option<Term>,
}

impl Task {
    async fn run(mut self, mut asked: mpsc::UnboundedReceiver<Command>) {
        if let Err(cause) = self.campaign(&mut asked).await {
            let error = Error::of(ErrorKind::Guest, "the component broke down", cause);
            tracing::error!("the campaign is over: {error}");
            *lock(&self.shared.broken) = Some(error);
        }
        *lock(&self.shared.lease) = None;
        if let Some(term) = self.term.take() {
            self.tell(Event::Lost { term, reason: Reason::Closed });
        }
        lock(&self.shared.seen).state = State::Closed;
    }

    async fn campaign(&mut self, asked: &mut mpsc::UnboundedReceiver<Command>) -> wasmtime::Result<()> {
        loop {
            let Some(wake) = self.step().await? else { return Ok(()) };
            let news = Arc::clone(&self.guest.news);
            tokio::select! {
                biased;
                command = asked.recv() => match command {
                    Some(command) => self.obey(command).await?,
                    None => return Ok(()),
                },
                () = news.notified() => {}
                () = self.shared.clock.sleep_until(wake) => {}
            }
        }
    }

    /// Steps the guest; returns the time of the next step, or `None` where the campaign is over.
    async fn step(&mut self) -> wasmtime::Result<Option<Instant>> {
        let Guest { store, computed, instance, resource, .. } = &mut self.guest;
        let candidate = instance.incumbent_election_elections().candidate();
        computed.begin();
        let turn = candidate.call_step(&mut *store, *resource, 0).await?;
        let lease = candidate.call_lease(&mut *store, *resource).await?;
        *lock(&self.shared.lease) = lease.map(translate::lease);
        turn.events.into_iter().filter_map(translate::event).for_each(|event| self.tell(event));
        Ok(turn.wake_at.map(Instant::from_nanos))
    }

    async fn obey(&mut self, command: Command) -> wasmtime::Result<()> {
        let Guest { store, computed, instance, resource, .. } = &mut self.guest;
        let candidate = instance.incumbent_election_elections().candidate();
        let resource = *resource;
        computed.begin();
        match command {
            Command::Resign => candidate.call_resign(store, resource).await,
            Command::HandOver(successor, reply) => {
                let answer = candidate.call_hand_over(store, resource, &successor).await?;
                // A caller that no longer waits needs no answer.
                let _ = reply.send(answer.map_err(campaigner::error));
                Ok(())
            }
            Command::Drained => candidate.call_drained(store, resource).await,
            Command::Health(well) => candidate.call_set_healthy(store, resource, well).await,
            Command::HandlerFailed => candidate.call_handler_failed(store, resource).await,
            Command::Accept => candidate.call_accept_reset(store, resource).await,
            Command::Close => candidate.call_close(store, resource).await,
        }
    }

    fn tell(&mut self, event: Event) {
        match &event {
            Event::Won(term) => self.term = Some(*term),
            Event::Lost { .. } => self.term = None,
            Event::LeaderChanged(leader) => lock(&self.shared.seen).leader.clone_from(leader),
            Event::StateChanged(state) => lock(&self.shared.seen).state = *state,
            Event::Draining { .. } | Event::Warning(_) => {}
        }
        // A handle that was dropped needs no event.
        let _ = self.told.send(event);
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the campaign is over")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No code panics halfway through a change while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
