//! Checks, by the answers of candidates, whether two of them ever led at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use incumbent::{Candidate, Clock, Instant};
use incumbent_rig::history::{History, Proven};
use incumbent_rig::probe;
use incumbent_rig::record::Terms;

use crate::actor::{Actor, Log, check_terms};

/// The interval between questions to a candidate.
const EVERY: Duration = Duration::from_micros(500);

/// Constantly asks the candidates of one election whether they lead.
pub(crate) struct Probe {
    logs: Vec<Log>,
    names: Vec<String>,
    terms: Arc<Mutex<Vec<Terms>>>,
    asking: probe::Probe,
}

impl Probe {
    pub(crate) fn of(actors: &[&Actor]) -> Self {
        let candidates: Vec<Candidate> = actors.iter().map(|actor| actor.candidate.clone()).collect();
        let terms = Arc::new(Mutex::new(vec![Terms::default(); candidates.len()]));
        let noted = Arc::clone(&terms);
        let note = move |index: usize, reading| _ = noted.lock().unwrap()[index].note(reading);
        Self {
            logs: actors.iter().map(|actor| actor.log().clone()).collect(),
            names: actors.iter().map(|actor| actor.candidate.name().to_string()).collect(),
            terms,
            asking: probe::Probe::start(candidates, Clock::system(), EVERY, note).unwrap(),
        }
    }

    /// Ends the questions. Fails the test if two candidates ever led at once, by their answers or by their events.
    /// Returns the terms that the answers prove, in the order of the actors.
    pub(crate) fn verdict(self) -> Vec<Vec<Proven>> {
        drop(self.asking);
        let terms = std::mem::take(&mut *self.terms.lock().unwrap());
        let all: Vec<_> = self.names.iter().zip(terms).map(|(name, terms)| proven(name, terms)).collect();
        never_two(all.concat());
        check_terms(&self.logs);
        all
    }
}

pub(crate) fn proven(name: &str, terms: Terms) -> Vec<Proven> {
    let proven = |evidence| Proven { candidate: name.into(), evidence };
    terms.into_all().into_iter().map(proven).collect()
}

/// Fails the test if two of these terms overlap.
pub(crate) fn never_two(terms: Vec<Proven>) {
    assert_eq!(History::new(terms).overlaps(), [], "two led at once");
}

/// The last time at which the candidate is known to have led.
pub(crate) fn last_led(terms: &[Proven]) -> Instant {
    terms.last().map_or(Instant::ZERO, |term| term.evidence.seen)
}
