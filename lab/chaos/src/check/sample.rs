//! Histories made by hand, for tests: one election `k` with a lease of 1 s; all times in milliseconds.

use std::collections::BTreeMap;

use incumbent::incumbent_core::{Incarnation, Revision};
use incumbent::{Instant, Token};
use incumbent_rig::candidate::{Report, ReportKind};
use incumbent_rig::probe::Held;

use super::check;
use crate::history::{ForeignTerm, History, Incident, Life, Outage};
use crate::kind::Kind;
use crate::log::{Election, Line, Nanos, Reading};
use crate::scenario::StoreKind;

pub(super) const MS: Nanos = 1_000_000;
pub(super) const SECOND: Nanos = 1_000 * MS;

/// The rules that a history breaks, in the order of detection.
pub(super) fn rules(history: &History) -> Vec<&'static str> {
    check(history).into_iter().map(|violation| violation.rule).collect()
}

fn token(term: u64) -> Token {
    Token { incarnation: Incarnation(1), sequence: Revision(term) }
}

pub(super) struct Run {
    lease_ms: u64,
    end: u64,
    lives: BTreeMap<String, Life>,
    stays: Vec<String>,
    faults: Vec<Incident>,
    foreign: Vec<ForeignTerm>,
    outages: Vec<Outage>,
    stalls: Vec<(Nanos, Nanos)>,
}

impl Run {
    pub(super) fn new() -> Self {
        Self {
            lease_ms: 1_000,
            end: 2_000,
            lives: BTreeMap::new(),
            stays: Vec::new(),
            faults: Vec::new(),
            foreign: Vec::new(),
            outages: Vec::new(),
            stalls: Vec::new(),
        }
    }

    /// Two terms, one after the other.
    pub(super) fn well() -> Self {
        let mut run = Self::new();
        run.term("a-1", 1, 100, 900, "RESIGNED");
        run.term("b-1", 2, 901, 1_500, "CLOSED");
        run
    }

    pub(super) fn lease(&mut self, lease_ms: u64) {
        self.lease_ms = lease_ms;
    }

    pub(super) fn until(&mut self, end: u64) {
        self.end = end;
    }

    fn life(&mut self, who: &str) -> &mut Life {
        let (name, number) = who.split_once('-').unwrap();
        self.lives.entry(who.into()).or_insert_with(|| Life {
            name: name.into(),
            number: number.parse().unwrap(),
            ..Life::default()
        })
    }

    fn line(&mut self, who: &str, line: Line) {
        self.life(who).lines.push(line);
    }

    /// Adds an answer that took no time, with the token and the deadline if the answer is yes.
    pub(super) fn answer(&mut self, who: &str, at: u64, leads: Option<(u64, u64)>) {
        let instant = |ms| Instant::from_nanos(ms * MS);
        let leads = leads.map(|(term, deadline)| Held {
            token: token(term),
            deadline: instant(deadline),
            later: instant(deadline),
        });
        let reading = Reading { leads, before: instant(at), after: instant(at) };
        self.line(who, Line::Answer { key: "k".into(), reading });
    }

    /// A report at that time.
    pub(super) fn report(&mut self, who: &str, at: u64, what: ReportKind) {
        self.line(who, Line::Report(Report { at: at * MS, key: Some("k".into()), what }));
    }

    pub(super) fn won(&mut self, who: &str, term: u64, at: u64) {
        self.report(who, at, ReportKind::State { state: "LEADING".into() });
        self.report(who, at, ReportKind::Won { token: token(term), started: at * MS });
    }

    pub(super) fn lost(&mut self, who: &str, term: u64, at: u64, reason: &str) {
        self.report(who, at, ReportKind::Lost { token: token(term), reason: reason.into() });
        self.report(who, at, ReportKind::State { state: "WAITING".into() });
    }

    /// Adds a term that lasts from one answer to another.
    pub(super) fn term(&mut self, who: &str, token: u64, from: u64, until: u64, reason: &str) {
        self.won(who, token, from);
        self.answer(who, from, Some((token, from + 900)));
        self.answer(who, until, Some((token, until + 800)));
        self.answer(who, until + 1, None);
        self.lost(who, token, until + 1, reason);
    }

    /// Adds a term that lasts from one answer to another, and ends at the deadline of its last true answer.
    pub(super) fn renewing_term(&mut self, who: &str, token: u64, from: u64, until: u64, reason: &str) {
        self.won(who, token, from);
        self.answer(who, from, Some((token, from + 900)));
        self.answer(who, until - 1, Some((token, until)));
        self.answer(who, until, None);
        self.lost(who, token, until, reason);
    }

    /// Adds a term whose process was stopped after an answer, and resumed after its deadline.
    pub(super) fn stopped_term(
        &mut self,
        who: &str,
        token: u64,
        from: u64,
        last: u64,
        deadline: u64,
        resumed: u64,
    ) {
        self.won(who, token, from);
        self.answer(who, from, Some((token, from + 900)));
        self.answer(who, last, Some((token, deadline)));
        self.stop(who, last, resumed);
        self.answer(who, resumed + 1, None);
        self.lost(who, token, resumed + 1, "EXPIRED");
    }

    pub(super) fn killed_term(&mut self, who: &str, token: u64, from: u64, last: u64, killed: u64) {
        self.won(who, token, from);
        self.answer(who, from, Some((token, from + 900)));
        self.answer(who, last, Some((token, last + 800)));
        self.killed(who, killed);
    }

    pub(super) fn stop(&mut self, who: &str, from: u64, until: u64) {
        self.life(who).stops.push((from * MS, Some(until * MS)));
    }

    pub(super) fn killed(&mut self, who: &str, at: u64) {
        self.life(who).killed = Some(at * MS);
    }

    pub(super) fn never_leaves(&mut self, who: &str) {
        self.stays.push(who.into());
    }

    pub(super) fn fault(&mut self, kind: Kind, on: &str, at: u64, repaired: u64) {
        self.fault_in("k", kind, on, at, repaired);
    }

    pub(super) fn fault_in(&mut self, key: &str, kind: Kind, on: &str, at: u64, repaired: u64) {
        let (on, key) = (on.into(), key.into());
        self.faults.push(Incident { kind, on, key, at: at * MS, repaired: Some(repaired * MS) });
    }

    pub(super) fn foreign_term(&mut self, key: &str, from: u64, until: u64) {
        let (name, key) = ("go".into(), key.into());
        self.foreign.push(ForeignTerm { name, key, from: from * MS, until: until * MS });
    }

    pub(super) fn outage(&mut self, bucket: &str, from: u64, until: u64) {
        self.outages.push(Outage { bucket: bucket.into(), from: from * MS, until: until * MS });
    }

    pub(super) fn stall(&mut self, from: u64, until: u64) {
        self.stalls.push((from * MS, until * MS));
    }

    /// Returns the history. At its end all candidates leave, except those that were killed or are marked to stay.
    pub(super) fn history(&self) -> History {
        let mut lives: Vec<Life> = self.lives.values().cloned().collect();
        for life in lives.iter_mut().filter(|life| life.killed.is_none() && !self.stays.contains(&life.who()))
        {
            life.lines.push(Line::Report(Report { at: self.end * MS, key: None, what: ReportKind::Left }));
        }
        let election = Election {
            key: "k".into(),
            bucket: "bucket".into(),
            store: StoreKind::Nats,
            lease_ms: self.lease_ms,
        };
        History {
            scenario: "by hand".into(),
            seed: 0,
            servers: 1,
            elections: vec![election],
            begin: 0,
            faults_over: Some(self.end * MS),
            end: self.end * MS,
            lives,
            faults: self.faults.clone(),
            foreign: self.foreign.clone(),
            outages: self.outages.clone(),
            stalls: self.stalls.clone(),
        }
    }
}
