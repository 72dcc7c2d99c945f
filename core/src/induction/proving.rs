//! The proof of an ownership: an appended record, followed by an acknowledged offset commit.
//!
//! A late acknowledgement counts for the record that it committed, from the time when that record was sent. So every
//! record published under this ownership is kept until a newer one is proved.

use alloc::string::String;
use core::time::Duration;

use super::answers;
use super::committed::{self, OpenCommits, stated};
use super::io::{Failure, Membership, Publish, Request};
use super::owner::Owner;
use super::proof::{Awaited, Proof, REMEMBERED, Sent};
use super::record::{self, Kind, TopicId};
use super::timers::Timer;
use super::{Induction, Race};
use crate::campaign::backoff;
use crate::candidacy::{Candidacy, Stage, Step};
use crate::record::{Attempt, TermInfo, WriteId};
use crate::time::Instant;
use crate::token::Revision;

/// The number of renewals in a lease, so that more than one may fail.
const RENEWALS: u32 = 5;

impl Candidacy<Induction> {
    /// Publishes a record of this candidate for the log of `topic`. A producer may append the record to whatever topic
    /// has that name by then.
    pub(super) fn publish_record(
        &mut self,
        kind: Kind,
        topic: Option<TopicId>,
        term_info: TermInfo,
    ) -> Attempt {
        self.own.last_attempt = Attempt(self.own.last_attempt.0 + 1);
        let attempt = self.own.last_attempt;
        let write_id = WriteId { nonce: self.nonce, attempt };
        let headers = record::headers(write_id, kind, topic, self.lease, term_info, &self.rules.metadata);
        let name = self.rules.name.clone();
        self.ask(Request::Publish(Publish { attempt, kind, name, headers }));
        attempt
    }

    /// Publishes a record that is to be proved.
    pub(super) fn publish(&mut self, kind: Kind, term_info: TermInfo) -> Attempt {
        let (attempt, now) = (self.publish_record(kind, self.own.topic.id, term_info), self.now);
        let (lease, newest) = (self.lease, self.own.proof.newest_appended().map(|(sent, _)| sent.attempt));
        // Records older than a lease give no deadline. The newest appended one is kept, because it can still be
        // committed.
        let sent = &mut self.own.proof.sent;
        sent.retain(|sent| sent.at + lease > now || Some(sent.attempt) == newest);
        // If very many records of a long lease have not been appended yet, the oldest is dropped. If it is appended
        // later, that no longer counts.
        let oldest = sent.iter().position(|sent| Some(sent.attempt) != newest);
        if let Some(oldest) = oldest.filter(|_| sent.len() >= REMEMBERED) {
            sent.remove(oldest);
        }
        sent.push_back(Sent { attempt, at: now, offset: None, stated: None });
        self.wait_for(Awaited::Append(attempt));
        attempt
    }

    fn wait_for(&mut self, awaited: Awaited) {
        (self.own.proof.awaited, self.own.proof.asked_at) = (Some(awaited), self.now);
        self.timers.stop(Timer::Renew);
        self.timers.set(Timer::Answer, self.now + self.attempt_limit());
    }

    pub(super) fn wait_for_token(&mut self) {
        self.wait_for(Awaited::Token);
    }

    fn commit(&mut self, attempt: Attempt, offset: Revision) {
        self.wait_for(Awaited::Commit(attempt));
        let offset = Revision(offset.0.saturating_add(1));
        let claimed = self.owner().and_then(Owner::claimed_token);
        let token = self.own.log.largest_token().max(claimed);
        if let Some(sent) = self.own.proof.sent.iter_mut().find(|sent| sent.attempt == attempt) {
            sent.stated = sent.stated.or(token);
        }
        self.own.open_commits.asked(attempt, token, self.now);
        self.ask(Request::Commit { attempt, offset, metadata: committed::metadata(token) });
    }

    /// Commits the newest appended record if it is newer than the proved one. Returns whether it was.
    fn commit_newest(&mut self) -> bool {
        let newer = |sent: &Sent| self.own.proof.proven.is_none_or(|proven| sent.at > proven.at);
        let found = self.own.proof.newest_appended().filter(|(sent, _)| newer(sent));
        if let Some((sent, offset)) = found {
            self.commit(sent.attempt, offset);
        }
        found.is_some()
    }

    /// Renews the lease. A candidate whose lease ran out publishes nothing until a commit is acknowledged, so it
    /// repeats the commit of its last appended record.
    pub(super) fn renew(&mut self) {
        let Some(owner) = self.owner() else { return };
        let holds = owner.deadline.is_some();
        let has_claim = owner.pending_claim() == Some(None);
        match self.own.proof.newest_appended() {
            Some((sent, offset)) if !holds => self.commit(sent.attempt, offset),
            _ if has_claim => self.publish_heartbeat(),
            _ => self.claim(),
        }
    }

    /// The term or the claim that a heartbeat states.
    fn statement(&self) -> Option<TermInfo> {
        match self.term {
            Some(term) => Some(TermInfo { token: term.token, led_for: Some(self.now.since(term.started)) }),
            None => Some(TermInfo { token: self.owner()?.claimed_token()?, led_for: None }),
        }
    }

    fn publish_heartbeat(&mut self) {
        if let Some(statement) = self.statement() {
            self.publish(Kind::Heartbeat, statement);
        }
    }

    /// Publishes a heartbeat in addition to the renewals, for members that use goNELI.
    pub(super) fn heartbeat(&mut self) {
        let Some(every) = self.rules.own.heartbeat.filter(|_| self.term.is_some()) else { return };
        if let Some(term_info) = self.statement() {
            self.publish_record(Kind::Heartbeat, self.own.topic.id, term_info);
            self.timers.set(Timer::Heartbeat, self.now + every);
        }
    }

    pub(super) fn published(&mut self, attempt: Attempt, result: Result<Revision, Failure>) {
        if self.is_release(attempt) {
            return self.release_ended();
        }
        if self.is_probe(attempt, result.is_ok()) {
            return;
        }
        let awaited = self.own.proof.awaited == Some(Awaited::Append(attempt));
        let offset = match result {
            Ok(offset) => offset,
            Err(failure) if awaited => return self.failed(&failure),
            Err(_) => return,
        };
        if self.own.proof.is_in_another_log(attempt, offset) {
            return self.is_another_log();
        }
        let Some(sent) = self.own.proof.sent.iter_mut().find(|sent| sent.attempt == attempt) else { return };
        sent.offset = Some(offset);
        self.giving_way.succeeded(Step::Append, self.now);
        self.claim_appended(attempt, offset);
        if self.own.proof.has_sent(attempt) && !matches!(self.own.proof.awaited, Some(Awaited::Commit(_))) {
            self.commit(attempt, offset);
        }
    }

    pub(super) fn committed(&mut self, attempt: Attempt, result: Result<Membership, Failure>) {
        let Some(sent) = self.own.proof.sent.iter().find(|sent| sent.attempt == attempt).copied() else {
            return;
        };
        let awaited = self.own.proof.awaited == Some(Awaited::Commit(attempt));
        match result {
            Ok(membership) if self.is_still_member(&membership) => self.proven(sent),
            // The client resent the commit from an earlier membership, or an empty group accepted it.
            Ok(_) if awaited => self.failed(&Failure::Refused),
            Err(Failure::GroupLost(loss)) => self.group_lost(loss),
            Err(failure) if awaited => self.failed(&failure),
            Ok(_) | Err(_) => {}
        }
    }

    /// Notes that a commit was answered, so that the client will not send it again. Returns true if a win may have been
    /// waiting for this answer.
    pub(super) fn commit_answered(&mut self, attempt: Attempt) -> bool {
        let claimed = self.owner().filter(|_| self.term.is_none()).and_then(Owner::claimed_token);
        let waits = |open: &OpenCommits| claimed.is_some_and(|token| open.below(token).is_some());
        let waited = waits(&self.own.open_commits);
        self.own.open_commits.answered(attempt);
        waited && !waits(&self.own.open_commits)
    }

    /// Asks the coordinator for the committed offset's metadata.
    pub(super) fn ask_token(&mut self) {
        self.own.last_question += 1;
        self.wait_for_token();
        self.ask(Request::Committed { number: self.own.last_question });
    }

    /// Handles the coordinator's answer. An answer from before the assignment may miss commits of the previous owner.
    pub(super) fn token_committed(&mut self, number: u64, result: Result<String, Failure>) {
        if matches!(result, Ok(_) | Err(Failure::Denied(_))) {
            self.is_held();
        }
        if !self.owner().is_some_and(|owner| owner.asks(number)) {
            return;
        }
        let known = match result {
            Ok(metadata) => stated(&metadata).map_err(Failure::Denied),
            Err(Failure::GroupLost(loss)) => return self.group_lost(loss),
            Err(failure) => Err(failure),
        };
        match known {
            Ok(token) => {
                if let Some(token) = token {
                    self.own.log.observe_token(token);
                }
                self.informed(token);
            }
            // This answers an earlier question; the newest question is still unanswered.
            Err(_) if number < self.own.last_question => {}
            Err(failure) => self.failed(&failure),
        }
    }

    fn is_still_member(&self, membership: &Membership) -> bool {
        let Some(owner) = self.owner() else { return false };
        membership.member == owner.member && membership.generation >= 0 && membership.owns
    }

    /// Notes that the candidate was a member after this record was appended.
    fn proven(&mut self, sent: Sent) {
        let (now, lease, margin) = (self.now, self.lease, self.margin());
        let deadline = (sent.at + lease).before(margin);
        let Stage::Racing(Race::Owner(owner)) = &mut self.stage else { return };
        if deadline > now {
            owner.deadline = owner.deadline.max(Some(deadline));
            // Only a commit that gives a lease clears the failures: a candidate without a lease repeats an old commit.
            self.own.failures = 0;
            self.reports.is_well();
        }
        self.own.proof.proven = self.own.proof.proven.filter(|before| before.at > sent.at).or(Some(sent));
        let (is_over, claim) = (owner.deadline.is_none(), owner.pending_claim());
        self.own.proof.sent.retain(|other| other.at > sent.at || other.attempt == sent.attempt);
        match claim {
            // This candidate is still the owner, but the term or the log of its last claim is over.
            None => self.claim(),
            Some(Some(attempt)) if self.is_under_way(attempt) => self.wait_for(Awaited::Append(attempt)),
            // The append of this claim may never happen.
            Some(Some(_)) => self.claim(),
            Some(None) if is_over => self.publish_heartbeat(),
            Some(None) => {
                let under_way = match self.own.proof.awaited {
                    Some(Awaited::Append(other) | Awaited::Commit(other)) => {
                        other != sent.attempt && self.own.proof.has_sent(other)
                    }
                    Some(Awaited::Token) | None => false,
                };
                if !under_way {
                    self.stop_waiting();
                    if !self.commit_newest() {
                        self.timers.set(Timer::Renew, sent.at + renew_every(lease));
                    }
                }
                self.win();
            }
        }
        self.claim_proved(sent.at);
    }

    /// Whether this record was sent so recently that its append may still be reported.
    fn is_under_way(&self, attempt: Attempt) -> bool {
        let sent = self.own.proof.sent.iter().find(|sent| sent.attempt == attempt);
        sent.is_some_and(|sent| sent.at + self.attempt_limit() > self.now)
    }

    pub(super) fn stop_waiting(&mut self) {
        (self.own.proof.awaited, self.own.proof.asked_at) = (None, Instant::ZERO);
        self.timers.stop(Timer::Answer);
        self.timers.stop(Timer::Renew);
    }

    /// Forgets the published records, because the ownership ended or the log was replaced.
    pub(super) fn forget_proof(&mut self) {
        self.stop_waiting();
        self.timers.stop(Timer::Heartbeat);
        self.own.proof = Proof { former: self.own.last_attempt, ..Proof::default() };
    }

    pub(super) fn answer_timed_out(&mut self) {
        if self.own.proof.awaited.is_some() {
            self.failed(&Failure::Unknown);
        }
    }

    /// Handles an append or a commit that proved nothing. It is repeated, and the deadline remains.
    pub(super) fn failed(&mut self, failure: &Failure) {
        let (awaited, asked_at) = (self.own.proof.awaited, self.own.proof.asked_at);
        self.stop_waiting();
        self.own.failures = self.own.failures.saturating_add(1);
        let wait = backoff::standard(self.own.failures, &mut self.rng);
        self.timers.set(Timer::Renew, self.now + wait);
        match failure {
            Failure::TopicGone => self.inspect(),
            Failure::Unknown if self.own.failures > 1 => self.report_fault(answers::unreachable()),
            _ => {}
        }
        if let Some(fault) = failure.fault() {
            self.report_fault(fault.clone());
        }
        self.awaited_failed(awaited, asked_at, failure);
    }
}

/// The time from the sending of a proved record to the next renewal.
pub(super) fn renew_every(lease: Duration) -> Duration {
    lease / RENEWALS
}
