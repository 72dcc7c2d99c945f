//! Short scripts for a session whose requests have to wait because the store accepts few at a time.

#![allow(clippy::expect_used, reason = "the lines above say why")]

use std::time::Duration;

use incumbent_core::campaign::{Event, ReadId, Request, Settings, Warning};
use incumbent_core::record::{Attempt, Entry, Nonce};
use incumbent_core::session::{CampaignId, Enter, Input, Output, Session};
use incumbent_core::store::{Action, Capabilities, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use incumbent_sim::{Course, Overload, Store};

const LEASE: Duration = Duration::from_secs(30);
/// The time that an answer takes.
const ANSWER: Duration = Duration::from_millis(20);
/// The number of requests that the store accepts at a time.
const WINDOW: u64 = 8;

/// A session with a thousand elections gets a tenth of its processor, or a store that answers more slowly than renewals
/// become due. It keeps all elections, over a single connection. With half the processor, or with a store half as fast,
/// it keeps as many elections as it has time for, and soon leads all of them again after the overload.
pub(crate) fn little_time() -> bool {
    let little = Overload {
        elections: 1_000,
        lease: Duration::from_secs(6),
        lasts: Duration::from_secs(40),
        share: 10,
        slower: 1,
    };
    let kept = |course: Course| course.fewest == 1_000 && course.reconnects == 0;
    // A third of the lease's time is enough for this many renewals.
    let kept_some = |course: Course| course.fewest >= 250 && course.reconnects == 0 && course.lost_later == 0;
    let holds = |overload: Overload, is_well: &dyn Fn(Course) -> bool| {
        overload.run(Store::Nats, 1).is_ok_and(is_well)
    };
    holds(little, &kept)
        && holds(Overload { share: 100, slower: 400, ..little }, &kept)
        && holds(Overload { share: 5, ..little }, &kept_some)
        && holds(Overload { share: 100, slower: 800, ..little }, &kept_some)
}

/// The same as [`little_time`] in queues. There a round takes half as much work again as a renewal, and twice as many
/// requests.
pub(crate) fn little_time_in_queues() -> bool {
    let little = Overload {
        elections: 1_000,
        lease: Duration::from_secs(6),
        lasts: Duration::from_secs(40),
        share: 15,
        slower: 1,
    };
    let kept = |course: Course| course.fewest == 1_000 && course.reconnects == 0;
    let kept_some = |course: Course| course.fewest >= 330 && course.reconnects == 0 && course.lost_later == 0;
    let holds = |overload: Overload, is_well: &dyn Fn(Course) -> bool| {
        overload.run(Store::Etcd, 1).is_ok_and(is_well)
    };
    holds(little, &kept)
        && holds(Overload { share: 100, slower: 200, ..little }, &kept)
        && holds(Overload { share: 10, ..little }, &kept_some)
        && holds(Overload { share: 100, slower: 400, ..little }, &kept_some)
}

/// A renewal has to wait until its answer would come too late. Then the session sends it anyway, because no other
/// request waits.
pub(crate) fn a_last_renewal() -> bool {
    let mut bench = Bench::new();
    bench.leads(1);
    let lease = bench.session.campaign(1).and_then(|campaign| campaign.lease());
    let Some(deadline) = lease.map(|lease| lease.deadline) else { return false };
    let asked: Vec<_> = (2..2 + WINDOW).filter_map(|id| bench.enter(id)).collect();
    bench.now = deadline.before(ANSWER + ANSWER / 2);
    // Their reads have all places.
    asked.into_iter().for_each(|number| bench.inspected(number));
    bench.now = deadline.before(ANSWER / 2);
    let denied = Fault { kind: FaultKind::Denied, detail: "denied".into() };
    bench.handle(Input::read(2, ReadId(1), Err(denied))).iter().any(|output| {
        let renewal =
            |request: &Request| matches!(request, Request::Write(Write { action: Action::Renew(_), .. }));
        matches!(output, Output::Ask { id: 1, request, .. } if renewal(request))
    })
}

/// A renewal is applied, and its answer comes after its time limit. The lease still counts from the time at which the
/// renewal was sent.
pub(crate) fn a_late_answer() -> bool {
    let mut bench = Bench::new();
    bench.leads(1);
    bench.now = bench.now + LEASE / 3;
    bench.handle(Input::Tick);
    let sent = bench.now;
    bench.now = sent + LEASE / 6;
    bench.handle(Input::Tick);
    bench.applied(1, 2);
    let campaign = bench.session.campaign(1);
    campaign.is_some_and(|campaign| {
        let deadline = campaign.lease().map(|lease| lease.deadline);
        deadline == Some((sent + LEASE).before(campaign.margin()))
    })
}

/// Four renewals have to wait for a third of their lease. Their candidates report that a single time.
pub(crate) fn an_overload() -> bool {
    let mut bench = Bench::new();
    (1..=WINDOW + 4).for_each(|id| bench.leads(id));
    bench.now = bench.now + LEASE / 3 * 2;
    let mut outputs = bench.handle(Input::Tick);
    bench.now = bench.now + ANSWER;
    outputs.extend(bench.handle(Input::Tick));
    let reports = outputs.iter().map(|output| match output {
        Output::Report { events, .. } => events.iter().filter(|event| is_overload(event)).count(),
        _ => 0,
    });
    reports.sum::<usize>() == 4
}

fn is_overload(event: &Event) -> bool {
    matches!(event, Event::Warning(Warning::Overloaded { .. }))
}

struct Bench {
    session: Session,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let store = Capabilities {
            own_lease: false,
            lease_step: Duration::ZERO,
            shortest: Duration::from_secs(1),
            longest: Duration::MAX,
            granularity: Duration::ZERO,
            expiry_pushed: false,
            incarnation_acked: true,
            watch_shows_all: false,
            window: WINDOW as u32,
            fail_over: Duration::ZERO,
        };
        Self { session: Session::new(store), now: Instant::ZERO + Duration::from_secs(3_600) }
    }

    fn handle(&mut self, input: Input) -> Vec<Output> {
        // The script answers only what the session asked, so the input is valid. A panic would not be a verdict.
        self.session.handle(self.now, input).expect("it keeps the contract");
        let next = || match self.session.poll() {
            Output::WakeAt(_) => None,
            output => Some(output),
        };
        std::iter::from_fn(next).collect()
    }

    /// Lets a candidate enter an election of its own. It campaigns once the store has been inspected. Returns the
    /// inspection's number.
    fn enter(&mut self, id: CampaignId) -> Option<u64> {
        let settings = Settings { splay: Some(Duration::ZERO), lease: Some(LEASE), ..Settings::new("me") };
        let (election, nonce) = (format!("election-{id}").into(), Nonce(id.into()));
        let enter = Enter { id, election, settings, nonce, seed: id, fail_fast: false };
        self.handle(Input::Enter(Box::new(enter))).into_iter().find_map(|output| match output {
            Output::Inspect { number, .. } => Some(number),
            _ => None,
        })
    }

    fn inspected(&mut self, number: u64) {
        let info = StoreInfo {
            asked_at: self.now,
            incarnation: Incarnation(7),
            age: Some(LEASE * 1_000),
            never_used: false,
            max_age: Some(LEASE),
            newest: None,
        };
        self.handle(Input::Inspected { number, result: Ok(info) });
    }

    /// A candidate enters and acquires.
    fn leads(&mut self, id: CampaignId) {
        self.enter(id).into_iter().for_each(|number| self.inspected(number));
        self.handle(Input::read(id, ReadId(1), Ok(Entry::Vacant)));
        self.now = self.now + ANSWER;
        self.applied(id, 1);
    }

    /// Acknowledges the candidate's write of this attempt as applied.
    fn applied(&mut self, id: CampaignId, attempt: u64) {
        let revision = Revision(4 + attempt);
        let outcome = Outcome::Applied { revision, incarnation: Some(Incarnation(7)) };
        self.handle(Input::wrote(id, Attempt(attempt), outcome));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn where_nothing_is_broken_the_rules_hold() {
        assert!(super::a_last_renewal());
        assert!(super::a_late_answer());
        assert!(super::an_overload());
        assert!(super::little_time());
        assert!(super::little_time_in_queues());
    }
}
