//! Short scripts for one candidate: inputs that neither the simulator's store nor the model checker's worlds make.

#![allow(clippy::expect_used, reason = "the lines above say why")]

use std::time::Duration;

use incumbent_core::campaign::{
    Answer, Campaign, EarlySights, Event, Input, Output, ReadId, Request, Settings, Warning,
};
use incumbent_core::candidacy::Early as _;
use incumbent_core::record::{Attempt, Entry, Nonce, Record, Release, TermInfo, WriteId};
use incumbent_core::store::{Action, Capabilities, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::session_script;

const LEASE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(90);
const INCARNATION: Incarnation = Incarnation(7);
const ME: Nonce = Nonce(0xa);

/// The name of a script, and a function that returns true if the rules hold in it.
pub(crate) type Script = (&'static str, fn() -> bool);

const SCRIPTS: &[Script] = &[
    ("a tombstone's lease", a_tombstones_lease),
    ("a record's lease", a_records_lease),
    ("an absurd wait", an_absurd_wait),
    ("a store made as new", a_store_made_as_new),
    ("a raised age", a_raised_age),
    ("a clock that goes back", a_clock_that_goes_back),
    ("a release of another incarnation", a_release_of_another_incarnation),
    ("an old inspection", an_old_inspection),
    ("an attempt for another incarnation", an_attempt_for_another_incarnation),
    ("late refusals", late_refusals),
    ("an older record", an_older_record),
    ("an absence", an_absence),
    ("a late release", a_late_release),
    ("lost renewals", lost_renewals),
    ("a gap", a_gap),
    ("a rest", a_rest),
    ("an outage", an_outage),
    ("a probe", a_probe),
    ("a rest alone", a_rest_alone),
    ("terms lost again and again", terms_lost_again_and_again),
    ("a leader shown early", a_leader_shown_early),
    ("a token in a stale record", a_token_in_a_stale_record),
    ("a release of a term not seen", a_release_of_a_term_not_seen),
    ("late acknowledgements", late_acknowledgements),
    ("a watch that shows nothing", a_watch_that_shows_nothing),
    ("many faults", many_faults),
    ("a last renewal", session_script::a_last_renewal),
    ("a late answer", session_script::a_late_answer),
    ("an overload", session_script::an_overload),
    ("little time", session_script::little_time),
];

/// The script that fails.
pub(crate) fn play() -> Option<String> {
    broken(SCRIPTS)
}

/// Returns the first script that fails. A panic is not a verdict, unless it comes from one of a machine's own
/// assertions.
pub(crate) fn broken(scripts: &[Script]) -> Option<String> {
    let is_broken = |holds: &fn() -> bool| match std::panic::catch_unwind(holds) {
        Ok(holds) => !holds,
        Err(panic) => incumbent_sim::own_check(panic.as_ref()).is_some(),
    };
    let (name, _) = scripts.iter().find(|(_, holds)| is_broken(holds))?;
    Some(format!("script, {name}"))
}

struct Bench {
    campaign: Campaign,
    now: Instant,
}

impl Bench {
    /// Returns a candidate that has read the key and found `entry`, and the candidate's outputs.
    fn with(max_age: Option<Duration>, entry: Entry) -> (Self, Vec<Output>) {
        Self::on(max_age, &[], entry, true)
    }

    /// Returns a candidate that has read the key and found `entry`. Before it began, one watch for each of the `early`
    /// entries had shown that entry.
    fn shown(max_age: Option<Duration>, early: &[Entry], entry: Entry) -> (Self, Vec<Output>) {
        Self::on(max_age, early, entry, true)
    }

    /// Returns a candidate that has read the key, in a store that states the incarnation in its acknowledgements if
    /// `incarnation_acked`.
    fn on(
        max_age: Option<Duration>,
        early: &[Entry],
        entry: Entry,
        incarnation_acked: bool,
    ) -> (Self, Vec<Output>) {
        let store = Capabilities {
            own_lease: max_age != Some(LEASE),
            lease_step: Duration::ZERO,
            shortest: Duration::from_secs(1),
            longest: Duration::MAX,
            granularity: Duration::ZERO,
            expiry_pushed: false,
            incarnation_acked,
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::ZERO,
        };
        let now = Instant::ZERO + Duration::from_secs(3_600);
        let info = StoreInfo {
            asked_at: now,
            incarnation: INCARNATION,
            age: Some(LONG * 1_000),
            never_used: false,
            max_age,
            newest: None,
        };
        let settings = Settings { splay: Some(Duration::ZERO), lease: Some(LEASE), ..Settings::new("me") };
        // The settings and the store above are valid. A panic would not be a verdict.
        let mut campaign = Campaign::new(settings, store, &info, ME, 7, now).expect("they fit");
        let mut sights = EarlySights::default();
        for entry in early {
            sights.watch_began();
            sights.observe(entry, now);
        }
        campaign.recall(&sights, &info);
        let mut bench = Self { campaign, now };
        bench.handle(Input::Campaign);
        let outputs = bench.handle(Input::Answered(Answer::Read { read: ReadId(1), result: Ok(entry) }));
        (bench, outputs)
    }

    /// A leader of revision 10.
    fn leading() -> Self {
        let (mut bench, _) = Self::with(Some(LEASE), Entry::Vacant);
        bench.applied(1, 10);
        bench
    }

    fn handle(&mut self, input: Input) -> Vec<Output> {
        // The scripts answer only existing attempts and reads, so the input is valid. A panic would not be a verdict.
        self.campaign.handle(self.now, input).expect("it keeps the contract");
        let next = || match self.campaign.poll() {
            Output::WakeAt(_) => None,
            output => Some(output),
        };
        std::iter::from_fn(next).collect()
    }

    fn applied(&mut self, attempt: u64, revision: u64) -> Vec<Output> {
        let outcome = Outcome::Applied { revision: Revision(revision), incarnation: Some(INCARNATION) };
        self.handle(Input::Answered(Answer::Wrote { attempt: Attempt(attempt), outcome }))
    }

    /// Lets time pass, with a call every ten milliseconds.
    fn pass(&mut self, span: Duration) -> Vec<Output> {
        let (end, mut outputs) = (self.now + span, Vec::new());
        while self.now < end {
            self.now = self.now + Duration::from_millis(10);
            outputs.extend(self.handle(Input::Tick));
        }
        outputs
    }

    fn leads(&self) -> bool {
        self.campaign.is_leader(self.now)
    }
}

/// A candidate, and a store that answers at once or not at all. Records the length of each of the candidate's rests, in
/// seconds.
struct Denied {
    bench: Bench,
    revision: u64,
    /// True if the key is free; false if another candidate holds it.
    free: bool,
    rests: Vec<u64>,
}

impl Denied {
    fn new() -> Self {
        let (bench, outputs) = Bench::on(Some(LEASE), &[], Entry::Vacant, false);
        let mut denied = Self { bench, revision: 9, free: true, rests: Vec::new() };
        denied.answer(outputs, false, true);
        denied
    }

    /// Lets seconds pass. In that time the store answers inspections or denies them, or, if it is not `up`, answers
    /// nothing.
    fn pass(&mut self, seconds: u64, inspects: bool, up: bool) {
        for _ in 0..seconds {
            let outputs = self.bench.pass(Duration::from_secs(1));
            self.answer(outputs, inspects, up);
        }
    }

    fn answer(&mut self, mut outputs: Vec<Output>, inspects: bool, up: bool) {
        while let Some(output) = outputs.pop() {
            let input = match output {
                Output::Inspect { .. } if inspects => Input::Inspected(Ok(StoreInfo {
                    asked_at: self.bench.now,
                    incarnation: INCARNATION,
                    age: Some(LONG * 1_000),
                    never_used: false,
                    max_age: Some(LEASE),
                    newest: None,
                })),
                Output::Inspect { .. } => {
                    Input::Inspected(Err(Fault { kind: FaultKind::Denied, detail: "denied".into() }))
                }
                Output::Ask(Request::Read(read)) => {
                    self.revision += 1;
                    let free = released(self.revision, Duration::ZERO, None);
                    let entry = if self.free { free } else { live(self.revision, 1) };
                    Input::Answered(Answer::Read { read, result: Ok(entry) })
                }
                Output::Ask(Request::Write(write)) => {
                    self.revision += 1;
                    let outcome = Outcome::Applied { revision: Revision(self.revision), incarnation: None };
                    Input::Answered(Answer::Wrote { attempt: write.attempt, outcome })
                }
                Output::Event(Event::Warning(Warning::GaveWay { rest, .. })) => {
                    self.rests.push(rest.as_secs());
                    continue;
                }
                _ => continue,
            };
            if up {
                outputs.extend(self.bench.handle(input));
            }
        }
    }
}

fn live(revision: u64, sequence: u64) -> Entry {
    let token = Token { incarnation: INCARNATION, sequence: Revision(sequence) };
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: "other".into(),
        write_id: Some(WriteId { nonce: Nonce(0xb), attempt: Attempt(revision) }),
        lease: Some(LEASE),
        term_info: Some(TermInfo { token, led_for: Some(LEASE) }),
        metadata: Vec::new(),
        oversize: None,
    })
}

fn released(revision: u64, owed: Duration, write_id: Option<WriteId>) -> Entry {
    let revision = Revision(revision);
    Entry::Released(Release { revision, write_id, owed, incarnation: INCARNATION, successor: None })
}

/// The lifetime of the first record that is written.
fn stated_lease(outputs: &[Output]) -> Option<Duration> {
    outputs.iter().find_map(|output| match output {
        Output::Ask(Request::Write(Write { action: Action::Acquire(put) | Action::Renew(put), .. })) => {
            Some(put.lease)
        }
        _ => None,
    })
}

/// Finds the report that the store went back: true if the candidate is barred because of that, none if there is no such
/// report.
fn barred(outputs: &[Output]) -> Option<bool> {
    outputs.iter().find_map(|output| match output {
        Output::Event(Event::Warning(Warning::StoreReset { barred, .. })) => Some(*barred),
        _ => None,
    })
}

fn acquires(outputs: &[Output]) -> usize {
    let acquire = |output: &&Output| {
        matches!(output, Output::Ask(Request::Write(Write { action: Action::Acquire(_), .. })))
    };
    outputs.iter().filter(acquire).count()
}

fn a_tombstones_lease() -> bool {
    let tombstone = Entry::Deleted { revision: Revision(5), lease: Some(LONG) };
    let (mut bench, _) = Bench::with(None, tombstone);
    let end = (bench.now + LONG).before(LEASE / 2);
    let mut attempt = 1;
    bench.applied(attempt, 6);
    while bench.now < end {
        if bench.pass(LEASE / 3).iter().any(|output| matches!(output, Output::Ask(Request::Write(_)))) {
            attempt += 1;
            bench.applied(attempt, 5 + attempt);
        }
        if bench.leads() {
            return false;
        }
    }
    true
}

fn a_records_lease() -> bool {
    let (_, outputs) = Bench::with(Some(LONG), Entry::Deleted { revision: Revision(5), lease: None });
    stated_lease(&outputs) == Some(LONG)
}

fn an_absurd_wait() -> bool {
    let (_, outputs) = Bench::with(Some(LEASE), released(5, Duration::from_millis(u64::MAX), None));
    stated_lease(&outputs) == Some(LEASE)
}

fn a_clock_that_goes_back() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), Entry::Vacant);
    let latest = bench.now + Duration::from_secs(1);
    bench.now = latest;
    bench.handle(Input::Tick);
    bench.now = latest.before(Duration::from_millis(500));
    let outputs = bench.applied(1, 10);
    let won = |output: &Output| matches!(output, Output::Event(Event::Won(term)) if term.started == latest);
    outputs.iter().any(won)
}

fn a_release_of_another_incarnation() -> bool {
    let write_id = WriteId { nonce: Nonce(0xb), attempt: Attempt(3) };
    let released = Entry::Released(Release {
        revision: Revision(5),
        write_id: Some(write_id),
        owed: Duration::ZERO,
        incarnation: Incarnation(INCARNATION.0 - 1),
        successor: None,
    });
    let (mut bench, _) = Bench::with(Some(LEASE), released);
    bench.applied(1, 6);
    !bench.leads()
}

fn an_old_inspection() -> bool {
    let mut bench = Bench::leading();
    let asked_before = bench.now;
    bench.now = bench.now + Duration::from_secs(1);
    let info = |asked_at, incarnation| StoreInfo {
        asked_at,
        incarnation,
        age: Some(LONG * 1_000),
        never_used: false,
        max_age: Some(LEASE),
        newest: None,
    };
    bench.handle(Input::Inspected(Ok(info(bench.now, INCARNATION))));
    bench.handle(Input::Inspected(Ok(info(asked_before, Incarnation(INCARNATION.0 - 1)))));
    bench.leads()
}

/// An acquire that was sent for one incarnation is acknowledged by the next one. The next incarnation's leader was
/// deleted before the candidate saw it, so the candidate waits for a whole new lease.
fn an_attempt_for_another_incarnation() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), released(5, Duration::ZERO, None));
    let next = Incarnation(INCARNATION.0 + 1);
    bench.handle(Input::Inspected(Ok(StoreInfo {
        asked_at: bench.now,
        incarnation: next,
        age: Some(LONG * 1_000),
        never_used: false,
        max_age: Some(LEASE),
        newest: None,
    })));
    let outcome = Outcome::Applied { revision: Revision(6), incarnation: Some(next) };
    bench.handle(Input::Answered(Answer::Wrote { attempt: Attempt(1), outcome }));
    !bench.leads()
}

fn a_raised_age() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), Entry::Deleted { revision: Revision(5), lease: None });
    let end = (bench.now + LONG).before(LEASE / 2);
    bench.applied(1, 6);
    bench.handle(Input::Inspected(Ok(StoreInfo {
        asked_at: bench.now,
        incarnation: INCARNATION,
        age: Some(LONG * 1_000),
        never_used: false,
        max_age: Some(LONG),
        newest: None,
    })));
    let mut attempt = 1;
    while bench.now < end {
        if bench.pass(LEASE / 3).iter().any(|output| matches!(output, Output::Ask(Request::Write(_)))) {
            attempt += 1;
            bench.applied(attempt, 5 + attempt);
        }
        if bench.leads() {
            return false;
        }
    }
    true
}

fn a_store_made_as_new() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), live(5, 5));
    let next = Incarnation(INCARNATION.0 + 1);
    bench.handle(Input::Inspected(Ok(StoreInfo {
        asked_at: bench.now,
        incarnation: next,
        age: Some(Duration::ZERO),
        never_used: true,
        max_age: Some(LEASE),
        newest: None,
    })));
    bench.handle(Input::Answered(Answer::Read { read: ReadId(2), result: Ok(Entry::Vacant) }));
    let outcome = Outcome::Applied { revision: Revision(1), incarnation: Some(next) };
    bench.handle(Input::Answered(Answer::Wrote { attempt: Attempt(1), outcome }));
    !bench.leads()
}

fn late_refusals() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), released(5, Duration::ZERO, None));
    // The two acquires are not answered yet.
    for _ in 0..2 {
        bench.pass(Duration::from_secs(4));
        bench.handle(Input::Reconnected);
    }
    bench.applied(3, 10);
    let led = bench.leads();
    for attempt in [1, 2] {
        let outcome = Outcome::Refused { current: Revision(0) };
        bench.handle(Input::Answered(Answer::Wrote { attempt: Attempt(attempt), outcome }));
        bench.handle(Input::Reconnected);
    }
    !led || bench.leads()
}

fn an_older_record() -> bool {
    let mut bench = Bench::leading();
    bench.handle(Input::Watched(live(9, 9)));
    bench.leads()
}

fn an_absence() -> bool {
    let mut bench = Bench::leading();
    bench.handle(Input::Watched(Entry::Vacant));
    bench.handle(Input::Answered(Answer::Read { read: ReadId(2), result: Ok(Entry::Vacant) }));
    bench.leads()
}

/// The store words its fault differently each time. The candidate reports it only a few times.
fn many_faults() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), Entry::Vacant);
    let mut reported = 0;
    for text in 0..20 {
        let outcome =
            Outcome::Failed(Fault { kind: FaultKind::Broken, detail: format!("the disk failed at {text}") });
        let outputs = bench.handle(Input::Answered(Answer::Wrote { attempt: Attempt(1), outcome }));
        let is_fault = |output: &&Output| matches!(output, Output::Event(Event::Warning(Warning::Store(_))));
        reported += outputs.iter().filter(is_fault).count();
    }
    reported == 8
}

fn a_late_release() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), Entry::Vacant);
    bench.applied(1, 10);
    bench.handle(Input::Resign);
    bench.handle(Input::Drained);
    // The release gets no answer, and the watch shows that it was applied.
    let ours = WriteId { nonce: ME, attempt: Attempt(2) };
    bench.handle(Input::Watched(released(11, Duration::ZERO, Some(ours))));
    bench.pass(Duration::from_secs(3));
    bench.applied(3, 12);
    let led = bench.leads();
    bench.applied(2, 11);
    !led || bench.campaign.leader().is_some()
}

fn lost_renewals() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), live(1_000, 10));
    bench.handle(Input::Watched(Entry::Vacant));
    barred(&bench.applied(1, 500)) == Some(false)
}

fn a_gap() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), live(60, 60));
    bench.handle(Input::Watched(Entry::Vacant));
    let outputs = bench.applied(1, 11);
    barred(&outputs) == Some(false) && acquires(&bench.pass(Duration::from_secs(1))) == 1
}

/// The candidate gives way after a lease, and rests for ten leases. Meanwhile another candidate claims the key. Then
/// the candidate gives way again, and rests for twenty leases.
fn a_rest() -> bool {
    let mut denied = Denied::new();
    denied.pass(40, false, true);
    denied.free = false;
    denied.pass(280, false, true);
    denied.free = true;
    denied.pass(60, false, true);
    denied.rests == [300, 600]
}

fn an_outage() -> bool {
    let mut denied = Denied::new();
    denied.pass(10, true, true);
    denied.pass(200, false, false);
    denied.pass(20, true, true);
    denied.rests.is_empty()
}

/// The failing step works again after the candidate has rested for sixty seconds.
fn a_probe() -> bool {
    let mut denied = Denied::new();
    denied.pass(40, false, true);
    denied.free = false;
    denied.pass(60, false, true);
    denied.free = true;
    denied.pass(30, true, true);
    denied.bench.leads()
}

fn a_rest_alone() -> bool {
    let mut denied = Denied::new();
    denied.pass(100, false, true);
    denied.rests == [300, 300]
}

/// The candidate loses its term twice; each time, the failing step works again before it has failed for a lease.
fn terms_lost_again_and_again() -> bool {
    let mut denied = Denied::new();
    denied.pass(35, true, true);
    for _ in 0..2 {
        denied.pass(28, false, true);
        denied.pass(7, true, true);
    }
    denied.rests.len() == 1
}

/// A watch showed a leader, but the leader's record is gone when the campaign reads its key. In a second run another
/// watch also showed the leader's release.
fn a_leader_shown_early() -> bool {
    let holds = |early: &[Entry]| {
        let (mut bench, _) = Bench::shown(Some(LEASE), early, Entry::Vacant);
        bench.applied(1, 93);
        !bench.leads()
    };
    holds(&[live(91, 90)]) && holds(&[live(91, 90), released(92, Duration::ZERO, None)])
}

/// The store goes back below the known revision and shows a term with the token 11. Then it goes back again.
fn a_token_in_a_stale_record() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), live(20, 5));
    bench.handle(Input::Watched(live(12, 11)));
    bench.handle(Input::Watched(Entry::Vacant));
    bench.applied(1, 10);
    let mut revision = 10;
    let mut attempt = 1;
    for _ in 0..1_000 {
        for output in bench.pass(LEASE / 100) {
            match output {
                Output::Ask(Request::Write(_)) => {
                    (attempt, revision) = (attempt + 1, revision + 1);
                    bench.applied(attempt, revision);
                }
                Output::Event(Event::Won(term)) => return term.token.sequence > Revision(11),
                _ => {}
            }
        }
    }
    true
}

/// The candidate has seen one token, and then a release whose revision is far above it. Then the store acknowledges a
/// write at a revision below the release.
fn a_release_of_a_term_not_seen() -> bool {
    let (mut bench, _) = Bench::with(Some(LEASE), live(60, 10));
    bench.handle(Input::Watched(released(1_000, Duration::ZERO, None)));
    barred(&bench.applied(1, 500)) == Some(true)
}

fn a_watch_that_shows_nothing() -> bool {
    let (mut bench, _) = Bench::on(Some(LEASE), &[], live(10, 10), false);
    bench.handle(Input::Watching { since: bench.now.before(LEASE) });
    let asks =
        |outputs: &[Output]| outputs.iter().any(|output| matches!(output, Output::Ask(Request::Read(_))));
    asks(&bench.pass(LEASE + Duration::from_secs(1))) && {
        let newer = Answer::Read { read: ReadId(2), result: Ok(live(13, 13)) };
        let outputs = bench.handle(Input::Answered(newer));
        outputs.iter().any(|output| matches!(output, Output::Inspect { .. }))
    }
}

/// Three acquires are not answered for now, and the fourth is acknowledged. Then the first is acknowledged. In one run
/// its revision is below the one known when it was sent. In another run it is above that one, but below the one known
/// now.
fn late_acknowledgements() -> bool {
    let leading = || {
        let (mut bench, _) = Bench::with(Some(LEASE), live(35, 30));
        bench.now = bench.now + LONG;
        let mut sent = acquires(&bench.handle(Input::Watched(Entry::Vacant)));
        while sent < 4 {
            sent += acquires(&bench.pass(Duration::from_millis(10)));
            sent += acquires(&bench.handle(Input::Reconnected));
        }
        bench.applied(4, 39);
        bench
    };
    let mut bench = leading();
    let led = bench.leads();
    bench.applied(1, 33);
    if led && bench.leads() {
        return false;
    }
    // In the second run the key is absent on one connection. The late acknowledgement does not confirm that absence.
    let mut bench = leading();
    let led = bench.leads();
    bench.handle(Input::Reconnected);
    let absent = |bench: &mut Bench, outputs: &[Output]| {
        let read = outputs.iter().rev().find_map(|output| match output {
            Output::Ask(Request::Read(read)) => Some(*read),
            _ => None,
        });
        read.map(|read| bench.handle(Input::Answered(Answer::Read { read, result: Ok(Entry::Vacant) })))
            .unwrap_or_default()
    };
    let outputs = bench.handle(Input::Watched(Entry::Vacant));
    absent(&mut bench, &outputs);
    bench.applied(1, 36);
    let mut outputs = bench.handle(Input::Reconnected);
    outputs.extend(bench.handle(Input::Inspected(Ok(StoreInfo {
        asked_at: bench.now,
        incarnation: INCARNATION,
        age: Some(LONG * 1_000),
        never_used: false,
        max_age: Some(LEASE),
        newest: None,
    }))));
    absent(&mut bench, &outputs);
    !led || !bench.leads()
}

#[cfg(test)]
mod tests {
    #[test]
    fn where_nothing_is_broken_every_script_ends_as_it_should() {
        assert_eq!(super::play(), None);
    }
}
