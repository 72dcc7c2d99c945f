//! The keys of elections, and the values under them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use incumbent_core::queue::{Companion, LeaseId, Place};
use incumbent_core::record::{LONGEST_VALUE, Nonce};
use incumbent_core::{Incarnation, Revision};
use serde::{Deserialize, Serialize};

use super::wire::messages::KeyValue;
use incumbent_store::{Error, ErrorKind, Result};
use incumbent_store::{local, request};

/// The part of a prefix's keys that only this library uses.
const OURS: &str = ".incumbent";

/// The keys under a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    prefix: String,
}

/// The values of a campaign's keys, in addition to those that its actions state.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// The candidate's name: the value of its place.
    pub(super) name: String,
    /// The campaign's number.
    pub(super) nonce: Nonce,
    /// The campaign's lease time.
    pub(super) lease_time: Duration,
    /// The time of day at which this process became a candidate. It is only shown to people.
    pub(super) since: SystemTime,
    /// The metadata that the candidate publishes.
    pub(super) metadata: Vec<(String, String)>,
}

/// A range of keys: from the first up to the second, exclusive.
pub(super) type Range = (Vec<u8>, Vec<u8>);

impl Keys {
    pub(super) fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into() }
    }

    /// Refuses an election that would share keys with another, or with our own.
    ///
    /// etcd's clients take every key that begins with `ELECTION/` for a place, so no election's name may be a prefix of
    /// another's.
    pub(super) fn check(key: &str) -> Result<()> {
        local::check_text("election's key", key)?;
        let refuse = |why: &str| {
            Err(Error::new(ErrorKind::InvalidName, format!("the election's key {key:?} {why} on etcd")))
        };
        if key.contains('/') {
            return refuse("holds a slash, which ends an election's name");
        }
        if key.starts_with(OURS) {
            return refuse("begins with \".incumbent\", which is reserved for incumbent's own keys");
        }
        Ok(())
    }

    /// The birth record.
    pub(super) fn birth(&self) -> Vec<u8> {
        format!("{}{OURS}", self.prefix).into_bytes()
    }

    /// All keys under the prefix; every key of the cluster if the prefix is empty.
    pub(super) fn all(&self) -> Range {
        match self.prefix.as_str() {
            "" => (vec![0], vec![0]),
            prefix => range(prefix.to_owned()),
        }
    }

    /// The birth record and the keys under it.
    pub(super) fn ours(&self) -> Range {
        range(format!("{}{OURS}", self.prefix))
    }

    pub(super) fn place(&self, election: &str, lease: LeaseId) -> Vec<u8> {
        format!("{}{election}/{lease}", self.prefix).into_bytes()
    }

    pub(super) fn companion(&self, election: &str, lease: LeaseId) -> Vec<u8> {
        format!("{}{OURS}/{election}/{lease}", self.prefix).into_bytes()
    }

    /// The operator's request under a reserved key.
    pub(super) fn request(&self, reserved: &str) -> Vec<u8> {
        format!("{}{OURS}/{reserved}", self.prefix).into_bytes()
    }

    /// All places of an election.
    pub(super) fn places(&self, election: &str) -> Range {
        range(format!("{}{election}/", self.prefix))
    }

    /// All companions of an election.
    pub(super) fn companions(&self, election: &str) -> Range {
        range(format!("{}{OURS}/{election}/", self.prefix))
    }

    /// All operator's requests.
    pub(super) fn requests(&self) -> Range {
        range(format!("{}{OURS}/{}", self.prefix, request::RESERVED))
    }

    /// All companions and operator's requests, without the birth record.
    pub(super) fn watched(&self) -> Range {
        range(format!("{}{OURS}/", self.prefix))
    }

    /// The birth record that would exist if an election's key were a prefix.
    pub(super) fn birth_inside(&self, election: &str) -> Vec<u8> {
        format!("{}{election}/{OURS}", self.prefix).into_bytes()
    }

    /// The other prefix inside the election's keys, if this key is one of those that incumbent itself keeps for that
    /// prefix.
    pub(super) fn prefix_inside(&self, election: &str, kv: &KeyValue) -> Option<String> {
        let name = name_of(kv, &self.places(election));
        inside(&name).map(|begin| format!("{}{election}/{begin}", self.prefix))
    }

    /// The keys of an election that are places, in the order of their creation, without those that belong to another
    /// prefix.
    pub(super) fn only_places<'kv>(&self, election: &str, kvs: &'kv [KeyValue]) -> Vec<&'kv KeyValue> {
        let range = self.places(election);
        let names: Vec<_> = kvs.iter().map(|kv| name_of(kv, &range)).collect();
        let others: BTreeSet<_> = names.iter().filter_map(|name| inside(name)).collect();
        // A key of an election under another prefix has a slash after that prefix.
        let is_place = |name: &String| {
            let of = |other: &&str| name.strip_prefix(*other).is_some_and(|name| name.contains('/'));
            inside(name).is_none() && !others.iter().any(of)
        };
        kvs.iter().zip(&names).filter(|(_, name)| is_place(name)).map(|(kv, _)| kv).collect()
    }

    /// The message that a prefix lies inside an election's keys.
    pub(super) fn shares_keys(&self, election: &str, inside: &str) -> String {
        format!(
            "the election's key {election:?} under the prefix {:?} shares keys with the prefix {inside:?} of etcd, whose \
             keys would count as its candidates; give the election another key, or one of the two another prefix",
            self.prefix
        )
    }

    /// A range with all keys that could be places of an election with the same name as the prefix; `None` without a
    /// prefix.
    pub(super) fn places_of_another(&self) -> Option<Range> {
        // A place's name is its lease in hexadecimal.
        let key = |digit| format!("{}{digit}", self.prefix).into_bytes();
        self.have_a_prefix().then(|| (key('0'), key('g')))
    }

    /// The lease after which a key directly under the prefix is named, if it has the form of a lease.
    pub(super) fn lease_named_by(&self, key: &[u8]) -> Option<LeaseId> {
        let name = std::str::from_utf8(key.strip_prefix(self.prefix.as_bytes())?).ok()?;
        let lease = LeaseId(u64::from_str_radix(name, 16).ok()?);
        (lease.to_string() == name).then_some(lease)
    }

    /// Whether a key is a place of an election with the same name as the prefix: its name is its own lease.
    pub(super) fn is_place_of_another(&self, kv: &KeyValue) -> bool {
        self.lease_named_by(&kv.key).is_some_and(|named| lease(kv.lease) == Some(named))
    }

    /// The first key after this key's first segment that could be a place of an election with the same name as the
    /// prefix.
    pub(super) fn next_segment(&self, key: &[u8]) -> Option<Vec<u8>> {
        let name = key.strip_prefix(self.prefix.as_bytes())?;
        let segment = name.iter().position(|byte| *byte == b'/')?;
        // The byte after the slash.
        Some([self.prefix.as_bytes(), &name[..segment], b"0"].concat())
    }

    /// The message that the prefix lies inside the keys of the election with this place.
    pub(super) fn is_inside(&self, place: &[u8]) -> String {
        let path = self.prefix.strip_suffix('/').unwrap_or(&self.prefix);
        let (parent, election) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
        format!(
            "the prefix {:?} of etcd shares keys with the election {election:?} under the prefix {parent:?}, in which {:?} \
             is a candidate's place; choose another prefix",
            self.prefix,
            String::from_utf8_lossy(place)
        )
    }

    /// The message for a failed check of whether the prefix lies inside the keys of an election.
    pub(super) fn is_not_checked(&self, why: &str) -> String {
        format!(
            "cannot check whether the prefix {0:?} of etcd shares keys with an election of another prefix, because \
             this user may not read all keys under it ({why}): make sure that no election is named like its last \
             part",
            self.prefix
        )
    }

    /// Whether our own keys would look like the keys that incumbent keeps for another prefix.
    pub(super) fn is_of_another(&self) -> bool {
        inside(&self.prefix).is_some()
    }

    pub(super) fn have_a_prefix(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// The election under the prefix whose place this key may be: Go's clients end a place's name with its lease.
    pub(super) fn election_of<'key>(&self, key: &'key [u8]) -> Option<&'key str> {
        let name = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        let (election, lease) = name.split_once('/')?;
        let is_place = !lease.is_empty() && lease.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_place && Self::check(election).is_ok()).then_some(election)
    }
}

/// The part of a key before incumbent's own segment.
fn inside(name: &str) -> Option<&str> {
    let mut at = 0;
    for segment in name.split('/') {
        if segment == OURS {
            // Where a segment begins.
            return Some(&name[..at]);
        }
        at += segment.len() + 1;
    }
    None
}

/// All keys that begin with a non-empty text.
fn range(begin: String) -> Range {
    let begin = begin.into_bytes();
    let mut end = begin.clone();
    // No byte of UTF-8 text is 255.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    (begin, end)
}

/// The part of a key after its range's prefix.
pub(super) fn name_of(kv: &KeyValue, range: &Range) -> String {
    String::from_utf8_lossy(kv.key.strip_prefix(range.0.as_slice()).unwrap_or(&kv.key)).into_owned()
}

pub(super) fn place_of(kv: &KeyValue, range: &Range) -> Place {
    Place {
        key: name_of(kv, range),
        created: revision(kv.create_revision),
        modified: revision(kv.mod_revision),
        lease: lease(kv.lease),
        name: name_in(&kv.value),
    }
}

/// The candidate's name in a place.
fn name_in(value: &[u8]) -> String {
    match value.len() {
        0..=LONGEST_VALUE => String::from_utf8_lossy(value).into_owned(),
        bytes => format!("(not a candidate's name: {bytes} bytes)"),
    }
}

pub(super) fn companion_of(kv: &KeyValue, range: &Range) -> Companion {
    // A companion with an unreadable value is still a companion, and holds other candidates back.
    let value: Option<Value> = serde_json::from_slice(&kv.value).ok();
    let nonce = value.as_ref().and_then(|value| u128::from_str_radix(&value.nonce, 16).ok()).map(Nonce);
    let value = value.unwrap_or_default();
    Companion {
        key: name_of(kv, range),
        created: revision(kv.create_revision),
        modified: revision(kv.mod_revision),
        lease: lease(kv.lease),
        nonce,
        lease_time: Duration::from_millis(value.lease_ms),
        successor: value.successor,
        metadata: value.metadata.into_iter().collect(),
    }
}

/// The value of a companion, in JSON. Unknown members come from later versions.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Value {
    nonce: String,
    lease_ms: u64,
    /// The time of day at which the owner became a candidate, in milliseconds since 1970.
    #[serde(default)]
    since_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    successor: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

pub(super) fn companion_value(identity: &Identity, successor: Option<&str>) -> Vec<u8> {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let value = Value {
        nonce: identity.nonce.to_string(),
        lease_ms: millis(identity.lease_time),
        since_ms: millis(identity.since.duration_since(UNIX_EPOCH).unwrap_or_default()),
        successor: successor.map(str::to_owned),
        metadata: identity.metadata.iter().cloned().collect(),
    };
    // There are only strings and numbers, so the value can always be written as JSON.
    serde_json::to_vec(&value).unwrap_or_default()
}

/// How long a companion's owner has been a candidate, by its own claim and this machine's time of day.
pub(super) fn standing_for(kv: &KeyValue) -> Duration {
    let value: Value = serde_json::from_slice(&kv.value).unwrap_or_default();
    let since = UNIX_EPOCH.checked_add(Duration::from_millis(value.since_ms));
    since.and_then(|since| SystemTime::now().duration_since(since).ok()).unwrap_or_default()
}

/// The word in a birth record by which an operator states that the prefix was never used before.
const NEVER_USED: &str = "never-used";

/// The value of a new birth record.
pub(super) fn birth_value(incarnation: Incarnation, never_used: bool) -> Vec<u8> {
    match never_used {
        true => format!("{} {NEVER_USED}", incarnation.0).into_bytes(),
        false => incarnation.0.to_string().into_bytes(),
    }
}

/// The incarnation in a birth record, and whether the prefix was never used before; `None` for a value that this crate did
/// not write.
pub(super) fn birth_of(kv: &KeyValue) -> Option<(Incarnation, bool)> {
    let text = std::str::from_utf8(&kv.value).ok()?;
    let (number, never_used) = match text.split_once(' ') {
        None => (text, false),
        Some((number, word)) => (number, word == NEVER_USED),
    };
    Some((Incarnation(number.parse().ok()?), never_used))
}

/// The incarnation in a birth record.
pub(super) fn incarnation_of(kv: &KeyValue) -> Option<Incarnation> {
    birth_of(kv).map(|(incarnation, _)| incarnation)
}

/// A revision as etcd counts it: from 1, so it is never negative.
pub(super) fn revision(number: i64) -> Revision {
    Revision(u64::try_from(number).unwrap_or(0))
}

/// A lease in etcd's numbering. Only the bits count, because the number may be negative for other clients.
fn lease(number: i64) -> Option<LeaseId> {
    (number != 0).then_some(LeaseId(number.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_key_of_other_clients_and_the_companion_is_outside_their_range() {
        let keys = Keys::new("prod/");
        let lease = LeaseId(0x694d_71dd_d4a2_c9cb);
        assert_eq!(keys.place("jobs", lease), b"prod/jobs/694d71ddd4a2c9cb");
        assert_eq!(keys.companion("jobs", lease), b"prod/.incumbent/jobs/694d71ddd4a2c9cb");
        assert_eq!(keys.birth(), b"prod/.incumbent");
        assert_eq!(keys.places("jobs"), (b"prod/jobs/".to_vec(), b"prod/jobs0".to_vec()));
    }

    #[test]
    fn a_birth_record_is_a_number_and_perhaps_the_statement_that_the_prefix_is_new() {
        let read = |value: &[u8]| birth_of(&KeyValue { value: value.to_vec(), ..KeyValue::default() });
        for never_used in [false, true] {
            assert_eq!(read(&birth_value(Incarnation(42), never_used)), Some((Incarnation(42), never_used)));
        }
        assert_eq!(read(b"42 later words"), Some((Incarnation(42), false)));
        assert_eq!(read(b"x"), None);
    }

    #[test]
    fn an_election_that_would_share_keys_with_another_is_refused() {
        for key in ["", "a/b", ".incumbent", ".incumbent.x"] {
            assert_eq!(Keys::check(key).unwrap_err().kind(), ErrorKind::InvalidName, "{key}");
        }
        Keys::check("billing-cron").unwrap();
    }

    fn key(name: &str, lease: i64) -> KeyValue {
        KeyValue { key: name.as_bytes().to_vec(), lease, ..KeyValue::default() }
    }

    #[test]
    fn a_key_of_ours_in_an_elections_range_belongs_to_another_prefix() {
        let keys = Keys::new("x/");
        let inside = |name| keys.prefix_inside("app", &key(name, 0));
        assert_eq!(inside("x/app/.incumbent").as_deref(), Some("x/app/"));
        assert_eq!(inside("x/app/.incumbent/jobs/a1").as_deref(), Some("x/app/"));
        assert_eq!(inside("x/app/deep/er/.incumbent").as_deref(), Some("x/app/deep/er/"));
        for place in ["x/app/a1", "x/app/.incumbents", "x/app/deep/a1"] {
            assert_eq!(inside(place), None, "{place}");
        }
        assert!(Keys::new("app/.incumbent/").is_of_another() && !Keys::new("app/").is_of_another());
    }

    #[test]
    fn no_key_of_another_prefix_is_listed_as_a_place() {
        let keys = Keys::new("");
        let all = ["app/.incumbent", "app/jobs/a1", "app/.incumbent/jobs/a1", "app/b2", "app/go"];
        let kvs = all.map(|name| key(name, 1));
        let places: Vec<_> = keys.only_places("app", &kvs).into_iter().map(|kv| kv.key.clone()).collect();
        assert_eq!(places, [b"app/b2".to_vec(), b"app/go".to_vec()]);
        // If no other prefix is in use, every key is a place, as for Go's clients.
        assert_eq!(keys.only_places("app", &[key("app/jobs/a1", 1)]).len(), 1);
    }

    #[test]
    fn a_place_of_an_election_that_the_prefix_is_named_like_is_named_after_its_own_lease() {
        let keys = Keys::new("x/app/");
        assert!(keys.is_place_of_another(&key("x/app/a1", 0xa1)));
        assert!(keys.is_place_of_another(&key("x/app/ffffffffffffffff", -1)));
        for (name, lease) in [("x/app/a1", 0xa2), ("x/app/a1", 0), ("x/app/jobs/a1", 0xa1), ("x/a1", 0xa1)] {
            assert!(!keys.is_place_of_another(&key(name, lease)), "{name}");
        }
        let says = keys.is_inside(b"x/app/a1");
        assert!(says.contains("the election \"app\" under the prefix \"x/\""), "{says}");
        assert!(
            Keys::new("app/").is_inside(b"app/a1").contains("the election \"app\" under the prefix \"\"")
        );
        assert_eq!(keys.next_segment(b"x/app/jobs/a1"), Some(b"x/app/jobs0".to_vec()));
        assert_eq!(keys.next_segment(b"x/app/a1"), None);
        assert_eq!(Keys::new("").places_of_another(), None);
    }

    #[test]
    fn a_companion_is_read_as_it_was_written_and_one_of_another_kind_still_counts() {
        let keys = Keys::new("");
        let metadata = [("zone".to_owned(), "b".to_owned())];
        let identity = Identity {
            name: "egret".into(),
            nonce: Nonce(7),
            lease_time: Duration::from_secs(6),
            since: UNIX_EPOCH,
            metadata: metadata.to_vec(),
        };
        let value = companion_value(&identity, Some("heron"));
        let key = keys.companion("jobs", LeaseId(10));
        let mut kv = KeyValue { key, create_revision: 5, mod_revision: 6, value, lease: -2 };
        let read = companion_of(&kv, &keys.companions("jobs"));
        assert_eq!(
            (read.key.as_str(), read.created, read.lease),
            ("a", Revision(5), Some(LeaseId(u64::MAX - 1)))
        );
        assert_eq!((read.nonce, read.lease_time), (Some(Nonce(7)), Duration::from_secs(6)));
        assert_eq!((read.successor.as_deref(), read.metadata.as_slice()), (Some("heron"), &metadata[..]));
        kv.value = b"?".to_vec();
        let read = companion_of(&kv, &keys.companions("jobs"));
        assert_eq!((read.nonce, read.lease_time, read.created), (None, Duration::ZERO, Revision(5)));
    }
}
