//! The log lines of a campaign, and their levels.
//!
//! error: a person must act; warn: a promise is at risk; info: a term begins or ends; debug: a decision;
//! trace: a message. A healthy candidate that waits logs nothing above debug.

use incumbent_core::campaign::{Event, Warning};
use incumbent_core::session::Request;
use incumbent_core::store::FaultKind;

use crate::standing::Standing;

pub(super) fn event(standing: &Standing, event: &Event) {
    let (election, candidate) = (&*standing.election, &*standing.candidate);
    match event {
        Event::Won(term) => tracing::info!(election, candidate, term = %term.token, "won"),
        Event::Draining { term, reason, .. } => {
            tracing::debug!(election, candidate, term = %term.token, "draining: {reason}");
        }
        Event::Lost { term, reason } => {
            tracing::info!(election, candidate, term = %term.token, "lost: {reason}");
        }
        Event::LeaderChanged(Some(leader)) => {
            tracing::debug!(election, candidate, leader = leader.name, "the leader changed");
        }
        Event::LeaderChanged(None) => tracing::debug!(election, candidate, "the seat is vacant"),
        Event::StateChanged(state) => {
            tracing::debug!(election, candidate, state = state.code(), "campaigning")
        }
        Event::Warning(warning) if needs_a_person(warning) => {
            tracing::error!(election, candidate, "{warning}");
        }
        Event::Warning(warning) => tracing::warn!(election, candidate, "{warning}"),
    }
}

/// An operator's request, which the campaign does or does not accept.
pub(super) fn considered(standing: &Standing, request: &Request, accepted: bool) {
    let (election, candidate) = (&*standing.election, &*standing.candidate);
    match (request, accepted) {
        (Request::HandOver { successor, .. }, true) => {
            tracing::info!(election, candidate, to = successor, "hands over, as an operator asks");
        }
        (Request::HandOver { .. }, false) => {
            tracing::debug!(election, candidate, "an operator's request to hand over means nothing here");
        }
        (Request::AcceptReset { seen, .. }, true) => {
            tracing::warn!(election, candidate, %seen, "tokens start again below this one, as an operator accepts");
        }
        (Request::AcceptReset { seen, .. }, false) => {
            tracing::debug!(election, candidate, %seen, "an operator's acceptance of a reset is not about this one");
        }
    }
}

/// Whether the condition lasts until a person acts.
fn needs_a_person(warning: &Warning) -> bool {
    match warning {
        Warning::Store(fault) => fault.kind != FaultKind::Unreachable,
        Warning::StoreReset { barred, .. } => *barred,
        Warning::MaxAgeChanged { to, .. } => to.is_none(),
        Warning::NotExpiring { .. } | Warning::NotARecord { .. } | Warning::SameNonce { .. } => true,
        Warning::SameName { .. } | Warning::ShortLease { .. } | Warning::MarkersMislead => false,
    }
}
