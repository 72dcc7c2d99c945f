//! One session in a test bench: a clock set by hand, inputs given one by one, outputs listed.

use std::time::Duration;

use incumbent_core::campaign::{self, Event, Settings, Warning};
use incumbent_core::record::{Attempt, Entry, Nonce, Record, WriteId};
use incumbent_core::session::{CampaignId, Command, Enter, Input, Output, Refusal, Session, Timer, Wake};
use incumbent_core::store::{Action, Capabilities, Expect, Fault, FaultKind, Outcome, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

pub const LEASE: Duration = Duration::from_secs(30);
pub const INCARNATION: Incarnation = Incarnation(1_000);

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub fn unreachable() -> Fault {
    Fault { kind: FaultKind::Unreachable, detail: "no answer".into() }
}

pub fn denied() -> Fault {
    Fault { kind: FaultKind::Denied, detail: "no permission".into() }
}

pub struct Bench {
    pub session: Session,
    pub now: Instant,
}

impl Bench {
    /// Creates a session without campaigns, one hour after the clock's origin.
    pub fn new() -> Self {
        Self::on(false, 256)
    }

    /// Creates a session without campaigns, on a store that accepts `window` requests at a time.
    pub fn with_window(window: u32) -> Self {
        Self::on(false, window)
    }

    /// Creates a session without campaigns, on a store whose watches report when they have shown everything.
    pub fn with_a_watch_that_shows_all() -> Self {
        Self::on(true, 256)
    }

    fn on(watch_shows_all: bool, window: u32) -> Self {
        let store = Capabilities {
            own_lease: false,
            lease_step: Duration::ZERO,
            shortest: ms(100),
            longest: Duration::MAX,
            granularity: ms(250),
            expiry_pushed: false,
            incarnation_acked: false,
            watch_shows_all,
            window,
            fail_over: secs(7),
        };
        Self { session: Session::new(store), now: Instant::ZERO + secs(3600) }
    }

    /// Creates a session whose campaign 1 waits in election `jobs`, after its first read found the key vacant. The
    /// watch is ready.
    pub fn with_a_candidate() -> Self {
        let mut bench = Self::new();
        bench.enter(1, "jobs");
        bench.watching(1);
        bench.inspected(1);
        bench
    }

    /// Creates a session whose campaign 1 leads election `jobs` with revision 5. It renews after 10 s.
    pub fn with_a_leader() -> Self {
        let mut bench = Self::with_a_candidate();
        bench.read(1, 1, Entry::Vacant);
        bench.tick_at_next();
        let applied = Outcome::Applied { revision: Revision(5), incarnation: None };
        bench.give(Input::wrote(1, Attempt(1), applied));
        bench.inspected(2);
        assert!(bench.session.campaign(1).expect("it runs").is_leader(bench.now));
        bench
    }

    pub fn give(&mut self, input: Input) -> Vec<String> {
        self.session.handle(self.now, input).expect("nothing that breaks the contract");
        self.drain()
    }

    pub fn drain(&mut self) -> Vec<String> {
        let mut outputs = Vec::new();
        loop {
            match self.session.poll() {
                Output::WakeAt(_) => return outputs,
                output => outputs.push(brief(&output)),
            }
        }
    }

    /// The next wake-up: the time until then, and its timer.
    pub fn wake(&mut self) -> Option<(Duration, Timer)> {
        match self.session.poll() {
            Output::WakeAt(wake) => wake.map(|Wake { at, timer }| (at.since(self.now), timer)),
            output => panic!("not drained: {output:?}"),
        }
    }

    pub fn tick_at_next(&mut self) -> Vec<String> {
        let (wait, _) = self.wake().expect("a timer");
        self.after(wait)
    }

    /// Lets time pass.
    pub fn after(&mut self, wait: Duration) -> Vec<String> {
        self.now = self.now + wait;
        self.give(Input::Tick)
    }

    pub fn enter(&mut self, id: CampaignId, election: &str) -> Vec<String> {
        self.give(Input::Enter(Box::new(enter(id, election))))
    }

    pub fn command(&mut self, id: CampaignId, command: Command) -> Vec<String> {
        self.give(Input::Command { id, command })
    }

    pub fn info(&self) -> StoreInfo {
        StoreInfo {
            asked_at: self.now,
            incarnation: INCARNATION,
            age: Some(secs(100_000)),
            never_used: false,
            max_age: Some(LEASE),
            newest: None,
        }
    }

    pub fn inspected(&mut self, number: u64) -> Vec<String> {
        let result = Ok(self.info());
        self.give(Input::Inspected { number, result })
    }

    pub fn not_inspected(&mut self, number: u64, fault: Fault) -> Vec<String> {
        self.give(Input::Inspected { number, result: Err(fault) })
    }

    pub fn watching(&mut self, number: u64) -> Vec<String> {
        self.give(Input::Watching { number })
    }

    pub fn watched(&mut self, number: u64, election: &str, entry: Entry) -> Vec<String> {
        self.give(Input::Watched { number, election: election.into(), shown: entry })
    }

    pub fn read(&mut self, id: CampaignId, read: u64, entry: Entry) -> Vec<String> {
        self.give(Input::read(id, campaign::ReadId(read), Ok(entry)))
    }
}

/// A campaign that begins without a splay.
pub fn enter(id: CampaignId, election: &str) -> Enter {
    let settings = Settings { splay: Some(Duration::ZERO), ..Settings::new(format!("c{id}")) };
    Enter { id, election: election.into(), settings, nonce: nonce(id), seed: 7, fail_fast: false }
}

pub fn nonce(id: CampaignId) -> Nonce {
    Nonce(0xa0 + u128::from(id))
}

/// A live record of a candidate outside this session.
pub fn foreign(revision: u64) -> Entry {
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: "other".into(),
        write_id: Some(WriteId { nonce: Nonce(0xb), attempt: Attempt(1) }),
        lease: Some(LEASE),
        term_info: None,
        metadata: Vec::new(),
        oversize: None,
    })
}

fn brief(output: &Output) -> String {
    match output {
        Output::Entered(id) => format!("{id} entered"),
        Output::Refused(id, Refusal::Settings(invalid)) => format!("{id} refused: {}", invalid.setting),
        Output::Refused(id, Refusal::Store(fault)) => format!("{id} refused: {fault}"),
        Output::Report { id, lease, lease_time: _, events } => {
            let events: Vec<_> = events.iter().map(event).collect();
            let leads = if lease.is_some() { " leads" } else { "" };
            format!("{id}{leads}: {}", events.join(", "))
        }
        Output::Campaigning(id, true) => format!("{id} campaigns"),
        Output::Campaigning(id, false) => format!("{id} campaigns no longer"),
        Output::Closed(id) => format!("{id} closed"),
        Output::Ask { id, request: campaign::Request::Write(write), limit } => {
            let action = match &write.action {
                Action::Acquire(_) => "acquire",
                Action::Renew(_) => "renew",
                Action::Release { .. } => "release",
            };
            let over = match write.expect {
                Expect::Absent => "absent".to_owned(),
                Expect::Revision(revision) => revision.0.to_string(),
            };
            format!("{id} {action} {} over {over} within {limit:?}", write.attempt.0)
        }
        Output::Ask { id, request: campaign::Request::Read(read), limit } => {
            format!("{id} read {} within {limit:?}", read.0)
        }
        Output::NotNext { id, .. } => format!("{id} keeps the leadership"),
        Output::Inspect { number, limit } => format!("inspect {number} within {limit:?}"),
        Output::Watch { number, limit } => format!("watch {number} within {limit:?}"),
        Output::Reconnect { limit } => format!("reconnect within {limit:?}"),
        Output::Register { limit } => format!("register within {limit:?}"),
        Output::Considered { id, accepted: true, .. } => format!("{id} accepts"),
        Output::Considered { id, accepted: false, .. } => format!("{id} ignores"),
        Output::WakeAt(_) => unreachable!("drained"),
    }
}

fn event(event: &Event) -> String {
    match event {
        Event::Won(_) => "won".into(),
        Event::Draining { reason, .. } => format!("draining ({reason})"),
        Event::Lost { reason, .. } => format!("lost ({reason})"),
        Event::LeaderChanged(Some(leader)) => format!("led by {}", leader.name),
        Event::LeaderChanged(None) => "vacant".into(),
        Event::StateChanged(state) => state.code().to_lowercase(),
        Event::Warning(Warning::Store(fault)) => format!("warning ({fault})"),
        Event::Warning(warning @ Warning::Quoted { .. }) => format!("warning {}", warning.code()),
        Event::Warning(Warning::Overloaded { waiting, waited, answer_time }) => {
            format!("warning ({waiting} wait, the first for {waited:?}, answers take {answer_time:?})")
        }
        Event::Warning(_) => "another warning".into(),
    }
}
