//! The text and the JSON of elections.

use std::time::Duration;

use incumbent::incumbent_core::record::{Attempt, Entry, Nonce, Record, Release, TermInfo, WriteId};
use incumbent::incumbent_core::{Incarnation, Revision, Token};
use incumbent::store::CandidateInfo;
use serde_json::json;

use super::output::{HEADINGS, json_of, row, table, text_of};
use super::seen::Seen;

const SECOND: Duration = Duration::from_secs(1);

fn candidate(name: &str, nonce: u128, seconds: u64) -> CandidateInfo {
    CandidateInfo {
        election: "jobs".into(),
        name: name.into(),
        nonce: Some(Nonce(nonce)),
        standing_for: Duration::from_secs(seconds),
    }
}

fn seen(key: &str, entry: Entry) -> Seen {
    Seen { key: key.into(), entry, is_queue: false, is_group: false, ago: None, candidates: None }
}

fn held(led_for: Option<Duration>) -> Record {
    let token = Token { incarnation: Incarnation(0x18), sequence: Revision(12) };
    Record {
        revision: Revision(42),
        candidate: "worker-7".into(),
        write_id: Some(WriteId { nonce: Nonce(7), attempt: Attempt(3) }),
        lease: Some(SECOND * 15),
        term_info: Some(TermInfo { token, led_for }),
        metadata: vec![("address".into(), "10.0.0.7:8080".into())],
        oversize: None,
    }
}

fn leading() -> Seen {
    Seen {
        ago: Some(Duration::from_millis(1_250)),
        candidates: Some(vec![candidate("worker-7", 7, 90), candidate("worker-08", 8, 61)]),
        ..seen("jobs", Entry::Live(held(Some(SECOND * 60))))
    }
}

fn released() -> Entry {
    Entry::Released(Release {
        revision: Revision(43),
        write_id: None,
        owed: Duration::ZERO,
        incarnation: Incarnation(1),
        successor: Some("worker-8".into()),
    })
}

#[test]
fn an_election_that_is_held_is_shown_with_its_holder_and_the_waiting_candidates() {
    assert_eq!(
        text_of(&leading()),
        [
            "election    jobs",
            "leader      worker-7",
            "since       1 min 1 s ago",
            "token       0000000000000018-000000000000000c",
            "lease       15.00 s, 13.75 s left",
            "margin      the leader stops by itself 1.15 s before the lease ends",
            "renewed     1.25 s ago",
            "metadata    address = 10.0.0.7:8080",
            "revision    42",
            "candidates  worker-7   holds the lease, here for 1 min 30 s",
            "            worker-08  waits, here for 1 min 1 s",
        ]
    );
    let expected = json!({
        "election": "jobs",
        "state": "held",
        "leader": {
            "name": "worker-7",
            "nonce": "00000000000000000000000000000007",
            "revision": 42,
            "metadata": { "address": "10.0.0.7:8080" },
        },
        "token": "0000000000000018-000000000000000c",
        "sequence": 12,
        "led_ms": 61250.0,
        "lease_ms": 15000.0,
        "left_ms": 13750.0,
        "margin_ms": 1150.0,
        "renewed_ms_ago": 1250.0,
        "revision": 42,
        "successor": null,
        "candidates": [
            {
                "name": "worker-7",
                "nonce": "00000000000000000000000000000007",
                "standing_ms": 90000.0,
                "holds": true,
            },
            {
                "name": "worker-08",
                "nonce": "00000000000000000000000000000008",
                "standing_ms": 61000.0,
                "holds": false,
            },
        ],
    });
    assert_eq!(json_of(&leading()), expected);
}

#[test]
fn how_long_a_leader_has_led_is_shown_as_exactly_as_it_is_known() {
    let since = |record| text_of(&seen("jobs", Entry::Live(record)))[2].clone();
    assert_eq!(since(held(Some(SECOND * 5))), "since       5.00 s ago, or a little more");
    assert_eq!(since(held(None)), "since       not yet: the holder waits until no other candidate can lead");
    let won = Record { revision: Revision(12), ..held(None) };
    assert_eq!(since(won.clone()), "since       not known before the leader renews its lease");
    let won = Seen { ago: Some(SECOND * 3), ..seen("jobs", Entry::Live(won)) };
    assert_eq!(text_of(&won)[2], "since       it won 3.00 s ago");
    assert_eq!(row(&won)[3], "3.00 s");
    let other = Record { term_info: None, ..held(None) };
    assert_eq!(since(other), "since       (not known: other software does not report it)");
}

#[test]
fn an_election_that_was_released_is_shown_with_the_successor() {
    let text = text_of(&seen("jobs", released()));
    assert_eq!(text[1], "leader      (vacant: given up, handed over to worker-8)");
    let json = json_of(&seen("jobs", released()));
    assert_eq!((json["state"].as_str(), json["successor"].as_str()), (Some("released"), Some("worker-8")));
}

#[test]
fn all_elections_make_a_table() {
    let rows = [leading(), seen("nightly-report", released()), seen("new", Entry::Vacant)];
    let rows: Vec<_> = std::iter::once(HEADINGS.map(str::to_owned)).chain(rows.iter().map(row)).collect();
    assert_eq!(
        table(&rows, None),
        [
            "election        state     leader    since      lease    left     candidates  token",
            "jobs            held      worker-7  1 min 1 s  15.00 s  13.75 s  2           \
             0000000000000018-000000000000000c",
            "nightly-report  released  -         -          -        -        -           -",
            "new             vacant    -         -          -        -        -           -",
        ]
    );
}

#[test]
fn a_table_leaves_out_last_columns_that_a_terminal_has_no_width_for() {
    let rows = [HEADINGS.map(str::to_owned), row(&leading()), row(&seen("nightly-report", released()))];
    assert_eq!(
        table(&rows, Some(80)),
        [
            "election        state     leader    since      lease    left     candidates",
            "jobs            held      worker-7  1 min 1 s  15.00 s  13.75 s  2",
            "nightly-report  released  -         -          -        -        -",
        ]
    );
    let narrow = table(&rows, Some(20));
    assert!(narrow.len() > rows.len(), "{narrow:#?}");
    assert!(narrow.iter().all(|line| line.chars().count() <= 20), "{narrow:#?}");
}

#[test]
fn of_many_candidates_the_first_ten_are_named() {
    let many = (1..=13).map(|n| candidate(&format!("w{n}"), n, 3)).collect();
    let text = text_of(&Seen { candidates: Some(many), ..seen("jobs", Entry::Vacant) });
    assert_eq!(text.len(), 13);
    assert_eq!(text[11..], ["            w10  waits, here for 3.00 s", "            and 3 more"]);
    let none = text_of(&Seen { candidates: Some(Vec::new()), ..seen("jobs", Entry::Vacant) });
    assert_eq!(none[2], "candidates  none answered");
}

#[test]
fn every_vacancy_says_why() {
    let revision = Revision(9);
    let why = |entry: Entry| text_of(&seen("jobs", entry))[1].clone();
    assert!(why(Entry::Vacant).contains("never held"));
    assert!(why(Entry::Deleted { revision, lease: None }).contains("deleted"));
    assert!(why(Entry::Expired { revision }).contains("the lease is over"));
}

#[test]
fn a_queue_shows_its_candidates_in_order_and_no_age_of_a_win() {
    let claim = |record: Record| Record { revision: Revision(12), ..record };
    let foreign = CandidateInfo { nonce: None, ..candidate("go-1", 0, 0) };
    let seen = Seen {
        is_queue: true,
        candidates: Some(vec![candidate("worker-7", 7, 90), foreign.clone()]),
        ..seen("jobs", Entry::Live(claim(held(None))))
    };
    let expected = [
        "election    jobs",
        "leader      worker-7",
        "token       0000000000000018-000000000000000c",
        "lease       15.00 s",
        "margin      the leader stops by itself 400 ms before the lease ends",
        "metadata    address = 10.0.0.7:8080",
        "revision    12",
        "candidates  worker-7  holds the lease, here for 1 min 30 s",
        "            go-1      waits, runs other software",
    ];
    assert_eq!(text_of(&seen), expected);
    assert_eq!(json_of(&seen)["candidates"][1]["standing_ms"], json!(null));
    let vacant = Seen { candidates: Some(vec![foreign]), entry: Entry::Vacant, ..seen };
    assert_eq!(text_of(&vacant)[1], "leader      (vacant: there is no candidate)");
}

#[test]
fn a_group_knows_its_members_by_name_only() {
    let member = |name| CandidateInfo { nonce: None, ..candidate(name, 0, 0) };
    let seen = Seen {
        is_group: true,
        candidates: Some(vec![member("worker-7"), member("worker-8")]),
        ..seen("jobs", Entry::Live(held(Some(SECOND))))
    };
    let expected = [
        "candidates  worker-7  holds the lease, a member of the group",
        "            worker-8  waits, a member of the group",
    ];
    assert_eq!(text_of(&seen)[8..], expected);
    assert_eq!(json_of(&seen)["candidates"][0]["holds"], json!(true));
    let empty = Seen { candidates: Some(Vec::new()), ..seen };
    assert_eq!(text_of(&empty).last().unwrap(), "candidates  the group has no members");
}
