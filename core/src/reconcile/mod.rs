//! A user's handlers, kept in line with leadership.
//!
//! A [`Reconciler`] takes the [`Message`]s of an election and asks for [`Handler`]s to be run, one at a time: *begin*
//! after winning, *end* after losing, and *error* if one of them fails. It takes [`Input`]s and returns [`Output`]s,
//! like a [`Campaign`](crate::campaign::Campaign).
//!
//! ```text
//!               LEADER               begin succeeds
//!   not leader ────────▶ (begin runs) ────────────▶ leader ◀─┐ LEADER
//!     ▲  ▲  │                │ fails                 │ │     └─
//!     │  │  │ ERROR          │            NOTLEADER  │ │ ERROR
//!     │  │  │                │                       ▼ │
//!     │  └──┼────────────────┼──────────────── (end runs)
//!     │     │                │     succeeds          │ │ fails
//!     │     ▼                ▼                       ▼ ▼
//!     │   ┌─────────────────────── error ────────────────────────┐
//!     └───│ (error runs, then a cool-down) ◀── (end, if there    │──▶ gives up: end failed
//!         │                           is work, and its retries)  │    too often
//!         └──────────────────────────────────────────────────────┘
//! ```
//!
//! # What it does not do
//!
//! It takes no part in an election and runs nothing itself. It cannot end a handler that hangs: it asks for a *begin*
//! that no longer has a purpose to be [stopped](Output::Stop), and a driver that can stop it does.
//!
//! # How often *end* is run
//!
//! Once, when the work is to end. A failure of that run is an error. In an error, *end* runs at once and then every
//! [`retry_every`](Settings::retry_every) until it succeeds, at most [`retries`](Settings::retries) times. By default
//! that makes twelve runs if an error was reported or *begin* failed, and thirteen if *end* itself was the error, as in
//! the tool elector, the model for this. A *begin* that failed may have done any part of its work, so *end* runs after
//! it as well, before the election is given up.
//!
//! # What it adds to the rules of a lease
//!
//! A draining leader keeps the lease until its work has ended, so an *end* that runs while the lease is held is in
//! time. If it still runs when the lease is over, it breaks the promise of one leader, whatever the cause;
//! [`Event::Overdue`] reports that while it happens.

mod io;

use alloc::collections::VecDeque;

pub use io::{Event, GaveUp, Handler, Input, Message, Misuse, Output, RunId, Settings, State, Timer, Wake};

use crate::time::Instant;

/// Keeps one candidate's handlers in line with its leadership.
#[derive(Clone, Debug)]
pub struct Reconciler {
    settings: Settings,
    /// The latest reading of the caller's clock.
    now: Instant,
    stage: Stage,
    /// The number of the last run.
    runs: RunId,
    /// The message to act on once the running handler has returned.
    pending: Option<Message>,
    closing: bool,
    /// The instant until which the lease allows the work that *begin* began.
    lease: Option<Instant>,
    /// Since when the work has been running without a lease.
    overdue: Option<Instant>,
    /// The number of messages dropped since the error began.
    dropped: u32,
    outputs: VecDeque<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    NotLeader,
    /// *Begin* runs. `stopped` states whether it was asked to stop.
    Beginning {
        run: RunId,
        stopped: bool,
    },
    Leader,
    /// *End* runs, outside of an error.
    Ending(RunId),
    /// *End* runs because of an error. `failed` is how often it has failed, and `left` how often it may still run.
    Mending {
        run: RunId,
        failed: u32,
        left: u32,
    },
    /// *End* has failed `failed` times and runs again at `at`. After that run it may run at most `left` more times.
    Retrying {
        failed: u32,
        left: u32,
        at: Instant,
    },
    /// *Error* runs.
    Handling(RunId),
    /// *Error* failed, and runs again at this instant.
    Again(Instant),
    /// Until the candidacy resumes.
    Cooling(Instant),
    Closed,
}

impl Reconciler {
    /// Creates a reconciler that does not lead. `now` is a reading of the clock that all later inputs use.
    pub fn new(settings: Settings, now: Instant) -> Self {
        Self {
            settings,
            now,
            stage: Stage::NotLeader,
            runs: RunId::default(),
            pending: None,
            closing: false,
            lease: None,
            overdue: None,
            dropped: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Handles what happened at `now`. Call [`poll`](Self::poll) afterwards until it is drained.
    ///
    /// A call that brings nothing new does nothing. If `now` is before the time of an earlier call, that earlier time
    /// counts.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the handler that returned was not running.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<(), Misuse> {
        if let Input::Returned { run, .. } = input
            && self.running() != Some(run)
        {
            return Err(Misuse::NotRunning(run));
        }
        self.now = self.now.max(now);
        if matches!(self.stage, Stage::Closed) {
            return Ok(());
        }
        match input {
            Input::Tick => {}
            Input::Message(message) => self.message(message),
            Input::Lease { until } => self.lease = Some(until),
            Input::Returned { succeeded, .. } => self.returned(succeeded),
            Input::Close => self.close(),
        }
        self.pass();
        self.judge();
        Ok(())
    }

    /// Returns what to do next. [`Output::WakeAt`] means that the outputs are drained: there is nothing more to do
    /// until an input, or until the instant that it names.
    #[must_use]
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or_else(|| Output::WakeAt(self.wake()))
    }

    /// The state of the handlers: not yet [`State::Leader`] while *begin* runs, still [`State::Leader`] while *end*
    /// runs.
    pub fn state(&self) -> State {
        match self.stage {
            Stage::NotLeader | Stage::Beginning { .. } => State::NotLeader,
            Stage::Leader | Stage::Ending(_) => State::Leader,
            Stage::Mending { .. }
            | Stage::Retrying { .. }
            | Stage::Handling(_)
            | Stage::Again(_)
            | Stage::Cooling(_) => State::Error,
            Stage::Closed => State::Closed,
        }
    }

    /// The handler that runs.
    pub fn running(&self) -> Option<RunId> {
        match self.stage {
            Stage::Beginning { run, .. }
            | Stage::Ending(run)
            | Stage::Mending { run, .. }
            | Stage::Handling(run) => Some(run),
            _ => None,
        }
    }

    fn message(&mut self, message: Message) {
        match (self.stage, message) {
            _ if self.state() == State::Error => self.dropped = self.dropped.saturating_add(1),
            (_, Message::Leader) if self.closing => {}
            (Stage::Beginning { .. } | Stage::Ending(_), _) => self.wait_with(message),
            (Stage::NotLeader, Message::Leader) => {
                let run = self.run(Handler::Begin);
                self.stage = Stage::Beginning { run, stopped: false };
            }
            (Stage::Leader, Message::NotLeader) => {
                let run = self.run(Handler::End);
                self.stage = Stage::Ending(run);
            }
            (Stage::NotLeader, Message::Error) => self.fail(false),
            (Stage::Leader, Message::Error) => self.fail(true),
            _ => {}
        }
    }

    /// Keeps a message that came while a handler runs. A later message does not displace an error.
    fn wait_with(&mut self, message: Message) {
        if self.pending != Some(Message::Error) {
            self.pending = Some(message);
        }
        if let Stage::Beginning { run, stopped: false } = self.stage
            && message != Message::Leader
        {
            self.stage = Stage::Beginning { run, stopped: true };
            self.outputs.push_back(Output::Stop(run));
        }
    }

    fn returned(&mut self, succeeded: bool) {
        match self.stage {
            Stage::Beginning { stopped: true, .. } => self.end_what_was_begun(),
            Stage::Beginning { .. } if succeeded => self.enter(Stage::Leader),
            Stage::Beginning { .. } => {
                self.report(Event::Failed(Handler::Begin));
                // *Begin* may have done any part of its work.
                self.fail(true);
            }
            Stage::Ending(_) if succeeded => {
                self.ended();
                self.enter(Stage::NotLeader);
            }
            Stage::Ending(_) => {
                self.drop_pending();
                self.outputs.push_back(Output::StandDown);
                self.report(Event::State(State::Error));
                self.report(Event::Failed(Handler::End));
                // From here on this is an error like any other, and *end* runs before *error*.
                match self.settings.retries.checked_sub(1) {
                    Some(left) => self.mend(1, left),
                    None => self.give_up(1),
                }
            }
            Stage::Mending { .. } if succeeded => {
                self.ended();
                self.handle_error();
            }
            Stage::Mending { failed, left, .. } => {
                let failed = failed.saturating_add(1);
                self.report(Event::Failed(Handler::End));
                match left.checked_sub(1) {
                    Some(left) => {
                        self.stage =
                            Stage::Retrying { failed, left, at: self.now + self.settings.retry_every };
                    }
                    None => self.give_up(failed),
                }
            }
            Stage::Handling(_) if succeeded => self.cool(),
            Stage::Handling(_) => {
                self.report(Event::Failed(Handler::Error));
                if self.closing {
                    self.enter(Stage::Closed);
                } else {
                    self.stage = Stage::Again(self.now + self.settings.before_error_again());
                }
            }
            _ => {}
        }
    }

    /// Runs *end* after a *begin* that was stopped, whatever *begin* returned, because *begin* may have done any part
    /// of its work.
    fn end_what_was_begun(&mut self) {
        let pending = self.pending.take();
        self.enter(Stage::Leader);
        if pending == Some(Message::Error) {
            self.message(Message::Error);
        } else {
            self.message(Message::NotLeader);
            // If leadership has been won again meanwhile, that win begins another term.
            self.pending = pending.filter(|message| *message == Message::Leader);
        }
    }

    /// The work has completely ended.
    fn ended(&mut self) {
        if let Some(since) = self.overdue.take() {
            self.report(Event::Late { by: self.now.since(since) });
        }
        self.outputs.push_back(Output::Relinquish);
    }

    /// Enters a stage in which nothing runs, and acts on a message that came meanwhile.
    fn enter(&mut self, stage: Stage) {
        let before = self.state();
        self.stage = stage;
        if self.state() != before {
            self.report(Event::State(self.state()));
        }
        if let Some(message) = self.pending.take() {
            self.message(message);
        }
        if self.closing && self.stage == Stage::NotLeader {
            self.enter(Stage::Closed);
        }
    }

    /// Gives up the election because of an error. If the work was `begun`, *end* runs first.
    fn fail(&mut self, begun: bool) {
        self.drop_pending();
        self.outputs.push_back(Output::StandDown);
        self.report(Event::State(State::Error));
        if begun {
            self.mend(0, self.settings.retries.saturating_sub(1));
        } else {
            self.handle_error();
        }
    }

    /// Runs *end* in an error.
    fn mend(&mut self, failed: u32, left: u32) {
        let run = self.run(Handler::End);
        self.stage = Stage::Mending { run, failed, left };
    }

    fn give_up(&mut self, failed: u32) {
        self.stage = Stage::Closed;
        let overdue = self.overdue.map(|since| self.now.since(since));
        self.outputs.push_back(Output::GiveUp(GaveUp { failed, overdue, dropped: self.dropped }));
    }

    fn handle_error(&mut self) {
        if self.closing {
            self.enter(Stage::Closed);
        } else {
            let run = self.run(Handler::Error);
            self.stage = Stage::Handling(run);
        }
    }

    fn cool(&mut self) {
        if self.closing {
            self.enter(Stage::Closed);
        } else {
            self.stage = Stage::Cooling(self.now + self.settings.cool_down);
        }
    }

    fn close(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        match self.stage {
            Stage::NotLeader | Stage::Again(_) | Stage::Cooling(_) => self.enter(Stage::Closed),
            Stage::Leader => self.message(Message::NotLeader),
            Stage::Beginning { .. } => self.wait_with(Message::NotLeader),
            // The candidate must not lead again, whatever the election reported meanwhile.
            Stage::Ending(_) => self.pending = self.pending.filter(|message| *message == Message::Error),
            Stage::Mending { .. } | Stage::Retrying { .. } | Stage::Handling(_) | Stage::Closed => {}
        }
    }

    /// Does what is due.
    fn pass(&mut self) {
        match self.stage {
            Stage::Retrying { failed, left, at } if at <= self.now => self.mend(failed, left),
            Stage::Again(at) if at <= self.now => self.handle_error(),
            Stage::Cooling(at) if at <= self.now => {
                self.stage = Stage::NotLeader;
                self.report(Event::State(State::NotLeader));
                self.report(Event::Resumed { dropped: self.dropped });
                self.dropped = 0;
                self.outputs.push_back(Output::StandUp);
            }
            _ => {}
        }
    }

    /// Compares the work with the lease.
    fn judge(&mut self) {
        let Some(over) = self.lease.filter(|until| *until <= self.now) else { return };
        // The clock shows the end of the lease before the election reports it.
        match self.stage {
            Stage::Leader => self.message(Message::NotLeader),
            Stage::Beginning { stopped: false, .. } => self.wait_with(Message::NotLeader),
            _ => {}
        }
        if self.overdue.is_none() && self.works() {
            self.overdue = Some(over);
            self.report(Event::Overdue { since: over });
        }
    }

    /// Returns true if what *begin* began may still be running.
    pub fn works(&self) -> bool {
        matches!(
            self.stage,
            Stage::Beginning { .. }
                | Stage::Leader
                | Stage::Ending(_)
                | Stage::Mending { .. }
                | Stage::Retrying { .. }
        )
    }

    fn wake(&self) -> Option<Wake> {
        let waits = match self.stage {
            Stage::Retrying { at, .. } => Some(Wake { at, timer: Timer::Retry }),
            Stage::Again(at) => Some(Wake { at, timer: Timer::Again }),
            Stage::Cooling(at) => Some(Wake { at, timer: Timer::CoolDown }),
            _ => None,
        };
        let lease = self.lease.filter(|_| self.works() && self.overdue.is_none());
        let lease = lease.map(|at| Wake { at, timer: Timer::Lease });
        let both = [lease, waits].into_iter().flatten();
        both.filter(|wake| wake.at < Instant::NEVER).min_by_key(|wake| wake.at)
    }

    fn run(&mut self, handler: Handler) -> RunId {
        self.runs.0 += 1;
        self.outputs.push_back(Output::Run { run: self.runs, handler });
        self.runs
    }

    fn drop_pending(&mut self) {
        if self.pending.take().is_some() {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    fn report(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }
}
