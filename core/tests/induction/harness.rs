//! One candidate in a test bench: a clock set by hand, inputs given one by one, outputs listed.

use std::time::Duration;

use incumbent_core::campaign::{Event, Settings, Warning};
use incumbent_core::induction::{
    Answer, Campaign, Failure, Group, Input, Kind, Membership, Output, Publish, Record, Request, Shown,
    Timer, Topic, TopicId,
};
use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::{Incarnation, Instant, Revision, Token};

/// The lease of the bench. The resulting margin is 25 ms of drift for each of two clocks, and 250 ms of slack.
pub const T: Duration = Duration::from_secs(5);
pub const M: Duration = Duration::from_millis(300);
pub const ME: Nonce = Nonce(0xa);
pub const TOPIC: TopicId = TopicId(1);
/// The time of day at which the bench begins, in milliseconds since 1970.
pub const DAY: u64 = 1_000;
/// No outputs.
pub const NOTHING: [&str; 0] = [];

pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn settings() -> Settings {
    Settings::new("me")
}

pub struct Bench {
    pub campaign: Campaign,
    pub now: Instant,
    /// The offset of the next record in the log.
    pub next: u64,
    /// The id that inspections report.
    pub topic: Option<TopicId>,
    /// The published records, for the reader.
    published: Vec<Publish>,
    /// The claims of others, with their offsets.
    claims: Vec<(u128, u64)>,
    /// The number of the newest question for the committed token, and the metadata of the newest commit.
    pub question: u64,
    pub metadata: String,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(settings(), Group::default())
    }

    /// Creates a campaign that has read the log for an hour and found nothing.
    pub fn with(settings: Settings, group: Group) -> Self {
        let begun = Instant::ZERO + secs(3600);
        let now = begun + secs(3600);
        let topic = Topic { asked_at: now, id: Some(TOPIC), time_of_day: ms(DAY) };
        let campaign =
            Campaign::new(settings, group, topic, ME, 7, begun).expect("settings that fit a group");
        Self {
            campaign,
            now,
            next: 10,
            topic: Some(TOPIC),
            published: Vec::new(),
            claims: Vec::new(),
            question: 0,
            metadata: String::new(),
        }
    }

    /// Creates a campaign that has not begun and does not know its topic's id.
    pub fn without_an_id() -> Self {
        let mut bench = Self::new();
        let topic = Topic { asked_at: bench.now, id: None, time_of_day: ms(DAY) };
        bench.campaign = Campaign::new(settings(), Group::default(), topic, ME, 7, bench.now)
            .expect("settings that fit a group");
        bench
    }

    /// A member without partition zero.
    pub fn member() -> Self {
        Self::new().join()
    }

    pub fn member_with(settings: Settings) -> Self {
        Self::with(settings, Group::default()).join()
    }

    fn join(mut self) -> Self {
        assert_eq!(self.give(Input::Campaign)[0], "join");
        self
    }

    /// Creates a member whose log has these records of other candidates, read long ago.
    pub fn member_after(records: &[(u128, Kind)]) -> Self {
        let mut bench = Self::member();
        for (author, kind) in records {
            bench.other(*author, *kind);
        }
        bench.sleep(secs(60));
        bench.tick();
        bench
    }

    /// Creates a leader in an old log. Its claim at offset 10 was proved, read back and confirmed.
    pub fn leader() -> Self {
        Self::member().lead()
    }

    pub fn leader_with(settings: Settings) -> Self {
        Self::member_with(settings).lead()
    }

    pub fn lead(mut self) -> Self {
        self.assigned();
        self.claimed(1);
        self.committed(1);
        assert!(self.leads(), "the bench's leader leads");
        // This heartbeat makes the term known, and is proved.
        self.renewed(2);
        self
    }

    /// Creates a member whose claim was overtaken, between its send and its append, by another claim with this
    /// incarnation. The member's commit states the smaller incarnation.
    pub fn claimed_above(incarnation: u64) -> Self {
        let mut bench = Self::member();
        bench.assigned();
        let theirs = TermInfo { token: token(incarnation, 10), led_for: None };
        bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(10, 1, released(9)) }));
        bench.next = 11;
        bench.claimed(1);
        bench
    }

    /// Gets the partition and proves the claim. Returns the first output of the proof.
    pub fn lead_at(&mut self, attempt: u64) -> String {
        self.assigned();
        self.claimed(attempt);
        self.committed(attempt).swap_remove(0)
    }

    /// Gives an input now, and lists the outputs up to the wake-up.
    pub fn give(&mut self, input: impl Into<Input>) -> Vec<String> {
        self.campaign.handle(self.now, input.into()).expect("an input that keeps the contract");
        let mut outputs = Vec::new();
        loop {
            match self.campaign.poll() {
                Output::WakeAt(_) => return outputs,
                output => {
                    outputs.push(in_short(&output));
                    match output {
                        Output::Ask(Request::Publish(publish)) => self.published.push(publish),
                        Output::Ask(Request::Commit { metadata, .. }) => self.metadata = metadata,
                        Output::Ask(Request::Committed { number }) => self.question = number,
                        _ => {}
                    }
                }
            }
        }
    }

    /// The next wake-up: its timer, and the time until then.
    pub fn wake(&mut self) -> Option<(Timer, Duration)> {
        match self.campaign.poll() {
            Output::WakeAt(wake) => wake.map(|wake| (wake.timer, wake.at.since(self.now))),
            other => panic!("not drained: {other:?}"),
        }
    }

    pub fn tick(&mut self) -> Vec<String> {
        self.give(Input::Tick)
    }

    /// Lets time pass without a call, as in a stopped process.
    pub fn sleep(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Sleeps until this timer fires, and lists its outputs. The outputs of other timers that fire before it or with it
    /// are left out: inspections, the end of an observed leader, and, if `timer` is for an inspection, the renewal.
    pub fn until(&mut self, timer: Timer) -> Vec<String> {
        let is = |output: &String, what: &str| output.starts_with(what);
        loop {
            let (next, wait) = self.wake().expect("a wake-up");
            self.sleep(wait);
            let mut outputs = self.tick();
            // The left-out question asks whether the group still holds the member.
            outputs.retain(|output| timer != Timer::Answer || !is(output, "ask token"));
            match timer {
                Timer::Vacant => {}
                Timer::Inspect if outputs.iter().any(|output| is(output, "inspect")) => {
                    outputs.retain(|output| is(output, "inspect"));
                    return outputs;
                }
                _ => outputs.retain(|output| !is(output, "inspect") && !is(output, "leader none")),
            }
            if next == timer {
                return outputs;
            }
            assert!(outputs.is_empty(), "{next:?}: {outputs:?}");
        }
    }

    /// Keeps a holder's lease until its win. Returns the time from `since` to the report of the win.
    pub fn time_to_win(&mut self, since: Instant) -> Duration {
        for _ in 0..100 {
            let (_, wait) = self.wake().expect("a wake-up");
            self.sleep(wait);
            for output in self.tick() {
                if output.starts_with("won") {
                    return self.now.since(since);
                }
                if let Some(attempt) = output.strip_prefix("heartbeat ") {
                    self.renewed(attempt.parse().expect("a number"));
                }
                if output == "inspect" {
                    self.inspected();
                }
            }
        }
        panic!("no win");
    }

    /// Assigns the partition in a group that has committed nothing. Leaves out the question about the committed token.
    pub fn assigned(&mut self) -> Vec<String> {
        let mut outputs = self.assigned_only();
        outputs.retain(|output| !output.starts_with("ask token"));
        outputs.extend(self.informed(""));
        outputs
    }

    pub fn assigned_only(&mut self) -> Vec<String> {
        self.give(Answer::Assigned { member: "m1".into() })
    }

    /// Answers the newest question for the committed token with this metadata.
    pub fn informed(&mut self, metadata: &str) -> Vec<String> {
        self.informed_of(self.question, Ok(metadata.into()))
    }

    pub fn informed_of(&mut self, number: u64, result: Result<String, Failure>) -> Vec<String> {
        self.give(Answer::CommittedToken { number, result })
    }

    /// Appends a record at the log's end, without reading it back.
    pub fn appended(&mut self, attempt: u64) -> Vec<String> {
        let offset = self.next;
        self.next += 1;
        self.appended_at(attempt, offset)
    }

    pub fn appended_at(&mut self, attempt: u64, offset: u64) -> Vec<String> {
        self.give(Answer::Published { attempt: Attempt(attempt), result: Ok(Revision(offset)) })
    }

    pub fn not_appended(&mut self, attempt: u64, failure: Failure) -> Vec<String> {
        self.give(Answer::Published { attempt: Attempt(attempt), result: Err(failure) })
    }

    /// Appends a claim and reads it back, and then answers the question for the topic's id.
    pub fn claimed(&mut self, attempt: u64) -> Vec<String> {
        let mut outputs = self.appended(attempt);
        outputs.extend(self.read_back(attempt, Kind::Claim));
        outputs.extend(self.inspected());
        outputs
    }

    /// Lets the reader deliver the newest record, which is ours.
    pub fn read_back(&mut self, attempt: u64, kind: Kind) -> Vec<String> {
        self.read_back_at(attempt, kind, self.next - 1)
    }

    pub fn read_back_at(&mut self, attempt: u64, kind: Kind, offset: u64) -> Vec<String> {
        let publish = self.published.iter().find(|publish| publish.attempt == Attempt(attempt));
        let publish = publish.expect("a record that was published");
        assert_eq!(publish.kind.text(), kind.text());
        let headers = publish.headers.iter().map(|(name, text)| (&**name, text.as_str()));
        let record = Record::decode(Revision(offset), publish.value(ms(DAY)).as_bytes(), headers);
        self.give(Shown::Record(record))
    }

    /// Lets the reader deliver a record of another candidate, or of other software if `author` is zero.
    pub fn other(&mut self, author: u128, kind: Kind) -> Vec<String> {
        let offset = self.next;
        self.next += 1;
        if kind == Kind::Claim {
            self.claims.push((author, offset));
        }
        let mut record = record(offset, author, kind);
        let claim = self.claims.iter().rev().find(|(of, _)| *of == author);
        if let (Kind::Release { .. }, Some((_, claim))) = (kind, claim) {
            record.term_info = Some(TermInfo { token: token(DAY, *claim), led_for: None });
        }
        self.give(Shown::Record(record))
    }

    pub fn committed(&mut self, attempt: u64) -> Vec<String> {
        self.committed_as(attempt, "m1", 3)
    }

    pub fn committed_as(&mut self, attempt: u64, member: &str, generation: i32) -> Vec<String> {
        self.committed_with(attempt, Membership { member: member.into(), generation, owns: true })
    }

    pub fn committed_with(&mut self, attempt: u64, membership: Membership) -> Vec<String> {
        let result = Ok(membership);
        self.give(Answer::Committed { attempt: Attempt(attempt), result })
    }

    pub fn not_committed(&mut self, attempt: u64, failure: Failure) -> Vec<String> {
        self.give(Answer::Committed { attempt: Attempt(attempt), result: Err(failure) })
    }

    /// Appends and commits a heartbeat.
    pub fn renewed(&mut self, attempt: u64) -> Vec<String> {
        let mut outputs = self.appended(attempt);
        outputs.extend(self.read_back(attempt, Kind::Heartbeat));
        outputs.extend(self.committed(attempt));
        outputs
    }

    /// Answers an inspection of the topic that was sent just now.
    pub fn inspected(&mut self) -> Vec<String> {
        self.inspected_as(self.topic)
    }

    pub fn inspected_as(&mut self, id: Option<TopicId>) -> Vec<String> {
        let topic = Topic { asked_at: self.now, id, time_of_day: ms(DAY) };
        self.topic = id;
        self.give(Answer::Inspected(Ok(topic)))
    }

    pub fn leads(&self) -> bool {
        self.campaign.is_leader(self.now)
    }

    /// The part of the lease that is left; `None` if none is held.
    pub fn remaining(&self) -> Option<Duration> {
        self.campaign.lease().map(|lease| lease.deadline.since(self.now))
    }

    /// A header of the record that was published with this number.
    pub fn header(&self, attempt: u64, name: &str) -> Option<String> {
        let publish = self.published.iter().find(|publish| publish.attempt == Attempt(attempt))?;
        publish.headers.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone())
    }

    pub fn token(&self) -> Option<Token> {
        self.campaign.lease().map(|lease| lease.token)
    }
}

pub fn token(incarnation: u64, sequence: u64) -> Token {
    Token { incarnation: Incarnation(incarnation), sequence: Revision(sequence) }
}

/// A record of a candidate named `other`, or of other software. A release is for the term at offset 0.
pub fn record(offset: u64, author: u128, kind: Kind) -> Record {
    Record {
        offset: Revision(offset),
        name: "other".into(),
        write_id: (author > 0).then_some(WriteId { nonce: Nonce(author), attempt: Attempt(1) }),
        kind,
        lease: (author > 0).then_some(T),
        term_info: matches!(kind, Kind::Release { .. })
            .then_some(TermInfo { token: token(DAY, 0), led_for: None }),
        topic: (author > 0).then_some(TOPIC),
        metadata: Vec::new(),
    }
}

pub fn released(proven: u64) -> Kind {
    Kind::Release { proven: Revision(proven) }
}

pub fn fault(kind: FaultKind) -> Fault {
    Fault { kind, detail: "text".into() }
}

/// An output in a few words, with the parts that matter.
fn in_short(output: &Output) -> String {
    match output {
        Output::Ask(request) => match request {
            Request::Join => "join".into(),
            Request::Publish(publish) => {
                let proven = match publish.kind {
                    Kind::Release { proven } => format!(" proven {}", proven.0),
                    Kind::Claim | Kind::Heartbeat | Kind::Probe => String::new(),
                };
                format!("{} {}{proven}", publish.kind.text(), publish.attempt.0)
            }
            Request::Commit { attempt, offset, .. } => format!("commit {} {}", attempt.0, offset.0),
            Request::Committed { number } => format!("ask token {number}"),
            Request::Yield => "yield".into(),
            Request::Leave => "leave".into(),
            Request::Inspect => "inspect".into(),
            Request::Members => "ask members".into(),
        },
        Output::Event(event) => match event {
            Event::Won(term) => format!("won {}", term.token.sequence.0),
            Event::Draining { reason, .. } => format!("draining {}", reason.code()),
            Event::Lost { term, reason } => format!("lost {} {}", term.token.sequence.0, reason.code()),
            Event::LeaderChanged(leader) => {
                format!("leader {}", leader.as_ref().map_or("none", |leader| &leader.name))
            }
            Event::StateChanged(state) => format!("state {}", state.code()),
            Event::Warning(Warning::Store(fault)) => format!("warning {:?}", fault.kind),
            Event::Warning(warning) => format!("warning {}", warning.code()),
        },
        Output::WakeAt(_) => "wake".into(),
        other => format!("{other:?}"),
    }
}
