//! The requests of a campaign that may leave, and those that wait for a place.
//!
//! A session bounds what is under way. What a campaign wants to ask is no request yet: only when its turn comes does the campaign
//! read its clock, take the next number and decide what to expect; or its reason is gone by then, and nothing is asked. A
//! campaign without a session asks at once.

use crate::session::{LastAnswers, Ticket};
use crate::time::Instant;

/// The places of a campaign, and the requests `W` that wait for one.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Turns<W> {
    /// The requests that may leave now; [`ANY`] without a session.
    places: u8,
    pub(crate) waits: W,
    /// When the store answered this campaign last, or another one of its session.
    answered: LastAnswers,
}

/// Any number.
const ANY: u8 = u8::MAX;

impl<W: Default> Default for Turns<W> {
    fn default() -> Self {
        Self { places: ANY, waits: W::default(), answered: LastAnswers::default() }
    }
}

impl<W> Turns<W> {
    /// As many requests may leave until the next call; a campaign makes a few at most. The store answered last at `answered`.
    pub(crate) fn allow(&mut self, places: u32, answered: LastAnswers) {
        self.answered.learn(answered);
        self.places = u8::try_from(places).map_or(ANY - 1, |places| places.min(ANY - 1));
    }

    /// Whether a request may leave now.
    pub(crate) fn has_place(&self) -> bool {
        self.places > 0
    }

    /// A request leaves.
    pub(crate) fn leaves(&mut self) {
        if self.places != ANY {
            self.places = self.places.saturating_sub(1);
        }
    }

    /// The store answered a request of this campaign.
    pub(crate) fn answered(&mut self, ticket: Ticket, now: Instant) {
        self.answered.answered(ticket, None, now);
    }

    /// The times of the latest answers.
    pub(crate) fn last_answers(&self) -> LastAnswers {
        self.answered
    }
}
