//! What a rule reads and sets on its candidate. The methods by which it asks, reports, wins and loses are in
//! `candidate`.
//!
//! The rules of this crate access the same parts as fields. A rule of another crate needs only these methods.

use core::time::Duration;

use super::{Candidacy, GivingWay, Rule, Rules, Stage};
use crate::campaign::{InvalidSettings, Leader, Margin, Settings, Term, check_candidate, check_margin};
use crate::record::Nonce;
use crate::time::Instant;

impl<R: Rule> Candidacy<R> {
    /// Creates a candidate that has not begun, for [`Rule::begin`]. Its margin counts durations only, no time of day.
    /// `own` holds the rule's settings, `knows` the rule's data.
    ///
    /// # Errors
    /// Returns the setting that is inconsistent.
    pub fn of_rule(
        settings: Settings,
        own: R::Settings,
        nonce: Nonce,
        seed: u64,
        now: Instant,
        knows: R,
    ) -> Result<Self, InvalidSettings> {
        check_candidate(&settings)?;
        let lease = settings.lease.unwrap_or_else(|| settings.preset.lease());
        let margin = Margin::of_durations(&settings);
        check_margin(lease, margin)?;
        let splay = (lease / 10).min(Duration::from_secs(1));
        Ok(Self::idle(Rules::new(settings, lease, margin, splay, own), nonce, seed, now, knows))
    }

    /// The latest reading of the caller's clock.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The settings that only this rule has.
    pub fn settings(&self) -> &R::Settings {
        &self.rules.own
    }

    /// A random number, derived from the candidate's seed.
    pub fn random(&mut self) -> u64 {
        self.rng.rand_u64()
    }

    /// The stage, with its data.
    pub fn stage(&self) -> &Stage<R::Race, R::Leaving> {
        &self.stage
    }

    /// The stage. A rule sets it to [`Stage::Racing`] when the candidate claims, to [`Stage::Releasing`] while it removes what
    /// it leaves behind, and to [`Stage::Idle`] when it has left the race.
    pub fn stage_mut(&mut self) -> &mut Stage<R::Race, R::Leaving> {
        &mut self.stage
    }

    /// The rule's own data.
    pub fn own(&self) -> &R {
        &self.own
    }

    /// The rule's own data, mutably.
    pub fn own_mut(&mut self) -> &mut R {
        &mut self.own
    }

    /// The term, from its win until its loss is reported.
    pub fn term(&self) -> Option<Term> {
        self.term
    }

    /// Whether the candidate should be in the race: its user asked for it, and it is healthy.
    pub fn is_to_race(&self) -> bool {
        self.intent.in_race && self.intent.healthy
    }

    /// Whether the candidate's user is closing it.
    pub fn is_closing(&self) -> bool {
        self.intent.closing
    }

    /// The instant until which the candidate claims nothing, because its handler failed or its rule wants it to rest.
    pub fn rests_until(&self) -> Instant {
        self.past.rest_until
    }

    /// Keeps the candidate from claiming before `until`.
    pub fn rest(&mut self, until: Instant) {
        self.past.rest_until = self.past.rest_until.max(until);
    }

    /// Returns the part that decides whether the candidate gives way. The rule reports the outcome of its proofs to it.
    pub fn giving_way_mut(&mut self) -> &mut GivingWay {
        &mut self.giving_way
    }

    /// Sets a timer, replacing its previous time.
    pub fn set_timer(&mut self, timer: R::Timer, at: Instant) {
        self.timers.set(timer, at);
    }

    /// Stops a timer, if it is set.
    pub fn stop_timer(&mut self, timer: R::Timer) {
        self.timers.stop(timer);
    }

    /// The time of a timer that is set.
    pub fn timer(&self, timer: R::Timer) -> Option<Instant> {
        self.timers.get(timer)
    }

    /// Reports another leader, or none. A leader with the same nonce and name is the same leader, and is not reported
    /// again.
    pub fn report_known(&mut self, leader: Option<Leader>) {
        let is_same = |one: &Leader, other: &Leader| (one.nonce, &one.name) == (other.nonce, &other.name);
        let event = self.reports.leader(leader, is_same);
        self.report_if(event);
    }

    /// Notes that the store answered as it should, so any later fault is reported again.
    pub fn store_is_well(&mut self) {
        self.reports.is_well();
    }
}
