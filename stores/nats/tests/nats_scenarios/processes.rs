//! A leader hands over to another process, and processes are listed as candidates.

use std::time::Duration;

use incumbent::Token;
use incumbent_rig::candidate::Order;
use incumbent_testkit::wait;

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::probe::last_led;
use crate::process::{Process, never_two_processes, next_leader};

/// The time for which candidates hold back for the successor that a release names.
const HOLD_BACK: Duration = Duration::from_secs(1);

/// The leader hands over to a named process: that process succeeds, and no other candidate does.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_to_the_process_it_names() {
    let bench = Bench::start(LONG).await;
    let start = |name| Process::start(&bench.server.url(), name, LONG);
    let mut all = vec![start("a")];
    let (first, _) = all[0].won(None);
    all.extend(["b", "c", "d"].map(start));
    bench.watched_by(4);

    let second = hands_over(&mut all, 0, 1, first);
    assert_eq!(all[0].lost().0, "HANDED_OVER");
    let third = hands_over(&mut all, 1, 0, second);
    assert_eq!(all[1].lost().0, "HANDED_OVER");
    assert!(third > second && second > first);
    never_two_processes(&all.iter().collect::<Vec<_>>());
}

/// Makes the leader hand over until `to` leads, and returns its token. Other candidates hold back only for a moment,
/// which the successor may miss on a busy machine. In that case the candidate that leads instead is asked to hand over.
fn hands_over(all: &mut [Process], from: usize, to: usize, token: Token) -> Token {
    let successor = all[to].name.clone();
    let (mut leader, mut token) = (from, token);
    loop {
        all[leader].order(&Order::HandOver { key: KEY.into(), to: successor.clone() });
        let (next, won, started) = next_leader(&all.iter().collect::<Vec<_>>(), token);
        if next == to {
            return won;
        }
        let vacant = started.since(last_led(&all[leader].terms()));
        assert!(vacant >= HOLD_BACK, "{} did not hold back: vacant for {vacant:?}", all[next].name);
        (leader, token) = (next, won);
    }
}

/// A request for candidates lists only those that can answer: candidates that are neither killed nor stopped.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_are_listed_as_long_as_they_can_answer() {
    let bench = Bench::start(LONG).await;
    let aside = open(&bench.server.url(), LONG).await;
    let until_told = async |expected: &[&str]| {
        wait::until_async(&format!("the candidates {expected:?}"), TIME_LIMIT, async || {
            let reported = aside.candidates(KEY).await.expect("the bucket can be asked");
            let mut names: Vec<_> = reported.expect("we may ask").into_iter().map(|one| one.name).collect();
            names.sort();
            names == expected
        })
        .await;
    };
    let start = |name| Process::start(&bench.server.url(), name, LONG);
    let (mut a, b) = (start("a"), start("b"));
    until_told(&["a", "b"]).await;
    b.child.pause();
    until_told(&["a"]).await;
    b.child.resume();
    until_told(&["a", "b"]).await;
    a.kill();
    until_told(&["b"]).await;
}
