//! A candidate: its campaign, what is around it, and what is remembered of it to judge it by.

use std::collections::VecDeque;
use std::hash::Hash;
use std::time::Duration;

use incumbent_core::campaign::{Backoff, Campaign, ReadId, Settings, Term};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::clock::{LEASE_TIME, Tick};
use crate::digest;
use crate::store::Seen;
use crate::world::{Alike, World};

/// A candidate, or the place of one that is not there.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) campaign: Option<Campaign>,
    /// How many processes there have been at this place.
    pub(crate) process: u8,
    /// When its next timer is due.
    pub(crate) wakes: Tick,
    /// Stopped, until then at the latest.
    pub(crate) paused: Option<Tick>,
    /// What its watch has to tell it.
    pub(crate) watched: VecDeque<Seen>,
    /// Its watch is silent, until then at the latest.
    pub(crate) stalled: Option<Tick>,
    /// Which life of the store it watches.
    pub(crate) watches: Incarnation,
    /// Which life of the store it was last told of.
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
    /// The term it was told, and not yet told the end of.
    pub(crate) term: Option<Term>,
    /// The highest revision it was handed in the life it knows.
    pub(crate) known: Revision,
    /// Its clock when it sent the latest of its writes that made a live record.
    pub(crate) proven: Option<Instant>,
    /// The revisions of its own writes, its acquires by number, and the revisions acknowledged to those: one bit each.
    pub(crate) own: u64,
    pub(crate) acquires: u64,
    pub(crate) acknowledged: u64,
    /// Of all the above, as it was when it last changed.
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
            process: 0,
            wakes: Tick::MAX,
            paused: None,
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

    /// The process is gone, and all it knew.
    pub(crate) fn dies(&mut self) {
        let process = self.process;
        *self = Self { process, ..Self::absent() };
    }

    /// A new process campaigns, as far as its settings are concerned.
    pub(crate) fn begins(&mut self, world: &World, place: usize, info: &StoreInfo, now: Instant) {
        let who = if world.alike == Alike::NonceAndName { 0 } else { place };
        let mut settings = Settings::new(name(who));
        settings.lease = Some(world.lease(place));
        settings.skew = Some(Duration::from_secs(world.skew.into()));
        settings.drift_ppm = world.drift_setting;
        settings.slack = Some(Duration::ZERO);
        settings.splay = Some(Duration::ZERO);
        settings.drain = Duration::from_secs(1);
        if world.keeps {
            // A leader does not ask it.
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
            fail_over: Duration::ZERO,
        };
        self.process += 1;
        let nonce = match world.alike {
            Alike::Not => Nonce(100 * (place as u128 + 1) + u128::from(self.process)),
            Alike::Nonce | Alike::NonceAndName => Nonce(100),
        };
        (self.knows, self.shown) = (info.incarnation, info.asked_at);
        self.campaign = Campaign::new(settings, store, info, nonce, place as u64, now).ok();
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Takes its digest, after it changed.
    pub(crate) fn seal(&mut self) {
        let mut hasher = digest::hasher();
        if let Some(campaign) = &self.campaign {
            campaign.fingerprint(&mut hasher);
        }
        (self.campaign.is_some(), self.process, self.paused, self.stalled).hash(&mut hasher);
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
        (self.term, self.known, self.proven).hash(&mut hasher);
        (self.own, self.acquires, self.acknowledged).hash(&mut hasher);
        self.digest = std::hash::Hasher::finish(&hasher);
    }
}

/// The name of the candidate at a place.
pub(crate) fn name(place: usize) -> &'static str {
    ["a", "b", "c"][place]
}
