//! Tests how much memory an election uses, by counting allocations. `cargo xtask test core` counts instructions, with
//! the program [`steps`](steps.rs).

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod store;

use std::cell::Cell;
use std::time::Duration;

use allocation_counter::AllocationInfo;
use incumbent_core::campaign::Campaign;
use incumbent_core::session::Command;
use store::Bench;

/// The budgets, each the largest allowed count. Lower a budget when its cost has fallen.
mod budget {
    /// The allocations of a whole campaign that enters, wins, renews ten times, resigns, and is closed.
    pub const CAMPAIGN: u64 = 116;
    /// The bytes of those allocations.
    pub const CAMPAIGN_BYTES: u64 = 13_148;
    /// The allocations of one renewal and of its watch event.
    pub const RENEWAL: u64 = 7;
    /// The allocations of a waiting candidate, per renewal of the leader.
    pub const WAITING: u64 = 0;
    /// The size of a campaign, without its texts, in bytes.
    pub const SIZE: usize = 1_168;
    /// The bytes that a session keeps for each campaign that leads.
    pub const LEADING_BYTES: u64 = 1_630;
    /// The bytes that a session keeps for each campaign that waits while another program leads.
    pub const WAITING_BYTES: u64 = 1_510;
}

/// The number of renewals that are counted.
const RENEWALS: u64 = 10;
/// The number of campaigns in a session whose memory is measured.
const CAMPAIGNS: u64 = 1_000;
/// The time between two renewals of another program, which is a third of the lease.
const BETWEEN: Duration = Duration::from_secs(10);

thread_local! {
    /// What the session has allocated.
    static SPENT: Cell<AllocationInfo> = Cell::default();
}

/// Counts what the session allocates.
fn counted(work: &mut dyn FnMut()) {
    let info = allocation_counter::measure(work);
    let mut spent = SPENT.get();
    spent += info;
    SPENT.set(spent);
}

/// The allocations of the session while `work` runs.
fn spent(work: impl FnOnce()) -> AllocationInfo {
    SPENT.set(AllocationInfo::default());
    work();
    SPENT.get()
}

#[track_caller]
fn within(budget: &str, limit: u64, count: u64) {
    println!("{budget}: {count} of {limit}");
    assert!(count <= limit, "{budget} is {limit}, and {count} were counted");
}

#[test]
fn a_whole_campaign_allocates_no_more_than_its_budget() {
    let mut bench = Bench::new(counted);
    let info = spent(|| {
        bench.enter(1, "jobs");
        bench.win(1);
        (0..RENEWALS).for_each(|_| bench.renew(1));
        bench.command(1, Command::Resign);
        assert!(!bench.leads(1));
        bench.command(1, Command::Close);
    });
    assert!(!bench.session.is_contested("jobs"), "it is over");
    within("CAMPAIGN", budget::CAMPAIGN, info.count_total);
    within("CAMPAIGN_BYTES", budget::CAMPAIGN_BYTES, info.bytes_total);
}

#[test]
fn a_leader_at_rest_allocates_no_more_than_its_budget_for_a_renewal_and_keeps_nothing() {
    let mut bench = Bench::new(counted);
    bench.enter(1, "jobs");
    bench.win(1);
    (0..RENEWALS).for_each(|_| bench.renew(1));
    for _ in 0..RENEWALS {
        let mut info = AllocationInfo::default();
        let all = allocation_counter::measure(|| info = spent(|| bench.renew(1)));
        within("RENEWAL", budget::RENEWAL, info.count_total);
        assert_eq!((all.count_current, all.bytes_current), (0, 0), "a renewal leaves nothing behind");
    }
}

#[test]
fn a_waiting_candidate_at_rest_allocates_no_more_than_its_budget_for_a_renewal_and_keeps_nothing() {
    let mut bench = Bench::new(counted);
    bench.foreign("jobs");
    bench.enter(1, "jobs");
    let renewed = |bench: &mut Bench| {
        bench.pass(BETWEEN);
        bench.foreign("jobs");
    };
    (0..RENEWALS).for_each(|_| renewed(&mut bench));
    for _ in 0..RENEWALS {
        let mut info = AllocationInfo::default();
        let all = allocation_counter::measure(|| info = spent(|| renewed(&mut bench)));
        assert!(!bench.leads(1), "another program leads");
        within("WAITING", budget::WAITING, info.count_total);
        assert_eq!((all.count_current, all.bytes_current), (0, 0), "a renewal leaves nothing behind");
    }
}

#[test]
fn a_campaign_is_no_larger_than_its_budget() {
    within("SIZE", budget::SIZE as u64, size_of::<Campaign>() as u64);
}

#[test]
fn a_session_keeps_no_more_for_each_campaign_than_its_budget() {
    let elections: Vec<String> = (0..CAMPAIGNS).map(|id| format!("election-{id}")).collect();
    for (name, limit, leads) in
        [("LEADING_BYTES", budget::LEADING_BYTES, true), ("WAITING_BYTES", budget::WAITING_BYTES, false)]
    {
        let mut session = None;
        let info = allocation_counter::measure(|| {
            let mut bench = Bench::new(|work| work());
            for (id, election) in (0..).zip(&elections) {
                if !leads {
                    bench.foreign(election);
                }
                bench.enter(id, election);
                if leads {
                    bench.win(id);
                }
            }
            assert!((0..CAMPAIGNS).all(|id| bench.leads(id) == leads));
            // Without the store.
            session = Some(bench.session);
        });
        let bytes = u64::try_from(info.bytes_current).expect("the session is still there");
        within(name, limit, bytes / CAMPAIGNS);
        drop(session);
    }
}
