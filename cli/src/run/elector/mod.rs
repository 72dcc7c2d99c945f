//! Handlers that begin and end a leader's work, as in the tool elector.
//!
//! [`Reconciler`] decides what runs when; here it gets an election, or a [console](console::Console), a clock and
//! processes. This module adds the time before a deadline: where a lease is not renewed, the end begins in good
//! time, while the candidate still leads.
//!
//! ```text
//!   seat ── what the election, or a person, says
//!     │  election: what an event means      lease: what the clock says      signals
//!     ▼
//!   reconciler ── outputs: what it wants done ──▶ handlers, and the heir that ends the work in our place
//! ```

mod console;
mod defaults;
mod election;
mod handler;
mod heir;
mod lease;
mod outputs;
mod script;
mod seat;
mod tell;

use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Input, Message, Reconciler, Settings, State};
use incumbent::{Candidate, Clock, Instant, Reason, Term, Token};
use rustix::process::Signal;

pub(super) use defaults::take_defaults;
pub(crate) use heir::{HeirArgs, heir};
pub(super) use seat::CONSOLE;

use self::handler::Running;
use self::heir::Heir;
use self::script::Scripts;
use self::seat::{News, Seat};
use super::args::Args;
use super::deadline::DeadlineFile;
use super::health::Health;
use super::patience::{NO_STORE, Patience};
use super::signals::{Asked, Signals};
use super::tell::say;
use super::{command, guard, no_key, stale, supervisor};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::listen::Listener;

/// `incumbent run --on-won CMD --on-lost CMD`. Returns the exit code.
pub(super) async fn run(args: Args, as_json: bool) -> Result<u8, Failure> {
    let patience = Patience::new(args.wait);
    let scripts = Scripts::read(&args)?;
    let mut signals = Signals::new()?;
    let _ = tokio::task::spawn_blocking(stale::sweep).await;
    let is_console = args.store.url().as_deref() == Some(CONSOLE);
    if is_console && args.listen.is_some() {
        return Err(Failure::usage(
            "--listen tells of an election, and console: has none: leave it out, or give another store",
        ));
    }
    let mut listener = Listener::of(args.listen, as_json).await?;
    let mut seat = if is_console {
        Seat::console(as_json)
    } else {
        tokio::select! {
            seat = Seat::campaign(&args, &mut listener) => seat?,
            () = signals.end() => return Ok(Exit::Done as u8),
            () = patience.sleep(), if patience.ends() => {
                say(as_json, &patience.over(NO_STORE));
                return Ok(Exit::NotElected as u8);
            }
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
        typed: None,
        has_led: false,
        asked: false,
        patience,
        result: None,
        args,
        as_json,
    };
    let result = elector.reconcile(&mut seat, &mut signals).await;
    let is_left = elector.result == Some(Exit::Inconsistent);
    if result.is_ok() {
        elector.heir.dismiss().await;
    }
    if is_left {
        // Nothing is given up while the work of on-won may go on: the lease runs out by itself.
        std::mem::forget(elector.term.take());
        return result;
    }
    elector.term = None;
    if let Seat::Store { store, .. } = seat {
        store.close().await?;
    }
    result
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
    /// The time at which the reconciler wants to be called.
    wake: Option<Instant>,
    /// Holds up a drain until no work is left.
    term: Option<Term>,
    /// The term's deadline as last seen, and the longest time to it so far.
    deadline: Instant,
    longest: Duration,
    /// Whether the end has begun because the lease is not renewed.
    hurried: bool,
    token: Option<Token>,
    /// The token of the term in which the work began.
    begun: Option<Token>,
    reason: Option<Reason>,
    /// The last message typed at the console.
    typed: Option<Message>,
    has_led: bool,
    asked: bool,
    patience: Patience,
    /// The exit code, once it is known.
    result: Option<Exit>,
}

/// The work that must be ended if this process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    None,
    /// The handler that begins the work is running.
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
        let patience = self.patience.sleep();
        tokio::pin!(patience);
        let mut over = false;
        seat.prompt();
        while self.reconciler.state() != State::Closed {
            let waits = self.patience.ends() && !self.has_led && !self.asked;
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
            // First of all, because this process may have been stopped.
            self.look()?;
            match next {
                Next::Look => {}
                Next::HeirGone => self.heir.replaced(self.file.folder(), &self.args, self.as_json)?,
                Next::News(News::Event(event)) => self.take(event).await?,
                Next::News(News::Typed(message)) => {
                    self.typed = Some(message);
                    self.reason = self.reason.filter(|_| message != Message::Leader);
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
                // Nothing is left to wait for.
                self.reconciler = Reconciler::new(Settings::default(), self.clock.now());
                return self.give(Input::Close);
            }
        }
        Ok(())
    }

    /// Leaves the election for good.
    fn close(&mut self) -> Result<(), Failure> {
        self.asked = true;
        // The end begins now, before the election reports the reason.
        self.reason.get_or_insert(Reason::Closed);
        if let Some(candidate) = &self.candidate {
            drop(candidate.request_close());
        }
        self.give(Input::Close)
    }

    fn not_elected(&mut self) -> Result<(), Failure> {
        let leader = self.candidate.as_ref().and_then(Candidate::leader);
        let who = leader.map_or("nobody".into(), |leader| leader.name);
        self.warn(&self.patience.over(&format!("the seat is held by {who}")));
        self.result = Some(Exit::NotElected);
        self.close()
    }
}

/// The failure of the running handler; never returns where none runs. Cancel-safe.
async fn returned(running: &mut Option<Running>) -> Option<String> {
    match running {
        Some(running) => running.ended().await,
        None => std::future::pending().await,
    }
}
