//! What a watch shows of an election between the time when its campaign has entered and the time when it has begun.

use incumbent_core::record::{Attempt, Entry, Release};
use incumbent_core::session::Input;
use incumbent_core::store::{Outcome, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::harness::{Bench, INCARNATION, LEASE, enter, foreign, ms, secs, unreachable};

/// Lets the campaign begin now, in this incarnation. An operator has purged the stream, so the campaign's read finds
/// nothing, and its acquire is applied. Returns when the campaign wins.
fn wins(bench: &mut Bench, inspection: u64, incarnation: Incarnation) -> Instant {
    let inspected = |bench: &mut Bench, number| {
        let result = Ok(StoreInfo { incarnation, ..bench.info() });
        bench.give(Input::Inspected { number, result })
    };
    let mut outputs = inspected(bench, inspection);
    let mut revision = 92;
    for _ in 0..1_000 {
        let mut next = Vec::new();
        for output in std::mem::take(&mut outputs) {
            let words: Vec<_> = output.split(' ').collect();
            let number = |place: usize| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(0);
            match words[..] {
                ["1", "read", ..] => next.extend(bench.read(1, number(2), Entry::Vacant)),
                ["1", "acquire" | "renew", ..] => {
                    revision += 1;
                    let applied = Outcome::Applied { revision: Revision(revision), incarnation: None };
                    next.extend(bench.give(Input::wrote(1, Attempt(number(2)), applied)));
                }
                ["inspect", ..] => next.extend(inspected(bench, number(1))),
                ["reconnect", ..] => next.extend(bench.give(Input::Reconnected)),
                _ => {}
            }
        }
        if bench.session.campaign(1).is_some_and(|campaign| campaign.is_leader(bench.now)) {
            return bench.now;
        }
        outputs = next;
        if outputs.is_empty() {
            outputs = bench.tick_at_next();
        }
    }
    panic!("it never wins")
}

/// Creates a session whose campaign 1 has entered and whose watch is ready.
fn entered() -> Bench {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    bench.watching(1);
    bench
}

fn released(revision: u64, incarnation: Incarnation) -> Entry {
    Entry::Released(Release {
        revision: Revision(revision),
        write_id: None,
        owed: secs(3),
        incarnation,
        successor: None,
    })
}

#[test]
fn what_was_shown_is_waited_for_though_the_key_is_purged_before_it_is_read() {
    let mut bench = entered();
    bench.watched(1, "jobs", foreign(91));
    let shown = bench.now;
    bench.after(secs(1));
    assert_eq!(wins(&mut bench, 1, INCARNATION), shown + LEASE);
}

#[test]
fn without_a_record_shown_the_win_is_not_delayed() {
    let mut bench = entered();
    bench.after(secs(1));
    let begun = bench.now;
    assert_eq!(wins(&mut bench, 1, INCARNATION), begun);
}

#[test]
fn it_is_waited_for_when_the_inspection_failed_or_its_settings_were_refused_at_first() {
    let mut bench = entered();
    bench.watched(1, "jobs", foreign(91));
    let shown = bench.now;
    bench.not_inspected(1, unreachable());
    bench.after(ms(100));
    assert_eq!(wins(&mut bench, 2, INCARNATION), shown + LEASE);

    let mut bench = Bench::new();
    let mut enter = enter(1, "jobs");
    enter.settings.lease = Some(LEASE);
    bench.give(Input::Enter(Box::new(enter)));
    bench.watching(1);
    bench.not_inspected(1, unreachable());
    bench.watched(1, "jobs", foreign(91));
    let shown = bench.now;
    bench.after(ms(100));
    // For now, the store keeps records for longer than this candidate's lease.
    let result = Ok(StoreInfo { max_age: Some(LEASE * 2), ..bench.info() });
    bench.give(Input::Inspected { number: 2, result });
    assert!(bench.session.campaign(1).is_none());
    bench.after(secs(5));
    assert_eq!(wins(&mut bench, 3, INCARNATION), shown + LEASE);
}

#[test]
fn it_is_waited_for_over_another_watch_and_another_incarnation() {
    let mut bench = entered();
    bench.watched(1, "jobs", foreign(91));
    let shown = bench.now;
    bench.give(Input::WatchEnded { number: 1 });
    bench.after(secs(1));
    bench.watching(2);
    assert_eq!(wins(&mut bench, 1, Incarnation(2_000)), shown + LEASE);
}

#[test]
fn a_release_of_the_incarnation_that_it_begins_on_replaces_it() {
    let mut bench = entered();
    bench.watched(1, "jobs", foreign(91));
    bench.after(secs(1));
    bench.watched(1, "jobs", released(92, INCARNATION));
    let shown = bench.now;
    assert_eq!(wins(&mut bench, 1, INCARNATION), shown + secs(3));
}

#[test]
fn a_release_of_another_incarnation_counts_as_a_deletion() {
    let mut bench = entered();
    bench.watched(1, "jobs", released(92, Incarnation(999)));
    let shown = bench.now;
    assert_eq!(wins(&mut bench, 1, INCARNATION), shown + LEASE);
}

#[test]
fn once_it_has_begun_a_release_ends_the_wait() {
    let mut bench = entered();
    bench.watched(1, "jobs", foreign(91));
    bench.after(secs(1));
    bench.inspected(1);
    bench.read(1, 1, foreign(91));
    bench.watched(1, "jobs", released(92, INCARNATION));
    let shown = bench.now;
    bench.tick_at_next();
    let applied = Outcome::Applied { revision: Revision(93), incarnation: None };
    bench.give(Input::wrote(1, Attempt(1), applied));
    bench.inspected(2);
    while !bench.session.campaign(1).is_some_and(|campaign| campaign.is_leader(bench.now)) {
        assert!(bench.now < shown + LEASE, "it does not lead");
        bench.tick_at_next();
    }
    assert_eq!(bench.now, shown + secs(3));
}

#[test]
fn a_tombstone_that_was_shown_is_read_again_before_an_acquire_expects_it() {
    let mut bench = entered();
    bench.watched(1, "jobs", released(92, INCARNATION));
    assert_eq!(
        bench.inspected(1),
        ["1 entered", "1: ", "1: waiting", "1 read 1 within 10s", "1 campaigns", "register within 5s"]
    );
}
