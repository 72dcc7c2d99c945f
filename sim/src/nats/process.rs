//! A candidate's process: its campaign, its clock, its connection and its watch.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Campaign, Lease, ReadId};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::session::{CampaignId, Command, Input, Session};
use incumbent_core::store::{Fault, FaultKind, Write};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::clock::Clock;
use crate::dice::Dice;

/// The number of the one candidate on each session.
pub(crate) const CANDIDATE: CampaignId = 1;

/// A request of a candidate to the store.
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
    /// A command of its user.
    Command(Command),
    /// A watch is ready, and reports the present entry.
    WatchReady { number: u64, incarnation: Incarnation, entry: Entry },
    /// A watch reports a change.
    Watched { number: u64, incarnation: Incarnation, entry: Entry },
    /// A watch missed something, and ends.
    Gap { number: u64 },
    /// A new connection is ready.
    Connected,
}

pub(crate) struct Node {
    /// Separate random numbers, so that events of other candidates change little for it.
    pub(crate) dice: Dice,
    /// Counts the processes at this index.
    pub(crate) process: u64,
    pub(crate) nonce: Nonce,
    /// The seed of its campaign, where the run is recorded.
    pub(crate) seed: u64,
    /// The session of its process; `None` before it begins, and after its end. It is large, and moved for every input.
    pub(crate) session: Option<Box<Session>>,
    /// The same session again, with clean clock readings, where the run compares.
    pub(crate) twin: Option<Box<Session>>,
    pub(crate) alive: bool,
    pub(crate) healthy: bool,
    pub(crate) clock: Clock,
    /// The rate of its clock when nothing is wrong with it.
    pub(crate) rate: i64,
    pub(crate) stopped_until: Instant,
    pub(crate) backlog: VecDeque<Incoming>,
    pub(crate) server: usize,
    /// The numbers of faults that cut off its messages, cut off its inputs, and let its client queue.
    pub(crate) cut_out: u32,
    pub(crate) cut_in: u32,
    pub(crate) queueing: u32,
    pub(crate) outbox: Vec<Request>,
    pub(crate) denied: u32,
    /// What it cannot do, where it is the one that cannot prove.
    pub(crate) lacks: Option<Lacks>,
    /// The number of faults that make its client slow to read its watch.
    pub(crate) slow: u32,
    /// A server answered it from a former incarnation of the store: the time until such an answer may arrive.
    pub(crate) misled: Option<Instant>,
    /// The longest maximum age of the store that its process was shown.
    pub(crate) oldest: Duration,
    pub(crate) watch: Watch,
    /// The newest revision from its watch or an acknowledgement, and its incarnation. The answer to a read
    /// does not count: a late one was given up by the campaign.
    pub(crate) seen: (Incarnation, Revision),
    /// The time of its next wake-up; never where nothing is due.
    pub(crate) wakes: Instant,
    pub(crate) lease: Option<Lease>,
    /// The token above which it stays out, where it last reported so and did not lead since.
    pub(crate) barred: Option<Token>,
    /// The time, in the world's time, until it leads.
    pub(crate) leads_until: Option<Instant>,
}

/// What a candidate cannot do that cannot prove.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lacks {
    pub(crate) inspections: bool,
    pub(crate) reads: bool,
    pub(crate) watch: bool,
    /// It gets no answers, where it could get denials.
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

    /// Whether it cannot have this answered.
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
    /// The one incarnation it watches and its server, once it is ready.
    pub(crate) on: Option<(Incarnation, usize)>,
    /// Whether the candidate knows that it is ready.
    pub(crate) ready: bool,
    /// It ended, and does not begin again.
    pub(crate) over: bool,
    /// The arrival of its last message: they arrive in order.
    pub(crate) last: Instant,
}

impl Node {
    pub(crate) fn new(dice: Dice, clock: Clock, rate: i64, server: usize) -> Self {
        Self {
            dice,
            process: 0,
            nonce: Nonce(0),
            seed: 0,
            session: None,
            twin: None,
            alive: false,
            healthy: true,
            clock,
            rate,
            stopped_until: Instant::ZERO,
            backlog: VecDeque::new(),
            server,
            cut_out: 0,
            cut_in: 0,
            queueing: 0,
            outbox: Vec::new(),
            denied: 0,
            lacks: None,
            slow: 0,
            misled: None,
            oldest: Duration::ZERO,
            watch: Watch::new(0),
            seen: (Incarnation(0), Revision(0)),
            wakes: Instant::NEVER,
            lease: None,
            barred: None,
            leads_until: None,
        }
    }

    /// The answer to a request that it cannot have answered: a denial, or none.
    pub(crate) fn denial(&self, request: &Request) -> Option<Option<Input>> {
        let lacks = self.lacks.filter(|lacks| lacks.holds(request))?;
        let fault = || Fault { kind: FaultKind::Denied, detail: "no permission".into() };
        let input = match request {
            Request::Read(read) => Input::read(CANDIDATE, *read, Err(fault())),
            Request::Inspect { number, .. } => Input::Inspected { number: *number, result: Err(fault()) },
            Request::Write(_) | Request::Watch { .. } => return Some(None),
        };
        Some((!lacks.answers).then_some(input))
    }

    pub(crate) fn is_stopped(&self, now: Instant) -> bool {
        self.stopped_until > now
    }

    /// Whether it leads, by its `is_leader`.
    pub(crate) fn leads(&self, now: Instant) -> bool {
        self.leads_until.is_some_and(|until| now < until)
    }

    /// Notes a revision before the campaign gets it.
    pub(crate) fn note_revision(&mut self, revision: Option<Revision>) {
        if let (Some(incarnation), Some(revision)) = (self.inspected(), revision) {
            if self.seen.0 != incarnation {
                self.seen = (incarnation, revision);
            }
            self.seen.1 = self.seen.1.max(revision);
        }
    }

    /// Its campaign, once the store has answered.
    pub(crate) fn campaign(&self) -> Option<&Campaign> {
        self.session.as_ref()?.campaign(CANDIDATE)
    }

    /// The incarnation that its last inspection showed.
    pub(crate) fn inspected(&self) -> Option<Incarnation> {
        self.session.as_ref()?.info().map(|info| info.incarnation)
    }
}

impl Watch {
    pub(crate) fn new(number: u64) -> Self {
        Self { number, on: None, ready: false, over: false, last: Instant::ZERO }
    }

    /// Ends it; its remaining messages do not reach the candidate.
    pub(crate) fn end(&mut self) {
        *self = Self { over: true, ..Self::new(self.number) };
    }
}
