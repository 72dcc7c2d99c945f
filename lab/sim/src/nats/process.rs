//! The process of a candidate: its connection, its watch, its requests, and the messages that it receives.

use std::time::Duration;

use incumbent_core::campaign::{self, ReadId};
use incumbent_core::record::Entry;
use incumbent_core::session::Input;
use incumbent_core::store::{Fault, FaultKind, Write};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::dice::Dice;
use crate::world::CANDIDATE;

/// A request that a candidate sends to the store.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Write(Write),
    Read(ReadId),
    Inspect { number: u64, asked_at: Instant },
    Watch { number: u64 },
}

/// A message that arrives at a candidate.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    /// The answer to a question.
    Input(Input),
    /// A watch is ready, and reports the present entry.
    WatchReady { number: u64, incarnation: Incarnation, entry: Entry },
    /// A watch reports a change.
    Watched { number: u64, incarnation: Incarnation, entry: Entry },
    /// A watch missed a message, and ends.
    Gap { number: u64 },
    /// A new connection is ready.
    Connected,
}

/// The part of a process's state that exists only with a bucket.
pub(crate) struct Process {
    /// The input that is being handled and the reading of the clock, if the run is recorded.
    pub(super) hears: Option<campaign::Input>,
    pub(super) server: usize,
    /// The number of active faults that make the candidate's client queue requests.
    pub(super) queueing: u32,
    pub(super) outbox: Vec<Request>,
    /// The steps that fail for the candidate, if it is the candidate that cannot prove its claim.
    pub(super) lacks: Option<Lacks>,
    /// The instant until which an answer may arrive from a server of a former incarnation of the store, if such a
    /// server has answered the process.
    pub(super) misled: Option<Instant>,
    /// The longest maximum age that the process has seen the store have.
    pub(super) oldest: Duration,
    pub(super) watch: Watch,
    /// The newest revision from a watch or an acknowledgement, and the incarnation of that revision. Answers to reads
    /// do not count, because the campaign may have given up a read whose answer is late.
    pub(super) seen: (Incarnation, Revision),
}

/// The steps that fail for a candidate that cannot prove its claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lacks {
    pub(crate) inspections: bool,
    pub(crate) reads: bool,
    pub(crate) watch: bool,
    /// Whether the failing requests are not answered at all, instead of being denied.
    pub(crate) answers: bool,
}

impl Lacks {
    pub(crate) fn drawn(dice: &mut Dice) -> Self {
        let lack = |inspections, reads, watch| (inspections, reads, watch);
        let (inspections, reads, watch) = dice.pick(&[
            lack(true, false, true),
            lack(true, false, true),
            lack(true, true, true),
            lack(true, false, false),
            lack(false, true, true),
        ]);
        Self { inspections, reads, watch, answers: dice.percent(30) }
    }

    /// Whether the candidate receives no proper answer to a request.
    fn holds(&self, request: &Request) -> bool {
        match request {
            Request::Write(_) => false,
            Request::Read(_) => self.reads,
            Request::Inspect { .. } => self.inspections,
            Request::Watch { .. } => self.watch,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) number: u64,
    /// The incarnation that it watches, and the server that serves it, once the watch is ready.
    pub(crate) on: Option<(Incarnation, usize)>,
    /// Whether the candidate knows that the watch is ready.
    pub(crate) ready: bool,
    /// Whether the watch has ended and does not begin again.
    pub(crate) over: bool,
    /// When the last message of the watch arrives. Its messages arrive in order.
    pub(crate) last: Instant,
}

impl Process {
    pub(super) fn new(server: usize) -> Self {
        Self {
            hears: None,
            server,
            queueing: 0,
            outbox: Vec::new(),
            lacks: None,
            misled: None,
            oldest: Duration::ZERO,
            watch: Watch::new(0),
            seen: (Incarnation(0), Revision(0)),
        }
    }

    /// Returns the answer to a request that fails for the candidate, which is a denial or nothing.
    pub(super) fn denial(&self, request: &Request) -> Option<Option<Input>> {
        let lacks = self.lacks.filter(|lacks| lacks.holds(request))?;
        let fault = || Fault { kind: FaultKind::Denied, detail: "no permission".into() };
        let input = match request {
            Request::Read(read) => Input::read(CANDIDATE, *read, Err(fault())),
            Request::Inspect { number, .. } => Input::Inspected { number: *number, result: Err(fault()) },
            Request::Write(_) | Request::Watch { .. } => return Some(None),
        };
        Some((!lacks.answers).then_some(input))
    }
}

impl Watch {
    pub(crate) fn new(number: u64) -> Self {
        Self { number, on: None, ready: false, over: false, last: Instant::ZERO }
    }

    /// Ends the watch, whose remaining messages then do not reach the candidate.
    pub(crate) fn end(&mut self) {
        *self = Self { over: true, ..Self::new(self.number) };
    }
}
