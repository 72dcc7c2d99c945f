//! What follows from a candidate's settings.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::campaign::{Backoff, Margin, Settings, WinDelay};

/// Settings that passed every check, with nothing left to default. `O` is what one rule alone has.
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
    /// The rules of these settings, where `splay` is the longest splay unless they set one.
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
