//! Rebalances, protocols, static ids, and goNELI's heartbeats.

use std::time::{Duration, Instant};

use incumbent::{Event, Reason};
use tokio::task::block_in_place;
use tokio::time::timeout;

use crate::support::{LIMIT, LONG, brief, broker, election, leaders, lost, next_term, open, options, until};

#[tokio::test]
async fn a_revocation_waits_for_the_work_while_the_lease_is_renewed() {
    let (broker, jobs) = (broker(), election("drain"));
    // The eager assignors revoke the leader's partition whenever a member joins.
    let (one, other) =
        (open(&broker.address(), "?goneli=true").await, open(&broker.address(), "?goneli=true").await);
    let ada = one.campaign(&jobs, options("ada")).await.unwrap();
    let term = next_term(&ada).await;
    let hold = term.hold();
    let mut events = ada.events();
    let ben = other.campaign(&jobs, options("ben")).await.unwrap();
    let draining = async {
        loop {
            if let Some(Event::Draining { reason, .. }) = events.next().await {
                return reason;
            }
        }
    };
    assert_eq!(timeout(LIMIT, draining).await.unwrap(), Reason::Revoked);
    let before = term.deadline();
    until("the lease is renewed while the work drains", async || term.deadline() > before).await;
    assert!(ada.is_leader() && !ben.is_leader());
    hold.drained();
    term.drained();
    drop((hold, term));
    until("one of them leads", async || ada.is_leader() || ben.is_leader()).await;
}

#[tokio::test]
async fn the_consumer_protocol_elects_and_hands_on() {
    let (broker, jobs) = (broker(), election("kip848"));
    let (one, other) = (
        open(&broker.address(), "?protocol=consumer").await,
        open(&broker.address(), "?protocol=consumer").await,
    );
    let ada = one.campaign(&jobs, options("ada")).await.unwrap();
    let first = next_term(&ada).await.token();
    let ben = other.campaign(&jobs, options("ben")).await.unwrap();
    until("both are members", async || other.candidates(&jobs).await.unwrap().unwrap().len() == 2).await;
    assert!(ada.is_leader());
    let began = Instant::now();
    timeout(LIMIT, one.close()).await.unwrap().unwrap();
    assert!(next_term(&ben).await.token() > first);
    assert!(began.elapsed() < LONG, "the next term waited for a session: {:?}", began.elapsed());
}

#[tokio::test]
async fn of_two_processes_with_one_static_id_one_is_put_out_with_the_reason() {
    for parameters in ["?instance_id=same", "?instance_id=same&protocol=consumer"] {
        let (broker, jobs) = (broker(), election("static"));
        let (one, other) =
            (open(&broker.address(), parameters).await, open(&broker.address(), parameters).await);
        let ada = one.campaign(&jobs, brief("ada")).await.unwrap();
        drop(next_term(&ada).await);
        let (mut of_ada, mut warned) = (ada.events(), None);
        let ben = other.campaign(&jobs, brief("ben")).await.unwrap();
        let mut of_ben = ben.events();
        let warning = async {
            while warned.is_none() {
                let event = tokio::select! {
                    event = of_ada.next() => event,
                    event = of_ben.next() => event,
                };
                if let Some(Event::Warning(warning)) = event {
                    warned = Some(warning.to_string()).filter(|text| text.contains("group.instance.id"));
                }
            }
        };
        timeout(LIMIT, warning).await.unwrap_or_else(|_| panic!("no warning with {parameters}"));
        until("one of them leads", async || leaders([&ada, &ben].into_iter()) == 1).await;
    }
}

#[tokio::test]
async fn a_win_waits_for_gonelis_lease_after_its_last_heartbeat() {
    let (broker, jobs) = (broker(), election("goneli"));
    let topic = format!("{jobs}.neli");
    broker.admin().create_topic(&topic, "1", &[]);
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, brief("ada")).await.unwrap();
    drop(next_term(&ada).await);
    // A removed goNELI leader keeps writing, which changes nothing for the owner.
    broker.admin().append(&topic, "1598000000000000000%gopher", &[]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(ada.is_leader());
    timeout(LIMIT, ada.close()).await.unwrap().unwrap();
    broker.admin().append(&topic, "1598000000000000000%gopher", &[]);
    let written = Instant::now();
    let ben = store.campaign(&jobs, brief("ben")).await.unwrap();
    drop(next_term(&ben).await);
    // The wait is goNELI's heartbeat timeout, because the candidate read no earlier record.
    assert!(written.elapsed() >= Duration::from_secs(5), "{:?}", written.elapsed());
}

#[tokio::test]
async fn a_member_that_an_operator_removes_loses_its_term_and_wins_again_with_a_larger_token() {
    let (broker, jobs) = (broker(), election("removed"));
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, options("ada")).await.unwrap();
    let first = next_term(&ada).await;
    let mut events = ada.events();
    let (admin, group) = (broker.admin(), jobs.clone());
    let removed = tokio::task::spawn_blocking(move || {
        let owner = admin.owner(&group, 1);
        admin.remove(&group, &owner.id);
    });
    removed.await.unwrap();
    // Either the removed member's next commit is refused, or its client notices the removal first.
    assert_eq!(lost(&mut events).await, Reason::Revoked);
    assert!(next_term(&ada).await.token() > first.token());
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_are_added_to_the_topic_end_no_term_and_elect_no_second_leader() {
    let (broker, jobs) = (broker(), election("partitions"));
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, options("ada")).await.unwrap();
    let term = next_term(&ada).await;
    block_in_place(|| broker.admin().add_partitions(&format!("{jobs}.neli"), 3));
    let eve = store.campaign(&jobs, options("eve")).await.unwrap();
    let members = async || store.candidates(&jobs).await.ok().flatten().unwrap_or_default().len();
    until("both are members", async || members().await == 2).await;
    let proven = term.deadline();
    until("the lease is renewed", async || term.deadline() > proven).await;
    assert!(ada.is_leader() && !eve.is_leader());
    drop(term);
    timeout(LIMIT, ada.close()).await.unwrap().unwrap();
    drop(next_term(&eve).await);
}
