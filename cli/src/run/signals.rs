//! The signals that the supervisor handles, and their meaning.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use rustix::process::Signal;
use rustix_libc_wrappers::process::SignalExt as _;
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::time::Instant;

/// The time within which the same signal again is the same request: `timeout` sends it to its child and then to the
/// group.
const ONE: Duration = Duration::from_secs(1);

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The signal asks the supervisor to end, and the command gets it too.
    End(Signal),
    /// The signal is passed on to the command.
    PassOn(Signal),
}

/// The signals that ask for the end. LXC and systemd stop a container with PWR and the third real-time signal.
const ENDING: &[Signal] = &[
    Signal::TERM,
    Signal::INT,
    Signal::QUIT,
    #[cfg(target_os = "linux")]
    Signal::POWER,
];
#[cfg(target_os = "linux")]
const ENDING_OF_SYSTEMD: usize = 3;

/// The signals that are passed on, in addition to the real-time signals. Others concern this process itself, or cannot
/// be caught.
const PASSED_ON: &[Signal] = &[
    Signal::HUP,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::CONT,
    Signal::IO,
    Signal::PROF,
    Signal::URG,
    Signal::VTALARM,
    Signal::WINCH,
    Signal::XCPU,
    Signal::XFSZ,
    #[cfg(target_os = "linux")]
    Signal::STKFLT,
];

/// All signals that are handled.
pub(super) struct Signals {
    asking: Vec<(Asked, unix::Signal)>,
    child: unix::Signal,
    /// The first signal that asked the supervisor to end, and its time.
    asked: Option<(Signal, Instant)>,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        let caught = |asked: Asked| {
            let (Asked::End(kind) | Asked::PassOn(kind)) = asked;
            signal(SignalKind::from_raw(kind.as_raw())).map(|signal| (asked, signal))
        };
        let is_ignored = is_hangup_ignored();
        let ending = ENDING.iter().copied().map(Asked::End);
        let passed_on = PASSED_ON.iter().copied().filter(|kind| *kind != Signal::HUP || !is_ignored);
        let asking = ending.chain(passed_on.map(Asked::PassOn)).chain(real_time()).map(caught);
        Ok(Self {
            asking: asking.collect::<io::Result<_>>()?,
            child: signal(SignalKind::child())?,
            asked: None,
        })
    }

    /// Waits for a signal that should end a process which has no work yet.
    pub(super) async fn end(&mut self) {
        while !matches!(self.next().await, Some(Asked::End(_) | Asked::PassOn(Signal::HUP))) {}
    }

    /// The next signal; `None` when a child process has ended. Cancel-safe.
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

    /// The next signal, including repeats. Cancel-safe.
    pub(super) async fn any(&mut self) -> Option<Asked> {
        poll_fn(|context| {
            for (asked, signal) in &mut self.asking {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(Some(*asked));
                }
            }
            self.child.poll_recv(context).map(|_| None)
        })
        .await
    }
}

/// The real-time signals.
#[cfg(target_os = "linux")]
fn real_time() -> impl Iterator<Item = Asked> {
    (0..).map_while(Signal::rt).enumerate().map(|(number, signal)| match number {
        ENDING_OF_SYSTEMD => Asked::End(signal),
        _ => Asked::PassOn(signal),
    })
}

#[cfg(not(target_os = "linux"))]
fn real_time() -> impl Iterator<Item = Asked> {
    std::iter::empty()
}

/// Whether a hangup was ignored when this process began, as under `nohup`. Such a hangup remains ignored, here and in
/// the command.
#[cfg(target_os = "linux")]
fn is_hangup_ignored() -> bool {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.is_ok_and(|status| status.sigign & 1 << (Signal::HUP.as_raw() - 1) != 0)
}

#[cfg(not(target_os = "linux"))]
fn is_hangup_ignored() -> bool {
    false
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
