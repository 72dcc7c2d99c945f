//! Campaigns that wait to ask the store something, in order of precedence.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use core::num::NonZeroU64;

use super::CampaignId;
use crate::time::Instant;

/// The classes of requests. The most urgent class comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A request that keeps a lease, or resolves a write that does.
    Renewal,
    /// A request that removes the record of a term that is over, so that another candidate can lead.
    Release,
    /// A read of an election's key for a waiting candidate.
    Read,
    /// Acquires a lease.
    Acquire,
}

impl Class {
    /// All of them.
    pub(super) const ALL: [Self; CLASSES] = [Self::Renewal, Self::Release, Self::Read, Self::Acquire];
}

/// A campaign's wish to ask the store something. The request is made when the campaign's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    /// The request's class.
    pub class: Class,
    /// For a renewal, the time from which its answer would come too late; otherwise the time of the wish.
    pub by: Instant,
}

/// The place of a wish in the queue: its number, followed by its class in two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Queued(NonZeroU64);

/// The number of classes.
const CLASSES: usize = 4;
/// The number of wishes for which an empty queue keeps memory.
const FEW: usize = 64;

/// The queue of a session. A campaign has one wish at a time, and knows its place in the queue.
#[derive(Clone, Debug)]
pub(super) struct Wishes {
    /// A heap for each class, earliest wish first. Some entries are for wishes that are gone.
    heaps: [BinaryHeap<Reverse<(Instant, Queued, CampaignId)>>; CLASSES],
    /// The number of the newest.
    newest: NonZeroU64,
    len: usize,
}

impl Default for Wishes {
    fn default() -> Self {
        // The first number, which must be divisible by the number of classes.
        let newest = const { NonZeroU64::new(CLASSES as u64).expect("it is not zero") };
        Self { heaps: Default::default(), newest, len: 0 }
    }
}

impl Wishes {
    /// Replaces a campaign's wish `before` by `wish`, or removes it. Returns the wish's place.
    pub(super) fn set(
        &mut self,
        id: CampaignId,
        wish: Option<Wish>,
        before: Option<Queued>,
    ) -> Option<Queued> {
        if wish.is_none() && before.is_some() {
            self.left();
        }
        wish.map(|wish| self.enter(id, wish, before))
    }

    /// Enters a wish in place of `before`. A wish of the same class keeps its place, except a renewal, whose time may
    /// differ.
    fn enter(&mut self, id: CampaignId, wish: Wish, before: Option<Queued>) -> Queued {
        let class = wish.class as usize;
        match before {
            Some(queued)
                if wish.class != Class::Renewal && queued.0.get() % CLASSES as u64 == class as u64 =>
            {
                return queued;
            }
            Some(_) => {}
            None => self.len += 1,
        }
        self.newest = self.newest.saturating_add(CLASSES as u64);
        let queued = Queued(self.newest | class as u64);
        self.heaps[class].push(Reverse((wish.by, queued, id)));
        queued
    }

    /// Notes that a wish was granted or withdrawn.
    pub(super) fn left(&mut self) {
        self.len = self.len.saturating_sub(1);
        if self.len == 0 {
            for heap in &mut self.heaps {
                heap.clear();
                heap.shrink_to(FEW);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first wish of a class. `queued` returns the wish that a campaign has.
    pub(super) fn first(
        &mut self,
        class: Class,
        queued: impl Fn(CampaignId) -> Option<Queued>,
    ) -> Option<(CampaignId, Instant)> {
        let heap = &mut self.heaps[class as usize];
        while let Some(Reverse((by, place, id))) = heap.peek().copied() {
            if queued(id) == Some(place) {
                return Some((id, by));
            }
            heap.pop();
        }
        None
    }
}
