//! One candidate given nonsense: answers that are repeated, late, out of order or made up, whatever
//! an operator may do, and a clock that jumps. What must hold, holds after every step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::campaign::{
    Backoff, Campaign, Event, Input, Lease, Output, ReadId, Settings, State, WinDelay,
};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::{Action, Capabilities, Expect, Facts, FaultKind, Outcome, Write};
use incumbent_core::{Incarnation, Instant, Revision, Token};
use oorandom::Rand32;

use crate::harness::*;

const STEPS: usize = 1500;
/// More outputs than this for one input are a loop.
const FLOOD: usize = 40;

/// How many seeds are tried; `RANDOM_SEEDS` sets another number.
fn seeds() -> u64 {
    std::env::var("RANDOM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(100)
}

/// The candidate, the store it is lied to about, and what was told.
struct Run {
    campaign: Campaign,
    rng: Rand32,
    now: Instant,
    life: Incarnation,
    /// What lies under the key at each revision of this life: one thing for ever.
    entries: BTreeMap<u64, Entry>,
    /// The same of the life before: a term that has just ended may still be given back there.
    before: BTreeMap<u64, Entry>,
    writes: Vec<(Write, Instant)>,
    /// The write that is awaited, and until when.
    awaited: Option<(Attempt, Instant)>,
    reads: u64,
    term: Option<Token>,
    largest: Option<Token>,
    closing: bool,
    trace: Vec<Output>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut rng = Rand32::new(seed);
        let store = Capabilities {
            incarnation_acked: rng.rand_range(0..3) == 0,
            expiry_pushed: rng.rand_range(0..2) == 0,
            ..bucket()
        };
        let settings = Settings {
            splay: (rng.rand_range(0..2) == 0).then_some(Duration::ZERO),
            drain: ms(rng.rand_range(0..20_000).into()),
            interval: (rng.rand_range(0..3) == 0).then_some(secs(3)),
            backoff: match rng.rand_range(0..3) {
                0 => Backoff::Standard,
                1 => Backoff::Fixed(secs(20)),
                _ => Backoff::Custom(Arc::new(|failures| ms(u64::from(failures) * 10))),
            },
            win_delay: match rng.rand_range(0..3) {
                0 => WinDelay::Automatic,
                1 => WinDelay::Cautious,
                _ => WinDelay::Fixed(secs(22)),
            },
            ..settings()
        };
        let bench = Bench::seeded(settings, store, seed);
        Self {
            campaign: bench.campaign,
            rng,
            now: bench.now,
            life: LIFE,
            entries: BTreeMap::new(),
            before: BTreeMap::new(),
            writes: Vec::new(),
            awaited: None,
            reads: 0,
            term: None,
            largest: None,
            closing: false,
            trace: Vec::new(),
        }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.rand_range(0..n) == 0
    }

    fn up_to(&mut self, n: u64) -> u64 {
        u64::from(self.rng.rand_range(0..u32::try_from(n).expect("a small range") + 1))
    }

    fn top(&self) -> u64 {
        self.entries.keys().next_back().copied().unwrap_or(0)
    }

    /// Something under the key: mostly the newest, or something new.
    fn entry(&mut self) -> Entry {
        match self.rng.rand_range(0..10) {
            0 | 1 => Entry::Vacant,
            2..=4 => self.entries.values().next_back().cloned().unwrap_or(Entry::Vacant),
            5 => self.any_entry().unwrap_or(Entry::Vacant),
            _ => self.new_entry(),
        }
    }

    fn any_entry(&mut self) -> Option<Entry> {
        let place = self.up_to(self.entries.len().max(1) as u64 - 1) as usize;
        self.entries.values().nth(place).cloned()
    }

    fn new_entry(&mut self) -> Entry {
        let revision = self.top() + 1 + self.up_to(2);
        let attempt = 1 + self.up_to(self.writes.len() as u64 + 1);
        let owed = ms(self.up_to(40_000));
        let entry = match self.rng.rand_range(0..9) {
            0 | 1 => theirs(revision),
            2 => bare(revision),
            3 | 4 => mine(revision, attempt),
            5 => deleted(revision),
            6 => expired(revision),
            7 => handed_over(revision, if owed > secs(20) { "me" } else { "somebody" }),
            _ => released(revision, owed),
        };
        self.entries.insert(revision, entry.clone());
        entry
    }

    fn outcome(&mut self, write: &Write) -> Outcome {
        match self.rng.rand_range(0..16) {
            0..=6 => {
                let revision = self.top() + 1 + self.up_to(1);
                let incarnation = match self.rng.rand_range(0..20) {
                    0 => Some(Incarnation(7)),
                    1..=9 => Some(self.life),
                    _ => None,
                };
                let entry = match write.action {
                    Action::Release { .. } => released(revision, Duration::ZERO),
                    _ => mine(revision, write.attempt.0),
                };
                self.entries.insert(revision, entry);
                acknowledged(revision, incarnation)
            }
            7 if self.one_in(4) => {
                // The store went back: a revision that nothing has had yet.
                let free = (1..self.top()).filter(|revision| !self.entries.contains_key(revision));
                let revision = free.max().unwrap_or(self.top() + 1);
                self.entries.insert(revision, mine(revision, write.attempt.0));
                acknowledged(revision, None)
            }
            8 | 9 => Outcome::Refused { current: Revision(self.top()) },
            10 => Outcome::Refused { current: Revision(self.up_to(self.top())) },
            11 => Outcome::Refused { current: Revision(0) },
            12 => Outcome::Busy,
            13 => Outcome::NotSent,
            14 => Outcome::Failed(fault(FaultKind::Denied)),
            _ => Outcome::Unknown,
        }
    }

    fn inspection(&mut self) -> Input {
        if self.one_in(8) {
            return Input::Inspected(Err(fault(FaultKind::Unreachable)));
        }
        let stale = self.one_in(6);
        let facts = Facts { incarnation: self.life, ..facts(self.now) };
        if stale {
            return Input::Inspected(Ok(Facts { asked_at: self.now.before(secs(5)), ..facts }));
        }
        if self.one_in(60) {
            self.life = Incarnation(if self.one_in(4) { self.life.0 - 1 } else { self.life.0 + 10 });
            self.before = std::mem::take(&mut self.entries);
        }
        let max_age = match self.rng.rand_range(0..60) {
            0 => None,
            1 => Some(Duration::ZERO),
            2 => Some(ms(5)),
            3 => Some(secs(4)),
            4 => Some(secs(400)),
            _ => Some(T),
        };
        let age = (!self.one_in(9)).then_some(secs(100_000));
        let newest = self.one_in(3).then_some(Revision(self.top() + 3));
        Input::Inspected(Ok(Facts { incarnation: self.life, max_age, age, newest, ..facts }))
    }

    fn input(&mut self) -> Input {
        match self.rng.rand_range(0..100) {
            0..=15 => Input::Tick,
            16..=19 => Input::Campaign,
            20 => Input::Resign,
            21 => Input::HandOver("other".into()),
            22 if self.one_in(20) => Input::Close,
            23 => Input::Health(self.one_in(2)),
            24 => Input::Health(true),
            25 | 26 => Input::Drained,
            27 => Input::HandlerFailed,
            28 if self.one_in(3) => {
                self.largest = None;
                Input::Accept
            }
            29..=50 if !self.writes.is_empty() => {
                let back = if self.one_in(3) { self.up_to(self.writes.len() as u64 - 1) } else { 0 };
                let write = self.writes[self.writes.len() - 1 - back as usize].0.clone();
                let outcome = self.outcome(&write);
                Input::Wrote { attempt: write.attempt, outcome }
            }
            51..=65 if self.reads > 0 => {
                let read = ReadId(if self.one_in(5) { 1 + self.up_to(self.reads - 1) } else { self.reads });
                let failed = self.one_in(8);
                let result = if failed { Err(fault(FaultKind::Unreachable)) } else { Ok(self.entry()) };
                Input::Read { read, result }
            }
            66..=80 => self.inspection(),
            81..=91 => Input::Watched(self.entry()),
            92..=94 => Input::Reconnected,
            95 | 96 => Input::Watching { since: self.now.before(ms(self.up_to(3000))) },
            _ => Input::Tick,
        }
    }

    /// Lets time pass: mostly little, sometimes until the next wake-up, seldom a lot.
    fn pass(&mut self) {
        let span = match self.rng.rand_range(0..20) {
            0..=6 => Duration::ZERO,
            7..=12 => ms(self.up_to(300)),
            13..=17 => match self.campaign.poll() {
                Output::WakeAt(Some(wake)) => wake.at.since(self.now).min(T * 3),
                _ => Duration::ZERO,
            },
            18 => secs(self.up_to(12)),
            _ => secs(self.up_to(70)),
        };
        self.now = self.now + span;
    }

    fn step(&mut self) {
        self.pass();
        let life = self.life;
        let input = self.input();
        if self.life != life {
            // As the contract has it, a new watch begins before another life is told.
            self.give(Input::Watching { since: self.now });
        }
        self.closing |= input == Input::Close;
        if let Input::Wrote { attempt, .. } = input
            && self.awaited.is_some_and(|(awaited, _)| awaited == attempt)
        {
            self.awaited = None;
        }
        self.give(input);
        let mut ticks = 0;
        while self.wake_is_due() {
            ticks += 1;
            assert!(ticks < 5, "the campaign wants to be woken again and again");
            self.give(Input::Tick);
        }
        self.a_clock_that_goes_back_changes_nothing();
        self.misuse_changes_nothing();
    }

    fn wake_is_due(&mut self) -> bool {
        matches!(self.campaign.poll(), Output::WakeAt(Some(wake)) if wake.at <= self.now)
    }

    fn give(&mut self, input: Input) {
        let closed = self.campaign.state() == State::Closed;
        self.campaign.handle(self.now, input).expect("an answer to something that was asked");
        for count in 0.. {
            assert!(count < FLOOD, "outputs without end");
            match self.campaign.poll() {
                Output::WakeAt(wake) => {
                    assert!(
                        wake.is_none() || self.campaign.state() != State::Closed,
                        "I6: closed, and awake"
                    );
                    break;
                }
                output => {
                    assert!(!closed, "I6: closed, and says {output:?}");
                    self.check_output(&output);
                    self.trace.push(output);
                }
            }
        }
        self.check_lease();
    }

    fn check_output(&mut self, output: &Output) {
        match output {
            Output::Write(write) => self.check_write(write),
            Output::Read(read) => {
                assert_eq!(read.0, self.reads + 1);
                self.reads = read.0;
            }
            Output::Event(Event::Won(term)) => {
                assert_eq!(self.term, None, "I5: won twice");
                assert!(
                    self.largest < Some(term.token),
                    "I4, I12: {:?} after {:?}",
                    term.token,
                    self.largest
                );
                self.largest = Some(term.token);
                self.term = Some(term.token);
            }
            Output::Event(Event::Lost { term, .. }) => {
                assert_eq!(self.term.take(), Some(term.token), "I5: lost what was not won");
            }
            Output::Event(Event::Draining { term, .. }) => assert_eq!(self.term, Some(term.token)),
            _ => {}
        }
    }

    fn check_write(&mut self, write: &Write) {
        let last = self.writes.last().map_or(0, |(write, _)| write.attempt.0);
        assert_eq!(write.attempt.0, last + 1, "attempts are numbered without a gap");
        if let Some((awaited, until)) = self.awaited {
            assert!(self.now >= until, "I6: {awaited:?} is awaited until {until:?}, and another is sent");
        }
        let there = match write.expect {
            Expect::Absent => None,
            Expect::Revision(Revision(revision)) => {
                let seen = self.entries.get(&revision).or_else(|| self.before.get(&revision));
                Some(seen.expect("a revision that was shown"))
            }
        };
        let live = there.and_then(Entry::live);
        let foreign = live.is_some_and(|record| record.stamp.is_none_or(|stamp| stamp.nonce != ME));
        assert!(!foreign, "a write over somebody else's record: {write:?}");
        match write.action {
            Action::Release { .. } => {
                assert!(live.is_some(), "I7: a delete of something that is not ours: {write:?}");
                assert_eq!(self.term, None, "I8: released before Lost was told");
            }
            Action::Renew(_) => assert!(live.is_some(), "a renewal of something that is not ours: {write:?}"),
            Action::Acquire(_) => assert!(!self.closing, "I6: an acquire after close"),
        }
        let limit = (self.campaign.lease_time() / 12).clamp(ms(250), secs(2));
        self.awaited = Some((write.attempt, self.now + limit));
        self.writes.push((write.clone(), self.now));
    }

    fn check_lease(&self) {
        let lease = self.campaign.lease();
        assert_eq!(lease.map(|lease| lease.token), self.term, "I2: the lease is that of the told term");
        let Some(Lease { deadline, .. }) = lease else {
            assert!(!self.campaign.is_leader(self.now), "I2");
            return;
        };
        assert_eq!(self.campaign.is_leader(self.now), self.now < deadline, "I2");
        assert!(!self.campaign.is_leader(deadline), "I2");
        let keeps = |(write, _): &&(Write, Instant)| !matches!(write.action, Action::Release { .. });
        let newest = self.writes.iter().rfind(keeps).map(|(_, at)| *at).expect("a write that won");
        assert!(deadline <= newest + (T - M), "I3: {deadline:?} is later than any write allows");
    }

    /// I13.
    fn a_clock_that_goes_back_changes_nothing(&mut self) {
        let (wake, lease, state) = (self.campaign.poll(), self.campaign.lease(), self.campaign.state());
        let earlier = self.now.before(ms(self.up_to(100_000)));
        self.campaign.handle(earlier, Input::Tick).expect("a tick");
        assert_eq!(
            (self.campaign.poll(), self.campaign.lease(), self.campaign.state()),
            (wake, lease, state)
        );
    }

    fn misuse_changes_nothing(&mut self) {
        let wake = self.campaign.poll();
        let attempt = Attempt(self.writes.len() as u64 + 1);
        let outcome = acknowledged(self.top() + 1, None);
        self.campaign.handle(self.now + T, Input::Wrote { attempt, outcome }).expect_err("misuse");
        let read = ReadId(self.reads + 1);
        self.campaign.handle(self.now + T, Input::Read { read, result: Ok(deleted(1)) }).expect_err("misuse");
        assert_eq!(self.campaign.poll(), wake);
    }
}

fn run(seed: u64) -> Run {
    let mut run = Run::new(seed);
    for step in 0..STEPS {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.step()));
        if let Err(cause) = caught {
            let recent = &run.trace[run.trace.len().saturating_sub(30)..];
            let recent: Vec<_> = recent.iter().map(in_short).collect();
            println!("seed {seed}, step {step}, after {recent:#?}");
            std::panic::resume_unwind(cause);
        }
    }
    run
}

#[test]
fn whatever_a_candidate_is_told_what_must_hold_holds() {
    let mut terms = 0;
    let mut releases = 0;
    for seed in 0..seeds() {
        let run = run(seed);
        terms += run.trace.iter().filter(|output| matches!(output, Output::Event(Event::Won(_)))).count();
        releases +=
            run.writes.iter().filter(|(write, _)| matches!(write.action, Action::Release { .. })).count();
    }
    assert!(terms > 300 && releases > 300, "too tame: {terms} terms, {releases} releases");
}

#[test]
fn the_same_seed_and_inputs_give_the_same_outputs() {
    for seed in 0..10 {
        assert_eq!(run(seed).trace, run(seed).trace, "I14: seed {seed}");
    }
}
