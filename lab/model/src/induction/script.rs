//! A script for a case that needs three candidates: an old leader's late release lands above the records of a live
//! leader.

use std::time::Duration;

use incumbent_core::campaign::Settings;
use incumbent_core::induction::{
    Answer, Campaign, Group, Input, Kind, Membership, Output, Record, Shown, TopicId, value,
};
use incumbent_core::record::{Attempt, Nonce, WriteId};
use incumbent_core::{Instant, Revision};

use super::topic;

/// Plays the script. The first candidate wrote the record at offset 0; the second, its successor, wrote the one at
/// offset 1. Then the first candidate's release lands, which names offset 0 or an offset of a topic that no longer
/// exists. A third candidate gets the partition and claims.
///
/// # Errors
/// Returns an error if the third candidate leads at once, at the same time as the second.
pub fn late_release() -> Result<(), String> {
    play(Revision(0), TopicId(1))?;
    // This release was written for a topic that no longer exists, and names an offset of that topic.
    play(Revision(9), TopicId(7))
}

fn play(proven: Revision, written_for: TopicId) -> Result<(), String> {
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
    let release = Record { topic: Some(written_for), ..record(2, 1, Kind::Release { proven }) };
    for record in [record(0, 1, Kind::Heartbeat), record(1, 2, Kind::Heartbeat), release] {
        give(&mut campaign, Shown::Record(record).into())?;
    }
    give(&mut campaign, Answer::Assigned { member: "m".into() }.into())?;
    give(&mut campaign, Answer::CommittedToken { number: 1, result: Ok(String::new()) }.into())?;
    let attempt = Attempt(1);
    give(&mut campaign, Answer::Published { attempt, result: Ok(Revision(3)) }.into())?;
    let mut claim = record(3, 3, Kind::Claim);
    claim.name = "c".into();
    give(&mut campaign, Shown::Record(claim).into())?;
    give(&mut campaign, Answer::Inspected(Ok(topic(1, now))).into())?;
    let membership = Membership { member: "m".into(), generation: 1, owns: true };
    give(&mut campaign, Answer::Committed { attempt, result: Ok(membership) }.into())?;
    match campaign.is_leader(now) {
        true => Err("a third leads over the late release of the first, while the second still leads".into()),
        false => Ok(()),
    }
}

fn record(offset: u64, author: u128, kind: Kind) -> Record {
    Record {
        kind,
        write_id: Some(WriteId { nonce: Nonce(author), attempt: Attempt(1) }),
        topic: Some(TopicId(1)),
        ..Record::decode(Revision(offset), value(Duration::ZERO, "other").as_bytes(), [])
    }
}
