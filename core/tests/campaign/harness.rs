//! One candidate in a test bench: a clock set by hand, inputs given one by one, outputs listed.

use std::time::Duration;

use incumbent_core::campaign::{
    Answer, Campaign, Event, Input, InvalidSettings, Output, ReadId, Request, Settings, State, Timer, Warning,
};
use incumbent_core::record::{Attempt, Entry, Nonce, Record, Release, WriteId};
use incumbent_core::store::{Action, Capabilities, Expect, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};

/// The lease of the bench. The resulting margin is 1 s of skew, 0.15 s of drift for each of two clocks, and 0.25 s of
/// slack.
pub const T: Duration = Duration::from_secs(30);
pub const M: Duration = Duration::from_millis(1550);
pub const INCARNATION: Incarnation = Incarnation(1_000);
pub const ME: Nonce = Nonce(0xa);
pub const OTHER: Nonce = Nonce(0xb);

pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A store like a NATS bucket without markers: acknowledgements do not carry the incarnation.
pub fn bucket() -> Capabilities {
    Capabilities {
        own_lease: false,
        lease_step: Duration::ZERO,
        shortest: ms(100),
        longest: Duration::MAX,
        granularity: ms(250),
        expiry_pushed: false,
        incarnation_acked: false,
        watch_shows_all: false,
        window: 256,
        fail_over: secs(7),
    }
}

/// A store like a NATS bucket with expiry markers.
pub fn bucket_with_markers() -> Capabilities {
    Capabilities { expiry_pushed: true, ..bucket() }
}

/// The inspection of an old store of lease [`T`].
pub fn store_info(asked_at: Instant) -> StoreInfo {
    StoreInfo {
        asked_at,
        incarnation: INCARNATION,
        age: Some(secs(100_000)),
        never_used: false,
        max_age: Some(T),
        newest: None,
    }
}

pub fn settings() -> Settings {
    Settings { splay: Some(Duration::ZERO), ..Settings::new("me") }
}

pub struct Bench {
    pub campaign: Campaign,
    pub now: Instant,
}

impl Bench {
    /// Creates a campaign that has not begun, one hour after the clock's origin.
    pub fn new() -> Self {
        Self::with(settings(), bucket())
    }

    pub fn with(settings: Settings, store: Capabilities) -> Self {
        Self::with_info(settings, store, store_info(Instant::ZERO)).expect("settings that fit the store")
    }

    pub fn with_info(
        settings: Settings,
        store: Capabilities,
        info: StoreInfo,
    ) -> Result<Self, InvalidSettings> {
        Self::with_all(settings, store, info, 7)
    }

    pub fn seeded(settings: Settings, store: Capabilities, seed: u64) -> Self {
        Self::with_all(settings, store, store_info(Instant::ZERO), seed).expect("settings that fit the store")
    }

    fn with_all(
        settings: Settings,
        store: Capabilities,
        info: StoreInfo,
        seed: u64,
    ) -> Result<Self, InvalidSettings> {
        let now = Instant::ZERO + secs(3600);
        let info = StoreInfo { asked_at: now.before(secs(1)), ..info };
        let campaign = Campaign::new(settings, store, &info, ME, seed, now)?;
        Ok(Self { campaign, now })
    }

    /// Creates a candidate that has read the key and found `entry`.
    pub fn candidate(entry: Entry) -> Self {
        let mut bench = Self::new();
        bench.begin(entry);
        bench
    }

    /// Enters the election without a splay, and lets the first read find `entry`.
    pub fn begin(&mut self, entry: Entry) -> Vec<String> {
        self.give(Input::Campaign);
        self.read(1, entry)
    }

    /// Leaves the acquires of a candidate that found no record unanswered, until the first attempt is forgotten.
    /// Returns the number of the acquire that is now awaited.
    pub fn forget_the_first_attempt(&mut self) -> u64 {
        for attempt in 1..=128 {
            let mut outputs = self.wrote(attempt, Outcome::Unknown);
            let next = format!("acquire {} over absent", attempt + 1);
            while !outputs.contains(&next) {
                let asked = std::mem::take(&mut outputs);
                for output in asked {
                    match output.split_once(' ') {
                        Some(("read", read)) => {
                            let read = read.parse().expect("a number");
                            outputs.extend(self.read(read, Entry::Vacant));
                        }
                        None if output == "reconnect" => outputs.extend(self.reconnected()),
                        _ => {}
                    }
                }
                if outputs.is_empty() {
                    outputs = self.next();
                }
            }
        }
        129
    }

    /// Shows a record of the forgotten first attempt at revision 10 while `awaited` is in flight, and lets the
    /// candidate retake it. Returns the time of the observation.
    pub fn retake_a_forgotten_record(&mut self, record: Entry, awaited: u64) -> Instant {
        let seen = self.now;
        self.watched(record);
        let mut outputs = self.refused(awaited, 10);
        let retaken = format!("acquire {} over 10", awaited + 1);
        while !outputs.contains(&retaken) {
            outputs = self.next();
        }
        self.applied(awaited + 1, 11);
        seen
    }

    /// Creates a leader whose acquire was attempt 1 and has revision 10, and which won without a wait.
    pub fn leader() -> Self {
        Self::leader_with(settings(), bucket())
    }

    pub fn leader_with(settings: Settings, store: Capabilities) -> Self {
        Self::leader_at(10, settings, store)
    }

    /// Creates a leader whose acquire was attempt 1 and has the revision `revision`.
    pub fn leader_at(revision: u64, settings: Settings, store: Capabilities) -> Self {
        let mut bench = Self::with(settings, store);
        bench.begin(Entry::Vacant);
        bench.wrote(1, acknowledged(revision, store.incarnation_acked.then_some(INCARNATION)));
        bench.inspected();
        assert!(bench.leads(), "the bench's leader leads");
        bench
    }

    /// Creates a leader with a token so large that a store that went back takes long to reach it again.
    pub fn leader_far_on() -> Self {
        Self::leader_at(1_000, settings(), bucket())
    }

    /// Creates a holder whose acquire, attempt 1, replaced an operator's tombstone at revision 10. The holder waits for
    /// `T`, and for a renewal.
    pub fn holder() -> Self {
        let mut bench = Self::candidate(deleted(5));
        bench.applied(1, 10);
        bench.inspected();
        assert_eq!(bench.campaign.state(), State::Holding, "the bench's holder holds");
        bench
    }

    /// Gives an input now, and lists the outputs up to the wake-up.
    pub fn give_in_full(&mut self, input: Input) -> Vec<Output> {
        self.campaign.handle(self.now, input).expect("an input that keeps the contract");
        let mut outputs = Vec::new();
        loop {
            match self.campaign.poll() {
                Output::WakeAt(_) => return outputs,
                output => outputs.push(output),
            }
        }
    }

    /// The same, abbreviated.
    pub fn give(&mut self, input: Input) -> Vec<String> {
        self.give_in_full(input).iter().map(in_short).collect()
    }

    /// The next wake-up: its timer, and the time until then.
    pub fn wake(&mut self) -> Option<(Timer, Duration)> {
        match self.campaign.poll() {
            Output::WakeAt(wake) => wake.map(|wake| (wake.timer, wake.at.since(self.now))),
            other => panic!("not drained: {other:?}"),
        }
    }

    /// Lets time pass without a call, as in a stopped process.
    pub fn sleep(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Lets time pass, with a call at every wake-up, and lists the outputs.
    pub fn pass(&mut self, span: Duration) -> Vec<String> {
        let end = self.now + span;
        let mut outputs = Vec::new();
        while let Some((_, wait)) = self.wake().filter(|(_, wait)| self.now + *wait <= end) {
            self.sleep(wait);
            outputs.extend(self.tick());
        }
        self.now = end;
        outputs.extend(self.tick());
        outputs
    }

    /// Sleeps until the campaign's next wake-up, and wakes it.
    pub fn next(&mut self) -> Vec<String> {
        let (_, wait) = self.wake().expect("a wake-up");
        self.sleep(wait);
        self.tick()
    }

    pub fn tick(&mut self) -> Vec<String> {
        self.give(Input::Tick)
    }

    pub fn wrote(&mut self, attempt: u64, outcome: Outcome) -> Vec<String> {
        self.give(Input::Answered(Answer::Wrote { attempt: Attempt(attempt), outcome }))
    }

    pub fn applied(&mut self, attempt: u64, revision: u64) -> Vec<String> {
        self.wrote(attempt, acknowledged(revision, None))
    }

    pub fn refused(&mut self, attempt: u64, current: u64) -> Vec<String> {
        self.wrote(attempt, Outcome::Refused { current: Revision(current) })
    }

    pub fn read(&mut self, read: u64, entry: Entry) -> Vec<String> {
        self.give(Input::Answered(Answer::Read { read: ReadId(read), result: Ok(entry) }))
    }

    pub fn watched(&mut self, entry: Entry) -> Vec<String> {
        self.give(Input::Watched(entry))
    }

    pub fn reconnected(&mut self) -> Vec<String> {
        self.give(Input::Reconnected)
    }

    /// Asks for an inspection and answers it now, with the known incarnation.
    pub fn inspected(&mut self) -> Vec<String> {
        self.inspected_as(|info| info)
    }

    /// Asks for an inspection and answers it now, with changed content.
    pub fn inspected_as(&mut self, change: impl FnOnce(StoreInfo) -> StoreInfo) -> Vec<String> {
        self.give(Input::Inspected(Ok(change(store_info(self.now)))))
    }

    pub fn leads(&self) -> bool {
        self.campaign.is_leader(self.now)
    }

    /// The part of the lease that is left; `None` if none is held.
    pub fn remaining(&self) -> Option<Duration> {
        self.campaign.lease().map(|lease| lease.deadline.since(self.now))
    }
}

/// No outputs.
pub const NOTHING: [&str; 0] = [];

pub fn acknowledged(revision: u64, incarnation: Option<Incarnation>) -> Outcome {
    Outcome::Applied { revision: Revision(revision), incarnation }
}

pub fn fault(kind: FaultKind) -> Fault {
    Fault { kind, detail: "the store refuses".into() }
}

/// A live record of another candidate of ours, with another name.
pub fn theirs(revision: u64) -> Entry {
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: "other".into(),
        write_id: Some(WriteId { nonce: OTHER, attempt: Attempt(revision) }),
        lease: Some(T),
        term_info: None,
        metadata: Vec::new(),
        oversize: None,
    })
}

/// The record of `entry` with another lease.
pub fn with_lease(entry: Entry, lease: Duration) -> Entry {
    match entry {
        Entry::Live(record) => Entry::Live(Record { lease: Some(lease), ..record }),
        other => other,
    }
}

/// A live record of other software, which writes the bare name.
pub fn bare(revision: u64) -> Entry {
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: "go-1".into(),
        write_id: None,
        lease: None,
        term_info: None,
        metadata: Vec::new(),
        oversize: None,
    })
}

/// A live record of this campaign, written by `attempt`.
pub fn mine(revision: u64, attempt: u64) -> Entry {
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: "me".into(),
        write_id: Some(WriteId { nonce: ME, attempt: Attempt(attempt) }),
        lease: Some(T),
        term_info: None,
        metadata: Vec::new(),
        oversize: None,
    })
}

/// A release by another campaign.
pub fn released(revision: u64, owed: Duration) -> Entry {
    Entry::Released(Release {
        revision: Revision(revision),
        write_id: Some(WriteId { nonce: OTHER, attempt: Attempt(revision) }),
        owed,
        incarnation: INCARNATION,
        successor: None,
    })
}

/// A release by another campaign to a named successor.
pub fn handed_over(revision: u64, successor: &str) -> Entry {
    match released(revision, Duration::ZERO) {
        Entry::Released(release) => Entry::Released(Release { successor: Some(successor.into()), ..release }),
        other => other,
    }
}

pub fn deleted(revision: u64) -> Entry {
    Entry::Deleted { revision: Revision(revision), lease: None }
}

pub fn expired(revision: u64) -> Entry {
    Entry::Expired { revision: Revision(revision) }
}

/// An output in a few words, with the parts that matter.
pub fn in_short(output: &Output) -> String {
    match output {
        Output::Ask(Request::Write(write)) => write_in_short(write),
        Output::Ask(Request::Read(read)) => format!("read {}", read.0),
        Output::Inspect { .. } => "inspect".into(),
        Output::Reconnect => "reconnect".into(),
        Output::WakeAt(_) => "wake".into(),
        Output::Event(event) => event_in_short(event),
        Output::Tell(tell) => match *tell {},
    }
}

fn write_in_short(Write { attempt, expect, action }: &Write) -> String {
    let expect = match expect {
        Expect::Absent => "absent".to_string(),
        Expect::Revision(revision) => revision.0.to_string(),
    };
    match action {
        Action::Acquire(_) => format!("acquire {} over {expect}", attempt.0),
        Action::Renew(_) => format!("renew {} over {expect}", attempt.0),
        Action::Release { headers } => {
            let text = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, text)| text.clone());
            let owed = text("Incumbent-Release").and_then(|text| text.split(' ').next().map(str::to_string));
            let successor = text("Incumbent-Successor").map(|name| format!(" to {name}")).unwrap_or_default();
            format!("release {} over {expect} owing {}ms{successor}", attempt.0, owed.unwrap_or_default())
        }
    }
}

fn event_in_short(event: &Event) -> String {
    match event {
        Event::Won(term) => format!("won {}", term.token.sequence.0),
        Event::Draining { reason, .. } => format!("draining {}", reason.code()),
        Event::Lost { term, reason } => format!("lost {} {}", term.token.sequence.0, reason.code()),
        Event::LeaderChanged(leader) => {
            format!("leader {}", leader.as_ref().map_or("vacant", |leader| leader.name.as_str()))
        }
        Event::StateChanged(state) => format!("state {}", state.code()),
        Event::Warning(warning) => format!("warning {}", warning_in_short(warning)),
    }
}

fn warning_in_short(warning: &Warning) -> String {
    match warning {
        Warning::Store(fault) => format!("{:?}", fault.kind),
        Warning::StoreReset { barred: true, .. } => "StoreReset, barred".into(),
        Warning::StoreReset { barred: false, .. } => "StoreReset".into(),
        Warning::NotExpiring { revision, .. } => format!("NotExpiring {}", revision.0),
        Warning::NotARecord { bytes, .. } => format!("NotARecord {bytes}"),
        Warning::SameName { .. } => "SameName".into(),
        Warning::SameNonce { name } => format!("SameNonce {name}"),
        Warning::ShortLease { .. } => "ShortLease".into(),
        Warning::MaxAgeChanged { .. } => "MaxAgeChanged".into(),
        Warning::MarkersMislead => "MarkersMislead".into(),
        Warning::GaveWay { failing, rest, .. } => format!("GaveWay {failing:?} {}s", rest.as_secs()),
        Warning::Quoted { setting, .. } => format!("Quoted {setting}"),
        Warning::YoungStore { .. } | Warning::Overloaded { .. } | Warning::NoLeader { .. } => {
            warning.code().into()
        }
    }
}
