//! The events in the worlds of a key, in words.

use incumbent_core::campaign::{Answer, Input, Request};
use incumbent_core::record::Entry;
use incumbent_core::store::{Action as Put, Expect, Outcome, Write};

use super::Key;
use super::action::{Action, Unresolved};
use super::message::{Body, Message};
use crate::node::name;
use crate::state::State;

pub(super) fn describe(state: &State<Key>, action: Action) -> String {
    let at = |place: usize| state.store.net.get(place).map_or_else(String::new, |message| carried(message));
    let who = name;
    match action {
        Action::Expire => "the record vanishes".into(),
        Action::Arrive(place) => at(place),
        Action::Lose(place) => format!("LOST: {}", at(place)),
        Action::LoseAnswer(place) => format!("ITS ANSWER LOST: {}", at(place)),
        Action::Hold(place) => format!("LATE: {}", at(place)),
        Action::HoldAnswer(place) => format!("ITS ANSWER LATE: {}", at(place)),
        Action::Copy(place) => format!("DOUBLED: {}", at(place)),
        Action::Unresolved(place, unresolved) => {
            let how = match unresolved {
                Unresolved::Busy => "BUSY",
                Unresolved::NotSent => "NOT SENT",
                Unresolved::Applied => "UNKNOWN, APPLIED",
                Unresolved::Later => "UNKNOWN, PERHAPS LATER",
            };
            format!("{how}: {}", at(place))
        }
        Action::Stale(place) => format!("A SERVER THAT LAGS ANSWERS: {}", at(place)),
        Action::Deliver(place) => format!("{}'s watch", who(place)),
        Action::Stall(place) => format!("{}'s watch FALLS SILENT", who(place)),
        Action::Begin(place) => format!("{}'s campaign begins", who(place)),
        Action::Delete => "AN OPERATOR DELETES the key".into(),
        Action::Purge => "AN OPERATOR PURGES the key".into(),
        Action::Seize => "A STRANGER WRITES a record".into(),
        Action::Close(place) => format!("{} is CLOSED", who(place)),
        Action::Recreate => "THE STORE IS MADE AGAIN".into(),
        Action::Deny(place) => format!("{}'s INSPECTIONS ARE DENIED from now on", who(place)),
    }
}

fn carried(message: &Message) -> String {
    let who = name(message.node);
    match &message.body {
        Body::Write(write, _) => format!("{who}'s {}", written(write)),
        Body::Read(read) => format!("{who}'s read {}", read.0),
        Body::Inspect(_) => format!("{who}'s inspection"),
        Body::Wrote(attempt, _) => format!("the answer to {who}'s write #{}", attempt.0),
        Body::Found(read, _) => format!("the answer to {who}'s read {}", read.0),
        Body::Inspected(_) => format!("the answer to {who}'s inspection"),
    }
}

fn written(write: &Write) -> String {
    let what = match write.action {
        Put::Acquire(_) => "acquire",
        Put::Renew(_) => "renewal",
        Put::Release { .. } => "release",
    };
    let expect = match write.expect {
        Expect::Absent => "absence".into(),
        Expect::Revision(revision) => revision.0.to_string(),
    };
    format!("{what} #{} over {expect}", write.attempt.0)
}

fn there(entry: &Entry) -> String {
    match entry {
        Entry::Vacant => "nothing".into(),
        Entry::Live(record) => match record.write_id {
            Some(write_id) => {
                format!("{}'s record {} (#{})", record.candidate, record.revision.0, write_id.attempt.0)
            }
            None => format!("{}'s record {}", record.candidate, record.revision.0),
        },
        Entry::Released(release) => format!("a release {} that owes {:?}", release.revision.0, release.owed),
        Entry::Deleted { revision, .. } => format!("a deletion {}", revision.0),
        Entry::Expired { revision } => format!("an expiry {}", revision.0),
    }
}

/// An answer, or what a watch showed.
pub(super) fn received(input: &Input) -> String {
    match input {
        Input::Answered(Answer::Wrote { attempt, outcome }) => match outcome {
            Outcome::Applied { revision, .. } => {
                format!("receives that #{} is applied at {}", attempt.0, revision.0)
            }
            Outcome::Refused { current } => {
                format!("receives that #{} is refused because {} is there", attempt.0, current.0)
            }
            other => format!("receives {other:?} for #{}", attempt.0),
        },
        Input::Answered(Answer::Read { read, result: Ok(entry) }) => {
            format!("reads ({}) {}", read.0, there(entry))
        }
        Input::Watched(entry) => format!("receives {}", there(entry)),
        other => format!("is handed {other:?}"),
    }
}

pub(super) fn asked(request: &Request) -> String {
    match request {
        Request::Write(write) => format!("sends {}", written(write)),
        Request::Read(read) => format!("reads the key ({})", read.0),
    }
}
