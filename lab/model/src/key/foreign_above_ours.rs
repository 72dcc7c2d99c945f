//! I9.

use std::time::Duration;

use incumbent_core::campaign::{Answer, Campaign, Event, Input, Output};
use incumbent_core::record::Entry;
use incumbent_core::store::Outcome;
use incumbent_core::{Incarnation, Instant, Revision};

use super::Key;
use crate::node::Node;
use crate::step::bit;

/// The timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What an input proves, and the effect that it must have.
#[derive(Debug, Default)]
pub struct Proof {
    /// The revision of a foreign record, if it is above all known revisions.
    foreign: Option<Revision>,
    /// For an input that proves nothing, whether a term must remain after it.
    nothing: Option<bool>,
    /// The store's incarnation, if it is another than the known one.
    pub(super) another: Option<Incarnation>,
}

pub(super) fn proof_of(node: &Node<Key>, input: &Input, now: Instant) -> Proof {
    let Some(campaign) = &node.campaign else { return Proof::default() };
    let seen = match input {
        Input::Watched(entry) => Some(entry),
        // Only the first answer to the newest read counts: a read that was given up or repeated gets a second answer.
        Input::Answered(Answer::Read { read, result: Ok(entry) }) => {
            let awaited = |(newest, asked)| newest == *read && now < asked + TIMEOUT;
            Some(entry).filter(|_| node.reading.is_some_and(awaited))
        }
        _ => None,
    };
    // A revision of another incarnation proves nothing.
    let foreign = seen.and_then(Entry::live).filter(|record| {
        let ours = record.write_id.is_some_and(|_| node.own & bit(record.revision.0) != 0);
        !ours && record.revision > node.known && node.watches == node.knows
    });
    let stale = match input {
        Input::Answered(Answer::Wrote { outcome: Outcome::Refused { current }, .. }) => {
            *current > Revision(0) && *current < node.known
        }
        Input::Answered(Answer::Read { result: Ok(entry), .. }) => {
            entry.revision().is_some_and(|seen| seen < node.known)
        }
        _ => false,
    };
    let silent = matches!(
        input,
        Input::Answered(Answer::Wrote { outcome: Outcome::Busy | Outcome::NotSent | Outcome::Unknown, .. })
    );
    let another = match input {
        // An inspection that was requested before something newer was known proves nothing.
        Input::Inspected(Ok(info)) if info.incarnation > node.knows && info.asked_at >= node.asked => {
            Some(info.incarnation)
        }
        _ => None,
    };
    Proof {
        foreign: foreign.map(|record| record.revision),
        nothing: (stale || silent).then(|| after_a_tick(campaign, node.term.is_some(), now)),
        another,
    }
}

/// Whether a term would remain if only time passed.
fn after_a_tick(campaign: &Campaign, mut told: bool, now: Instant) -> bool {
    let mut twin = campaign.clone();
    if twin.handle(now, Input::Tick).is_err() {
        return told;
    }
    loop {
        match twin.poll() {
            Output::Event(Event::Won(_)) => told = true,
            Output::Event(Event::Lost { .. }) => told = false,
            Output::WakeAt(_) => return told,
            _ => {}
        }
    }
}

pub(super) fn holds(node: &Node<Key>, proof: &Proof) -> Result<(), String> {
    if let (Some(revision), Some(term)) = (proof.foreign, node.term) {
        return Err(format!("saw a foreign record at {} but keeps leading with {}", revision.0, term.token));
    }
    match proof.nothing {
        Some(true) if node.term.is_none() => Err("lost from an answer that proves nothing".into()),
        Some(false) if node.term.is_some() => Err("won from an answer that proves nothing".into()),
        _ => Ok(()),
    }
}
