//! A campaign that runs: the core, and its questions to the store in a row.

use core::time::Duration;
use std::collections::VecDeque;

use incumbent_core::campaign::{Campaign, Event, Input, Output, ReadId, State, Term};
use incumbent_core::store::{Outcome, Write};
use incumbent_core::{Incarnation, Instant};

use super::store::Key;
use super::watching::Watching;

/// When a campaign without a timer, an unhealthy candidate's, looks at its watch again.
const GLANCE: Duration = Duration::from_secs(1);

/// Something the campaign wants of the store.
enum Asked {
    /// A write, and the instant that its lease counts from.
    Write(Write, Instant),
    Read(ReadId),
    Inspect,
    Reconnect,
    Watch,
}

pub(super) struct Racing {
    campaign: Campaign,
    key: Key,
    /// Which life of the store its last inspection showed.
    incarnation: Incarnation,
    watching: Watching,
    asked: VecDeque<Asked>,
    wake: Option<Instant>,
    term: Option<Term>,
    events: Vec<Event>,
}

impl Racing {
    pub(super) fn new(campaign: Campaign, key: Key, incarnation: Incarnation, now: Instant) -> Self {
        let watching = Watching::new(now);
        let (asked, events) = (VecDeque::new(), Vec::new());
        Self { campaign, key, incarnation, watching, asked, wake: None, term: None, events }
    }

    pub(super) fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    pub(super) fn term(&self) -> Option<Term> {
        self.term
    }

    pub(super) fn is_over(&self) -> bool {
        self.campaign.state() == State::Closed
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }

    /// When there is something to do; the past where there is now.
    pub(super) fn due(&self, now: Instant) -> Instant {
        if !self.asked.is_empty() {
            return now;
        }
        let wakes = [self.wake, self.watching.due()];
        wakes.into_iter().flatten().min().unwrap_or(now + GLANCE)
    }

    /// Hands an input to the campaign, and keeps what it asks for.
    pub(super) fn take(&mut self, now: Instant, input: Input) {
        self.forgo_late_write(now);
        // Every number that comes back was given out by this very campaign, and names have been looked at: nothing here
        // breaks the contract.
        let _ = self.campaign.handle(now, input);
        self.wake = loop {
            match self.campaign.poll() {
                Output::WakeAt(wake) => break wake.map(|wake| wake.at),
                Output::Event(event) => {
                    match &event {
                        Event::Won(term) => self.term = Some(*term),
                        Event::Lost { .. } => self.term = None,
                        _ => {}
                    }
                    self.events.push(event);
                }
                Output::Write(write) => self.asked.push_front(Asked::Write(write, now)),
                Output::Read(read) => self.ask_once(Asked::Read(read)),
                Output::Inspect { .. } => self.ask_once(Asked::Inspect),
                Output::Reconnect => self.ask_once(Asked::Reconnect),
            }
        };
    }

    /// A newer question takes the place of an older one of its kind.
    fn ask_once(&mut self, question: Asked) {
        let kind = core::mem::discriminant(&question);
        self.asked.retain(|asked| core::mem::discriminant(asked) != kind);
        self.asked.push_back(question);
    }

    /// A write that nobody stepped to send while it was waited for is not sent any more.
    fn forgo_late_write(&mut self, now: Instant) {
        let limit = self.campaign.attempt_limit();
        let Some(Asked::Write(write, at)) = self.asked.front() else { return };
        if now < *at + limit {
            return;
        }
        let attempt = write.attempt;
        self.asked.pop_front();
        self.take(now, Input::Wrote { attempt, outcome: Outcome::NotSent });
    }

    /// Does what is due, with one call to the store at most; `now` reads the clock.
    pub(super) fn step(&mut self, patience: Duration, now: impl Fn() -> Instant) {
        self.look(Duration::ZERO, &now);
        self.take(now(), Input::Tick);
        if self.is_over() {
            self.asked.clear();
            return;
        }
        if self.events.iter().any(|event| matches!(event, Event::Lost { .. })) {
            // Whoever acts on the term hears of its end first; a later step gives the seat back.
            return;
        }
        let next = self.asked.pop_front().or_else(|| {
            let due = self.watching.due()?;
            (due <= now()).then_some(Asked::Watch)
        });
        if let Some(question) = next {
            return self.ask(question, &now);
        }
        let started = now();
        let wait = patience.min(self.due(started).since(started));
        if self.watching.is_standing() && !wait.is_zero() {
            self.look(wait, &now);
            self.take(now(), Input::Tick);
        }
    }

    /// Takes in what the watch tells, waiting for it no longer than `limit`.
    fn look(&mut self, limit: Duration, now: &impl Fn() -> Instant) {
        match self.watching.poll(limit) {
            Some(entries) => {
                for entry in entries {
                    self.take(now(), Input::Watched(entry));
                }
            }
            None => self.watching.ended(now()),
        }
    }

    /// Asks the store, and hands in what it answers.
    fn ask(&mut self, question: Asked, now: &impl Fn() -> Instant) {
        let started = now();
        let limit = self.limit(started);
        match question {
            Asked::Write(write, at) => self.write(write, at, now),
            Asked::Read(read) => {
                let result = self.key.read(limit);
                self.take(now(), Input::Read { read, result });
            }
            Asked::Inspect => {
                let result = self.key.inspect(started, limit);
                if let Ok(info) = &result
                    && info.incarnation != self.incarnation
                {
                    // Revisions of the old life mean nothing in the new one.
                    self.incarnation = info.incarnation;
                    self.watching.anew(now());
                }
                self.take(now(), Input::Inspected(result));
            }
            Asked::Reconnect => {
                // Where there is no new connection, the next failure asks for one again.
                if self.key.reconnect(limit).is_ok() {
                    self.take(now(), Input::Reconnected);
                }
            }
            Asked::Watch => match self.key.watch(limit) {
                Ok(Some(watch)) => {
                    self.watching.stands(watch);
                    let since = now();
                    self.take(since, Input::Watching { since });
                    self.look(Duration::ZERO, now);
                }
                Ok(None) => self.watching.is_not_offered(),
                Err(_) => self.watching.ended(now()),
            },
        }
        // Whatever fell due while the call was waited for.
        self.take(now(), Input::Tick);
    }

    fn write(&mut self, write: Write, at: Instant, now: &impl Fn() -> Instant) {
        let attempt = write.attempt;
        let until = at + self.campaign.attempt_limit();
        let started = now();
        let outcome = self.key.write(write, self.limit(started).min(until.since(started)));
        let answered = now();
        // Where the limit has passed without an answer, the campaign's own timer says so, and more: it asks for
        // another connection.
        if outcome != Outcome::Unknown || answered < until {
            self.take(answered, Input::Wrote { attempt, outcome });
        }
    }

    /// How long a call may take that begins now. A leader is back by its deadline, to say that it is over.
    fn limit(&self, now: Instant) -> Duration {
        let limit = self.campaign.attempt_limit();
        self.campaign.lease().map_or(limit, |lease| limit.min(lease.deadline.since(now)))
    }
}
