//! A host that stalls.

use std::time::Duration;

use incumbent::incumbent_core::Instant;
use incumbent::{Clock, Reason};

use crate::support::*;

#[tokio::test]
async fn a_leader_whose_host_stood_still_for_a_lease_leads_no_more_before_anything_runs() {
    let clock = Clock::manual(Instant::ZERO + Duration::from_secs(3_600));
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    let mut leader = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.unwrap();
    // A store without ages is trusted after a watch of one lease.
    let driving = clock.clone();
    let drive = tokio::spawn(async move {
        loop {
            driving.advance(Duration::from_millis(20));
            // Lets the tasks that wait for the clock run.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    won(&mut leader).await;
    drive.abort();
    let _ = drive.await;
    assert!(leader.is_leader());
    clock.advance(Duration::from_secs(2));
    assert!(!leader.is_leader(), "no task ran in between");
    assert_eq!(lost(&mut leader).await, Reason::Expired);
}
