//! What induction adds to a candidate.

use core::convert::Infallible;
use core::time::Duration;

use super::settings::Own;
use super::timers::Timer;
use super::{Answer, Campaign, Connection, Induction, Leaving, Race, Request, Shown, Topic};
use crate::campaign::{InvalidSettings, Misuse, Reason, Settings, State};
use crate::candidacy::{Ended, Obstacle, Rule, Stage};
use crate::record::Nonce;
use crate::store::StoreInfo;
use crate::time::Instant;

/// The brokers' default session timeout of a KIP-848 member (`group.consumer.session.timeout.ms`).
const BROKERS_SESSION: Duration = Duration::from_secs(45);

impl Campaign {
    /// The time after which the group removes a silent member.
    pub(super) fn session(&self) -> Duration {
        self.rules.own.client.session.unwrap_or(BROKERS_SESSION)
    }
}

impl Rule for Induction {
    type Store = Connection;
    type Settings = Own;
    type Timer = Timer;
    type Request = Request;
    type Answer = Answer;
    type Shown = Shown;
    type Early = ();
    type Told = Infallible;
    type Tell = Infallible;
    type Race = Race;
    type Leaving = Leaving;

    /// The connection takes the part of the inspected store. Each campaign asks for its own topic.
    fn begin(
        settings: Settings,
        store: &Connection,
        _: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Campaign, InvalidSettings> {
        let topic = Topic { asked_at: store.read_at, id: None, time_of_day: store.time_of_day };
        Campaign::new(settings, store.group, topic, nonce, seed, now)
    }

    fn enters(campaign: &mut Campaign) {
        if campaign.own.topic.id.is_none() {
            campaign.inspect();
        }
    }

    fn claim(campaign: &mut Campaign) {
        campaign.join_when_rested();
    }

    fn racing(campaign: &Campaign) -> State {
        match campaign.owner() {
            None => State::Waiting,
            Some(owner) if owner.deadline.is_some() => State::Holding,
            Some(_) => State::Acquiring,
        }
    }

    fn deadline(campaign: &Campaign) -> Option<Instant> {
        campaign.owner()?.deadline
    }

    fn lose(campaign: &mut Campaign, reason: Reason) {
        campaign.lose(reason);
    }

    fn give_up(campaign: &mut Campaign) {
        if campaign.owner().is_some() {
            campaign.past.rest_until = campaign.now + campaign.lease;
            campaign.leave_partition(true);
        }
    }

    fn withdraw(campaign: &mut Campaign) {
        match &campaign.stage {
            Stage::Racing(Race::Owner(_) | Race::Member) => campaign.leave_partition(true),
            _ => {
                campaign.timers.stop(Timer::Join);
                campaign.stage = Stage::Idle;
            }
        }
    }

    fn leave_behind(campaign: &mut Campaign, ended: Ended) {
        campaign.end_ownership(&ended);
    }

    fn work_ended(campaign: &mut Campaign) {
        campaign.work_ended();
    }

    fn limit_close(campaign: &mut Campaign) {
        campaign.limit_work();
    }

    fn close_timed_out(campaign: &mut Campaign) {
        campaign.leaving_timed_out();
    }

    fn is_settled(campaign: &Campaign) -> bool {
        campaign.own.left
    }

    /// A client that does not leave its group in time is abandoned.
    fn may_be_forgotten(_: &Campaign) -> bool {
        true
    }

    fn check(campaign: &Campaign, answer: &Answer) -> Result<(), Misuse> {
        match answer {
            Answer::Published { attempt, .. } | Answer::Committed { attempt, .. }
                if *attempt > campaign.own.last_attempt =>
            {
                Err(Misuse::UnknownAttempt(*attempt))
            }
            _ => Ok(()),
        }
    }

    fn answered(campaign: &mut Campaign, answer: Answer) {
        match answer {
            Answer::Assigned { member } => campaign.assigned(member),
            Answer::Revoked => campaign.revoked(),
            Answer::GroupLost(loss) => campaign.group_lost(loss),
            Answer::Left => campaign.has_left(),
            Answer::Published { attempt, result } => campaign.published(attempt, result),
            Answer::Committed { attempt, result } => {
                let waited = campaign.commit_answered(attempt);
                campaign.committed(attempt, result);
                if waited {
                    campaign.win();
                }
            }
            Answer::CommittedToken { number, result } => campaign.token_committed(number, result),
            Answer::Inspected(result) => campaign.topic_inspected(result),
            Answer::Members(result) => campaign.members_counted(result),
            Answer::Denied(fault) => campaign.report_fault(fault),
        }
    }

    fn shown(campaign: &mut Campaign, shown: Shown) {
        match shown {
            Shown::Record(record) => campaign.record(&record),
            Shown::Gap => campaign.gap(),
        }
    }

    fn fire(campaign: &mut Campaign, timer: Timer) {
        match timer {
            Timer::Answer => campaign.answer_timed_out(),
            Timer::Release => campaign.release_ended(),
            Timer::Work => campaign.work_timed_out(),
            Timer::Owed => campaign.win(),
            Timer::Renew => campaign.renew(),
            Timer::Heartbeat => campaign.heartbeat(),
            Timer::Inspect => campaign.inspect(),
            Timer::Join => campaign.join_when_rested(),
            Timer::Vacant => campaign.report_leader(None),
            // Handled for every rule.
            Timer::Deadline | Timer::Close | Timer::Drain | Timer::Splay => {}
        }
    }

    fn check_bounds(campaign: &Campaign) {
        debug_assert!(campaign.own.open_commits.is_bounded(), "bound: open commits are bounded");
        debug_assert!(campaign.own.proof.is_bounded(), "bound: unproved records are bounded");
        // A member without the partition has no timer: it waits for its client, which waits for the group.
        debug_assert!(
            campaign.owner().is_none() || campaign.has_something_to_come(),
            "I15: an owner awaits an answer or a timer"
        );
    }

    fn obstacle(campaign: &Campaign) -> Obstacle {
        match &campaign.stage {
            Stage::Racing(Race::Member) => Obstacle::Unassigned,
            Stage::Racing(Race::Away) => {
                Obstacle::Resting { left: campaign.past.rest_until.since(campaign.now) }
            }
            Stage::Racing(Race::Owner(owner)) if owner.is_unread() => Obstacle::Unread,
            Stage::Racing(Race::Owner(_)) => {
                match campaign.timers.get(Timer::Owed).map(|until| until.since(campaign.now)) {
                    None | Some(Duration::ZERO) => Obstacle::Unproven,
                    Some(left) if !campaign.own.log.saw_others() => {
                        Obstacle::NewStore { left, can_be_stated: false }
                    }
                    Some(left) => Obstacle::FormerLeader { left },
                }
            }
            _ => Obstacle::Unanswered,
        }
    }

    /// The coordinator notices a crash after the session timeout. Then the group rebalances, and the new owner waits
    /// out the lease.
    fn worst_fail_over(campaign: &Campaign, _: Instant) -> Duration {
        // A new owner waits for a lease in any case.
        let delay = campaign.rules.win_delay.least(Duration::ZERO);
        campaign.session() + 2 * campaign.own.log.longest() + campaign.attempt_limit() + delay
    }

    /// The campaign itself limits the wait for an answer, and then asks again. The client's reports about its
    /// membership count whenever they arrive.
    fn limit(campaign: &Campaign, request: &Request, _: Duration) -> Duration {
        match request {
            Request::Publish(_)
            | Request::Commit { .. }
            | Request::Committed { .. }
            | Request::Inspect
            | Request::Members => campaign.lease_time(),
            Request::Join | Request::Yield | Request::Leave => Duration::MAX,
        }
    }

    #[cfg(feature = "testing")]
    fn fingerprint(campaign: &Campaign, hasher: &mut impl core::hash::Hasher) {
        use core::hash::Hash as _;

        // Lists every field, so that the compiler reports a new one.
        let Self {
            log,
            topic,
            inspects_from,
            proof,
            last_attempt,
            open_commits,
            last_question,
            failures,
            left,
            deaths,
            probe,
            reported: _,
        } = &campaign.own;
        (log, topic, inspects_from, proof, last_attempt, open_commits).hash(hasher);
        (last_question, failures, left, deaths, probe).hash(hasher);
    }
}
