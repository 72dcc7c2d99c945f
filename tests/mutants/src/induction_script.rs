//! Answers of brokers that neither the simulator nor the model checker ever gives, or hardly ever: each script plays some of
//! them to one owner of partition zero, and a rule that holds makes it right.

#![allow(clippy::expect_used, reason = "the lines above say why")]

use std::time::Duration;

use incumbent_core::campaign::{Event, Settings};
use incumbent_core::induction::{
    Answer, Campaign, Group, Input, Kind, Membership, Output, Publish, Record, Request, Shown, Topic, TopicId,
};
use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};
use incumbent_core::{Incarnation, Instant, Revision, Token};

const ME: Nonce = Nonce(0xa);
const TOPIC: TopicId = TopicId(1);
/// The time of day.
const DAY: Duration = Duration::from_secs(1);

/// The name, and whether the rules hold in it.
type Script = (&'static str, fn() -> bool);

const SCRIPTS: &[Script] = &[
    ("a topic without an answer", a_topic_without_an_answer),
    ("records that were not read", records_that_were_not_read),
    ("a lost assignment", a_lost_assignment),
];

/// The script whose outcome is not as it should be.
pub(crate) fn play() -> Option<String> {
    let broken = SCRIPTS.iter().find(|(_, holds)| !std::panic::catch_unwind(holds).unwrap_or(true));
    broken.map(|(name, _)| format!("script, {name}"))
}

/// A claim is proved, and its lease renewed until no wait is owed. The brokers say only then whether the topic is the same.
fn a_topic_without_an_answer() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    owner.proves(claim, true);
    for _ in 0..5 {
        owner.now = owner.now + Duration::from_secs(1);
        owner.give(Input::Tick);
        if let Some(heartbeat) = owner.published.take() {
            owner.proves(heartbeat, true);
        }
    }
    let early = owner.won;
    owner.give(Answer::Inspected(Ok(topic(owner.now))));
    !early && owner.leads()
}

/// A gap may hide a larger incarnation than the largest that was read: the claim states one above that.
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

/// The commit is acknowledged, and the client has lost the partition meanwhile.
fn a_lost_assignment() -> bool {
    let mut owner = Owner::new();
    let claim = owner.claims();
    owner.proves(claim, false);
    owner.give(Answer::Inspected(Ok(topic(owner.now))));
    !owner.leads()
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
    /// The newest question for the committed token.
    question: u64,
    won: bool,
}

impl Owner {
    fn new() -> Self {
        let begun = Instant::ZERO + Duration::from_secs(3_600);
        let now = begun + Duration::from_secs(3_600);
        // The settings are the defaults, and fit; a panic is no verdict.
        let campaign = Campaign::new(Settings::new("me"), Group::default(), topic(now), ME, 7, begun);
        let mut owner = Self {
            campaign: campaign.expect("they fit"),
            now,
            next: 1,
            published: None,
            question: 0,
            won: false,
        };
        owner.give(Input::Campaign);
        owner
    }

    fn give(&mut self, input: impl Into<Input>) {
        // The scripts answer only what was asked; a panic is no verdict.
        self.campaign.handle(self.now, input.into()).expect("it keeps the contract");
        loop {
            match self.campaign.poll() {
                Output::WakeAt(_) => return,
                Output::Ask(Request::Publish(publish)) => self.published = Some(publish),
                Output::Ask(Request::Committed { number }) => self.question = number,
                Output::Event(Event::Won(_)) => self.won = true,
                _ => {}
            }
        }
    }

    /// Is assigned partition zero of a group that has committed nothing; returns the claim that it publishes.
    fn claims(&mut self) -> Publish {
        self.give(Answer::Assigned { member: "m1".into() });
        self.give(Answer::CommittedToken { number: self.question, result: Ok(String::new()) });
        // A panic is no verdict.
        self.published.take().expect("a claim")
    }

    /// The record is appended, read back, and committed.
    fn proves(&mut self, publish: Publish, owns: bool) {
        let attempt = publish.attempt;
        self.give(Answer::Published { attempt, result: Ok(Revision(self.next)) });
        let record = self.decoded(&publish);
        self.next += 1;
        self.give(Shown::Record(record));
        let membership = Membership { member: "m1".into(), generation: 3, owns };
        self.give(Answer::Committed { attempt, result: Ok(membership) });
    }

    fn decoded(&self, claim: &Publish) -> Record {
        let headers = claim.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
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
