//! The state of a candidate's process other than its campaign, and notes for the checks of that candidate.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Backoff, Campaign, EarlySights, ReadId, Settings};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use super::Key;
use super::bucket::Snapshot;
use super::world::Alike;
use crate::clock::{LEASE_TIME, Tick};
use crate::node::{Node, name, nonce};
use crate::world::World;

/// The state of a candidate's process other than its campaign.
#[derive(Clone, Debug, Default, Hash)]
pub struct Process {
    /// What the process's watch has shown since the candidate entered; `None` once its campaign has begun.
    pub(super) early: Option<EarlySights>,
    /// The number of processes so far at this index.
    pub(super) process: u8,
    /// Its inspections are denied.
    pub(super) denied: bool,
    /// The events that the process's watch still has to deliver.
    pub(super) watched: VecDeque<Snapshot>,
    /// The latest time until which the process's watch is silent, if it is.
    pub(super) stalled: Option<Tick>,
    /// The incarnation of the store that the process watches.
    pub(super) watches: Incarnation,
    /// The incarnation of the store that was last shown to the process.
    pub(super) knows: Incarnation,
    /// The reading of the process's clock when it sent its newest write, or requested the newest answered inspection.
    pub(super) asked: Instant,
    /// The newest read that the process asked for, and the reading of its clock then.
    pub(super) reading: Option<(ReadId, Instant)>,
    /// The reading of the process's clock when it requested the newest answered inspection.
    pub(super) shown: Instant,
    pub(super) closing: bool,
    /// The highest revision that the process was shown in the incarnation that it knows.
    pub(super) known: Revision,
    /// The reading of the process's clock when it sent its latest applied write of a live record.
    pub(super) proven: Option<Instant>,
    /// Three sets of one bit each: the revisions of the process's own writes, the numbers of its acquires, and the
    /// revisions with which those acquires were acknowledged.
    pub(super) own: u64,
    pub(super) acquires: u64,
    pub(super) acknowledged: u64,
}

impl Node<Key> {
    /// Makes the campaign of a new process, with the settings of the world.
    pub(super) fn begin(&mut self, world: &World<Key>, place: usize, info: &StoreInfo, now: Instant) {
        let who = if world.alike == Alike::NonceAndName { 0 } else { place };
        let mut settings = Settings::new(name(who));
        settings.lease = Some(world.lease(place));
        settings.skew = Some(Duration::from_secs(world.skew.into()));
        settings.drift_ppm = world.drift_setting;
        settings.slack = Some(Duration::ZERO);
        settings.splay = Some(Duration::ZERO);
        settings.drain = Duration::from_secs(1);
        if world.keeps {
            // The long back-off slows only other candidates, because a leader does not use its back-off.
            settings.backoff = Backoff::Fixed(2 * LEASE_TIME);
        }
        let store = Capabilities {
            own_lease: true,
            lease_step: Duration::from_secs(1),
            shortest: Duration::from_secs(1),
            longest: Duration::from_secs(3600),
            granularity: Duration::from_secs(world.late.into()),
            expiry_pushed: world.markers,
            incarnation_acked: world.acked,
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::ZERO,
        };
        self.process += 1;
        let nonce = match world.alike {
            Alike::Not => nonce(place, self.process),
            Alike::Nonce | Alike::NonceAndName => Nonce(100),
        };
        (self.knows, self.shown) = (info.incarnation, info.asked_at);
        self.campaign = Campaign::new(settings, store, info, nonce, place as u64, now).ok();
        let early = self.early.take().filter(|_| !world.forgets);
        if let (Some(campaign), Some(early)) = (&mut self.campaign, early) {
            campaign.recall(&early, info);
        }
    }

    /// Returns true if the process has entered.
    pub(super) fn is_present(&self) -> bool {
        self.campaign.is_some() || self.early.is_some()
    }
}
