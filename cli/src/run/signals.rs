//! The signals that the supervisor takes, and what they mean.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To end; the command gets the same signal.
    End(Signal),
    /// To pass it on.
    PassOn(Signal),
}

/// All that are taken.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    hangup: unix::Signal,
    user1: unix::Signal,
    user2: unix::Signal,
    child: unix::Signal,
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
        })
    }

    /// Returns when there is a signal that ends a process that has nothing to do yet.
    pub(super) async fn end(&mut self) {
        while !matches!(self.next().await, Some(Asked::End(_) | Asked::PassOn(Signal::HUP))) {}
    }

    /// The next signal; none when a child process has ended. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Asked> {
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
