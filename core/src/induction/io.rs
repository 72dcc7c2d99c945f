//! The inputs of a campaign over a consumer group, and its outputs.

use alloc::string::String;
use core::time::Duration;

use super::answers::{Failure, Loss};
use super::record::{self, Kind, Record};
use super::settings::Group;
use super::timers::Wake;
use crate::campaign::Event;
use crate::record::{Attempt, Headers};
use crate::store::Fault;
use crate::time::Instant;
use crate::token::Revision;

/// The id of a topic, which distinguishes two topics that had the same name one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u128);

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
    /// Its member id.
    pub member: String,
    /// Its generation, or its member epoch; negative where it is no member.
    pub generation: i32,
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

/// Something that happened outside of the campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// Enter the race. Does nothing for a campaign that is in it.
    Campaign,
    /// Give the leadership up, where this candidate has it, leave the group, and join it again later.
    Resign,
    /// Give the leadership up and leave the race, for good.
    Close,
    /// The candidate's own health check. An unhealthy candidate is no member of the group.
    Health(bool),
    /// The work of the term has ended.
    Drained,
    /// The user's handler failed and wants the term to end. It is lost at once; the release waits for
    /// [`Drained`](Self::Drained).
    HandlerFailed,
    /// Partition zero was assigned to this member. The client has it paused: the member fetches nothing.
    Assigned {
        /// The member id.
        member: String,
    },
    /// Partition zero is revoked, and the group waits for the answer, [`Output::Yield`].
    Revoked,
    /// The membership ended: the partition is lost already.
    GroupLost(Loss),
    /// The client has left the group and is closed: the answer to [`Output::Leave`].
    Left,
    /// The reader delivered the next record of partition zero.
    Record(Record),
    /// The reader lost its place, and goes on somewhere else.
    Gap,
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
    /// The topic was inspected.
    Inspected(Result<Topic, Fault>),
    /// The brokers refuse something that needs a person.
    Denied(Fault),
}

/// What a campaign wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Become a member of the group, with a new client where the last one is dead or has left. The client is polled from
    /// then on, whatever else happens.
    Join,
    /// Append a record, and answer with [`Input::Published`].
    Publish(Publish),
    /// Commit this offset of partition zero, and answer with [`Input::Committed`].
    Commit {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// The offset after that record's.
        offset: Revision,
    },
    /// Answer the revocation that is pending: unassign.
    Yield,
    /// Leave the group and close the client, and answer with [`Input::Left`].
    Leave,
    /// Inspect the topic, and answer with [`Input::Inspected`].
    Inspect,
    /// Report this to the user.
    Event(Event),
    /// Nothing more until an input, or until this wake-up.
    WakeAt(Option<Wake>),
}

/// What a campaign wants of a group and its topic, where a session carries it: as the [`Output`]s of the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// As [`Output::Join`]. What the client reports from then on, answers it.
    Join,
    /// As [`Output::Publish`].
    Publish(Publish),
    /// As [`Output::Commit`].
    Commit {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// The offset after that record's.
        offset: Revision,
    },
    /// As [`Output::Yield`].
    Yield,
    /// As [`Output::Leave`].
    Leave,
    /// As [`Output::Inspect`].
    Inspect,
}

/// What the client and the brokers report, where a session carries it: as the [`Input`]s of the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As [`Input::Assigned`].
    Assigned {
        /// The member id.
        member: String,
    },
    /// As [`Input::Revoked`].
    Revoked,
    /// As [`Input::GroupLost`].
    GroupLost(Loss),
    /// As [`Input::Left`].
    Left,
    /// As [`Input::Published`].
    Published {
        /// Its number.
        attempt: Attempt,
        /// Its offset, or the failure.
        result: Result<Revision, Failure>,
    },
    /// As [`Input::Committed`].
    Committed {
        /// The number of the record that it proves.
        attempt: Attempt,
        /// The client's membership afterwards, or the failure.
        result: Result<Membership, Failure>,
    },
    /// As [`Input::Inspected`].
    Inspected(Result<Topic, Fault>),
    /// As [`Input::Denied`].
    Denied(Fault),
}

/// What the reader delivers, where a session carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As [`Input::Record`].
    Record(Record),
    /// As [`Input::Gap`].
    Gap,
}

impl From<Answer> for Input {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Assigned { member } => Self::Assigned { member },
            Answer::Revoked => Self::Revoked,
            Answer::GroupLost(loss) => Self::GroupLost(loss),
            Answer::Left => Self::Left,
            Answer::Published { attempt, result } => Self::Published { attempt, result },
            Answer::Committed { attempt, result } => Self::Committed { attempt, result },
            Answer::Inspected(result) => Self::Inspected(result),
            Answer::Denied(fault) => Self::Denied(fault),
        }
    }
}

impl From<Shown> for Input {
    fn from(shown: Shown) -> Self {
        match shown {
            Shown::Record(record) => Self::Record(record),
            Shown::Gap => Self::Gap,
        }
    }
}
