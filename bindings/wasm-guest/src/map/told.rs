//! Conversion of the types that are returned to a host.

use core::time::Duration;

use incumbent_core::campaign::{self, InvalidSettings, Reason, State};
use incumbent_core::store::{self, FaultKind};
use incumbent_core::{Revision, Token, record};

use super::super::wit::{events, types};

/// Converts to nanoseconds, at most 584 years.
pub(in super::super) fn duration(span: Duration) -> types::Duration {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(in super::super) fn refusal(refused: InvalidSettings) -> types::Refusal {
    types::Refusal {
        setting: refused.setting.into(),
        value: refused.value,
        limit: refused.limit,
        remedy: refused.remedy,
    }
}

pub(in super::super) fn lease(lease: campaign::Lease) -> events::Lease {
    events::Lease { token: token(lease.token), deadline: lease.deadline.as_nanos() }
}

pub(in super::super) fn term(term: campaign::Term) -> events::Term {
    events::Term { token: token(term.token), started: term.started.as_nanos() }
}

pub(in super::super) fn state(state: State) -> events::State {
    match state {
        State::Idle => events::State::Idle,
        State::Splaying => events::State::Splaying,
        State::Waiting => events::State::Waiting,
        State::Acquiring => events::State::Acquiring,
        State::Holding => events::State::Holding,
        State::Leading => events::State::Leading,
        State::Draining => events::State::Draining,
        State::Releasing => events::State::Releasing,
        State::Closed => events::State::Closed,
    }
}

pub(in super::super) fn leader(leader: campaign::Leader) -> events::Leader {
    events::Leader {
        name: leader.name,
        nonce: leader.nonce.map(own_nonce),
        revision: leader.revision.0,
        metadata: leader.metadata,
    }
}

pub(in super::super) fn event(event: campaign::Event) -> events::Event {
    match event {
        campaign::Event::Won(won) => events::Event::Won(term(won)),
        campaign::Event::Draining { term: ending, until, reason: why } => {
            let (term, until, reason) = (term(ending), until.as_nanos(), reason(why));
            events::Event::Draining(events::Draining { term, until, reason })
        }
        campaign::Event::Lost { term: ended, reason: why } => {
            events::Event::Lost(events::Lost { term: term(ended), reason: reason(why) })
        }
        campaign::Event::LeaderChanged(now) => events::Event::LeaderChanged(now.map(leader)),
        campaign::Event::StateChanged(now) => events::Event::StateChanged(state(now)),
        campaign::Event::Warning(what) => events::Event::Warning(warning(what)),
    }
}

fn warning(warning: campaign::Warning) -> events::Warning {
    use campaign::Warning as Kind;
    let text = warning.to_string();
    let kind = match warning {
        Kind::Store(fault) => events::WarningKind::Store(own_fault(fault)),
        // The message contains the store's next revision.
        Kind::StoreReset { seen, next, barred } => {
            let (seen, next) = (seen.map(token), next.map(token));
            events::WarningKind::StoreReset(events::StoreReset { seen, next, barred })
        }
        Kind::NotExpiring { revision: Revision(revision), unchanged } => {
            let unchanged = duration(unchanged);
            events::WarningKind::NotExpiring(events::NotExpiring { revision, unchanged })
        }
        Kind::SameName { nonce } => events::WarningKind::SameName(own_nonce(nonce)),
        Kind::NotARecord { revision: Revision(revision), bytes } => {
            events::WarningKind::NotARecord(events::NotARecord { revision, bytes })
        }
        Kind::SameNonce { name } => events::WarningKind::SameNonce(name),
        Kind::ShortLease { survives, fail_over } => {
            let (survives, fail_over) = (duration(survives), duration(fail_over));
            events::WarningKind::ShortLease(events::ShortLease { survives, fail_over })
        }
        Kind::MaxAgeChanged { from, to } => {
            let (before, now) = (from.map(duration), to.map(duration));
            events::WarningKind::MaxAgeChanged(events::MaxAgeChanged { before, now })
        }
        Kind::MarkersMislead => events::WarningKind::MarkersMislead,
    };
    events::Warning { kind, text }
}

fn token(token: Token) -> types::Token {
    types::Token { incarnation: token.incarnation.0, sequence: token.sequence.0 }
}

fn own_nonce(nonce: record::Nonce) -> types::Nonce {
    // The upper and the lower half.
    types::Nonce { high: (nonce.0 >> 64) as u64, low: nonce.0 as u64 }
}

pub(in super::super) fn own_fault(fault: store::Fault) -> types::Fault {
    match fault.kind {
        FaultKind::Unreachable => types::Fault::Unreachable(fault.detail),
        FaultKind::Denied => types::Fault::Denied(fault.detail),
        FaultKind::Broken => types::Fault::Broken(fault.detail),
    }
}

fn reason(reason: Reason) -> events::Reason {
    match reason {
        Reason::Resigned => events::Reason::Resigned,
        Reason::HandedOver => events::Reason::HandedOver,
        Reason::Usurped => events::Reason::Usurped,
        Reason::Deleted => events::Reason::Deleted,
        Reason::Expired => events::Reason::Expired,
        Reason::Revoked => events::Reason::Revoked,
        Reason::Unhealthy => events::Reason::Unhealthy,
        Reason::HandlerFailed => events::Reason::HandlerFailed,
        Reason::StoreReset => events::Reason::StoreReset,
        Reason::Closed => events::Reason::Closed,
    }
}
