//! The answers of servers.

use incumbent::{Clock, fuzzing};
use incumbent_core::Instant;
use incumbent_core::campaign::{Campaign, Settings};
use incumbent_core::record::Nonce;
use incumbent_core::store::Outcome;
use serde_json::Value;

/// Only an answer that is one in every respect is an acknowledgement.
pub(super) fn of_a_write(bytes: &[u8]) {
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
        Outcome::Busy => assert_eq!(answer["error"]["err_code"], 10164),
        Outcome::NotSent => assert_eq!(answer["error"]["err_code"], 10167),
        Outcome::Failed(fault) => {
            assert!(answer["error"]["err_code"].is_u64());
            assert!(!fault.detail.is_empty());
        }
        Outcome::Unknown => {}
    }
}

/// A stream that an election may use gives info that a campaign takes, or refuses with a reason.
pub(super) fn of_an_inspection(bytes: &[u8]) {
    let clock = Clock::manual(Instant::ZERO);
    let Ok((store, info)) = fuzzing::stream(bytes, &clock) else { return };
    assert!(store.shortest <= store.longest, "{store:?}");
    assert!(info.max_age.is_none_or(|age| !age.is_zero()), "{info:?}");
    if let Err(refused) = Campaign::new(Settings::new("a"), store, &info, Nonce(1), 1, Instant::ZERO) {
        assert!(!refused.remedy.is_empty(), "{refused:?}");
    }
}

/// Every listed candidate could exist, and reads back as it was listed.
pub(super) fn of_a_roll_call(bytes: &[u8]) {
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
