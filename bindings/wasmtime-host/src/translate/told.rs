//! What a guest tells.

use std::time::Duration;

use incumbent::core::campaign::{Event, Leader, Lease, Reason, State, Term, Trouble};
use incumbent::core::record::{Headers, Nonce};
use incumbent::core::store::{Fault, FaultKind};
use incumbent::core::{Incarnation, Instant, Revision, Token};

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

/// `None` for trouble of a kind that this version does not know; it is logged.
pub(crate) fn event(event: events::Event) -> Option<Event> {
    Some(match event {
        events::Event::Won(won) => Event::Won(term(won)),
        events::Event::Draining(events::Draining { term: ending, until, reason: why }) => {
            Event::Draining { term: term(ending), until: Instant::from_nanos(until), reason: reason(why) }
        }
        events::Event::Lost(lost) => Event::Lost { term: term(lost.term), reason: reason(lost.reason) },
        events::Event::LeaderChanged(now) => Event::LeaderChanged(now.map(leader)),
        events::Event::Campaigned(now) => Event::Campaigned(state(now)),
        events::Event::Trouble(trouble) => Event::Trouble(self::trouble(trouble)?),
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

fn trouble(trouble: events::Trouble) -> Option<Trouble> {
    let span = Duration::from_nanos;
    Some(match trouble.kind {
        events::TroubleKind::Store(fault) => Trouble::Store(own_fault(fault)),
        events::TroubleKind::StoreReset(events::StoreReset { seen, next, barred }) => {
            Trouble::StoreReset { seen: seen.map(token), next: next.map(token), barred }
        }
        events::TroubleKind::NotExpiring(events::NotExpiring { revision, unchanged }) => {
            Trouble::NotExpiring { revision: Revision(revision), unchanged: span(unchanged) }
        }
        events::TroubleKind::SameName(other) => Trouble::SameName { nonce: nonce(other) },
        events::TroubleKind::NotARecord(events::NotARecord { revision, bytes }) => {
            Trouble::NotARecord { revision: Revision(revision), bytes }
        }
        events::TroubleKind::SameNonce(name) => Trouble::SameNonce { name },
        events::TroubleKind::ShortLease(events::ShortLease { survives, fail_over }) => {
            Trouble::ShortLease { survives: span(survives), fail_over: span(fail_over) }
        }
        events::TroubleKind::MaxAgeChanged(events::MaxAgeChanged { before, now }) => {
            Trouble::MaxAgeChanged { from: before.map(span), to: now.map(span) }
        }
        events::TroubleKind::MarkersMislead => Trouble::MarkersMislead,
        events::TroubleKind::Other => {
            tracing::warn!("the component tells trouble of a kind that is not known here: {}", trouble.text);
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
