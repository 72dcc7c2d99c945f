//! The settings of a candidate.

use std::time::Duration;

use incumbent::{CampaignOptions, LoopProbe, Preset, WinDelay};

use super::dialect::DRAIN_TIME;
use super::fields::{Fields, invalid, shown};
use super::names::CAMPAIGN;
use super::{Dialect, Given, Map, Value, refusals};
use crate::Result;

/// The settings of a candidate, parsed.
#[derive(Clone, Debug)]
pub struct Campaign {
    pub(crate) options: CampaignOptions,
    pub(crate) health_interval: Option<Duration>,
    pub(crate) given: Given,
}

impl Campaign {
    /// Adds a health check: the candidate is [asked](crate::Candidate::questions) at each `interval` whether it is
    /// healthy.
    ///
    /// # Errors
    /// `InvalidSetting` for a value that is not a length of time, and for zero or no value.
    pub fn ask_health(mut self, interval: Value, dialect: Dialect) -> Result<Self> {
        const NAME: &str = "health_interval";
        let mut fields =
            Fields::new("a campaign", &[NAME], vec![(dialect.key(NAME).into(), interval.clone())], dialect)?;
        self.health_interval = fields.length(NAME)?;
        if self.health_interval.is_none_or(|interval| interval.is_zero()) {
            return Err(invalid(refusals::health_interval(&shown(&interval), dialect.lengths)));
        }
        Ok(self)
    }

    /// Adds the watch on an event loop.
    #[must_use]
    pub fn watch(mut self, probe: &LoopProbe, watch: LoopWatch) -> Self {
        self.options = match watch {
            LoopWatch::Off => return self,
            LoopWatch::Lease => self.options.watch_loop(probe, None),
            LoopWatch::Limit(limit) => self.options.watch_loop(probe, Some(limit)),
        };
        self
    }
}

/// The longest time that an event loop may hang while one of its candidates leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopWatch {
    /// Not watched: any time.
    Off,
    /// The lease duration in force.
    Lease,
    /// This long.
    Limit(Duration),
}

/// The shortest limit of a watched loop: below it, the delays of a busy machine look like a hang.
const LEAST: Duration = Duration::from_millis(100);

/// Reads `watch_loop`, the setting of a language that has an event loop: true or nothing for the lease, false for off,
/// or a length of time.
///
/// # Errors
/// `InvalidSetting` for any other value, and for a length below 100 ms.
pub fn loop_watch(value: Value, dialect: Dialect) -> Result<LoopWatch> {
    const NAME: &str = "watch_loop";
    let fields = Fields::new("a campaign", &[NAME], Vec::new(), dialect)?;
    match value {
        Value::Nothing | Value::Flag(true) => Ok(LoopWatch::Lease),
        Value::Flag(false) => Ok(LoopWatch::Off),
        value => match fields.as_length(NAME, &value) {
            Ok(limit) if limit >= LEAST => Ok(LoopWatch::Limit(limit)),
            _ => Err(invalid(refusals::watch_limit(&shown(&value), dialect.lengths))),
        },
    }
}

/// Reads the settings of a candidate. The names in `metadata` are the caller's own. `drain_time`, which only this
/// language has, may be among the settings.
///
/// # Errors
/// `InvalidSetting`, with the field and the accepted values.
pub fn campaign(map: Map, dialect: Dialect) -> Result<Campaign> {
    let known: Vec<&str> = CAMPAIGN.iter().chain(dialect.own).copied().collect();
    let mut fields = Fields::new("a campaign", &known, map, dialect)?;
    let given = fields.given();
    let mut options = CampaignOptions::new();
    if let Some(name) = fields.text("name")? {
        options = options.name(name);
    }
    if let Some(value) = fields.value("preset") {
        options = options.preset(preset(&value)?);
    }
    if let Some(lease) = fields.length("lease")? {
        options = options.lease(lease);
    }
    if let Some(skew) = fields.length("skew")? {
        options = options.skew(skew);
    }
    if let Some(ppm) = fields.whole("drift_ppm")? {
        options = options.drift_ppm(ppm);
    }
    if let Some(slack) = fields.length("slack")? {
        options = options.slack(slack);
    }
    if let Some(value) = fields.value("win_delay") {
        options = options.win_delay(win_delay(&fields, &value)?);
    }
    if let Some(splay) = fields.length("splay")? {
        options = options.splay(splay);
    }
    for name in ["drain", DRAIN_TIME] {
        if let Some(drain) = fields.length(name)? {
            options = options.drain(drain);
        }
    }
    if let Some(interval) = fields.length("interval")? {
        options = options.interval(interval);
    }
    if let Some(value) = fields.value("backoff") {
        options = backoff(&fields, options, &value)?;
    }
    if let Some(value) = fields.value("metadata") {
        options = metadata(options, &value)?;
    }
    Ok(Campaign { options, health_interval: None, given })
}

fn preset(value: &Value) -> Result<Preset> {
    let word = if let Value::Text(text) = value { text.as_str() } else { "" };
    Ok(match word {
        "standard" => Preset::Standard,
        "fast" => Preset::Fast,
        "go_compatible" => Preset::GoCompatible,
        // Leases of milliseconds, for tests; not offered in messages.
        "test" => Preset::Test,
        _ => return Err(invalid(refusals::no_preset(&shown(value)))),
    })
}

fn win_delay(fields: &Fields, value: &Value) -> Result<WinDelay> {
    match value {
        Value::Text(text) if text == "automatic" => Ok(WinDelay::Automatic),
        Value::Text(text) if text == "cautious" => Ok(WinDelay::Cautious),
        fixed => match fields.as_length("win_delay", fixed) {
            Ok(fixed) => Ok(WinDelay::Fixed(fixed)),
            Err(_) => Err(invalid(refusals::no_win_delay(&shown(fixed), fields.dialect.lengths))),
        },
    }
}

/// Reads one delay for all failures, or a list: one delay for each failure in a row, the last for all further ones.
fn backoff(fields: &Fields, options: CampaignOptions, value: &Value) -> Result<CampaignOptions> {
    let Value::List(values) = value else {
        return Ok(options.fixed_backoff(fields.as_length("backoff", value)?));
    };
    let read = |value| fields.as_length("backoff", value);
    let waits = values.iter().map(read).collect::<Result<Vec<_>>>()?;
    let Some(&last) = waits.last() else {
        return Err(invalid(refusals::no_waits()));
    };
    Ok(options.backoff(|failures| {
        let place = usize::try_from(failures).unwrap_or(usize::MAX).saturating_sub(1);
        waits.get(place).copied().unwrap_or(last)
    }))
}

fn metadata(mut options: CampaignOptions, value: &Value) -> Result<CampaignOptions> {
    let Value::Map(map) = value else { return Err(invalid(refusals::no_map(&shown(value)))) };
    for (key, value) in map {
        let Value::Text(text) = value else {
            return Err(invalid(refusals::no_text_in_map(key, &shown(value))));
        };
        options = options.metadata(key, text);
    }
    Ok(options)
}
