//! One connection to a store: everything between its campaigns and the wire except the I/O.
//!
//! ```text
//!   commands, answers ──▶ Session ──▶ writes, reads, inspections, watches, reconnects
//!                         │     ▲ └─▶ leases and events to publish
//!                  inputs ▼     │ outputs
//!                         Campaign, one a candidate
//! ```
//!
//! A session holds the campaigns of all candidates on one connection, each a [`Candidacy`], and the parts that they
//! share:
//!
//! - A campaign *enters*: the store is inspected once for its incarnation, and again with a back-off if that fails. The
//!   candidate's health is handed in before the start. If the watch reports when it has shown an election completely,
//!   the campaign waits briefly for that, and need not read its key. If there are very many, some wait for others.
//! - One *watch* serves all elections. It is numbered, and begins again with a back-off. Before an inspection of
//!   another incarnation is handed in, a new watch begins, and the old one no longer counts.
//! - A *window* limits the requests under way, and follows the store's answers. Campaigns that find no place in it wait
//!   for their turn: renewals first, by their deadlines, then releases, reads and acquires. A request is made when its
//!   turn comes, so its lease counts from then. The watch and the inspection need no place. If a request waits for a
//!   third of a lease, the candidates whose requests wait report the overload, once until none waits. In a queue, a
//!   campaign's round takes one place, in which its read follows its keep-alives. Requests of campaigns in consumer
//!   groups need no place: each has its own client and at most six unanswered requests of each kind, and at most a
//!   thousand entering campaigns ask at a time.
//! - One *inspection* serves all campaigns that want one; one is under way at a time.
//! - Renewals and rounds of many campaigns are spread over the time between two of them.
//! - One *reconnect* serves all campaigns that asked for it. Open requests of the old connection are sent again.
//! - One *lease* for a queue's companions. If another replaces it, every campaign learns of it, and campaigns that wait
//!   for the former lease to run out learn when no campaign keeps it alive any more.
//! - One *registration* announces the candidates.
//! - Each campaign considers an operator's request once.
//!
//! # The contract
//!
//! Give [`handle`](Session::handle) each input with its time, then carry out the outputs of [`poll`](Session::poll)
//! until it is [`WakeAt`](Output::WakeAt): nothing more until an input, or that instant. The driver answers each output
//! within its limit. It reads the clock after each event and before each call of `handle`, so a write is always sent
//! after the instant that its lease counts from.

mod candidate;
mod candidates;
mod connection;
mod entering;
mod index;
mod inspection;
mod io;
mod known;
mod map;
mod moving;
mod registration;
mod requests;
mod starting;
mod timers;
mod watch;
mod window;
mod wishes;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

pub use io::{Command, Enter, Input, Output, Refusal, Request};
pub use timers::{Timer, Wake};
pub use watch::Scope;
pub use window::{LastAnswers, Load, Ticket};
pub use wishes::{Class, Wish};

use crate::campaign::{Event, KeyLease, Misuse, State, Warning};
use crate::candidacy::{self, Candidacy, Rule};
use crate::queue::Tell;
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;
use candidate::Stage;
use candidates::{Candidates, Slot};
use connection::Connection;
use inspection::Inspection;
use known::Known;
use moving::Leaving;
use registration::Registration;
use requests::Requests;
use starting::{First, Starting};
use timers::Timers;
use watch::Watch;

/// The number of a campaign on its session.
pub type CampaignId = u64;

/// The time limit of an inspection; at least as long as any campaign's limit for an attempt.
const INSPECTION: Duration = Duration::from_secs(2);
/// The time limit for a watch to begin.
const WATCH: Duration = Duration::from_secs(5);
/// The time limit of one attempt at a new connection.
const RECONNECTION: Duration = Duration::from_secs(10);
/// The time limit of a registration.
const REGISTRATION: Duration = Duration::from_secs(5);
/// The first wait before a store that did not answer is asked again. It is doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The most candidates that report one overload, because reports are work too.
const REPORTS: usize = 64;

/// What happens to a campaign of this rule.
type Fed<R> = candidacy::Input<<R as Rule>::Answer, <R as Rule>::Shown, <R as Rule>::Told>;
/// What it wants done.
type Asked<R> = candidacy::Output<<R as Rule>::Request, <R as Rule>::Timer, <R as Rule>::Tell>;

/// Inputs to campaigns, in order.
type Deliveries<R> = VecDeque<(CampaignId, Fed<R>)>;

/// The campaigns of one connection, and the parts that they share.
#[derive(Clone, Debug)]
pub struct Session<R: Rule = KeyLease> {
    known: Known<R>,
    /// The latest reading of the caller's clock.
    now: Instant,
    candidates: Candidates<R>,
    watch: Watch,
    starting: Starting,
    inspection: Inspection,
    connection: Connection,
    registration: Registration,
    leaving: Leaving,
    timers: Timers<R::Timer>,
    requests: Requests,
    /// Memory for the outputs of a campaign.
    memory: VecDeque<Asked<R>>,
    /// Memory for the requests of a campaign.
    wanted: Vec<Asked<R>>,
    deliveries: Deliveries<R>,
    outputs: VecDeque<Output<R::Request, R::Timer>>,
}

/// Observes the inputs and outputs of a session's campaigns, for a simulator or a log.
pub trait Observer<R: Rule = KeyLease> {
    /// A campaign is being made from an inspection.
    fn begins(&mut self, id: CampaignId, now: Instant, info: &StoreInfo) {
        let _ = (id, now, info);
    }

    /// An input is about to be passed to a campaign.
    fn input(&mut self, id: CampaignId, now: Instant, input: &Fed<R>) {
        let _ = (id, now, input);
    }

    /// The campaign has handled it.
    fn handled(&mut self, id: CampaignId, now: Instant, campaign: &Candidacy<R>) {
        let _ = (id, now, campaign);
    }

    /// The campaign emits an output.
    fn output(&mut self, id: CampaignId, campaign: &Candidacy<R>, output: &Asked<R>) {
        let _ = (id, campaign, output);
    }
}

/// Observes nothing.
impl<R: Rule> Observer<R> for () {}

impl<R: Rule> Session<R> {
    /// Creates a session without campaigns, on a store with these properties.
    pub fn new(store: R::Store) -> Self {
        Self {
            requests: Requests::new(R::window(&store)),
            known: Known::new(store),
            now: Instant::ZERO,
            candidates: Candidates::default(),
            watch: Watch::default(),
            starting: Starting::default(),
            inspection: Inspection::default(),
            connection: Connection::default(),
            registration: Registration::default(),
            leaving: Leaving::default(),
            timers: Timers::default(),
            memory: VecDeque::new(),
            wanted: Vec::new(),
            deliveries: VecDeque::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Makes every campaign that begins from now on also report this warning about how the store was opened.
    pub fn note(&mut self, warning: Warning) {
        self.known.note(warning);
    }

    /// Changes the store's properties, for campaigns that begin from now on.
    pub fn set_store(&mut self, store: R::Store) {
        self.requests.bound(R::window(&store));
        self.known.set_store(store);
    }

    /// Handles an input that happened at `now`. Call [`poll`](Self::poll) afterwards until it is drained.
    ///
    /// An input for a campaign that is over does nothing. If `now` is before the time of an earlier call, that earlier
    /// time counts.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing for the campaign, for an answer to a question that was never asked, or for
    /// a successor whose name is not a valid candidate name.
    pub fn handle(&mut self, now: Instant, input: Input<R::Answer, R::Shown>) -> Result<(), Misuse> {
        self.handle_observed(now, input, &mut ())
    }

    /// Like [`handle`](Self::handle), with an `observer` of every step of the campaigns.
    ///
    /// # Errors
    ///
    /// Like [`handle`](Self::handle).
    pub fn handle_observed(
        &mut self,
        now: Instant,
        input: Input<R::Answer, R::Shown>,
        observer: &mut impl Observer<R>,
    ) -> Result<(), Misuse> {
        self.now = self.now.max(now);
        let waited = self.requests.pass(self.now);
        self.dispatch(input, observer);
        let mut result = self.deliver(observer);
        // Each timer fires only once in a call, so that no timer keeps other work waiting.
        let due = self.timers.take_due(self.now);
        for timer in &due {
            self.fire(*timer);
            result = result.and(self.deliver(observer));
        }
        self.timers.keep(due);
        if waited || self.requests.are_waiting() {
            match self.requests.next_place() {
                Some(at) => self.timers.set(Timer::Turn, at),
                None => self.timers.stop_shared(Timer::Turn),
            }
            self.observe_overload();
        }
        result
    }

    /// Returns the next output. [`Output::WakeAt`] means that the outputs are drained: there is nothing more to do
    /// until an input, or until the instant that it names.
    #[must_use]
    pub fn poll(&mut self) -> Output<R::Request, R::Timer> {
        self.outputs.pop_front().unwrap_or_else(|| {
            spare_queue(&mut self.outputs);
            Output::WakeAt(self.timers.next())
        })
    }

    /// The campaign with this number. It exists from the store's first answer until it is over.
    pub fn campaign(&self, id: CampaignId) -> Option<&Candidacy<R>> {
        self.candidates.get(&id)?.campaign()
    }

    /// The result of the last successful inspection.
    pub fn info(&self) -> Option<&StoreInfo> {
        self.known.info()
    }

    /// The requests under way, and the waiting ones.
    pub fn load(&self) -> Load {
        self.requests.load()
    }

    /// Whether a candidate of this session campaigns in the election.
    pub fn is_contested(&self, election: &str) -> bool {
        self.candidates.is_contested(election)
    }

    /// Whether the store knows every candidate of this session.
    pub fn is_registered(&self) -> bool {
        self.registration.is_done()
    }

    fn dispatch(&mut self, input: Input<R::Answer, R::Shown>, observer: &mut impl Observer<R>) {
        match input {
            Input::Tick => {}
            Input::Enter(enter) => self.enter(*enter),
            Input::Command { id, command } => self.command(id, command),
            Input::Requested { election, revision, request } => {
                let slots: Vec<_> = self.candidates.of(&election).collect();
                slots.into_iter().for_each(|slot| self.requested(slot, revision, &request));
            }
            Input::Answered { id, answer } => {
                self.requests.answered::<R>(id, &answer, self.now);
                self.starting.first_question(self.candidates.get_mut(&id), First::Asked, First::Over);
                self.deliveries.push_back((id, Fed::<R>::Answered(answer)));
            }
            Input::Inspected { number, result } => self.inspected(number, &result, observer),
            Input::Flaw(flaw) => self.flaw(flaw),
            Input::Observe => {
                let number = self.watch.want();
                self.begin_watch(number);
            }
            Input::Watching { number } => {
                if self.watch.began(number, self.now) {
                    let since = self.now;
                    self.feed_all(|| Fed::<R>::Watching { since });
                    for candidate in self.candidates.values_mut() {
                        if let Stage::Entering(entering) = &mut candidate.stage {
                            entering.watch_began();
                        }
                    }
                    // The store may have been replaced, and the new one may know none of the candidates.
                    if self.candidates.iter().any(|(_, candidate)| candidate.campaigning) {
                        self.register();
                    }
                }
            }
            Input::Watched { number, election, shown } => self.watched(number, &election, shown),
            Input::WatchedAll { number, of } => {
                if self.watch.showed_all(number, of) {
                    self.watch_showed();
                }
            }
            Input::WatchEnded { number } => {
                if let Some(at) = self.watch.ended(number, self.now) {
                    self.timers.set(Timer::Watch, at);
                    self.watch_showed();
                }
            }
            Input::NotWatchable { number } => {
                self.watch.is_not_offered(number);
                self.watch_showed();
            }
            Input::Reconnected => self.new_connection(),
            Input::Connected if self.connection.is_replaced() => {}
            Input::Connected => self.new_connection(),
            Input::NotReconnected => {
                if let Some(wait) = self.connection.failed() {
                    self.timers.set(Timer::Reconnect, self.now + wait);
                }
            }
            Input::Registered(done) => {
                if let Some(wait) = self.registration.ended(done) {
                    self.timers.set(Timer::Register, self.now + wait);
                }
                self.begin_registration();
            }
        }
    }

    fn fire(&mut self, timer: Timer<R::Timer>) {
        match timer {
            Timer::Campaign(id, _) | Timer::Vacant(id) => self.deliveries.push_back((id, Fed::<R>::Tick)),
            Timer::Enter(id) => {
                self.inspection.want(id, self.now);
                self.inspect();
            }
            Timer::Shown => self.starting.start_without_the_watch(),
            Timer::Answered => self.starting.start_without_answers(),
            Timer::Watch => {
                let number = self.watch.begin();
                self.begin_watch(number);
            }
            Timer::Reconnect => {
                if self.connection.try_again() {
                    self.outputs.push_back(Output::Reconnect { limit: RECONNECTION });
                }
            }
            Timer::Register => self.register(),
            // Requests have already taken note of the time.
            Timer::Turn => {}
        }
    }

    // ---- inputs to campaigns, and their outputs ----

    fn feed_all(&mut self, input: impl Fn() -> Fed<R>) {
        feed_all(&self.candidates, &mut self.deliveries, input);
    }

    fn deliver(&mut self, observer: &mut impl Observer<R>) -> Result<(), Misuse> {
        let mut result = Ok(());
        loop {
            while let Some((id, input)) = self.deliveries.pop_front() {
                result = result.and(self.step(id, input, self.requests.places(), observer));
            }
            if let Some(id) = self.requests.next_turn(&mut self.candidates, self.now) {
                result = result.and(self.step(id, Fed::<R>::Tick, 1, observer));
            } else if !self.starting.start_some(
                &mut self.candidates,
                &self.watch,
                &mut self.timers,
                &mut self.deliveries,
                self.now,
            ) {
                spare_queue(&mut self.deliveries);
                return result;
            }
        }
    }

    /// Hands an input to a campaign. The campaign may make as many requests as there are places. Emits the campaign's
    /// lease and events before its requests.
    fn step(
        &mut self,
        id: CampaignId,
        input: Fed<R>,
        places: u32,
        observer: &mut impl Observer<R>,
    ) -> Result<(), Misuse> {
        let Some(slot) = self.candidates.slot(id) else { return Ok(()) };
        let Some(candidate) = self.candidates.at_mut(slot) else { return Ok(()) };
        let Stage::Running(campaign) = &mut candidate.stage else { return Ok(()) };
        observer.input(id, self.now, &input);
        R::allow(campaign, places, self.requests.last_answers());
        campaign.exchange_memory(&mut self.memory);
        let result = campaign.handle(self.now, input);
        observer.handled(id, self.now, campaign);
        let (mut events, mut wanted) = (Vec::new(), core::mem::take(&mut self.wanted));
        let wake = loop {
            let output = campaign.poll();
            observer.output(id, campaign, &output);
            match output {
                candidacy::Output::WakeAt(wake) => break wake,
                candidacy::Output::Event(event) => {
                    if let Event::Warning(Warning::StoreReset { seen, barred, .. }) = &event {
                        candidate.operator.bars(seen.filter(|_| *barred));
                    }
                    events.push(event);
                }
                output => wanted.push(output),
            }
        };
        campaign.exchange_memory(&mut self.memory);
        let state = campaign.state();
        let warnings = candidate.vacancy.observe(campaign.as_ref(), state, self.now);
        events.extend(warnings.into_iter().map(Event::Warning));
        // A candidate with a wake-up of its own checks for the vacancy when it wakes.
        let vacant = wake.is_none().then(|| candidate.vacancy.due(campaign.as_ref())).flatten();
        let wake = wake.map(|wake| (wake.at, Timer::Campaign(id, wake.timer)));
        let wake = wake.or(vacant.map(|at| (at, Timer::Vacant(id))));
        let (lease, lease_time) = (campaign.lease(), Some(campaign.lease_time()));
        let (is_over, wish, was_campaigning) = (
            state == State::Closed && R::may_be_forgotten(campaign),
            R::wish(campaign),
            candidate.campaigning,
        );
        if wish.is_some() || candidate.wish.is_some() {
            candidate.wish = self.requests.set_wish(id, wish, candidate.wish);
        }
        candidate.campaigning = !matches!(state, State::Idle | State::Closed);
        let campaigning = candidate.campaigning;
        match wake {
            Some((at, timer)) => self.timers.set_of(slot, timer, at),
            None => self.timers.stop(slot),
        }
        if !events.is_empty() || lease != candidate.lease || lease_time != candidate.lease_time {
            (candidate.lease, candidate.lease_time) = (lease, lease_time);
            self.outputs.push_back(candidate.report(events));
        }
        for output in wanted.drain(..) {
            self.carry_out(id, slot, output);
        }
        self.wanted = wanted;
        if campaigning != was_campaigning {
            self.outputs.push_back(Output::Campaigning(id, campaigning));
            self.register();
        }
        if is_over {
            self.end(id);
        }
        self.leaving.may_have_left(id, &self.candidates, &mut self.deliveries);
        result
    }

    fn carry_out(&mut self, id: CampaignId, slot: Slot, output: Asked<R>) {
        let Some(candidate) = self.candidates.at_mut(slot) else { return };
        match output {
            candidacy::Output::Ask(request) => {
                if let Stage::Running(campaign) = &candidate.stage {
                    candidate.limit = R::limit(campaign, &request, candidate.limit);
                    if let Some((ticket, limit)) = R::ticket(campaign, &request) {
                        self.requests.sent(id, ticket, limit, self.now);
                    }
                }
                candidate.last_sent = self.now;
                self.outputs.push_back(Output::Ask { id, request, limit: candidate.limit });
                self.starting.first_question(Some(candidate), First::Started, First::Asked);
            }
            candidacy::Output::Inspect { since } => {
                self.inspection.want(id, since);
                self.inspect();
            }
            // Another campaign has already had the connection replaced since this campaign last sent something.
            candidacy::Output::Reconnect if self.connection.is_newer_than(candidate.last_sent) => {
                self.deliveries.push_front((id, Fed::<R>::Reconnected));
            }
            candidacy::Output::Reconnect => {
                if self.connection.replace() {
                    self.outputs.push_back(Output::Reconnect { limit: RECONNECTION });
                }
            }
            candidacy::Output::Tell(tell) => match tell.into() {
                Tell::NotNext { successor, before } => {
                    self.outputs.push_back(Output::NotNext { id, successor, before });
                }
                Tell::Stranded { on } => {
                    self.leaving.stranded(id, on, &self.candidates, &mut self.deliveries);
                }
                Tell::Move { from, to } => {
                    self.leaving.moves(id, (from, to), &self.candidates, &mut self.deliveries);
                }
            },
            // The step has handled both.
            candidacy::Output::Event(_) | candidacy::Output::WakeAt(_) => {}
        }
    }

    // ---- what all campaigns share ----

    fn inspect(&mut self) {
        if let Some(number) = self.inspection.begin(self.now) {
            self.outputs.push_back(Output::Inspect { number, limit: INSPECTION });
        }
    }

    fn inspected(&mut self, number: u64, result: &Result<StoreInfo, Fault>, observer: &mut impl Observer<R>) {
        if !self.inspection.is_under_way(number) {
            // The inspection was abandoned with its connection, so its answer may be older than what is known now.
            return;
        }
        let is_another = self.known.inspected(result);
        if is_another {
            // Revisions of the old incarnation mean nothing in the new one. So campaigns that know the new incarnation
            // must get no more events from the old watch, and all campaigns learn of the new incarnation at once.
            let number = self.watch.restart();
            self.begin_watch(number);
            self.feed_all(|| Fed::<R>::Inspected(result.clone()));
        }
        let asked_at = result.as_ref().ok().map(|info| info.asked_at);
        for id in self.inspection.answered(number, asked_at) {
            match self.candidates.get(&id).map(|candidate| candidate.is_running()) {
                Some(true) if !is_another => {
                    self.deliveries.push_back((id, Fed::<R>::Inspected(result.clone())));
                }
                Some(false) => self.begin(id, result, observer),
                Some(true) | None => {}
            }
        }
        self.inspect();
    }

    /// Reports to every campaign that the store's settings have become unsafe.
    fn flaw(&mut self, flaw: Option<Fault>) {
        let Some(warning) = self.known.flaw(flaw) else { return };
        for (_, candidate) in self.candidates.iter() {
            if candidate.is_running() {
                self.outputs.push_back(candidate.report(vec![Event::Warning(warning.clone())]));
            }
        }
    }

    fn observe_overload(&mut self) {
        let Some(warning) = self.requests.observe_overload(&self.candidates, self.now) else { return };
        let waiting = self.candidates.iter().filter(|(_, candidate)| candidate.wish.is_some());
        for (_, candidate) in waiting.take(REPORTS) {
            self.outputs.push_back(candidate.report(vec![Event::Warning(warning.clone())]));
        }
    }

    /// Lets campaigns enter whose elections the watch has now shown, or that no watch will show any more.
    fn watch_showed(&mut self) {
        let watch = R::watch_shows_all(self.known.store()).then_some(&self.watch);
        self.starting.watch_showed(&self.candidates, watch, &mut self.timers);
    }

    fn begin_watch(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.outputs.push_back(Output::Watch { number, limit: WATCH });
        }
    }

    fn watched(&mut self, number: u64, election: &str, shown: R::Shown) {
        if !self.watch.is_ready(number) {
            return;
        }
        self.watch.showed(election, R::watch_shows_all(self.known.store()));
        let Some(mut slot) = self.candidates.first_of(election) else { return };
        while let Some(next) = self.candidates.next_of(election, slot) {
            self.show(slot, shown.clone());
            slot = next;
        }
        self.show(slot, shown);
    }

    fn show(&mut self, slot: Slot, shown: R::Shown) {
        let Some(candidate) = self.candidates.at_mut(slot) else { return };
        match &mut candidate.stage {
            Stage::Entering(entering) => entering.observe(&shown, self.now),
            Stage::Running(_) => self.deliveries.push_back((candidate.id, Fed::<R>::Watched(shown))),
        }
    }

    fn new_connection(&mut self) {
        self.connection.made(self.now);
        self.requests.reconnected();
        self.inspection.give_up();
        self.inspect();
        self.feed_all(|| Fed::<R>::Reconnected);
    }

    fn register(&mut self) {
        self.registration.change();
        self.begin_registration();
    }

    fn begin_registration(&mut self) {
        if self.registration.begin() {
            self.outputs.push_back(Output::Register { limit: REGISTRATION });
        }
    }
}

fn feed_all<R: Rule>(candidates: &Candidates<R>, deliveries: &mut Deliveries<R>, input: impl Fn() -> Fed<R>) {
    for (id, candidate) in candidates.iter() {
        if candidate.is_running() {
            deliveries.push_back((id, input()));
        }
    }
}

/// The wait after `failures` earlier failures in a row. It is doubled each time, up to `longest`.
fn doubled(first: Duration, failures: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.min(16)).min(longest)
}

/// The number of entries whose memory is always kept, because returning it costs more than keeping it.
const FEW: usize = 64;

/// Frees memory that a burst used.
fn spare<T>(entries: &mut Vec<T>) {
    if entries.capacity() > FEW && entries.len() * 4 < entries.capacity() {
        entries.shrink_to((entries.len() * 2).max(FEW));
    }
}

/// Frees the memory of a burst that is over.
fn spare_queue<T>(queue: &mut VecDeque<T>) {
    if queue.is_empty() && queue.capacity() > FEW {
        queue.shrink_to(FEW);
    }
}
