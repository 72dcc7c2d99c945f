//! A campaign's record reads back with its meaning.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use incumbent::fuzzing;
use incumbent_core::campaign::{Campaign, Input, Output, Settings};
use incumbent_core::record::{Attempt, Entry, Nonce, Record, Release, WriteId};
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};

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

    /// A campaign by these wishes, unless it is refused.
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

pub(super) fn run(bytes: &[u8]) {
    let Ok(wishes) = Wishes::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    let Some(mut campaign) = wishes.campaign() else { return };
    let lease = campaign.lease_time();
    let own_lease = wishes.own_lease.then_some(lease * 2);
    let written = |write: &Write| {
        let message = fuzzing::encode(write, own_lease);
        let (headers, payload) = message.expect("what a campaign writes can be carried");
        let ttl = headers.get("Nats-TTL").map(|text| text.as_str().to_string());
        (fuzzing::decode(wishes.sequence, Some(&headers), &payload), ttl)
    };
    let write_id = |attempt| Some(WriteId { nonce: Nonce(wishes.nonce), attempt: Attempt(attempt) });

    let (entry, ttl) = written(&acquire(&mut campaign));
    let Entry::Live(record) = entry else { panic!("an acquire reads as {entry:?}") };
    // Whole milliseconds, and never less than the holder counts on.
    let told = record.lease.expect("a lease");
    assert!(told >= lease && told - lease < Duration::from_millis(1), "{told:?} for {lease:?}");
    // Whole seconds, and never more than the record may live.
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
    let Output::Read(read) = campaign.poll() else { panic!("it looks first") };
    campaign.handle(Instant::ZERO, Input::Read { read, result: Ok(Entry::Vacant) }).expect("no misuse");
    write(campaign).expect("it acquires a vacant key")
}

/// Lets it win and leave; `None` where it cannot leave that way.
fn release(campaign: &mut Campaign, leave: Input, incarnation: Incarnation) -> Option<Write> {
    let outcome = Outcome::Applied { revision: Revision(1), incarnation: Some(incarnation) };
    campaign.handle(Instant::ZERO, Input::Wrote { attempt: Attempt(1), outcome }).expect("no misuse");
    assert!(campaign.is_leader(Instant::ZERO), "a store that was never used is won at once");
    campaign.handle(Instant::ZERO, leave).ok()?;
    campaign.handle(Instant::ZERO, Input::Drained).expect("no misuse");
    Some(write(campaign).expect("it releases the key"))
}

fn write(campaign: &mut Campaign) -> Option<Write> {
    loop {
        match campaign.poll() {
            Output::Write(write) => return Some(write),
            Output::WakeAt(_) => return None,
            _ => {}
        }
    }
}
