//! The types that only the bare state machine takes and returns.

use incumbent_core::campaign::{Input, Misuse, Output, ReadId, Timer, Wake};
use incumbent_core::record::Attempt;
use incumbent_core::store::{Action, Expect, Put, Write};
use incumbent_core::{Instant, Revision};

use super::map;
use super::wit::{candidates, records};

pub(super) fn input(input: candidates::Input) -> Input {
    match input {
        candidates::Input::Tick => Input::Tick,
        candidates::Input::Campaign => Input::Campaign,
        candidates::Input::Resign => Input::Resign,
        candidates::Input::HandOver(successor) => Input::HandOver(successor),
        candidates::Input::Close => Input::Close,
        candidates::Input::Health(well) => Input::Health(well),
        candidates::Input::Drained => Input::Drained,
        candidates::Input::HandlerFailed => Input::HandlerFailed,
        candidates::Input::Accept => Input::Accept,
        candidates::Input::Wrote(wrote) => {
            Input::Wrote { attempt: Attempt(wrote.attempt), outcome: map::outcome(wrote.outcome) }
        }
        candidates::Input::Answered(answered) => Input::Read {
            read: ReadId(answered.read),
            result: answered.answer.map(map::entry).map_err(map::fault),
        },
        candidates::Input::Inspected(inspection) => {
            let asked_at = Instant::from_nanos(inspection.asked_at);
            Input::Inspected(
                inspection.answer.map(|info| map::store_info(info, asked_at)).map_err(map::fault),
            )
        }
        candidates::Input::Watched(message) => Input::Watched(map::entry(message)),
        candidates::Input::Watching(since) => Input::Watching { since: Instant::from_nanos(since) },
        candidates::Input::Reconnected => Input::Reconnected,
    }
}

pub(super) fn output(output: Output) -> candidates::Output {
    match output {
        Output::Write(asked) => candidates::Output::Write(write(asked)),
        Output::Read(read) => candidates::Output::Read(read.0),
        Output::Inspect { since } => candidates::Output::Inspect(since.as_nanos()),
        Output::Reconnect => candidates::Output::Reconnect,
        Output::Event(event) => candidates::Output::Event(map::event(event)),
        Output::WakeAt(at) => candidates::Output::WakeAt(at.map(wake)),
    }
}

pub(super) fn misuse(misuse: Misuse) -> candidates::Misuse {
    match misuse {
        Misuse::UnknownAttempt(attempt) => candidates::Misuse::UnknownAttempt(attempt.0),
        Misuse::UnknownRead(read) => candidates::Misuse::UnknownRead(read.0),
        Misuse::NotAName => candidates::Misuse::NotAName,
    }
}

fn write(write: Write) -> candidates::Write {
    let expect = match write.expect {
        Expect::Absent => candidates::Expect::Absent,
        Expect::Revision(Revision(revision)) => candidates::Expect::Revision(revision),
    };
    let action = match write.action {
        Action::Acquire(record) => candidates::Action::Acquire(put(record)),
        Action::Renew(record) => candidates::Action::Renew(put(record)),
        Action::Release { headers } => candidates::Action::Release(headers),
    };
    candidates::Write { attempt: write.attempt.0, expect, action }
}

fn put(put: Put) -> records::Put {
    records::Put { value: put.value, headers: put.headers, lease: map::duration(put.lease) }
}

fn wake(wake: Wake) -> candidates::Wake {
    let timer = match wake.timer {
        Timer::Deadline => candidates::Timer::Deadline,
        Timer::Attempt => candidates::Timer::Attempt,
        Timer::Read => candidates::Timer::Read,
        Timer::Inspect => candidates::Timer::Inspect,
        Timer::Close => candidates::Timer::Close,
        Timer::Release => candidates::Timer::Release,
        Timer::Drain => candidates::Timer::Drain,
        Timer::Win => candidates::Timer::Win,
        Timer::Renew => candidates::Timer::Renew,
        Timer::Retry => candidates::Timer::Retry,
        Timer::Splay => candidates::Timer::Splay,
        Timer::Acquire => candidates::Timer::Acquire,
        Timer::Poll => candidates::Timer::Poll,
    };
    candidates::Wake { at: wake.at.as_nanos(), timer }
}
