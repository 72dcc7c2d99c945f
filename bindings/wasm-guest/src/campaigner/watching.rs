//! The watch of the key, and its renewal when it ends.

use core::time::Duration;

use incumbent_core::Instant;
use incumbent_core::record::Entry;

use super::bindings::incumbent::election::kv;
use super::map;

/// The first wait before the next watch; each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);
/// The longest wait. Without a watch a campaign is only slower: it still elects by polling.
const LONGEST: Duration = Duration::from_secs(2);

/// The watch of the key.
pub(super) struct Watching {
    watch: Option<kv::Watch>,
    /// Whether the host offers watches, as far as is known.
    offered: bool,
    /// The time at which to request a watch.
    next: Instant,
    /// The number of watches in a row that ended, or could not be opened, without an event.
    failures: u32,
}

impl Watching {
    pub(super) fn new(now: Instant) -> Self {
        Self { watch: None, offered: true, next: now, failures: 0 }
    }

    /// The time at which to request a watch; `None` where there is one, or the host offers none.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.offered && self.watch.is_none()).then_some(self.next)
    }

    pub(super) fn stands(&mut self, watch: kv::Watch) {
        self.watch = Some(watch);
    }

    pub(super) fn is_standing(&self) -> bool {
        self.watch.is_some()
    }

    /// Records that the host offers no watches.
    pub(super) fn is_not_offered(&mut self) {
        self.offered = false;
    }

    /// Records that the watch ended or could not be opened.
    pub(super) fn ended(&mut self, now: Instant) {
        self.watch = None;
        self.next = now + FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
    }

    /// Replaces the watch by a new one: the store has another incarnation.
    pub(super) fn anew(&mut self, now: Instant) {
        self.watch = None;
        self.next = now;
    }

    /// Returns the entries of the watch, waiting up to `limit` for them; `None` where it is over.
    pub(super) fn poll(&mut self, limit: Duration) -> Option<Vec<Entry>> {
        let Some(watch) = &self.watch else { return Some(Vec::new()) };
        let entries: Vec<_> = watch.poll(map::duration(limit)).ok()?.into_iter().map(map::entry).collect();
        if !entries.is_empty() {
            self.failures = 0;
        }
        Some(entries)
    }
}
