//! Handlers that begin and end a leader's work, as in the tool elector.
//!
//! [`Reconciler`] decides what runs when; here it gets an election, or a [console](console::Console), a clock and
//! processes. This module adds the time before a deadline: where a lease is not renewed, the end begins in good
//! time, while the candidate still leads.
//!
//! ```text
//!   source ── the election, or a person who types
//!     │  election: what an event means      lease: what the clock says      signals
//!     ▼
//!   reconciler ── outputs: what it wants done ──▶ handlers, and the cleanup process that ends the work in our place
//! ```

mod cleanup;
mod console;
mod defaults;
mod election;
mod handler;
mod lease;
mod messages;
mod outputs;
mod script;
mod source;

use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Input, Message, Reconciler, Settings, State};
use incumbent::{Candidate, Clock, Instant, Reason, Term, Token};
use rustix::process::Signal;

pub(crate) use cleanup::{CleanupArgs, cleanup};
pub(super) use defaults::take_defaults;
pub(super) use source::CONSOLE;

use self::cleanup::Cleanup;
use self::handler::Running;
use self::script::Scripts;
use self::source::{Incoming, Source};
use super::args::Args;
use super::deadline::DeadlineFile;
use super::health::Health;
use super::signals::{Asked, Signals};
use super::timeout::{ElectionTimeout, NO_STORE};
use super::{command, guard, no_key, stale, supervisor};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::listen::Listener;
use crate::stderr::warn;

/// `incumbent run --on-won CMD --on-lost CMD`. Returns the exit code.
pub(super) async fn run(args: Args, as_json: bool) -> Result<u8, Failure> {
    let timeout = ElectionTimeout::new(args.wait);
    let scripts = Scripts::read(&args)?;
    let mut signals = Signals::new()?;
    let _ = tokio::task::spawn_blocking(stale::sweep).await;
    let is_console = args.store.url().as_deref() == Some(CONSOLE);
    if is_console && args.listen.is_some() {
        return Err(Failure::usage(
            "--listen reports on an election, and console: has none: leave it out, or give another store",
        ));
    }
    let mut listener = Listener::of(args.listen, as_json).await?;
    let mut source = if is_console {
        Source::console(as_json)
    } else {
        tokio::select! {
            source = Source::campaign(&args, &mut listener) => source?,
            () = signals.end() => return Ok(Exit::Done as u8),
            () = timeout.sleep(), if timeout.is_set() => {
                warn(as_json, &timeout.message(NO_STORE));
                return Ok(Exit::NotElected as u8);
            }
        }
    };
    let clock = match &source {
        Source::Console(_) => Clock::system(),
        Source::Store { store, .. } => store.clock().clone(),
    };
    let candidate = match &source {
        Source::Console(_) => None,
        Source::Store { candidate, .. } => Some(candidate.clone()),
    };
    let settings = Settings {
        retry_every: args.handlers.retry_every,
        retries: args.handlers.retries,
        cool_down: args.handlers.error_timeout.unwrap_or_else(|| Settings::default().cool_down),
    };
    let file = DeadlineFile::new()?;
    let cleanup = Cleanup::start(file.folder(), &args, as_json)?;
    let mut elector = Elector {
        reconciler: Reconciler::new(settings, clock.now()),
        scripts,
        clock,
        candidate,
        health: Health::start(&args),
        file,
        cleanup,
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
        timeout,
        result: None,
        args,
        as_json,
    };
    let result = elector.reconcile(&mut source, &mut signals).await;
    let is_left = elector.result == Some(Exit::Inconsistent);
    if result.is_ok() {
        elector.cleanup.dismiss().await;
    }
    if is_left {
        // Nothing is given up while the work of on-won may go on: the lease runs out by itself.
        std::mem::forget(elector.term.take());
        return result;
    }
    elector.term = None;
    if let Source::Store { store, .. } = source {
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
    cleanup: Cleanup,
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
    timeout: ElectionTimeout,
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
    CleanupGone,
    Incoming(Incoming),
    Signal(Asked),
    Returned(Option<String>),
    TimedOut,
    Look,
}

impl Elector {
    async fn reconcile(&mut self, source: &mut Source, signals: &mut Signals) -> Result<u8, Failure> {
        let timeout = self.timeout.sleep();
        tokio::pin!(timeout);
        let mut over = false;
        source.prompt();
        while self.reconciler.state() != State::Closed {
            let waits = self.timeout.is_set() && !self.has_led && !self.asked;
            let nap = self.nap();
            let next = tokio::select! {
                incoming = source.next(), if !over && source.is_ready(self.running.is_some()) => Next::Incoming(incoming),
                signal = signals.next() => signal.map_or(Next::Look, Next::Signal),
                ended = returned(&mut self.running) => Next::Returned(ended),
                () = self.health.changed() => Next::Look,
                () = self.cleanup.gone() => Next::CleanupGone,
                () = &mut timeout, if waits => Next::TimedOut,
                () = tokio::time::sleep(nap) => Next::Look,
            };
            // First of all, because this process may have been stopped.
            self.look()?;
            match next {
                Next::Look => {}
                Next::CleanupGone => self.cleanup.replaced(self.file.folder(), &self.args, self.as_json)?,
                Next::Incoming(Incoming::Event(event)) => self.take(event).await?,
                Next::Incoming(Incoming::Typed(message)) => {
                    self.typed = Some(message);
                    self.reason = self.reason.filter(|_| message != Message::Leader);
                    self.give(Input::Message(message))?;
                    if self.running.is_none() {
                        source.prompt();
                    }
                }
                Next::Incoming(Incoming::Over) => {
                    over = true;
                    self.close()?;
                }
                Next::Signal(asked) => self.signalled(asked)?,
                Next::Returned(ended) => {
                    self.returned(ended)?;
                    if self.running.is_none() {
                        source.prompt();
                    }
                }
                Next::TimedOut => self.not_elected()?,
            }
            if let Some(candidate) = &self.candidate {
                self.health.apply(candidate);
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
        let who = leader.map_or("no candidate".into(), |leader| leader.name);
        self.warn(&self.timeout.message(&format!("{who} leads")));
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
