//! What a rule adds to a candidate: how it claims the election, proves its lead, and leaves.

use core::fmt::Debug;
use core::hash::Hash;
use core::time::Duration;

use super::{Candidacy, Obstacle};
use crate::campaign::{InvalidSettings, Misuse, Reason, Settings, State, Term, pace};
use crate::queue::{self, LeaseId};
use crate::record::Nonce;
use crate::session::{LastAnswers, Ticket, Wish};
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;
use crate::timers::Kind;

/// A term that was reported as lost.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The term.
    pub term: Term,
    /// The reason for its end.
    pub reason: Reason,
    /// The successor that the leader names in its release.
    pub successor: Option<alloc::string::String>,
    /// Whether the term's work may still be running.
    pub working: bool,
}

/// A rule by which a candidate wins and keeps its election: a lease over a key, a place in a queue, or induction over a
/// consumer group.
///
/// A [`Candidacy`] does what is the same for every candidate, and calls these hooks for the rest. A hook gets the
/// candidate and acts through its methods: the clock, the stage, timers, requests, wins and losses. The value that
/// implements this trait is the rule's data in a candidate. A rule leaves out the hooks that it does not need. A rule
/// in another crate is written like those of this crate.
pub trait Rule: Clone + Debug + Sized {
    /// What a candidate must know about its store's client, and about the store itself if that never changes.
    type Store: Clone + Debug;
    /// What a candidate's settings imply for this rule alone.
    type Settings: Clone + Debug + PartialEq;
    /// The timers of a candidate.
    type Timer: Kind + Debug + Hash + PartialEq;
    /// What a candidate wants of the store.
    type Request: Clone + Debug + PartialEq;
    /// The store's answers.
    type Answer: Clone + Debug;
    /// What a watch shows about the election.
    type Shown: Clone + Debug;
    /// What is kept of the watch's sights until a candidate begins.
    type Early: Early<Self::Shown>;
    /// The connection's notices to its candidates, if any.
    type Told: Clone + Debug;
    /// The candidates' notices to their connection, if any. Only queues use them.
    type Tell: Clone + Debug + PartialEq + Into<queue::Tell>;
    /// The state of a candidate in the race.
    type Race: Clone + Debug;
    /// What remains to be done for a claim that was given up.
    type Leaving: Clone + Debug;

    /// Creates a candidate on a store that was inspected.
    ///
    /// # Errors
    /// Returns the setting that is inconsistent, or that the store cannot keep.
    fn begin(
        settings: Settings,
        store: &Self::Store,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Candidacy<Self>, InvalidSettings>;

    // ---- the race ----

    /// Notes that the candidate enters the race, perhaps after a splay.
    fn enters(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Claims the lead, or waits until that is allowed: at the start, and whenever a claim has ended.
    fn claim(candidacy: &mut Candidacy<Self>);

    /// The state of a candidate in the race that has no term.
    fn racing(candidacy: &Candidacy<Self>) -> State {
        let _ = candidacy;
        State::Waiting
    }

    /// The deadline `D` of the current claim, from its newest proof. When it passes, the claim is [lost](Self::lose).
    fn deadline(candidacy: &Candidacy<Self>) -> Option<Instant>;

    /// Ends the current claim, and its term if there is one, for a reason outside the candidate.
    fn lose(candidacy: &mut Candidacy<Self>, reason: Reason) {
        candidacy.lost(reason);
        candidacy.move_on();
    }

    // ---- leaving ----

    /// Gives up the claim, if any, of a candidate without a term, which stays in the race.
    fn give_up(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Takes a candidate without a term out of the race. If it has already left, it closes.
    fn withdraw(candidacy: &mut Candidacy<Self>) {
        candidacy.move_on();
    }

    /// Hands over to `successor`, at the end of the leader's term or while it leads.
    fn hand_over(candidacy: &mut Candidacy<Self>, successor: alloc::string::String) {
        let _ = (candidacy, successor);
    }

    /// Notes that a leader began to drain before it leaves.
    fn departs(candidacy: &mut Candidacy<Self>, reason: Reason) {
        let _ = (candidacy, reason);
    }

    /// Removes whatever a term left in the store, after its loss was reported. A release waits for the term's work.
    fn leave_behind(candidacy: &mut Candidacy<Self>, ended: Ended) {
        let _ = ended;
        candidacy.move_on();
    }

    /// Notes that the work ended after its term was lost.
    fn work_ended(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Sets a time limit for a close that began while the candidate is removing what it left in the store.
    fn limit_close(candidacy: &mut Candidacy<Self>) {
        if candidacy.timer(Self::Timer::CLOSE).is_none() {
            candidacy.set_timer(Self::Timer::CLOSE, candidacy.now() + pace::CLOSE_LIMIT);
        }
    }

    /// Ends a close whose time is up.
    fn close_timed_out(candidacy: &mut Candidacy<Self>) {
        candidacy.closed();
    }

    /// Stops everything that a closed candidate no longer needs.
    fn closes(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Whether a closed candidate has nothing left to do.
    fn is_settled(candidacy: &Candidacy<Self>) -> bool {
        let _ = candidacy;
        true
    }

    /// Whether a session may forget a closed candidate.
    fn may_be_forgotten(candidacy: &Candidacy<Self>) -> bool {
        Self::is_settled(candidacy)
    }

    // ---- inputs ----

    /// Checks that the candidate asked for this answer.
    ///
    /// # Errors
    /// Returns the misuse if it did not.
    fn check(candidacy: &Candidacy<Self>, answer: &Self::Answer) -> Result<(), Misuse> {
        let _ = (candidacy, answer);
        Ok(())
    }

    /// The store answered.
    fn answered(candidacy: &mut Candidacy<Self>, answer: Self::Answer);

    /// Handles what the watch showed of the election.
    fn shown(candidacy: &mut Candidacy<Self>, shown: Self::Shown) {
        let _ = (candidacy, shown);
    }

    /// Notes that a new watch has been ready since `since`.
    fn watching(candidacy: &mut Candidacy<Self>, since: Instant) {
        let _ = (candidacy, since);
    }

    /// The store was inspected.
    fn inspected(candidacy: &mut Candidacy<Self>, result: Result<StoreInfo, Fault>) {
        let _ = (candidacy, result);
    }

    /// The connection was replaced.
    fn reconnected(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Accepts for an operator that tokens start again.
    fn accept(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Handles a notice from the connection.
    fn told(candidacy: &mut Candidacy<Self>, told: Self::Told) {
        let _ = (candidacy, told);
    }

    /// Time has passed.
    fn tick(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Handles a timer of the rule that is due. Timers that every candidate has are handled elsewhere.
    fn fire(candidacy: &mut Candidacy<Self>, timer: Self::Timer) {
        let _ = (candidacy, timer);
    }

    /// Acts at the end of every call, before the deadline is set and the state is reported.
    fn conclude(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Asserts the bounds of what the candidate keeps for its rule, in a build with assertions.
    fn check_bounds(candidacy: &Candidacy<Self>) {
        let _ = candidacy;
    }

    // ---- a vacancy ----

    /// Whether the candidate, which leads no term, knows of another that leads.
    fn knows_a_leader(candidacy: &Candidacy<Self>) -> bool {
        candidacy.leader().is_some()
    }

    /// The reason why the candidate does not lead although it knows of no leader.
    fn obstacle(candidacy: &Candidacy<Self>) -> Obstacle {
        let _ = candidacy;
        Obstacle::Unanswered
    }

    /// The longest vacancy that the settings allow, counted from when this candidate noticed it.
    fn worst_fail_over(candidacy: &Candidacy<Self>, since: Instant) -> Duration;

    // ---- the session ----

    /// A fact about the store that a candidate must still learn, and waits for, before it can begin.
    fn not_known_yet(store: &Self::Store) -> Option<Fault> {
        let _ = store;
        None
    }

    /// Takes over what a watch showed before the candidate began.
    fn recall(candidacy: &mut Candidacy<Self>, early: &Self::Early, info: &StoreInfo) {
        let _ = (candidacy, early, info);
    }

    /// Notes that the candidate's connection has many candidates from now on. Candidates that renew independently of
    /// each other spread their renewals.
    fn is_one_of_many(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Whether a new watch of the store reports when it has shown every existing entry.
    fn watch_shows_all(store: &Self::Store) -> bool {
        let _ = store;
        false
    }

    /// The absence to show to a candidate once a watch has shown every entry. `None` if the candidate already knows
    /// something of its election.
    fn shown_nothing(candidacy: &Candidacy<Self>) -> Option<Self::Shown> {
        let _ = candidacy;
        None
    }

    /// Allows this many requests until the next call; [`wish`](Self::wish) returns a request that has to wait. A rule
    /// without wishes sends any number of requests. `answered` is when the store last answered this or another
    /// candidate.
    fn allow(candidacy: &mut Candidacy<Self>, places: u32, answered: LastAnswers) {
        let _ = (candidacy, places, answered);
    }

    /// The time until a renewal is answered, if a request usually takes `usual`.
    fn renewal_takes(candidacy: &Candidacy<Self>, usual: Duration) -> Duration {
        let _ = candidacy;
        usual
    }

    /// The request that waits for a place. It leaves with an [`Input::Tick`](super::Input::Tick) before which it was
    /// [allowed](Self::allow).
    fn wish(candidacy: &Candidacy<Self>) -> Option<Wish> {
        let _ = candidacy;
        None
    }

    /// The number of requests that the store can handle at once.
    fn window(store: &Self::Store) -> u32 {
        let _ = store;
        0
    }

    /// The number that identifies a request among those of this candidate, and the time after which its answer is late.
    /// `None` for a rule without wishes.
    fn ticket(candidacy: &Candidacy<Self>, request: &Self::Request) -> Option<(Ticket, Duration)> {
        let _ = (candidacy, request);
        None
    }

    /// Which request was answered, and whether the store itself answered.
    fn answers(answer: &Self::Answer) -> Option<(Ticket, bool)> {
        let _ = answer;
        None
    }

    /// How long the answer to a request can matter; `before` is the time of the previous request.
    fn limit(candidacy: &Candidacy<Self>, request: &Self::Request, before: Duration) -> Duration {
        let _ = (request, before);
        candidacy.lease_time()
    }

    /// Converts a notice of a queue's connection, for candidates in a queue.
    fn of_queues(told: queue::Told) -> Option<Self::Told> {
        let _ = told;
        None
    }

    /// Whether the candidate keeps a lease of a queue's companions alive.
    fn keeps_alive(candidacy: &Candidacy<Self>, lease: LeaseId) -> bool {
        let _ = (candidacy, lease);
        false
    }

    // ---- the model ----

    /// Hashes what only the rule knows, as far as it decides what happens after `now`.
    #[cfg(feature = "testing")]
    fn fingerprint(candidacy: &Candidacy<Self>, hasher: &mut impl core::hash::Hasher) {
        let _ = (candidacy, hasher);
    }
}

/// Keeps what watches show of an election before its candidate has begun.
pub trait Early<S>: Clone + Debug + Default {
    /// Another watch is ready.
    fn watch_began(&mut self);

    /// Keeps what the watch showed at `now`.
    fn observe(&mut self, shown: &S, now: Instant);
}

/// Keeps nothing, because a candidate's first complete read shows all that it needs to know.
impl<S> Early<S> for () {
    fn watch_began(&mut self) {}

    fn observe(&mut self, _: &S, _: Instant) {}
}
