//! A session on a store that answers at once, like a NATS server without markers. Only the session's work is counted:
//! inputs are created beforehand, and outputs dropped afterwards.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use incumbent_core::campaign::{self, Event, Settings};
use incumbent_core::record::{Entry, Kind, Nonce};
use incumbent_core::session::{CampaignId, Command, Enter, Input, Output, Session, Wake};
use incumbent_core::store::{Action, Capabilities, Expect, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};

/// The lease, which is the default of a bucket.
const LEASE: Duration = Duration::from_secs(30);
/// More outputs than one input ever has, so their list never grows.
const MANY: usize = 4_096;

/// Runs the work to be counted.
pub type Count = fn(&mut dyn FnMut());

/// One connection, and the store at its other end.
pub struct Bench {
    pub session: Session,
    count: Count,
    now: Instant,
    wake: Option<Wake>,
    revision: u64,
    watch: Option<u64>,
    elections: HashMap<CampaignId, String>,
    entries: HashMap<String, Entry>,
    inputs: VecDeque<Input>,
    outputs: Vec<Output>,
}

impl Bench {
    /// Creates a session without campaigns, one hour after the clock's origin.
    pub fn new(count: Count) -> Self {
        let store = Capabilities {
            own_lease: false,
            lease_step: Duration::ZERO,
            shortest: Duration::from_millis(100),
            longest: Duration::MAX,
            granularity: Duration::from_millis(250),
            expiry_pushed: false,
            incarnation_acked: false,
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::from_secs(7),
        };
        Self {
            session: Session::new(store),
            count,
            now: Instant::ZERO + Duration::from_secs(3600),
            wake: None,
            revision: 0,
            watch: None,
            elections: HashMap::new(),
            entries: HashMap::new(),
            inputs: VecDeque::with_capacity(MANY),
            outputs: Vec::with_capacity(MANY),
        }
    }

    /// Counts with another function from now on.
    #[allow(dead_code, reason = "the tests count all alike")]
    pub fn count(&mut self, count: Count) {
        self.count = count;
    }

    /// Lets a campaign enter without a splay, and answers every request that follows.
    pub fn enter(&mut self, id: CampaignId, election: &str) {
        let settings = Settings { splay: Some(Duration::ZERO), ..Settings::new("candidate") };
        let nonce = Nonce(0xa0 + u128::from(id));
        let enter = Enter { id, election: election.into(), settings, nonce, seed: 7, fail_fast: false };
        self.elections.insert(id, election.into());
        self.give(Input::Enter(Box::new(enter)));
    }

    /// Sends a command, and answers every request that follows.
    pub fn command(&mut self, id: CampaignId, command: Command) {
        self.give(Input::Command { id, command });
    }

    /// Writes a record of another program, which the watch delivers.
    pub fn foreign(&mut self, election: &str) {
        self.revision += 1;
        let headers = [
            ("Incumbent-Nonce", format!("{:032x}.{:010}", 0xb, self.revision)),
            ("Incumbent-Lease", LEASE.as_millis().to_string()),
        ];
        let headers = headers.iter().map(|(name, text)| (*name, text.as_str()));
        let entry = Entry::decode(Revision(self.revision), Kind::Live, b"other", headers);
        self.put(election, entry);
        self.answer();
    }

    /// Lets time pass, timer by timer.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(wake) = self.wake.filter(|wake| wake.at <= end) {
            self.now = wake.at;
            self.give(Input::Tick);
        }
        self.now = end;
    }

    /// Lets time pass until the campaign leads.
    pub fn win(&mut self, id: CampaignId) {
        while !self.leads(id) {
            let wake = self.wake.expect("a candidate that does not lead waits for something");
            self.now = wake.at;
            self.give(Input::Tick);
        }
    }

    /// Lets time pass until the campaign's record is written again.
    pub fn renew(&mut self, id: CampaignId) {
        let written = self.revision;
        while self.revision == written {
            assert!(self.leads(id), "it leads until it renews");
            let wake = self.wake.expect("a leader renews");
            self.now = wake.at;
            self.give(Input::Tick);
        }
        assert!(self.leads(id), "it leads after it has renewed");
    }

    pub fn leads(&self, id: CampaignId) -> bool {
        self.session.campaign(id).is_some_and(|campaign| campaign.is_leader(self.now))
    }

    fn give(&mut self, input: Input) {
        self.inputs.push_back(input);
        self.answer();
    }

    /// Hands in the pending inputs and answers each output, until none is left.
    fn answer(&mut self) {
        while let Some(input) = self.inputs.pop_front() {
            let (session, now, outputs) = (&mut self.session, self.now, &mut self.outputs);
            let (mut input, mut wake) = (Some(input), None);
            (self.count)(&mut || {
                if let Some(input) = input.take() {
                    session.handle(now, input).expect("nothing that breaks the contract");
                }
                wake = loop {
                    match session.poll() {
                        Output::WakeAt(wake) => break wake,
                        output => outputs.push(output),
                    }
                };
            });
            self.wake = wake;
            let mut outputs = std::mem::take(&mut self.outputs);
            outputs.drain(..).for_each(|output| self.carry_out(output));
            self.outputs = outputs;
        }
    }

    fn carry_out(&mut self, output: Output) {
        let input = match output {
            Output::Ask { id, request: campaign::Request::Read(read), .. } => {
                let entry = self.entries.get(&self.elections[&id]).cloned().unwrap_or(Entry::Vacant);
                Input::read(id, read, Ok(entry))
            }
            Output::Ask { id, request: campaign::Request::Write(write), .. } => {
                let attempt = write.attempt;
                let outcome = self.write(&self.elections[&id].clone(), write);
                Input::wrote(id, attempt, outcome)
            }
            Output::Inspect { number, .. } => {
                let info = StoreInfo {
                    asked_at: self.now,
                    incarnation: Incarnation(1_000),
                    age: Some(Duration::from_secs(100_000)),
                    never_used: false,
                    max_age: Some(LEASE),
                    newest: None,
                };
                Input::Inspected { number, result: Ok(info) }
            }
            Output::Watch { number, .. } => {
                self.watch = Some(number);
                Input::Watching { number }
            }
            Output::Register { .. } => Input::Registered(true),
            Output::Report { id, events, .. } => {
                if events.iter().any(|event| matches!(event, Event::Draining { .. })) {
                    self.inputs.push_back(Input::Command { id, command: Command::Drained });
                }
                assert!(!events.iter().any(|event| matches!(event, Event::Warning(_))), "{events:?}");
                return;
            }
            Output::Entered(_) | Output::Campaigning(..) | Output::Closed(_) => return,
            output => panic!("a session on a store that answers does not emit {output:?}"),
        };
        self.inputs.push_back(input);
    }

    /// Applies a write if it expects the present entry.
    fn write(&mut self, election: &str, write: Write) -> Outcome {
        let current = self.entries.get(election).and_then(Entry::revision).unwrap_or(Revision(0));
        let expected = match write.expect {
            Expect::Absent => Revision(0),
            Expect::Revision(revision) => revision,
        };
        if expected != current {
            return Outcome::Refused { current };
        }
        self.revision += 1;
        let revision = Revision(self.revision);
        let (kind, value, headers) = match write.action {
            Action::Acquire(put) | Action::Renew(put) => (Kind::Live, put.value, put.headers),
            Action::Release { headers } => (Kind::Tombstone, String::new(), headers),
        };
        let headers = headers.iter().map(|(name, text)| (&**name, text.as_str()));
        self.put(election, Entry::decode(revision, kind, value.as_bytes(), headers));
        Outcome::Applied { revision, incarnation: None }
    }

    fn put(&mut self, election: &str, entry: Entry) {
        if let Some(number) = self.watch {
            let shown = entry.clone();
            self.inputs.push_back(Input::Watched { number, election: election.into(), shown });
        }
        self.entries.insert(election.into(), entry);
    }
}
