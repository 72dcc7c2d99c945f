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
use crate::text::write_hex;
use crate::time::Instant;
use crate::token::Revision;

/// The id of a topic, which tells apart two topics that had the same name one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u128);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, (self.0 >> 64) as u64)?;
        write_hex(f, self.0 as u64)
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
    /// The topic's id; `None` if the brokers report none.
    pub id: Option<TopicId>,
    /// The time of day since 1970, by the caller's wall clock. It becomes the incarnation of a topic without records.
    pub time_of_day: Duration,
}

/// What a campaign needs to know about its session's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The group.
    pub group: Group,
    /// A reading of the caller's clock, taken together with the time of day since 1970, which becomes the incarnation
    /// of a topic without records.
    pub read_at: Instant,
    /// See [`read_at`](Self::read_at).
    pub time_of_day: Duration,
}

/// The membership that the client reports about itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Membership {
    /// The client's member id. Under the consumer protocol the client keeps it for life, so it proves nothing.
    pub member: String,
    /// The client's generation, or its member epoch; negative if it is no member.
    pub generation: i32,
    /// Whether partition zero is in its assignment, and the assignment is not lost. The answer to a commit can overtake
    /// the report of a rebalance (librdkafka: high priority in the same queue), so the client itself is asked.
    pub owns: bool,
}

/// A record to append to partition zero through an idempotent producer, acknowledged by all replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// The record's number; the answer carries it too.
    pub attempt: Attempt,
    /// The record's purpose.
    pub kind: Kind,
    /// The candidate's name.
    pub name: String,
    /// The record's headers.
    pub headers: Headers,
}

impl Publish {
    /// The record's value, with the time of day since 1970.
    pub fn value(&self, time_of_day: Duration) -> String {
        record::value(time_of_day, &self.name)
    }
}

/// What happens to a campaign. The group chooses its owner, so nothing is handed over. [`Request::Inspect`] inspects
/// the topic, and there is no inspection of a store.
pub type Input = candidacy::Input<Answer, Shown>;

/// What a campaign wants done, in order.
pub type Output = candidacy::Output<Request, Timer>;

/// What a campaign wants from its group and its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Join the group, with a new client if the last one is dead or has left. From then on keep polling the client; its
    /// reports are the answer.
    Join,
    /// Append a record, and answer with [`Answer::Published`].
    Publish(Publish),
    /// Commit this offset of partition zero, and answer with [`Answer::Committed`].
    Commit {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// The offset after that record's.
        offset: Revision,
        /// The metadata of the commit, at most 60 bytes. Empty if the candidate knows no token.
        metadata: String,
    },
    /// Ask the coordinator for the metadata of the committed offset of partition zero, and answer with
    /// [`Answer::CommittedToken`].
    Committed {
        /// The number of the question; the answer carries it too.
        number: u64,
    },
    /// Answer the pending revocation: unassign.
    Yield,
    /// Leave the group and close the client, and answer with [`Answer::Left`].
    Leave,
    /// Inspect the topic, and answer with [`Answer::Inspected`].
    Inspect,
    /// Ask the coordinator for the group's members, without being one, and answer with [`Answer::Members`].
    Members,
}

/// The answer to a [`Request`], or a report of the client about its membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Partition zero was assigned to this member. The client has paused it, because a member fetches nothing.
    Assigned {
        /// The member id.
        member: String,
    },
    /// Partition zero is being revoked, and the group waits for the answer, [`Request::Yield`].
    Revoked,
    /// The membership ended: the partition is already lost.
    GroupLost(Loss),
    /// The client has left the group and is closed.
    Left,
    /// A record was appended, or not.
    Published {
        /// The record's number.
        attempt: Attempt,
        /// The record's offset, or the failure.
        result: Result<Revision, Failure>,
    },
    /// A commit was answered.
    Committed {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// What the client reported about itself when asked *after* the answer arrived; or the failure.
        result: Result<Membership, Failure>,
    },
    /// The metadata of the committed offset was asked for.
    CommittedToken {
        /// The number of the question.
        number: u64,
        /// The metadata, empty if the group has committed no offset or no metadata; or the failure, as for a commit.
        result: Result<String, Failure>,
    },
    /// The topic was inspected.
    Inspected(Result<Topic, Fault>),
    /// The members of the group were counted. Zero if the group does not exist.
    Members(Result<usize, Fault>),
    /// The brokers refuse something; a person has to act.
    Denied(Fault),
}

/// What the reader of partition zero delivers.
#[allow(clippy::large_enum_variant, reason = "nearly every value is a record")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The next record.
    Record(Record),
    /// The reader lost its position and continues elsewhere.
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
