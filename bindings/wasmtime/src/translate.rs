//! The types of `wit/` and the runtime's, each in the other's words.

use std::time::Duration;

use incumbent::core::campaign::{
    Backoff, Event, Leader, Lease, Preset, Reason, Settings, State, Term, Trouble, WinDelay,
};
use incumbent::core::record::{Entry, Headers, Kind, Nonce};
use incumbent::core::store::{self, Capabilities, Facts, Fault, FaultKind, Outcome};
use incumbent::core::{Incarnation, Instant, Revision, Token};

use crate::bindings::incumbent::election::{events, records, settings, stores, types};
use crate::{Error, ErrorKind};

/// In nanoseconds, at most 584 years.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

// What a guest is given.

pub(crate) fn capabilities(can: Capabilities) -> stores::Capabilities {
    stores::Capabilities {
        own_lease: can.own_lease,
        lease_step: nanos(can.lease_step),
        shortest: nanos(can.shortest),
        longest: nanos(can.longest),
        granularity: nanos(can.granularity),
        expiry_pushed: can.expiry_pushed,
        incarnation_acked: can.incarnation_acked,
        fail_over: nanos(can.fail_over),
    }
}

pub(crate) fn facts(facts: Facts) -> stores::Facts {
    stores::Facts {
        incarnation: facts.incarnation.0,
        age: facts.age.map(nanos),
        never_used: facts.never_used,
        max_age: facts.max_age.map(nanos),
        newest: facts.newest.map(|revision| revision.0),
    }
}

pub(crate) fn fault(fault: Fault) -> types::Fault {
    match fault.kind {
        FaultKind::Unreachable => types::Fault::Unreachable(fault.detail),
        FaultKind::Denied => types::Fault::Denied(fault.detail),
        FaultKind::Broken => types::Fault::Broken(fault.detail),
    }
}

pub(crate) fn message(entry: &Entry) -> Option<records::Message> {
    let (Revision(revision), kind, value, headers) = entry.encode()?;
    let kind = match kind {
        Kind::Live => records::Kind::Live,
        Kind::Tombstone => records::Kind::Tombstone,
        Kind::Expired => records::Kind::Expired,
    };
    Some(records::Message { revision, kind, value: value.into_bytes(), headers })
}

pub(crate) fn outcome(outcome: Outcome) -> stores::Outcome {
    match outcome {
        Outcome::Applied { revision, incarnation } => stores::Outcome::Applied(stores::Applied {
            revision: revision.0,
            incarnation: incarnation.map(|incarnation| incarnation.0),
        }),
        Outcome::Refused { current } => stores::Outcome::Refused(current.0),
        Outcome::Busy => stores::Outcome::Busy,
        Outcome::NotSent => stores::Outcome::NotSent,
        Outcome::Unknown => stores::Outcome::Unknown,
        Outcome::Failed(why) => stores::Outcome::Failed(fault(why)),
    }
}

pub(crate) fn put(put: records::Put) -> store::Put {
    store::Put { value: put.value, headers: put.headers, lease: Duration::from_nanos(put.lease) }
}

/// Settings as a campaigner takes them.
pub(crate) fn candidacy(settings: Settings) -> Result<settings::Candidacy, Error> {
    let preset = match settings.preset {
        Preset::Standard => settings::Preset::Standard,
        Preset::Fast => settings::Preset::Fast,
        Preset::GoCompatible => settings::Preset::GoCompatible,
        #[allow(unreachable_patterns, reason = "a preset for tests, behind a feature of the core")]
        _ => return Err(Error::new(ErrorKind::Refused, "a component knows no preset for tests; use `Fast`")),
    };
    let back_off = match settings.backoff {
        Backoff::Standard => settings::BackOff::Standard,
        Backoff::Fixed(wait) => settings::BackOff::Fixed(nanos(wait)),
        Backoff::Custom(_) => {
            let message = "a back-off of the program's own cannot go into a component; use `Fixed`";
            return Err(Error::new(ErrorKind::Refused, message));
        }
    };
    let win_delay = match settings.win_delay {
        WinDelay::Automatic => settings::WinDelay::Automatic,
        WinDelay::Cautious => settings::WinDelay::Cautious,
        WinDelay::Fixed(wait) => settings::WinDelay::Fixed(nanos(wait)),
    };
    Ok(settings::Candidacy {
        name: settings.name,
        preset,
        lease: settings.lease.map(nanos),
        skew: settings.skew.map(nanos),
        drift_ppm: Some(settings.drift_ppm),
        slack: settings.slack.map(nanos),
        win_delay,
        splay: settings.splay.map(nanos),
        drain: Some(nanos(settings.drain)),
        interval: settings.interval.map(nanos),
        back_off,
        metadata: settings.metadata,
    })
}

// What a guest tells.

pub(crate) fn refusal(refused: types::Refusal) -> Error {
    let types::Refusal { setting, value, limit, remedy } = refused;
    Error::new(ErrorKind::Refused, format!("{setting} is {value}, and must be {limit}: {remedy}"))
}

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
        events::TroubleKind::StoreReset(events::StoreReset { seen, barred }) => {
            Trouble::StoreReset { seen: seen.map(token), barred }
        }
        events::TroubleKind::NotExpiring(events::NotExpiring { revision, unchanged }) => {
            Trouble::NotExpiring { revision: Revision(revision), unchanged: span(unchanged) }
        }
        events::TroubleKind::SameName(other) => Trouble::SameName { nonce: nonce(other) },
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
