//! The settings of a candidate.

use super::wit::settings::{BackOff, CampaignSettings, Preset, WinDelay};

/// Settings that leave everything but the name to the defaults.
pub(crate) fn defaults(name: &str) -> CampaignSettings {
    CampaignSettings {
        name: name.into(),
        preset: Preset::Standard,
        lease: None,
        skew: None,
        drift_ppm: None,
        slack: None,
        win_delay: WinDelay::Automatic,
        splay: None,
        drain: None,
        interval: None,
        back_off: BackOff::Standard,
        metadata: Vec::new(),
    }
}
