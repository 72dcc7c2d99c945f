//! One candidate in a test bench: a clock set by hand, inputs given one by one, outputs listed.

use std::time::Duration;

use incumbent_core::campaign::{Event, ReadId, Settings, Warning};
use incumbent_core::queue::{
    Action, Answer, Campaign, Change, Companion, Failure, Input, KeptAlive, LeaseId, Outcome, Output, Place,
    Request, Server, Snapshot, Tell, Timer, Write,
};
use incumbent_core::record::{Attempt, Nonce};
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

/// The lease of the bench. The resulting margin is 0.15 s of drift for each of two clocks, and 0.25 s of slack.
pub const T: Duration = Duration::from_secs(30);
pub const M: Duration = Duration::from_millis(550);
/// The pause between a release and the writes that follow it.
pub const PAUSE: Duration = Duration::from_millis(10);
pub const BIRTH: Incarnation = Incarnation(1_000);
pub const ME: Nonce = Nonce(0xa);
/// The raft term of the bench's store, which is the term of its first leader.
pub const TERM: u64 = 2;
/// The lease for the connection's companions.
pub const B: LeaseId = LeaseId::of_companions(TERM, 0xb);
/// Another lease, to which the companions move.
pub const C: LeaseId = LeaseId::of_companions(TERM, 0xc);
/// The revision that created the bench's first place.
pub const R: u64 = 10;
/// No outputs.
pub const NOTHING: [&str; 0] = [];

pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const SERVER: Server = Server { shortest: Some(Duration::from_secs(2)) };

pub fn settings() -> Settings {
    Settings { splay: Some(Duration::ZERO), lease: Some(T), ..Settings::new("me") }
}

pub struct Bench {
    pub campaign: Campaign,
    pub now: Instant,
    /// The leases of places, in the order in which they were requested: A1, A2 …
    leases: Vec<LeaseId>,
    /// The place that a snapshot shows as our own: the number of its lease, the revision that created it, and the lease
    /// of its companion.
    own: (usize, u64, LeaseId),
    /// The revision that last wrote our companion.
    modified: u64,
    read: u64,
    revision: u64,
    /// The raft term of the store's answers.
    raft_term: u64,
    /// The texts of the warnings about the store.
    pub texts: Vec<String>,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(settings())
    }

    /// Creates a campaign one hour after the clock's origin, on a store that has long had its birth record.
    pub fn with(settings: Settings) -> Self {
        Self::with_info(settings, |info| info)
    }

    pub fn with_info(settings: Settings, change: impl FnOnce(StoreInfo) -> StoreInfo) -> Self {
        let now = Instant::ZERO + secs(3600);
        let info = change(StoreInfo {
            asked_at: now.before(secs(60)),
            incarnation: BIRTH,
            age: None,
            never_used: false,
            max_age: None,
            newest: None,
        });
        let campaign =
            Campaign::new(settings, SERVER, &info, ME, 7, now).expect("settings that fit the store");
        Self {
            campaign,
            now,
            leases: Vec::new(),
            own: (1, R, B),
            modified: R,
            read: 0,
            revision: 100,
            raft_term: TERM,
            texts: Vec::new(),
        }
    }

    /// Creates a candidate that has its leases and has sent its transaction, attempt 1.
    pub fn entering() -> Self {
        Self::new().enter()
    }

    fn enter(mut self) -> Self {
        self.give(Input::Campaign);
        self.granted(1);
        self.shared(B);
        self
    }

    /// Creates a candidate that has a place and has begun a round.
    pub fn placed() -> Self {
        Self::entering().place()
    }

    pub fn placed_with(settings: Settings) -> Self {
        Self::with(settings).enter().place()
    }

    /// Creates a candidate with a place, in a store that elected another leader before the candidate entered. The
    /// leases of other candidates are of the previous raft term.
    pub fn placed_in_a_later_term() -> Self {
        let mut bench = Self { raft_term: TERM + 1, ..Self::new() };
        bench.give(Input::Campaign);
        bench.granted(1);
        bench.shared(LeaseId::of_companions(TERM + 1, 0xb));
        bench.place()
    }

    fn place(mut self) -> Self {
        self.applied(1, R);
        self
    }

    /// Creates a candidate behind another one of ours, which entered at revision 5.
    pub fn waiting() -> Self {
        let mut bench = Self::placed();
        bench.prove(|snapshot| snapshot.ours(5, "other"));
        bench
    }

    pub fn leader() -> Self {
        Self::placed().lead()
    }

    pub fn leader_with(settings: Settings) -> Self {
        Self::placed_with(settings).lead()
    }

    fn lead(mut self) -> Self {
        self.prove(|snapshot| snapshot);
        assert!(self.leads(), "the bench's leader leads");
        self
    }

    /// Gives an input now, and lists the outputs up to the wake-up.
    pub fn give(&mut self, input: Input) -> Vec<String> {
        self.campaign.handle(self.now, input).expect("an input that keeps the contract");
        let mut outputs = Vec::new();
        loop {
            match self.campaign.poll() {
                Output::WakeAt(_) => return outputs,
                output => {
                    if let Output::Event(Event::Warning(Warning::Store(fault))) = &output {
                        self.texts.push(fault.to_string());
                    }
                    outputs.push(self.in_short(&output));
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

    /// Sleeps until the campaign's next wake-up, and wakes it.
    pub fn next(&mut self) -> Vec<String> {
        let (_, wait) = self.wake().expect("a wake-up");
        self.sleep(wait);
        self.tick()
    }

    pub fn lease(&self, number: usize) -> LeaseId {
        self.leases[number - 1]
    }

    pub fn granted(&mut self, number: usize) -> Vec<String> {
        self.give(Input::Answered(Answer::Granted { lease: self.lease(number), result: Ok(T) }))
    }

    pub fn not_granted(&mut self, number: usize, failure: Failure) -> Vec<String> {
        self.give(Input::Answered(Answer::Granted { lease: self.lease(number), result: Err(failure) }))
    }

    /// Refuses the lease that was requested last.
    pub fn not_granted_last(&mut self, failure: Failure) -> Vec<String> {
        self.not_granted(self.leases.len(), failure)
    }

    pub fn shared(&mut self, lease: LeaseId) -> Vec<String> {
        self.own.2 = lease;
        self.give(Input::Answered(Answer::Shared { result: Ok(lease) }))
    }

    pub fn not_shared(&mut self, failure: Failure) -> Vec<String> {
        self.give(Input::Answered(Answer::Shared { result: Err(failure) }))
    }

    /// Shows our companion on `lease` from now on, attached by the write at revision `modified`.
    pub fn companion_is_on(&mut self, lease: LeaseId, modified: u64) {
        (self.own.2, self.modified) = (lease, modified);
    }

    /// Answers a transaction. Lists the outputs that follow, including those after the pause that a release leaves for
    /// the successor.
    pub fn wrote(&mut self, attempt: u64, outcome: Outcome) -> Vec<String> {
        let mut outputs = self.give(Input::Answered(Answer::Wrote { attempt: Attempt(attempt), outcome }));
        if self.wake() == Some((Timer::Remove, PAUSE)) {
            outputs.extend(self.next());
        }
        outputs
    }

    /// Applies a transaction. The keys that it creates are our own from now on.
    pub fn applied(&mut self, attempt: u64, revision: u64) -> Vec<String> {
        (self.own, self.modified) = ((self.leases.len(), revision, self.own.2), revision);
        self.wrote(attempt, Outcome::Applied { revision: Revision(revision) })
    }

    /// Applies a transaction that deletes keys.
    pub fn removed(&mut self, attempt: u64) -> Vec<String> {
        self.wrote(attempt, Outcome::Applied { revision: Revision(99) })
    }

    pub fn failed(&mut self, attempt: u64, failure: Failure) -> Vec<String> {
        self.wrote(attempt, Outcome::Failed(failure))
    }

    pub fn revoked(&mut self, number: usize) -> Vec<String> {
        self.give(Input::Answered(Answer::Revoked { lease: self.lease(number), result: Ok(()) }))
    }

    /// Answers a keep-alive of this lease, sent now.
    pub fn kept_alive(&mut self, lease: LeaseId, ttl: Duration, raft_term: u64) -> Vec<String> {
        let result = Ok(KeptAlive { ttl, raft_term });
        self.give(Input::Answered(Answer::KeptAlive { lease, sent_at: self.now, result }))
    }

    pub fn keep_alive_failed(&mut self, lease: LeaseId, failure: Failure) -> Vec<String> {
        self.give(Input::Answered(Answer::KeptAlive { lease, sent_at: self.now, result: Err(failure) }))
    }

    /// Answers keep-alives of both leases, sent now.
    pub fn kept(&mut self) -> Vec<String> {
        self.kept_as(T, T, self.raft_term)
    }

    pub fn kept_as(&mut self, place: Duration, companion: Duration, raft_term: u64) -> Vec<String> {
        let (number, _, shared) = self.own;
        let mut outputs = self.kept_alive(self.lease(number), place, raft_term);
        outputs.extend(self.kept_alive(shared, companion, raft_term));
        outputs
    }

    /// The store's answer at the next revision, with our keys and no others.
    pub fn snapshot(&mut self) -> Snapshot {
        let (number, created, shared) = self.own;
        self.revision += 1;
        let key = self.lease(number).to_string();
        let place = Place {
            key: key.clone(),
            created: Revision(created),
            modified: Revision(created),
            lease: Some(self.lease(number)),
            name: "me".into(),
        };
        let companion = Companion {
            key,
            created: Revision(created),
            modified: Revision(self.modified),
            lease: Some(shared),
            nonce: Some(ME),
            lease_time: T,
            successor: None,
            metadata: Vec::new(),
        };
        Snapshot {
            revision: Revision(self.revision),
            raft_term: self.raft_term,
            birth: Some(BIRTH),
            place: Some(place.clone()),
            companion: Some(companion.clone()),
            places: vec![place],
            companions: vec![companion],
            overlap: None,
        }
    }

    /// Answers the last read.
    pub fn read(&mut self, snapshot: Snapshot) -> Vec<String> {
        let read = ReadId(self.read);
        self.give(Input::Answered(Answer::Read { read, sent_at: self.now, result: Ok(Box::new(snapshot)) }))
    }

    pub fn read_failed(&mut self, failure: Failure) -> Vec<String> {
        self.read_failed_sent(self.now, failure)
    }

    pub fn read_failed_sent(&mut self, sent_at: Instant, failure: Failure) -> Vec<String> {
        let read = ReadId(self.read);
        self.give(Input::Answered(Answer::Read { read, sent_at, result: Err(failure) }))
    }

    /// Answers the current round, and lists the outputs that follow its read.
    pub fn prove(&mut self, change: impl FnOnce(Snapshot) -> Snapshot) -> Vec<String> {
        self.kept();
        let snapshot = change(self.snapshot());
        self.read(snapshot)
    }

    /// Lets the watch show that another candidate's place and companion were removed at one revision.
    pub fn released(&mut self, created: u64) -> Vec<String> {
        let key = key(created);
        self.revision += 1;
        self.give(Input::Watched(Change {
            revision: Revision(self.revision),
            removed_places: vec![key.clone()],
            removed_companions: vec![key],
            rewritten_companions: Vec::new(),
        }))
    }

    /// Lets the watch show that another candidate's keys were removed, at two different revisions.
    pub fn vanished(&mut self, created: u64) -> Vec<String> {
        self.revision += 2;
        let removed = vec![key(created)];
        let place = Change {
            revision: Revision(self.revision - 1),
            removed_places: removed.clone(),
            ..Change::default()
        };
        let companion =
            Change { revision: Revision(self.revision), removed_companions: removed, ..Change::default() };
        let mut outputs = self.give(Input::Watched(place));
        outputs.extend(self.give(Input::Watched(companion)));
        outputs
    }

    pub fn leads(&self) -> bool {
        self.campaign.is_leader(self.now)
    }

    /// The part of the lease that is left; `None` if none is held.
    pub fn remaining(&self) -> Option<Duration> {
        self.campaign.lease().map(|lease| lease.deadline.since(self.now))
    }

    fn name_of(&mut self, lease: LeaseId) -> String {
        // The numbers of places' leases are random, so the term in such a number is in the billions.
        if lease.raft_term() < 100 {
            return format!("{:X}", lease.0 & 0xff);
        }
        let number = self.leases.iter().position(|known| *known == lease).unwrap_or_else(|| {
            self.leases.push(lease);
            self.leases.len() - 1
        });
        format!("A{}", number + 1)
    }

    /// An output in a few words, with the parts that matter.
    fn in_short(&mut self, output: &Output) -> String {
        match output {
            Output::Ask(request) => self.request_in_short(request),
            Output::Inspect { .. } => "inspect".into(),
            Output::Reconnect => "reconnect".into(),
            Output::Tell(Tell::Stranded { on }) => format!("stranded on {}", self.name_of(*on)),
            Output::Tell(Tell::Move { from, to }) => {
                format!("all from {} to {}", self.name_of(*from), self.name_of(*to))
            }
            Output::Tell(Tell::NotNext { successor, before }) => {
                let before = before.as_ref().map(|name| format!(" after {name}")).unwrap_or_default();
                format!("not next {successor}{before}")
            }
            Output::Event(event) => event_in_short(event),
            Output::WakeAt(_) => "wake".into(),
        }
    }

    fn request_in_short(&mut self, request: &Request) -> String {
        match request {
            Request::Grant { lease, .. } => format!("grant {}", self.name_of(*lease)),
            Request::Share { gone: None, .. } => "share".into(),
            Request::Share { gone: Some(gone), .. } => format!("share, not {}", self.name_of(*gone)),
            Request::KeepAlive { leases } => {
                let names: Vec<_> = leases.iter().map(|lease| self.name_of(lease)).collect();
                format!("keep alive {}", names.join(" "))
            }
            Request::Read { read, own, whole } => {
                self.read = read.0;
                let own = own.map_or("nothing".into(), |own| self.name_of(own));
                format!("read {own}{}", if *whole { " and all" } else { "" })
            }
            Request::Write(write) => self.write_in_short(write),
            Request::Revoke { lease } => format!("revoke {}", self.name_of(*lease)),
        }
    }

    fn write_in_short(&mut self, Write { attempt, action }: &Write) -> String {
        let attempt = attempt.0;
        match action {
            Action::Enter { lease, companion, replaces } => {
                let replaced =
                    replaces.map(|own| format!(" for {}@{}", self.name_of(own.lease), own.revision.0));
                format!(
                    "enter {attempt} {} {}{}",
                    self.name_of(*lease),
                    self.name_of(*companion),
                    replaced.unwrap_or_default()
                )
            }
            Action::Name { own, modified, companion, successor } => {
                let successor = successor.as_deref().unwrap_or("none");
                let (own, companion) = (self.name_of(own.lease), self.name_of(*companion));
                format!("name {attempt} {own}@{} {companion} {successor}", modified.0)
            }
            Action::Move { own, modified, to } => {
                let (own, to) = (self.name_of(own.lease), self.name_of(*to));
                format!("move {attempt} {own}@{} {to}", modified.0)
            }
            Action::LeaveCompanion { lease } => {
                format!("leave {attempt} {} companion", self.name_of(*lease))
            }
            Action::Leave { lease, revision } => {
                let at = revision.map(|revision| format!("@{}", revision.0)).unwrap_or_default();
                format!("leave {attempt} {}{at}", self.name_of(*lease))
            }
        }
    }
}

/// The lease of another candidate's place. The candidate entered at `created`.
fn place(created: u64) -> LeaseId {
    LeaseId((1 << 62) + created)
}

/// The key of another candidate. The candidate entered at `created`.
pub fn key(created: u64) -> String {
    format!("{:x}", place(created).0)
}

/// Other candidates in a snapshot.
pub trait Others: Sized {
    /// Adds a candidate of ours that entered at `created`.
    fn ours(self, created: u64, name: &str) -> Self;
    /// Adds a foreign candidate that entered at `created`.
    fn foreign(self, created: u64, name: &str) -> Self;
    /// Adds a companion of ours that was created at `created` and whose place is gone.
    fn companion(self, created: u64) -> Self;
    /// Lets the first companion name this successor.
    fn naming(self, successor: &str) -> Self;
}

impl Others for Snapshot {
    fn ours(self, created: u64, name: &str) -> Self {
        self.foreign(created, name).companion(created)
    }

    fn foreign(mut self, created: u64, name: &str) -> Self {
        self.places.push(Place {
            key: key(created),
            created: Revision(created),
            modified: Revision(created),
            lease: Some(place(created)),
            name: name.into(),
        });
        self.places.sort_by_key(|place| place.created);
        self
    }

    fn companion(mut self, created: u64) -> Self {
        self.companions.push(Companion {
            key: key(created),
            created: Revision(created),
            modified: Revision(created),
            lease: Some(LeaseId::of_companions(TERM, 0xee)),
            nonce: Some(Nonce(created.into())),
            lease_time: T,
            successor: None,
            metadata: Vec::new(),
        });
        self.companions.sort_by_key(|companion| companion.created);
        self
    }

    fn naming(mut self, successor: &str) -> Self {
        self.companions[0].successor = Some(successor.into());
        self
    }
}

pub fn fault(kind: FaultKind) -> Failure {
    Failure::Fault(Fault { kind, detail: "the store refuses".into() })
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
        Event::Warning(Warning::Store(fault)) => format!("warning {:?}", fault.kind),
        Event::Warning(Warning::StoreReset { barred: true, .. }) => "warning StoreReset, barred".into(),
        Event::Warning(Warning::StoreReset { barred: false, .. }) => "warning StoreReset".into(),
        Event::Warning(warning) => format!("warning {}", warning.code()),
    }
}

pub fn applied(revision: u64) -> Outcome {
    Outcome::Applied { revision: Revision(revision) }
}

pub fn refused() -> Outcome {
    Outcome::Refused { created: None }
}

/// Answers with the connection's lease for companions, while our own companion is still on another lease.
pub fn shared(lease: LeaseId) -> Input {
    Input::Answered(Answer::Shared { result: Ok(lease) })
}
