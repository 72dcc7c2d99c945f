//! The settings of a run's candidates that differ from the defaults and from each other.

use std::time::Duration;

use incumbent_core::campaign::{Backoff, Settings, WinDelay};

use crate::dice::Dice;

/// The shortest lease that the standard preset accepts.
const SHORTEST: Duration = Duration::from_secs(5);

/// The stream from which the first candidate draws its settings. It is separate so that draws here change nothing else.
const STREAM: u64 = 0x1_0000;

/// The settings of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) lease: Duration,
    pub(crate) win_delay: WinDelay,
    /// The longest time that a leader takes to leave.
    pub(crate) drain: Duration,
    backoff: Wait,
    splays: bool,
    interval: Option<Duration>,
    metadata: bool,
}

/// How long a candidate waits after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Standard,
    Fixed(Duration),
    /// The wait becomes longer by this time after each of the first ten failures in a row.
    Growing(Duration),
}

impl Setting {
    /// The defaults.
    pub(crate) const fn plain(lease: Duration) -> Self {
        Self {
            lease,
            win_delay: WinDelay::Automatic,
            drain: Duration::from_secs(2),
            backoff: Wait::Standard,
            splays: true,
            interval: None,
            metadata: false,
        }
    }

    /// Creates default settings without a random wait before the first campaign.
    pub(crate) const fn prompt(lease: Duration) -> Self {
        Self { splays: false, ..Self::plain(lease) }
    }

    /// Draws the settings of the candidate with an index. A lease may differ from `longest` only if records have their
    /// own.
    pub(crate) fn drawn(
        seed: u64,
        place: usize,
        longest: Duration,
        own_lease: bool,
        max_age: Duration,
    ) -> Self {
        let mut dice = Dice::new(seed, STREAM + place as u64);
        let mut setting = Self::plain(longest);
        let shorter = dice.pick(&[SHORTEST, longest / 2, longest, longest]);
        if own_lease {
            // If a lease is not the store's own maximum age, the store keeps whole seconds.
            let whole = Duration::from_secs(shorter.as_secs()).max(SHORTEST);
            setting.lease = if shorter == max_age { max_age } else { whole };
        }
        let lease = setting.lease;
        setting.win_delay = dice.pick(&[
            WinDelay::Automatic,
            WinDelay::Automatic,
            WinDelay::Cautious,
            WinDelay::Fixed(lease * 3 / 4),
            WinDelay::Fixed(lease * 3 / 2),
        ]);
        setting.backoff = dice.pick(&[
            Wait::Standard,
            Wait::Standard,
            Wait::Fixed(Duration::from_millis(50)),
            Wait::Fixed(Duration::from_secs(2)),
            Wait::Fixed(lease),
            Wait::Growing(Duration::from_millis(150)),
        ]);
        setting.splays = dice.percent(80);
        setting.interval = dice.percent(20).then_some(lease / 3);
        setting.metadata = dice.percent(30);
        if dice.percent(40) {
            setting.drain = lease * 2;
        }
        setting
    }

    /// Returns the shortest time by which the settings delay a win beyond the rules.
    pub(crate) fn delay(&self) -> Duration {
        match self.win_delay {
            WinDelay::Automatic => Duration::ZERO,
            WinDelay::Cautious => self.lease,
            WinDelay::Fixed(delay) => delay,
        }
    }

    /// Returns the longest wait after a failure.
    pub(crate) fn longest_backoff(&self) -> Duration {
        match self.backoff {
            Wait::Standard => Duration::from_secs(1),
            Wait::Fixed(wait) => wait,
            Wait::Growing(step) => step * 10,
        }
    }

    /// Returns the skew that the settings state, if any. The default skew depends on the lease, even if the lease is
    /// shortened later.
    pub(crate) fn own_skew(&self, skew: Duration) -> Option<Duration> {
        (skew != (self.lease / 20).min(Duration::from_secs(1))).then_some(skew)
    }

    /// Returns the settings as a campaign expects them. `skew` is the largest difference between the servers' clocks.
    pub(crate) fn settings(&self, name: String, skew: Duration) -> Settings {
        let mut settings = Settings::new(name);
        // The lease is stated, so that no candidate gets a shorter one while the maximum age is lowered.
        settings.lease = Some(self.lease);
        settings.skew = self.own_skew(skew);
        settings.drain = self.drain;
        settings.win_delay = self.win_delay;
        settings.interval = self.interval;
        settings.backoff = match self.backoff {
            Wait::Standard => Backoff::Standard,
            Wait::Fixed(wait) => Backoff::Fixed(wait),
            Wait::Growing(step) => {
                Backoff::Custom(std::sync::Arc::new(move |failures| step * failures.min(10)))
            }
        };
        if !self.splays {
            settings.splay = Some(Duration::ZERO);
        }
        if self.metadata {
            settings.metadata = vec![("Address".into(), "10.0.0.7:8080".into())];
        }
        settings
    }
}
