//! Whose candidates play: a runner of its own for each would be a meaning of its own for each.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use incumbent::incumbent_core::campaign::{Event, Leader, Lease, Settings, State};
use incumbent::store::Adapter;
use incumbent::{Clock, Instant};

use crate::scenario::{Scenario, Step};

/// What is waited for.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A call that was begun, and what it returns.
pub type Call = Pending<'static, Result<(), Refused>>;

/// Candidates of one kind, in this process.
pub trait Troupe: Send + Sync {
    /// Opens the store of this URL, whose records live so long.
    fn open<'a>(&'a self, url: &'a str, lease: Duration) -> Pending<'a, Result<Arc<dyn Opened>, String>>;

    /// Takes a store that is open, on this clock.
    ///
    /// # Errors
    /// Why it does not.
    fn take(&self, adapter: Box<dyn Adapter>, clock: Clock) -> Result<Arc<dyn Opened>, String>;

    /// Why these candidates cannot do a step at all, whatever the store; `None` where they can.
    fn cannot(&self, step: &Step) -> Option<&'static str> {
        let _ = step;
        None
    }
}

/// An open store, on which candidates campaign.
pub trait Opened: Send + Sync {
    /// Begins a campaign. One that `works` has work in each of its terms, until it is told
    /// [`drained`](Player::drained).
    fn campaign<'a>(
        &'a self,
        election: &'a str,
        settings: Settings,
        works: bool,
    ) -> Pending<'a, Result<Arc<dyn Player>, Refused>>;

    /// Closes the store, and all candidates on it.
    fn close(&self) -> Call;
}

/// A candidate. Dropped, it is gone without a word.
pub trait Player: Send + Sync {
    /// The next that it is told; `None` when its campaign is over.
    fn next(&self) -> Pending<'_, Option<Told>>;

    /// Whether it leads, as it says itself.
    fn is_leader(&self) -> bool;

    /// The lease of the term that it was told of; `None` where it was told of none, or of its end.
    fn lease(&self) -> Option<Lease>;

    /// Where its campaign stands.
    fn state(&self) -> State;

    /// Whom it sees in the seat.
    fn leader(&self) -> Option<Leader>;

    /// Leaves the seat.
    fn resign(&self) -> Call;

    /// Leaves the seat to the candidate of this name.
    fn hand_over(&self, to: &str) -> Call;

    /// Leaves the seat and the race.
    fn close(&self) -> Call;

    /// Says whether it is well.
    fn set_healthy(&self, is_well: bool);

    /// The work of its term is done.
    fn drained(&self);

    /// The work of its term failed.
    fn fail(&self);
}

/// Something that a candidate was told.
pub struct Told {
    /// What.
    pub event: Event,
    /// Whether the term that a `Lost` speaks of is current nevertheless.
    pub is_current: bool,
}

/// A call that was not carried out.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The library's code for it.
    pub code: &'static str,
    /// Why, for a person.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// The end of a lease that may have been told of; long ago where none was.
pub(super) fn deadline(player: &dyn Player) -> Instant {
    player.lease().map_or(Instant::ZERO, |lease| lease.deadline)
}

impl Scenario {
    /// Why candidates of this kind cannot play it; `None` where they can.
    pub fn cannot(&self, troupe: &dyn Troupe) -> Option<&'static str> {
        self.steps.iter().find_map(|step| troupe.cannot(step))
    }
}
