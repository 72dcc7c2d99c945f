//! The one watch of a store, and how it is established again when it ends.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent_core::Instant;

use super::doubled;
use crate::store::WatchEvent;

/// The first wait before watching again; each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);
/// The longest. A campaign loses nothing by it but speed: its polls still elect.
const LONGEST: Duration = Duration::from_secs(2);

/// The watch of all keys.
///
/// Watches are numbered: one that another life of the store has overtaken, before it stood or
/// after, tells nothing any more.
#[derive(Default)]
pub(super) struct Watch {
    stream: Option<BoxStream<'static, WatchEvent>>,
    /// When the present watch stood.
    since: Option<Instant>,
    wanted: bool,
    connecting: bool,
    number: u64,
    /// How often in a row it ended, or could not be had, without telling anything.
    failures: u32,
}

impl Watch {
    /// The number of the watch to begin now, because somebody has come to want it.
    pub(super) fn want(&mut self) -> Option<u64> {
        if std::mem::replace(&mut self.wanted, true) { None } else { self.begin() }
    }

    /// The number of the watch to begin now, where there is none.
    pub(super) fn begin(&mut self) -> Option<u64> {
        if self.stream.is_some() || self.connecting {
            return None;
        }
        self.connecting = true;
        self.number += 1;
        Some(self.number)
    }

    /// Ends the present watch; the number of the one to begin now, where one is wanted.
    pub(super) fn anew(&mut self) -> Option<u64> {
        self.stream = None;
        self.since = None;
        self.connecting = false;
        if self.wanted { self.begin() } else { None }
    }

    /// The number of the watch that was begun last.
    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether that watch is the one that was begun last.
    pub(super) fn is_present(&self, number: u64) -> bool {
        self.number == number
    }

    /// The watch that was begun stands.
    pub(super) fn stands(&mut self, stream: BoxStream<'static, WatchEvent>, now: Instant) {
        self.connecting = false;
        self.stream = Some(stream);
        self.since = Some(now);
    }

    /// Since when the present watch stands.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// It ended, or could not be had: when to begin again.
    pub(super) fn ended(&mut self, now: Instant) -> Instant {
        self.connecting = false;
        self.stream = None;
        self.since = None;
        let wait = doubled(FIRST, self.failures, LONGEST);
        self.failures = self.failures.saturating_add(1);
        now + wait
    }

    /// The next change; `None` when the watch ended. Waits for ever while there is none.
    pub(super) async fn next(&mut self) -> Option<WatchEvent> {
        let Some(stream) = &mut self.stream else { return std::future::pending().await };
        let next = stream.next().await;
        if next.is_some() {
            self.failures = 0;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, stream};
    use incumbent_core::record::Entry;

    #[test]
    fn one_watch_is_begun_however_many_want_it() {
        let mut watch = Watch::default();
        assert_eq!(watch.want(), Some(1));
        assert_eq!(watch.want(), None);
        assert_eq!(watch.begin(), None);
        watch.stands(stream::pending().boxed(), Instant::ZERO);
        assert_eq!(watch.begin(), None);
    }

    #[test]
    fn a_watch_that_ends_is_begun_again_later_and_later_until_it_tells_something() {
        let mut watch = Watch::default();
        let waits = |watch: &mut Watch| watch.ended(Instant::ZERO).since(Instant::ZERO).as_millis();
        assert_eq!(watch.want(), Some(1));
        let seen: Vec<_> = (0..7).map(|_| waits(&mut watch)).collect();
        assert_eq!(seen, [100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(watch.begin(), Some(2));
        let told = WatchEvent { key: "jobs".into(), entry: Entry::Vacant };
        watch.stands(stream::iter([told.clone()]).boxed(), Instant::ZERO);
        assert_eq!(watch.next().now_or_never(), Some(Some(told)));
        assert_eq!(watch.next().now_or_never(), Some(None));
        assert_eq!(waits(&mut watch), 100);
    }

    #[test]
    fn a_watch_begun_anew_overtakes_the_one_before() {
        let mut watch = Watch::default();
        assert_eq!(watch.anew(), None);
        assert_eq!(watch.want(), Some(1));
        assert_eq!(watch.anew(), Some(2));
        assert!(!watch.is_present(1));
        watch.stands(stream::pending().boxed(), Instant::from_nanos(5));
        assert_eq!(watch.since(), Some(Instant::from_nanos(5)));
        assert_eq!(watch.anew(), Some(3));
        assert_eq!(watch.since(), None);
    }
}
