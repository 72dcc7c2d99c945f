//! Leases and events are emitted before the requests that follow from them.

use incumbent_core::Revision;
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::session::{Command, Input};
use incumbent_core::store::Outcome;

use crate::harness::{Bench, secs};

#[test]
fn a_win_is_reported_with_its_lease() {
    let mut bench = Bench::with_a_candidate();
    bench.read(1, 1, Entry::Vacant);
    bench.tick_at_next();
    let applied = Outcome::Applied { revision: Revision(5), incarnation: None };
    let outputs = bench.give(Input::wrote(1, Attempt(1), applied));
    assert_eq!(outputs, ["1: led by c1, holding", "inspect 2 within 2s"]);
    assert_eq!(bench.inspected(2), ["1 leads: won, leading"]);
}

#[test]
fn a_renewal_is_reported_as_a_lease_without_events() {
    let mut bench = Bench::with_a_leader();
    bench.tick_at_next();
    let applied = Outcome::Applied { revision: Revision(6), incarnation: None };
    bench.inspected(3);
    assert_eq!(bench.give(Input::wrote(1, Attempt(2), applied)), ["1 leads: "]);
}

#[test]
fn a_term_is_lost_before_its_release_is_sent() {
    let mut bench = Bench::with_a_leader();
    assert_eq!(bench.command(1, Command::Resign), ["1 leads: draining (resigned), draining"]);
    assert_eq!(
        bench.command(1, Command::Drained),
        ["1: lost (resigned), releasing", "1 release 2 over 5 within 30s"]
    );
}

#[test]
fn a_closed_campaign_is_over_once_its_release_is_answered() {
    let mut bench = Bench::with_a_leader();
    bench.command(1, Command::Close);
    bench.command(1, Command::Drained);
    let applied = Outcome::Applied { revision: Revision(6), incarnation: None };
    assert_eq!(
        bench.give(Input::wrote(1, Attempt(2), applied)),
        ["1: closed", "1 campaigns no longer", "1 closed"]
    );
    assert!(!bench.session.is_contested("jobs"));
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.after(secs(60)), [""; 0]);
}
