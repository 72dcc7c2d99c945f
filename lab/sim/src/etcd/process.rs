//! A candidate's process: its session, its clock, its connection, its stream of keep-alives and its watch.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::ReadId;
use incumbent_core::queue::{Answer, Change, Failure, LeaseId, Outcome, Write};
use incumbent_core::session::{CampaignId, Input};
use incumbent_core::store::{Fault, FaultKind};

use crate::dice::Dice;
use crate::world::CANDIDATE;

/// A request of a candidate to the store, other than a keep-alive.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Grant {
        lease: LeaseId,
        ttl: Duration,
    },
    /// The lease for the connection's companions. The request has the number for a new one, if that is needed.
    Share {
        lease: LeaseId,
        ttl: Duration,
    },
    Read {
        read: ReadId,
        own: Option<LeaseId>,
        whole: bool,
        sent_at: Instant,
    },
    Write(Write),
    Revoke {
        lease: LeaseId,
    },
    Inspect {
        number: u64,
        asked_at: Instant,
    },
    Watch {
        number: u64,
    },
}

/// The number of a campaign's request, which is the `count`-th request of all.
pub(super) fn number_of(count: u64, id: CampaignId) -> u64 {
    count << 16 | (id - CANDIDATE)
}

/// The campaign that made the request with this number. A session's own requests have campaign number 0.
pub(super) fn asked_by(number: u64) -> CampaignId {
    CANDIDATE + (number & 0xffff)
}

impl Request {
    /// The answer that reports the request's failure.
    pub(super) fn failed(&self, failure: Failure) -> Option<Answer> {
        Some(match self {
            Self::Grant { lease, .. } => Answer::Granted { lease: *lease, result: Err(failure) },
            Self::Share { .. } => Answer::Shared { result: Err(failure) },
            Self::Read { read, sent_at, .. } => {
                Answer::Read { read: *read, sent_at: *sent_at, result: Err(failure) }
            }
            Self::Write(write) => Answer::Wrote { attempt: write.attempt, outcome: Outcome::Failed(failure) },
            Self::Revoke { lease } => Answer::Revoked { lease: *lease, result: Err(failure) },
            Self::Inspect { .. } | Self::Watch { .. } => return None,
        })
    }
}

/// The steps that fail for a candidate that cannot prove its claim. The candidate's keep-alives are answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lacks {
    reads: bool,
    writes: bool,
    watch: bool,
    birth: bool,
    grants: bool,
    /// Whether the failing requests are not answered at all, instead of being denied.
    answers: bool,
}

impl Lacks {
    pub(super) fn drawn(dice: &mut Dice) -> Self {
        let none =
            Self { reads: false, writes: false, watch: false, birth: false, grants: false, answers: false };
        let reads = Self { reads: true, watch: true, answers: dice.percent(30), ..none };
        dice.pick(&[
            reads,
            // The role still allows watching.
            Self { watch: false, ..reads },
            Self { birth: true, ..reads },
            Self { birth: true, ..none },
            Self { writes: true, ..none },
            // All requests of the candidate go to one member, which answers only keep-alives.
            Self { reads: true, writes: true, watch: true, birth: true, grants: true, answers: true },
        ])
    }

    /// Whether all requests of the candidate go to one member.
    pub(super) const fn is_cut(&self) -> bool {
        self.grants
    }

    /// How a request fails: `Some(None)` without an answer, `Some(Some(_))` with a denial, and `None` if it does not
    /// fail.
    pub(super) fn failed(&self, request: &Request) -> Option<Option<Failure>> {
        let fails = match request {
            Request::Read { .. } => self.reads,
            Request::Write(_) => self.writes,
            Request::Watch { .. } => self.watch,
            Request::Inspect { .. } => self.birth,
            Request::Grant { .. } | Request::Share { .. } | Request::Revoke { .. } => self.grants,
        };
        let denied = || Fault { kind: FaultKind::Denied, detail: "permission denied".into() };
        fails.then(|| (!self.answers).then(|| Failure::Fault(denied())))
    }
}

/// A message that arrives at a candidate.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    /// The answer to the request with this number.
    Answer {
        number: u64,
        answer: Answer,
    },
    Input(Input<Answer, Change>),
    /// The answer to an inspection, with the member's raft term.
    Inspected {
        raft_term: u64,
        input: Input<Answer, Change>,
    },
    WatchReady {
        number: u64,
    },
    Watched {
        number: u64,
        election: &'static str,
        change: Change,
    },
    /// The watch ends, because it lags behind the compaction or is broken.
    WatchEnded {
        number: u64,
    },
    /// An answer on this stream of keep-alives.
    KeptAlive {
        stream: u64,
        number: u64,
        answer: Answer,
    },
    Connected,
}

/// A keep-alive on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    pub(super) number: u64,
    pub(super) lease: LeaseId,
    pub(super) sent_at: Instant,
}

/// A stream of keep-alives. Requests arrive in order on it, and so do answers.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) number: u64,
    pub(super) member: usize,
    /// Whether nothing arrives through the stream any more.
    pub(super) broken: bool,
    /// The times of the last arrival at the member and of the last arrival at the candidate.
    pub(super) sent: Instant,
    pub(super) answered: Instant,
    /// The keep-alives that wait. The member holds the first of them back.
    pub(super) held: VecDeque<KeepAlive>,
}

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) number: u64,
    /// The member on which the watch is, once it is ready.
    pub(super) on: Option<usize>,
    pub(super) ready: bool,
    pub(super) over: bool,
    /// When the watch's last message arrives. Messages arrive in order.
    pub(super) last: Instant,
}

pub(crate) struct Process {
    pub(super) member: usize,
    pub(super) stream: Stream,
    pub(super) watch: Watch,
    /// The lease for its companions.
    pub(super) shared: Option<LeaseId>,
    /// The raft term in the last answer that arrived.
    pub(super) raft_term: u64,
    /// Unanswered requests.
    pub(super) open: BTreeSet<u64>,
    /// The steps that fail, if this is the candidate that cannot prove its claim.
    pub(super) lacks: Option<Lacks>,
}

impl Process {
    pub(super) fn new(member: usize) -> Self {
        Self {
            member,
            stream: Stream::new(0, member),
            watch: Watch::new(0),
            shared: None,
            raft_term: 0,
            open: BTreeSet::new(),
            lacks: None,
        }
    }
}

impl Stream {
    pub(super) fn new(number: u64, member: usize) -> Self {
        Self {
            number,
            member,
            broken: false,
            sent: Instant::ZERO,
            answered: Instant::ZERO,
            held: VecDeque::new(),
        }
    }
}

impl Watch {
    pub(super) fn new(number: u64) -> Self {
        Self { number, on: None, ready: false, over: false, last: Instant::ZERO }
    }

    /// Ends the watch. Its remaining messages do not reach the candidate.
    pub(super) fn end(&mut self) {
        *self = Self { over: true, ..Self::new(self.number) };
    }
}
