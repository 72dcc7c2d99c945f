//! One candidate: a process that logs its events and the answers of its probe.
//!
//! A term begins once and ends once: between two true answers in one term the candidate led throughout. So only the
//! first and the last of equal answers need to be logged, and one from time to time in between, in case the process is
//! killed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};
use incumbent::Instant;
use incumbent_rig::candidate::{Output, Report, Setup, print, serve};
use incumbent_rig::fleet::die_with_parent;

use crate::log::{Line, Log, Nanos, Reading};

/// The greatest age of a leader's last logged answer.
const REPEAT: Duration = Duration::from_millis(20);
/// If a round of questions is delayed by this much, the process was stopped or starved.
const STALL: Nanos = 80_000_000;

/// Takes part as the child of the process `parent`.
///
/// # Errors
/// The reason why it cannot take part.
pub(crate) fn run(parent: u32) -> Result<()> {
    die_with_parent(parent)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let served = runtime.block_on(serve(Logs::create));
    served.map_err(|failed| anyhow!("{} {:?}", failed.message, failed.causes))
}

/// Logs everything, and also prints reports for the controller.
#[derive(Clone)]
struct Logs {
    log: Arc<Log>,
    keys: Arc<[String]>,
    answers: Arc<Mutex<Answers>>,
}

struct Answers {
    last: Option<Nanos>,
    campaigns: Vec<Logged>,
}

impl Logs {
    fn create(setup: &Setup) -> io::Result<Self> {
        let campaigns = setup.campaigns.iter().map(|_| Logged::default()).collect();
        Ok(Self {
            log: Arc::new(Log::create(&setup.record)?),
            keys: setup.campaigns.iter().map(|campaign| campaign.key.clone()).collect(),
            answers: Arc::new(Mutex::new(Answers { last: None, campaigns })),
        })
    }
}

impl Output for Logs {
    fn reading(&self, campaign: usize, reading: Reading) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = reading.before.as_nanos();
        if let Some(from) = answers.last.replace(now).filter(|last| now - last > STALL) {
            self.log.write(&Line::Stall { from, until: now });
        }
        for reading in answers.campaigns[campaign].due(reading) {
            self.log.write(&Line::Answer { key: self.keys[campaign].clone(), reading });
        }
    }

    fn report(&self, report: Report) {
        self.log.write(&Line::Report(report.clone()));
        print(report);
    }
}

/// The answers of one campaign that have been logged.
#[derive(Debug, Default)]
struct Logged {
    last: Option<Reading>,
    /// The time of the newest logged reading.
    written: Option<Instant>,
    /// Whether that reading was the last one.
    wrote_last: bool,
}

impl Logged {
    /// The readings to log after this one.
    fn due(&mut self, reading: Reading) -> Vec<Reading> {
        let lease = |reading: &Reading| reading.leads.map(|held| (held.token, held.deadline));
        let (now, stall) = (reading.before, Duration::from_nanos(STALL));
        let mut out = Vec::new();
        let goes_on = |last: Reading| lease(&last) == lease(&reading) && now.since(last.after) <= stall;
        let goes_on = self.last.is_some_and(goes_on);
        let is_due =
            reading.leads.is_some() && self.written.is_none_or(|written| now.since(written) >= REPEAT);
        if !goes_on && !self.wrote_last {
            out.extend(self.last.take());
        }
        self.wrote_last = !goes_on || is_due;
        if self.wrote_last {
            self.written = Some(now);
            out.push(reading);
        }
        self.last = Some(reading);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::Token;
    use incumbent::incumbent_core::{Incarnation, Revision};
    use incumbent_rig::probe::Held;

    const MS: u64 = 1_000_000;

    fn reading(ms: u64, leads: Option<(u64, u64)>) -> Reading {
        let at = |ms| Instant::from_nanos(ms * MS);
        let leads = leads.map(|(token, deadline)| {
            let token = Token { incarnation: Incarnation(1), sequence: Revision(token) };
            Held { token, deadline: at(deadline), later: at(deadline) }
        });
        Reading { leads, before: at(ms), after: at(ms) + Duration::from_nanos(100) }
    }

    /// The milliseconds of the logged readings.
    fn written(readings: &[Reading]) -> Vec<u64> {
        let mut logged = Logged::default();
        readings.iter().flat_map(|one| logged.due(*one)).map(|one| one.before.as_nanos() / MS).collect()
    }

    #[test]
    fn the_first_and_the_last_of_equal_answers_are_written() {
        let leads = Some((1, 90));
        let all =
            [reading(1, None), reading(3, None), reading(5, leads), reading(7, leads), reading(9, None)];
        assert_eq!(written(&all), [1, 3, 5, 7, 9]);
        let all = [reading(1, None), reading(3, None), reading(5, None), reading(7, leads)];
        assert_eq!(written(&all), [1, 5, 7]);
    }

    #[test]
    fn a_leaders_answer_is_written_from_time_to_time() {
        let all: Vec<_> = (0..30).map(|n| reading(2 * n, Some((1, 900)))).collect();
        assert_eq!(written(&all), [0, 20, 40]);
    }

    #[test]
    fn a_renewal_is_written_with_the_answer_before_it() {
        let (old, new) = (Some((1, 90)), Some((1, 95)));
        assert_eq!(written(&[reading(1, old), reading(3, old), reading(5, new)]), [1, 3, 5]);
    }

    #[test]
    fn the_first_answer_after_a_stop_is_written() {
        let leads = Some((1, 900));
        assert_eq!(written(&[reading(1, leads), reading(3, leads), reading(400, leads)]), [1, 3, 400]);
        assert_eq!(written(&[reading(1, None), reading(400, None)]), [1, 400]);
    }
}
