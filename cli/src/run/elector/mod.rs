//! Handlers that begin and end a leader's work: what the tool elector does.
//!
//! [`Reconciler`] decides what runs when; here it gets an election, or a [console](Console), a clock and
//! processes. What this adds is the time before a deadline: where a lease is not renewed, the end begins in
//! good time, while the seat is still held.

mod console;
mod defaults;
mod handler;
mod heir;

use std::io::Write;
use std::time::Duration;

use incumbent::core::reconcile::{
    Event as Told, Handler, Input, Message, Output, Reconciler, RunId, Settings, State,
};
use incumbent::{Candidate, Clock, Event, Events, Instant, Reason, Store, Term, Token};
use rustix::process::Signal;
use serde_json::{Value, json};

pub(super) use defaults::take_defaults;
pub(crate) use heir::{HeirArgs, heir};

use self::console::Console;
use self::handler::{Running, Script, option};
use self::heir::{Heir, Will};
use super::args::Args;
use super::deadline::DeadlineFile;
use super::health::Health;
use super::signals::{Asked, Signals};
use super::{command, guard, no_key, supervisor};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::listen::Listener;

/// The store that is no store.
pub(super) const CONSOLE: &str = "console:";

/// How often the lease is looked at while there is one.
const TICK: Duration = Duration::from_millis(50);
/// The longest sleep between two looks at the clock: timers stand still while the machine is suspended.
const NAP: Duration = Duration::from_secs(1);

/// `incumbent run --on-won CMD --on-lost CMD`. Returns the exit code.
pub(super) async fn run(args: Args, as_json: bool) -> Result<u8, Failure> {
    let scripts = Scripts::read(&args)?;
    let mut signals = Signals::new()?;
    let is_console = args.store.url().as_deref() == Some(CONSOLE);
    if is_console && args.listen.is_some() {
        return Err(Failure::usage(
            "--listen tells of an election, and console: has none: leave it out, or give another store",
        ));
    }
    let mut listener = Listener::of(args.listen, as_json).await?;
    let mut seat = if is_console {
        Seat::Console(Some(Console::new()))
    } else {
        tokio::select! {
            seat = campaign(&args, &mut listener) => seat?,
            () = signals.end() => return Ok(Exit::Done as u8),
        }
    };
    let clock = match &seat {
        Seat::Console(_) => Clock::system(),
        Seat::Store { store, .. } => store.clock().clone(),
    };
    let candidate = match &seat {
        Seat::Console(_) => None,
        Seat::Store { candidate, .. } => Some(candidate.clone()),
    };
    let settings = Settings {
        retry_every: args.handlers.retry_every,
        retries: args.handlers.retries,
        cool_down: args.handlers.error_timeout.unwrap_or_else(|| Settings::default().cool_down),
    };
    let file = DeadlineFile::new()?;
    let heir = Heir::start(file.folder(), &args, as_json)?;
    let mut elector = Elector {
        reconciler: Reconciler::new(settings, clock.now()),
        scripts,
        clock,
        candidate,
        health: Health::start(&args),
        file,
        heir,
        work: Work::None,
        running: None,
        wake: None,
        term: None,
        deadline: Instant::ZERO,
        longest: Duration::ZERO,
        hurried: false,
        token: None,
        begun: None,
        reason: None,
        has_led: false,
        asked: false,
        result: None,
        args,
        as_json,
    };
    let result = elector.reconcile(&mut seat, &mut signals).await;
    elector.term = None;
    if result.is_ok() {
        elector.heir.dismiss().await;
    }
    if let Seat::Store { store, .. } = seat {
        store.close().await?;
    }
    result
}

async fn campaign(args: &Args, listener: &mut Listener) -> Result<Seat, Failure> {
    let key = args.key.as_deref().ok_or_else(no_key)?;
    let store = supervisor::open_store(args, listener).await?;
    let candidate = store.campaign(key, args.options(args.drain)).await?;
    listener.serve(&candidate);
    let events = candidate.events();
    Ok(Seat::Store { store, candidate, events })
}

/// Where messages come from.
enum Seat {
    Store {
        store: Store,
        candidate: Candidate,
        events: Events,
    },
    /// None once nothing more is typed.
    Console(Option<Console>),
}

enum News {
    Event(Event),
    Typed(Message),
    Over,
}

impl Seat {
    /// What happens next. Cancel-safe.
    async fn next(&mut self) -> News {
        match self {
            Self::Store { events, .. } => events.next().await.map_or(News::Over, News::Event),
            Self::Console(Some(console)) => match console.next().await {
                Some(message) => News::Typed(message),
                None => {
                    *self = Self::Console(None);
                    News::Over
                }
            },
            Self::Console(None) => std::future::pending().await,
        }
    }

    /// Whether it has anything to say: what is typed is read when the handler before it has returned.
    fn speaks(&self, is_running: bool) -> bool {
        matches!(self, Self::Store { .. }) || !is_running
    }

    fn prompt(&self) {
        if let Self::Console(Some(console)) = self {
            console.prompt();
        }
    }
}

/// What the user wants run.
struct Scripts {
    begin: Option<Script>,
    end: Option<Script>,
    error: Option<Script>,
}

impl Scripts {
    fn read(args: &Args) -> Result<Self, Failure> {
        let read = |option: &str, text: &Option<String>| {
            text.as_deref().map(|text| Script::read(option, text)).transpose()
        };
        Ok(Self {
            begin: read("--on-won", &args.handlers.on_won)?,
            end: read("--on-lost", &args.handlers.on_lost)?,
            error: read("--on-error", &args.handlers.on_error)?,
        })
    }

    fn of(&self, handler: Handler) -> Option<&Script> {
        match handler {
            Handler::Begin => self.begin.as_ref(),
            Handler::End => self.end.as_ref(),
            Handler::Error => self.error.as_ref(),
        }
    }
}

struct Elector {
    args: Args,
    as_json: bool,
    scripts: Scripts,
    clock: Clock,
    reconciler: Reconciler,
    /// None at the console.
    candidate: Option<Candidate>,
    health: Health,
    file: DeadlineFile,
    heir: Heir,
    work: Work,
    running: Option<Running>,
    /// When the reconciler wants to know the time.
    wake: Option<Instant>,
    /// Holds up a drain until nothing is left of the work.
    term: Option<Term>,
    /// The term's deadline as last seen, and the longest time to it so far.
    deadline: Instant,
    longest: Duration,
    /// The end has begun because the lease is not renewed.
    hurried: bool,
    token: Option<Token>,
    /// The token of the term in which the work was begun.
    begun: Option<Token>,
    reason: Option<Reason>,
    has_led: bool,
    asked: bool,
    /// The exit code, once it is known.
    result: Option<Exit>,
}

/// What there is to end where this process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    None,
    /// The handler that begins it runs.
    Begins,
    Begun,
}

enum Next {
    HeirGone,
    News(News),
    Signal(Asked),
    Returned(Option<String>),
    OutOfPatience,
    Look,
}

impl Elector {
    async fn reconcile(&mut self, seat: &mut Seat, signals: &mut Signals) -> Result<u8, Failure> {
        let patience = tokio::time::sleep(self.args.wait.unwrap_or_default());
        tokio::pin!(patience);
        let mut over = false;
        seat.prompt();
        while self.reconciler.state() != State::Closed {
            let waits = self.args.wait.is_some() && !self.has_led && !self.asked;
            let nap = self.nap();
            let next = tokio::select! {
                news = seat.next(), if !over && seat.speaks(self.running.is_some()) => Next::News(news),
                signal = signals.next() => signal.map_or(Next::Look, Next::Signal),
                ended = returned(&mut self.running) => Next::Returned(ended),
                () = self.health.changed() => Next::Look,
                () = self.heir.gone() => Next::HeirGone,
                () = &mut patience, if waits => Next::OutOfPatience,
                () = tokio::time::sleep(nap) => Next::Look,
            };
            // First of all, for we may have been stopped.
            self.look()?;
            match next {
                Next::Look => {}
                Next::HeirGone => self.heir.replaced(self.file.folder(), &self.args, self.as_json)?,
                Next::News(News::Event(event)) => self.take(event)?,
                Next::News(News::Typed(message)) => {
                    self.give(Input::Message(message))?;
                    if self.running.is_none() {
                        seat.prompt();
                    }
                }
                Next::News(News::Over) => {
                    over = true;
                    self.close()?;
                }
                Next::Signal(asked) => self.signalled(asked)?,
                Next::Returned(ended) => {
                    self.returned(ended)?;
                    if self.running.is_none() {
                        seat.prompt();
                    }
                }
                Next::OutOfPatience => self.not_elected()?,
            }
            if let Some(candidate) = &self.candidate {
                self.health.tell(candidate);
            }
        }
        Ok(self.result.unwrap_or(Exit::Done) as u8)
    }

    /// How long there is nothing to look at.
    fn nap(&self) -> Duration {
        let kills = self.running.as_ref().is_some_and(|running| running.kill_at.is_some());
        if self.term.is_some() || kills {
            return TICK;
        }
        self.wake.map_or(NAP, |at| at.since(self.clock.now()).min(NAP))
    }

    /// Does what the clock says.
    fn look(&mut self) -> Result<(), Failure> {
        let now = self.clock.now();
        if let Some(running) = &self.running
            && running.kill_at.is_some_and(|at| at <= now)
        {
            running.signal(Signal::KILL);
        }
        let deadline = self.term.as_ref().map(Term::deadline).filter(|deadline| *deadline != Instant::ZERO);
        if let Some(deadline) = deadline {
            self.learn(deadline)?;
            self.hurry()?;
        }
        self.give(Input::Tick)
    }

    /// Takes in the deadline of the term that is held.
    fn learn(&mut self, deadline: Instant) -> Result<(), Failure> {
        let (Some(token), true) = (self.token, deadline != self.deadline) else { return Ok(()) };
        self.deadline = deadline;
        self.longest = self.longest.max(deadline.since(self.clock.now()));
        // What the file says then is too early a deadline, which does no harm.
        if let Err(error) = self.file.say(deadline, token, &self.clock) {
            tracing::warn!(%error, "the deadline cannot be written to its file");
        }
        self.give(Input::Lease { until: deadline })
    }

    /// Ends the work in good time where the lease is not renewed.
    fn hurry(&mut self) -> Result<(), Failure> {
        let (at, _) = guard::times(self.deadline, self.longest, self.args.drain);
        let leaves = self.term.as_ref().is_some_and(|term| term.drains_until().is_some());
        if self.hurried || leaves || self.clock.now() < at {
            return Ok(());
        }
        self.hurried = true;
        self.reason = Some(Reason::Expired);
        self.warn("the lease is not renewed in time, and the work is ended");
        // Should it be renewed after all, whoever is well may have it.
        if let Some(candidate) = &self.candidate {
            drop(candidate.resign());
        }
        self.give(Input::Message(Message::NotLeader))
    }

    fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Won(term) => self.won(term),
            Event::Draining { reason, .. } => {
                self.reason = Some(reason);
                self.say(Message::NotLeader)
            }
            Event::Lost { term, reason } => self.lost(&term, reason),
            Event::Trouble(trouble) => {
                self.warn(&trouble.to_string());
                Ok(())
            }
            Event::LeaderChanged(leader) => {
                tracing::info!(leader = leader.map(|leader| leader.name), "the leader changed");
                Ok(())
            }
            Event::Campaigned(_) => Ok(()),
        }
    }

    fn won(&mut self, term: Term) -> Result<(), Failure> {
        let token = term.token();
        self.tell(json!({ "event": "won", "token": token.to_string(), "at": term.started().as_nanos() }));
        self.has_led = true;
        (self.token, self.reason, self.hurried) = (Some(token), None, false);
        (self.deadline, self.longest) = (Instant::ZERO, Duration::ZERO);
        let deadline = term.deadline();
        if deadline == Instant::ZERO {
            // It is over already, which is about to be told.
            return Ok(());
        }
        self.term = Some(term);
        self.learn(deadline)?;
        self.say(Message::Leader)
    }

    fn lost(&mut self, term: &Term, reason: Reason) -> Result<(), Failure> {
        let (token, now) = (term.token().to_string(), self.clock.now());
        self.tell(json!({ "event": "lost", "token": token, "reason": reason.code(), "at": now.as_nanos() }));
        self.reason = Some(reason);
        // After a deletion whoever saw our record waits for our lease to run out. After anything else there
        // may be another leader now.
        let until = if reason == Reason::Deleted { self.deadline } else { self.deadline.min(now) };
        self.give(Input::Lease { until })?;
        self.say(Message::NotLeader)?;
        self.term = None;
        if self.args.once && !self.asked {
            self.result = Some(if reason.may_drain() { Exit::Done } else { Exit::Failure });
            self.close()?;
        }
        Ok(())
    }

    /// Passes on what the election says; not that we leave because of an error, for that is known.
    fn say(&mut self, message: Message) -> Result<(), Failure> {
        if self.health.stays_out && message == Message::NotLeader {
            return Ok(());
        }
        self.give(Input::Message(message))
    }

    fn returned(&mut self, failure: Option<String>) -> Result<(), Failure> {
        let Some(running) = self.running.take() else { return Ok(()) };
        if let Some(how) = &failure {
            self.warn(&format!("{} failed: {how}", option(running.handler)));
        }
        match running.handler {
            Handler::Begin => self.bequeath(Work::Begun),
            Handler::End if failure.is_some() => self.bequeath(Work::Begun),
            Handler::End | Handler::Error => {}
        }
        self.give(Input::Returned { run: running.run, succeeded: failure.is_none() })
    }

    fn give(&mut self, input: Input) -> Result<(), Failure> {
        self.reconciler
            .handle(self.clock.now(), input)
            .map_err(|misuse| Failure::failed(misuse.to_string()))?;
        loop {
            match self.reconciler.poll() {
                Output::WakeAt(wake) => {
                    self.wake = wake.map(|wake| wake.at);
                    return Ok(());
                }
                output => self.carry_out(output)?,
            }
        }
    }

    fn carry_out(&mut self, output: Output) -> Result<(), Failure> {
        match output {
            Output::Run { run, handler } => self.start(run, handler),
            Output::Stop(_) => self.stop(),
            Output::StandDown => self.health.stays_out = true,
            Output::StandUp => {
                self.health.stays_out = false;
                self.term = None;
                // A win that was dropped would be a seat at which nobody works.
                if let Some(candidate) = self.candidate.as_ref().filter(|candidate| candidate.is_leader()) {
                    drop(candidate.resign());
                }
            }
            Output::Relinquish => self.relinquish(),
            Output::Event(event) => self.told(event),
            Output::GiveUp(gave_up) => {
                let key = self.args.key.as_deref().unwrap_or("the console");
                let leader = self.candidate.as_ref().and_then(Candidate::leader);
                let leader = leader.map_or("nobody, as far as is known".into(), |leader| leader.name);
                self.warn(&format!(
                    "giving up: {gave_up}. The election is {key}, and its seat is held by {leader}. \
                     Look at this system before you start a candidate here again"
                ));
                self.result = Some(Exit::Inconsistent);
                self.term = None;
            }
            Output::WakeAt(_) => {}
        }
        Ok(())
    }

    /// Nothing is left of the work: its term is not held any more. One that was won since is another.
    fn relinquish(&mut self) {
        let Some(term) = self.term.take_if(|term| Some(term.token()) == self.begun) else { return };
        // The work was ended by the clock, and then the lease was renewed after all: nobody works there.
        if term.is_current()
            && term.drains_until().is_none()
            && let Some(candidate) = &self.candidate
        {
            drop(candidate.resign());
        }
    }

    fn start(&mut self, run: RunId, handler: Handler) {
        if handler == Handler::Begin {
            self.begun = self.token;
        }
        // An end that has begun goes on without us.
        self.bequeath(if handler == Handler::Begin { Work::Begins } else { Work::None });
        let Some(script) = self.scripts.of(handler) else {
            self.running = Some(Running::nothing(run, handler));
            return;
        };
        let reason = self.reason.filter(|_| handler != Handler::Begin).map(Reason::code);
        let started = Running::start(run, handler, script, &self.what_is_told(), reason, self.as_json);
        self.tell(json!({ "event": "handler", "handler": option(handler) }));
        let mut running = started.unwrap_or_else(|error| Running::not_started(run, handler, &error));
        running.kill_at = self.args.handlers.handler_timeout.map(|limit| self.clock.now() + limit);
        self.running = Some(running);
        self.bequeath(self.work);
    }

    fn what_is_told(&self) -> command::Told<'_> {
        let name = self.candidate.as_ref().map(Candidate::name);
        command::Told {
            key: self.args.key.as_deref().unwrap_or("console"),
            name: name.or(self.args.name.as_deref()).unwrap_or("console"),
            token: self.token,
            deadline_file: self.file.path(),
        }
    }

    /// Says what there is to end, should this process be killed.
    fn bequeath(&mut self, work: Work) {
        self.work = work;
        let begins = self.running.as_ref().filter(|_| work == Work::Begins).and_then(Running::group);
        let will = match (&self.scripts.end, work) {
            (None, _) | (_, Work::None) => None,
            (Some(script), Work::Begins | Work::Begun) => {
                Some(Will::new(script, &self.what_is_told(), begins))
            }
        };
        self.heir.tell(will);
    }

    /// Ends a begin that has no purpose any more: in time, where there is a lease.
    fn stop(&mut self) {
        let now = self.clock.now();
        let by_grace = now + self.args.drain;
        let by_lease = match self.deadline {
            Instant::ZERO => by_grace,
            deadline => guard::times(deadline, self.longest, self.args.drain).1,
        };
        if let Some(running) = &mut self.running {
            running.signal(Signal::TERM);
            let at = by_grace.min(by_lease);
            running.kill_at = Some(running.kill_at.map_or(at, |before| before.min(at)));
        }
    }

    fn told(&mut self, event: Told) {
        match event {
            Told::State(state) => self.tell(json!({ "event": "state", "state": state.to_string() })),
            Told::Failed(Handler::Begin) => {
                // Nothing is drained: nothing was begun.
                self.term.iter().for_each(Term::fail);
            }
            Told::Failed(_) => {}
            Told::Overdue { since } => {
                let by = self.clock.now().since(since);
                let doing = match &self.running {
                    Some(running) => format!("{} is still running", option(running.handler)),
                    None => "on-lost failed, and will be run again".into(),
                };
                self.warn(&format!(
                    "the promise of one leader is broken: the lease has been over for {by:?}, and what \
                     on-won began has not ended ({doing}). Another candidate may lead beside it"
                ));
            }
            Told::Late { by } => self.warn(&format!("the work has ended, {by:?} too late")),
            Told::Resumed { dropped } => {
                self.warn(&format!("the candidacy resumes; messages dropped meanwhile: {dropped}"));
            }
        }
    }

    fn signalled(&mut self, asked: Asked) -> Result<(), Failure> {
        match (asked, &self.running) {
            (Asked::PassOn(signal), Some(running)) => running.signal(signal),
            (Asked::PassOn(Signal::HUP), None) => return self.close(),
            (Asked::PassOn(_), None) => {}
            (Asked::End(_), _) if !self.asked => return self.close(),
            (Asked::End(_), running) => {
                if let Some(running) = running {
                    running.signal(Signal::KILL);
                }
                let left = "asked twice to end: what on-won began may still be going on here";
                self.warn(left);
                self.result = Some(Exit::Inconsistent);
                // There is nothing to wait for any more.
                self.reconciler = Reconciler::new(Settings::default(), self.clock.now());
                return self.give(Input::Close);
            }
        }
        Ok(())
    }

    /// Leaves, for good.
    fn close(&mut self) -> Result<(), Failure> {
        self.asked = true;
        // The end begins now, and not only when the election says why.
        self.reason.get_or_insert(Reason::Closed);
        if let Some(candidate) = &self.candidate {
            drop(candidate.close());
        }
        self.give(Input::Close)
    }

    fn not_elected(&mut self) -> Result<(), Failure> {
        let leader = self.candidate.as_ref().and_then(Candidate::leader);
        let who = leader.map_or("nobody".into(), |leader| leader.name);
        let limit = self.args.wait.unwrap_or_default();
        self.warn(&format!("not elected within {limit:?}; the seat is held by {who}"));
        self.result = Some(Exit::NotElected);
        self.close()
    }

    /// Something that a person should read.
    fn warn(&self, message: &str) {
        say(self.as_json, message);
    }

    fn tell(&self, event: Value) {
        if self.as_json {
            let _ = writeln!(std::io::stderr().lock(), "{event}");
        } else {
            tracing::info!("{event}");
        }
    }
}

/// Says something that a person should read.
fn say(as_json: bool, message: &str) {
    // Nobody may be reading any more; that is no reason to end.
    let mut stderr = std::io::stderr().lock();
    let _ = if as_json {
        writeln!(stderr, "{}", json!({ "event": "trouble", "message": message }))
    } else {
        writeln!(stderr, "incumbent: {message}")
    };
}

/// How the running handler ended; never where none runs. Cancel-safe.
async fn returned(running: &mut Option<Running>) -> Option<String> {
    match running {
        Some(running) => running.ended().await,
        None => std::future::pending().await,
    }
}
