//! The signals that the supervisor handles, and their meaning.

use std::io;
use std::time::Duration;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::time::Instant;

/// The same signal again within this time is the same request: `timeout` sends it to its child and then to the group.
const ONE: Duration = Duration::from_secs(1);

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Asks the supervisor to end; the command gets the same signal.
    End(Signal),
    /// Is passed on to the command.
    PassOn(Signal),
}

/// All signals that are handled.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    hangup: unix::Signal,
    user1: unix::Signal,
    user2: unix::Signal,
    child: unix::Signal,
    /// The first signal that asked the supervisor to end, and its time.
    asked: Option<(Signal, Instant)>,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hangup: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
            user2: signal(SignalKind::user_defined2())?,
            child: signal(SignalKind::child())?,
            asked: None,
        })
    }

    /// Returns at a signal that ends a process with nothing to do yet.
    pub(super) async fn end(&mut self) {
        while !matches!(self.next().await, Some(Asked::End(_) | Asked::PassOn(Signal::HUP))) {}
    }

    /// The next signal; none when a child process has ended. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Asked> {
        loop {
            match self.any().await {
                Some(Asked::End(signal)) if self.is_heard(signal, Instant::now()) => {}
                asked => return asked,
            }
        }
    }

    /// Returns true if a signal that asks the supervisor to end repeats an earlier one.
    fn is_heard(&mut self, signal: Signal, now: Instant) -> bool {
        let (first, at) = *self.asked.get_or_insert((signal, now));
        first == signal && at != now && now < at + ONE
    }

    /// The next signal, including repeats.
    pub(super) async fn any(&mut self) -> Option<Asked> {
        tokio::select! {
            _ = self.terminate.recv() => Some(Asked::End(Signal::TERM)),
            _ = self.interrupt.recv() => Some(Asked::End(Signal::INT)),
            _ = self.quit.recv() => Some(Asked::End(Signal::QUIT)),
            _ = self.hangup.recv() => Some(Asked::PassOn(Signal::HUP)),
            _ = self.user1.recv() => Some(Asked::PassOn(Signal::USR1)),
            _ = self.user2.recv() => Some(Asked::PassOn(Signal::USR2)),
            _ = self.child.recv() => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_signal_within_a_second_is_one_and_any_other_is_another() {
        let mut signals = Signals::new().unwrap();
        let at = Instant::now();
        assert!(!signals.is_heard(Signal::TERM, at));
        assert!(signals.is_heard(Signal::TERM, at + Duration::from_millis(1)));
        assert!(signals.is_heard(Signal::TERM, at + Duration::from_millis(999)));
        assert!(!signals.is_heard(Signal::INT, at + Duration::from_millis(2)));
        assert!(!signals.is_heard(Signal::TERM, at + ONE));
    }
}
