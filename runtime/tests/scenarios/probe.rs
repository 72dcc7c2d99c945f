//! Whether two candidates ever led at once, by their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use incumbent::{Candidate, Clock, Instant};
use incumbent_rig::check::{Leadership, overlaps};

use crate::actor::{Actor, Log, check_terms};

/// The interval between questions to a candidate.
const EVERY: Duration = Duration::from_micros(500);
/// Between two answers further apart a candidate may have lost and won again.
const GAP: Duration = Duration::from_millis(50);

/// A candidate's answer, with the clock just before and just after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) leads: bool,
    pub(crate) before: Instant,
    pub(crate) after: Instant,
}

impl Sample {
    pub(crate) fn of(candidate: &Candidate, clock: &Clock) -> Self {
        let before = clock.now();
        let leads = candidate.is_leader();
        Self { leads, before, after: clock.now() }
    }
}

/// A span throughout which a candidate certainly led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

/// The spans in which one candidate led.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    spans: Vec<Span>,
    leading: bool,
}

impl Answers {
    pub(crate) fn add(&mut self, sample: Sample) {
        let goes_on = |span: &&mut Span| sample.before.since(span.until) <= GAP;
        match self.spans.last_mut().filter(|_| self.leading).filter(goes_on) {
            _ if !sample.leads => {}
            Some(span) => span.until = sample.before,
            None => self.spans.push(Span { from: sample.after, until: sample.after }),
        }
        self.leading = sample.leads;
    }

    /// The spans, in order.
    #[allow(dead_code, reason = "each binary uses a part")]
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The last time it is known to lead.
    pub(crate) fn last_led(&self) -> Instant {
        self.spans.last().map_or(Instant::ZERO, |span| span.until)
    }
}

/// Fails the test if two of these candidates ever led at once.
pub(crate) fn never_two<'a>(all: impl IntoIterator<Item = (&'a str, &'a Answers)>) {
    let led = |who: &str, span: &Span| Leadership {
        who: who.into(),
        from: span.from.as_nanos(),
        until: span.until.as_nanos(),
        token: (),
    };
    let spans =
        all.into_iter().flat_map(|(who, answers)| answers.spans.iter().map(move |span| led(who, span)));
    let all: Vec<_> = spans.collect();
    assert_eq!(overlaps(&all), [], "two led at once");
}

/// Asks the candidates of one election all the time.
pub(crate) struct Probe {
    logs: Vec<Log>,
    names: Vec<String>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Answers>>>,
}

impl Probe {
    pub(crate) fn of(actors: &[&Actor]) -> Self {
        let candidates: Vec<Candidate> = actors.iter().map(|actor| actor.candidate.clone()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let clock = Clock::system();
            let mut answers = vec![Answers::default(); candidates.len()];
            while !stopped.load(Ordering::Relaxed) {
                for (candidate, answers) in candidates.iter().zip(&mut answers) {
                    answers.add(Sample::of(candidate, &clock));
                }
                thread::sleep(EVERY);
            }
            answers
        });
        Self {
            logs: actors.iter().map(|actor| actor.log().clone()).collect(),
            names: actors.iter().map(|actor| actor.candidate.name().to_string()).collect(),
            stop,
            thread: Some(thread),
        }
    }

    /// Ends the checks: fails the test if two ever led at once, by their answers or by their events.
    /// Returns the answers, in the order of the actors.
    pub(crate) fn verdict(mut self) -> Vec<Answers> {
        self.stop.store(true, Ordering::Relaxed);
        let answers = self.thread.take().unwrap().join().unwrap();
        never_two(self.names.iter().map(String::as_str).zip(&answers));
        check_terms(&self.logs);
        answers
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

mod tests {
    use super::*;

    /// Answers given at these milliseconds, each without delay.
    fn answers(given: &[(u64, bool)]) -> Answers {
        let mut answers = Answers::default();
        for (millis, leads) in given {
            let at = Instant::ZERO + Duration::from_millis(*millis);
            answers.add(Sample { leads: *leads, before: at, after: at });
        }
        answers
    }

    fn spans(given: &[(u64, bool)]) -> Vec<(u128, u128)> {
        let millis = |at: Instant| at.since(Instant::ZERO).as_millis();
        answers(given).spans.iter().map(|span| (millis(span.from), millis(span.until))).collect()
    }

    #[test]
    fn a_candidate_led_between_answers_that_said_so_and_were_close_together() {
        assert_eq!(spans(&[(1, true), (2, true), (3, true), (4, false), (5, true)]), [(1, 3), (5, 5)]);
        assert_eq!(spans(&[(1, true), (2, true), (60, true), (70, true)]), [(1, 2), (60, 70)]);
    }

    #[test]
    fn a_leader_after_the_other_does_not_overlap() {
        let (one, other) = (answers(&[(1, true), (5, true)]), answers(&[(5, true), (9, true)]));
        never_two([("one", &one), ("other", &other)]);
    }

    #[test]
    #[should_panic(expected = "two led at once")]
    fn a_leader_before_the_other_stops_overlaps() {
        let (one, other) = (answers(&[(1, true), (6, true)]), answers(&[(5, true), (9, true)]));
        never_two([("one", &one), ("other", &other)]);
    }
}
