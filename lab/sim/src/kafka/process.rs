//! A candidate's process: its session, its clock, its member, its producer and its reader.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::induction::{Answer, Publish, Shown, TopicId};
use incumbent_core::record::Attempt;
use incumbent_core::session::Input;

use super::group::{MemberId, Reply};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::plan::Plan;

/// A message that arrives in a process.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    /// For the session.
    Input(Input<Answer, Shown>),
    /// A report of the member's client when it was polled.
    Polled { client: u64, answer: Answer },
    /// The answer to a commit, on the queue of commits.
    CommitResult { client: u64, attempt: Attempt, result: Result<(), &'static str> },
    /// A reply of the coordinator.
    Group { client: u64, life: u64, reply: Reply },
    /// What the reader reads.
    Shown(Shown),
}

/// The client of a member.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// The number of this client among those of the process.
    pub(super) number: u64,
    /// Whether the client exists, and is neither closed nor dead.
    pub(super) open: bool,
    /// The number of the client's present membership. A reply to an earlier membership means nothing.
    pub(super) life: u64,
    pub(super) member: Option<MemberId>,
    /// The client's generation or epoch; negative if it has none.
    pub(super) generation: i32,
    pub(super) owns: bool,
    /// Whether a revocation waits for its answer.
    pub(super) revoking: bool,
    /// The number of the client's reports that have not been polled yet. The client joins again only after they have
    /// been.
    pub(super) reports: u32,
    /// Whether the client waits for an assignment, or has to join.
    pub(super) joining: bool,
    pub(super) heard: Instant,
    /// The times of the last arrival at the coordinator and of the last arrival at the client. Messages arrive in order
    /// in both directions.
    pub(super) sent: Instant,
    pub(super) answered: Instant,
    /// The time of the last arrival in the queue of the client's reports.
    pub(super) reported: Instant,
}

impl Client {
    pub(super) fn new(number: u64, now: Instant) -> Self {
        Self {
            number,
            open: false,
            life: 0,
            member: None,
            generation: -1,
            owns: false,
            revoking: false,
            reports: 0,
            joining: false,
            heard: now,
            sent: now,
            answered: now,
            reported: now,
        }
    }
}

/// The steps that fail for a candidate that cannot prove its claim, although it is a member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lacks {
    pub(super) appends: bool,
    pub(super) reads: bool,
    pub(super) commits: bool,
    pub(super) inspections: bool,
    /// Whether the failing requests are not answered at all, instead of being denied.
    pub(super) answers: bool,
}

impl Lacks {
    pub(super) fn drawn(dice: &mut Dice) -> Self {
        let no = Self { answers: dice.percent(30), ..Self::default() };
        dice.pick(&[
            // It may no longer write.
            Self { appends: true, ..no },
            Self { appends: true, ..no },
            // The candidate may not read, so its commits are denied too.
            Self { reads: true, commits: true, answers: false, ..no },
            // The candidate's reader delivers nothing any more, and neither does any reader that replaces it.
            Self { reads: true, ..no },
            // It may not commit.
            Self { commits: true, answers: false, ..no },
            // The candidate is cut off from the partition's leader.
            Self { appends: true, reads: true, answers: true, ..no },
            // The candidate may not describe the topic.
            Self { inspections: true, ..no },
            // The candidate may do nothing with the topic.
            Self { appends: true, reads: true, commits: true, inspections: true, answers: false },
        ])
    }
}

/// The reader of the topic, which is not a member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    /// Whether the reader reads. It begins once the topic has been inspected.
    pub(super) on: bool,
    pub(super) topic: Option<TopicId>,
    pub(super) position: u64,
    pub(super) last: Instant,
    /// A fetch is under way.
    pub(super) fetching: bool,
    /// Whether the reader has a leader epoch above the log's, so that it silently fetches nothing.
    pub(super) dead: bool,
    /// The topic that the last inspection named.
    pub(super) named: Option<TopicId>,
    /// The newest record of the reader's candidate that it delivered.
    pub(super) read_back: Attempt,
    /// Since when an appended record of the reader's candidate has not been read back.
    pub(super) unread_since: Option<Instant>,
}

pub(crate) struct Process {
    /// By how much the process's wall clock is ahead of the world's, plus one second.
    pub(super) wall: Duration,
    pub(super) cut_group: u32,
    pub(super) cut_log: u32,
    /// The number of faults that keep the process's client from being polled, the time since which they do, and the
    /// client's pending reports.
    pub(super) held: u32,
    pub(super) held_since: Instant,
    pub(super) unpolled: VecDeque<Incoming>,
    /// Whether the client is not polled from its next assignment on.
    pub(super) hold_next: bool,
    /// The steps that fail, if this is the candidate that cannot prove its claim.
    pub(super) lacks: Lacks,
    pub(super) client: Client,
    pub(super) reader: Reader,
    /// The session's watch, which represents the reader.
    pub(super) watch: u64,
    pub(super) watching: bool,
    /// The records that the producer keeps until the partition's leader accepts them. Each is given up after the
    /// instant that comes with it.
    pub(super) outbox: VecDeque<(Publish, Instant)>,
    /// The number of the process's producer. Each producer keeps its own records in order.
    pub(super) producer: u64,
    /// When its last record arrives.
    pub(super) sent: Instant,
    /// Records not yet reported.
    pub(super) unanswered: BTreeSet<Attempt>,
}

impl Process {
    pub(super) fn new(plan: &Plan, dice: &mut Dice) -> Self {
        // If the group forgets its committed offset and the log its records, only the wall clocks order tokens, so they
        // may differ only a little.
        let apart = if plan.has(Kind::DeleteGroup) { 2_000 } else { 600_000 };
        Self {
            wall: dice.millis(0, apart),
            cut_group: 0,
            cut_log: 0,
            held: 0,
            held_since: Instant::ZERO,
            unpolled: VecDeque::new(),
            hold_next: false,
            lacks: Lacks::default(),
            client: Client::new(0, Instant::ZERO),
            reader: Reader::default(),
            watch: 0,
            watching: false,
            outbox: VecDeque::new(),
            producer: 0,
            sent: Instant::ZERO,
            unanswered: BTreeSet::new(),
        }
    }
}
