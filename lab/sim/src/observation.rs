//! The events of a run, as its oracles and its timeline observe them.

use std::time::Duration;

use incumbent_core::campaign::{KeyLease, Lease};
use incumbent_core::candidacy::{Candidacy, Input, Output, Rule};
use incumbent_core::queue::{LeaseId, Snapshot};
use incumbent_core::record::{Attempt, Entry, Nonce};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::etcd::Content;
use crate::kind::Kind;
use crate::oracle::{Checkers, Violation};
use crate::plan::Plan;
use crate::promise::Promises;
use crate::report::Tally;
use crate::timeline::Timeline;

/// An event that just happened.
pub(crate) enum Observation<'a, R: Rule = KeyLease> {
    /// A process begins to campaign with this nonce.
    Begins { node: usize, nonce: Nonce },
    /// The process is gone, and everything that it believed is gone with it.
    Ends { node: usize },
    /// A campaign is about to handle an input at the reading `clock` of its clock.
    Input { node: usize, clock: Instant, input: &'a Input<R::Answer, R::Shown, R::Told> },
    /// The campaign has handled the input, and returns this lease. In the world's time, its `is_leader` becomes false
    /// at `until`.
    Handled {
        node: usize,
        clock: Instant,
        campaign: &'a Candidacy<R>,
        lease: Option<Lease>,
        until: Option<Instant>,
    },
    /// The campaign emits an output.
    Output { node: usize, campaign: &'a Candidacy<R>, output: &'a Output<R::Request, R::Timer, R::Tell> },
    /// A campaign's clock changes its rate, so its `is_leader` becomes false at another time.
    Clock { node: usize, until: Option<Instant> },
    /// The store applied a write of a campaign.
    Applied { nonce: Nonce, attempt: Attempt, incarnation: Incarnation, revision: Revision },
    /// The key's entry changed.
    Key { entry: &'a Entry },
    /// An etcd leader extends a lease because of a keep-alive that a campaign sent at this reading of its clock.
    Kept { node: usize, lease: LeaseId, sent_at: Instant },
    /// An etcd serves a linearised read for a campaign.
    Read { node: usize, snapshot: &'a Snapshot },
    /// A coordinator accepts a commit of a campaign that is a member of the present generation. The commit proves the
    /// record with this number.
    Committed { nonce: Nonce, attempt: Attempt },
    /// The keys or leases of an etcd have changed.
    Stored { content: &'a Content },
    /// A candidate of the Go library reports that it has won or lost.
    Peer { peer: usize, leads: bool },
    /// The store was recreated, with this maximum age.
    Remade { max_age: Duration },
    /// The store went back to an earlier state.
    WentBack,
    /// An operator accepted that the tokens start again.
    Accepted,
    /// A candidate is stopped or continues.
    Stopped { node: usize, stopped: bool },
    /// A fault begins, or ends.
    Fault { kind: Kind, node: Option<usize>, place: usize, begins: bool },
    /// No more faults happen from now on.
    Quiet,
    /// An orderly change happens after the faults.
    Order(Order),
    /// The run is over.
    Over,
}

/// The kinds of events that oracles tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Begins,
    Ends,
    /// An input that says only what time it is.
    Tick,
    /// Any other input.
    Input,
    Handled,
    /// An output that asks the store.
    Asked,
    /// An output that reports an event.
    Reported,
    /// The last output of a step.
    Drained,
    /// Any other output.
    Output,
    Clock,
    Applied,
    Key,
    Kept,
    Read,
    Committed,
    Stored,
    Peer,
    Remade,
    WentBack,
    Accepted,
    Stopped,
    Fault,
    Quiet,
    Order,
    Over,
}

impl Seen {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: &'static [Self] = &[
        Self::Begins,
        Self::Ends,
        Self::Tick,
        Self::Input,
        Self::Handled,
        Self::Asked,
        Self::Reported,
        Self::Drained,
        Self::Output,
        Self::Clock,
        Self::Applied,
        Self::Key,
        Self::Kept,
        Self::Read,
        Self::Committed,
        Self::Stored,
        Self::Peer,
        Self::Remade,
        Self::WentBack,
        Self::Accepted,
        Self::Stopped,
        Self::Fault,
        Self::Quiet,
        Self::Order,
        Self::Over,
    ];
}

impl<R: Rule> Observation<'_, R> {
    /// The kind of the event.
    pub(crate) fn kind(&self) -> Seen {
        match self {
            Self::Begins { .. } => Seen::Begins,
            Self::Ends { .. } => Seen::Ends,
            Self::Input { input: Input::Tick, .. } => Seen::Tick,
            Self::Input { .. } => Seen::Input,
            Self::Handled { .. } => Seen::Handled,
            Self::Output { output: Output::Ask(_), .. } => Seen::Asked,
            Self::Output { output: Output::Event(_), .. } => Seen::Reported,
            Self::Output { output: Output::WakeAt(_), .. } => Seen::Drained,
            Self::Output { .. } => Seen::Output,
            Self::Clock { .. } => Seen::Clock,
            Self::Applied { .. } => Seen::Applied,
            Self::Key { .. } => Seen::Key,
            Self::Kept { .. } => Seen::Kept,
            Self::Read { .. } => Seen::Read,
            Self::Committed { .. } => Seen::Committed,
            Self::Stored { .. } => Seen::Stored,
            Self::Peer { .. } => Seen::Peer,
            Self::Remade { .. } => Seen::Remade,
            Self::WentBack => Seen::WentBack,
            Self::Accepted => Seen::Accepted,
            Self::Stopped { .. } => Seen::Stopped,
            Self::Fault { .. } => Seen::Fault,
            Self::Quiet => Seen::Quiet,
            Self::Order(_) => Seen::Order,
            Self::Over => Seen::Over,
        }
    }
}

/// An orderly change of the leader while there are no faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It resigns.
    Resign { leader: usize },
    /// The leader hands over to another candidate.
    HandOver { leader: usize, successor: usize },
    /// Its process dies.
    Crash { leader: usize },
    /// An operator deletes its record.
    Delete { leader: usize },
    /// The server that leads the stream is isolated.
    Isolate { leader: usize },
}

/// The state of the world at an event.
pub(crate) struct View<'a> {
    pub(crate) now: Instant,
    pub(crate) plan: &'a Plan,
    pub(crate) promises: &'a Promises,
    /// The present incarnation of the store, and when it was created.
    pub(crate) incarnation: Incarnation,
    pub(crate) made: Instant,
    /// Whether an operator stated that the present incarnation is the first.
    pub(crate) never_used: bool,
}

/// All observers of a run: the oracles, the counts and the timeline.
pub(crate) struct Observers<R: Rule = KeyLease> {
    pub(crate) checkers: Checkers<R>,
    pub(crate) tally: Tally,
    pub(crate) timeline: Option<Timeline>,
    /// The first invariant that did not hold.
    pub(crate) violation: Option<Violation>,
}

impl<R: Rule> Observers<R> {
    pub(crate) fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) {
        if let Some(timeline) = &mut self.timeline {
            timeline.observe(view, observation);
        }
        self.tally.observe(view, observation);
        let verdict = self.checkers.observe(view, observation);
        if self.violation.is_none() {
            self.violation = verdict.err();
        }
    }
}
