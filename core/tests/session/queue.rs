//! Campaigns in queues, whose companions share a lease of their session.

use std::collections::{BTreeSet, HashSet};
use std::mem::discriminant;
use std::time::Duration;

use incumbent_core::campaign::Settings;
use incumbent_core::queue::{
    Action, Answer, Change, Companion, Failure, KeptAlive, LeaseId, Leases, Outcome, Place, Queue, Request,
    Server, Snapshot, Write,
};
use incumbent_core::record::Nonce;
use incumbent_core::session::{CampaignId, Command, Enter, Input, Output, Session};
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

const T: Duration = Duration::from_secs(30);
const BIRTH: Incarnation = Incarnation(1_000);
/// The first lease of the companions, and the lease that replaces it.
const B: LeaseId = LeaseId::of_companions(2, 0xb);
const C: LeaseId = LeaseId::of_companions(2, 0xc);
const CREATED: Revision = Revision(10);
const MOVED: Revision = Revision(20);

/// A session of two campaigns, each the only one in its election. Requests are kept until they are answered.
struct Bench {
    session: Session<Queue>,
    now: Instant,
    asked: Vec<(CampaignId, Request)>,
    closed: Vec<CampaignId>,
    reconnects: usize,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self::empty();
        for id in [1, 2] {
            bench.enter(id);
            bench.inspected(id);
            let lease = bench.lease_asked_for(id);
            bench.answer(id, Answer::Granted { lease, result: Ok(T) });
            bench.answer(id, Answer::Shared { result: Ok(B) });
        }
        bench
    }

    /// A session without campaigns.
    fn empty() -> Self {
        let store = Server { shortest: Some(Duration::from_secs(2)) };
        let now = Instant::ZERO + Duration::from_secs(3_600);
        Self { session: Session::new(store), now, asked: Vec::new(), closed: Vec::new(), reconnects: 0 }
    }

    fn enter(&mut self, id: CampaignId) {
        self.give(Input::Enter(Box::new(Enter {
            id,
            election: format!("election {id}").into(),
            settings: Settings { splay: Some(Duration::ZERO), lease: Some(T), ..Settings::new("me") },
            nonce: nonce(id),
            seed: id,
            fail_fast: false,
        })));
    }

    fn inspected(&mut self, number: u64) {
        let info = StoreInfo {
            asked_at: self.now,
            incarnation: BIRTH,
            age: None,
            never_used: true,
            max_age: None,
            newest: None,
        };
        self.give(Input::Inspected { number, result: Ok(info) });
    }

    fn give(&mut self, input: Input<Answer, Change>) {
        self.session.handle(self.now, input).expect("nothing that breaks the contract");
        loop {
            match self.session.poll() {
                Output::WakeAt(_) => return,
                Output::Ask { id, request, .. } => self.asked.push((id, request)),
                Output::Closed(id) => self.closed.push(id),
                Output::Reconnect { .. } => self.reconnects += 1,
                _ => {}
            }
        }
    }

    fn answer(&mut self, id: CampaignId, answer: Answer) {
        self.give(Input::Answered { id, answer });
    }

    fn sleep(&mut self, span: Duration) {
        self.now = self.now + span;
        self.give(Input::Tick);
    }

    /// The newest request of a campaign.
    fn newest(&self, id: CampaignId) -> Request {
        let of = self.asked.iter().rev().find(|(of, _)| *of == id);
        of.expect("it asked for something").1.clone()
    }

    /// The requests of a campaign.
    fn of(&self, id: CampaignId) -> Vec<Request> {
        self.asked.iter().filter(|(of, _)| *of == id).map(|(_, request)| request.clone()).collect()
    }

    fn lease_asked_for(&self, id: CampaignId) -> LeaseId {
        let lease = |(of, request): &(CampaignId, Request)| match request {
            Request::Grant { lease, .. } if *of == id => Some(*lease),
            _ => None,
        };
        self.asked.iter().find_map(lease).expect("it asked for a lease")
    }

    fn wrote(&mut self, id: CampaignId, outcome: Outcome) {
        let Request::Write(Write { attempt, .. }) = self.newest(id) else { panic!("it writes nothing") };
        self.answer(id, Answer::Wrote { attempt, outcome });
    }

    /// Answers the candidate's keep-alives and the read that follows, which shows the candidate's companion on the
    /// lease `on`.
    fn round(&mut self, id: CampaignId, on: LeaseId, modified: Revision) {
        let Request::KeepAlive { leases } = self.newest(id) else { panic!("it keeps nothing alive") };
        for lease in leases.iter() {
            let result = Ok(KeptAlive { ttl: T, raft_term: 2 });
            self.answer(id, Answer::KeptAlive { lease, sent_at: self.now, result });
        }
        let Request::Read { read, .. } = self.newest(id) else { panic!("it reads nothing") };
        let snapshot = Box::new(alone(id, leases.place, on, modified));
        self.answer(id, Answer::Read { read, sent_at: self.now, result: Ok(snapshot) });
    }

    /// Closes the first campaign, and denies the deletion of the companion that it may have created.
    fn strand_the_first(&mut self) {
        self.wrote(1, Outcome::Failed(Failure::Unknown));
        self.give(Input::Command { id: 1, command: Command::Close });
        let lease = self.lease_asked_for(1);
        self.answer(1, Answer::Revoked { lease, result: Ok(()) });
        self.wrote(1, denied());
        self.wrote(1, denied());
    }

    /// Denies the read that checks whether the campaign's companion still exists.
    fn reads_nothing(&mut self, id: CampaignId) {
        let Request::Read { read, .. } = self.newest(id) else { panic!("it reads nothing") };
        let Outcome::Failed(failure) = denied() else { panic!("it is denied") };
        self.answer(id, Answer::Read { read, sent_at: self.now, result: Err(failure) });
    }

    /// Lets the first campaign try to delete its companion again.
    fn try_again(&mut self, after: Duration) {
        self.sleep(after);
        let lease = self.lease_asked_for(1);
        assert!(
            matches!(self.newest(1), Request::Write(Write { action: Action::LeaveCompanion { lease: of }, .. }) if of == lease)
        );
        self.wrote(1, denied());
    }
}

fn nonce(id: CampaignId) -> Nonce {
    Nonce(id.into())
}

fn denied() -> Outcome {
    Outcome::Failed(Failure::Fault(Fault { kind: FaultKind::Denied, detail: "permission denied".into() }))
}

fn alone(id: CampaignId, lease: LeaseId, on: LeaseId, modified: Revision) -> Snapshot {
    let key = lease.to_string();
    let place = Place {
        key: key.clone(),
        created: CREATED,
        modified: CREATED,
        lease: Some(lease),
        name: "me".into(),
    };
    let companion = Companion {
        key,
        created: CREATED,
        modified,
        lease: Some(on),
        nonce: Some(nonce(id)),
        lease_time: T,
        successor: None,
        metadata: Vec::new(),
    };
    Snapshot {
        revision: MOVED,
        raft_term: 2,
        birth: Some(BIRTH),
        place: Some(place.clone()),
        companion: Some(companion.clone()),
        places: vec![place],
        companions: vec![companion],
        overlap: None,
    }
}

#[test]
fn a_companion_that_cannot_be_deleted_moves_those_of_the_other_campaigns_and_is_gone_once_all_have_left() {
    let mut bench = Bench::new();
    bench.wrote(2, Outcome::Applied { revision: CREATED });
    bench.round(2, B, CREATED);
    let leads =
        |bench: &Bench| bench.session.campaign(2).is_some_and(|campaign| campaign.is_leader(bench.now));
    assert!(leads(&bench));
    bench.strand_the_first();
    bench.try_again(T / 2);
    bench.round(2, B, CREATED);

    bench.try_again(T / 2);
    assert_eq!(bench.newest(1), Request::Share { gone: Some(B), ttl: T });
    bench.round(2, B, CREATED);
    let place = bench.lease_asked_for(2);
    bench.answer(1, Answer::Shared { result: Ok(C) });
    let leases = Leases { place, companion: B, moves_to: Some(C) };
    assert_eq!(bench.newest(2), Request::KeepAlive { leases });
    bench.round(2, B, CREATED);
    bench.wrote(2, Outcome::Applied { revision: MOVED });
    // Until a read shows the companion on the new lease, the former lease is kept alive, and the first campaign waits.
    assert_eq!(bench.newest(2), Request::KeepAlive { leases });
    let certain = T + Duration::from_millis(500) + Duration::from_secs(2);
    bench.try_again(Duration::from_millis(1_500));
    assert_eq!(bench.closed, []);

    bench.round(2, C, MOVED);
    bench.try_again(T / 2);
    let leases = Leases { place, companion: C, moves_to: None };
    assert_eq!(bench.newest(2), Request::KeepAlive { leases });
    bench.round(2, C, MOVED);
    assert_eq!(bench.closed, []);
    bench.try_again(certain - T / 2);
    bench.reads_nothing(1);
    assert_eq!(bench.closed, [1]);
    assert!(leads(&bench), "the second campaign leads all the time");
    assert_eq!(bench.asked.iter().filter(|(id, request)| *id == 2 && is_share(request)).count(), 1);
}

#[test]
fn a_companion_whose_lease_no_campaign_keeps_alive_runs_out_at_once_and_no_later_one_is_put_on_it() {
    let mut bench = Bench::new();
    bench.give(Input::Command { id: 2, command: Command::Close });
    let lease = bench.lease_asked_for(2);
    bench.answer(2, Answer::Revoked { lease, result: Ok(()) });
    bench.strand_the_first();
    assert_eq!(bench.newest(1), Request::Share { gone: Some(B), ttl: T });
    bench.answer(1, Answer::Shared { result: Ok(C) });
    bench.try_again(T + Duration::from_millis(2_500));
    bench.reads_nothing(1);
    assert!(bench.closed.contains(&1));
}

fn is_share(request: &Request) -> bool {
    matches!(request, Request::Share { .. })
}

/// The time limit of a request.
const LIMIT: Duration = Duration::from_secs(2);

/// Creates leaders of `count` elections, with no requests in flight. Returns when their next rounds are due.
fn leaders(count: CampaignId) -> (Bench, Instant) {
    let mut bench = Bench::empty();
    for id in 1..=count {
        bench.enter(id);
        bench.inspected(id);
        let lease = bench.lease_asked_for(id);
        bench.answer(id, Answer::Granted { lease, result: Ok(T) });
        bench.answer(id, Answer::Shared { result: Ok(B) });
        bench.wrote(id, Outcome::Applied { revision: CREATED });
        bench.round(id, B, CREATED);
    }
    bench.asked.clear();
    let next = bench.now + T / 3;
    (bench, next)
}

/// The campaigns whose keep-alives left.
fn kept_alive(bench: &Bench) -> Vec<CampaignId> {
    let keep_alives = bench.asked.iter().filter(|(_, request)| matches!(request, Request::KeepAlive { .. }));
    keep_alives.map(|(id, _)| *id).collect()
}

fn granting(bench: &Bench) -> usize {
    bench.asked.iter().filter(|(_, request)| matches!(request, Request::Grant { .. })).count()
}

#[test]
fn as_many_candidates_ask_as_have_a_place_and_the_next_when_one_is_answered() {
    let mut bench = Bench::empty();
    (1..=2_500).for_each(|id| bench.enter(id));
    bench.inspected(1);
    assert_eq!(granting(&bench), 64);
    let lease = bench.lease_asked_for(1);
    let granted = Answer::Granted { lease, result: Ok(T) };
    bench.answer(1, granted.clone());
    // The candidate's request for the companions' lease needs no place, and an answer in time lets one more request be
    // sent.
    assert!(is_share(&bench.newest(1)));
    assert_eq!(granting(&bench), 66);
    bench.answer(1, granted);
    assert_eq!(granting(&bench), 66, "an answer counts once");
}

#[test]
fn where_no_candidate_is_answered_half_as_many_ask_in_each_time_limit() {
    let mut bench = Bench::empty();
    (1..=2_500).for_each(|id| bench.enter(id));
    bench.inspected(1);
    let asking = |bench: &Bench| bench.asked.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>().len();
    let asked = [Duration::ZERO, LIMIT, LIMIT, LIMIT, LIMIT].map(|span| {
        bench.sleep(span);
        asking(&bench)
    });
    assert_eq!(asked, [64, 64 + 32, 64 + 32 + 16, 64 + 32 + 16 + 8, 64 + 32 + 16 + 8 + 8]);
}

#[test]
fn what_a_candidate_has_begun_comes_before_what_others_begin() {
    let mut bench = Bench::empty();
    (1..=200).for_each(|id| bench.enter(id));
    bench.inspected(1);
    for id in [1, 2] {
        let lease = bench.lease_asked_for(id);
        bench.answer(id, Answer::Granted { lease, result: Ok(T) });
    }
    bench.answer(1, Answer::Shared { result: Ok(B) });
    bench.answer(2, Answer::Shared { result: Ok(B) });
    // Both campaigns wait for a place, and take the next two.
    for id in [3, 4] {
        let lease = bench.lease_asked_for(id);
        bench.answer(id, Answer::Granted { lease, result: Ok(T) });
    }
    assert!(matches!(bench.newest(1), Request::Write(_)) && matches!(bench.newest(2), Request::Write(_)));
    assert!(granting(&bench) < 100, "others wait for longer");
}

#[test]
fn the_rounds_of_many_are_spread_over_a_third_of_the_lease_and_those_of_few_fall_together() {
    let by_the_second = |count| {
        let (mut bench, _) = leaders(count);
        let second = |_| {
            bench.asked.clear();
            bench.sleep(Duration::from_secs(1));
            let kept = kept_alive(&bench);
            kept.iter().for_each(|id| bench.round(*id, B, CREATED));
            kept.len()
        };
        // Only the last ten seconds count, because the first campaigns entered when there were few others.
        (0..30).map(second).skip(20).collect::<Vec<_>>()
    };
    assert_eq!(by_the_second(63), [0, 0, 0, 0, 0, 0, 0, 0, 0, 63]);
    assert_eq!(by_the_second(100), [10; 10]);
}

#[test]
fn as_many_rounds_leave_as_there_are_places_and_each_that_ends_lets_the_next_one_leave() {
    let (mut bench, next) = leaders(100);
    bench.sleep(next.since(bench.now));
    // Campaigns that began when there were already many had their rounds due earlier.
    let in_order: Vec<_> = (64..100).chain(1..64).collect();
    assert_eq!(kept_alive(&bench), in_order[..64]);
    // The read takes the place of the keep-alives, and each answer that comes in time lets one more request be sent.
    bench.round(64, B, CREATED);
    assert_eq!(kept_alive(&bench)[64..], in_order[64..67]);
}

#[test]
fn the_lease_of_a_round_that_waited_counts_from_when_its_keep_alives_left() {
    let (mut bench, next) = leaders(65);
    bench.sleep(next.since(bench.now));
    assert!(!kept_alive(&bench).contains(&63));
    bench.sleep(LIMIT / 2);
    let left = bench.now;
    bench.round(64, B, CREATED);
    assert_eq!(kept_alive(&bench)[64], 63);
    bench.sleep(LIMIT / 2);
    let Some(Request::KeepAlive { leases }) = bench.of(63).last().cloned() else { panic!("keep-alives") };
    for lease in leases.iter() {
        let result = Ok(KeptAlive { ttl: T, raft_term: 2 });
        bench.answer(63, Answer::KeptAlive { lease, sent_at: left, result });
    }
    let Some(Request::Read { read, .. }) = bench.of(63).last().cloned() else { panic!("a read") };
    let snapshot = Box::new(alone(63, leases.place, B, CREATED));
    bench.answer(63, Answer::Read { read, sent_at: bench.now, result: Ok(snapshot) });
    let campaign = bench.session.campaign(63).expect("it runs");
    let deadline = campaign.lease().expect("it leads").deadline;
    assert_eq!(deadline, (left + T).before(campaign.margin()));
}

#[test]
fn rounds_leave_before_candidates_that_wait_to_enter() {
    let (mut bench, next) = leaders(100);
    bench.sleep(next.since(bench.now));
    (101..=110).for_each(|id| bench.enter(id));
    bench.inspected(101);
    assert_eq!(granting(&bench), 0);
    (1..=12).for_each(|id| bench.round(id, B, CREATED));
    assert_eq!((kept_alive(&bench).len(), granting(&bench)), (100, 0));
    (13..=16).for_each(|id| bench.round(id, B, CREATED));
    assert_eq!(granting(&bench), 10);
}

#[test]
fn a_time_limit_alone_asks_for_no_other_connection_where_the_store_answers_others() {
    let (mut bench, next) = leaders(2);
    bench.sleep(next.since(bench.now));
    bench.sleep(LIMIT - Duration::from_millis(1));
    bench.round(1, B, CREATED);
    bench.sleep(Duration::from_millis(1));
    assert_eq!(bench.reconnects, 0, "the second campaign's keep-alives are late");
    (0..20).for_each(|_| bench.sleep(LIMIT / 10));
    assert_eq!(bench.reconnects, 1, "no request was answered for a time limit");
}

#[test]
fn a_stream_of_keep_alives_that_is_silent_alone_is_replaced() {
    let (mut bench, next) = leaders(2);
    bench.sleep(next.since(bench.now));
    bench.sleep(LIMIT - Duration::from_millis(1));
    bench.round(1, B, CREATED);
    bench.sleep(Duration::from_millis(2));
    bench.enter(3);
    bench.inspected(3);
    bench.sleep(LIMIT / 2);
    let lease = bench.lease_asked_for(3);
    bench.answer(3, Answer::Granted { lease, result: Ok(T) });
    assert_eq!(bench.reconnects, 0);
    // The keep-alives were sent again, and then a request is answered that was sent a limit after the first
    // keep-alives.
    bench.sleep(LIMIT);
    assert_eq!(bench.reconnects, 1);
}

#[test]
fn a_campaign_that_nothing_is_answered_asks_once_for_each_thing_in_a_time_limit() {
    let mut bench = Bench::new();
    for id in [1, 2] {
        bench.wrote(id, Outcome::Applied { revision: CREATED });
        bench.round(id, B, CREATED);
    }
    for _ in 0..120 {
        bench.asked.clear();
        (0..20).for_each(|_| bench.sleep(Duration::from_millis(100)));
        let asked: Vec<_> = bench.asked.iter().map(|(id, request)| (*id, discriminant(request))).collect();
        let once: HashSet<_> = asked.iter().collect();
        assert_eq!(once.len(), asked.len(), "{:?}", bench.asked);
    }
}
