//! The lease and its preset, as options.

use std::time::Duration;

use clap::ValueEnum;
use incumbent::{CampaignOptions, Preset};

/// How long a lease lasts.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LeaseArgs {
    /// The lease duration, such as 2s or 1500ms: how long no other candidate leads after a leader crashed
    #[arg(long, visible_alias = "ttl", help_heading = "Lease", value_name = "TIME", value_parser = crate::time::time)]
    pub(crate) lease: Option<Duration>,
    /// The bounds of the lease and everything that follows from it
    #[arg(long, help_heading = "Lease", value_enum, value_name = "NAME")]
    pub(crate) preset: Option<Pace>,
}

/// The presets by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pace {
    /// Leases of 5 s or more
    Standard,
    /// Leases of 1 s or more; they do not survive the failure of one server of a cluster
    Fast,
    /// Leases of 30 s to 1 h, shared with candidates of the Go library nats-kv-leader-elect
    #[value(name = "go-compatible", alias = "go_compatible")]
    GoCompatible,
}

impl From<Pace> for Preset {
    fn from(pace: Pace) -> Self {
        match pace {
            Pace::Standard => Self::Standard,
            Pace::Fast => Self::Fast,
            Pace::GoCompatible => Self::GoCompatible,
        }
    }
}

impl LeaseArgs {
    /// Options for a candidate with this lease.
    pub(crate) fn options(self) -> CampaignOptions {
        let preset = self.preset.unwrap_or(Pace::Standard);
        let options = CampaignOptions::new().preset(preset.into());
        match self.lease {
            Some(lease) => options.lease(lease),
            None => options,
        }
    }
}
