//! The part that all forms of `incumbent run` share: opening the store, campaigning, and the loop that waits.
//!
//! A [`Form`] decides what happens to the work. The loop reads the clock after every wait, before anything else,
//! because this process may have been stopped, and work whose lease is over must end first.

use std::collections::HashMap;
use std::time::Duration;

use incumbent::incumbent_core::campaign::check_name;
use incumbent::incumbent_core::reconcile::Message;
use incumbent::{
    Candidate, Clock, Error, ErrorKind, Event, Instant as CoreInstant, Leader, Reason, Store, Term, TermView,
    Token, Warning,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

use super::args::Args;
use super::command::Environment;
use super::deadline::DeadlineFile;
use super::health::Health;
use super::notices::Notices;
use super::signals::{Asked, Signals};
use super::source::{Incoming, Source};
use super::stale;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::listen::{Listener, Metrics};
use crate::output::unix_ms;
use crate::stderr::{is_json, report, warn, warn_of};
use crate::store::{ConnectionReports, Limit};

/// One form of `incumbent run`, and what it does with the work of a term.
pub(super) trait Form {
    /// The reason for which [`wait`](Self::wait) has returned.
    type Wake;

    fn runner(&mut self) -> &mut Runner;

    /// Returns true if the loop should end.
    fn is_done(&self) -> bool;

    /// Returns true if this process was asked to end, or ends for another reason.
    fn is_leaving(&self) -> bool;

    /// Returns true if an event can be handled now.
    fn is_ready(&self, _: &Source) -> bool {
        true
    }

    /// Waits for the form's own processes and timers. Cancel-safe.
    async fn wait(&mut self) -> Self::Wake;

    /// Reads the clock, and ends everything that must have ended by now.
    fn look(&mut self) -> Result<(), Failure>;

    async fn take(&mut self, event: Event) -> Result<(), Failure>;

    /// Handles a message that a person typed.
    fn typed(&mut self, _: Message) -> Result<(), Failure> {
        Ok(())
    }

    /// No more events follow.
    fn over(&mut self) -> Result<(), Failure>;

    fn signalled(&mut self, asked: Asked) -> Result<(), Failure>;

    fn woken(&mut self, wake: Self::Wake) -> Result<(), Failure>;

    /// Leaves with this exit code, because this candidate was not elected in time or may not take part.
    fn give_up(&mut self, exit: Exit) -> Result<(), Failure>;

    /// Called after each of the calls above.
    async fn settle(&mut self, _: &Source) -> Result<(), Failure> {
        Ok(())
    }
}

/// Runs a form of `incumbent run` until it is done.
pub(super) async fn drive(form: &mut impl Form, opened: &mut Opened) -> Result<(), Failure> {
    let Opened { source, signals, timeout, .. } = opened;
    let sleep = timeout.sleep();
    tokio::pin!(sleep);
    let mut is_over = false;
    while !form.is_done() {
        let is_ready = !is_over && form.is_ready(source);
        let is_timed = timeout.is_set() && !form.runner().has_led && !form.is_leaving();
        let (due, silence) = (form.runner().notices.due(), form.runner().silence());
        // Without a time, the wait would be over at once, but its branch is disabled.
        let due_at = due.unwrap_or_else(Instant::now);
        let next = tokio::select! {
            incoming = source.next(), if is_ready => Next::Incoming(incoming),
            signal = signals.next() => signal.map_or(Next::Look, Next::Signal),
            wake = form.wait() => Next::Wake(wake),
            () = &mut sleep, if is_timed => Next::TimedOut,
            () = sleep_until(due_at), if due.is_some() => Next::Unexplained,
            () = silence.over() => Next::Silent(silence),
        };
        form.look()?;
        match next {
            Next::Look => {}
            Next::Incoming(Incoming::Event(event)) => {
                form.runner().metrics.count(&event);
                form.take(event).await?;
                let is_leaving = form.is_leaving();
                if let Some(leader) = form.runner().beaten_by().filter(|_| !is_leaving) {
                    warn(format_args!("not elected: {leader} leads, and --no-wait forbids waiting"));
                    form.give_up(Exit::NotElected)?;
                } else if form.runner().is_refused() && !is_leaving {
                    form.give_up(Exit::Denied)?;
                }
            }
            Next::Incoming(Incoming::Typed(message)) => form.typed(message)?,
            Next::Incoming(Incoming::Over) => {
                is_over = true;
                form.over()?;
            }
            Next::Signal(asked) => form.signalled(asked)?,
            Next::Wake(wake) => form.woken(wake)?,
            Next::Unexplained => form.runner().notices.unexplained(),
            Next::Silent(limit) => {
                let cause = form.runner().silence.take().map(|(_, cause)| cause).unwrap_or_default();
                if !source.answers(LAST_QUESTION).await && !form.is_leaving() {
                    warn(limit.unanswered(&cause));
                    form.give_up(Exit::Unreachable)?;
                }
            }
            Next::TimedOut => {
                let leader = form.runner().leader().unwrap_or_else(|| "no candidate".into());
                warn(timeout.message(&format!("{leader} leads")));
                form.give_up(Exit::NotElected)?;
            }
        }
        form.runner().apply_health();
        form.settle(source).await?;
    }
    Ok(())
}

enum Next<W> {
    Look,
    Incoming(Incoming),
    Signal(Asked),
    Wake(W),
    TimedOut,
    /// A wait that no line has explained yet continues.
    Unexplained,
    /// The store may have been silent for as long as this candidate waits.
    Silent(Limit),
}

/// The time that the store has for a last answer before a candidate that does not wait gives it up.
const LAST_QUESTION: Duration = Duration::from_secs(1);

/// The candidate of a form, or the console, before its work begins.
pub(super) struct Opened {
    pub(super) source: Source,
    signals: Signals,
    timeout: ElectionTimeout,
    /// Serves until it is dropped.
    listener: Listener,
}

impl Opened {
    /// Opens the store and campaigns, or opens the console. If a signal comes first, or the limit of `--wait`, returns
    /// the exit code instead.
    ///
    /// # Errors
    /// With `--no-wait`, `StoreUnavailable` if the store does not answer within the time of a command that asks once.
    pub(super) async fn open(args: &Args, drain: Duration) -> Result<Result<Self, Exit>, Failure> {
        let timeout = ElectionTimeout::new(args.wait);
        let limit = if args.no_wait { Limit::of_store() } else { Limit::NONE };
        let key = args.key.as_deref().filter(|_| !args.is_console());
        if key.is_none() && !args.is_console() {
            return Err(Failure::usage("no election given: give --key KEY"));
        }
        if let Some(key) = key {
            // Before waiting for the store.
            args.store.settings()?.check_election(key)?;
            if let Some(name) = &args.name {
                check_name(name).map_err(|refused| Error::refused(ErrorKind::InvalidName, refused))?;
            }
        }
        // The signals are caught before any wait, so that a signal during a wait ends this process.
        let mut signals = Signals::new()?;
        // The leftovers of an earlier supervisor are removed first.
        sweep().await;
        let mut listener = Listener::of(args.listen).await?;
        let reports = ConnectionReports::default();
        let source = match key {
            None => Source::console()?,
            Some(key) => tokio::select! {
                campaigning = campaign(args, key, drain, &mut listener, &reports) => campaigning?,
                () = signals.end() => return Ok(Err(Exit::Done)),
                () = timeout.sleep(), if timeout.is_set() => {
                    warn(timeout.message(&reports.cause()));
                    return Ok(Err(Exit::NotElected));
                }
                () = limit.over() => return Err(limit.unanswered(&reports.cause())),
            },
        };
        Ok(Ok(Self { source, signals, timeout, listener }))
    }

    /// Closes the store, and the candidate with it.
    pub(super) async fn close(self) -> Result<(), Failure> {
        if let Source::Store { store, .. } = self.source {
            store.close().await?;
        }
        Ok(())
    }
}

/// Removes the leftovers of dead supervisors, on a separate thread if one can be started.
async fn sweep() {
    let (done, is_done) = oneshot::channel();
    let thread = std::thread::Builder::new().name("sweep".into());
    let started = thread.spawn(move || {
        stale::sweep();
        // The caller may no longer wait.
        let _ = done.send(());
    });
    match started {
        Ok(_) => drop(is_done.await),
        Err(_) => stale::sweep(),
    }
}

async fn campaign(
    args: &Args,
    key: &str,
    drain: Duration,
    listener: &mut Listener,
    reports: &ConnectionReports,
) -> Result<Source, Failure> {
    let builder = match args.lease.lease {
        Some(lease) => Store::builder().expected_lease(lease),
        None => Store::builder(),
    };
    let store = args.store.open_reporting(listener.meter(builder), args.store.settings()?, reports).await?;
    let candidate = store.campaign(key, args.options(drain)).await?;
    // The first reader of events receives the warnings from before it, so nothing else may read first.
    let events = candidate.events();
    listener.serve(&store, &candidate, args.is_sidecar());
    Ok(Source::Store { store, candidate, events })
}

/// The state that every form needs.
pub(super) struct Runner {
    pub(super) args: Args,
    pub(super) clock: Clock,
    /// None at the console.
    pub(super) candidate: Option<Candidate>,
    pub(super) health: Health,
    pub(super) file: DeadlineFile,
    pub(super) has_led: bool,
    /// True if the beginning of a term has been reported, but not yet its end.
    is_leading: bool,
    metrics: Metrics,
    notices: Notices,
    /// A permission is missing.
    is_denied: bool,
    /// The time at which each missing permission was last reported.
    denials: HashMap<String, Instant>,
    /// Set while the store does not answer: how long a candidate that does not wait tolerates that, and the cause.
    silence: Option<(Limit, String)>,
}

/// The term whose work was ended because its lease was not renewed in time.
pub(super) struct Overdue {
    term: TermView,
    /// The deadline at that time.
    deadline: CoreInstant,
}

impl Overdue {
    pub(super) fn new(term: &Term, deadline: CoreInstant) -> Self {
        Self { term: term.view(), deadline }
    }
}

impl Runner {
    /// Resigns from a term whose work was ended because of its lease, if the lease has been renewed after all, so that
    /// a healthy candidate may lead. A lease that is not renewed runs out.
    pub(super) fn resign_if_renewed(&self, overdue: &mut Option<Overdue>) {
        let Some(Overdue { term, deadline }) = overdue else { return };
        let is_led = term.is_current() && term.drains_until().is_none();
        let is_renewed = term.deadline() > *deadline;
        if is_led && is_renewed {
            self.resign();
        }
        if !is_led || is_renewed {
            *overdue = None;
        }
    }

    pub(super) fn new(args: Args, opened: &Opened) -> Result<Self, Failure> {
        let (clock, candidate) = match &opened.source {
            Source::Console(_) => (Clock::system(), None),
            Source::Store { store, candidate, .. } => (store.clock().clone(), Some(candidate.clone())),
        };
        let (health, file) = (Health::start(&args), DeadlineFile::new()?);
        let is_silent = is_json() || args.quiet;
        let notices = Notices::new(candidate.clone().filter(|_| !is_silent));
        Ok(Self {
            args,
            clock,
            candidate,
            health,
            file,
            has_led: false,
            is_leading: false,
            metrics: opened.listener.metrics.clone(),
            notices,
            is_denied: false,
            denials: HashMap::new(),
            silence: None,
        })
    }

    /// Reports that a term has begun.
    pub(super) fn won(&mut self, term: &Term) {
        let (token, at) = (term.token().to_string(), term.started().as_nanos());
        self.emit(json!({ "event": "won", "token": token, "at": at }));
        self.notices.won();
        (self.has_led, self.is_leading) = (true, true);
    }

    /// Returns true if the beginning of a term has been reported, but not yet its end.
    pub(super) fn is_leading(&self) -> bool {
        self.is_leading
    }

    /// Reports that a term has ended.
    pub(super) fn lost(&mut self, term: &Term, reason: Reason, at: CoreInstant) {
        let (token, at) = (term.token().to_string(), at.as_nanos());
        self.emit(json!({ "event": "lost", "token": token, "reason": reason.code(), "at": at }));
        self.is_leading = false;
        self.metrics.lost(reason);
        self.notices.lost(reason);
    }

    /// Reports a warning. A missing permission is reported once and then rarely, because every attempt finds it again.
    pub(super) fn warning(&mut self, warning: &Warning) {
        match warning {
            Warning::YoungStore { left, .. } => {
                self.notices.explained_for(*left);
                if self.args.quiet {
                    return;
                }
            }
            _ => self.notices.explained(),
        }
        if warning.code() == ErrorKind::PermissionDenied.code() {
            self.is_denied = true;
            let now = Instant::now();
            if self.denials.get(&warning.to_string()).is_some_and(|at| now < *at + RARELY) {
                return;
            }
            self.denials.insert(warning.to_string(), now);
        }
        if warning.code() == ErrorKind::StoreUnavailable.code() && self.silence.is_none() {
            self.silence = Some((Limit::of_store(), warning.to_string()));
        }
        warn_of(warning);
    }

    /// The time by which the store must answer again, with `--no-wait` and before this candidate has led.
    fn silence(&self) -> Limit {
        let limit = self.silence.as_ref().filter(|_| self.args.no_wait && !self.has_led);
        limit.map_or(Limit::NONE, |(limit, _)| *limit)
    }

    /// Returns true if a permission is missing and this candidate does not wait for it, because of `--fail-fast`.
    fn is_refused(&self) -> bool {
        self.is_denied && self.args.store.fail_fast && !self.has_led
    }

    /// Reports another leader, or none.
    pub(super) fn leader_changed(&mut self, leader: Option<Leader>) {
        if self.beaten_by().is_none() {
            self.notices.leader_changed(leader.as_ref());
        }
        tracing::info!(leader = leader.map(|leader| leader.name), "the leader changed");
    }

    /// Resigns and stays a candidate. The outcome is not awaited, because events report it.
    pub(super) fn resign(&self) {
        if let Some(candidate) = &self.candidate {
            drop(candidate.request_resign());
        }
    }

    /// Leaves the election permanently. The event `Draining` follows if there is something to drain.
    pub(super) fn leave(&self) {
        if let Some(candidate) = &self.candidate {
            drop(candidate.request_close());
        }
    }

    /// The leader's name, if known.
    pub(super) fn leader(&self) -> Option<String> {
        Some(self.candidate.as_ref()?.leader()?.name)
    }

    /// With `--no-wait`, the leader for which this candidate does not wait.
    fn beaten_by(&self) -> Option<String> {
        let is_asked = self.args.no_wait && !self.has_led;
        let name = self.candidate.as_ref().filter(|_| is_asked)?.name();
        self.leader().filter(|leader| leader != name)
    }

    /// Passes a changed result of the health check to the candidate.
    pub(super) fn apply_health(&mut self) {
        if let Some(candidate) = &self.candidate {
            self.health.apply(candidate);
        }
    }

    /// The environment of a command or a handler.
    pub(super) fn environment(&self, token: Option<Token>) -> Environment<'_> {
        let name = self.candidate.as_ref().map(Candidate::name);
        Environment {
            key: self.args.key.as_deref().unwrap_or("console"),
            name: name.or(self.args.name.as_deref()).unwrap_or("console"),
            token,
            deadline_file: self.file.path().to_owned(),
        }
    }

    /// Writes an event to the standard error, because the standard output is the command's. The event's `at` is the
    /// machine's clock in nanoseconds, which all processes share, and its `unix_ms` is the wall clock.
    pub(super) fn emit(&self, mut event: Value) {
        // These fields can be added because each event is an object.
        if let Some(candidate) = &self.candidate {
            event["election"] = candidate.election().into();
            event["candidate"] = candidate.name().into();
        }
        event["unix_ms"] = unix_ms().into();
        if is_json() {
            report(event, "");
        } else {
            tracing::info!(target: "incumbent::run", "{event}");
        }
    }
}

/// The time after which a permission that is still missing is reported again (10 min).
const RARELY: Duration = Duration::from_secs(600);

/// A practically endless wait (100 years).
const UNLIMITED: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The time limit of `--wait` for an election, counted from the start of the program, whatever the program waits for.
#[derive(Clone, Copy, Debug)]
struct ElectionTimeout {
    limit: Option<Duration>,
    until: Instant,
}

impl ElectionTimeout {
    fn new(limit: Option<Duration>) -> Self {
        let now = Instant::now();
        let far = now + UNLIMITED;
        Self { limit, until: limit.and_then(|limit| now.checked_add(limit)).unwrap_or(far).min(far) }
    }

    /// Returns true if there is a limit.
    fn is_set(self) -> bool {
        self.limit.is_some()
    }

    /// Sleeps until the limit.
    fn sleep(self) -> Sleep {
        sleep_until(self.until)
    }

    /// The message when the limit has passed, including the current state.
    fn message(self, state: &str) -> String {
        let limit = humantime::format_duration(self.limit.unwrap_or_default());
        format!("not elected within {limit}; {state}")
    }
}
