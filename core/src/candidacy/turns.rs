//! The requests that a campaign may send, and those that wait for a place.
//!
//! A session limits how many requests are under way. A campaign that wants to ask does not build its request until its
//! turn comes. Then it reads its clock, takes the next number and decides what to expect; if it no longer has a reason
//! to ask, it asks nothing. A campaign without a session asks at once.

use crate::session::{LastAnswers, Ticket};
use crate::time::Instant;

/// The number of requests that a campaign may send, and the requests `W` that wait.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Turns<W> {
    /// The number of requests that may be sent now; [`ANY`] without a session.
    places: u8,
    pub(crate) waits: W,
    /// When the store last answered this campaign, or another one of its session.
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
    /// Allows this many requests until the next call; a campaign makes only a few. The store last answered at
    /// `answered`.
    pub(crate) fn allow(&mut self, places: u32, answered: LastAnswers) {
        self.answered.learn(answered);
        self.places = u8::try_from(places).map_or(ANY - 1, |places| places.min(ANY - 1));
    }

    /// Whether a request may be sent now.
    pub(crate) fn has_place(&self) -> bool {
        self.places > 0
    }

    /// A request leaves.
    pub(crate) fn leaves(&mut self) {
        if self.places != ANY {
            self.places = self.places.saturating_sub(1);
        }
    }

    /// Notes when the store answered a request of this campaign.
    pub(crate) fn answered(&mut self, ticket: Ticket, now: Instant) {
        self.answered.answered(ticket, None, now);
    }

    /// The times of the latest answers.
    pub(crate) fn last_answers(&self) -> LastAnswers {
        self.answered
    }
}
