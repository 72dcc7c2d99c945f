//! The events of a run, for its oracles and for its drawing.

use std::time::Duration;

use incumbent_core::campaign::{Campaign, Input, Output};
use incumbent_core::record::{Attempt, Entry, Nonce};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::kind::Kind;
use crate::oracle::{Judges, Violation};
use crate::plan::Plan;
use crate::promise::Promises;
use crate::report::Tally;
use crate::store::Bucket;
use crate::timeline::Timeline;

/// An event that just happened.
pub(crate) enum Moment<'a> {
    /// A process of this nonce begins to campaign.
    Begins { node: usize, nonce: Nonce },
    /// The process is gone, and with it all that it believed.
    Ends { node: usize },
    /// An input is about to be handed to a campaign, whose clock shows `clock`.
    Hands { node: usize, clock: Instant, input: &'a Input },
    /// The campaign has handled it. `until` is the world's time at which its `is_leader` turns false.
    Stands { node: usize, clock: Instant, campaign: &'a Campaign, until: Option<Instant> },
    /// The campaign emits an output.
    Says { node: usize, campaign: &'a Campaign, output: &'a Output },
    /// The clock of a campaign runs at another rate, so that its `is_leader` turns false at another time.
    Clock { node: usize, until: Option<Instant> },
    /// The store applied a write of a campaign.
    Applied { nonce: Nonce, attempt: Attempt, life: Incarnation, revision: Revision },
    /// The key's entry changed.
    Key { entry: &'a Entry },
    /// A candidate of the Go library reports that it won or lost.
    Peer { peer: usize, leads: bool },
    /// The store was made again, with this maximum age.
    Remade { max_age: Duration },
    /// The store went back to an earlier state.
    WentBack,
    /// An operator accepted that tokens start again.
    Accepted,
    /// A candidate is stopped, or goes on.
    Stopped { node: usize, stopped: bool },
    /// A fault begins, or ends.
    Fault { kind: Kind, node: Option<usize>, place: usize, begins: bool },
    /// There are no faults from now on.
    Calm,
    /// An orderly change in the calm.
    Order(Order),
    /// The run is over.
    Over,
}

/// An orderly change that happens to the leader when there are no faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It resigns.
    Resign { leader: usize },
    /// It hands over to another candidate.
    HandOver { leader: usize, successor: usize },
    /// Its process dies.
    Crash { leader: usize },
    /// An operator deletes its record.
    Delete { leader: usize },
    /// The server that leads the stream is isolated.
    Isolate { leader: usize },
}

/// The state of the world around an event.
pub(crate) struct View<'a> {
    pub(crate) now: Instant,
    pub(crate) plan: &'a Plan,
    pub(crate) promises: &'a Promises,
    /// The present incarnation of the store, and the time of its creation.
    pub(crate) life: Incarnation,
    pub(crate) made: Instant,
    /// An operator stated that the present incarnation is the first.
    pub(crate) never_used: bool,
}

impl<'a> View<'a> {
    pub(crate) fn new(now: Instant, plan: &'a Plan, promises: &'a Promises, bucket: &Bucket) -> Self {
        let (made, never_used) = (bucket.made, bucket.never_used);
        Self { now, plan, promises, life: bucket.incarnation, made, never_used }
    }
}

/// All observers of a run: the oracles, the counts and the drawing.
pub(crate) struct Audience {
    pub(crate) judges: Judges,
    pub(crate) tally: Tally,
    pub(crate) timeline: Option<Timeline>,
    /// The first invariant that did not hold.
    pub(crate) violation: Option<Violation>,
}

impl Audience {
    pub(crate) fn see(&mut self, view: &View<'_>, moment: &Moment<'_>) {
        if let Some(timeline) = &mut self.timeline {
            timeline.see(view, moment);
        }
        self.tally.see(view, moment);
        let verdict = self.judges.see(view, moment);
        if self.violation.is_none() {
            self.violation = verdict.err();
        }
    }
}
