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
/// The first lease of the companions, and the next.
const B: LeaseId = LeaseId::of_companions(2, 0xb);
const C: LeaseId = LeaseId::of_companions(2, 0xc);
const CREATED: Revision = Revision(10);
const MOVED: Revision = Revision(20);

/// A session of two campaigns, each alone in its election. What they ask for is kept until it is answered.
struct Bench {
    session: Session<Queue>,
    now: Instant,
    asked: Vec<(CampaignId, Request)>,
    closed: Vec<CampaignId>,
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
        Self { session: Session::new(store), now, asked: Vec::new(), closed: Vec::new() }
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

    /// The candidate's keep-alives are answered, and the read that follows shows its companion on this lease.
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

    /// The first campaign is closed, and its companion, which it may have created, cannot be deleted.
    fn strand_the_first(&mut self) {
        self.wrote(1, Outcome::Failed(Failure::Unknown));
        self.give(Input::Command { id: 1, command: Command::Close });
        let lease = self.lease_asked_for(1);
        self.answer(1, Answer::Revoked { lease, result: Ok(()) });
        self.wrote(1, denied());
        self.wrote(1, denied());
    }

    /// A read of whether its companion is still there is denied.
    fn reads_nothing(&mut self, id: CampaignId) {
        let Request::Read { read, .. } = self.newest(id) else { panic!("it reads nothing") };
        let Outcome::Failed(failure) = denied() else { panic!("it is denied") };
        self.answer(id, Answer::Read { read, sent_at: self.now, result: Err(failure) });
    }

    /// The first campaign tries to delete its companion again.
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
    // Until a read shows it there, the former lease is kept alive, and the first campaign waits.
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
    assert!(leads(&bench), "and the second one leads all along");
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

#[test]
fn of_very_many_candidates_a_thousand_ask_at_once_and_the_next_when_these_are_answered() {
    let mut bench = Bench::empty();
    (1..=2_500).for_each(|id| bench.enter(id));
    bench.inspected(1);
    assert_eq!(bench.asked.len(), 1_000);
    let lease = bench.lease_asked_for(1);
    let granted = Answer::Granted { lease, result: Ok(T) };
    bench.answer(1, granted.clone());
    let asking = |bench: &Bench| bench.asked.iter().filter(|(id, _)| *id > 1_000).count();
    assert_eq!(asking(&bench), 1);
    bench.answer(1, granted);
    assert_eq!(asking(&bench), 1, "an answer counts once");
    // One that leaves without an answer lets another ask as well.
    bench.give(Input::Command { id: 2, command: Command::Close });
    assert_eq!(asking(&bench), 2);
}

#[test]
fn where_no_candidate_is_answered_a_thousand_more_ask_each_second() {
    let mut bench = Bench::empty();
    (1..=2_500).for_each(|id| bench.enter(id));
    bench.inspected(1);
    let asking = |bench: &Bench| bench.asked.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>().len();
    bench.sleep(Duration::from_secs(1));
    assert_eq!(asking(&bench), 2_000);
    bench.sleep(Duration::from_secs(1));
    assert_eq!(asking(&bench), 2_500);
}

/// No window bounds what campaigns in queues ask; each has few requests under way at a time.
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
