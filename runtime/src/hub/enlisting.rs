//! Whether the adapter was told who stands, once for as many changes as come meanwhile.

use std::time::Duration;

use super::doubled;

/// The first wait before an adapter that failed is told again; doubled up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest. Nothing depends on it but what a roll call shows.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the adapter knows of the roll.
#[derive(Debug, Default)]
pub(super) struct Enlisting {
    /// The roll has changed since the adapter was last told.
    changed: bool,
    under_way: bool,
    failures: u32,
}

impl Enlisting {
    /// The roll has changed.
    pub(super) fn change(&mut self) {
        self.changed = true;
    }

    /// Whether to tell the adapter now.
    pub(super) fn begin(&mut self) -> bool {
        let now = self.changed && !self.under_way;
        if now {
            (self.changed, self.under_way) = (false, true);
        }
        now
    }

    /// It was told, or could not be: when to tell it again, if nothing changes before.
    pub(super) fn ended(&mut self, told: bool) -> Option<Duration> {
        self.under_way = false;
        if told {
            self.failures = 0;
            return None;
        }
        let wait = doubled(FIRST_WAIT, self.failures, LONGEST_WAIT);
        self.failures = self.failures.saturating_add(1);
        Some(wait)
    }

    /// Whether the adapter knows everything.
    pub(super) fn is_done(&self) -> bool {
        !self.changed && !self.under_way && self.failures == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_under_way_at_a_time_and_the_next_tells_all_that_changed_meanwhile() {
        let mut enlisting = Enlisting::default();
        assert!(!enlisting.begin());
        enlisting.change();
        assert!(enlisting.begin());
        enlisting.change();
        enlisting.change();
        assert!(!enlisting.begin());
        assert_eq!(enlisting.ended(true), None);
        assert!(enlisting.begin());
        assert_eq!(enlisting.ended(true), None);
        assert!(!enlisting.begin());
        assert!(enlisting.is_done());
    }

    #[test]
    fn a_failure_is_followed_by_longer_and_longer_waits_until_it_is_over() {
        let mut enlisting = Enlisting::default();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            enlisting.change();
            assert!(enlisting.begin());
            assert_eq!(enlisting.ended(false), Some(Duration::from_secs(seconds)));
            assert!(!enlisting.is_done());
        }
        enlisting.change();
        assert!(enlisting.begin());
        assert_eq!(enlisting.ended(true), None);
        assert!(enlisting.is_done());
    }
}
