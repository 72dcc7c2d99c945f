//! Conversion between the types that only world `engine` has and the core's, in both directions. Like `convert`, which
//! it needs, it is compiled here and in the tests of the host.

use super::convert::{self, carried, entry, message, same_variants, store_info};
use super::incumbent_core::campaign::{Answer, Input, Misuse, Output, ReadId, Request, Timer, Wake};
use super::incumbent_core::record::Attempt;
use super::incumbent_core::store::{Action, Expect, Write};
use super::incumbent_core::{Instant, Revision};
use super::wit::candidates;

same_variants!(candidates::Timer, Timer: Deadline Attempt Read Inspect Close Release Drain Win Renew Retry Splay Acquire Poll);

impl From<candidates::Input> for Input {
    fn from(input: candidates::Input) -> Self {
        use candidates::Input as Wit;
        match input {
            Wit::Tick => Self::Tick,
            Wit::Campaign => Self::Campaign,
            Wit::Resign => Self::Resign,
            Wit::HandOver(successor) => Self::HandOver(successor),
            Wit::Close => Self::Close,
            Wit::Health(healthy) => Self::Health(healthy),
            Wit::Drained => Self::Drained,
            Wit::HandlerFailed => Self::HandlerFailed,
            Wit::Accept => Self::Accept,
            Wit::Wrote(candidates::Wrote { attempt, outcome }) => {
                Self::Answered(Answer::Wrote { attempt: Attempt(attempt), outcome: outcome.into() })
            }
            Wit::Answered(candidates::Answered { read, answer }) => Self::Answered(Answer::Read {
                read: ReadId(read),
                result: answer.map(entry).map_err(Into::into),
            }),
            Wit::Inspected(candidates::Inspection { asked_at, answer }) => {
                let info = |info| store_info(info, Instant::from_nanos(asked_at));
                Self::Inspected(answer.map(info).map_err(Into::into))
            }
            Wit::Watched(message) => Self::Watched(entry(message)),
            Wit::Watching(since) => Self::Watching { since: Instant::from_nanos(since) },
            Wit::Reconnected => Self::Reconnected,
        }
    }
}

impl From<Input> for candidates::Input {
    fn from(input: Input) -> Self {
        match input {
            Input::Tick => Self::Tick,
            Input::Campaign => Self::Campaign,
            Input::Resign => Self::Resign,
            Input::HandOver(successor) => Self::HandOver(successor),
            Input::Close => Self::Close,
            Input::Health(healthy) => Self::Health(healthy),
            Input::Drained => Self::Drained,
            Input::HandlerFailed => Self::HandlerFailed,
            Input::Accept => Self::Accept,
            Input::Answered(Answer::Wrote { attempt, outcome }) => {
                Self::Wrote(candidates::Wrote { attempt: attempt.0, outcome: outcome.into() })
            }
            Input::Answered(Answer::Read { read, result }) => {
                let answer = result.map(|entry| message(&entry)).map_err(Into::into);
                Self::Answered(candidates::Answered { read: read.0, answer })
            }
            Input::Inspected(result) => {
                let asked_at = result.as_ref().map_or(0, |info| info.asked_at.as_nanos());
                let answer = result.map(Into::into).map_err(Into::into);
                Self::Inspected(candidates::Inspection { asked_at, answer })
            }
            Input::Watched(entry) => Self::Watched(message(&entry)),
            Input::Watching { since } => Self::Watching(since.as_nanos()),
            Input::Reconnected => Self::Reconnected,
        }
    }
}

impl From<Output> for candidates::Output {
    fn from(output: Output) -> Self {
        match output {
            Output::Ask(Request::Write(write)) => Self::Write(write.into()),
            Output::Ask(Request::Read(read)) => Self::Read(read.0),
            Output::Inspect { since } => Self::Inspect(since.as_nanos()),
            Output::Reconnect => Self::Reconnect,
            Output::Event(event) => Self::Event(event.into()),
            Output::WakeAt(wake) => Self::WakeAt(wake.map(Into::into)),
        }
    }
}

/// The error is the text of a warning of a kind that this version does not know.
impl TryFrom<candidates::Output> for Output {
    type Error = String;

    fn try_from(output: candidates::Output) -> Result<Self, String> {
        Ok(match output {
            candidates::Output::Write(write) => Self::Ask(Request::Write(write.into())),
            candidates::Output::Read(read) => Self::Ask(Request::Read(ReadId(read))),
            candidates::Output::Inspect(since) => Self::Inspect { since: Instant::from_nanos(since) },
            candidates::Output::Reconnect => Self::Reconnect,
            candidates::Output::Event(event) => Self::Event(event.try_into()?),
            candidates::Output::WakeAt(wake) => Self::WakeAt(wake.map(Into::into)),
        })
    }
}

impl From<Write> for candidates::Write {
    fn from(write: Write) -> Self {
        let expect = match write.expect {
            Expect::Absent => candidates::Expect::Absent,
            Expect::Revision(Revision(revision)) => candidates::Expect::Revision(revision),
        };
        let action = match write.action {
            Action::Acquire(put) => candidates::Action::Acquire(put.into()),
            Action::Renew(put) => candidates::Action::Renew(put.into()),
            Action::Release { headers } => candidates::Action::Release(carried(headers)),
        };
        Self { attempt: write.attempt.0, expect, action }
    }
}

impl From<candidates::Write> for Write {
    fn from(write: candidates::Write) -> Self {
        let expect = match write.expect {
            candidates::Expect::Absent => Expect::Absent,
            candidates::Expect::Revision(revision) => Expect::Revision(Revision(revision)),
        };
        let action = match write.action {
            candidates::Action::Acquire(put) => Action::Acquire(put.into()),
            candidates::Action::Renew(put) => Action::Renew(put.into()),
            candidates::Action::Release(headers) => Action::Release { headers: convert::headers(headers) },
        };
        Self { attempt: Attempt(write.attempt), expect, action }
    }
}

impl From<Wake> for candidates::Wake {
    fn from(wake: Wake) -> Self {
        Self { at: wake.at.as_nanos(), timer: wake.timer.into() }
    }
}

impl From<candidates::Wake> for Wake {
    fn from(wake: candidates::Wake) -> Self {
        Self { at: Instant::from_nanos(wake.at), timer: wake.timer.into() }
    }
}

impl From<Misuse> for candidates::Misuse {
    fn from(misuse: Misuse) -> Self {
        match misuse {
            Misuse::UnknownAttempt(attempt) => Self::UnknownAttempt(attempt.0),
            Misuse::UnknownRead(read) => Self::UnknownRead(read.0),
            Misuse::NotAName => Self::NotAName,
        }
    }
}
