//! The one watch of a store, and how it is established again when it ends.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent_core::Instant;

use crate::store::Watched;

/// The first wait before watching again; each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);
/// The longest. A campaign loses nothing by it but speed: its polls still elect.
const LONGEST: Duration = Duration::from_secs(2);

/// The watch of all keys.
#[derive(Default)]
pub(super) struct Watch {
    stream: Option<BoxStream<'static, Watched>>,
    wanted: bool,
    connecting: bool,
    /// How often in a row it ended, or could not be had, without telling anything.
    failures: u32,
}

impl Watch {
    /// Whether to begin a watch now, because somebody has come to want it.
    pub(super) fn want(&mut self) -> bool {
        !std::mem::replace(&mut self.wanted, true) && self.begin()
    }

    /// Whether to begin a watch now.
    pub(super) fn begin(&mut self) -> bool {
        if self.stream.is_some() || self.connecting {
            return false;
        }
        self.connecting = true;
        true
    }

    /// The watch that was begun stands.
    pub(super) fn stands(&mut self, stream: BoxStream<'static, Watched>) {
        self.connecting = false;
        self.stream = Some(stream);
    }

    /// It ended, or could not be had: when to begin again.
    pub(super) fn ended(&mut self, now: Instant) -> Instant {
        self.connecting = false;
        self.stream = None;
        let wait = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        now + wait
    }

    /// The next change; `None` when the watch ended. Waits for ever while there is none.
    pub(super) async fn next(&mut self) -> Option<Watched> {
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
        assert!(watch.want());
        assert!(!watch.want());
        assert!(!watch.begin());
        watch.stands(stream::pending().boxed());
        assert!(!watch.begin());
    }

    #[test]
    fn a_watch_that_ends_is_begun_again_later_and_later_until_it_tells_something() {
        let mut watch = Watch::default();
        let waits = |watch: &mut Watch| watch.ended(Instant::ZERO).since(Instant::ZERO).as_millis();
        assert!(watch.want());
        let seen: Vec<_> = (0..7).map(|_| waits(&mut watch)).collect();
        assert_eq!(seen, [100, 200, 400, 800, 1600, 2000, 2000]);
        assert!(watch.begin());
        let told = Watched { key: "jobs".into(), entry: Entry::Vacant };
        watch.stands(stream::iter([told.clone()]).boxed());
        assert_eq!(watch.next().now_or_never(), Some(Some(told)));
        assert_eq!(watch.next().now_or_never(), Some(None));
        assert_eq!(waits(&mut watch), 100);
    }
}
