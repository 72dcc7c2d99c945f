//! The driver of a session with one campaign: carries out what the session asks, one call to the store in each step.

use core::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{self, Campaign, Event, Leader, Lease, Settings, State, Term};
use incumbent_core::record::Nonce;
use incumbent_core::session::{CampaignId, Command, Enter, Input, Output, Refusal, Session};
use incumbent_core::store::Outcome;

use super::imports::{Clock, Key, Watch};

/// The number of the campaign on its session.
const CAMPAIGN: CampaignId = 1;
/// The longest time of a call before the campaign has begun; the limit of an attempt is no longer.
const LONGEST_CALL: Duration = Duration::from_secs(2);
/// The most changes that are read from a watch at once: a host that shows changes without end keeps no step.
const MOST_CHANGES: usize = 64;
/// The interval at which a campaign without a timer, such as an unhealthy candidate's, reads its watch.
const IDLE_STEP: Duration = Duration::from_secs(1);

pub(super) struct Driver {
    clock: Clock,
    key: Key,
    session: Session,
    /// The session's requests to the store that no step has carried out yet: at most one request of a kind, in the
    /// order of their priority.
    requests: Vec<Request>,
    /// The present watch and its number, once it has begun.
    watch: Option<(u64, Watch)>,
    /// The next wake-up that the session asked for.
    wake: Option<Instant>,
    refusal: Option<Refusal>,
    /// The reports of the session: the lease, and the newest of each event.
    lease: Option<Lease>,
    term: Option<Term>,
    state: State,
    leader: Option<Leader>,
    /// The events that no step has returned yet.
    events: Vec<Event>,
}

/// An output of the session that calls the store.
struct Request {
    output: Output,
    /// When its answer no longer matters.
    until: Instant,
}

impl Request {
    /// The position of its kind in the order of requests: a renewal never waits, and requests after a failure use the
    /// new connection.
    fn priority(&self) -> u8 {
        match self.output {
            Output::Ask { request: campaign::Request::Write(_), .. } => 0,
            Output::Reconnect { .. } => 1,
            Output::Inspect { .. } => 2,
            Output::Ask { request: campaign::Request::Read(_), .. } => 3,
            _ => 4,
        }
    }
}

impl Driver {
    /// Enters a campaign, after one inspection of the store. If the store does not answer, steps ask it again.
    pub(super) fn enter(
        clock: Clock,
        key: Key,
        settings: Settings,
        nonce: Nonce,
        seed: u64,
    ) -> Result<Self, Refusal> {
        let election = key.name().into();
        let enter = Enter { id: CAMPAIGN, election, settings, nonce, seed, fail_fast: false };
        let mut driver = Self {
            clock,
            session: Session::new(key.capabilities()),
            key,
            requests: Vec::new(),
            watch: None,
            wake: None,
            refusal: None,
            lease: None,
            term: None,
            state: State::Idle,
            leader: None,
            events: Vec::new(),
        };
        driver.feed(Input::Enter(Box::new(enter)));
        driver.carry_out_next();
        driver.refusal.take().map_or(Ok(driver), Err)
    }

    /// Does what is due, with one call to the store at most. If nothing is due, waits for the watch up to `limit`.
    pub(super) fn step(&mut self, limit: Duration) {
        self.read_watch(Duration::ZERO);
        self.feed(Input::Tick);
        // The user learns of the end of a term first; a later step releases the lease.
        let has_lost = self.events.iter().any(|event| matches!(event, Event::Lost { .. }));
        if self.is_over() || has_lost || self.carry_out_next() {
            return;
        }
        let now = self.clock.now();
        let wait = limit.min(self.next_step(now).since(now));
        if self.watch.is_some() && !wait.is_zero() {
            self.read_watch(wait);
            self.feed(Input::Tick);
        }
    }

    /// The time of the next step; `None` once the campaign is over.
    pub(super) fn wake_at(&mut self) -> Option<Instant> {
        let now = self.clock.now();
        (!self.is_over()).then(|| self.next_step(now))
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }

    pub(super) fn command(&mut self, command: Command) {
        self.feed(Input::Command { id: CAMPAIGN, command });
    }

    pub(super) fn is_leader(&mut self) -> bool {
        let now = self.clock.now();
        self.lease.is_some_and(|lease| now < lease.deadline)
    }

    pub(super) fn lease(&self) -> Option<Lease> {
        self.lease
    }

    pub(super) fn term(&self) -> Option<Term> {
        self.term
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    fn is_over(&self) -> bool {
        self.state == State::Closed
    }

    fn next_step(&self, now: Instant) -> Instant {
        if self.requests.is_empty() { self.wake.unwrap_or(now + IDLE_STEP) } else { now }
    }

    /// Gives an input to the session; before that, reports a write that no step sent in time.
    fn feed(&mut self, input: Input) {
        let now = self.clock.now();
        if let Some(Request {
            output: Output::Ask { id, request: campaign::Request::Write(write), .. },
            until,
        }) = self.requests.first()
            && *until <= now
        {
            let (id, attempt) = (*id, write.attempt);
            self.requests.remove(0);
            self.hand_in(now, Input::wrote(id, attempt, Outcome::NotSent));
        }
        self.hand_in(now, input);
    }

    /// Hands an input to the session, publishes what it reports, and keeps its requests for the next steps.
    fn hand_in(&mut self, now: Instant, input: Input) {
        // The session issued every number that comes back, and names have been checked, so no input breaks its
        // contract.
        let _ = self.session.handle(now, input);
        self.wake = loop {
            match self.session.poll() {
                Output::WakeAt(wake) => break wake.map(|wake| wake.at),
                Output::Report { lease, events, .. } => {
                    self.lease = lease;
                    events.into_iter().for_each(|event| self.report(event));
                }
                Output::Refused(_, refusal) => self.refusal = Some(refusal),
                Output::Closed(_) => self.close(),
                // A host keeps no list of candidates.
                Output::Register { .. } => {
                    let _ = self.session.handle(now, Input::Registered(true));
                }
                Output::Entered(_)
                | Output::Campaigning(..)
                | Output::Considered { .. }
                | Output::NotNext { .. } => {}
                request => self.request(now, request),
            }
        };
    }

    fn report(&mut self, event: Event) {
        match &event {
            Event::Won(term) => self.term = Some(*term),
            Event::Lost { .. } => self.term = None,
            Event::LeaderChanged(leader) => self.leader.clone_from(leader),
            Event::StateChanged(state) => self.state = *state,
            Event::Draining { .. } | Event::Warning(_) => {}
        }
        self.events.push(event);
    }

    /// The campaign is over. If it had not begun, it has reported nothing.
    fn close(&mut self) {
        if !self.is_over() {
            self.report(Event::StateChanged(State::Closed));
        }
        self.requests.clear();
        self.watch = None;
    }

    /// Keeps a request, in place of an earlier request of its kind that no step has carried out.
    fn request(&mut self, now: Instant, output: Output) {
        if matches!(output, Output::Watch { .. }) {
            self.watch = None;
        }
        let request = Request { until: now + self.limit(now, &output), output };
        let priority = request.priority();
        self.requests.retain(|other| other.priority() != priority);
        let place = self.requests.partition_point(|other| other.priority() < priority);
        self.requests.insert(place, request);
    }

    /// Carries out the first request, with one call to the store. Returns whether there was one.
    fn carry_out_next(&mut self) -> bool {
        if self.requests.is_empty() {
            return false;
        }
        let Request { output, until } = self.requests.remove(0);
        let now = self.clock.now();
        let limit = self.limit(now, &output);
        let input = match output {
            Output::Ask { id, request: campaign::Request::Write(write), .. } => {
                let attempt = write.attempt;
                let outcome = self.key.write(write, limit.min(until.since(now)));
                // At its limit, the campaign's own timer reports the missing answer and also requests a new connection.
                match outcome {
                    Outcome::Unknown if until <= self.clock.now() => Input::Tick,
                    outcome => Input::wrote(id, attempt, outcome),
                }
            }
            Output::Reconnect { .. } => match self.key.reconnect(limit) {
                Ok(()) => Input::Reconnected,
                Err(_) => Input::NotReconnected,
            },
            Output::Inspect { number, .. } => {
                Input::Inspected { number, result: self.key.inspect(now, limit) }
            }
            Output::Ask { id, request: campaign::Request::Read(read), .. } => {
                Input::read(id, read, self.key.read(limit))
            }
            Output::Watch { number, .. } => match self.key.watch(limit) {
                Ok(Some(watch)) => {
                    self.watch = Some((number, watch));
                    Input::Watching { number }
                }
                Ok(None) => Input::NotWatchable { number },
                Err(_) => Input::WatchEnded { number },
            },
            // Never kept as a request.
            _ => Input::Tick,
        };
        self.feed(input);
        self.read_watch(Duration::ZERO);
        true
    }

    /// Hands in what the watch shows, waiting up to `limit` for the first change.
    fn read_watch(&mut self, mut limit: Duration) {
        for _ in 0..MOST_CHANGES {
            let Some((number, watch)) = &self.watch else { return };
            let number = *number;
            match watch.poll(limit) {
                Ok(None) => return,
                Ok(Some(shown)) => {
                    self.feed(Input::Watched { number, election: self.key.name().into(), shown });
                }
                Err(_) => {
                    self.watch = None;
                    return self.feed(Input::WatchEnded { number });
                }
            }
            limit = Duration::ZERO;
        }
    }

    /// The time limit of a call that begins now: an attempt's. The call of a leader returns by its deadline, so that
    /// the driver can end the term.
    fn limit(&self, now: Instant, output: &Output) -> Duration {
        let limit = match output {
            Output::Ask { limit, .. }
            | Output::Inspect { limit, .. }
            | Output::Watch { limit, .. }
            | Output::Reconnect { limit } => *limit,
            _ => Duration::ZERO,
        };
        let attempt = self.session.campaign(CAMPAIGN).map_or(LONGEST_CALL, Campaign::attempt_limit);
        let left = self.lease.map_or(Duration::MAX, |lease| lease.deadline.since(now));
        limit.min(attempt).min(left)
    }
}
