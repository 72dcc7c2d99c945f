//! Tests that a written record reads back unchanged, and that an unreadable part counts as missing.

use super::*;
use crate::token::Token;
use alloc::vec;

const WRITE_ID: WriteId = WriteId { nonce: Nonce(0xfeed), attempt: Attempt(7) };
const TERM_INFO: TermInfo = TermInfo {
    token: Token { incarnation: Incarnation(9), sequence: Revision(2) },
    led_for: Some(Duration::from_millis(61_002)),
};

fn decode(kind: Kind, value: &[u8], headers: &Headers) -> Entry {
    Entry::decode(Revision(3), kind, value, headers.iter().map(|(n, v)| (&**n, v.as_str())))
}

#[test]
fn a_live_record_reads_back() {
    let metadata = vec![("Host".to_string(), "db-1:80".to_string())];
    let headers = live_headers(WRITE_ID, Duration::from_secs(30), TERM_INFO, &metadata);
    assert_eq!(
        decode(Kind::Live, b"worker-7", &headers),
        Entry::Live(Record {
            revision: Revision(3),
            candidate: "worker-7".into(),
            write_id: Some(WRITE_ID),
            lease: Some(Duration::from_secs(30)),
            term_info: Some(TERM_INFO),
            metadata,
            oversize: None,
        })
    );
}

#[test]
fn a_lease_is_written_no_shorter_than_it_is() {
    let headers = live_headers(WRITE_ID, Duration::from_nanos(5_000_000_001), TERM_INFO, &[]);
    let lease = decode(Kind::Live, b"a", &headers).live().and_then(|record| record.lease);
    assert_eq!(lease, Some(Duration::from_millis(5001)));
}

#[test]
fn a_release_reads_back_and_rounds_what_it_owes_up() {
    let headers = release_headers(WRITE_ID, Duration::from_nanos(1_000_001), Incarnation(9), Some("b"));
    assert_eq!(
        decode(Kind::Tombstone, b"", &headers),
        Entry::Released(Release {
            revision: Revision(3),
            write_id: Some(WRITE_ID),
            owed: Duration::from_millis(2),
            incarnation: Incarnation(9),
            successor: Some("b".into()),
        })
    );
}

#[test]
fn what_is_encoded_reads_back() {
    let record = Record {
        revision: Revision(3),
        candidate: "worker-7".into(),
        write_id: Some(WRITE_ID),
        lease: Some(Duration::from_secs(30)),
        term_info: Some(TERM_INFO),
        metadata: vec![("Host".into(), "db-1:80".into())],
        oversize: None,
    };
    let release = Release {
        revision: Revision(3),
        write_id: Some(WRITE_ID),
        owed: Duration::from_millis(2),
        incarnation: Incarnation(9),
        successor: Some("b".into()),
    };
    for entry in [
        Entry::Live(Record {
            write_id: None,
            lease: None,
            term_info: None,
            metadata: vec![],
            ..record.clone()
        }),
        Entry::Live(record),
        Entry::Released(Release { write_id: None, successor: None, ..release.clone() }),
        Entry::Released(release),
        Entry::Deleted { revision: Revision(3), lease: None },
        Entry::Deleted { revision: Revision(3), lease: Some(Duration::from_secs(30)) },
        Entry::Expired { revision: Revision(3) },
    ] {
        let (revision, kind, value, headers) = entry.encode().unwrap();
        assert_eq!(revision, Revision(3));
        assert_eq!(decode(kind, value.as_bytes(), &headers), entry);
    }
    assert_eq!(Entry::Vacant.encode(), None);
}

#[test]
fn a_bare_value_is_a_foreign_record() {
    assert_eq!(
        decode(Kind::Live, b"go-1\xff", &vec![]),
        Entry::Live(Record {
            revision: Revision(3),
            candidate: "go-1\u{fffd}".into(),
            write_id: None,
            lease: None,
            term_info: None,
            metadata: vec![],
            oversize: None,
        })
    );
}

#[test]
fn a_release_that_cannot_be_read_certifies_nothing() {
    for text in ["", "5", "x 9", "5 x", "-5 9", "5 9 9"] {
        let headers = vec![(RELEASE.into(), text.to_string())];
        assert_eq!(
            decode(Kind::Tombstone, b"", &headers),
            Entry::Deleted { revision: Revision(3), lease: None }
        );
    }
}

#[test]
fn a_stamp_that_cannot_be_read_belongs_to_no_campaign() {
    for text in ["", ".", "12.1", "0000000000000000000000000000feed", "0000000000000000000000000000feed.x"] {
        assert_eq!(text.parse::<WriteId>(), Err(()));
    }
    assert_eq!(WRITE_ID.to_string().parse(), Ok(WRITE_ID));
}

#[test]
fn a_header_that_says_two_things_counts_as_missing() {
    let lease = |texts: [&str; 2]| {
        let headers = [LEASE, "incumbent-lease"].into_iter().zip(texts);
        Entry::decode(Revision(3), Kind::Live, b"a", headers).live().and_then(|record| record.lease)
    };
    assert_eq!(lease(["5000", "5000"]), Some(Duration::from_secs(5)));
    assert_eq!(lease(["5000", "9000"]), None);
}

#[test]
fn a_lease_of_zero_counts_as_missing() {
    let headers = vec![(LEASE.into(), "0".to_string())];
    assert_eq!(decode(Kind::Live, b"a", &headers).live().and_then(|r| r.lease), None);
}

fn live(value: &[u8], headers: &Headers) -> Record {
    match decode(Kind::Live, value, headers) {
        Entry::Live(record) => record,
        other => panic!("{other:?} is not live"),
    }
}

#[test]
fn of_a_value_longer_than_any_name_only_the_length_is_read() {
    let headers = live_headers(WRITE_ID, Duration::from_secs(30), TERM_INFO, &[]);
    let bytes = LONGEST_VALUE + 1 + headers.iter().map(|(n, v)| n.len() + v.len()).sum::<usize>();
    let found = live(&vec![b'a'; LONGEST_VALUE + 1], &headers);
    let expected = Entry::oversize(Revision(3), Kind::Live, bytes as u64);
    assert_eq!(Entry::Live(found.clone()), expected);
    assert_eq!(found.candidate, format!("(not a candidate's name: {bytes} bytes)"));
    assert_eq!((found.write_id, found.lease, found.oversize), (None, None, Some(bytes as u64)));
    assert_eq!(live(&vec![b'a'; LONGEST_VALUE], &headers).oversize, None);
}

#[test]
fn more_headers_than_a_record_has_are_counted_and_not_kept() {
    let headers: Headers =
        (0..).map(|n| (format!("Incumbent-Meta-{n:05}").into(), "x".repeat(12))).take(2048).collect();
    let bytes = 2048 * (20 + 12);
    assert_eq!(bytes, LONGEST);
    assert_eq!(live(b"", &headers).metadata.len(), 2048);
    let found = live(b"a", &headers);
    assert_eq!((found.metadata.len(), found.oversize), (0, Some(bytes as u64 + 1)));
}

#[test]
fn a_tombstone_longer_than_any_of_ours_certifies_nothing() {
    let mut headers = release_headers(WRITE_ID, Duration::ZERO, Incarnation(9), None);
    headers.push(("X".into(), "x".repeat(LONGEST)));
    assert_eq!(decode(Kind::Tombstone, b"", &headers), Entry::Deleted { revision: Revision(3), lease: None });
}

#[test]
fn of_a_record_that_is_too_long_no_more_than_its_revision_is_encoded() {
    let found = Entry::oversize(Revision(3), Kind::Live, 6_000_000);
    assert_eq!(found.encode(), Some((Revision(3), Kind::Live, String::new(), Headers::new())));
}
