//! Times as options, and the lease with its preset.

use std::time::Duration;

use clap::ValueEnum;
use incumbent::{CampaignOptions, Preset};

use crate::refusals;

/// The duration of a lease.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LeaseArgs {
    /// The lease duration: the time for which no other candidate leads after a leader crashes; by default the store's
    /// maximum age if all its records share it, else the preset's lease, never longer than the store's maximum age.
    /// Write 2s or 1500ms, for example
    #[arg(long, visible_alias = "ttl", help_heading = "Lease", value_name = "TIME", value_parser = time)]
    pub(crate) lease: Option<Duration>,
    /// The bounds and defaults of all timing settings; by default the standard one, with leases of 5 s and more
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

/// Parses a time, such as `1500ms`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| refusals::no_length())
}

/// Parses an interval; it must be long enough that a periodic action has pauses.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    const LEAST: Duration = Duration::from_millis(10);
    match time(text)? {
        time if time >= LEAST => Ok(time),
        _ => Err(refusals::short_interval(&format!("{LEAST:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_a_unit() {
        assert_eq!(time("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        let said = "a time is a number with a unit, such as 1500ms, 30s or 5m";
        assert_eq!(time("soon"), Err(said.into()));
    }

    #[test]
    fn an_interval_is_at_least_ten_milliseconds() {
        assert_eq!(interval("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(interval("9ms"), Err("it must be at least 10ms".into()));
    }
}
