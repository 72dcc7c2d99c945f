//! Campaigns, and runs the command in every term.

use std::process::ExitStatus;
use std::time::Duration;

use incumbent::{Candidate, Clock, Event, Instant, Reason, Store, Term};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::args::Args;
use super::command::{Group, exit_code};
use super::guard::{Guard, Watch, Word};
use super::signals::{Asked, Signals};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::listen::Listener;

/// How often the guard is told of a new deadline, and the command's end is looked for where no signal told.
const TICK: Duration = Duration::from_millis(50);
/// How long before the end of a drain the command is killed, so that it is dead by then.
const DYING: Duration = Duration::from_millis(200);

/// `incumbent run`. Returns the exit code.
pub(crate) async fn run(args: Args, as_json: bool) -> Result<u8, Failure> {
    let mut signals = Signals::new()?;
    let mut listener = Listener::of(args.listen).await?;
    // Before anything is waited for: a signal meanwhile ends us.
    let opened = tokio::select! {
        opened = open(&args, &listener) => opened,
        () = ended(&mut signals) => return Ok(Exit::Done as u8),
    };
    let (store, candidate) = opened?;
    listener.serve(&candidate);
    let mut supervisor = Supervisor {
        clock: store.clock().clone(),
        candidate,
        guard: Guard::start()?,
        work: None,
        result: None,
        asked: None,
        args,
        as_json,
    };
    let done = supervisor.supervise(&mut signals).await;
    // Dropped first, whatever happened: the command does not outlive the candidate.
    supervisor.work = None;
    store.close().await?;
    done
}

async fn open(args: &Args, listener: &Listener) -> Result<(Store, Candidate), Failure> {
    let settings = args.store.settings()?;
    let builder = match args.lease.lease {
        Some(lease) => Store::builder().expected_lease(lease),
        None => Store::builder(),
    };
    let store = args.store.open(listener.meter(builder), settings).await?;
    let mut options = args.lease.options().drain(args.grace + DYING);
    if let Some(name) = &args.name {
        options = options.name(name);
    }
    let candidate = store.campaign(&args.key, options).await?;
    Ok((store, candidate))
}

async fn ended(signals: &mut Signals) {
    while !matches!(signals.next().await, Some(Asked::End(_) | Asked::PassOn(Signal::HUP))) {}
}

struct Supervisor {
    args: Args,
    as_json: bool,
    clock: Clock,
    candidate: Candidate,
    guard: Guard,
    work: Option<Work>,
    /// The exit code, once it is known; then it only remains to leave.
    result: Option<u8>,
    /// The signal that asked us to end.
    asked: Option<Signal>,
}

/// The command in a term.
struct Work {
    group: Group,
    /// Holds up a drain for as long as the command lives.
    term: Term,
    /// The longest time to a deadline so far.
    longest: Duration,
    /// What the guard was last told, and for which deadline.
    watch: Option<(Instant, Watch)>,
    /// When it is killed at the latest, where it was asked to end.
    kill_at: Option<Instant>,
    /// It was asked to end, or its term is over: its exit is not its own.
    is_ending: bool,
}

impl Work {
    fn end(&mut self, signal: Signal, kill_at: Instant) {
        self.is_ending = true;
        self.kill_at = Some(kill_at);
        self.group.signal(signal);
    }
}

impl Supervisor {
    async fn supervise(&mut self, signals: &mut Signals) -> Result<u8, Failure> {
        let mut events = self.candidate.events();
        let mut ticks = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => self.take(event).await?,
                    None => return Ok(self.result.unwrap_or(Exit::Done as u8)),
                },
                signal = signals.next() => if let Some(signal) = signal {
                    self.signalled(signal);
                },
                () = self.guard.gone() => self.replace_guard()?,
                _ = ticks.tick(), if self.work.is_some() => {}
            }
            self.look()?;
        }
    }

    async fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Won(term) => self.start(term)?,
            Event::Draining { reason, .. } => {
                tracing::info!(%reason, "leaving");
                self.end_work(self.asked.unwrap_or(Signal::TERM));
            }
            Event::Lost { term, reason } => {
                let (token, at) = (term.token().to_string(), self.clock.now().as_nanos());
                self.tell(json!({ "event": "lost", "token": token, "reason": reason.code(), "at": at }));
                self.kill_work().await?;
                if self.args.once && self.result.is_none() {
                    self.lost(reason);
                }
            }
            Event::Trouble(trouble) => {
                if self.as_json {
                    self.tell(json!({ "event": "trouble", "message": trouble.to_string() }));
                } else {
                    eprintln!("incumbent: {trouble}");
                }
            }
            Event::LeaderChanged(leader) => {
                tracing::info!(leader = leader.map(|leader| leader.name), "the leader changed");
            }
            Event::Campaigned(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, term: Term) -> Result<(), Failure> {
        let (token, at) = (term.token().to_string(), term.started().as_nanos());
        self.tell(json!({ "event": "won", "token": token, "at": at }));
        if self.result.is_some() || self.asked.is_some() {
            return Ok(());
        }
        let group = Group::start(&self.args.command, &term, self.candidate.name())?;
        tracing::info!(pid = group.pid().as_raw_nonzero().get(), token = %term.token(), "the command runs");
        self.work =
            Some(Work { group, term, longest: Duration::ZERO, watch: None, kill_at: None, is_ending: false });
        Ok(())
    }

    /// Ends what should end, sees what has ended, and tells the guard what is new.
    fn look(&mut self) -> Result<(), Failure> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let now = self.clock.now();
        if work.watch.is_some_and(|(_, watch)| watch.is_pressing(now)) && !work.is_ending {
            tracing::warn!("the lease is not renewed in time, and the command is ended");
            work.end(Signal::TERM, now + self.args.grace);
        }
        let is_over = work.watch.is_some_and(|(_, watch)| watch.is_over(now));
        if is_over || work.kill_at.is_some_and(|at| now >= at) {
            work.group.signal(Signal::KILL);
        }
        let deadline = work.term.deadline();
        if deadline != Instant::ZERO && work.watch.is_none_or(|(told, _)| told != deadline) {
            work.longest = work.longest.max(deadline.since(now));
            let watch = Watch::new(work.group.pid(), deadline, work.longest, self.args.grace);
            work.watch = Some((deadline, watch));
            self.guard.tell(Word::Watch(watch));
        }
        if let Some(status) = work.group.reap()? {
            self.exited(status);
        }
        Ok(())
    }

    /// The command has ended.
    fn exited(&mut self, status: ExitStatus) {
        self.guard.tell(Word::Rest);
        let Some(work) = self.work.take() else { return };
        let (code, at) = (exit_code(status), self.clock.now().as_nanos());
        self.tell(json!({ "event": "exited", "code": code, "at": at }));
        if let Some(asked) = self.asked {
            // That the signal ended it is what was asked for.
            let obeyed = i32::from(exit_code(status)) == 128 + asked.as_raw();
            self.result = Some(if obeyed { Exit::Done as u8 } else { exit_code(status) });
        } else if !work.is_ending {
            self.result = Some(exit_code(status));
            drop(self.candidate.close());
        } else if work.term.is_current() && work.term.drains_until().is_none() {
            // It was ended for a lease that was renewed after all: whoever is well may have it.
            drop(self.candidate.resign());
        }
    }

    fn signalled(&mut self, asked: Asked) {
        match (asked, &self.work) {
            (Asked::PassOn(signal), Some(work)) => work.group.signal(signal),
            (Asked::PassOn(Signal::HUP), None) => self.leave(Signal::HUP),
            (Asked::PassOn(_), None) => {}
            (Asked::End(signal), _) if self.asked.is_none() => self.leave(signal),
            (Asked::End(_), Some(work)) => work.group.signal(Signal::KILL),
            (Asked::End(_), None) => {}
        }
    }

    fn leave(&mut self, signal: Signal) {
        self.asked = Some(signal);
        // Told as `Draining` where there is something to drain.
        drop(self.candidate.close());
    }

    fn replace_guard(&mut self) -> Result<(), Failure> {
        tracing::warn!("the process that guards the command has ended, and is started again");
        self.guard = Guard::start()?;
        if let Some(work) = &mut self.work {
            work.watch = None;
        }
        Ok(())
    }

    fn end_work(&mut self, signal: Signal) {
        let by_grace = self.clock.now() + self.args.grace;
        if let Some(work) = self.work.as_mut().filter(|work| !work.is_ending) {
            let by_drain = work.term.drains_until().map(|until| until.before(DYING));
            work.end(signal, by_drain.unwrap_or(by_grace).min(by_grace));
        }
    }

    /// The term is over: nothing may be left of the command.
    async fn kill_work(&mut self) -> Result<(), Failure> {
        if let Some(work) = &mut self.work {
            work.is_ending = true;
            work.group.signal(Signal::KILL);
        }
        while self.work.is_some() {
            self.look()?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// A term was lost, and there is to be no other.
    fn lost(&mut self, reason: Reason) {
        if self.asked.is_none() {
            eprintln!("incumbent: the term was lost ({reason}), and --once asks for no other");
            self.result = Some(Exit::Failure as u8);
            drop(self.candidate.close());
        }
    }

    /// On the standard error, for the standard output is the command's. `at` is the machine's clock in
    /// nanoseconds, which all processes share.
    fn tell(&self, event: Value) {
        if self.as_json {
            eprintln!("{event}");
        } else {
            tracing::info!("{event}");
        }
    }
}
