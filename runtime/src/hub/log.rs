//! What is logged of a campaign, and how loud.
//!
//! error: a person must act; warn: a promise is at risk; info: a term begins or ends; debug: a decision;
//! trace: a message. A candidate that waits and is well logs nothing above debug.

use incumbent_core::campaign::{Event, Trouble};
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
        Event::Campaigned(state) => tracing::debug!(election, candidate, state = state.code(), "campaigning"),
        Event::Trouble(trouble) if needs_a_person(trouble) => {
            tracing::error!(election, candidate, "{trouble}");
        }
        Event::Trouble(trouble) => tracing::warn!(election, candidate, "{trouble}"),
    }
}

/// Whether it stays as it is until somebody acts.
fn needs_a_person(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Store(fault) => fault.kind != FaultKind::Unreachable,
        Trouble::StoreReset { barred, .. } => *barred,
        Trouble::MaxAgeChanged { to, .. } => to.is_none(),
        Trouble::NotExpiring { .. } | Trouble::NotARecord { .. } | Trouble::SameNonce { .. } => true,
        Trouble::SameName { .. } | Trouble::ShortLease { .. } | Trouble::MarkersMislead => false,
    }
}
