//! One watch for all elections, numbered.

use incumbent_core::record::Entry;
use incumbent_core::session::{Command, Input, Scope, Timer};
use incumbent_core::store::StoreInfo;
use incumbent_core::{Incarnation, Revision};

use crate::harness::{Bench, foreign, ms, secs};

fn deleted(revision: u64) -> Entry {
    Entry::Deleted { revision: Revision(revision), lease: None }
}

#[test]
fn one_watch_serves_all_campaigns_and_observers() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Observe), ["watch 1 within 5s"]);
    assert_eq!(bench.give(Input::Observe), [""; 0]);
    assert_eq!(bench.enter(1, "jobs"), ["inspect 1 within 2s"]);
}

#[test]
fn what_a_watch_shows_of_a_key_is_for_the_campaigns_in_that_election() {
    let mut bench = Bench::with_a_candidate();
    bench.enter(2, "mail");
    bench.inspected(2);
    bench.enter(3, "jobs");
    bench.inspected(3);
    assert_eq!(bench.watched(1, "jobs", foreign(4)), ["1: led by other", "3: led by other"]);
    assert_eq!(bench.watched(1, "other", foreign(5)), [""; 0]);
}

#[test]
fn what_a_watch_that_is_not_ready_shows_counts_for_nothing() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    bench.inspected(1);
    assert_eq!(bench.watched(1, "jobs", foreign(4)), [""; 0]);
}

#[test]
fn a_campaign_that_enters_with_a_new_watch_acquires_without_a_read_once_all_is_shown() {
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.enter(2, "mail");
    assert_eq!(bench.inspected(1), ["1 entered", "1: ", "2 entered", "2: "]);
    bench.watching(1);
    bench.watched(1, "mail", foreign(4));
    assert_eq!(
        bench.give(Input::WatchedAll { number: 1, of: Scope::All }),
        [
            "1: acquiring",
            "1 acquire 1 over absent within 30s",
            "1 campaigns",
            "register within 5s",
            "2: waiting",
            "2 campaigns",
        ]
    );
}

#[test]
fn a_campaign_that_enters_after_all_was_shown_reads_its_key_where_anything_was_shown_of_it() {
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.give(Input::Observe);
    bench.watching(1);
    bench.watched(1, "jobs", foreign(4));
    bench.give(Input::WatchedAll { number: 1, of: Scope::All });
    bench.watched(1, "mail", foreign(5));
    for (id, election) in [(1, "jobs"), (2, "mail"), (3, "cron")] {
        bench.enter(id, election);
    }
    let asked: Vec<_> = bench
        .inspected(1)
        .into_iter()
        .filter(|output| output.ends_with("within 10s") || output.contains("acquire "))
        .collect();
    assert_eq!(asked, ["1 read 1 within 10s", "2 read 1 within 10s", "3 acquire 1 over absent within 30s"]);
}

#[test]
fn a_campaign_waits_until_the_watch_has_shown_its_own_election() {
    let these = |elections: &[&str]| {
        let of = Scope::Elections(elections.iter().map(ToString::to_string).collect());
        Input::WatchedAll { number: 1, of }
    };
    let asks = |outputs: Vec<String>| -> Vec<String> {
        outputs.into_iter().filter(|output| output.contains(" within ")).collect()
    };
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.inspected(1);
    bench.watching(1);
    assert_eq!(
        asks(bench.give(these(&["jobs"]))),
        ["1 acquire 1 over absent within 30s", "register within 5s"]
    );

    // The same watch remains, and is extended for campaigns that enter later.
    for (id, election) in [(2, "mail"), (3, "cron")] {
        bench.enter(id, election);
    }
    assert_eq!(asks(bench.inspected(2)), [""; 0]);
    assert_eq!(bench.wake(), Some((ms(100), Timer::Shown)));
    assert_eq!(asks(bench.give(these(&["jobs", "mail"]))), ["2 acquire 1 over absent within 30s"]);
    assert_eq!(asks(bench.after(ms(100))), ["3 read 1 within 10s"]);
}

#[test]
fn a_campaign_reads_its_key_where_anything_was_shown_of_it_before_it_began() {
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.watching(1);
    bench.watched(1, "jobs", foreign(4));
    bench.give(Input::WatchedAll { number: 1, of: Scope::All });
    let outputs = bench.inspected(1);
    assert!(outputs.iter().any(|output| output.starts_with("1 read 1")), "{outputs:?}");
    // The campaign also reads if a later watch shows nothing.
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.watching(1);
    bench.watched(1, "jobs", foreign(4));
    bench.give(Input::WatchEnded { number: 1 });
    bench.after(ms(100));
    bench.watching(2);
    bench.give(Input::WatchedAll { number: 2, of: Scope::All });
    let outputs = bench.inspected(1);
    assert!(outputs.iter().any(|output| output.starts_with("1 read 1")), "{outputs:?}");
}

#[test]
fn where_all_is_not_shown_in_time_or_the_watch_ends_the_key_is_read() {
    let reads = |outputs: &[String]| outputs.iter().any(|output| output.starts_with("1 read 1"));
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.inspected(1);
    assert_eq!(bench.wake(), Some((ms(100), Timer::Shown)));
    let outputs = bench.after(ms(100));
    assert!(reads(&outputs), "{outputs:?}");

    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.inspected(1);
    let outputs = bench.give(Input::WatchEnded { number: 1 });
    assert!(reads(&outputs), "{outputs:?}");

    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.inspected(1);
    let outputs = bench.give(Input::NotWatchable { number: 1 });
    assert!(reads(&outputs), "{outputs:?}");
}

#[test]
fn a_campaign_that_was_closed_while_it_waited_for_the_watch_sends_nothing() {
    let mut bench = Bench::with_a_watch_that_shows_all();
    bench.enter(1, "jobs");
    bench.inspected(1);
    bench.command(1, Command::Close);
    bench.watching(1);
    assert_eq!(bench.give(Input::WatchedAll { number: 1, of: Scope::All }), [""; 0]);
}

#[test]
fn a_watch_that_ends_begins_again_later_and_later_until_it_shows_something() {
    let mut bench = Bench::new();
    bench.give(Input::Observe);
    for (number, wait) in (1..).zip([100, 200, 400, 800, 1600, 2000, 2000]) {
        assert_eq!(bench.give(Input::WatchEnded { number }), [""; 0]);
        assert_eq!(bench.wake(), Some((ms(wait), Timer::Watch)));
        assert_eq!(bench.after(ms(wait)), [format!("watch {} within 5s", number + 1)]);
    }
    bench.watching(8);
    bench.watched(8, "jobs", Entry::Vacant);
    bench.give(Input::WatchEnded { number: 8 });
    assert_eq!(bench.wake(), Some((ms(100), Timer::Watch)));
}

#[test]
fn the_end_of_a_watch_that_was_overtaken_changes_nothing() {
    let mut bench = Bench::with_a_candidate();
    bench.give(Input::WatchEnded { number: 1 });
    bench.after(ms(100));
    bench.watching(2);
    bench.give(Input::WatchEnded { number: 1 });
    assert_ne!(bench.wake().map(|(_, timer)| timer), Some(Timer::Watch));
    assert_eq!(bench.watching(1), [""; 0]);
    assert_eq!(bench.watched(2, "jobs", foreign(4)), ["1: led by other"]);
}

#[test]
fn where_the_store_offers_no_watches_none_is_asked_for_again() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    assert_eq!(bench.give(Input::NotWatchable { number: 1 }), [""; 0]);
    assert_eq!(bench.give(Input::Observe), [""; 0]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn a_new_watch_begins_before_another_incarnation_is_handed_in() {
    let mut bench = Bench::with_a_leader();
    bench.enter(2, "mail");
    let result = Ok(StoreInfo { incarnation: Incarnation(2_000), ..bench.info() });
    assert_eq!(
        bench.give(Input::Inspected { number: 3, result }),
        [
            "watch 2 within 5s",
            "2 entered",
            "2: ",
            "1: lost (the store was reset), another warning, waiting",
            "2: waiting",
            "2 read 1 within 10s",
            "2 campaigns"
        ]
    );
    assert_eq!(bench.watched(1, "jobs", deleted(9)), [""; 0], "of the old incarnation");
}

#[test]
fn all_candidates_are_registered_again_when_a_new_watch_is_ready() {
    let mut bench = Bench::with_a_candidate();
    bench.give(Input::Registered(true));
    bench.give(Input::WatchEnded { number: 1 });
    bench.after(ms(100));
    assert_eq!(bench.watching(2), ["register within 5s", "inspect 2 within 2s"]);
}

#[test]
fn changes_while_a_registration_is_under_way_are_registered_after_it() {
    let mut bench = Bench::with_a_candidate();
    bench.enter(2, "mail");
    bench.inspected(2);
    assert_eq!(bench.give(Input::Registered(true)), ["register within 5s"]);
    assert!(!bench.session.is_registered());
    assert_eq!(bench.give(Input::Registered(true)), [""; 0]);
    assert!(bench.session.is_registered());
}

#[test]
fn a_registration_that_failed_is_repeated_later_and_later() {
    let mut bench = Bench::new();
    bench.give(Input::Enter(Box::new(crate::harness::enter(1, "jobs"))));
    bench.inspected(1);
    bench.read(1, 1, Entry::Vacant);
    for wait in [1, 2, 4] {
        assert_eq!(bench.give(Input::Registered(false)), [""; 0]);
        let outputs = bench.after(secs(wait));
        assert!(outputs.contains(&"register within 5s".to_owned()), "{outputs:?}");
    }
}
