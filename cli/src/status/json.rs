//! An election as JSON.

use incumbent::Leader;
use incumbent::incumbent_core::record::Entry;
use incumbent::store::CandidateInfo;
use serde_json::{Value, json};

use super::seen::{Led, Seen};
use super::text::state;
use crate::output::millis;

/// A leader in the JSON form of all commands.
pub(crate) fn leader_json(leader: &Leader) -> Value {
    let metadata = leader.metadata.iter().map(|(key, text)| (key.clone(), json!(text)));
    json!({
        "name": leader.name,
        "nonce": leader.nonce.map(|nonce| nonce.to_string()),
        "revision": leader.revision.0,
        "metadata": metadata.collect::<serde_json::Map<_, _>>(),
    })
}

pub(super) fn json_of(seen: &Seen) -> Value {
    let successor = match &seen.entry {
        Entry::Released(release) => release.successor.as_deref(),
        _ => None,
    };
    let led = seen.led().and_then(|led| match led {
        Led::For(led) | Led::AtLeast(led) => Some(millis(led)),
        Led::SinceItsWin(_) | Led::NotYet => None,
    });
    let candidate = |candidate: &CandidateInfo| {
        let CandidateInfo { name, nonce, standing_for, .. } = candidate;
        json!({
            "name": name,
            "nonce": nonce.map(|nonce| nonce.to_string()),
            "standing_ms": nonce.map(|_| millis(*standing_for)),
            "holds": seen.holds(candidate),
        })
    };
    json!({
        "election": seen.key,
        "state": state(&seen.entry),
        "leader": seen.entry.live().map(|record| leader_json(&Leader::of(record))),
        "token": seen.token().map(|token| token.to_string()),
        "sequence": seen.token().map(|token| token.sequence.0),
        "led_ms": led,
        "lease_ms": seen.lease().map(millis),
        "left_ms": seen.left().map(millis),
        "margin_ms": seen.margin().map(millis),
        "renewed_ms_ago": seen.ago.map(millis),
        "revision": seen.entry.revision().map(|revision| revision.0),
        "successor": successor,
        "candidates": seen.candidates.as_ref().map(|all| all.iter().map(candidate).collect::<Vec<_>>()),
    })
}
