//! Repeatedly asks candidates whether they lead, and logs what the answers prove.
//!
//! A term begins once and ends once: between two true answers in one term the candidate led throughout. So
//! only the first and the last of equal answers need to be logged, and in between one from time to time,
//! for a process that is killed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use incumbent::{Candidate, Clock};
use incumbent_rig::probe::{Probe, Reading};

use crate::log::{Held, Line, Log, Nanos};

/// The pause between two rounds of questions.
const PAUSE: Duration = Duration::from_millis(2);
/// The greatest age of a leader's last logged answer.
const REPEAT: Nanos = 20_000_000;
/// The delay of a round that shows that the process was stopped or starved.
const STALL: Nanos = 80_000_000;

/// Starts to ask; it ends when the result is dropped.
///
/// # Errors
/// No thread can be started.
pub(crate) fn start(candidates: Vec<Candidate>, log: Arc<Log>) -> io::Result<Probe> {
    let keys: Vec<String> = candidates.iter().map(|candidate| candidate.election().to_owned()).collect();
    let mut books: Vec<Book> = candidates.iter().map(|_| Book::default()).collect();
    let clock = Clock::system();
    let mut last = clock.now().as_nanos();
    Probe::start(candidates, clock, PAUSE, move |index, reading| {
        let reading = Answer::of(reading);
        if reading.before - last > STALL {
            log.write(&Line::Stall { from: last, until: reading.before });
        }
        last = reading.before;
        for Answer { leads, before, after } in books[index].take(reading) {
            log.write(&Line::Answer { key: keys[index].clone(), leads, before, after });
        }
    })
}

/// A question and its answer, as they are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    leads: Option<Held>,
    before: Nanos,
    after: Nanos,
}

impl Answer {
    fn of(reading: Reading) -> Self {
        let Reading { before, leads, after } = reading;
        let leads = leads.map(|held| Held {
            token: held.token.to_string(),
            deadline: held.deadline.as_nanos(),
            later: held.later.as_nanos(),
        });
        Self { leads, before: before.as_nanos(), after: after.as_nanos() }
    }
}

/// The answers of one candidate that have been logged.
#[derive(Debug, Default)]
struct Book {
    last: Option<Answer>,
    /// The time of the newest logged reading.
    written: Option<Nanos>,
    /// Whether that was the last reading.
    wrote_last: bool,
}

impl Book {
    /// The readings to log after this one.
    fn take(&mut self, reading: Answer) -> Vec<Answer> {
        let lease = |reading: &Answer| reading.leads.as_ref().map(|held| (held.token.clone(), held.deadline));
        let mut out = Vec::new();
        let goes_on = self.last.as_ref().is_some_and(|last| {
            lease(last) == lease(&reading) && reading.before.saturating_sub(last.after) <= STALL
        });
        let is_due = reading.leads.is_some()
            && self.written.is_none_or(|written| reading.before.saturating_sub(written) >= REPEAT);
        if !goes_on && !self.wrote_last {
            out.extend(self.last.take());
        }
        self.wrote_last = !goes_on || is_due;
        if self.wrote_last {
            self.written = Some(reading.before);
            out.push(reading.clone());
        }
        self.last = Some(reading);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn reading(ms: Nanos, leads: Option<(&str, Nanos)>) -> Answer {
        let leads = leads.map(|(token, deadline)| {
            let deadline = deadline * MS;
            Held { token: token.into(), deadline, later: deadline }
        });
        Answer { leads, before: ms * MS, after: ms * MS + 100 }
    }

    /// The milliseconds of the logged readings.
    fn written(readings: &[Answer]) -> Vec<Nanos> {
        let mut book = Book::default();
        readings.iter().flat_map(|one| book.take(one.clone())).map(|one| one.before / MS).collect()
    }

    #[test]
    fn of_equal_answers_the_first_and_the_last_are_written() {
        let leads = Some(("a", 90));
        let all =
            [reading(1, None), reading(3, None), reading(5, leads), reading(7, leads), reading(9, None)];
        assert_eq!(written(&all), [1, 3, 5, 7, 9]);
        let all = [reading(1, None), reading(3, None), reading(5, None), reading(7, leads)];
        assert_eq!(written(&all), [1, 5, 7]);
    }

    #[test]
    fn a_leader_is_written_down_every_now_and_then() {
        let all: Vec<_> = (0..30).map(|n| reading(2 * n, Some(("a", 900)))).collect();
        assert_eq!(written(&all), [0, 20, 40]);
    }

    #[test]
    fn a_renewal_is_written_down_with_the_answer_before_it() {
        let (old, new) = (Some(("a", 90)), Some(("a", 95)));
        assert_eq!(written(&[reading(1, old), reading(3, old), reading(5, new)]), [1, 3, 5]);
    }

    #[test]
    fn the_first_answer_after_a_stop_is_written() {
        let leads = Some(("a", 900));
        assert_eq!(written(&[reading(1, leads), reading(3, leads), reading(400, leads)]), [1, 3, 400]);
        assert_eq!(written(&[reading(1, None), reading(400, None)]), [1, 400]);
    }
}
