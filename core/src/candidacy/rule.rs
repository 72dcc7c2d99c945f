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
    /// The candidate to which a leader hands over by its release.
    pub successor: Option<alloc::string::String>,
    /// Its work is not known to have ended.
    pub working: bool,
}

/// A rule by which a candidate wins and keeps its election: a lease over a key, a place in a queue, or induction over a
/// consumer group.
///
/// A [`Candidacy`] does what is the same for every candidate and calls these hooks, which see it and act by its methods: the
/// clock, the stage, timers, requests, wins and losses. The value itself is what a candidate knows by its rule. A rule leaves
/// out what it has nothing of; a rule of another crate is written as those of this one.
pub trait Rule: Clone + Debug + Sized {
    /// What a candidate has to know of its store's client, and of the store where that never changes.
    type Store: Clone + Debug;
    /// What follows from a candidate's settings by this rule alone.
    type Settings: Clone + Debug + PartialEq;
    /// The timers of a candidate.
    type Timer: Kind + Debug + Hash + PartialEq;
    /// What a candidate wants of the store.
    type Request: Clone + Debug + PartialEq;
    /// The store's answers.
    type Answer: Clone + Debug;
    /// What a watch shows of the election.
    type Shown: Clone + Debug;
    /// What is kept of that for a candidate that has not begun.
    type Early: Early<Self::Shown>;
    /// What the connection tells its candidates, if anything.
    type Told: Clone + Debug;
    /// What they tell it, if anything: it is about queues.
    type Tell: Clone + Debug + PartialEq + Into<queue::Tell>;
    /// What a candidate in the race does.
    type Race: Clone + Debug;
    /// What is left to be done of a claim that is given up.
    type Leaving: Clone + Debug;

    /// A candidate on a store that was inspected.
    ///
    /// # Errors
    /// The setting that is incoherent, or that the store cannot keep.
    fn begin(
        settings: Settings,
        store: &Self::Store,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Candidacy<Self>, InvalidSettings>;

    // ---- the race ----

    /// The candidate enters the race, perhaps after a splay.
    fn enters(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Asks for the lead, or waits for the time when it may: at the beginning, and after everything that ended a claim.
    fn claim(candidacy: &mut Candidacy<Self>);

    /// The state of a candidate in the race that has no term.
    fn racing(candidacy: &Candidacy<Self>) -> State {
        let _ = candidacy;
        State::Waiting
    }

    /// The deadline `D` of what the candidate has, from its newest proof. When it passes, that is [lost](Self::lose).
    fn deadline(candidacy: &Candidacy<Self>) -> Option<Instant>;

    /// Ends what the candidate has, and its term if there is one, for a reason outside of it.
    fn lose(candidacy: &mut Candidacy<Self>, reason: Reason) {
        candidacy.lost(reason);
        candidacy.move_on();
    }

    // ---- leaving ----

    /// A candidate that leads no term gives up what it has, if anything, and stays in the race.
    fn give_up(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// A candidate that leads no term leaves the race, or has left it and closes.
    fn withdraw(candidacy: &mut Candidacy<Self>) {
        candidacy.move_on();
    }

    /// A leader hands over: at the end of its term, or while it leads.
    fn hand_over(candidacy: &mut Candidacy<Self>, successor: alloc::string::String) {
        let _ = (candidacy, successor);
    }

    /// A leader that leaves began to drain.
    fn departs(candidacy: &mut Candidacy<Self>, reason: Reason) {
        let _ = (candidacy, reason);
    }

    /// Removes what a term leaves behind, if anything, whose loss was reported; a release waits for the work of the term.
    fn leave_behind(candidacy: &mut Candidacy<Self>, ended: Ended) {
        let _ = ended;
        candidacy.move_on();
    }

    /// The work of a term has ended that was lost before.
    fn work_ended(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// A close began while the candidate removes what it leaves behind: bounds that.
    fn limit_close(candidacy: &mut Candidacy<Self>) {
        if candidacy.timer(Self::Timer::CLOSE).is_none() {
            candidacy.set_timer(Self::Timer::CLOSE, candidacy.now() + pace::CLOSE_LIMIT);
        }
    }

    /// The time for a close is up.
    fn close_timed_out(candidacy: &mut Candidacy<Self>) {
        candidacy.closed();
    }

    /// The candidate is closed: stops what it does that it need not do any more.
    fn closes(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Whether nothing of a closed candidate is left to be done.
    fn is_settled(candidacy: &Candidacy<Self>) -> bool {
        let _ = candidacy;
        true
    }

    /// Whether a session may forget a closed candidate.
    fn may_be_forgotten(candidacy: &Candidacy<Self>) -> bool {
        Self::is_settled(candidacy)
    }

    // ---- inputs ----

    /// Whether the candidate asked for this answer.
    ///
    /// # Errors
    /// The misuse, where it did not.
    fn check(candidacy: &Candidacy<Self>, answer: &Self::Answer) -> Result<(), Misuse> {
        let _ = (candidacy, answer);
        Ok(())
    }

    /// The store answered.
    fn answered(candidacy: &mut Candidacy<Self>, answer: Self::Answer);

    /// The watch showed something of the election.
    fn shown(candidacy: &mut Candidacy<Self>, shown: Self::Shown) {
        let _ = (candidacy, shown);
    }

    /// A new watch is ready since then.
    fn watching(candidacy: &mut Candidacy<Self>, since: Instant) {
        let _ = (candidacy, since);
    }

    /// The store was inspected.
    fn inspected(candidacy: &mut Candidacy<Self>, result: Result<StoreInfo, Fault>) {
        let _ = (candidacy, result);
    }

    /// The connection is a new one.
    fn reconnected(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// An operator accepts that tokens start again.
    fn accept(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// The connection tells something.
    fn told(candidacy: &mut Candidacy<Self>, told: Self::Told) {
        let _ = (candidacy, told);
    }

    /// Time has passed.
    fn tick(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// A timer of the rule is due. Those of every candidate are not handed in.
    fn fire(candidacy: &mut Candidacy<Self>, timer: Self::Timer) {
        let _ = (candidacy, timer);
    }

    /// Ends every call, before the deadline is set and the state is reported.
    fn conclude(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Asserts the bounds of what the candidate keeps by its rule, in a build with assertions.
    fn check_bounds(candidacy: &Candidacy<Self>) {
        let _ = candidacy;
    }

    // ---- a vacancy ----

    /// Whether the candidate, which leads no term, knows of another that leads.
    fn knows_a_leader(candidacy: &Candidacy<Self>) -> bool {
        candidacy.leader().is_some()
    }

    /// What keeps it from leading, while it knows of no leader.
    fn obstacle(candidacy: &Candidacy<Self>) -> Obstacle {
        let _ = candidacy;
        Obstacle::Unanswered
    }

    /// The longest time for which an election is vacant by its settings, from when this candidate noticed that.
    fn worst_fail_over(candidacy: &Candidacy<Self>, since: Instant) -> Duration;

    // ---- the session ----

    /// What a candidate has to know of the store before it begins, and is not known yet: it waits.
    fn not_known_yet(store: &Self::Store) -> Option<Fault> {
        let _ = store;
        None
    }

    /// What a watch showed before the candidate began.
    fn recall(candidacy: &mut Candidacy<Self>, early: &Self::Early, info: &StoreInfo) {
        let _ = (candidacy, early, info);
    }

    /// The candidate's connection has many from now on: where each of them renews on its own, they spread that.
    fn is_one_of_many(candidacy: &mut Candidacy<Self>) {
        let _ = candidacy;
    }

    /// Whether a new watch of the store says when it has shown all that stands.
    fn watch_shows_all(store: &Self::Store) -> bool {
        let _ = store;
        false
    }

    /// What a watch that has shown all says to a candidate that knows nothing of its election: that there is nothing.
    /// `None` for one that knows something.
    fn shown_nothing(candidacy: &Candidacy<Self>) -> Option<Self::Shown> {
        let _ = candidacy;
        None
    }

    /// As many requests may leave until the next call; [`wish`](Self::wish) returns what more there is. Of a rule that has no
    /// wishes, any number leaves. `answered` says when the store answered some candidate last.
    fn allow(candidacy: &mut Candidacy<Self>, places: u32, answered: LastAnswers) {
        let _ = (candidacy, places, answered);
    }

    /// The time in which a renewal is answered, where a request usually is in `usual`.
    fn renewal_takes(candidacy: &Candidacy<Self>, usual: Duration) -> Duration {
        let _ = candidacy;
        usual
    }

    /// The request that waits. It leaves with a [`Input::Tick`](super::Input::Tick) for which it is [allowed](Self::allow).
    fn wish(candidacy: &Candidacy<Self>) -> Option<Wish> {
        let _ = candidacy;
        None
    }

    /// The requests that the store bears at a time.
    fn window(store: &Self::Store) -> u32 {
        let _ = store;
        0
    }

    /// What distinguishes a request from others of this candidate, and the time after which its answer is late. `None` for a
    /// rule that has no wishes.
    fn ticket(candidacy: &Candidacy<Self>, request: &Self::Request) -> Option<(Ticket, Duration)> {
        let _ = (candidacy, request);
        None
    }

    /// The request that is answered, and whether the store answered it.
    fn answers(answer: &Self::Answer) -> Option<(Ticket, bool)> {
        let _ = answer;
        None
    }

    /// The time for which the answer to a request can matter; `before` is that of the request before.
    fn limit(candidacy: &Candidacy<Self>, request: &Self::Request, before: Duration) -> Duration {
        let _ = (request, before);
        candidacy.lease_time()
    }

    /// What a connection of queues tells, to candidates that are in one.
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

    /// Feeds a hasher with all that decides what comes after `now`, of what the rule alone knows and does.
    #[cfg(feature = "testing")]
    fn fingerprint(candidacy: &Candidacy<Self>, hasher: &mut impl core::hash::Hasher) {
        let _ = (candidacy, hasher);
    }
}

/// Keeps what watches show of an election to a candidate that has not begun.
pub trait Early<S>: Clone + Debug + Default {
    /// Another watch is ready.
    fn watch_began(&mut self);

    /// The watch showed this at `now`.
    fn observe(&mut self, shown: &S, now: Instant);
}

/// Keeps nothing: the first whole reading of a candidate shows all that it has to know.
impl<S> Early<S> for () {
    fn watch_began(&mut self) {}

    fn observe(&mut self, _: &S, _: Instant) {}
}
