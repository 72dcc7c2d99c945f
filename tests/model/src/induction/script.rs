//! A script for what two candidates cannot show: the late release of an old leader, over the records of a live one.

use std::time::Duration;

use incumbent_core::campaign::Settings;
use incumbent_core::induction::{Campaign, Group, Input, Kind, Membership, Output, Record, value};
use incumbent_core::record::{Attempt, Nonce, WriteId};
use incumbent_core::{Instant, Revision};

use super::state::topic;

/// Plays it: the first candidate wrote the record at offset 0, the second, its successor, the one at 1; then the release
/// of the first lands, which names offset 0, and a third is assigned and claims.
///
/// # Errors
/// The third leads at once, beside the second.
pub fn late_release() -> Result<(), String> {
    let now = Instant::ZERO + Duration::from_secs(3600);
    let campaign =
        Campaign::new(Settings::new("c"), Group::default(), topic(1, now), Nonce(3), 1, Instant::ZERO);
    let mut campaign = campaign.map_err(|refused| refused.to_string())?;
    let give = |campaign: &mut Campaign, input: Input| -> Result<(), String> {
        campaign.handle(now, input).map_err(|misuse| misuse.to_string())?;
        while !matches!(campaign.poll(), Output::WakeAt(_)) {}
        Ok(())
    };
    give(&mut campaign, Input::Campaign)?;
    let release = Kind::Release { proven: Revision(0) };
    for (offset, author, kind) in [(0, 1, Kind::Heartbeat), (1, 2, Kind::Heartbeat), (2, 1, release)] {
        give(&mut campaign, Input::Record(record(offset, author, kind)))?;
    }
    give(&mut campaign, Input::Assigned { member: "m".into() })?;
    let attempt = Attempt(1);
    give(&mut campaign, Input::Published { attempt, result: Ok(Revision(3)) })?;
    let mut claim = record(3, 3, Kind::Claim);
    claim.name = "c".into();
    give(&mut campaign, Input::Record(claim))?;
    give(&mut campaign, Input::Inspected(Ok(topic(1, now))))?;
    let membership = Membership { member: "m".into(), generation: 1 };
    give(&mut campaign, Input::Committed { attempt, result: Ok(membership) })?;
    match campaign.is_leader(now) {
        true => Err("a third leads over the late release of a first, beside a second".into()),
        false => Ok(()),
    }
}

fn record(offset: u64, author: u128, kind: Kind) -> Record {
    Record {
        kind,
        write_id: Some(WriteId { nonce: Nonce(author), attempt: Attempt(1) }),
        ..Record::decode(Revision(offset), value(Duration::ZERO, "other").as_bytes(), [])
    }
}
