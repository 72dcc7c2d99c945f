//! The acceptance test of the Go library nats-kv-leader-elect, as a scenario.

use std::time::Duration;

use futures_util::future::join_all;
use incumbent::incumbent_core::{Incarnation, Revision};
use incumbent::store::StoreAdmin;
use incumbent::{Reason, Token};

use crate::actor::Actor;
use crate::bench::*;
use crate::probe::Probe;

const LEASE: Duration = Duration::from_millis(750);
const FAULT_EVERY: Duration = Duration::from_millis(150);
const FOR: Duration = Duration::from_secs(15);
/// The longest time until there have been enough wins and losses, on a machine that stalls occasionally.
const LONGEST: Duration = Duration::from_secs(90);
/// The least number of wins, and of losses, that the faults must cause.
const ENOUGH: usize = 5;
/// A second election in the same bucket, which stays undisturbed.
const BESIDE: &str = "beside";

/// The key of ten candidates is deleted or overwritten again and again. They elect, lose and elect again, and no two
/// ever lead at once. The second election loses no term to that.
#[tokio::test(flavor = "multi_thread")]
async fn ten_candidates_under_constant_faults_never_lead_at_once() {
    let bench = Bench::start(LEASE).await;
    let names: Vec<_> = (0..10).map(|n| format!("candidate-{n}")).collect();
    let ten = join_all(names.iter().map(|name| bench.join(name))).await;
    let two = join_all(["beside-0", "beside-1"].map(|name| bench.join_in(BESIDE, name))).await;
    let (ten, two): (Vec<_>, Vec<_>) = (ten.iter().collect(), two.iter().collect());
    let (of_ten, of_two) = (Probe::of(&ten), Probe::of(&two));
    let nothing = Token { incarnation: Incarnation(0), sequence: Revision(0) };
    let (beside, _) = crate::actor::next_leader(&two, nothing).await;

    let faults = make_faults(&bench, &ten).await;

    of_ten.verdict();
    of_two.verdict();
    let wins: usize = ten.iter().map(|actor| actor.wins().len()).sum();
    let losses: Vec<_> = ten.iter().flat_map(|actor| actor.losses()).map(|lost| lost.reason).collect();
    assert!(
        wins >= ENOUGH && losses.len() >= ENOUGH,
        "{wins} wins and {} losses of {faults} faults",
        losses.len()
    );
    // Such a short lease also runs out if the machine stalls for half a second, in either election.
    let is_lawful = |reason: &Reason| matches!(reason, Reason::Usurped | Reason::Deleted | Reason::Expired);
    assert!(losses.iter().all(is_lawful), "{losses:?}");
    let losses: Vec<_> = two.iter().flat_map(|actor| actor.losses()).map(|lost| lost.reason).collect();
    assert!(losses.iter().all(|reason| *reason == Reason::Expired), "{losses:?}");
    assert!(!losses.is_empty() || two[1 - beside].wins().is_empty(), "two won, and none lost");
}

/// Makes a fault every 150 ms while there is a leader: of three faults, two overwrite the key and the third deletes it.
async fn make_faults(bench: &Bench, candidates: &[&Actor]) -> usize {
    let begun = now();
    let is_enough = || {
        let wins = candidates.iter().map(|actor| actor.wins().len()).sum::<usize>();
        let losses = candidates.iter().map(|actor| actor.losses().len()).sum::<usize>();
        wins >= ENOUGH && losses >= ENOUGH
    };
    let mut faults = 0;
    let mut ticks = tokio::time::interval(FAULT_EVERY);
    while now() < begun + FOR || (!is_enough() && now() < begun + LONGEST) {
        ticks.tick().await;
        if !candidates.iter().any(|actor| actor.candidate.is_leader()) {
            continue;
        }
        faults += 1;
        if faults % 3 == 0 {
            bench.operator.delete(KEY).await.unwrap();
        } else {
            bench.operator.put(KEY, b"an operator").await.unwrap();
        }
    }
    faults
}
