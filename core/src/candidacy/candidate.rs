//! A candidate and its states, the same for every rule.
//!
//! [`Candidacy::handle`] takes an input and works in this order: it ends a lease that has run out, passes the input to
//! the part that handles it, fires the timers that are due, and reports what changed.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use oorandom::Rand64;

use super::{Ended, GivingWay, Input, Obstacle, Output, Reports, Rule, Rules, Waiting};
use crate::campaign::{
    Event, Leader, Lease, Misuse, Reason, State, Term, Warning, backoff, check_name, pace,
};
use crate::record::Nonce;
use crate::store::Fault;
use crate::time::Instant;
use crate::timers::{Kind as _, Timers};
use crate::token::Token;

/// More outputs than any call has, since each call makes only a few requests and reports.
const MOST_OUTPUTS: usize = 64;

/// One candidate's attempt to win and keep an election by the rule `R`.
#[derive(Clone, Debug)]
pub struct Candidacy<R: Rule> {
    pub(crate) rules: Arc<Rules<R::Settings>>,
    pub(crate) nonce: Nonce,
    pub(crate) rng: Rand64,
    /// The latest reading of the caller's clock.
    pub(crate) now: Instant,
    /// The lease in force: the rules' lease, or a shorter one if the store keeps records for less time.
    pub(crate) lease: Duration,
    pub(crate) stage: Stage<R::Race, R::Leaving>,
    pub(crate) intent: Intent,
    pub(crate) past: Past,
    /// The term, once its win is reported.
    pub(crate) term: Option<Term>,
    /// Set while the leader drains.
    pub(crate) departure: Option<Box<Departure>>,
    pub(crate) giving_way: GivingWay,
    pub(crate) timers: Timers<R::Timer>,
    pub(crate) reports: Reports,
    outputs: VecDeque<Output<R::Request, R::Timer, R::Tell>>,
    /// The rule's own data.
    pub(crate) own: R,
}

/// The stage of a candidate, with its data: `C` in the race, `L` after it.
#[derive(Clone, Debug, Hash)]
pub enum Stage<C, L> {
    /// Out of the race.
    Idle,
    /// Waits until its splay is over.
    Splaying,
    /// In the race, or leads.
    Racing(C),
    /// Removes what a claim left behind, until [`Candidacy::move_on`].
    Releasing(L),
    /// Closed for its user. Only [`Candidacy::closed`] enters this stage.
    Closed,
}

/// What the user and the health check want.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Intent {
    /// Whether the user asked to campaign, and has not closed.
    pub(crate) in_race: bool,
    pub(crate) closing: bool,
    pub(crate) healthy: bool,
}

impl Default for Intent {
    fn default() -> Self {
        Self { in_race: false, closing: false, healthy: true }
    }
}

/// The facts that outlast a term and may hold a candidate back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    /// Whether the splay has passed, or was not needed.
    splayed: bool,
    /// The candidate claims nothing before this instant.
    pub(crate) rest_until: Instant,
    /// The number of terms in a row that ended within a lease because the user's handler failed.
    handler_failures: u32,
}

/// The reason for which a leader leaves, and its successor.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Departure {
    pub(crate) reason: Reason,
    pub(crate) successor: Option<String>,
}

impl<R: Rule> Candidacy<R> {
    /// Creates a candidate that has not begun.
    pub(crate) fn idle(rules: Rules<R::Settings>, nonce: Nonce, seed: u64, now: Instant, own: R) -> Self {
        Self {
            nonce,
            rng: Rand64::new(seed.into()),
            now,
            lease: rules.lease,
            stage: Stage::Idle,
            intent: Intent::default(),
            past: Past::default(),
            term: None,
            departure: None,
            giving_way: GivingWay::default(),
            timers: Timers::default(),
            reports: Reports::default(),
            outputs: VecDeque::new(),
            own,
            rules: Arc::new(rules),
        }
    }

    /// Handles what happened at `now`. Call [`poll`](Self::poll) afterwards until it is drained.
    ///
    /// A call that brings nothing new does nothing. If `now` is before the time of an earlier call, that earlier time
    /// counts.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, for an answer to a question that was never asked, or for a successor whose
    /// name is not a valid candidate name.
    pub fn handle(&mut self, now: Instant, input: Input<R::Answer, R::Shown, R::Told>) -> Result<(), Misuse> {
        match &input {
            Input::Answered(answer) => R::check(self, answer)?,
            Input::HandOver(successor) if check_name(successor).is_err() => return Err(Misuse::NotAName),
            _ => {}
        }
        self.now = self.now.max(now);
        if self.is_settled() {
            return Ok(());
        }
        // This comes first, because nothing that arrives now can save a lease that has run out.
        self.expire();
        self.dispatch(input);
        while let Some(timer) = self.timers.take_due(self.now) {
            self.fire(timer);
        }
        self.conclude();
        self.check_itself();
        Ok(())
    }

    /// Returns what to do next. [`Output::WakeAt`] means that the outputs are drained: there is nothing more to do
    /// until an input, or until the instant that it names.
    #[must_use]
    pub fn poll(&mut self) -> Output<R::Request, R::Timer, R::Tell> {
        self.outputs.pop_front().unwrap_or_else(|| Output::WakeAt(self.timers.next()))
    }

    /// The right to lead: the candidate leads while its clock reads less than the deadline. `None` outside a reported term.
    ///
    /// Publish it after every [`handle`](Self::handle), *before* acting on its outputs: nothing that lets another
    /// candidate take over is sent before this lease is gone.
    pub fn lease(&self) -> Option<Lease> {
        let term = self.term?;
        R::deadline(self).map(|deadline| Lease { token: term.token, deadline })
    }

    /// Whether the candidate leads at `now`.
    pub fn is_leader(&self, now: Instant) -> bool {
        self.lease().is_some_and(|lease| now < lease.deadline)
    }

    /// The state of the candidate.
    pub fn state(&self) -> State {
        match (&self.stage, &self.term, &self.departure) {
            (Stage::Idle, ..) => State::Idle,
            (Stage::Splaying, ..) => State::Splaying,
            (Stage::Racing(_), Some(_), None) => State::Leading,
            (Stage::Racing(_), Some(_), Some(_)) => State::Draining,
            (Stage::Racing(_), None, _) => R::racing(self),
            (Stage::Releasing(_), ..) => State::Releasing,
            (Stage::Closed, ..) => State::Closed,
        }
    }

    /// Whether the candidate is closed and has nothing left to do. Keep driving a closed candidate until it is settled.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Closed) && R::is_settled(self)
    }

    /// The last leader that this candidate knew.
    pub fn leader(&self) -> Option<&Leader> {
        self.reports.known_leader()
    }

    /// The candidate's name.
    pub fn name(&self) -> &str {
        &self.rules.name
    }

    /// The number that marks this candidate's writes; an operator's request names it.
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// What it publishes about itself.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.rules.metadata
    }

    /// The lease time in force.
    pub fn lease_time(&self) -> Duration {
        self.lease
    }

    /// The time after which the candidate stops waiting for the answer to a request.
    pub fn attempt_limit(&self) -> Duration {
        pace::attempt_limit(self.lease)
    }

    /// The margin between the deadline and the end of the lease.
    pub fn margin(&self) -> Duration {
        self.rules.margin.of(self.lease)
    }

    /// Shares the rules of the candidate `with` instead of keeping a copy, if they are equal.
    pub(crate) fn share_rules(&mut self, with: &Self) {
        if self.rules == with.rules {
            self.rules = Arc::clone(&with.rules);
        }
    }

    /// Swaps the memory for outputs with the session's, since only one of many thousand candidates has outputs at a
    /// time.
    pub(crate) fn exchange_memory(&mut self, outputs: &mut VecDeque<Output<R::Request, R::Timer, R::Tell>>) {
        // No remaining output may be lost.
        if self.outputs.is_empty() {
            core::mem::swap(&mut self.outputs, outputs);
        }
    }

    fn dispatch(&mut self, input: Input<R::Answer, R::Shown, R::Told>) {
        match input {
            Input::Tick => R::tick(self),
            Input::Campaign => self.campaign(),
            Input::Resign => self.resign(),
            Input::HandOver(successor) => R::hand_over(self, successor),
            Input::Close => self.close(),
            Input::Health(healthy) => self.health(healthy),
            Input::Drained => {
                self.end_drain(false);
                R::work_ended(self);
            }
            Input::HandlerFailed => self.handler_failed(),
            Input::Accept => R::accept(self),
            Input::Answered(answer) => R::answered(self, answer),
            Input::Inspected(result) => R::inspected(self, result),
            Input::Watched(shown) => R::shown(self, shown),
            Input::Watching { since } => R::watching(self, since),
            Input::Reconnected => R::reconnected(self),
            Input::Told(told) => R::told(self, told),
        }
    }

    fn fire(&mut self, timer: R::Timer) {
        match timer {
            timer if timer == R::Timer::DEADLINE => self.expire(),
            timer if timer == R::Timer::DRAIN => self.end_drain(true),
            timer if timer == R::Timer::SPLAY => self.race(),
            timer if timer == R::Timer::CLOSE => R::close_timed_out(self),
            timer => R::fire(self, timer),
        }
    }

    /// Ends every call: sets the deadline and reports what changed.
    fn conclude(&mut self) {
        R::conclude(self);
        match R::deadline(self) {
            Some(deadline) => self.timers.set(R::Timer::DEADLINE, deadline),
            None => self.timers.stop(R::Timer::DEADLINE),
        }
        let event = self.reports.state(self.state());
        self.report_if(event);
    }

    /// Checks the invariants that a machine itself can know at the end of every call: I2, I5, I8, and the bounds of its
    /// data. I6 and I7, and I8 once more, are checked where requests are made. A machine cannot know what its driver
    /// drops; the simulator's oracles check that from outside.
    fn check_itself(&self) {
        let leads = self.term.is_some();
        debug_assert!(!leads || matches!(self.stage, Stage::Racing(_)), "I8: a term outlasts its release");
        debug_assert!(!leads || R::deadline(self).is_some(), "I2: a leader has a deadline");
        debug_assert!(leads || self.departure.is_none(), "I5: what drains is a term");
        debug_assert!(self.outputs.len() <= MOST_OUTPUTS, "bound: outputs of one call are bounded");
        debug_assert!(self.reports.is_bounded(), "bound: remembered faults are bounded");
        R::check_bounds(self);
    }

    /// Whether the candidate will act by itself, because it has a timer, or a request that waits for a place. A
    /// candidate with neither would be forgotten.
    pub(crate) fn has_something_to_come(&self) -> bool {
        // At the end of the clock's range nothing more can happen.
        let ends = self.now + self.lease + self.lease == Instant::NEVER;
        self.timers.next().is_some() || R::wish(self).is_some() || !self.outputs.is_empty() || ends
    }

    // ---- into the race ----

    fn campaign(&mut self) {
        self.intent.in_race = !self.intent.closing;
        if !self.intent.in_race || !self.intent.healthy || !matches!(self.stage, Stage::Idle) {
            return;
        }
        R::enters(self);
        if self.past.splayed || self.rules.splay.is_zero() {
            return self.race();
        }
        let splay = backoff::up_to(self.rules.splay, &mut self.rng);
        self.stage = Stage::Splaying;
        self.timers.set(R::Timer::SPLAY, self.now + splay);
    }

    fn race(&mut self) {
        self.past.splayed = true;
        R::claim(self);
    }

    /// Reports the win of a term with this token. By then the rule must have a [deadline](Rule::deadline).
    pub fn won(&mut self, token: Token) {
        let term = Term { token, started: self.now };
        let before = self.term.replace(term);
        debug_assert!(before.is_none(), "I5: a term is lost before another is won");
        self.giving_way.won(self.lease, self.now);
        self.report(Event::Won(term));
    }

    // ---- out of it ----

    fn resign(&mut self) {
        match self.term {
            Some(_) => self.depart(Reason::Resigned, None),
            None => R::give_up(self),
        }
    }

    fn health(&mut self, healthy: bool) {
        self.intent.healthy = healthy;
        match (healthy, &self.stage) {
            (true, _) if self.intent.in_race => self.campaign(),
            (true, _) | (false, Stage::Idle) => {}
            (false, _) => self.leave_race(Reason::Unhealthy),
        }
    }

    fn close(&mut self) {
        if matches!(self.stage, Stage::Closed) {
            return;
        }
        (self.intent.closing, self.intent.in_race) = (true, false);
        self.leave_race(Reason::Closed);
        match self.stage {
            Stage::Idle => self.closed(),
            Stage::Releasing(_) => R::limit_close(self),
            _ => {}
        }
    }

    /// Takes the candidate out of the race: a leader drains, any other candidate leaves at once.
    fn leave_race(&mut self, reason: Reason) {
        match self.stage {
            Stage::Racing(_) if self.term.is_some() => self.depart(reason, None),
            Stage::Idle | Stage::Splaying | Stage::Racing(_) => {
                self.timers.stop(R::Timer::SPLAY);
                R::withdraw(self);
            }
            Stage::Releasing(_) | Stage::Closed => {}
        }
    }

    /// Begins to leave by the leader's own choice: its work drains while the lease is kept.
    pub fn depart(&mut self, reason: Reason, successor: Option<String>) {
        let Some(term) = self.term.filter(|_| self.departure.is_none()) else { return };
        let until = self.now + self.rules.drain;
        self.departure = Some(Box::new(Departure { reason, successor }));
        self.timers.set(R::Timer::DRAIN, until);
        self.report(Event::Draining { term, until, reason });
        R::departs(self, reason);
    }

    /// Ends a draining term, because its work has ended, or because its time is up. `working` states whether the work
    /// still runs.
    fn end_drain(&mut self, working: bool) {
        if let Some(departure) = self.departure.take() {
            self.end(departure.reason, departure.successor, working);
        }
    }

    /// Ends the term at once, because the user's handler failed. The release waits until the term's work has ended, and
    /// the candidate claims again after a back-off.
    fn handler_failed(&mut self) {
        let Some(term) = self.term else { return };
        let soon = self.now.since(term.started) < self.lease;
        self.past.handler_failures = if soon { self.past.handler_failures.saturating_add(1) } else { 1 };
        let wait = self.rules.backoff.wait(self.past.handler_failures, &mut self.rng);
        self.past.rest_until = self.now + wait;
        self.end(Reason::HandlerFailed, None, true);
    }

    /// Ends the term: reports the loss, and only then removes what the term left in the store.
    fn end(&mut self, reason: Reason, successor: Option<String>, working: bool) {
        if let Some(term) = self.lost(reason) {
            R::leave_behind(self, Ended { term, reason, successor, working });
        }
    }

    /// Reports the loss of the term, if there is one, and returns it.
    pub fn lost(&mut self, reason: Reason) -> Option<Term> {
        let term = self.term.take()?;
        self.departure = None;
        self.giving_way.lost(self.now);
        self.report(Event::Lost { term, reason });
        Some(term)
    }

    /// Ends the claim and the term if their deadline has passed.
    fn expire(&mut self) {
        if R::deadline(self).is_some_and(|deadline| deadline <= self.now) {
            R::lose(self, Reason::Expired);
        }
    }

    /// Moves on when nothing is left to remove: the candidate closes, [claims](Rule::claim) again, or becomes idle.
    pub fn move_on(&mut self) {
        if let Some(warning) = self.giving_way.removed(self.lease, self.now) {
            self.report(Event::Warning(warning));
        }
        if self.intent.closing {
            self.closed();
        } else if self.intent.in_race && self.intent.healthy {
            R::claim(self);
        } else {
            self.stage = Stage::Idle;
        }
    }

    /// Closes the candidate for its user.
    pub fn closed(&mut self) {
        self.timers.stop(R::Timer::CLOSE);
        self.stage = Stage::Closed;
        R::closes(self);
    }

    // ---- outputs ----

    /// Sends a request to the store. The answer comes through [`Rule::answered`].
    pub fn ask(&mut self, request: R::Request) {
        self.outputs.push_back(Output::Ask(request));
    }

    /// Tells the connection something.
    pub fn tell(&mut self, tell: R::Tell) {
        self.outputs.push_back(Output::Tell(tell));
    }

    /// Asks for an inspection of the store; the result of one requested at `since` or later will do. The answer comes
    /// through [`Rule::inspected`].
    pub fn ask_inspection(&mut self, since: Instant) {
        self.outputs.push_back(Output::Inspect { since });
    }

    /// Asks for a new connection. [`Rule::reconnected`] reports it.
    pub fn ask_connection(&mut self) {
        self.outputs.push_back(Output::Reconnect);
    }

    /// Reports an event. A closed candidate reports nothing more, though it may still remove what it left in the store.
    pub fn report(&mut self, event: Event) {
        if !matches!(self.stage, Stage::Closed) || matches!(event, Event::StateChanged(_)) {
            self.outputs.push_back(Output::Event(event));
        }
    }

    pub(crate) fn report_if(&mut self, event: Option<Event>) {
        event.into_iter().for_each(|event| self.report(event));
    }

    /// Reports a warning.
    pub fn warn(&mut self, warning: Warning) {
        self.report(Event::Warning(warning));
    }

    /// Reports a fault of the store when it begins.
    pub fn report_fault(&mut self, fault: Fault) {
        let event = self.reports.fault(fault);
        self.report_if(event);
    }
}

impl<R: Rule> Waiting for Candidacy<R> {
    fn knows_a_leader(&self) -> bool {
        self.term.is_some() || R::knows_a_leader(self)
    }

    fn obstacle(&self) -> Obstacle {
        R::obstacle(self)
    }

    fn worst_fail_over(&self, since: Instant) -> Duration {
        R::worst_fail_over(self, since)
    }
}

#[cfg(feature = "testing")]
impl<R: Rule> Candidacy<R>
where
    R::Race: core::hash::Hash,
    R::Leaving: core::hash::Hash,
{
    /// Hashes everything that decides what this candidate will do, given the same future inputs.
    ///
    /// It leaves out what cannot decide that: the settings, which never change; the latest reading of a clock that only
    /// moves forward; and past reports. It also leaves out the state of the random numbers, because whatever they have
    /// decided is already in the timers. A wait that is over is hashed as none, whenever it ended.
    ///
    /// Call it when [`poll`](Self::poll) has been drained.
    pub fn fingerprint(&self, hasher: &mut impl core::hash::Hasher) {
        use core::hash::Hash as _;

        // Lists every field, so that the compiler reports a new one.
        let Self {
            rules: _,
            nonce: _,
            rng: _,
            now,
            lease,
            stage,
            intent,
            past: Past { splayed, rest_until, handler_failures },
            term,
            departure,
            giving_way,
            timers,
            reports: _,
            outputs: _,
            own: _,
        } = self;
        let rests = if rest_until <= now { Instant::ZERO } else { *rest_until };
        (lease, stage, intent, splayed, rests, handler_failures).hash(hasher);
        (term, departure, giving_way, timers).hash(hasher);
        R::fingerprint(self, hasher);
    }
}
