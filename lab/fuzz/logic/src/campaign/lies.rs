//! The candidate's inputs: a store that may answer anything, and any act of an operator.
//!
//! It keeps one rule: a revision of one incarnation of the store always has the same entry.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Campaign, Input, Output, ReadId, Request};
use incumbent_core::record::{Attempt, Entry, Nonce, Record, Release, WriteId};
use incumbent_core::store::{Action, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};

use super::part;
use super::plan::Plan;
use crate::choices::Choices;

/// A store that lies to the candidate.
#[derive(Debug)]
pub(super) struct Lies {
    pub(super) life: Incarnation,
    /// The key's entry at each revision of this incarnation.
    entries: BTreeMap<u64, Entry>,
    /// The key's entries of the former incarnation, in which a term that has just ended may still be released.
    before: BTreeMap<u64, Entry>,
    writes: Vec<Write>,
    reads: u64,
    /// The newest revision in the store before the first write.
    base: u64,
    lease: Duration,
}

impl Lies {
    pub(super) fn new(plan: &Plan, campaign: &Campaign) -> Self {
        Self {
            life: plan.life,
            entries: BTreeMap::new(),
            before: BTreeMap::new(),
            writes: Vec::new(),
            reads: 0,
            base: plan.newest,
            lease: campaign.lease_time(),
        }
    }

    /// The entry shown at a revision, in this incarnation or in the former one.
    pub(super) fn shown(&self, revision: u64) -> Option<&Entry> {
        self.entries.get(&revision).or_else(|| self.before.get(&revision))
    }

    /// Remembers a request of the campaign.
    pub(super) fn asked(&mut self, output: &Output) {
        match output {
            Output::Ask(Request::Write(write)) => self.writes.push(write.clone()),
            Output::Ask(Request::Read(read)) => self.reads = read.0,
            _ => {}
        }
    }

    /// Answers to requests that were never sent, and a name that is not a valid candidate name.
    pub(super) fn misuse(&self) -> [Input; 3] {
        let attempt = Attempt(self.writes.len() as u64 + 1);
        let outcome = Outcome::Applied { revision: Revision(self.top() + 1), incarnation: None };
        let entry = Entry::Deleted { revision: Revision(1), lease: None };
        [
            Input::Answered(Answer::Wrote { attempt, outcome }),
            Input::Answered(Answer::Read { read: ReadId(self.reads + 1), result: Ok(entry) }),
            Input::HandOver("a\r\nb".into()),
        ]
    }

    pub(super) fn input(&mut self, choices: &mut Choices<'_>, plan: &Plan, now: Instant) -> Input {
        match choices.below(100) {
            0..=15 => Input::Tick,
            16..=19 => Input::Campaign,
            20 => Input::Resign,
            21 => Input::HandOver("other".into()),
            22 if choices.one_in(20) => Input::Close,
            23 => Input::Health(choices.one_in(2)),
            24 => Input::Health(true),
            25 | 26 => Input::Drained,
            27 => Input::HandlerFailed,
            28 if choices.one_in(3) => Input::Accept,
            29..=50 if !self.writes.is_empty() => {
                let last = self.writes.len() as u64 - 1;
                let back = if choices.one_in(3) { choices.up_to(last) } else { 0 };
                let write = self.writes[(last - back) as usize].clone();
                let outcome = self.outcome(choices, &write);
                Input::Answered(Answer::Wrote { attempt: write.attempt, outcome })
            }
            51..=65 if self.reads > 0 => {
                let older = choices.one_in(5);
                let read = ReadId(if older { 1 + choices.up_to(self.reads - 1) } else { self.reads });
                let failed = choices.one_in(8);
                let result =
                    if failed { Err(fault(FaultKind::Unreachable)) } else { Ok(self.entry(choices)) };
                Input::Answered(Answer::Read { read, result })
            }
            66..=80 => self.inspection(choices, plan, now),
            81..=91 => Input::Watched(self.entry(choices)),
            92..=94 => Input::Reconnected,
            95 | 96 => Input::Watching { since: now.before(part(self.lease, choices.up_to(3000))) },
            _ => Input::Tick,
        }
    }

    fn top(&self) -> u64 {
        self.entries.keys().next_back().copied().unwrap_or(self.base)
    }

    /// An entry of the key: mostly the newest, or a new one.
    fn entry(&mut self, choices: &mut Choices<'_>) -> Entry {
        match choices.below(10) {
            0 | 1 => Entry::Vacant,
            2..=4 => self.entries.values().next_back().cloned().unwrap_or(Entry::Vacant),
            5 => {
                let place = choices.up_to(self.entries.len().max(1) as u64 - 1) as usize;
                self.entries.values().nth(place).cloned().unwrap_or(Entry::Vacant)
            }
            _ => self.new_entry(choices),
        }
    }

    fn new_entry(&mut self, choices: &mut Choices<'_>) -> Entry {
        let revision = self.top() + 1 + choices.up_to(2);
        let attempt = Attempt(1 + choices.up_to(self.writes.len() as u64 + 1));
        let owed = part(self.lease, choices.up_to(40) * 1000);
        let entry = match choices.below(10) {
            0 | 1 => theirs(revision, "other", self.lease),
            2 => live(revision, "go-1", None, None),
            3 | 4 => mine(revision, attempt, self.lease),
            5 => Entry::Deleted { revision: Revision(revision), lease: None },
            6 => Entry::Expired { revision: Revision(revision) },
            7 => {
                let successor = if owed > self.lease { "me" } else { "other" };
                released(revision, Duration::ZERO, self.life, Some(successor))
            }
            8 => theirs(revision, "me", Duration::from_millis(choices.any())),
            _ => released(revision, owed, self.life, None),
        };
        self.entries.insert(revision, entry.clone());
        entry
    }

    fn outcome(&mut self, choices: &mut Choices<'_>, write: &Write) -> Outcome {
        match choices.below(17) {
            0..=6 => {
                let revision = self.top() + 1 + choices.up_to(1);
                let incarnation = match choices.below(20) {
                    0 => Some(Incarnation(7)),
                    1..=9 => Some(self.life),
                    _ => None,
                };
                let entry = match write.action {
                    Action::Release { .. } => released(revision, Duration::ZERO, self.life, None),
                    _ => mine(revision, write.attempt, self.lease),
                };
                self.entries.insert(revision, entry);
                Outcome::Applied { revision: Revision(revision), incarnation }
            }
            7 if choices.one_in(4) => {
                // The store went back: picks a revision that has no entry so far.
                let free = (self.base + 1..self.top()).rev().take(1000);
                let revision = free.filter(|revision| !self.entries.contains_key(revision)).max();
                let revision = revision.unwrap_or(self.top() + 1);
                self.entries.insert(revision, mine(revision, write.attempt, self.lease));
                Outcome::Applied { revision: Revision(revision), incarnation: None }
            }
            8 | 9 => Outcome::Refused { current: Revision(self.top()) },
            10 => {
                let back = choices.up_to((self.top() - self.base).min(255));
                Outcome::Refused { current: Revision(self.top() - back) }
            }
            11 => Outcome::Refused { current: Revision(0) },
            12 => Outcome::Busy,
            13 => Outcome::NotSent,
            14 => Outcome::Failed(fault(FaultKind::Denied)),
            15 => Outcome::Unknown,
            _ => Outcome::Conflict,
        }
    }

    fn inspection(&mut self, choices: &mut Choices<'_>, plan: &Plan, now: Instant) -> Input {
        let info = StoreInfo { asked_at: now, incarnation: self.life, ..plan.store_info() };
        match choices.below(8) {
            0 => return Input::Inspected(Err(fault(FaultKind::Unreachable))),
            1 => {
                let asked_at = now.before(part(self.lease, 5000));
                return Input::Inspected(Ok(StoreInfo { asked_at, ..info }));
            }
            _ => {}
        }
        if choices.one_in(60) {
            let older = choices.one_in(4);
            self.life = Incarnation(if older { self.life.0 - 1 } else { self.life.0 + 10 });
            self.before = std::mem::take(&mut self.entries);
        }
        let max_age = match choices.below(60) {
            0 => None,
            1 => Some(Duration::ZERO),
            2 => Some(Duration::from_millis(5)),
            3 => Some(part(self.lease, 4000)),
            4 => Some(Duration::from_nanos(choices.any())),
            _ => plan.max_age,
        };
        let age = if choices.one_in(9) { None } else { info.age };
        let newest = choices.one_in(3).then_some(Revision(self.top() + 3));
        Input::Inspected(Ok(StoreInfo { incarnation: self.life, max_age, age, newest, ..info }))
    }
}

/// The campaign under test.
pub(super) const ME: Nonce = Nonce(0xa);
pub(super) const NAME: &str = "me";
const OTHER: Nonce = Nonce(0xb);

/// A live record: of a campaign of ours, or of other software.
pub(super) fn live(revision: u64, name: &str, write_id: Option<WriteId>, lease: Option<Duration>) -> Entry {
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: name.into(),
        write_id,
        lease,
        term_info: None,
        metadata: Vec::new(),
        oversize: None,
    })
}

/// A record of the campaign under test.
pub(super) fn mine(revision: u64, attempt: Attempt, lease: Duration) -> Entry {
    live(revision, NAME, Some(WriteId { nonce: ME, attempt }), Some(lease))
}

/// A record of another campaign.
pub(super) fn theirs(revision: u64, name: &str, lease: Duration) -> Entry {
    live(revision, name, Some(WriteId { nonce: OTHER, attempt: Attempt(revision) }), Some(lease))
}

/// A release by another campaign.
pub(super) fn released(revision: u64, owed: Duration, life: Incarnation, successor: Option<&str>) -> Entry {
    Entry::Released(Release {
        revision: Revision(revision),
        write_id: Some(WriteId { nonce: OTHER, attempt: Attempt(revision) }),
        owed,
        incarnation: life,
        successor: successor.map(str::to_string),
    })
}

pub(super) fn fault(kind: FaultKind) -> Fault {
    Fault { kind, detail: "the store refuses".into() }
}

/// Returns true if a live record was written by the campaign under test.
pub(super) fn is_mine(record: &Record) -> bool {
    record.write_id.is_some_and(|write_id| write_id.nonce == ME)
}
