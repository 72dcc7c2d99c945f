//! The inputs of a campaign over a consumer group, and its outputs.

use alloc::string::String;
use core::fmt;
use core::num::ParseIntError;
use core::str::FromStr;
use core::time::Duration;

use super::answers::{Failure, Loss};
use super::record::{self, Kind, Record};
use super::settings::Group;
use super::timers::Timer;
use crate::candidacy;
use crate::record::{Attempt, Headers};
use crate::store::Fault;
use crate::time::Instant;
use crate::token::Revision;

/// The id of a topic, which distinguishes two topics that had the same name one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u128);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for TopicId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

/// The result of an inspection of the leader topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    /// The caller's clock, read *before* the brokers were asked.
    pub asked_at: Instant,
    /// The topic's id; `None` where the brokers report none.
    pub id: Option<TopicId>,
    /// The time of day since 1970, by the caller's wall clock. It numbers the incarnation of a topic without records.
    pub time_of_day: Duration,
}

/// What a campaign has to know of the connection on which a session begins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The group.
    pub group: Group,
    /// A reading of the caller's clock, and the time of day since 1970 then: it numbers the incarnation of a topic without
    /// records.
    pub read_at: Instant,
    /// See [`read_at`](Self::read_at).
    pub time_of_day: Duration,
}

/// The membership that the client reports of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Membership {
    /// Its member id. With the consumer protocol it is the client's for life, and proves nothing.
    pub member: String,
    /// Its generation, or its member epoch; negative where it is no member.
    pub generation: i32,
    /// Partition zero is in its assignment, and the assignment is not lost. The answer to a commit overtakes the report of a
    /// rebalance (librdkafka: high priority in the same queue), so the client is asked for it.
    pub owns: bool,
}

/// A record to append to partition zero, by an idempotent producer, acknowledged by all replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// Its number, under which the answer comes back.
    pub attempt: Attempt,
    /// Its purpose.
    pub kind: Kind,
    /// The candidate's name.
    pub name: String,
    /// Its headers.
    pub headers: Headers,
}

impl Publish {
    /// The record's value, with the time of day since 1970.
    pub fn value(&self, time_of_day: Duration) -> String {
        record::value(time_of_day, &self.name)
    }
}

/// What happens to a campaign. The group chooses its owner, so nothing is handed over; and the topic is inspected by
/// [`Request::Inspect`], not as a store.
pub type Input = candidacy::Input<Answer, Shown>;

/// What a campaign wants done, in order.
pub type Output = candidacy::Output<Request, Timer>;

/// What a campaign wants of its group and its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Become a member of the group, with a new client where the last one is dead or has left. The client is polled from
    /// then on, whatever else happens; what it reports answers this.
    Join,
    /// Append a record, and answer with [`Answer::Published`].
    Publish(Publish),
    /// Commit this offset of partition zero, and answer with [`Answer::Committed`].
    Commit {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// The offset after that record's.
        offset: Revision,
        /// The metadata of the commit, of at most 60 bytes. Empty where the candidate knows no token.
        metadata: String,
    },
    /// Ask the coordinator for the metadata of the committed offset of partition zero, and answer with
    /// [`Answer::CommittedToken`].
    Committed {
        /// The number of the question, under which the answer comes back.
        number: u64,
    },
    /// Answer the revocation that is pending: unassign.
    Yield,
    /// Leave the group and close the client, and answer with [`Answer::Left`].
    Leave,
    /// Inspect the topic, and answer with [`Answer::Inspected`].
    Inspect,
    /// Ask the coordinator for the group's members, as one that is none, and answer with [`Answer::Members`].
    Members,
}

/// The answer to a [`Request`], or what the client reports of its membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Partition zero was assigned to this member. The client has it paused: the member fetches nothing.
    Assigned {
        /// The member id.
        member: String,
    },
    /// Partition zero is revoked, and the group waits for the answer, [`Request::Yield`].
    Revoked,
    /// The membership ended: the partition is lost already.
    GroupLost(Loss),
    /// The client has left the group and is closed.
    Left,
    /// A record was appended, or not.
    Published {
        /// Its number.
        attempt: Attempt,
        /// Its offset, or the failure.
        result: Result<Revision, Failure>,
    },
    /// A commit was answered.
    Committed {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// What the client reported of itself when it was asked *after* the answer came; or the failure.
        result: Result<Membership, Failure>,
    },
    /// The metadata of the committed offset was asked for.
    CommittedToken {
        /// The number of the question.
        number: u64,
        /// The metadata, empty where the group has committed nothing or none; or the failure, as of a commit.
        result: Result<String, Failure>,
    },
    /// The topic was inspected.
    Inspected(Result<Topic, Fault>),
    /// The members of the group were counted. None where the group does not exist.
    Members(Result<usize, Fault>),
    /// The brokers refuse something that needs a person.
    Denied(Fault),
}

/// What the reader of partition zero delivers.
#[allow(clippy::large_enum_variant, reason = "nearly all that is shown is records")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The next record.
    Record(Record),
    /// It lost its place, and goes on somewhere else.
    Gap,
}

impl From<Answer> for Input {
    fn from(answer: Answer) -> Self {
        Self::Answered(answer)
    }
}

impl From<Shown> for Input {
    fn from(shown: Shown) -> Self {
        Self::Watched(shown)
    }
}
