//! Records as messages: a written record reads back, and any message or answer is read.

use std::str::FromStr;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use async_nats::{HeaderMap, HeaderName, HeaderValue};
use incumbent::{Clock, fuzzing};
use incumbent_core::campaign::{Answer, Campaign, Input, Output, Request, Settings};
use incumbent_core::record::{
    Attempt, Entry, LEASE, METADATA, NONCE, Nonce, RELEASE, Record, Release, SUCCESSOR, WriteId,
};
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use serde_json::Value;

/// The fuzz target. The first byte selects the meaning of the others.
pub fn run(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind {
        b'w' => written(bytes),
        b'f' => message(bytes),
        b'a' => of_a_write(bytes),
        b'r' => of_a_roll_call(bytes),
        b's' => of_an_inspection(bytes),
        _ => {}
    }
}

#[derive(Debug, Arbitrary)]
struct Wishes<'a> {
    nonce: u128,
    incarnation: u64,
    sequence: u64,
    lease: u64,
    own_lease: bool,
    name: &'a str,
    successor: Option<&'a str>,
    metadata: Vec<(&'a str, &'a str)>,
}

impl Wishes<'_> {
    fn metadata(&self) -> Vec<(String, String)> {
        self.metadata.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect()
    }

    /// A campaign with these wishes, unless it is refused.
    fn campaign(&self) -> Option<Campaign> {
        let lease = Duration::from_nanos(self.lease);
        let store = Capabilities {
            own_lease: self.own_lease,
            lease_step: Duration::from_millis(1),
            shortest: Duration::ZERO,
            longest: Duration::MAX,
            granularity: Duration::ZERO,
            expiry_pushed: true,
            incarnation_acked: true,
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::ZERO,
        };
        let info = StoreInfo {
            asked_at: Instant::ZERO,
            incarnation: Incarnation(self.incarnation),
            age: None,
            never_used: true,
            max_age: Some(if self.own_lease { lease * 2 } else { lease }),
            newest: None,
        };
        let settings = Settings {
            lease: Some(lease),
            splay: Some(Duration::ZERO),
            metadata: self.metadata(),
            ..Settings::new(self.name)
        };
        Campaign::new(settings, store, &info, Nonce(self.nonce), 1, Instant::ZERO).ok()
    }
}

fn written(bytes: &[u8]) {
    let Ok(wishes) = Wishes::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    let Some(mut campaign) = wishes.campaign() else { return };
    let lease = campaign.lease_time();
    let own_lease = wishes.own_lease.then_some(lease * 2);
    let written = |write: &Write| {
        let message = fuzzing::encode(write.clone(), own_lease);
        let (headers, payload) = message.expect("what a campaign writes can be carried");
        let ttl = headers.get("Nats-TTL").map(|text| text.as_str().to_string());
        (fuzzing::decode(wishes.sequence, Some(&headers), &payload), ttl)
    };
    let write_id = |attempt| Some(WriteId { nonce: Nonce(wishes.nonce), attempt: Attempt(attempt) });

    let (entry, ttl) = written(&acquire(&mut campaign));
    let Entry::Live(record) = entry else { panic!("an acquire reads as {entry:?}") };
    // Whole milliseconds, and never less than the lease on which the holder counts.
    let told = record.lease.expect("a lease");
    assert!(told >= lease && told - lease < Duration::from_millis(1), "{told:?} for {lease:?}");
    // Whole seconds, and never longer than the record may live.
    assert_eq!(ttl.is_some(), wishes.own_lease, "{ttl:?}");
    assert!(ttl.is_none_or(|ttl| ttl == format!("{}s", lease.as_secs())));
    let mut metadata = [wishes.metadata(), record.metadata.clone()];
    metadata.iter_mut().for_each(|pairs| pairs.sort());
    assert_eq!(metadata[0], metadata[1]);
    let revision = Revision(wishes.sequence);
    let candidate = wishes.name.to_string();
    assert_eq!(record, Record { revision, candidate, write_id: write_id(1), ..record.clone() });

    let leave = wishes.successor.map_or(Input::Resign, |name| Input::HandOver(name.into()));
    let Some(write) = release(&mut campaign, leave, Incarnation(wishes.incarnation)) else { return };
    let (entry, ttl) = written(&write);
    assert_eq!(ttl, None, "a tombstone with a lease time");
    let successor = wishes.successor.map(str::to_string);
    let incarnation = Incarnation(wishes.incarnation);
    let owed = Duration::ZERO;
    let release = Release { revision, write_id: write_id(2), owed, incarnation, successor };
    assert_eq!(entry, Entry::Released(release));
}

/// Lets it read a vacant key, and acquire it.
fn acquire(campaign: &mut Campaign) -> Write {
    campaign.handle(Instant::ZERO, Input::Campaign).expect("no misuse");
    let Output::Ask(Request::Read(read)) = campaign.poll() else { panic!("it looks first") };
    campaign
        .handle(Instant::ZERO, Input::Answered(Answer::Read { read, result: Ok(Entry::Vacant) }))
        .expect("no misuse");
    write(campaign).expect("it acquires a vacant key")
}

/// Lets it win and leave; `None` if it cannot leave that way.
fn release(campaign: &mut Campaign, leave: Input, incarnation: Incarnation) -> Option<Write> {
    let outcome = Outcome::Applied { revision: Revision(1), incarnation: Some(incarnation) };
    campaign
        .handle(Instant::ZERO, Input::Answered(Answer::Wrote { attempt: Attempt(1), outcome }))
        .expect("no misuse");
    assert!(campaign.is_leader(Instant::ZERO), "a store that was never used is won at once");
    campaign.handle(Instant::ZERO, leave).ok()?;
    campaign.handle(Instant::ZERO, Input::Drained).expect("no misuse");
    Some(write(campaign).expect("it releases the key"))
}

fn write(campaign: &mut Campaign) -> Option<Write> {
    loop {
        match campaign.poll() {
            Output::Ask(Request::Write(write)) => return Some(write),
            Output::WakeAt(_) => return None,
            _ => {}
        }
    }
}

#[derive(Debug, Arbitrary)]
struct Message<'a> {
    sequence: u64,
    headers: Vec<(Name<'a>, &'a str)>,
    payload: &'a [u8],
}

#[derive(Debug, Arbitrary)]
enum Name<'a> {
    Nonce,
    Lease,
    Release,
    Successor,
    Metadata(&'a str),
    Operation,
    Marker,
    Lower(Box<Name<'a>>),
    Any(&'a str),
}

impl Name<'_> {
    fn text(&self) -> String {
        match self {
            Self::Nonce => NONCE.into(),
            Self::Lease => LEASE.into(),
            Self::Release => RELEASE.into(),
            Self::Successor => SUCCESSOR.into(),
            Self::Metadata(key) => format!("{METADATA}{key}"),
            Self::Operation => "KV-Operation".into(),
            Self::Marker => "Nats-Marker-Reason".into(),
            Self::Lower(name) => name.text().to_ascii_lowercase(),
            Self::Any(text) => (*text).into(),
        }
    }
}

impl Message<'_> {
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::from_str(&name.text()), HeaderValue::from_str(value))
            {
                headers.append(name, value);
            }
        }
        headers
    }
}

fn message(bytes: &[u8]) {
    let Ok(message) = Message::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    let headers = message.headers();
    let entry = fuzzing::decode(message.sequence, Some(&headers), message.payload);
    assert_eq!(entry.revision(), Some(Revision(message.sequence)));

    let text = |name: &str| headers.get(name).map(HeaderValue::as_str);
    let is_tombstone = matches!(text("KV-Operation"), Some("DEL" | "PURGE"));
    let reason = text("Nats-Marker-Reason");
    assert_eq!(matches!(entry, Entry::Expired { .. }), reason == Some("MaxAge"), "{entry:?}");
    assert_eq!(entry.live().is_some(), reason.is_none() && !is_tombstone, "{entry:?}");
    if let Entry::Live(record) = &entry {
        assert_eq!(record.candidate, String::from_utf8_lossy(message.payload));
        assert!(record.lease.is_none_or(|lease| !lease.is_zero()));
    }

    // A map returns its headers in another order each time.
    for _ in 0..4 {
        let again = fuzzing::decode(message.sequence, Some(&message.headers()), message.payload);
        assert_eq!(sorted(again), sorted(entry.clone()), "the same message reads in two ways");
    }
}

fn sorted(mut entry: Entry) -> Entry {
    if let Entry::Live(record) = &mut entry {
        record.metadata.sort();
    }
    entry
}

/// An answer is an acknowledgement only if every part of it fits.
fn of_a_write(bytes: &[u8]) {
    let outcome = fuzzing::answer(bytes);
    // Fields that the adapter does not read may hold anything.
    let text = String::from_utf8_lossy(bytes);
    let answer = serde_json::from_str::<Value>(&text).unwrap_or(Value::Null);
    match outcome {
        Outcome::Applied { revision, incarnation } => {
            assert_eq!(incarnation, None);
            assert_eq!(answer["seq"].as_u64(), Some(revision.0));
            assert_eq!(answer["stream"], "KV_b");
            assert!(revision.0 > 0 && answer["duplicate"] != true && answer["error"].is_null());
        }
        Outcome::Refused { .. } => assert_eq!(answer["error"]["err_code"], 10071),
        Outcome::Conflict => panic!("a refusal without a revision proves nothing on NATS: {text}"),
        Outcome::Busy => assert_eq!(answer["error"]["err_code"], 10164),
        Outcome::NotSent => assert_eq!(answer["error"]["err_code"], 10167),
        Outcome::Failed(fault) => {
            assert!(answer["error"]["err_code"].is_u64());
            assert!(!fault.detail.is_empty());
        }
        Outcome::Unknown => {}
    }
}

/// A stream that an election may use gives info that a campaign accepts, or refuses with a reason.
fn of_an_inspection(bytes: &[u8]) {
    let clock = Clock::manual(Instant::ZERO);
    let Ok((store, info)) = fuzzing::stream(bytes, &clock) else { return };
    assert!(store.shortest <= store.longest, "{store:?}");
    assert!(info.max_age.is_none_or(|age| !age.is_zero()), "{info:?}");
    if let Err(refused) = Campaign::new(Settings::new("a"), store, &info, Nonce(1), 1, Instant::ZERO) {
        assert!(!refused.remedy.to_string().is_empty(), "{refused:?}");
    }
}

/// Every listed candidate could exist, and reads back as it was listed.
fn of_a_roll_call(bytes: &[u8]) {
    let present = fuzzing::candidates(bytes);
    for one in &present {
        assert!(!one.election.is_empty() && !one.name.is_empty(), "{one:?}");
        assert!(!one.name.contains(char::is_control) && !one.election.contains(char::is_control), "{one:?}");
    }
    let told: Vec<_> = fuzzing::candidate_answers(&present, 256)
        .iter()
        .flat_map(|answer| fuzzing::candidates(answer))
        .collect();
    assert_eq!(told, present);
}
