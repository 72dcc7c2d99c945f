//! Conversion of a candidate's settings, and the refusal of those that a component cannot have.

use incumbent::incumbent_core::campaign::{Backoff, Preset, Settings, WinDelay};

use super::given::nanos;
use crate::bindings::incumbent::election::{settings, types};
use crate::{Error, ErrorKind};

/// Converts settings for a campaigner.
pub(crate) fn campaign_settings(settings: Settings) -> Result<settings::CampaignSettings, Error> {
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
    Ok(settings::CampaignSettings {
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

pub(crate) fn refusal(refused: types::Refusal) -> Error {
    let types::Refusal { setting, value, limit, remedy } = refused;
    let message = format!("{setting} is {value}, and must be {limit}: {remedy}");
    Error::refused(setting, message)
}
