//! The rules of DESIGN.md, Win delay and Unknown writes: the wait that a winner owes after what really happened.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use incumbent_core::campaign::{Answer, Input, Output, Request, Term, WinDelay as Setting};
use incumbent_core::record::{Attempt, Entry, Nonce};
use incumbent_core::store::{Action, Expect, Outcome};
use incumbent_core::{Incarnation, Instant, Revision};

use super::Oracle;
use super::known::{ReportedTerm, lease_end, reported_term};
use crate::kind::Kind;
use crate::observation::{Observation, Seen, View};
use crate::plan::Plan;

/// The largest age of a stale reading of a clock. Such a reading makes first observations too early.
const SLACK: Duration = Duration::from_millis(260);

/// The number of a candidate's open writes that are remembered. A candidate whose requests are held back has thousands
/// in flight.
const REMEMBERED: usize = 16_384;

/// A deletion by another party, with the time at which it happened and for how long the deleted holder may count on its
/// lease.
#[derive(Clone, Copy, Debug)]
struct Deletion {
    at: Instant,
    lease: Duration,
    /// The part of that lease that is over already.
    spared: Duration,
    /// The owner of the record. The owner itself knows whether it leads.
    whose: Option<Nonce>,
    /// The revision of the record, and the time at which it was written.
    record: Option<Revision>,
    written: Instant,
    /// The number of releases since the deletion. Each of them passed on the rest of the wait by its own clock.
    passed_on: u32,
    /// Whether the maximum age is lowered, or was lowered within a lease before the record was written.
    lowered: bool,
}

#[derive(Debug)]
pub(super) struct WinDelay {
    nodes: Vec<Node>,
    /// The lease of every campaign of the run. A record outlives its process.
    leases: BTreeMap<Nonce, Duration>,
    key: Entry,
    /// When the present entry was written.
    written: Instant,
    /// The longest lease that a term can have in this incarnation of the store.
    longest: Duration,
    /// When this incarnation of the store was created.
    made: Instant,
    /// The last deletion in this incarnation of the store.
    deletion: Option<Deletion>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    latest: Instant,
    /// The incarnation of the store that the candidate knows, and whether it has observed a foreign record since it
    /// knew the incarnation.
    incarnation: Option<Incarnation>,
    saw_a_record: bool,
    /// The last foreign record that the candidate observed, if it has observed nothing else since.
    last_seen: Option<Revision>,
    sent: VecDeque<Sent>,
    taken: Option<Taken>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    attempt: Attempt,
    at: Instant,
    expect: Expect,
    acquires: bool,
    releases: bool,
    revision: Option<Revision>,
    /// When the candidate's own record expires, if the write retakes one.
    before: Instant,
    /// When the candidate first observed the record of this write, or the record that the write retakes.
    shown: Option<Instant>,
}

/// The newest applied acquire of a candidate.
#[derive(Clone, Copy, Debug)]
struct Taken {
    sent: Sent,
    deletion: Option<Deletion>,
    over_tombstone: bool,
    acknowledged: Option<Instant>,
    renewed: bool,
}

impl Node {
    /// Notes that at its `latest` time the candidate was shown that its write with a number was applied.
    fn is_shown(&mut self, attempt: Attempt) {
        let latest = self.latest;
        if let Some(sent) = self.sent.iter_mut().rev().find(|sent| sent.attempt == attempt) {
            sent.shown.get_or_insert(latest);
        }
    }

    fn shown(&self, attempt: Attempt) -> Option<Instant> {
        self.sent.iter().rev().find(|sent| sent.attempt == attempt)?.shown
    }

    /// Returns when the candidate was first shown its own record that a write expects, or the first of several own
    /// records in a row.
    fn shown_at(&self, expect: Expect) -> Option<Instant> {
        let expected =
            self.sent.iter().find(|sent| sent.revision.is_some_and(|it| expect == Expect::Revision(it)))?;
        expected.shown.filter(|_| !expected.releases)
    }
}

impl WinDelay {
    pub(super) fn new(count: usize) -> Self {
        Self {
            nodes: vec![Node::default(); count],
            leases: BTreeMap::new(),
            key: Entry::Vacant,
            written: Instant::ZERO,
            longest: Duration::MAX,
            made: Instant::ZERO,
            deletion: None,
        }
    }

    fn applied(&mut self, plan: &Plan, place: usize, attempt: Attempt, revision: Revision) {
        let (lease, skew) = (plan.settings[place].lease, plan.skew_of(place));
        let is_deletion = matches!(self.key, Entry::Deleted { .. });
        let node = &mut self.nodes[place];
        let Some(at) = node.sent.iter().rposition(|sent| sent.attempt == attempt) else { return };
        let before = match node.sent[at].expect {
            Expect::Absent => Instant::NEVER,
            Expect::Revision(expected) => node
                .sent
                .iter()
                .find(|sent| sent.revision == Some(expected) && !sent.releases)
                .map_or(Instant::NEVER, |sent| lease_end(sent.at, lease, skew).min(sent.before)),
        };
        let sent = &mut node.sent[at];
        sent.revision = Some(revision);
        if sent.acquires {
            sent.before = before;
            let (sent, deletion) = (*sent, self.deletion);
            let over_tombstone = is_deletion;
            node.taken = Some(Taken { sent, deletion, over_tombstone, acknowledged: None, renewed: false });
        } else if let Some(taken) = &mut node.taken {
            taken.renewed |= taken.acknowledged.is_some_and(|acknowledged| sent.at >= acknowledged);
        }
    }

    /// Notes that in a store that went back, a revision may belong to another entry than before.
    fn is_numbered_again(&mut self, entry: &Entry) {
        let author = entry.live().and_then(|record| record.write_id);
        for node in &mut self.nodes {
            let nonce = node.nonce;
            let is_its_own =
                |sent: &Sent| author.is_some_and(|it| Some(it.nonce) == nonce && it.attempt == sent.attempt);
            for sent in &mut node.sent {
                if sent.revision.is_some() && sent.revision == entry.revision() && !is_its_own(sent) {
                    sent.revision = None;
                }
            }
        }
    }

    fn won(&self, view: &View<'_>, place: usize, term: &Term) -> Result<(), String> {
        let taken = self.nodes[place].taken;
        let Some(taken) = taken.filter(|taken| taken.sent.revision == Some(term.token.sequence)) else {
            return Ok(());
        };
        let sound = view.promises.one_leader(view.now) && !view.promises.excuses(view.now, place);
        if !sound || term.token.incarnation != view.incarnation || view.promises.is_regressed(view.now) {
            return Ok(());
        }
        let others = taken.deletion.filter(|it| it.whose.is_none() || it.whose != self.nodes[place].nonce);
        if let Some(Deletion { at, lease, spared, record, written, passed_on, lowered, .. }) = others {
            // The first candidate after the deletion may have a shorter lease, and may not know of a longer one.
            let least = view.plan.settings.iter().map(|setting| setting.lease).min().unwrap_or_default();
            let lease = if lowered { least } else { lease.max(least) }.saturating_sub(spared);
            // A candidate that observed the deleted record itself and then an absence waits from its first observation.
            let at = if record.is_some() && self.nodes[place].last_seen == record { written } else { at };
            // The candidate's own clock may run fast by a hundredth.
            let waited = view.now.since(at) + SLACK * (1 + passed_on);
            if waited < lease * 98 / 100 {
                return Err(format!("won {} only {waited:?} after a deletion", term.token));
            }
        }
        // In a recreated store, a candidate's record may replace one of its own from the former store.
        if self.made == Instant::ZERO
            && let Setting::Fixed(least) = view.plan.settings[place].win_delay
            && let Some(shown) = self.nodes[place].shown(taken.sent.attempt)
            && term.started.since(shown) < least
        {
            let waited = term.started.since(shown);
            return Err(format!("won {} only {waited:?} after it was first shown its record", term.token));
        }
        if taken.over_tombstone && !taken.renewed {
            return Err(format!("won {} over a deletion without a later renewal", term.token));
        }
        if view.plan.markers && taken.acknowledged.is_some_and(|at| at >= taken.sent.before) {
            return Err(format!("won {} from a record of its own whose time was over", term.token));
        }
        Ok(())
    }
}

impl Oracle for WinDelay {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "win delay",
            "After a deletion no win is reported before the deleted holder's lease is over, nor without a renewal; a \
             fixed delay counts from when the candidate was first shown its record; in a bucket with markers no \
             candidate wins from its own record after the record's time is over.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Tick,
            Seen::Input,
            Seen::Asked,
            Seen::Reported,
            Seen::Applied,
            Seen::Key,
            Seen::Remade,
            Seen::Fault,
        ]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.leases.insert(*nonce, view.plan.settings[*node].lease);
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() }
            }
            Observation::Remade { max_age } => {
                // No win with a longer lease is reported in this incarnation, because a candidate that writes for
                // another incarnation relies on no lease here.
                let is_raised = view.promises.happened.lately(Kind::RaiseAge, view.now, Duration::ZERO);
                self.longest = if is_raised { Duration::MAX } else { *max_age };
                self.made = view.now;
                self.deletion = None;
                self.nodes
                    .iter_mut()
                    .for_each(|node| node.sent.iter_mut().for_each(|sent| sent.revision = None));
            }
            // A term of this incarnation may have a longer lease from now on.
            Observation::Fault { kind: Kind::RaiseAge, begins: true, .. } => self.longest = Duration::MAX,
            Observation::Key { entry } => {
                self.is_numbered_again(entry);
                let by_another = match entry {
                    Entry::Deleted { .. } => true,
                    Entry::Released(release) => release.incarnation != view.incarnation,
                    Entry::Vacant | Entry::Live(_) | Entry::Expired { .. } => false,
                };
                if by_another {
                    let record = self.key.live();
                    let whose = record.and_then(|record| record.write_id).map(|write_id| write_id.nonce);
                    // A holder that still waits states a lease longer than its own.
                    let own =
                        whose.and_then(|nonce| self.leases.get(&nonce).copied()).unwrap_or(Duration::MAX);
                    let lease =
                        record.and_then(|record| record.lease).unwrap_or_default().min(own).min(self.longest);
                    // The candidate that wrote a release deleted its own record and no longer leads. The release may
                    // pass on too little of the lease on which leaders of the former incarnation count. That lease is
                    // over a lease after this incarnation began.
                    let is_release = matches!(entry, Entry::Released(_));
                    let spared = if is_release { view.now.since(self.made) } else { Duration::ZERO };
                    let (record, written) = (record.map(|record| record.revision), self.written);
                    let since = view.now.since(written) + view.plan.lease;
                    let lowered = view.promises.happened.lately(Kind::LowerAge, view.now, since);
                    let (at, passed_on) = (view.now, 0);
                    self.deletion =
                        Some(Deletion { at, lease, spared, whose, record, written, passed_on, lowered });
                } else if let (Entry::Released(_), Some(deletion)) = (entry, &mut self.deletion) {
                    deletion.passed_on += 1;
                }
                (self.key, self.written) = ((*entry).clone(), view.now);
            }
            Observation::Applied { nonce, attempt, revision, .. } => {
                if let Some(place) = self.nodes.iter().position(|node| node.nonce == Some(*nonce)) {
                    self.applied(view.plan, place, *attempt, *revision);
                }
            }
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                if let Input::Inspected(Ok(info)) = input
                    && node.incarnation.replace(info.incarnation) != Some(info.incarnation)
                {
                    node.saw_a_record = false;
                }
                if let Input::Watched(Entry::Live(record))
                | Input::Answered(Answer::Read { result: Ok(Entry::Live(record)), .. }) = input
                    && record.write_id.map(|write_id| write_id.nonce) != node.nonce
                {
                    node.saw_a_record = true;
                    node.last_seen = Some(record.revision);
                }
                if let Input::Watched(Entry::Live(record))
                | Input::Answered(Answer::Read { result: Ok(Entry::Live(record)), .. }) = input
                    && let Some(own) = record.write_id.filter(|write_id| Some(write_id.nonce) == node.nonce)
                {
                    node.is_shown(own.attempt);
                }
                if let Input::Watched(Entry::Deleted { .. } | Entry::Released(_))
                | Input::Answered(Answer::Read {
                    result: Ok(Entry::Deleted { .. } | Entry::Released(_)),
                    ..
                }) = input
                {
                    node.last_seen = None;
                }
                match input {
                    Input::Answered(Answer::Wrote { attempt, outcome: Outcome::Applied { .. } }) => {
                        if let Some(taken) =
                            node.taken.as_mut().filter(|taken| taken.sent.attempt == *attempt)
                        {
                            taken.acknowledged = taken.acknowledged.or(Some(node.latest));
                        }
                        node.is_shown(*attempt);
                    }
                    Input::Answered(Answer::Wrote {
                        attempt,
                        outcome: Outcome::Refused { .. } | Outcome::NotSent,
                    }) => {
                        node.sent.retain(|sent| sent.attempt != *attempt || sent.revision.is_some());
                    }
                    _ => {}
                }
            }
            Observation::Output { node: place, output, .. } => {
                if let Output::Ask(Request::Write(write)) = output {
                    let node = &mut self.nodes[*place];
                    if node.sent.len() == REMEMBERED
                        && let Some(oldest) = node.sent.pop_front()
                        && oldest.revision.is_some_and(|it| write.expect == Expect::Revision(it))
                    {
                        // This is the record that the write retakes, however many attempts went unanswered since then.
                        node.sent.push_back(oldest);
                    }
                    let shown = node.shown_at(write.expect);
                    node.sent.push_back(Sent {
                        attempt: write.attempt,
                        at: node.latest,
                        expect: write.expect,
                        acquires: matches!(write.action, Action::Acquire(_)),
                        releases: matches!(write.action, Action::Release { .. }),
                        revision: None,
                        before: Instant::NEVER,
                        shown,
                    });
                }
                if let Some(ReportedTerm::Won(term)) = reported_term(output) {
                    return self.won(view, *place, &term).map_err(|says| format!("c{place} {says}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
