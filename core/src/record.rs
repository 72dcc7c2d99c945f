//! What a key of an election holds, and how it is written down.
//!
//! The value of a live record is the candidate's name, as the Go library `nats-kv-leader-elect`
//! writes it; everything of ours travels in headers that it ignores. A store adapter carries
//! value and headers as they are and leaves their meaning to this module.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::token::{Incarnation, Revision, Token};

/// Header of every write: the campaign's nonce and the number of the attempt, `<nonce>.<attempt>`.
pub const NONCE: &str = "Incumbent-Nonce";
/// Header of a live record: the holder's lease time in milliseconds, or what is left of its win delay where that is
/// more. Others wait as long from their first sight of the record.
pub const LEASE: &str = "Incumbent-Lease";
/// Header of a live record: the fencing token of the term its holder leads for, and for how many milliseconds it had led
/// when it wrote this. Nothing is decided by it: it is there for whoever looks.
pub const TERM: &str = "Incumbent-Term";
/// Header of a release: the win delay still owed in milliseconds, and the store's incarnation.
pub const RELEASE: &str = "Incumbent-Release";
/// Header of a release that hands over: the name of the successor.
pub const SUCCESSOR: &str = "Incumbent-Successor";
/// What the headers of a leader's metadata begin with.
pub const METADATA: &str = "Incumbent-Meta-";

/// Headers as a store carries them: pairs of a name and a value.
pub type Headers = Vec<(String, String)>;

/// A number drawn from the operating system for one campaign; no two campaigns share one, not even
/// two of one process in one election.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u128);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of one write of a campaign; it grows and is never used again under one nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attempt(pub u64);

/// Which attempt of which campaign wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The campaign.
    pub nonce: Nonce,
    /// Its attempt.
    pub attempt: Attempt,
}

/// As a header has it. Of one width up to ten thousand million attempts, so that no renewal is longer than the record it
/// replaces: a store that is full would refuse it.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:010}", self.nonce, self.attempt.0)
    }
}

impl FromStr for Stamp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (nonce, attempt) = text.split_once('.').ok_or(())?;
        if nonce.len() != 32 {
            return Err(());
        }
        Ok(Self {
            nonce: Nonce(u128::from_str_radix(nonce, 16).map_err(drop)?),
            attempt: Attempt(attempt.parse().map_err(drop)?),
        })
    }
}

/// A live record: somebody holds the seat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The revision of the write that made it.
    pub revision: Revision,
    /// The holder's name. Bytes that are not UTF-8 are shown as U+FFFD.
    pub candidate: String,
    /// Who wrote it; `None` for a record written by other software.
    pub stamp: Option<Stamp>,
    /// The holder's lease time; `None` where it is the store's own.
    pub lease: Option<Duration>,
    /// The term its holder leads for, by its own account; `None` for a record written by other software.
    pub claim: Option<Claim>,
    /// What the leader publishes about itself.
    pub metadata: Headers,
}

/// What a holder says of its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The term's fencing token.
    pub token: Token,
    /// How long it had led when it sent this record; `None` where it had not been told of its win yet.
    pub led_for: Option<Duration>,
}

impl Claim {
    /// What the write says that takes the seat: its own revision is to be the token's sequence, and no revision is zero.
    pub(crate) fn of_acquire(incarnation: Incarnation) -> Self {
        Self { token: Token { incarnation, sequence: Revision(0) }, led_for: None }
    }
}

/// As a header has it; of one width, as the [`Stamp`] is.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.led_for {
            Some(led_for) => write!(f, "{} {:013}", self.token, led_for.as_millis()),
            None => write!(f, "{} {:->13}", self.token, ""),
        }
    }
}

impl FromStr for Claim {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (token, led_for) = text.split_once(' ').ok_or(())?;
        let is_told = !led_for.bytes().all(|byte| byte == b'-');
        let led_for = is_told.then(|| led_for.parse().map(Duration::from_millis)).transpose();
        Ok(Self { token: token.parse().map_err(drop)?, led_for: led_for.map_err(drop)? })
    }
}

impl Record {
    /// Whether both are of one campaign, as far as they say.
    pub(crate) fn has_the_holder_of(&self, other: &Self) -> bool {
        let nonce = |record: &Self| record.stamp.map(|stamp| stamp.nonce);
        self.candidate == other.candidate && nonce(self) == nonce(other)
    }
}

/// A tombstone left by a holder that gave the seat up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    /// The revision of the tombstone.
    pub revision: Revision,
    /// Who released.
    pub stamp: Option<Stamp>,
    /// How much of the holder's own win delay was still to run.
    pub owed: Duration,
    /// The incarnation in which the holder held the seat.
    pub incarnation: Incarnation,
    /// Who should be next; the others hold back for a moment.
    pub successor: Option<String>,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// Nothing: never written, or removed without a trace.
    Vacant,
    /// A live record.
    Live(Record),
    /// A tombstone that certifies its writer gave the seat up.
    Released(Release),
    /// Any other tombstone, or a marker for a removal: somebody deleted the record.
    Deleted {
        /// The revision of the tombstone or marker.
        revision: Revision,
    },
    /// The store's marker for a record that reached its maximum age.
    Expired {
        /// The revision of the marker.
        revision: Revision,
    },
}

/// What sort of message a store found under a key; its adapter knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value.
    Live,
    /// A deletion, by a release or by anybody else.
    Tombstone,
    /// The store's marker for an expiry.
    Expired,
}

impl Entry {
    /// Reads the message a store found under a key.
    ///
    /// Never fails: a header that cannot be read, or that says two things, counts as missing, which is
    /// always the cautious reading (a foreign record, or a deletion that certifies nothing).
    pub fn decode<'a>(
        revision: Revision,
        kind: Kind,
        value: &[u8],
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut stamp = Said::Nothing;
        let mut lease = Said::Nothing;
        let mut claim = Said::Nothing;
        let mut release = Said::Nothing;
        let mut successor = Said::Nothing;
        let mut metadata = Headers::new();
        for (name, text) in headers {
            if name.eq_ignore_ascii_case(NONCE) {
                stamp.say(text);
            } else if name.eq_ignore_ascii_case(LEASE) {
                lease.say(text);
            } else if name.eq_ignore_ascii_case(TERM) {
                claim.say(text);
            } else if name.eq_ignore_ascii_case(RELEASE) {
                release.say(text);
            } else if name.eq_ignore_ascii_case(SUCCESSOR) {
                successor.say(text);
            } else if let Some(key) = metadata_key(name) {
                metadata.push((key.to_string(), text.to_string()));
            }
        }
        let stamp = stamp.text().and_then(|text| text.parse().ok());
        let lease = lease.text().and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let lease = lease.filter(|lease| !lease.is_zero());
        let claim = claim.text().and_then(|text| text.parse().ok()).map(|claim| made_at(revision, claim));
        let release = release.text().and_then(parse_release);
        let successor = successor.text().map(str::to_string);
        match (kind, release) {
            (Kind::Expired, _) => Self::Expired { revision },
            (Kind::Tombstone, Some((owed, incarnation))) => {
                Self::Released(Release { revision, stamp, owed, incarnation, successor })
            }
            (Kind::Tombstone, None) => Self::Deleted { revision },
            (Kind::Live, _) => {
                let candidate = String::from_utf8_lossy(value).into_owned();
                Self::Live(Record { revision, candidate, stamp, lease, claim, metadata })
            }
        }
    }

    /// What a store holds for this entry, such that [`decode`](Self::decode) reads it back; `None` where it holds
    /// nothing.
    pub fn encode(&self) -> Option<(Revision, Kind, String, Headers)> {
        let bare = |revision: &Revision, kind| Some((*revision, kind, String::new(), Headers::new()));
        match self {
            Self::Vacant => None,
            Self::Live(record) => {
                let mut headers = stamp_header(record.stamp);
                headers.extend(record.lease.map(lease_header));
                headers.extend(record.claim.map(claim_header));
                headers.extend(record.metadata.iter().map(metadata_header));
                Some((record.revision, Kind::Live, record.candidate.clone(), headers))
            }
            Self::Released(release) => {
                let mut headers = stamp_header(release.stamp);
                headers.push(release_header(release.owed, release.incarnation));
                headers.extend(release.successor.as_deref().map(successor_header));
                Some((release.revision, Kind::Tombstone, String::new(), headers))
            }
            Self::Deleted { revision } => bare(revision, Kind::Tombstone),
            Self::Expired { revision } => bare(revision, Kind::Expired),
        }
    }

    /// The revision of what is there; `None` where nothing is.
    pub fn revision(&self) -> Option<Revision> {
        match self {
            Self::Vacant => None,
            Self::Live(record) => Some(record.revision),
            Self::Released(release) => Some(release.revision),
            Self::Deleted { revision } | Self::Expired { revision } => Some(*revision),
        }
    }

    /// The live record, where there is one.
    pub fn live(&self) -> Option<&Record> {
        match self {
            Self::Live(record) => Some(record),
            _ => None,
        }
    }
}

/// What a header says. Names are read in any case, so one may come twice, in no certain order.
enum Said<'a> {
    Nothing,
    Once(&'a str),
    TwoThings,
}

impl<'a> Said<'a> {
    fn say(&mut self, text: &'a str) {
        *self = match self {
            Self::Nothing => Self::Once(text),
            Self::Once(before) if *before == text => return,
            _ => Self::TwoThings,
        };
    }

    fn text(&self) -> Option<&'a str> {
        match self {
            Self::Once(text) => Some(text),
            Self::Nothing | Self::TwoThings => None,
        }
    }
}

fn parse_release(text: &str) -> Option<(Duration, Incarnation)> {
    let (owed, incarnation) = text.split_once(' ')?;
    Some((Duration::from_millis(owed.parse().ok()?), Incarnation(incarnation.parse().ok()?)))
}

/// A claim with the revision it was made at, where it is that of the write that took the seat.
fn made_at(revision: Revision, claim: Claim) -> Claim {
    let sequence = if claim.token.sequence == Revision(0) { revision } else { claim.token.sequence };
    Claim { token: Token { sequence, ..claim.token }, ..claim }
}

fn metadata_key(name: &str) -> Option<&str> {
    let (prefix, key) = name.split_at_checked(METADATA.len())?;
    (prefix.eq_ignore_ascii_case(METADATA) && !key.is_empty()).then_some(key)
}

/// The headers of a live record; its lease is rounded up to whole milliseconds, since others wait as long.
pub(crate) fn live_headers(
    stamp: Stamp,
    lease: Duration,
    claim: Claim,
    metadata: &[(String, String)],
) -> Headers {
    let mut headers = stamp_header(Some(stamp));
    headers.push(lease_header(lease));
    headers.push(claim_header(claim));
    headers.extend(metadata.iter().map(metadata_header));
    headers
}

/// The headers of a release; what is owed is rounded up to whole milliseconds.
pub(crate) fn release_headers(
    stamp: Stamp,
    owed: Duration,
    incarnation: Incarnation,
    successor: Option<&str>,
) -> Headers {
    let mut headers = stamp_header(Some(stamp));
    headers.push(release_header(owed, incarnation));
    headers.extend(successor.map(successor_header));
    headers
}

fn stamp_header(stamp: Option<Stamp>) -> Headers {
    stamp.map(|stamp| (NONCE.into(), stamp.to_string())).into_iter().collect()
}

fn lease_header(lease: Duration) -> (String, String) {
    (LEASE.into(), millis(lease).to_string())
}

fn claim_header(claim: Claim) -> (String, String) {
    (TERM.into(), claim.to_string())
}

fn metadata_header((key, text): &(String, String)) -> (String, String) {
    (format!("{METADATA}{key}"), text.clone())
}

fn release_header(owed: Duration, incarnation: Incarnation) -> (String, String) {
    (RELEASE.into(), format!("{} {}", millis(owed), incarnation.0))
}

fn successor_header(name: &str) -> (String, String) {
    (SUCCESSOR.into(), name.to_string())
}

/// Whole milliseconds, and none too few.
fn millis(span: Duration) -> u128 {
    span.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const STAMP: Stamp = Stamp { nonce: Nonce(0xfeed), attempt: Attempt(7) };
    const CLAIM: Claim = Claim {
        token: Token { incarnation: Incarnation(9), sequence: Revision(2) },
        led_for: Some(Duration::from_millis(61_002)),
    };

    fn decode(kind: Kind, value: &[u8], headers: &Headers) -> Entry {
        Entry::decode(Revision(3), kind, value, headers.iter().map(|(n, v)| (n.as_str(), v.as_str())))
    }

    #[test]
    fn a_live_record_reads_back() {
        let metadata = vec![("Host".to_string(), "db-1:80".to_string())];
        let headers = live_headers(STAMP, Duration::from_secs(30), CLAIM, &metadata);
        assert_eq!(
            decode(Kind::Live, b"worker-7", &headers),
            Entry::Live(Record {
                revision: Revision(3),
                candidate: "worker-7".into(),
                stamp: Some(STAMP),
                lease: Some(Duration::from_secs(30)),
                claim: Some(CLAIM),
                metadata,
            })
        );
    }

    #[test]
    fn a_lease_is_written_no_shorter_than_it_is() {
        let headers = live_headers(STAMP, Duration::from_nanos(5_000_000_001), CLAIM, &[]);
        let lease = decode(Kind::Live, b"a", &headers).live().and_then(|record| record.lease);
        assert_eq!(lease, Some(Duration::from_millis(5001)));
    }

    #[test]
    fn a_release_reads_back_and_rounds_what_it_owes_up() {
        let headers = release_headers(STAMP, Duration::from_nanos(1_000_001), Incarnation(9), Some("b"));
        assert_eq!(
            decode(Kind::Tombstone, b"", &headers),
            Entry::Released(Release {
                revision: Revision(3),
                stamp: Some(STAMP),
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
            stamp: Some(STAMP),
            lease: Some(Duration::from_secs(30)),
            claim: Some(CLAIM),
            metadata: vec![("Host".into(), "db-1:80".into())],
        };
        let release = Release {
            revision: Revision(3),
            stamp: Some(STAMP),
            owed: Duration::from_millis(2),
            incarnation: Incarnation(9),
            successor: Some("b".into()),
        };
        for entry in [
            Entry::Live(Record { stamp: None, lease: None, claim: None, metadata: vec![], ..record.clone() }),
            Entry::Live(record),
            Entry::Released(Release { stamp: None, successor: None, ..release.clone() }),
            Entry::Released(release),
            Entry::Deleted { revision: Revision(3) },
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
                stamp: None,
                lease: None,
                claim: None,
                metadata: vec![],
            })
        );
    }

    #[test]
    fn a_release_that_cannot_be_read_certifies_nothing() {
        for text in ["", "5", "x 9", "5 x", "-5 9", "5 9 9"] {
            let headers = vec![(RELEASE.to_string(), text.to_string())];
            assert_eq!(decode(Kind::Tombstone, b"", &headers), Entry::Deleted { revision: Revision(3) });
        }
    }

    #[test]
    fn a_stamp_that_cannot_be_read_is_nobodys() {
        for text in
            ["", ".", "12.1", "0000000000000000000000000000feed", "0000000000000000000000000000feed.x"]
        {
            assert_eq!(text.parse::<Stamp>(), Err(()));
        }
        assert_eq!(STAMP.to_string().parse(), Ok(STAMP));
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
        let headers = vec![(LEASE.to_string(), "0".to_string())];
        assert_eq!(decode(Kind::Live, b"a", &headers).live().and_then(|r| r.lease), None);
    }
}
