//! A campaign over a consumer group, as its session drives it.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_core::campaign::{Event, Settings, Warning};
use incumbent_core::candidacy::Obstacle;
use incumbent_core::induction::{
    self, Answer, Connection, Failure, Group, Induction, Kind, Membership, Record, Request, Shown, Topic,
    TopicId,
};
use incumbent_core::record::{Attempt, Nonce, WriteId};
use incumbent_core::session::{Command, Enter, Input, Output, Session, Timer};
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::harness::secs;

const NONCE: Nonce = Nonce(0xa);
const NOW: Instant = Instant::from_nanos(3_600_000_000_000);

struct Bench(Session<Induction>);

impl Bench {
    /// Creates a session whose campaign 1 is a member of its group.
    fn member() -> Self {
        let store = Connection { group: Group::default(), read_at: NOW, time_of_day: secs(1_000) };
        let mut bench = Self(Session::new(store));
        let enter = Enter {
            id: 1,
            election: "jobs".into(),
            settings: Settings::new("me"),
            nonce: NONCE,
            seed: 7,
            fail_fast: false,
        };
        assert_eq!(bench.give(Input::Enter(Box::new(enter))), ["watch", "inspect store"]);
        let info = StoreInfo {
            asked_at: NOW,
            incarnation: Incarnation(0),
            age: None,
            never_used: false,
            max_age: None,
            newest: None,
        };
        let begun = bench.give(Input::Inspected { number: 1, result: Ok(info) });
        assert_eq!(begun, ["inspect for 5s", "join", "register"]);
        bench
    }

    fn give(&mut self, input: Input<Answer, Shown>) -> Vec<String> {
        self.0.handle(NOW, input).expect("nothing that breaks the contract");
        let mut outputs = Vec::new();
        loop {
            outputs.push(match self.0.poll() {
                Output::WakeAt(_) => return outputs,
                Output::Watch { .. } => "watch".into(),
                Output::Inspect { .. } => "inspect store".into(),
                Output::Register { .. } => "register".into(),
                Output::Closed(_) => "closed".into(),
                Output::Ask { request, limit, .. } => asked(&request, limit),
                Output::Report { lease: Some(_), .. } => "leads".into(),
                _ => continue,
            });
        }
    }

    fn answer(&mut self, answer: Answer) -> Vec<String> {
        self.give(Input::Answered { id: 1, answer })
    }

    fn inspected(&mut self) -> Vec<String> {
        let topic = Topic { asked_at: NOW, id: Some(TopicId(1)), time_of_day: secs(1_000) };
        self.answer(Answer::Inspected(Ok(topic)))
    }
}

fn asked(request: &Request, limit: Duration) -> String {
    match request {
        Request::Join => "join".into(),
        Request::Publish(publish) => format!("{} {} for {limit:?}", publish.kind.text(), publish.attempt.0),
        Request::Commit { attempt, offset, metadata } => {
            format!("commit {} {} {metadata:?} for {limit:?}", attempt.0, offset.0)
        }
        Request::Committed { number } => format!("ask token {number} for {limit:?}"),
        Request::Yield => "yield".into(),
        Request::Leave => "leave".into(),
        Request::Inspect => format!("inspect for {limit:?}"),
        Request::Members => format!("ask members for {limit:?}"),
    }
}

#[test]
fn a_campaign_over_a_consumer_group_wins_and_leaves_on_a_session() {
    let mut bench = Bench::member();
    bench.give(Input::Watching { number: 1 });
    bench.inspected();
    assert_eq!(bench.answer(Answer::Assigned { member: "m1".into() }), ["ask token 1 for 5s"]);
    let known = Answer::CommittedToken { number: 1, result: Ok(String::new()) };
    assert_eq!(bench.answer(known), ["claim 1 for 5s"]);
    let published = Answer::Published { attempt: Attempt(1), result: Ok(Revision(4)) };
    assert_eq!(
        bench.answer(published),
        ["inspect for 5s", "commit 1 5 \"incumbent/1 00000000000f4240-0000000000000004\" for 5s"]
    );
    let claim = Record {
        offset: Revision(4),
        name: "me".into(),
        write_id: Some(WriteId { nonce: NONCE, attempt: Attempt(1) }),
        kind: Kind::Claim,
        lease: None,
        term_info: None,
        topic: None,
        metadata: Vec::new(),
    };
    let shown = Shown::Record(claim);
    bench.give(Input::Watched { number: 1, election: "jobs".into(), shown });
    bench.inspected();
    let membership = Membership { member: "m1".into(), generation: 3, owns: true };
    bench.answer(Answer::Committed { attempt: Attempt(1), result: Ok(membership) });
    assert!(
        !bench.0.campaign(1).expect("it runs").is_leader(NOW),
        "an owner that knows nothing of the log waits"
    );

    assert_eq!(bench.give(Input::Command { id: 1, command: Command::Close }), ["leave"]);
    assert_eq!(bench.answer(Answer::Left), ["closed"]);
}

#[test]
fn a_hand_over_and_an_acceptance_mean_nothing_in_a_group() {
    let mut bench = Bench::member();
    for command in [Command::HandOver("other".into()), Command::Accept] {
        assert_eq!(bench.give(Input::Command { id: 1, command }), [""; 0]);
    }
}

#[test]
fn a_client_that_does_not_leave_its_group_ends_its_campaign_all_the_same() {
    let mut bench = Bench::member();
    bench.give(Input::Command { id: 1, command: Command::Close });
    let Output::WakeAt(Some(wake)) = bench.0.poll() else { panic!("a wake-up") };
    assert_eq!(wake.at.since(NOW), secs(10));
    assert_eq!(wake.timer, Timer::Campaign(1, induction::Timer::Close));
    bench.0.handle(wake.at, Input::Tick).expect("nothing that breaks the contract");
    assert!(bench.0.campaign(1).is_none());
}

#[test]
fn a_member_whose_group_assigns_nothing_says_after_the_worst_fail_over_what_it_sees() {
    let mut bench = Bench::member();
    bench.inspected();
    let Output::WakeAt(Some(wake)) = bench.0.poll() else { panic!("a wake-up") };
    // The worst fail-over is a session timeout of three leases of 5 s, two leases for the new owner, and an attempt.
    let worst = secs(3 * 5 + 2 * 5) + bench.0.campaign(1).expect("it runs").attempt_limit();
    assert_eq!((wake.at.since(NOW), wake.timer), (worst, Timer::Vacant(1)));
    bench.0.handle(wake.at, Input::Tick).expect("nothing that breaks the contract");
    let Output::Report { events, .. } = bench.0.poll() else { panic!("a report") };
    let warning = Warning::NoLeader { lasted: worst, because: Obstacle::Unassigned };
    assert_eq!(events, [Event::Warning(warning)]);
    assert_eq!(bench.0.poll(), Output::WakeAt(None), "once");
}

/// The requests of a campaign whose store answers nothing. The driver ends each request at its limit, with an unknown
/// outcome.
struct Unanswered {
    bench: Bench,
    now: Instant,
    asked: Vec<(Instant, Request)>,
    /// The largest number of unanswered requests of each kind at a time.
    most: BTreeMap<&'static str, usize>,
}

impl Unanswered {
    fn give(&mut self, input: Input<Answer, Shown>) {
        self.bench.0.handle(self.now, input).expect("nothing that breaks the contract");
        loop {
            match self.bench.0.poll() {
                Output::WakeAt(_) => break,
                // The client unassigns on its own, and reports its membership at any time.
                Output::Ask { request: Request::Yield, .. } => {}
                Output::Ask { request, limit, .. } => self.asked.push((self.now + limit, request)),
                _ => {}
            }
        }
        for kind in KINDS {
            let of_kind = self.asked.iter().filter(|(_, request)| kind_of(request) == kind).count();
            let most = self.most.entry(kind).or_default();
            *most = of_kind.max(*most);
        }
    }

    /// Lets time pass, in which requests may reach their limits.
    fn run_for(&mut self, span: Duration) {
        let until = self.now + span;
        while self.now < until {
            self.now = self.now + Duration::from_millis(10);
            let (over, asked) = self.asked.drain(..).partition(|(limit, _)| *limit <= self.now);
            self.asked = asked;
            let over: Vec<(Instant, Request)> = over;
            for answer in over.into_iter().filter_map(|(_, request)| unknown(request)) {
                self.give(Input::Answered { id: 1, answer });
            }
            self.give(Input::Tick);
        }
    }
}

/// The answer that a driver gives at the limit of a request.
fn unknown(request: Request) -> Option<Answer> {
    let fault = || Fault { kind: FaultKind::Unreachable, detail: "no answer".into() };
    Some(match request {
        Request::Publish(publish) => {
            Answer::Published { attempt: publish.attempt, result: Err(Failure::Unknown) }
        }
        Request::Commit { attempt, .. } => Answer::Committed { attempt, result: Err(Failure::Unknown) },
        Request::Committed { number } => Answer::CommittedToken { number, result: Err(Failure::Unknown) },
        Request::Inspect => Answer::Inspected(Err(fault())),
        Request::Members => Answer::Members(Err(fault())),
        Request::Join | Request::Yield | Request::Leave => return None,
    })
}

/// The kinds of requests that have a limit.
const KINDS: [&str; 5] = ["publish", "commit", "committed", "inspect", "members"];

fn kind_of(request: &Request) -> &'static str {
    match request {
        Request::Publish(_) => "publish",
        Request::Commit { .. } => "commit",
        Request::Committed { .. } => "committed",
        Request::Inspect => "inspect",
        Request::Members => "members",
        Request::Join | Request::Yield | Request::Leave => "membership",
    }
}

/// The largest number of requests of each kind that an owner of partition zero has in flight, if these answers are
/// followed by none for minutes.
fn most_without_answers(answers: Vec<Answer>) -> [usize; KINDS.len()] {
    let mut all = Unanswered { bench: Bench::member(), now: NOW, asked: Vec::new(), most: BTreeMap::new() };
    all.give(Input::Watching { number: 1 });
    let topic = Topic { asked_at: NOW, id: Some(TopicId(1)), time_of_day: secs(1_000) };
    let assigned = Answer::Assigned { member: "m1".into() };
    for answer in [Answer::Inspected(Ok(topic)), assigned].into_iter().chain(answers) {
        all.give(Input::Answered { id: 1, answer });
    }
    all.run_for(secs(180));
    KINDS.map(|kind| all.most[kind])
}

/// No window limits these requests, and none is needed: an unanswered request is repeated after a pause, as long as its
/// answer can matter.
#[test]
fn a_campaign_that_nothing_is_answered_has_six_requests_of_each_kind_under_way_at_most() {
    let known = Answer::CommittedToken { number: 1, result: Ok(String::new()) };
    let published = Answer::Published { attempt: Attempt(1), result: Ok(Revision(4)) };
    assert_eq!(most_without_answers(vec![]), [0, 0, 6, 0, 0]);
    assert_eq!(most_without_answers(vec![known.clone()]), [6, 0, 6, 0, 0]);
    assert_eq!(most_without_answers(vec![known, published]), [1, 6, 1, 5, 0]);
}
