//! A campaign that runs: the core and a queue of its requests to the store.

use core::time::Duration;
use std::collections::VecDeque;

use incumbent_core::campaign::{Campaign, Event, Input, Output, ReadId, State, Term};
use incumbent_core::store::{Outcome, Write};
use incumbent_core::{Incarnation, Instant};

use super::store::Key;
use super::watching::Watching;

/// The interval at which a campaign without a timer, such as an unhealthy candidate's, polls its watch.
const GLANCE: Duration = Duration::from_secs(1);

/// A request of the campaign to the store.
enum Asked {
    /// A write, and the instant from which its lease counts.
    Write(Write, Instant),
    Read(ReadId),
    Inspect,
    Reconnect,
    Watch,
}

pub(super) struct Racing {
    campaign: Campaign,
    key: Key,
    /// The incarnation of the store at its last inspection.
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

    /// The time of the next step; now where a request is queued.
    pub(super) fn due(&self, now: Instant) -> Instant {
        if !self.asked.is_empty() {
            return now;
        }
        let wakes = [self.wake, self.watching.due()];
        wakes.into_iter().flatten().min().unwrap_or(now + GLANCE)
    }

    /// Passes an input to the campaign, and queues its requests.
    pub(super) fn take(&mut self, now: Instant, input: Input) {
        self.forgo_late_write(now);
        // Every number that comes back was issued by this campaign, and names have been checked: nothing here breaks
        // the contract.
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

    /// Queues a request, and drops an older one of the same kind.
    fn ask_once(&mut self, question: Asked) {
        let kind = core::mem::discriminant(&question);
        self.asked.retain(|asked| core::mem::discriminant(asked) != kind);
        self.asked.push_back(question);
    }

    /// Drops a queued write whose time limit passed before a step sent it.
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
            // The application learns of the end of its term first; a later step releases the key.
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

    /// Passes on the events of the watch, waiting up to `limit` for them.
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

    /// Calls the store, and passes its answer on.
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
                    // Revisions of the old incarnation mean nothing in the new one.
                    self.incarnation = info.incarnation;
                    self.watching.anew(now());
                }
                self.take(now(), Input::Inspected(result));
            }
            Asked::Reconnect => {
                // Without a new connection, the next failure requests one again.
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
        // Handles what fell due during the call.
        self.take(now(), Input::Tick);
    }

    fn write(&mut self, write: Write, at: Instant, now: &impl Fn() -> Instant) {
        let attempt = write.attempt;
        let until = at + self.campaign.attempt_limit();
        let started = now();
        let outcome = self.key.write(write, self.limit(started).min(until.since(started)));
        let answered = now();
        // Past the limit, the campaign's own timer reports the missing answer and also requests a new connection.
        if outcome != Outcome::Unknown || answered < until {
            self.take(answered, Input::Wrote { attempt, outcome });
        }
    }

    /// The time limit of a call that begins now. The call of a leader returns by its deadline, so that it can end the
    /// term.
    fn limit(&self, now: Instant) -> Duration {
        let limit = self.campaign.attempt_limit();
        self.campaign.lease().map_or(limit, |lease| limit.min(lease.deadline.since(now)))
    }
}
