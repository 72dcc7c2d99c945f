//! Answers of brokers that neither the simulator nor the model checker gives, or hardly ever. Each script gives such
//! answers to one owner of partition zero, and succeeds if the rules hold.

#![allow(clippy::expect_used, reason = "the lines above say why")]

use std::time::Duration;

use incumbent_core::campaign::{Event, Settings};
use incumbent_core::induction::{
    Answer, Campaign, Failure, Group, Input, Kind, Loss, Membership, Output, Publish, Record, Request, Shown,
    Topic, TopicId,
};
use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::script::{Script, broken};

const ME: Nonce = Nonce(0xa);
const TOPIC: TopicId = TopicId(1);
/// The time of day.
const DAY: Duration = Duration::from_secs(1);

const SCRIPTS: &[Script] = &[
    ("a topic without an answer", a_topic_without_an_answer),
    ("records that were not read", records_that_were_not_read),
    ("a lost assignment", a_lost_assignment),
    ("a topic that may not be written", a_topic_that_may_not_be_written),
    ("a leader that may write no more", a_leader_that_may_write_no_more),
    ("a denied commit", a_denied_commit),
    ("a leader that was missed", a_leader_that_was_missed),
    ("a commit that outlives its membership", a_commit_that_outlives_its_membership),
    ("a commit with a smaller token", a_commit_with_a_smaller_token),
];

/// The script that fails.
pub(crate) fn play() -> Option<String> {
    broken(SCRIPTS)
}

/// A claim is proved, and its lease is renewed until the candidate need not wait any longer. Only then do the brokers
/// answer whether the topic is still the same.
fn a_topic_without_an_answer() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    owner.proves(claim, true);
    owner.renews_for_a_lease();
    let early = owner.won;
    owner.give(Answer::Inspected(Ok(topic(owner.now))));
    !early && owner.leads()
}

/// A gap may hide a larger incarnation than the largest one read, so the claim states one above that.
fn records_that_were_not_read() -> bool {
    let largest = 1_000_007;
    let mut owner = Owner::new();
    let token = Token { incarnation: Incarnation(largest), sequence: Revision(1) };
    let heartbeat = |offset| Record {
        offset: Revision(offset),
        name: "other".into(),
        write_id: Some(WriteId { nonce: Nonce(0xb), attempt: Attempt(1) }),
        kind: Kind::Heartbeat,
        lease: Some(Duration::from_secs(5)),
        term_info: Some(TermInfo { token, led_for: None }),
        topic: Some(TOPIC),
        metadata: Vec::new(),
    };
    owner.give(Shown::Record(heartbeat(2)));
    owner.give(Shown::Gap);
    owner.give(Shown::Record(heartbeat(8)));
    owner.next = 9;
    let claim = owner.claims();
    owner.decoded(&claim).term_info.is_some_and(|info| info.token.incarnation > Incarnation(largest))
}

/// The commit is acknowledged, but the client lost the partition before.
fn a_lost_assignment() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    owner.proves(claim, false);
    owner.give(Answer::Inspected(Ok(topic(owner.now))));
    !owner.leads()
}

/// The candidate gives way, and rests twice as long the second time: the group has other members, although the
/// candidate reads no record of theirs.
fn a_topic_that_may_not_be_written() -> bool {
    let mut owner = Owner::new();
    let [first, second] = [(); 2].map(|()| {
        owner.give(Answer::Assigned { member: "m1".into() });
        owner.rests(&|owner| {
            if let Some(publish) = owner.published.take() {
                let result = Err(Failure::Denied(denied()));
                owner.give(Answer::Published { attempt: publish.attempt, result });
            }
        })
    });
    first >= Duration::from_secs(50) && second >= Duration::from_secs(100)
}

/// The leader can commit its earlier records again and again, but that only proves its membership.
fn a_leader_that_may_write_no_more() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    owner.proves(claim, true);
    owner.renews_for_a_lease();
    owner.give(Answer::Inspected(Ok(topic(owner.now))));
    let led = owner.leads();
    let rest = owner.rests(&|owner| {
        if let Some(publish) = owner.published.take() {
            let result = Err(Failure::Denied(denied()));
            owner.give(Answer::Published { attempt: publish.attempt, result });
        }
        if let Some(attempt) = owner.committed.take() {
            let membership = Membership { member: "m1".into(), generation: 3, owns: true };
            owner.give(Answer::Committed { attempt, result: Ok(membership) });
        }
    });
    led && rest >= Duration::from_secs(50)
}

/// Each of the candidate's commits is denied at once. The candidate leaves the group a lease later.
fn a_denied_commit() -> bool {
    let mut owner = Owner::new();
    let begun = owner.now;
    owner.give(Answer::Assigned { member: "m1".into() });
    let rest = owner.rests(&|owner| {
        if let Some(publish) = owner.published.take() {
            let (attempt, result) = (publish.attempt, Ok(Revision(owner.next)));
            owner.give(Answer::Published { attempt, result });
            owner.next += 1;
        }
        if let Some(attempt) = owner.committed.take() {
            let result = Err(Failure::Denied(denied()));
            owner.give(Answer::Committed { attempt, result });
        }
    });
    // Before its rest, the candidate was the owner for about a lease, 5 s.
    owner.now.since(begun) - rest < Duration::from_secs(7)
}

/// The group has committed the token of a leader that may still lead, and no record of that leader was read.
fn a_leader_that_was_missed() -> bool {
    let mut owner = Owner::new();
    let token = Token { incarnation: Incarnation(1_000_007), sequence: Revision(0) };
    let claim = owner.claims_after(&format!("incumbent/1 {token}"));
    owner.proves(claim, true);
    owner.give(Answer::Inspected(Ok(topic(owner.now))));
    !owner.leads()
}

/// The membership is lost before the commit is answered, so the client may send the commit under a later membership.
fn a_commit_that_outlives_its_membership() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    owner.appends(&claim);
    owner.give(Answer::GroupLost(Loss::Rejoins));
    owner.leaves
}

/// The first commit states a smaller token than the next one, and is not answered while everything else is.
fn a_commit_with_a_smaller_token() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    let token = Token { incarnation: Incarnation(1_000_007), sequence: Revision(1) };
    owner.give(Shown::Record(Record {
        offset: Revision(1),
        name: "other".into(),
        write_id: Some(WriteId { nonce: Nonce(0xb), attempt: Attempt(1) }),
        kind: Kind::Claim,
        lease: Some(Duration::from_secs(5)),
        term_info: Some(TermInfo { token, led_for: None }),
        topic: Some(TOPIC),
        metadata: Vec::new(),
    }));
    owner.next = 2;
    owner.appends(&claim);
    owner.committed = None;
    let begun = owner.now;
    while !owner.won && !owner.leaves && owner.now.since(begun) < Duration::from_secs(60) {
        owner.give(Answer::Inspected(Ok(topic(owner.now))));
        if let Some(publish) = owner.published.take() {
            owner.appends(&publish);
        } else if let Some(attempt) = owner.committed.take() {
            let membership = Membership { member: "m1".into(), generation: 3, owns: true };
            owner.give(Answer::Committed { attempt, result: Ok(membership) });
        } else {
            owner.now = owner.now.max(owner.wakes.unwrap_or(owner.now + Duration::from_secs(1)));
            owner.give(Input::Tick);
        }
    }
    !owner.won && owner.leaves
}

fn denied() -> Fault {
    Fault { kind: FaultKind::Denied, detail: "TOPIC_AUTHORIZATION_FAILED".into() }
}

fn topic(now: Instant) -> Topic {
    Topic { asked_at: now, id: Some(TOPIC), time_of_day: DAY }
}

/// A member that has read an empty log for an hour.
struct Owner {
    campaign: Campaign,
    now: Instant,
    /// The offset of the next record.
    next: u64,
    published: Option<Publish>,
    /// The newest question for the committed token, and whether the script answers it.
    question: u64,
    asks: bool,
    wakes: Option<Instant>,
    /// The record of the newest commit that the script answers.
    committed: Option<Attempt>,
    /// The answers about the group: whether it has other members, and whether the candidate has left it.
    counts: bool,
    leaves: bool,
    joins: bool,
    won: bool,
}

impl Owner {
    fn new() -> Self {
        let begun = Instant::ZERO + Duration::from_secs(3_600);
        let now = begun + Duration::from_secs(3_600);
        // The settings are the defaults, which are valid. A panic would not be a verdict.
        let campaign = Campaign::new(Settings::new("me"), Group::default(), topic(now), ME, 7, begun);
        let mut owner = Self {
            campaign: campaign.expect("they fit"),
            now,
            next: 1,
            published: None,
            question: 0,
            asks: false,
            wakes: None,
            committed: None,
            counts: false,
            leaves: false,
            joins: false,
            won: false,
        };
        owner.give(Input::Campaign);
        owner
    }

    fn give(&mut self, input: impl Into<Input>) {
        // The script answers only what the candidate asked, so the input is valid. A panic would not be a verdict.
        self.campaign.handle(self.now, input.into()).expect("it keeps the contract");
        loop {
            match self.campaign.poll() {
                Output::WakeAt(wake) => {
                    self.wakes = wake.map(|wake| wake.at);
                    return;
                }
                Output::Ask(Request::Publish(publish)) => self.published = Some(publish),
                Output::Ask(Request::Committed { number }) => (self.question, self.asks) = (number, true),
                Output::Ask(Request::Commit { attempt, .. }) => self.committed = Some(attempt),
                Output::Ask(Request::Members) => self.counts = true,
                Output::Ask(Request::Leave) => self.leaves = true,
                Output::Ask(Request::Join) => self.joins = true,
                Output::Event(Event::Won(_)) => self.won = true,
                _ => {}
            }
        }
    }

    /// Continues in a group with another member until the candidate has left the group and joined again. Returns the
    /// time between leaving and joining.
    fn rests(&mut self, brokers: &dyn Fn(&mut Self)) -> Duration {
        let (begun, mut left) = (self.now, None);
        self.joins = false;
        while !self.joins && self.now.since(begun) < Duration::from_secs(1_000) {
            brokers(self);
            if std::mem::take(&mut self.asks) {
                self.give(Answer::CommittedToken { number: self.question, result: Ok(String::new()) });
            } else if std::mem::take(&mut self.counts) {
                self.give(Answer::Members(Ok(1)));
            } else if std::mem::take(&mut self.leaves) {
                left = Some(self.now);
                self.give(Answer::Left);
            } else if self.published.is_none() && self.committed.is_none() {
                self.now = self.now.max(self.wakes.unwrap_or(self.now + Duration::from_secs(1)));
                self.give(Input::Tick);
            }
        }
        left.map_or(Duration::ZERO, |left| self.now.since(left))
    }

    /// Gives the candidate partition zero in a group that has committed nothing. Returns the claim that the candidate
    /// publishes.
    fn claims(&mut self) -> Publish {
        self.claims_after("")
    }

    /// Gives the candidate partition zero in a group whose committed offset has this metadata. Returns the claim that
    /// the candidate publishes.
    fn claims_after(&mut self, metadata: &str) -> Publish {
        self.give(Answer::Assigned { member: "m1".into() });
        self.give(Answer::CommittedToken { number: self.question, result: Ok(metadata.into()) });
        // The new owner publishes a claim. A panic would not be a verdict.
        self.published.take().expect("a claim")
    }

    /// Lets five seconds pass, and proves every record that the candidate publishes in that time.
    fn renews_for_a_lease(&mut self) {
        for _ in 0..5 {
            self.now = self.now + Duration::from_secs(1);
            self.give(Input::Tick);
            if let Some(heartbeat) = self.published.take() {
                self.proves(heartbeat, true);
            }
        }
    }

    /// Appends the record, lets the candidate read it back, and acknowledges its commit.
    fn proves(&mut self, publish: Publish, owns: bool) {
        self.appends(&publish);
        let membership = Membership { member: "m1".into(), generation: 3, owns };
        self.give(Answer::Committed { attempt: publish.attempt, result: Ok(membership) });
    }

    /// Appends the record, and lets the candidate read it back.
    fn appends(&mut self, publish: &Publish) {
        self.give(Answer::Published { attempt: publish.attempt, result: Ok(Revision(self.next)) });
        let record = self.decoded(publish);
        self.next += 1;
        self.give(Shown::Record(record));
    }

    fn decoded(&self, claim: &Publish) -> Record {
        let headers = claim.headers.iter().map(|(name, text)| (&**name, text.as_str()));
        Record::decode(Revision(self.next), claim.value(DAY).as_bytes(), headers)
    }

    fn leads(&self) -> bool {
        self.won && self.campaign.is_leader(self.now)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn where_nothing_is_broken_every_script_ends_as_it_should() {
        assert_eq!(super::play(), None);
    }
}
