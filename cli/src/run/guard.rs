//! The guard: a process that ends the command's process group, or removes the leader's file, when the lease runs out.
//!
//! The supervisor does that too, unless it is stopped or killed. It sends the guard every deadline. The guard sends the
//! group a SIGTERM in good time before the last deadline that it received, and a SIGKILL just before that deadline.
//! When the guard's standard input ends, the supervisor is gone, and the guard sends a SIGKILL at once.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use incumbent::{Clock, Instant};
use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};
use serde::{Deserialize, Serialize};

use super::args::GuardArgs;
use super::cgroup;
use super::helper::{self, Helper, Orders};
use super::leader_file::TermFile;
use super::reach::has_live_members;
use crate::stderr::warn;

/// The longest sleep between two readings of the clock. While the machine is suspended timers stop, but the lease runs
/// on.
const NAP: Duration = Duration::from_millis(50);

/// The guard's priority, if permitted; the usual one is 0.
const PRIORITY: i32 = -10;

/// The time that killed processes take to disappear, even on a busy machine.
const DYING: Duration = Duration::from_secs(1);

/// A message to the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// From now on, also kill all processes in this control group.
    Within(PathBuf),
    /// From now on, remove this file whenever a group would be killed.
    Remove(TermFile),
    /// End this process group in time.
    Watch(Watch),
    /// Send the SIGTERM now, unless it has been sent.
    Terminate,
    /// Nothing is left to end.
    Rest,
}

/// The process group to end, if there is one, and the times at which to end it. Instants are nanoseconds of the
/// machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Watch {
    /// Zero for none.
    group: i32,
    terminate_at: u64,
    kill_at: u64,
    deadline: u64,
}

impl Watch {
    /// Returns the watch of a process group. `longest` is the longest time to a deadline that the term has had, which
    /// is in effect the lease.
    pub(super) fn new(group: Pid, deadline: Instant, longest: Duration, grace: Duration) -> Self {
        let (terminate_at, kill_at) = times(deadline, longest, grace);
        Self {
            group: group.as_raw_nonzero().get(),
            terminate_at: terminate_at.as_nanos(),
            kill_at: kill_at.as_nanos(),
            deadline: deadline.as_nanos(),
        }
    }

    /// Returns the watch of a candidate without a command, in which only the leader's file is removed in time.
    pub(super) fn of_file(deadline: Instant, longest: Duration) -> Self {
        let (_, kill_at) = times(deadline, longest, Duration::ZERO);
        let kill_at = kill_at.as_nanos();
        Self { group: 0, terminate_at: u64::MAX, kill_at, deadline: deadline.as_nanos() }
    }

    /// The time by which the group is dead, or the file removed.
    pub(super) fn until(self) -> Instant {
        Instant::from_nanos(self.kill_at)
    }

    /// Returns this watch for a command that was asked to end for another reason, and has time until `kill_at`.
    pub(super) fn ending(self, kill_at: Instant) -> Self {
        Self { terminate_at: u64::MAX, kill_at: self.kill_at.min(kill_at.as_nanos()), ..self }
    }

    /// Returns true if it is time for the SIGTERM.
    pub(super) fn is_pressing(self, now: Instant) -> bool {
        now.as_nanos() >= self.terminate_at
    }

    /// Returns true if it is time for the SIGKILL.
    pub(super) fn is_over(self, now: Instant) -> bool {
        now.as_nanos() >= self.kill_at
    }

    /// Reports if a process of the killed group lives longer than killed processes usually do.
    async fn report_survivors(self) {
        let Some(group) = Pid::from_raw(self.group).filter(|_| cfg!(target_os = "linux")) else { return };
        let begun = tokio::time::Instant::now();
        // If it is unknown whether a process lives, nothing is reported.
        while has_live_members(group).unwrap_or(false) {
            if begun.elapsed() > DYING {
                warn(
                    "the command cannot be killed, and may keep running while the next leader's does: it runs as another \
                     user, or hangs in the kernel",
                );
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn signal(self, signal: Signal, within: Option<&Path>) {
        if let Some(group) = Pid::from_raw(self.group) {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, signal);
        }
        if let Some(within) = within.filter(|_| signal == Signal::KILL) {
            cgroup::kill(within);
        }
    }
}

/// The times of the SIGTERM and the SIGKILL for work that must be dead by `deadline`.
pub(super) fn times(deadline: Instant, longest: Duration, grace: Duration) -> (Instant, Instant) {
    // The kernel has this time to kill and remove a process on a busy machine.
    let kill_at =
        deadline.before((longest / 20).clamp(Duration::from_millis(50), Duration::from_millis(500)));
    // By the time of the SIGTERM, renewals have failed for two thirds of a lease, with a retry or two.
    (kill_at.before(grace.min(longest / 4)), kill_at)
}

/// The guard's next action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Duty {
    watch: Option<Watch>,
    is_wanted: bool,
    terminated: bool,
}

impl Duty {
    fn take(&mut self, order: Order) {
        match order {
            Order::Within(_) | Order::Remove(_) => {}
            Order::Rest => *self = Self::default(),
            Order::Terminate => self.is_wanted = true,
            // A later deadline does not undo a SIGTERM.
            Order::Watch(watch) if self.watch.is_some_and(|before| before.group == watch.group) => {
                self.watch = Some(watch);
            }
            Order::Watch(watch) => *self = Self { watch: Some(watch), ..Self::default() },
        }
    }

    /// The signal that is due. Each signal is returned only once.
    fn due(&mut self, now: Instant) -> Option<(Watch, Signal)> {
        let watch = self.watch?;
        if watch.is_over(now) {
            *self = Self::default();
            return Some((watch, Signal::KILL));
        }
        if (self.is_wanted || watch.is_pressing(now)) && !self.terminated {
            self.terminated = true;
            return Some((watch, Signal::TERM));
        }
        None
    }

    fn next(&self, now: Instant) -> Duration {
        let at = self.watch.map(|watch| match self.terminated {
            true => watch.kill_at,
            false => watch.terminate_at.min(watch.kill_at),
        });
        at.map_or(NAP, |at| Instant::from_nanos(at).since(now).min(NAP))
    }
}

/// Runs the hidden command of the guard's process. The process ends when its standard input does.
///
/// # Errors
/// The signals that the guard must ignore cannot be caught.
pub(crate) async fn guard(args: GuardArgs) -> io::Result<()> {
    // This comes first, because it catches signals, and the guard is the last process that keeps the promise.
    let mut orders = Orders::new(c"run-guard")?;
    // With permission, the guard gets processor time before the work that it must end in time.
    let _ = setpriority_process(None, PRIORITY);
    let clock = Clock::system();
    let mut duty = Duty::default();
    let mut within: Option<PathBuf> = None;
    let mut file: Option<TermFile> = None;
    for line in &args.orders {
        // An order that could not be written as text is empty.
        if let Ok(order) = serde_json::from_str(line) {
            take(order, &mut within, &mut file, &mut duty);
        }
    }
    loop {
        tokio::select! {
            order = orders.next() => match order {
                Some(order) => take(order, &mut within, &mut file, &mut duty),
                None => break,
            },
            () = tokio::time::sleep(duty.next(clock.now())), if duty.watch.is_some() => {}
        }
        if let Some((watch, signal)) = duty.due(clock.now()) {
            watch.signal(signal, within.as_deref());
            let removed = signal == Signal::KILL && file.as_ref().is_some_and(TermFile::remove);
            let late = clock.now().since(Instant::from_nanos(watch.deadline));
            if signal == Signal::KILL && !late.is_zero() && (removed || watch.group != 0) {
                let what = if removed { "the file was removed" } else { "the command was killed" };
                warn(format_args!(
                    "{what} {late:?} after its lease was over: this machine was suspended, or is too busy for such a \
                     short lease"
                ));
            }
            if signal == Signal::KILL {
                watch.report_survivors().await;
            }
        }
    }
    if let Some(watch) = duty.watch {
        watch.signal(Signal::KILL, within.as_deref());
        watch.report_survivors().await;
    }
    if let Some(file) = file {
        file.remove();
    }
    // A supervisor that ended normally has already removed the control group.
    if let Some(within) = within.filter(|within| within.exists()) {
        cgroup::remove(&within);
    }
    if let Some(folder) = args.folder {
        helper::remove(&folder);
    }
    Ok(())
}

fn take(order: Order, within: &mut Option<PathBuf>, file: &mut Option<TermFile>, duty: &mut Duty) {
    match order {
        Order::Within(path) => *within = Some(path),
        Order::Remove(term) => *file = Some(term),
        order => duty.take(order),
    }
}

/// Starts a guard with these first orders. If the supervisor is killed at this moment, it can send no others.
pub(super) fn start(folder: Option<&Path>, orders: &[Order]) -> io::Result<Helper<Order>> {
    let orders = orders.iter().flat_map(|order| ["--order".to_owned(), helper::line(order)]);
    Helper::start("run-guard", folder, orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn watch(deadline: u64) -> Watch {
        let group = Pid::from_raw(4711).unwrap();
        Watch::new(group, at(deadline), Duration::from_secs(8), Duration::from_secs(10))
    }

    fn signals(duty: &mut Duty, millis: u64) -> Option<Signal> {
        duty.due(at(millis)).map(|(_, signal)| signal)
    }

    #[test]
    fn the_command_is_terminated_in_good_time_and_killed_before_the_deadline() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        // With an eight-second lease, the SIGKILL is due a twentieth of the lease before the deadline, and the SIGTERM
        // a quarter of the lease before the SIGKILL.
        assert_eq!(signals(&mut duty, 7_599), None);
        assert_eq!(signals(&mut duty, 7_600), Some(Signal::TERM));
        assert_eq!(signals(&mut duty, 9_599), None);
        assert_eq!(signals(&mut duty, 9_600), Some(Signal::KILL));
        assert_eq!(signals(&mut duty, 20_000), None);
    }

    #[test]
    fn a_renewal_puts_it_off() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        duty.take(Order::Watch(watch(15_000)));
        assert_eq!(signals(&mut duty, 12_000), None);
        assert_eq!(signals(&mut duty, 12_600), Some(Signal::TERM));
    }

    #[test]
    fn a_renewal_after_the_signal_puts_the_kill_off_and_repeats_nothing() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        assert_eq!(signals(&mut duty, 7_600), Some(Signal::TERM));
        duty.take(Order::Watch(watch(15_000)));
        assert_eq!(signals(&mut duty, 13_000), None);
        assert_eq!(signals(&mut duty, 14_600), Some(Signal::KILL));
    }

    #[test]
    fn the_signal_is_sent_once_whichever_process_finds_it_due_first() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        assert_eq!(signals(&mut duty, 7_600), Some(Signal::TERM));
        duty.take(Order::Terminate);
        assert_eq!(signals(&mut duty, 7_601), None);
        // For another command, a renewal at that moment does not undo the SIGTERM either.
        duty.take(Order::Rest);
        duty.take(Order::Watch(watch(20_000)));
        duty.take(Order::Terminate);
        duty.take(Order::Watch(watch(30_000)));
        assert_eq!(signals(&mut duty, 17_600), Some(Signal::TERM));
        assert_eq!(signals(&mut duty, 27_600), None);
    }

    #[test]
    fn a_command_that_was_asked_to_end_is_killed_at_its_time_and_gets_no_other_signal() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        duty.take(Order::Watch(watch(12_000).ending(at(9_000))));
        assert_eq!(duty.next(at(8_990)), Duration::from_millis(10));
        assert_eq!(signals(&mut duty, 8_999), None);
        assert_eq!(signals(&mut duty, 9_000), Some(Signal::KILL));
        // The lease still comes first.
        duty.take(Order::Watch(watch(10_000).ending(at(60_000))));
        assert_eq!(signals(&mut duty, 9_599), None);
        assert_eq!(signals(&mut duty, 9_600), Some(Signal::KILL));
    }

    #[test]
    fn a_guard_at_rest_sends_no_signal() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        duty.take(Order::Rest);
        assert_eq!(signals(&mut duty, 20_000), None);
    }

    #[test]
    fn a_supervisor_that_was_away_too_long_has_its_command_killed_at_once() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        assert_eq!(signals(&mut duty, 60_000), Some(Signal::KILL));
    }

    #[test]
    fn a_short_grace_leaves_the_command_more_time_to_work() {
        let group = Pid::from_raw(4711).unwrap();
        let watch = Watch::new(group, at(10_000), Duration::from_secs(8), Duration::from_millis(100));
        assert_eq!(watch.terminate_at, at(9_500).as_nanos());
    }

    #[test]
    fn the_guard_never_sleeps_past_what_is_due() {
        let mut duty = Duty::default();
        duty.take(Order::Watch(watch(10_000)));
        assert_eq!(duty.next(at(0)), NAP);
        assert_eq!(duty.next(at(7_590)), Duration::from_millis(10));
        assert_eq!(duty.next(at(8_000)), Duration::ZERO);
    }
}
