//! Warnings, each of them reported a single time when its problem begins.

use incumbent_core::campaign::{Answer, Event, Input, Output, Preset, ReadId, Settings, Timer, Warning};
use incumbent_core::candidacy::{Step, Steps};
use incumbent_core::record::{Entry, Kind, Nonce, Record, WriteId};
use incumbent_core::store::{Capabilities, FaultKind, Outcome, StoreInfo};
use incumbent_core::{Instant, Revision};

use crate::harness::*;

fn warnings(outputs: Vec<Output>) -> Vec<Warning> {
    outputs
        .into_iter()
        .filter_map(|output| match output {
            Output::Event(Event::Warning(warning)) => Some(warning),
            _ => None,
        })
        .collect()
}

fn namesake(revision: u64, nonce: Nonce) -> Entry {
    match theirs(revision) {
        Entry::Live(record) => Entry::Live(Record {
            candidate: "me".into(),
            write_id: Some(WriteId { nonce, attempt: incumbent_core::record::Attempt(revision) }),
            ..record
        }),
        other => other,
    }
}

#[test]
fn another_process_of_the_same_name_is_reported_once_it_is_known_to_be_alive() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(
        bench.read(1, namesake(10, OTHER)),
        ["leader me"],
        "a single record may be left over from before a restart"
    );
    assert_eq!(bench.watched(namesake(10, OTHER)), NOTHING, "the same record again");
    assert_eq!(bench.watched(namesake(11, OTHER)), ["warning SameName"]);
    assert_eq!(bench.watched(namesake(12, OTHER)), NOTHING);
    assert_eq!(bench.watched(namesake(13, Nonce(0xc))), ["leader me"]);
    assert_eq!(bench.watched(namesake(14, Nonce(0xc))), ["warning SameName"]);
}

#[test]
fn a_record_that_the_store_does_not_remove_is_reported_once() {
    let mut bench = Bench::candidate(theirs(10));
    let seen = bench.now;
    let mut read = 1;
    while bench.now.since(seen) <= T * 2 + ms(250) {
        for output in bench.next() {
            assert!(output.starts_with("read"), "{output}");
            read += 1;
            if bench.now.since(seen) <= T * 2 + ms(250) {
                assert_eq!(bench.read(read, theirs(10)), NOTHING);
            }
        }
    }
    let unchanged = bench.now.since(seen);
    let answer = Input::Answered(Answer::Read { read: ReadId(read), result: Ok(theirs(10)) });
    assert_eq!(
        warnings(bench.give_in_full(answer)),
        [Warning::NotExpiring { revision: Revision(10), unchanged }]
    );
    bench.next();
    assert_eq!(bench.read(read + 1, theirs(10)), NOTHING);
    assert_eq!(bench.campaign.lease(), None);
}

#[test]
fn a_lower_maximum_age_shrinks_the_deadline_and_is_reported() {
    let mut bench = Bench::leader();
    bench.sleep(secs(2));
    assert_eq!(
        bench.inspected_as(|info| StoreInfo { max_age: Some(secs(12)), ..info }),
        ["warning MaxAgeChanged"]
    );
    let margin = ms(600 + 120 + 250);
    assert_eq!(bench.remaining(), Some(secs(12) - margin - secs(2)));
}

#[test]
fn a_lease_that_a_lower_maximum_age_makes_shorter_is_renewed_sooner() {
    let mut bench = Bench::leader();
    bench.sleep(secs(2));
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(8))));
    bench.inspected_as(|info| StoreInfo { max_age: Some(secs(12)), ..info });
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(2))));
}

#[test]
fn a_maximum_age_so_low_that_the_lease_is_over_ends_the_term() {
    let mut bench = Bench::leader();
    bench.sleep(secs(6));
    bench.inspected_as(|info| StoreInfo { max_age: Some(secs(6)), ..info });
    assert!(!bench.leads());
    assert_eq!(bench.tick()[0], "lost 10 EXPIRED");
}

#[test]
fn a_maximum_age_of_zero_or_none_is_reported_and_spins_nothing() {
    let mut bench = Bench::leader();
    assert_eq!(bench.inspected_as(|info| StoreInfo { max_age: None, ..info }), ["warning MaxAgeChanged"]);
    assert_eq!(bench.remaining(), Some(T - M));

    let mut bench = Bench::leader();
    let outputs = bench.inspected_as(|info| StoreInfo { max_age: Some(secs(0)), ..info });
    assert_eq!(outputs, ["warning MaxAgeChanged"]);
    assert!(!bench.leads());
    assert_eq!(bench.tick()[0], "lost 10 EXPIRED");
}

#[test]
fn a_barred_candidate_does_not_spin_where_the_maximum_age_is_zero() {
    let mut bench = Bench::candidate(theirs(10));
    let outputs = bench.inspected_as(|info| StoreInfo {
        incarnation: incumbent_core::Incarnation(1),
        max_age: Some(secs(0)),
        ..info
    });
    assert_eq!(outputs, ["warning MaxAgeChanged", "warning StoreReset, barred"]);
    assert_eq!(bench.wake(), Some((Timer::Poll, ms(100))));
}

#[test]
fn a_higher_maximum_age_never_lengthens_the_lease_beyond_the_settings() {
    let mut bench = Bench::leader();
    let outputs = bench.inspected_as(|info| StoreInfo { max_age: Some(secs(300)), ..info });
    assert_eq!(outputs, ["warning MaxAgeChanged"]);
    assert_eq!(bench.remaining(), Some(T - M));
    assert_eq!(bench.campaign.lease_time(), T);
}

#[test]
fn a_maximum_age_that_was_lowered_by_mistake_counts_again_from_the_next_acquire() {
    let mut bench = Bench::leader();
    bench.inspected_as(|info| StoreInfo { max_age: Some(secs(12)), ..info });
    bench.sleep(ms(1));
    assert_eq!(bench.inspected(), ["warning MaxAgeChanged"]);
    assert_eq!(bench.campaign.lease_time(), secs(12), "not for the present term");
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    bench.applied(2, 11);
    assert_eq!(bench.campaign.lease_time(), T);
}

#[test]
fn a_fault_is_reported_again_only_when_it_ended_in_between() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    let denied = || Outcome::Failed(fault(FaultKind::Denied));
    assert_eq!(bench.wrote(2, denied()), ["warning Denied"]);
    bench.next();
    bench.inspected();
    assert_eq!(bench.wrote(3, denied()), NOTHING);
    bench.next();
    bench.inspected();
    assert_eq!(bench.applied(4, 11), NOTHING);
    bench.next();
    bench.inspected();
    assert_eq!(bench.wrote(5, denied()), ["warning Denied"]);
}

#[test]
fn one_write_without_an_answer_is_an_accident_and_two_are_reported() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    bench.next();
    bench.inspected();
    assert_eq!(bench.wrote(3, Outcome::Unknown), ["warning Unreachable"]);
    bench.next();
    bench.inspected();
    assert_eq!(
        bench.wrote(4, Outcome::Unknown),
        ["reconnect"],
        "the fault is reported once, and another server is asked"
    );
}

#[test]
fn a_lease_that_cannot_survive_one_server_is_reported_with_the_numbers_when_the_campaign_begins() {
    let store = Capabilities { own_lease: true, ..bucket() };
    let short = Settings { preset: Preset::Fast, lease: Some(secs(2)), ..settings() };
    let mut bench = Bench::with(short, store);
    let outputs = bench.give_in_full(Input::Campaign);
    let survives = secs(2) - ms(100 + 20 + 100) - secs(2) / 3;
    assert_eq!(warnings(outputs), [Warning::ShortLease { survives, fail_over: secs(7) }]);
    bench.give(Input::Health(false));
    assert!(warnings(bench.give_in_full(Input::Health(true))).is_empty(), "once");
    assert!(warnings(Bench::new().give_in_full(Input::Campaign)).is_empty(), "30 s survives");
}

#[test]
fn markers_that_mislead_other_software_are_reported_once() {
    let mut bench = Bench::with(settings(), bucket_with_markers());
    bench.give(Input::Campaign);
    assert_eq!(bench.read(1, bare(10)), ["warning MarkersMislead", "leader go-1"]);
    assert_eq!(bench.watched(bare(11)), NOTHING);
    let mut bench = Bench::candidate(bare(10));
    assert_eq!(bench.watched(bare(11)), NOTHING, "no markers, no warning");
}

#[test]
fn every_warning_says_what_it_is_about_and_what_to_do() {
    let info = store_info(Instant::ZERO);
    let token = incumbent_core::Token { incarnation: info.incarnation, sequence: Revision(10) };
    let next = incumbent_core::Token { sequence: Revision(6), ..token };
    let texts = [
        (Warning::Store(fault(FaultKind::Broken)), "the store refuses"),
        (
            Warning::StoreReset { seen: Some(token), next: Some(next), barred: true },
            "the largest token seen was 00000000000003e8-000000000000000a, and the store's next token \
             would be 00000000000003e8-0000000000000006; this candidate stays out until a larger token is possible. If nothing \
             remembers the larger tokens, `incumbent accept-reset` lets them start again; otherwise use a new bucket",
        ),
        (
            Warning::StoreReset { seen: Some(token), next: Some(next), barred: false },
            "-0000000000000006; this candidate first uses up the tokens in between",
        ),
        (Warning::NotExpiring { revision: Revision(10), unchanged: secs(61) }, "check the bucket's TTL"),
        (Warning::SameName { nonce: OTHER }, "give every candidate its own name"),
        (Warning::SameNonce { name: "a".into() }, "random numbers from the operating system"),
        (Warning::NotARecord { revision: Revision(10), bytes: 70_000 }, "delete it (incumbent evict)"),
        (Warning::ShortLease { survives: secs(1), fail_over: secs(7) }, "use a longer lease"),
        (Warning::MaxAgeChanged { from: Some(T), to: Some(secs(5)) }, "from 30s to 5s"),
        (Warning::MaxAgeChanged { from: None, to: Some(secs(5)) }, "a maximum age of 5s"),
        (Warning::MaxAgeChanged { from: Some(T), to: None }, "records never expire"),
        (Warning::MarkersMislead, "switch the markers off"),
        (
            Warning::GaveWay {
                failing: Steps::from_iter([Step::Inspect, Step::Read]),
                fault: Some(fault(FaultKind::Denied)),
                rest: secs(300),
            },
            "because for a whole lease it could not inspect the store or read its claim; it rests for 300s at most: the \
             store refuses",
        ),
        (
            Warning::GaveWay { failing: Steps::from_iter([Step::Inspect]), fault: None, rest: secs(300) },
            "300s at most; check its connection and its permissions",
        ),
        (
            Warning::Quoted { setting: "key".into(), text: "'jobs'".into() },
            "key is 'jobs', quotes included: without them it selects another election, with its own leader; remove them \
             unless they are meant (`docker --env-file` keeps quotes)",
        ),
        (
            Warning::YoungStore { left: secs(15), can_be_stated: true },
            "waiting 15s before leading; if no election ever ran here, `StoreSettings::init` with \
             `InitOptions::new().never_used(true)` skips the wait",
        ),
        (
            Warning::Overloaded { waiting: 40, waited: secs(11), answer_time: secs(3) },
            "40 requests wait, the oldest for 11s, and the latest answer took 3s; give it more processor time",
        ),
    ];
    for (warning, part) in texts {
        assert!(warning.to_string().contains(part), "{warning}");
    }
}

#[test]
fn nothing_below_is_worth_a_word_when_all_is_well() {
    let mut bench = Bench::leader();
    for attempt in 2..20 {
        let outputs = bench.pass(secs(10));
        assert_eq!(outputs, ["inspect".to_string(), format!("renew {attempt} over {}", attempt + 8)]);
        assert_eq!(bench.inspected(), NOTHING);
        assert_eq!(bench.applied(attempt, attempt + 9), NOTHING);
        assert_eq!(bench.wake(), Some((Timer::Renew, secs(10))));
    }
}

#[test]
fn an_entry_too_long_for_a_record_is_reported_once_and_waited_for_as_a_foreign_record() {
    let oversize = |revision| Entry::oversize(Revision(revision), Kind::Live, 6_000_000);
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    let seen = bench.now;
    assert_eq!(
        bench.read(1, oversize(10)),
        ["warning NotARecord 6000000", "leader (not a candidate's name: 6000000 bytes)"]
    );
    assert_eq!(
        bench.watched(oversize(11)),
        NOTHING,
        "an entry that is too long is reported only when it first appears"
    );
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
    bench.sleep(T);
    assert_eq!(bench.watched(Entry::Vacant), ["acquire 1 over absent", "leader vacant", "state ACQUIRING"]);
    bench.applied(1, 12);
    bench.inspected();
    assert_eq!(bench.now.since(seen), T);
    assert!(bench.leads());
    assert_eq!(bench.watched(oversize(13))[..2], ["warning NotARecord 6000000", "lost 12 USURPED"]);
}
