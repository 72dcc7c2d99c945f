//! What is logged of a campaign, and how loud.
//!
//! error: a person must act; warn: a promise is at risk; info: a term begins or ends; debug: a decision;
//! trace: a message. A candidate that waits and is well logs nothing above debug.

use incumbent_core::campaign::{Event, Warning};
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

/// Whether it stays as it is until somebody acts.
fn needs_a_person(warning: &Warning) -> bool {
    match warning {
        Warning::Store(fault) => fault.kind != FaultKind::Unreachable,
        Warning::StoreReset { barred, .. } => *barred,
        Warning::MaxAgeChanged { to, .. } => to.is_none(),
        Warning::NotExpiring { .. } | Warning::NotARecord { .. } | Warning::SameNonce { .. } => true,
        Warning::SameName { .. } | Warning::ShortLease { .. } | Warning::MarkersMislead => false,
    }
}
