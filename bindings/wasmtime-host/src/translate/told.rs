//! Conversion of the types that a guest returns.

use std::time::Duration;

use incumbent::incumbent_core::campaign::{Event, Leader, Lease, Reason, State, Term, Warning};
use incumbent::incumbent_core::record::{Headers, Nonce};
use incumbent::incumbent_core::store::{Fault, FaultKind};
use incumbent::incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::bindings::incumbent::election::{events, types};

pub(crate) fn own_fault(fault: types::Fault) -> Fault {
    let (kind, detail) = match fault {
        types::Fault::Unreachable(detail) => (FaultKind::Unreachable, detail),
        types::Fault::Denied(detail) => (FaultKind::Denied, detail),
        types::Fault::Broken(detail) | types::Fault::Other(detail) => (FaultKind::Broken, detail),
    };
    Fault { kind, detail }
}

pub(crate) fn lease(lease: events::Lease) -> Lease {
    Lease { token: token(lease.token), deadline: Instant::from_nanos(lease.deadline) }
}

/// Returns `None` for a kind of warning that this version does not know; it is logged.
pub(crate) fn event(event: events::Event) -> Option<Event> {
    Some(match event {
        events::Event::Won(won) => Event::Won(term(won)),
        events::Event::Draining(events::Draining { term: ending, until, reason: why }) => {
            Event::Draining { term: term(ending), until: Instant::from_nanos(until), reason: reason(why) }
        }
        events::Event::Lost(lost) => Event::Lost { term: term(lost.term), reason: reason(lost.reason) },
        events::Event::LeaderChanged(now) => Event::LeaderChanged(now.map(leader)),
        events::Event::StateChanged(now) => Event::StateChanged(state(now)),
        events::Event::Warning(warning) => Event::Warning(self::warning(warning)?),
    })
}

fn term(term: events::Term) -> Term {
    Term { token: token(term.token), started: Instant::from_nanos(term.started) }
}

fn token(token: types::Token) -> Token {
    Token { incarnation: Incarnation(token.incarnation), sequence: Revision(token.sequence) }
}

fn nonce(nonce: types::Nonce) -> Nonce {
    Nonce(u128::from(nonce.high) << 64 | u128::from(nonce.low))
}

fn leader(leader: events::Leader) -> Leader {
    let metadata: Headers = leader.metadata;
    let (nonce, revision) = (leader.nonce.map(nonce), Revision(leader.revision));
    Leader { name: leader.name, nonce, revision, metadata }
}

fn warning(warning: events::Warning) -> Option<Warning> {
    let span = Duration::from_nanos;
    Some(match warning.kind {
        events::WarningKind::Store(fault) => Warning::Store(own_fault(fault)),
        events::WarningKind::StoreReset(events::StoreReset { seen, next, barred }) => {
            Warning::StoreReset { seen: seen.map(token), next: next.map(token), barred }
        }
        events::WarningKind::NotExpiring(events::NotExpiring { revision, unchanged }) => {
            Warning::NotExpiring { revision: Revision(revision), unchanged: span(unchanged) }
        }
        events::WarningKind::SameName(other) => Warning::SameName { nonce: nonce(other) },
        events::WarningKind::NotARecord(events::NotARecord { revision, bytes }) => {
            Warning::NotARecord { revision: Revision(revision), bytes }
        }
        events::WarningKind::SameNonce(name) => Warning::SameNonce { name },
        events::WarningKind::ShortLease(events::ShortLease { survives, fail_over }) => {
            Warning::ShortLease { survives: span(survives), fail_over: span(fail_over) }
        }
        events::WarningKind::MaxAgeChanged(events::MaxAgeChanged { before, now }) => {
            Warning::MaxAgeChanged { from: before.map(span), to: now.map(span) }
        }
        events::WarningKind::MarkersMislead => Warning::MarkersMislead,
        events::WarningKind::Other => {
            tracing::warn!("the component tells warning of a kind that is not known here: {}", warning.text);
            return None;
        }
    })
}

fn state(state: events::State) -> State {
    match state {
        events::State::Idle => State::Idle,
        events::State::Splaying => State::Splaying,
        events::State::Waiting => State::Waiting,
        events::State::Acquiring => State::Acquiring,
        events::State::Holding => State::Holding,
        events::State::Leading => State::Leading,
        events::State::Draining => State::Draining,
        events::State::Releasing => State::Releasing,
        events::State::Closed => State::Closed,
    }
}

fn reason(reason: events::Reason) -> Reason {
    match reason {
        events::Reason::Resigned => Reason::Resigned,
        events::Reason::HandedOver => Reason::HandedOver,
        events::Reason::Usurped => Reason::Usurped,
        events::Reason::Deleted => Reason::Deleted,
        events::Reason::Expired => Reason::Expired,
        events::Reason::Revoked => Reason::Revoked,
        events::Reason::Unhealthy => Reason::Unhealthy,
        events::Reason::HandlerFailed => Reason::HandlerFailed,
        events::Reason::StoreReset => Reason::StoreReset,
        events::Reason::Closed => Reason::Closed,
    }
}
