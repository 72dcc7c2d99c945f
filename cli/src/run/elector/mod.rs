//! Handlers that begin and end a leader's work, as in the tool elector.
//!
//! [`Reconciler`] decides what runs when; here it gets an election, or a [console](super::source::Console), a clock and
//! processes. This module adds the time before a deadline: if a lease is not renewed, the end begins in good time,
//! while the candidate still leads.
//!
//! ```text
//!   source ── the election, or a person who types
//!     │  election: what an event means      lease: what the clock says      signals
//!     ▼
//!   reconciler ── outputs: what it wants done ──▶ handlers, and the cleanup process that ends the work in our place
//! ```

mod cleanup;
mod defaults;
mod election;
mod handler;
mod lease;
mod outputs;
mod script;

use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Input, Message, Reconciler, Settings, State};
use incumbent::{Event, Instant, Reason, Term, Token};
use rustix::process::Signal;

pub(crate) use cleanup::{CleanupArgs, cleanup};
pub(super) use defaults::take_defaults;

use self::cleanup::Cleanup;
use self::handler::Running;
use self::script::Scripts;
use super::args::Args;
use super::guard;
use super::runner::{Form, Opened, Overdue, Runner, drive};
use super::signals::Asked;
use super::source::{Incoming, Source};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stderr::warn;

/// The longest wait for the end of the last term, whose release may be in progress (3 s).
const LEAVING: Duration = Duration::from_secs(3);

/// `incumbent run --on-won CMD --on-lost CMD`. Returns the exit code.
pub(super) async fn run(args: Args) -> Result<u8, Failure> {
    let scripts = Scripts::read(&args)?;
    if args.is_console() && args.listen.is_some() {
        return Err(Failure::usage(
            "--listen reports on an election, but console: has none: leave it out, or give another store",
        ));
    }
    let mut opened = match Opened::open(&args, args.drain).await? {
        Ok(opened) => opened,
        Err(exit) => return Ok(exit as u8),
    };
    let settings = Settings {
        retry_every: args.handlers.retry_every,
        retries: args.handlers.retries,
        cool_down: args.handlers.error_timeout.unwrap_or_else(|| Settings::default().cool_down),
    };
    let runner = Runner::new(args, &opened)?;
    let mut elector = Elector {
        reconciler: Reconciler::new(settings, runner.clock.now()),
        scripts,
        cleanup: Cleanup::start(&runner)?,
        runner,
        work: Work::None,
        running: None,
        wake: None,
        term: None,
        deadline: Instant::ZERO,
        longest: Duration::ZERO,
        hurried: false,
        overdue: None,
        token: None,
        begun: None,
        reason: None,
        typed: None,
        prompts: false,
        asked: false,
        result: None,
    };
    opened.source.prompt();
    let done = drive(&mut elector, &mut opened).await;
    let result = done.map(|()| elector.result.unwrap_or(Exit::Done) as u8);
    if result.is_ok() {
        elector.cleanup.dismiss().await;
    }
    if elector.result == Some(Exit::Inconsistent) {
        // The term is not given up while the work that on-won began may continue, so its lease runs out on its own.
        std::mem::forget(elector.term.take());
        return result;
    }
    elector.term = None;
    if result.is_ok() {
        report_end(&mut elector.runner, elector.reason, &mut opened.source).await;
    }
    opened.close().await?;
    result
}

/// Reports the end of the term that the candidate leaves. Its work has already ended.
async fn report_end(runner: &mut Runner, ours: Option<Reason>, source: &mut Source) {
    if !runner.is_leading() {
        return;
    }
    let ending = async {
        while let Incoming::Event(event) = source.next().await {
            if let Event::Lost { term, reason } = event {
                runner.lost(&term, election::known(ours, reason), runner.clock.now());
            }
        }
    };
    // If the store does not answer, the end of this process is delayed only this long.
    let _ = tokio::time::timeout(LEAVING, ending).await;
}

struct Elector {
    runner: Runner,
    scripts: Scripts,
    reconciler: Reconciler,
    cleanup: Cleanup,
    work: Work,
    running: Option<Running>,
    /// The time at which the reconciler wants to be called.
    wake: Option<Instant>,
    /// The present term, which holds up a drain until no work is left.
    term: Option<Term>,
    /// The term's deadline as last seen, and the longest time to it so far.
    deadline: Instant,
    longest: Duration,
    /// True if the end has begun because the lease was not renewed.
    hurried: bool,
    /// The term that ends because its lease was not renewed.
    overdue: Option<Overdue>,
    token: Option<Token>,
    /// The token of the term in which the work began.
    begun: Option<Token>,
    reason: Option<Reason>,
    /// The last message typed at the console.
    typed: Option<Message>,
    /// Whether to ask for another message, if a person types.
    prompts: bool,
    asked: bool,
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

enum Wake {
    Look,
    CleanupGone,
    /// A handler has returned. The text is the reason if it failed.
    Returned(Option<String>),
}

impl Form for Elector {
    type Wake = Wake;

    fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    fn is_done(&self) -> bool {
        self.reconciler.state() == State::Closed
    }

    fn is_leaving(&self) -> bool {
        self.asked
    }

    fn is_ready(&self, source: &Source) -> bool {
        source.is_ready(self.running.is_some())
    }

    async fn wait(&mut self) -> Wake {
        let nap = self.nap();
        tokio::select! {
            failure = returned(&mut self.running) => Wake::Returned(failure),
            () = self.runner.health.changed() => Wake::Look,
            () = self.cleanup.gone() => Wake::CleanupGone,
            () = tokio::time::sleep(nap) => Wake::Look,
        }
    }

    fn look(&mut self) -> Result<(), Failure> {
        self.check_lease()
    }

    async fn take(&mut self, event: Event) -> Result<(), Failure> {
        self.follow(event).await
    }

    fn typed(&mut self, message: Message) -> Result<(), Failure> {
        self.typed = Some(message);
        self.reason = self.reason.filter(|_| message != Message::Leader);
        self.prompts = true;
        self.give(Input::Message(message))
    }

    fn over(&mut self) -> Result<(), Failure> {
        self.close()
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
                let left =
                    "asked twice to end: the work that on-won began may still be running on this machine";
                warn(left);
                self.result = Some(Exit::Inconsistent);
                // A new reconciler has no work to wait for.
                self.reconciler = Reconciler::new(Settings::default(), self.runner.clock.now());
                return self.give(Input::Close);
            }
        }
        Ok(())
    }

    fn woken(&mut self, wake: Wake) -> Result<(), Failure> {
        match wake {
            Wake::Look => Ok(()),
            Wake::CleanupGone => Ok(self.cleanup.replace(&self.runner)?),
            Wake::Returned(failure) => {
                self.prompts = true;
                self.returned(failure)
            }
        }
    }

    fn give_up(&mut self, exit: Exit) -> Result<(), Failure> {
        self.result = Some(exit);
        self.close()
    }

    async fn settle(&mut self, source: &Source) -> Result<(), Failure> {
        self.runner.resign_if_renewed(&mut self.overdue);
        if std::mem::take(&mut self.prompts) && self.running.is_none() {
            source.prompt();
        }
        Ok(())
    }
}

impl Elector {
    /// Leaves the election for good.
    fn close(&mut self) -> Result<(), Failure> {
        self.asked = true;
        // The end of the work begins now, before the election reports the reason.
        self.reason.get_or_insert(Reason::Closed);
        self.runner.leave();
        self.give(Input::Close)
    }
}

/// Waits for the running handler, and returns its failure. Never returns if no handler runs. Cancel-safe.
async fn returned(running: &mut Option<Running>) -> Option<String> {
    match running {
        Some(running) => running.ended().await,
        None => std::future::pending().await,
    }
}
