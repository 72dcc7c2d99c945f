//! The path to a state, for people.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Event, Input, Output, Request};
use incumbent_core::record::Entry;
use incumbent_core::store::{Action as Put, Expect, Outcome, Write};
use stateright::Path;

use crate::action::{Action, Unresolved};
use crate::message::{Body, Message};
use crate::node::name;
use crate::property::{Property, vacancy};
use crate::state::State;
use crate::step::step;
use crate::world::World;

/// A line for each action, with its time and its outputs.
pub(crate) fn render(world: &World, property: Property, path: Path<State, Action>) -> String {
    let mut text = String::new();
    let steps = path.into_vec();
    let mut last = None;
    for (state, action) in &steps {
        let Some(action) = action else {
            last = Some(state);
            break;
        };
        if matches!(action, Action::Pass(_)) {
            continue;
        }
        let mut came = Vec::new();
        step(world, state, *action, Some(&mut came));
        came.retain(|line| !line.is_empty());
        only_the_last_waits(&mut came);
        let _ = write!(text, "{:>3} s  {}", state.now, describe(state, *action));
        if !came.is_empty() {
            let _ = write!(text, ": {}", came.join("; "));
        }
        text.push('\n');
    }
    if let Some(last) = last.or(steps.last().map(|(state, _)| state)) {
        let says = match &last.broken {
            Some(broken) => broken.says.clone(),
            None => vacancy(world, last).err().unwrap_or_default(),
        };
        let _ = writeln!(text, "{:>3} s  {}: {says}", last.now, property.name());
    }
    let _ = writeln!(text, "       {}: {}", property.name(), property.states());
    text
}

/// Only the last of several wake-ups counts that a candidate asks for.
fn only_the_last_waits(came: &mut Vec<String>) {
    let waits = |line: &str| line.split_once(" waits until ").map(|(who, _)| who.to_owned());
    for place in (0..came.len()).rev() {
        if let Some(who) = waits(&came[place])
            && came[place + 1..].iter().any(|line| waits(line).as_ref() == Some(&who))
        {
            came.remove(place);
        }
    }
}

fn describe(state: &State, action: Action) -> String {
    let at = |place: usize| state.net.get(place).map_or_else(String::new, |message| carried(message));
    let who = name;
    match action {
        Action::Pass(_) => String::new(),
        Action::Wake(place) => format!("{}'s timer fires", who(place)),
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
        Action::Drained(place) => format!("{}'s work is done", who(place)),
        Action::Crash(place) => format!("{} CRASHES", who(place)),
        Action::Start(place) => format!("{} STARTS", who(place)),
        Action::Begin(place) => format!("{}'s campaign begins", who(place)),
        Action::Pause(place) => format!("{} STOPS", who(place)),
        Action::Resume(place) => format!("{} goes on", who(place)),
        Action::Delete => "AN OPERATOR DELETES the key".into(),
        Action::Purge => "AN OPERATOR PURGES the key".into(),
        Action::Seize => "A STRANGER WRITES a record".into(),
        Action::Resign(place) => format!("{} is asked to RESIGN", who(place)),
        Action::HandOver(place) => format!("{} is asked to HAND OVER", who(place)),
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

/// An input of a candidate, in words.
pub(crate) fn received(input: &Input) -> String {
    match input {
        Input::Tick => "wakes".into(),
        Input::Answered(Answer::Wrote { attempt, outcome }) => match outcome {
            Outcome::Applied { revision, .. } => {
                format!("receives that #{} is applied at {}", attempt.0, revision.0)
            }
            Outcome::Refused { current } => {
                format!("receives that #{} is refused, {} is there", attempt.0, current.0)
            }
            other => format!("receives {other:?} for #{}", attempt.0),
        },
        Input::Answered(Answer::Read { read, result: Ok(entry) }) => {
            format!("reads ({}) {}", read.0, there(entry))
        }
        Input::Watched(entry) => format!("receives {}", there(entry)),
        Input::Inspected(Ok(info)) => format!("is shown incarnation {}", info.incarnation.0),
        Input::Watching { .. } => "begins a watch".into(),
        Input::Reconnected => "is connected again".into(),
        Input::Campaign => "campaigns".into(),
        Input::Resign => "resigns".into(),
        Input::HandOver(next) => format!("hands over to {next}"),
        Input::Close => "closes".into(),
        Input::Drained => "has drained".into(),
        other => format!("is handed {other:?}"),
    }
}

/// An output of a candidate, in words; nothing where it is of no interest.
pub(crate) fn emitted(world: &World, place: usize, output: &Output) -> String {
    let who = name(place);
    match output {
        Output::Ask(Request::Write(write)) => format!("{who} sends {}", written(write)),
        Output::Ask(Request::Read(read)) => format!("{who} asks what is there ({})", read.0),
        Output::Reconnect => format!("{who} connects again"),
        Output::Event(Event::Won(term)) => {
            format!("{who} reports WON {}-{}", term.token.incarnation.0, term.token.sequence.0)
        }
        Output::Event(Event::Lost { term, reason }) => {
            format!("{who} reports LOST {} ({reason})", term.token.sequence.0)
        }
        Output::Event(Event::Draining { until, .. }) => {
            format!("{who} drains until {:.2} s", world.clock(place).seconds(*until))
        }
        Output::Event(Event::Warning(warning)) => format!("{who} reports a warning: {warning}"),
        Output::WakeAt(Some(wake))
            if wake.at.since(world.clock(place).at(0)) < Duration::from_secs(1 << 20) =>
        {
            format!("{who} waits until {:.2} s ({:?})", world.clock(place).seconds(wake.at), wake.timer)
        }
        _ => String::new(),
    }
}
