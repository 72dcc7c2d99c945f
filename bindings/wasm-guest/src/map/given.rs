//! Conversion of the types that a host passes in.

use core::time::Duration;

use incumbent_core::campaign::{self, Backoff};
use incumbent_core::record::{Entry, Kind};
use incumbent_core::store::{self, FaultKind};
use incumbent_core::{Incarnation, Instant, Revision};

use super::super::wit::{records, settings as wishes, stores, types};

pub(in super::super) fn fault(fault: types::Fault) -> store::Fault {
    let (kind, detail) = match fault {
        types::Fault::Unreachable(detail) => (FaultKind::Unreachable, detail),
        types::Fault::Denied(detail) => (FaultKind::Denied, detail),
        types::Fault::Broken(detail) | types::Fault::Other(detail) => (FaultKind::Broken, detail),
    };
    store::Fault { kind, detail }
}

pub(in super::super) fn capabilities(can: stores::Capabilities) -> store::Capabilities {
    store::Capabilities {
        own_lease: can.own_lease,
        lease_step: Duration::from_nanos(can.lease_step),
        shortest: Duration::from_nanos(can.shortest),
        longest: Duration::from_nanos(can.longest),
        granularity: Duration::from_nanos(can.granularity),
        expiry_pushed: can.expiry_pushed,
        incarnation_acked: can.incarnation_acked,
        fail_over: Duration::from_nanos(can.fail_over),
    }
}

pub(in super::super) fn store_info(info: stores::StoreInfo, asked_at: Instant) -> store::StoreInfo {
    store::StoreInfo {
        asked_at,
        incarnation: Incarnation(info.incarnation),
        age: info.age.map(Duration::from_nanos),
        never_used: info.never_used,
        max_age: info.max_age.map(Duration::from_nanos),
        newest: info.newest.map(Revision),
    }
}

pub(in super::super) fn entry(message: Option<records::Message>) -> Entry {
    let Some(message) = message else { return Entry::Vacant };
    let kind = match message.kind {
        records::Kind::Live => Kind::Live,
        records::Kind::Tombstone => Kind::Tombstone,
        records::Kind::Expired => Kind::Expired,
    };
    if let Some(bytes) = message.oversize {
        return Entry::oversize(Revision(message.revision), kind, bytes);
    }
    let headers = message.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    Entry::decode(Revision(message.revision), kind, &message.value, headers)
}

pub(in super::super) fn outcome(outcome: stores::Outcome) -> store::Outcome {
    match outcome {
        stores::Outcome::Applied(applied) => store::Outcome::Applied {
            revision: Revision(applied.revision),
            incarnation: applied.incarnation.map(Incarnation),
        },
        stores::Outcome::Refused(current) => store::Outcome::Refused { current: Revision(current) },
        stores::Outcome::Busy => store::Outcome::Busy,
        stores::Outcome::NotSent => store::Outcome::NotSent,
        stores::Outcome::Unknown => store::Outcome::Unknown,
        stores::Outcome::Failed(why) => store::Outcome::Failed(fault(why)),
    }
}

pub(in super::super) fn settings(wishes: wishes::CampaignSettings) -> campaign::Settings {
    let mut settings = campaign::Settings::new(wishes.name);
    settings.preset = match wishes.preset {
        wishes::Preset::Standard => campaign::Preset::Standard,
        wishes::Preset::Fast => campaign::Preset::Fast,
        wishes::Preset::GoCompatible => campaign::Preset::GoCompatible,
    };
    settings.lease = wishes.lease.map(Duration::from_nanos);
    settings.skew = wishes.skew.map(Duration::from_nanos);
    settings.drift_ppm = wishes.drift_ppm.unwrap_or(settings.drift_ppm);
    settings.slack = wishes.slack.map(Duration::from_nanos);
    settings.win_delay = match wishes.win_delay {
        wishes::WinDelay::Automatic => campaign::WinDelay::Automatic,
        wishes::WinDelay::Cautious => campaign::WinDelay::Cautious,
        wishes::WinDelay::Fixed(wait) => campaign::WinDelay::Fixed(Duration::from_nanos(wait)),
    };
    settings.splay = wishes.splay.map(Duration::from_nanos);
    settings.drain = wishes.drain.map_or(settings.drain, Duration::from_nanos);
    settings.interval = wishes.interval.map(Duration::from_nanos);
    settings.backoff = match wishes.back_off {
        wishes::BackOff::Standard => Backoff::Standard,
        wishes::BackOff::Fixed(wait) => Backoff::Fixed(Duration::from_nanos(wait)),
    };
    settings.metadata = wishes.metadata;
    settings
}
