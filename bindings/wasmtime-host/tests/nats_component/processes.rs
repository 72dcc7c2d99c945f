//! Four kinds of candidates in one election, each in processes of its own, which are killed or asked to leave.
//!
//! Each process records when it led by its own answers, on a clock that all of them share. The test merges and checks
//! the records when all processes have ended.

mod contender;
mod roles;

use std::time::Duration;

use incumbent_rig::check::{disorder, overlaps};
use incumbent_testkit::wait;

use crate::server;
use contender::{Contender, Exit, Kind};

/// The longest that any step may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
#[ignore = "it needs the wheel and the npm package: `cargo xtask test component` builds them and runs it"]
fn components_the_command_line_python_and_node_never_lead_together() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_server, url) = runtime.block_on(server());
    let kinds = Kind::at_hand();
    let mut gone = Vec::<Contender>::new();
    let mut last = String::new();
    // Every kind wins once in each round: the winner leaves, and its successor is of another kind.
    for exit in [Exit::Killed, Exit::Terminated] {
        let mut racing: Vec<_> = kinds.iter().map(|kind| Contender::start(*kind, exit, &url)).collect();
        racing.iter().for_each(|contender| contender.await_ready(LIMIT));
        while !racing.is_empty() {
            let leads = || racing.iter().position(|one| one.leads().is_some_and(|token| token > last));
            let place = wait::until_some("a leader with a larger token", LIMIT, leads);
            let mut leader = racing.remove(place);
            leader.leave(exit, LIMIT);
            last = leader.tokens().pop().unwrap();
            gone.push(leader);
        }
    }
    let history: Vec<_> = gone.iter().flat_map(Contender::leaderships).collect();
    assert_eq!(overlaps(&history), [], "two led at once");
    assert_eq!(disorder(&history), [], "a token does not grow");
    let wins = |one: &&Contender| !one.tokens().is_empty();
    assert_eq!(gone.iter().filter(wins).count(), 2 * kinds.len(), "each has led");
}
