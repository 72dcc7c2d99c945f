//! The wait before an exited command is started again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A command that ran for this long does not count as one that keeps exiting.
const SETTLED: Duration = Duration::from_secs(60);

/// One second, then twice as long each time up to a minute; one second again once the command ran for a minute.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    last: Option<Duration>,
}

impl Backoff {
    /// The wait after a command that ran for `ran`.
    pub(super) fn after(&mut self, ran: Duration) -> Duration {
        let wait = match self.last {
            Some(last) if ran < SETTLED => (last * 2).min(LONGEST),
            _ => FIRST,
        };
        self.last = Some(wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_a_minute() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..8).map(|_| backoff.after(Duration::ZERO).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_command_that_ran_for_a_minute_starts_from_the_first_wait_again() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.after(Duration::ZERO), Duration::from_secs(1));
        assert_eq!(backoff.after(Duration::ZERO), Duration::from_secs(2));
        assert_eq!(backoff.after(Duration::from_secs(60)), Duration::from_secs(1));
    }
}
