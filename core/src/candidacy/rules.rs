//! What a candidate's settings imply.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::campaign::{Backoff, Margin, Settings, WinDelay};

/// Settings that passed every check, with every default filled in. `O` holds the settings that only one rule has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rules<O> {
    pub(crate) name: String,
    pub(crate) metadata: Vec<(String, String)>,
    /// The lease time `T`.
    pub(crate) lease: Duration,
    pub(crate) margin: Margin,
    pub(crate) win_delay: WinDelay,
    pub(crate) splay: Duration,
    pub(crate) drain: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) own: O,
}

impl<O> Rules<O> {
    /// Builds the rules from these settings. `splay` is the longest splay if the settings do not set one.
    pub(crate) fn new(settings: Settings, lease: Duration, margin: Margin, splay: Duration, own: O) -> Self {
        Self {
            name: settings.name,
            metadata: settings.metadata,
            lease,
            margin,
            win_delay: settings.win_delay,
            splay: settings.splay.unwrap_or(splay),
            drain: settings.drain,
            backoff: settings.backoff,
            own,
        }
    }
}
