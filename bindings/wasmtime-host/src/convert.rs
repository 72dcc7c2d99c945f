//! Conversion between the types of `wit/` and the core's, in both directions.
//!
//! The types of `wit/` are generated for each world of each crate, so this one file is compiled wherever they are:
//! here, in the guest once for each of its worlds, and in the tests. It finds them in `super::wit`, and the core in
//! `super::incumbent_core`.
//!
//! Anything that a host passes in is accepted: the core itself refuses incoherent settings. In the other direction, a
//! value without a counterpart is an error.

#![allow(dead_code, reason = "each crate needs some of the functions")]

use core::time::Duration;

use super::incumbent_core::campaign::{
    Backoff, Event, InvalidSettings, Leader, Lease, Preset, Reason, Settings, State, Term, Warning, WinDelay,
};
use super::incumbent_core::candidacy::{Obstacle, Step, Steps};
use super::incumbent_core::record::{Entry, Headers, Kind, Nonce};
use super::incumbent_core::store::{Capabilities, Fault, FaultKind, Outcome, Put, StoreInfo};
use super::incumbent_core::text::Names;
use super::incumbent_core::{Incarnation, Instant, Revision, Token};
use super::wit::{events, records, settings, stores, types};

/// Implements both directions between two enums whose variants have the same names and no fields.
macro_rules! same_variants {
    ($wit:ty, $core:ty: $($variant:ident)+) => {
        impl From<$core> for $wit {
            fn from(value: $core) -> Self {
                match value {
                    $(<$core>::$variant => Self::$variant,)+
                }
            }
        }

        impl From<$wit> for $core {
            fn from(value: $wit) -> Self {
                match value {
                    $(<$wit>::$variant => Self::$variant,)+
                }
            }
        }
    };
}
#[allow(unused_imports, reason = "only world `engine` has more such pairs")]
pub(crate) use same_variants;

// generated: reasons
same_variants!(events::Reason, Reason: Resigned HandedOver Usurped Deleted Expired Revoked Unhealthy HandlerFailed StoreReset Closed);
// end of reasons
// generated: states
same_variants!(events::State, State: Idle Splaying Waiting Acquiring Holding Leading Draining Releasing Closed);
// end of states

same_variants!(records::Kind, Kind: Live Tombstone Expired);

// ---- time, tokens, faults ----

/// Converts to nanoseconds, at most 584 years.
pub(crate) fn nanos(span: Duration) -> types::Duration {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl From<Token> for types::Token {
    fn from(token: Token) -> Self {
        Self { incarnation: token.incarnation.0, sequence: token.sequence.0 }
    }
}

impl From<types::Token> for Token {
    fn from(token: types::Token) -> Self {
        Self { incarnation: Incarnation(token.incarnation), sequence: Revision(token.sequence) }
    }
}

impl From<Nonce> for types::Nonce {
    fn from(nonce: Nonce) -> Self {
        // The upper and the lower half.
        Self { high: (nonce.0 >> 64) as u64, low: nonce.0 as u64 }
    }
}

impl From<types::Nonce> for Nonce {
    fn from(nonce: types::Nonce) -> Self {
        Self(u128::from(nonce.high) << 64 | u128::from(nonce.low))
    }
}

impl From<Fault> for types::Fault {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::Unreachable => Self::Unreachable(fault.detail),
            FaultKind::Denied => Self::Denied(fault.detail),
            FaultKind::Broken => Self::Broken(fault.detail),
        }
    }
}

impl From<types::Fault> for Fault {
    fn from(fault: types::Fault) -> Self {
        let (kind, detail) = match fault {
            types::Fault::Unreachable(detail) => (FaultKind::Unreachable, detail),
            types::Fault::Denied(detail) => (FaultKind::Denied, detail),
            types::Fault::Broken(detail) | types::Fault::Other(detail) => (FaultKind::Broken, detail),
        };
        Self { kind, detail }
    }
}

// ---- settings ----

impl From<settings::CampaignSettings> for Settings {
    fn from(wit: settings::CampaignSettings) -> Self {
        let mut settings = Self::new(wit.name);
        settings.preset = match wit.preset {
            settings::Preset::Standard => Preset::Standard,
            settings::Preset::Fast => Preset::Fast,
            settings::Preset::GoCompatible => Preset::GoCompatible,
        };
        settings.lease = wit.lease.map(Duration::from_nanos);
        settings.skew = wit.skew.map(Duration::from_nanos);
        settings.drift_ppm = wit.drift_ppm.unwrap_or(settings.drift_ppm);
        settings.slack = wit.slack.map(Duration::from_nanos);
        settings.win_delay = match wit.win_delay {
            settings::WinDelay::Automatic => WinDelay::Automatic,
            settings::WinDelay::Cautious => WinDelay::Cautious,
            settings::WinDelay::Fixed(wait) => WinDelay::Fixed(Duration::from_nanos(wait)),
        };
        settings.splay = wit.splay.map(Duration::from_nanos);
        settings.drain = wit.drain.map_or(settings.drain, Duration::from_nanos);
        settings.interval = wit.interval.map(Duration::from_nanos);
        settings.backoff = match wit.back_off {
            settings::BackOff::Standard => Backoff::Standard,
            settings::BackOff::Fixed(wait) => Backoff::Fixed(Duration::from_nanos(wait)),
        };
        settings.metadata = wit.metadata;
        settings
    }
}

/// The error is the reason why no component can have the settings, and the remedy.
impl TryFrom<Settings> for settings::CampaignSettings {
    type Error = &'static str;

    fn try_from(settings: Settings) -> Result<Self, Self::Error> {
        let preset = match settings.preset {
            Preset::Standard => settings::Preset::Standard,
            Preset::Fast => settings::Preset::Fast,
            Preset::GoCompatible => settings::Preset::GoCompatible,
            #[allow(unreachable_patterns, reason = "a preset for tests, behind a feature of the core")]
            _ => return Err("a component has no preset for tests; use `Fast`"),
        };
        let win_delay = match settings.win_delay {
            WinDelay::Automatic => settings::WinDelay::Automatic,
            WinDelay::Cautious => settings::WinDelay::Cautious,
            WinDelay::Fixed(wait) => settings::WinDelay::Fixed(nanos(wait)),
        };
        let back_off = match settings.backoff {
            Backoff::Standard => settings::BackOff::Standard,
            Backoff::Fixed(wait) => settings::BackOff::Fixed(nanos(wait)),
            Backoff::Custom(_) => {
                return Err("a back-off of the program's own cannot go into a component; use `Fixed`");
            }
        };
        Ok(Self {
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
}

impl From<InvalidSettings> for types::Refusal {
    fn from(invalid: InvalidSettings) -> Self {
        let InvalidSettings { setting, value, limit, remedy } = invalid;
        Self {
            setting: Names::Components.spell(setting).into(),
            value,
            limit: limit.spelled(Names::Components),
            remedy: remedy.spelled(Names::Components),
        }
    }
}

// ---- the store and its records ----

impl From<Capabilities> for stores::Capabilities {
    fn from(store: Capabilities) -> Self {
        Self {
            own_lease: store.own_lease,
            lease_step: nanos(store.lease_step),
            shortest: nanos(store.shortest),
            longest: nanos(store.longest),
            granularity: nanos(store.granularity),
            expiry_pushed: store.expiry_pushed,
            incarnation_acked: store.incarnation_acked,
            fail_over: nanos(store.fail_over),
        }
    }
}

impl From<stores::Capabilities> for Capabilities {
    fn from(store: stores::Capabilities) -> Self {
        Self {
            own_lease: store.own_lease,
            lease_step: Duration::from_nanos(store.lease_step),
            shortest: Duration::from_nanos(store.shortest),
            longest: Duration::from_nanos(store.longest),
            granularity: Duration::from_nanos(store.granularity),
            expiry_pushed: store.expiry_pushed,
            incarnation_acked: store.incarnation_acked,
            // A guest's watch never reports this.
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::from_nanos(store.fail_over),
        }
    }
}

impl From<StoreInfo> for stores::StoreInfo {
    fn from(info: StoreInfo) -> Self {
        Self {
            incarnation: info.incarnation.0,
            age: info.age.map(nanos),
            never_used: info.never_used,
            max_age: info.max_age.map(nanos),
            newest: info.newest.map(|revision| revision.0),
        }
    }
}

/// Converts the answer to an inspection that was requested at `asked_at`.
pub(crate) fn store_info(info: stores::StoreInfo, asked_at: Instant) -> StoreInfo {
    StoreInfo {
        asked_at,
        incarnation: Incarnation(info.incarnation),
        age: info.age.map(Duration::from_nanos),
        never_used: info.never_used,
        max_age: info.max_age.map(Duration::from_nanos),
        newest: info.newest.map(Revision),
    }
}

pub(crate) fn message(entry: &Entry) -> Option<records::Message> {
    let oversize = entry.live().and_then(|record| record.oversize);
    let (Revision(revision), kind, value, headers) = entry.encode()?;
    Some(records::Message {
        revision,
        kind: kind.into(),
        value: value.into_bytes(),
        headers: carried(headers),
        oversize,
    })
}

/// The most headers that a message may have in an interface: a candidate's record has at most half as many, and an empty
/// header takes memory too.
const MOST_HEADERS: usize = 8_192;

pub(crate) fn entry(message: Option<records::Message>) -> Entry {
    let Some(message) = message else { return Entry::Vacant };
    let (revision, kind) = (Revision(message.revision), message.kind.into());
    if let Some(bytes) = message.oversize {
        return Entry::oversize(revision, kind, bytes);
    }
    if message.headers.len() > MOST_HEADERS {
        let headers = message.headers.iter().map(|(name, text)| name.len() + text.len()).sum::<usize>();
        return Entry::oversize(revision, kind, (message.value.len() + headers) as u64);
    }
    let headers = message.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    Entry::decode(revision, kind, &message.value, headers)
}

/// The headers of a message, as an interface has them.
pub(crate) fn carried(headers: Headers) -> Vec<(String, String)> {
    headers.into_iter().map(|(name, text)| (name.into_owned(), text)).collect()
}

/// The headers of a message that an interface has.
pub(crate) fn headers(carried: Vec<(String, String)>) -> Headers {
    carried.into_iter().map(|(name, text)| (name.into(), text)).collect()
}

impl From<Put> for records::Put {
    fn from(put: Put) -> Self {
        Self { value: put.value, headers: carried(put.headers), lease: nanos(put.lease) }
    }
}

impl From<records::Put> for Put {
    fn from(put: records::Put) -> Self {
        Self { value: put.value, headers: headers(put.headers), lease: Duration::from_nanos(put.lease) }
    }
}

impl From<Outcome> for stores::Outcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Applied { revision, incarnation } => Self::Applied(stores::Applied {
                revision: revision.0,
                incarnation: incarnation.map(|incarnation| incarnation.0),
            }),
            Outcome::Refused { current } => Self::Refused(Some(current.0)),
            Outcome::Conflict => Self::Refused(None),
            Outcome::Busy => Self::Busy,
            Outcome::NotSent => Self::NotSent,
            Outcome::Unknown => Self::Unknown,
            Outcome::Failed(fault) => Self::Failed(fault.into()),
        }
    }
}

impl From<stores::Outcome> for Outcome {
    fn from(outcome: stores::Outcome) -> Self {
        match outcome {
            stores::Outcome::Applied(stores::Applied { revision, incarnation }) => {
                Self::Applied { revision: Revision(revision), incarnation: incarnation.map(Incarnation) }
            }
            stores::Outcome::Refused(Some(current)) => Self::Refused { current: Revision(current) },
            stores::Outcome::Refused(None) => Self::Conflict,
            stores::Outcome::Busy => Self::Busy,
            stores::Outcome::NotSent => Self::NotSent,
            stores::Outcome::Unknown => Self::Unknown,
            stores::Outcome::Failed(fault) => Self::Failed(fault.into()),
        }
    }
}

// ---- events ----

impl From<Lease> for events::Lease {
    fn from(lease: Lease) -> Self {
        Self { token: lease.token.into(), deadline: lease.deadline.as_nanos() }
    }
}

impl From<events::Lease> for Lease {
    fn from(lease: events::Lease) -> Self {
        Self { token: lease.token.into(), deadline: Instant::from_nanos(lease.deadline) }
    }
}

impl From<Term> for events::Term {
    fn from(term: Term) -> Self {
        Self { token: term.token.into(), started: term.started.as_nanos() }
    }
}

impl From<events::Term> for Term {
    fn from(term: events::Term) -> Self {
        Self { token: term.token.into(), started: Instant::from_nanos(term.started) }
    }
}

impl From<Leader> for events::Leader {
    fn from(leader: Leader) -> Self {
        let (nonce, revision) = (leader.nonce.map(Into::into), leader.revision.0);
        Self { name: leader.name, nonce, revision, metadata: leader.metadata }
    }
}

impl From<events::Leader> for Leader {
    fn from(leader: events::Leader) -> Self {
        let (nonce, revision) = (leader.nonce.map(Into::into), Revision(leader.revision));
        Self { name: leader.name, nonce, revision, metadata: leader.metadata }
    }
}

impl From<Event> for events::Event {
    fn from(event: Event) -> Self {
        match event {
            Event::Won(term) => Self::Won(term.into()),
            Event::Draining { term, until, reason } => Self::Draining(events::Draining {
                term: term.into(),
                until: until.as_nanos(),
                reason: reason.into(),
            }),
            Event::Lost { term, reason } => {
                Self::Lost(events::Lost { term: term.into(), reason: reason.into() })
            }
            Event::LeaderChanged(leader) => Self::LeaderChanged(leader.map(Into::into)),
            Event::StateChanged(state) => Self::StateChanged(state.into()),
            Event::Warning(warning) => Self::Warning(warning.into()),
        }
    }
}

/// The error is the text of a warning of a kind that this version does not know.
impl TryFrom<events::Event> for Event {
    type Error = String;

    fn try_from(event: events::Event) -> Result<Self, String> {
        Ok(match event {
            events::Event::Won(term) => Self::Won(term.into()),
            events::Event::Draining(events::Draining { term, until, reason }) => {
                Self::Draining { term: term.into(), until: Instant::from_nanos(until), reason: reason.into() }
            }
            events::Event::Lost(events::Lost { term, reason }) => {
                Self::Lost { term: term.into(), reason: reason.into() }
            }
            events::Event::LeaderChanged(leader) => Self::LeaderChanged(leader.map(Into::into)),
            events::Event::StateChanged(state) => Self::StateChanged(state.into()),
            events::Event::Warning(warning) => Self::Warning(warning.try_into()?),
        })
    }
}

/// The steps of a proof, as they are named on either side.
const STEPS: [(Step, events::ProofSteps); 6] = [
    (Step::Inspect, events::ProofSteps::INSPECT),
    (Step::Read, events::ProofSteps::READ),
    (Step::KeepAlive, events::ProofSteps::KEEP_ALIVE),
    (Step::Append, events::ProofSteps::APPEND),
    (Step::ReadBack, events::ProofSteps::READ_BACK),
    (Step::Commit, events::ProofSteps::COMMIT),
];

impl From<Steps> for events::ProofSteps {
    fn from(steps: Steps) -> Self {
        STEPS
            .into_iter()
            .filter(|(step, _)| steps.contains(*step))
            .fold(Self::empty(), |all, (_, flag)| all | flag)
    }
}

impl From<events::ProofSteps> for Steps {
    fn from(flags: events::ProofSteps) -> Self {
        STEPS.into_iter().filter(|(_, flag)| flags & *flag == *flag).map(|(step, _)| step).collect()
    }
}

impl From<Warning> for events::Warning {
    fn from(warning: Warning) -> Self {
        use events::WarningKind as Kind;
        let text = warning.to_string();
        let kind = match warning {
            Warning::Store(fault) => Kind::Store(fault.into()),
            Warning::StoreReset { seen, next, barred } => Kind::StoreReset(events::StoreReset {
                seen: seen.map(Into::into),
                next: next.map(Into::into),
                barred,
            }),
            Warning::NotExpiring { revision: Revision(revision), unchanged } => {
                Kind::NotExpiring(events::NotExpiring { revision, unchanged: nanos(unchanged) })
            }
            Warning::SameName { nonce } => Kind::SameName(nonce.into()),
            Warning::NotARecord { revision: Revision(revision), bytes } => {
                Kind::NotARecord(events::NotARecord { revision, bytes })
            }
            Warning::SameNonce { name } => Kind::SameNonce(name),
            Warning::ShortLease { survives, fail_over } => Kind::ShortLease(events::ShortLease {
                survives: nanos(survives),
                fail_over: nanos(fail_over),
            }),
            Warning::MaxAgeChanged { from, to } => {
                Kind::MaxAgeChanged(events::MaxAgeChanged { before: from.map(nanos), now: to.map(nanos) })
            }
            Warning::MarkersMislead => Kind::MarkersMislead,
            Warning::GaveWay { failing, fault, rest } => Kind::GaveWay(events::GaveWay {
                failing: failing.into(),
                fault: fault.map(Into::into),
                rest: nanos(rest),
            }),
            Warning::Quoted { setting, text } => Kind::Quoted(events::Quoted { setting, text }),
            Warning::YoungStore { left, can_be_stated } => {
                Kind::YoungStore(events::YoungStore { left: nanos(left), can_be_stated })
            }
            Warning::Overloaded { waiting, waited, answer_time } => Kind::Overloaded(events::Overloaded {
                waiting,
                waited: nanos(waited),
                answer_time: nanos(answer_time),
            }),
            Warning::NoLeader { lasted, because } => {
                Kind::NoLeader(events::NoLeader { lasted: nanos(lasted), because: because.into() })
            }
        };
        Self { kind, text }
    }
}

impl From<Obstacle> for events::Obstacle {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::NewStore { left, can_be_stated } => {
                Self::NewStore(events::YoungStore { left: nanos(left), can_be_stated })
            }
            Obstacle::FormerLeader { left } => Self::FormerLeader(nanos(left)),
            Obstacle::Unproven => Self::Unproven,
            Obstacle::Unread => Self::Unread,
            Obstacle::Holder { name } => Self::Holder(name),
            Obstacle::Unexpired { name } => Self::Unexpired(name),
            Obstacle::Ahead => Self::Ahead,
            Obstacle::Unassigned => Self::Unassigned,
            Obstacle::Barred => Self::Barred,
            Obstacle::Resting { left } => Self::Resting(nanos(left)),
            Obstacle::Unanswered => Self::Unanswered,
        }
    }
}

impl From<events::Obstacle> for Obstacle {
    fn from(obstacle: events::Obstacle) -> Self {
        use events::Obstacle as Of;
        let span = Duration::from_nanos;
        match obstacle {
            Of::NewStore(events::YoungStore { left, can_be_stated }) => {
                Self::NewStore { left: span(left), can_be_stated }
            }
            Of::FormerLeader(left) => Self::FormerLeader { left: span(left) },
            Of::Unproven => Self::Unproven,
            Of::Unread => Self::Unread,
            Of::Holder(name) => Self::Holder { name },
            Of::Unexpired(name) => Self::Unexpired { name },
            Of::Ahead => Self::Ahead,
            Of::Unassigned => Self::Unassigned,
            Of::Barred => Self::Barred,
            Of::Resting(left) => Self::Resting { left: span(left) },
            Of::Unanswered => Self::Unanswered,
        }
    }
}

/// The error is the text of a warning of a kind that this version does not know.
impl TryFrom<events::Warning> for Warning {
    type Error = String;

    fn try_from(warning: events::Warning) -> Result<Self, String> {
        use events::WarningKind as Kind;
        let span = Duration::from_nanos;
        Ok(match warning.kind {
            Kind::Store(fault) => Self::Store(fault.into()),
            Kind::StoreReset(events::StoreReset { seen, next, barred }) => {
                Self::StoreReset { seen: seen.map(Into::into), next: next.map(Into::into), barred }
            }
            Kind::NotExpiring(events::NotExpiring { revision, unchanged }) => {
                Self::NotExpiring { revision: Revision(revision), unchanged: span(unchanged) }
            }
            Kind::SameName(nonce) => Self::SameName { nonce: nonce.into() },
            Kind::NotARecord(events::NotARecord { revision, bytes }) => {
                Self::NotARecord { revision: Revision(revision), bytes }
            }
            Kind::SameNonce(name) => Self::SameNonce { name },
            Kind::ShortLease(events::ShortLease { survives, fail_over }) => {
                Self::ShortLease { survives: span(survives), fail_over: span(fail_over) }
            }
            Kind::MaxAgeChanged(events::MaxAgeChanged { before, now }) => {
                Self::MaxAgeChanged { from: before.map(span), to: now.map(span) }
            }
            Kind::MarkersMislead => Self::MarkersMislead,
            Kind::GaveWay(events::GaveWay { failing, fault, rest }) => {
                Self::GaveWay { failing: failing.into(), fault: fault.map(Into::into), rest: span(rest) }
            }
            Kind::Quoted(events::Quoted { setting, text }) => Self::Quoted { setting, text },
            Kind::YoungStore(events::YoungStore { left, can_be_stated }) => {
                Self::YoungStore { left: span(left), can_be_stated }
            }
            Kind::Overloaded(events::Overloaded { waiting, waited, answer_time }) => {
                Self::Overloaded { waiting, waited: span(waited), answer_time: span(answer_time) }
            }
            Kind::NoLeader(events::NoLeader { lasted, because }) => {
                Self::NoLeader { lasted: span(lasted), because: because.into() }
            }
            Kind::Other => return Err(warning.text),
        })
    }
}
