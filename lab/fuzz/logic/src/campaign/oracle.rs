//! Rules for every step of one candidate, whatever the input.

use std::time::Duration;

use incumbent_core::campaign::{Answer, Campaign, Event, Input, Lease, Output, Request};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::{Action, Expect, Outcome, Write};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use super::lies::Lies;
use super::lies::is_mine;
use super::plan::Plan;

#[derive(Debug)]
pub(super) struct Oracle {
    /// Every write that was sent.
    writes: Vec<Sent>,
    /// The awaited write, and its deadline.
    awaited: Option<(Attempt, Instant)>,
    reads: u64,
    /// When the newest write that would keep the key, and that was shown to be applied, was sent.
    proven: Option<Instant>,
    /// The incarnation of the store, and the send time of the request whose answer last showed it.
    life: (Incarnation, Instant),
    /// Since when the present watch has been ready.
    watching: Option<Instant>,
    /// The revisions at which acquires were acknowledged.
    acquired: Vec<Revision>,
    term: Option<Token>,
    largest: Option<Token>,
    closing: bool,
}

#[derive(Debug)]
struct Sent {
    write: Write,
    at: Instant,
    /// The incarnation of the store that it was meant for.
    life: Incarnation,
}

impl Sent {
    fn is_release(&self) -> bool {
        matches!(self.write.action, Action::Release { .. })
    }
}

impl Oracle {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            writes: Vec::new(),
            awaited: None,
            reads: 0,
            proven: None,
            life: (plan.life, plan.store_info().asked_at),
            watching: None,
            acquired: Vec::new(),
            term: None,
            largest: None,
            closing: false,
        }
    }

    /// Notes an input before the campaign gets it.
    pub(super) fn told(&mut self, input: &Input) {
        match input {
            Input::Close => self.closing = true,
            Input::Accept => self.largest = None,
            Input::Answered(Answer::Wrote { attempt, outcome }) => {
                if self.awaited.is_some_and(|(awaited, _)| awaited == *attempt) {
                    self.awaited = None;
                }
                if let Outcome::Applied { revision, incarnation } = outcome {
                    self.applied(*attempt, *revision, *incarnation);
                }
            }
            Input::Answered(Answer::Read { result: Ok(entry), .. }) => drop(self.saw(entry)),
            Input::Watched(entry) => {
                // A write that was meant for this incarnation and seen by its watch proves the incarnation.
                let sent = self.saw(entry).filter(|(life, _)| *life == self.life.0);
                if let Some((_, at)) =
                    sent.filter(|_| self.watching.is_some_and(|since| since <= self.life.1))
                {
                    self.life.1 = self.life.1.max(at);
                }
            }
            Input::Watching { since } => self.watching = Some(*since),
            Input::Inspected(Ok(info)) if info.asked_at >= self.life.1 => {
                self.life = (info.incarnation, info.asked_at);
            }
            _ => {}
        }
    }

    fn applied(&mut self, attempt: Attempt, revision: Revision, incarnation: Option<Incarnation>) {
        let Some((_, at)) = self.prove(attempt) else { return };
        if self.sent(attempt).is_some_and(|sent| matches!(sent.write.action, Action::Acquire(_))) {
            self.acquired.push(revision);
        }
        if incarnation == Some(self.life.0) {
            self.life.1 = self.life.1.max(at);
        }
    }

    /// Notes an entry of the key. If one of the campaign's writes made it, that write was applied.
    fn saw(&mut self, entry: &Entry) -> Option<(Incarnation, Instant)> {
        let write_id = entry.live().filter(|record| is_mine(record))?.write_id?;
        self.prove(write_id.attempt)
    }

    /// Notes that an attempt was applied. Returns the incarnation it was meant for, and when it was sent.
    fn prove(&mut self, attempt: Attempt) -> Option<(Incarnation, Instant)> {
        let sent = self.sent(attempt)?;
        let (keeps, at, life) = (!sent.is_release(), sent.at, sent.life);
        if keeps {
            self.proven = self.proven.max(Some(at));
        }
        Some((life, at))
    }

    fn sent(&self, attempt: Attempt) -> Option<&Sent> {
        self.writes.get(usize::try_from(attempt.0.checked_sub(1)?).ok()?)
    }

    /// Checks an output of the campaign.
    pub(super) fn said(&mut self, output: &Output, campaign: &Campaign, now: Instant, lies: &Lies) {
        match output {
            Output::Ask(Request::Write(write)) => self.wrote(write, campaign, now, lies),
            Output::Ask(Request::Read(read)) => {
                assert_eq!(read.0, self.reads + 1, "reads are numbered without a gap");
                self.reads = read.0;
            }
            Output::Event(Event::Won(term)) => {
                let token = term.token;
                assert_eq!(self.term, None, "I5: won twice");
                assert!(self.largest < Some(token), "I4, I12: {token:?} after {:?}", self.largest);
                assert!(self.acquired.contains(&token.sequence), "I11: {token:?} was never acknowledged");
                self.largest = Some(token);
                self.term = Some(token);
            }
            Output::Event(Event::Lost { term, .. }) => {
                assert_eq!(self.term.take(), Some(term.token), "I5: lost what was not won");
            }
            Output::Event(Event::Draining { term, .. }) => {
                assert_eq!(self.term, Some(term.token), "I5: drains what was not won");
            }
            _ => {}
        }
    }

    fn wrote(&mut self, write: &Write, campaign: &Campaign, now: Instant, lies: &Lies) {
        let last = self.writes.last().map_or(0, |sent| sent.write.attempt.0);
        assert_eq!(write.attempt.0, last + 1, "attempts are numbered without a gap");
        if let Some((awaited, until)) = self.awaited {
            assert!(now >= until, "I6: {awaited:?} is awaited until {until:?}, but another is sent");
        }
        let there = match write.expect {
            Expect::Absent => None,
            Expect::Revision(Revision(revision)) => {
                Some(lies.shown(revision).expect("a revision that was shown"))
            }
        };
        let live = there.and_then(Entry::live);
        assert!(live.is_none_or(is_mine), "a write over a foreign record: {write:?}");
        match write.action {
            Action::Release { .. } => {
                assert!(live.is_some(), "I7: a delete of something that is not ours: {write:?}");
                assert_eq!(self.term, None, "I8: released before Lost was reported");
            }
            Action::Renew(_) => assert!(live.is_some(), "a renewal of something that is not ours: {write:?}"),
            Action::Acquire(_) => assert!(!self.closing, "I6: an acquire after close"),
        }
        let limit = (campaign.lease_time() / 12).clamp(Duration::from_millis(250), Duration::from_secs(2));
        self.awaited = Some((write.attempt, now + limit));
        self.writes.push(Sent { write: write.clone(), at: now, life: self.life.0 });
    }

    /// Checks the lease that the campaign publishes.
    pub(super) fn lease(&self, campaign: &Campaign, now: Instant) {
        let lease = campaign.lease();
        assert_eq!(lease.map(|lease| lease.token), self.term, "I2: the lease is that of the reported term");
        let Some(Lease { deadline, token }) = lease else {
            assert!(!campaign.is_leader(now), "I2: leads without a term");
            return;
        };
        assert_eq!(campaign.is_leader(now), now < deadline, "I2");
        assert!(!campaign.is_leader(deadline), "I2: leads at its deadline");
        let end = |sent: Instant| (sent + campaign.lease_time()).before(campaign.margin());
        let proven = self.proven.expect("I3: a write that was shown to be applied");
        assert!(deadline <= end(proven), "I3: {deadline:?} is later than any proven write allows");
        let (life, shown) = self.life;
        assert_eq!(token.incarnation, life, "I12: leads by a token of another life");
        assert!(deadline <= end(shown), "I3: {deadline:?} is later than the life of the store was shown");
    }
}

/// Checks I14, and again I13 and that misuse does no harm: replays all inputs with another campaign, without the calls
/// that must not change anything.
pub(super) fn replay(plan: &Plan, inputs: &[(Instant, Input)], trace: &[Output], first: &Campaign) {
    let mut again = plan.campaign().expect("settings that were accepted");
    let mut said = trace.iter();
    for (now, input) in inputs {
        again.handle(*now, input.clone()).expect("what was accepted");
        loop {
            let output = again.poll();
            assert_eq!(Some(&output), said.next(), "I13, I14: the same inputs, but other outputs");
            if matches!(output, Output::WakeAt(_)) {
                break;
            }
        }
    }
    assert_eq!(said.next(), None, "I14: the first campaign had more outputs");
    let shown = (again.lease(), again.state(), again.leader());
    assert_eq!(shown, (first.lease(), first.state(), first.leader()), "I14");
}
