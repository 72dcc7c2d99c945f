//! Giving way: a candidate that cannot prove its claim leaves it to others, and rests.
//!
//! A claim puts a candidate before others: a live record, a place in a queue, an assignment. Something that needs no
//! proof keeps it (renewals, keep-alives, a membership). So a candidate whose proofs fail, because of a permission or a
//! lost link to one server, could hold its claim forever, and no candidate would lead. Hence:
//!
//! 1. **It gives way after a lease.** The lease counts only from steps that were *sent* and then failed or were not
//!    answered in time, and only while what keeps the claim was answered. Time in our own queue does not count, nor
//!    does time in which the process did not run. A store that as a whole cannot answer does not count either: the rule
//!    does not report such failures here, and without answers that keep the claim nothing counts anyway. A candidate
//!    that repeatedly fails for less than a lease loses its term each time and recovers just in time to keep its claim.
//!    So if a win is due and cannot be reported, the time that counted until the win is owed. A term pays off a tenth
//!    of the time that it leads, and what is still owed counts when the next claim cannot be proved.
//! 2. **It rests** ten times as long as its claim blocked the election, removal included. Each further rest in a row is
//!    twice as long as the one before, up to ten minutes, or up to ten times the last blocking if that is longer. A
//!    term that lasts as long as the rest before it ends the row. So a faulty candidate costs its election at most a
//!    tenth of the time, and less each time.
//! 3. **It probes** each step that failed, every third of a lease. When all of them succeed, the rest ends early, but
//!    only once in a row of rests. A step that only a member can do cannot be probed.
//! 4. **Alone, it blocks no one.** If no other candidate was observed to claim the election for the worst fail-over,
//!    the rest ends and does not count in the row. Twice as much time must then be owed before the candidate rests
//!    again for what it owes.
//!
//! This module sends nothing and reads no clock: its rule reports what happened and when, and asks whether to give way.

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use core::time::Duration;

use super::steps::{Step, Steps};
use crate::campaign::{Warning, backoff, pace};
use crate::store::Fault;
use crate::time::Instant;

/// The rest as a multiple of the time blocked, so that at most a tenth of the time is lost.
const REST: u32 = 10;
/// The longest rest, unless ten times the last blocking is longer. A candidate that recovers is back within ten
/// minutes.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// The most times that the time to be owed is doubled. It is doubled after each rest that ended because no other
/// candidate claimed the election. With this limit, a candidate that joins later leads within 32 leases of vacancies.
const MOST_ALONE: u32 = 5;

/// When a failed step was asked for and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tried {
    /// When the rule asked for the step.
    pub asked: Instant,
    /// When the step was handed to the store's client. Before that it waited in our own queue.
    pub sent: Instant,
}

impl Tried {
    /// Returns the times of a step that was sent as soon as it was asked for.
    pub const fn at(sent: Instant) -> Self {
        Self { asked: sent, sent }
    }
}

/// Decides when a candidate gives way, and how long it rests.
///
/// A rule keeps one for each campaign, as long as the campaign lives, and reports to it:
///
/// | during | call | when |
/// |---|---|---|
/// | the claim | [`kept`](Self::kept) | an answer shows that the claim is kept |
/// | | [`failed`](Self::failed) | a step that was sent failed, or its time limit passed, and the store as a whole can |
/// | | [`answered_with`](Self::answered_with) | that failure was a fault of the store |
/// | | [`succeeded`](Self::succeeded) | a step succeeded, though the proof is not whole |
/// | | [`proved`](Self::proved) | a proof, unless a win is due and cannot be reported |
/// | | [`won`](Self::won), [`lost`](Self::lost) | a win or a loss is reported |
/// | | [`claim_ended`](Self::claim_ended) | the claim is over for another reason: released, lost, removed by an operator |
/// | giving way | [`gives_way`](Self::gives_way) | after each `failed`; if true, withdraw the claim and call [`withdraws`](Self::withdraws) |
/// | | [`removed`](Self::removed) | nothing of the claim is left; report the warning that it returns |
/// | the rest | [`rests`](Self::rests) | before each new claim, which is not made while it holds |
/// | | [`wakes_at`](Self::wakes_at) | for the timer table, after a removal and after a probe |
/// | | [`probe`](Self::probe), [`probed`](Self::probed) | at that timer, and for each answer to a probe |
/// | | [`others_claim`](Self::others_claim) | each observation of the election |
///
/// `probed` and `others_claim` may end the rest: call `rests` after them. A call that does not fit what the candidate
/// is doing, such as a late failure during the rest, changes nothing. `lease` is the lease in force. While all is well,
/// this is a single null pointer.
#[derive(Clone, Debug, Default, Hash)]
pub struct GivingWay {
    trouble: Option<Box<Trouble>>,
}

/// The history of a candidate whose steps fail, or failed recently.
#[derive(Clone, Debug, Hash)]
struct Trouble {
    stage: Stage,
    /// The steps that failed since the last proof and have not succeeded since.
    failing: Steps,
    /// The last fault in an answer to one of the failing steps.
    fault: Option<Fault>,
    /// The number of times in a row that the candidate gave way, including the last.
    times: u32,
    /// Whether a rest ended early, and no term has since lasted as long as the rest before it.
    ended_early: bool,
    /// The length of the last rest, as it was set.
    rest: Duration,
    /// The time that counted before wins, less what terms have paid off.
    owed: Duration,
    /// The number of rests in a row that ended because no other candidate claimed the election.
    alone: u32,
    /// When the present term began; `None` if no rest came before it and nothing is owed.
    term: Option<Instant>,
}

#[derive(Clone, Debug, Hash)]
enum Stage {
    Claims(Count),
    /// The candidate gave way and is removing its claim.
    Removes {
        since: Instant,
        blocked: Duration,
    },
    Rests(Rest),
}

/// Counts how long a claim is held without a proof.
#[derive(Clone, Debug, Default, Hash)]
struct Count {
    /// The time that counts towards the lease.
    counted: Duration,
    /// The part of the counted time that was certainly no outage, because what keeps the claim was answered afterwards.
    certain: Duration,
    /// The uncertain part.
    open: Duration,
    /// The time for which the claim kept others from leading, whether counted or not. Outages and time in which the
    /// process did not run are excluded.
    blocked: Duration,
    /// When a step last failed, and when what keeps the claim was last answered.
    upto: Option<Upto>,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Upto {
    failed: Instant,
    kept: Instant,
}

#[derive(Clone, Debug, Hash)]
struct Rest {
    until: Instant,
    /// When to probe next, and to check who else claims the election.
    next_probe: Instant,
    /// When the current probe began, and which of its steps have not succeeded yet.
    probe: Option<(Instant, Steps)>,
    /// The beginning of the time in which no other candidate was seen to claim the election, and the instant at which
    /// that time will have lasted for the worst fail-over.
    unclaimed: Option<(Instant, Instant)>,
}

impl Trouble {
    fn new() -> Self {
        Self {
            stage: Stage::Claims(Count::default()),
            failing: Steps::default(),
            fault: None,
            times: 0,
            ended_early: false,
            rest: Duration::ZERO,
            owed: Duration::ZERO,
            alone: 0,
            term: None,
        }
    }

    /// Returns the count, unless the candidate is removing its claim or rests.
    fn count(&mut self, now: Instant) -> Option<&mut Count> {
        if matches!(&self.stage, Stage::Rests(rest) if rest.until <= now) {
            self.forget_claim();
        }
        match &mut self.stage {
            Stage::Claims(count) => Some(count),
            Stage::Removes { .. } | Stage::Rests(_) => None,
        }
    }

    /// Forgets the claim, so that the next failure counts as the first.
    fn forget_claim(&mut self) {
        self.stage = Stage::Claims(Count::default());
        self.failing = Steps::default();
        self.fault = None;
    }

    /// Notes that the term has lasted until `now`. A term that lasted as long as the rest before it ends the series of
    /// rests. A term that lasted ten times as long as the time owed pays off that time.
    fn led(&mut self, now: Instant) {
        let Some(started) = self.term else { return };
        let led = now.since(started);
        if led >= self.rest {
            (self.times, self.ended_early, self.alone) = (0, false, 0);
        }
        if led / REST >= self.owed {
            self.owed = Duration::ZERO;
        }
    }

    /// A term is over.
    fn term_ended(&mut self, now: Instant) {
        self.led(now);
        let led = self.term.take().map_or(Duration::ZERO, |started| now.since(started));
        self.owed = self.owed.saturating_sub(led / REST);
    }

    /// Whether nothing in the candidate's history matters any more.
    fn is_well(&self) -> bool {
        self.times == 0 && !self.ended_early && self.owed.is_zero() && self.alone == 0
    }

    /// Whether the time owed from earlier claims and the certain time of this unproven claim together reach a lease,
    /// doubled for each rest alone.
    fn owes(&self, lease: Duration, count: &Count) -> bool {
        let enough = lease.saturating_mul(2u32.saturating_pow(self.alone));
        let fails = count.upto.is_some() && self.term.is_none();
        fails && !self.owed.is_zero() && self.owed + count.certain >= enough
    }

    /// The steps that a probe repeats. There are none if a probe could not end the rest.
    fn probed_steps(&self) -> Steps {
        if self.ended_early || self.failing.contains(Step::Commit) { Steps::default() } else { self.failing }
    }
}

impl Count {
    /// Counts an answer that shows that what keeps the claim works.
    fn kept(&mut self, lease: Duration, now: Instant) {
        let Some(upto) = &mut self.upto else { return };
        let open = core::mem::take(&mut self.open);
        if now.since(upto.kept) > longest_silence(lease) {
            // There was an outage, or the process was not running.
            upto.failed = now;
        } else {
            self.certain += open;
        }
        upto.kept = upto.kept.max(now);
    }

    /// A step failed.
    fn failed(&mut self, tried: Tried, lease: Duration, now: Instant) {
        // When the first step of a claim fails, the claim counts as kept now, because it was made or proved just
        // before.
        let Upto { failed, kept } = self.upto.unwrap_or(Upto { failed: tried.sent.min(now), kept: now });
        self.upto = Some(Upto { failed: failed.max(now), kept });
        if now.since(kept) > longest_silence(lease) {
            return;
        }
        self.blocked += now.since(failed);
        // A longer wait than this means that the process was not running. Time in our own queue does not count.
        let waited = tried.asked.since(failed).min(pace::renew_every(lease));
        let answered = now.since(tried.sent.max(failed)).min(pace::attempt_limit(lease));
        self.counted += waited + answered;
        self.open += waited + answered;
    }
}

/// The time between probes. It has a minimum, because an operator may lower a store's maximum age, and with it the
/// lease, to nothing.
fn probe_every(lease: Duration) -> Duration {
    pace::renew_every(lease).max(backoff::FIRST)
}

/// The longest time between two answers that keep a claim. One answer comes per renewal or per try, whichever takes
/// longer, and takes at most the time limit of an attempt.
fn longest_silence(lease: Duration) -> Duration {
    pace::renew_every(lease).max(backoff::longest()) + pace::attempt_limit(lease)
}

// ---- the claim ----

impl GivingWay {
    /// Notes that an answer at `now` shows that what keeps the claim works: a keep-alive or a renewal was answered, or
    /// the membership was confirmed.
    pub fn kept(&mut self, lease: Duration, now: Instant) {
        if let Some(count) = self.count(now) {
            count.kept(lease, now);
        }
    }

    /// Notes that a step of the proof failed at `now`, or was not answered within its time limit, though the store as a
    /// whole works.
    pub fn failed(&mut self, step: Step, tried: Tried, lease: Duration, now: Instant) {
        let trouble = self.trouble.get_or_insert_with(|| Box::new(Trouble::new()));
        if let Some(count) = trouble.count(now) {
            count.failed(tried, lease, now);
            trouble.failing.insert(step);
        }
    }

    /// Notes the fault with which the step that failed at `now` was answered, for the warning.
    pub fn answered_with(&mut self, fault: &Fault, now: Instant) {
        if self.count(now).is_some()
            && let Some(trouble) = &mut self.trouble
        {
            trouble.fault = Some(fault.clone());
        }
    }

    /// Notes that a step succeeded, so that it is not probed if this candidate gives way.
    pub fn succeeded(&mut self, step: Step, now: Instant) {
        if self.count(now).is_some()
            && let Some(trouble) = &mut self.trouble
        {
            trouble.failing.remove(step);
        }
    }

    /// Notes that the claim was proved. If a win was due, only the win proves the claim. If others are ahead, a wait is
    /// owed, or a term lasts, a proof does.
    pub fn proved(&mut self, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        if trouble.count(now).is_some() {
            trouble.forget_claim();
            trouble.led(now);
            self.forget_if_well();
        }
    }

    /// Notes that the win was reported. The time that counted until now is owed.
    pub fn won(&mut self, lease: Duration, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        let counted = trouble.count(now).map(|count| {
            count.kept(lease, now);
            count.certain
        });
        trouble.owed += counted.unwrap_or_default();
        trouble.term = Some(now);
        self.proved(now);
    }

    /// Notes that the loss was reported. If the claim remains, time counts from the claim's last proof.
    pub fn lost(&mut self, now: Instant) {
        if let Some(trouble) = &mut self.trouble {
            trouble.term_ended(now);
        }
    }

    /// Notes that the claim ended for another reason than giving way. A claim that is taken again at once, such as an
    /// orphan, is the same claim and has not ended.
    pub fn claim_ended(&mut self, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        if trouble.count(now).is_some() {
            trouble.forget_claim();
            self.forget_if_well();
        }
    }

    fn count(&mut self, now: Instant) -> Option<&mut Count> {
        self.trouble.as_mut()?.count(now)
    }

    fn forget_if_well(&mut self) {
        self.trouble.take_if(|trouble| trouble.is_well());
    }
}

// ---- giving way ----

impl GivingWay {
    /// Whether the claim was held for a lease without a proof, counting what is owed from earlier claims.
    #[must_use]
    pub fn gives_way(&self, lease: Duration) -> bool {
        let Some(trouble) = &self.trouble else { return false };
        let Stage::Claims(count) = &trouble.stage else { return false };
        count.counted >= lease || trouble.owes(lease, count)
    }

    /// The steps that failed since the last proof and have not succeeded since: the cause, for the warning.
    #[must_use]
    pub fn failing(&self) -> Steps {
        self.trouble.as_ref().map_or(Steps::default(), |trouble| trouble.failing)
    }

    /// Starts the count of the lease again, because the rule tries a remedy first. The time already blocked remains
    /// counted as blocked.
    pub fn count_again(&mut self, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        let owed = core::mem::take(&mut trouble.owed);
        if let Some(count) = trouble.count(now) {
            count.blocked += owed;
            (count.counted, count.certain, count.open) = Default::default();
        }
    }

    /// Notes that this candidate gives way at `now` and removes its claim.
    pub fn withdraws(&mut self, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        trouble.term_ended(now);
        let owed = core::mem::take(&mut trouble.owed);
        if let Some(count) = trouble.count(now) {
            trouble.stage = Stage::Removes { since: now, blocked: count.blocked + owed };
        }
    }

    /// Notes that nothing of the claim is left at `now`, so the rest begins. Returns the warning to report.
    pub fn removed(&mut self, lease: Duration, now: Instant) -> Option<Warning> {
        let trouble = self.trouble.as_mut()?;
        let Stage::Removes { since, blocked } = trouble.stage else { return None };
        let single = (blocked + now.since(since)).saturating_mul(REST);
        let in_row = single.saturating_mul(2u32.saturating_pow(trouble.times));
        trouble.times = trouble.times.saturating_add(1);
        trouble.rest = in_row.min(LONGEST_REST.max(single));
        trouble.stage = Stage::Rests(Rest {
            until: now + trouble.rest,
            next_probe: now + probe_every(lease),
            probe: None,
            unclaimed: None,
        });
        let (failing, fault, rest) = (trouble.failing, trouble.fault.take(), trouble.rest);
        Some(Warning::GaveWay { failing, fault, rest })
    }
}

// ---- the rest ----

impl GivingWay {
    /// Whether this candidate must not claim the election, because it is removing its claim or rests.
    #[must_use]
    pub fn rests(&self, now: Instant) -> bool {
        let removes =
            self.trouble.as_ref().is_some_and(|trouble| matches!(trouble.stage, Stage::Removes { .. }));
        removes || self.rest(now).is_some()
    }

    /// The end of the current rest, for reports.
    #[must_use]
    pub fn rest_until(&self, now: Instant) -> Option<Instant> {
        self.rest(now).map(|rest| rest.until)
    }

    /// When to check the rest again: call [`rests`](Self::rests), then [`probe`](Self::probe) if the candidate still
    /// rests, and check who else claims the election.
    #[must_use]
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let rest = self.rest(now)?;
        let alone_at = rest.unclaimed.map(|(_, alone_at)| alone_at).filter(|at| *at > now);
        Some(rest.until.min(rest.next_probe).min(alone_at.unwrap_or(Instant::NEVER)))
    }

    /// Begins a probe. Returns the steps to repeat, each once, in a form that needs no claim.
    ///
    /// The rule also checks who else claims the election, and reports it to [`others_claim`](Self::others_claim).
    /// Returns no step if the next probe is not due, if a failed step cannot be probed, or if a rest ended early and no
    /// term has lasted as long as its rest since then. Without steps, the rule only checks the claims.
    pub fn probe(&mut self, lease: Duration, now: Instant) -> Steps {
        let Some(trouble) = &mut self.trouble else { return Steps::default() };
        let steps = trouble.probed_steps();
        match &mut trouble.stage {
            Stage::Rests(rest) if rest.next_probe <= now && rest.until > now => {
                rest.next_probe = now + probe_every(lease);
                rest.probe = (!steps.is_empty()).then_some((now, steps));
                steps
            }
            _ => Steps::default(),
        }
    }

    /// Notes that a step of a probe sent at `sent` succeeded or failed. When all steps of one probe have succeeded, the
    /// rest ends.
    ///
    /// A step that cannot be repeated now counts as failed.
    pub fn probed(&mut self, step: Step, sent: Instant, succeeded: bool, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        let Stage::Rests(rest) = &mut trouble.stage else { return };
        // An answer to an earlier probe proves nothing about the present probe.
        let Some((_, missing)) = rest.probe.as_mut().filter(|(began, _)| sent >= *began) else { return };
        if !succeeded {
            rest.probe = None;
            return;
        }
        missing.remove(step);
        if missing.is_empty() && rest.until > now {
            rest.probe = None;
            rest.until = now;
            trouble.ended_early = true;
        }
    }

    /// Notes whether another candidate claimed the election when it was observed at `now`.
    ///
    /// Do not report an election that could not be observed, because it may be claimed. `worst` is the worst fail-over
    /// that the settings imply.
    pub fn others_claim(&mut self, claimed: bool, worst: Duration, now: Instant) {
        let Some(trouble) = &mut self.trouble else { return };
        if claimed {
            trouble.alone = 0;
        }
        let Stage::Rests(rest) = &mut trouble.stage else { return };
        if claimed {
            rest.unclaimed = None;
            return;
        }
        let since = rest.unclaimed.map_or(now, |(since, _)| since);
        rest.unclaimed = Some((since, since + worst));
        if now.since(since) >= worst && rest.until > now {
            rest.until = now;
            trouble.times = trouble.times.saturating_sub(1);
            trouble.alone = (trouble.alone + 1).min(MOST_ALONE);
        }
    }

    fn rest(&self, now: Instant) -> Option<&Rest> {
        match &self.trouble.as_ref()?.stage {
            Stage::Rests(rest) if rest.until > now => Some(rest),
            _ => None,
        }
    }
}
