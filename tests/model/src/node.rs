//! A candidate: its campaign, its surroundings, and the notes for its checks.

use std::collections::VecDeque;
use std::hash::Hash;
use std::time::Duration;

use incumbent_core::campaign::{Backoff, Campaign, EarlySights, ReadId, Settings, Term};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::clock::{LEASE_TIME, Tick};
use crate::state::hasher;
use crate::store::Snapshot;
use crate::world::{Alike, World};

/// A candidate, or the place of an absent one.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) campaign: Option<Campaign>,
    /// What its watch showed since it entered, where its campaign has not begun.
    pub(crate) early: Option<EarlySights>,
    /// The number of processes at this place so far.
    pub(crate) process: u8,
    /// The time of its next timer.
    pub(crate) wakes: Tick,
    /// It is stopped, until then at the latest.
    pub(crate) paused: Option<Tick>,
    /// Its inspections are denied.
    pub(crate) denied: bool,
    /// The events that its watch has still to deliver.
    pub(crate) watched: VecDeque<Snapshot>,
    /// Its watch is silent, until then at the latest.
    pub(crate) stalled: Option<Tick>,
    /// The incarnation of the store that it watches.
    pub(crate) watches: Incarnation,
    /// The incarnation of the store last shown to it.
    pub(crate) knows: Incarnation,
    /// Its clock when it sent its newest write, or asked for the newest inspection that was answered.
    pub(crate) asked: Instant,
    /// The newest read it asked for, and its clock then.
    pub(crate) reading: Option<(ReadId, Instant)>,
    /// Its clock when it asked for the newest inspection that was answered.
    pub(crate) shown: Instant,
    /// It was asked to drain, and its work has not ended, nor its term for another reason.
    pub(crate) draining: bool,
    pub(crate) closing: bool,
    /// The term whose win it reported, and whose loss it did not report yet.
    pub(crate) term: Option<Term>,
    /// The highest revision handed to it in the incarnation it knows.
    pub(crate) known: Revision,
    /// Its clock when it sent the latest of its writes that made a live record.
    pub(crate) proven: Option<Instant>,
    /// The revisions of its own writes, its acquires by number, and the revisions acknowledged to those: one bit each.
    pub(crate) own: u64,
    pub(crate) acquires: u64,
    pub(crate) acknowledged: u64,
    /// The digest of all fields above, as of their last change.
    pub(crate) digest: u64,
}

/// The bit of a small number.
pub(crate) fn bit(number: u64) -> u64 {
    1 << number.min(63)
}

impl Node {
    pub(crate) fn absent() -> Self {
        let mut node = Self {
            campaign: None,
            early: None,
            process: 0,
            wakes: Tick::MAX,
            paused: None,
            denied: false,
            watched: VecDeque::new(),
            stalled: None,
            watches: Incarnation::default(),
            knows: Incarnation::default(),
            asked: Instant::ZERO,
            shown: Instant::ZERO,
            reading: None,
            draining: false,
            closing: false,
            term: None,
            known: Revision(0),
            proven: None,
            own: 0,
            acquires: 0,
            acknowledged: 0,
            digest: 0,
        };
        node.seal();
        node
    }

    /// Ends the process, and with it all that it knew.
    pub(crate) fn end(&mut self) {
        let process = self.process;
        *self = Self { process, ..Self::absent() };
    }

    /// Makes the campaign of a new process, with the world's settings.
    pub(crate) fn begin(&mut self, world: &World, place: usize, info: &StoreInfo, now: Instant) {
        let who = if world.alike == Alike::NonceAndName { 0 } else { place };
        let mut settings = Settings::new(name(who));
        settings.lease = Some(world.lease(place));
        settings.skew = Some(Duration::from_secs(world.skew.into()));
        settings.drift_ppm = world.drift_setting;
        settings.slack = Some(Duration::ZERO);
        settings.splay = Some(Duration::ZERO);
        settings.drain = Duration::from_secs(1);
        if world.keeps {
            // A leader does not use its back-off.
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
            Alike::Not => Nonce(100 * (place as u128 + 1) + u128::from(self.process)),
            Alike::Nonce | Alike::NonceAndName => Nonce(100),
        };
        (self.knows, self.shown) = (info.incarnation, info.asked_at);
        self.campaign = Campaign::new(settings, store, info, nonce, place as u64, now).ok();
        if let (Some(campaign), Some(early)) = (&mut self.campaign, self.early.take())
            && !world.forgets
        {
            campaign.recall(&early, info);
        }
    }

    /// Whether it has entered.
    pub(crate) fn is_present(&self) -> bool {
        self.campaign.is_some() || self.early.is_some()
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Takes its digest, after a change.
    pub(crate) fn seal(&mut self) {
        let mut hasher = hasher();
        if let Some(campaign) = &self.campaign {
            campaign.fingerprint(&mut hasher);
        }
        (self.campaign.is_some(), &self.early, self.process, self.paused, self.stalled).hash(&mut hasher);
        (
            &self.watched,
            self.watches,
            self.knows,
            self.asked,
            self.shown,
            self.reading,
            self.draining,
            self.closing,
        )
            .hash(&mut hasher);
        (self.term, self.known, self.proven, self.denied).hash(&mut hasher);
        (self.own, self.acquires, self.acknowledged).hash(&mut hasher);
        self.digest = std::hash::Hasher::finish(&hasher);
    }
}

/// The name of the candidate with this index.
pub(crate) fn name(place: usize) -> &'static str {
    ["a", "b", "c"][place]
}
