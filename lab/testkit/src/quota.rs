//! A quota of processor time for a running process, like a container's: once the process has used its share of a
//! period, it is stopped for the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{is_running, processor_time, send};

/// The period of a quota, equal to Linux's default of `cpu.cfs_period_us`.
const PERIOD: Duration = Duration::from_millis(100);
/// The interval at which the process's processor time is read.
const LOOK: Duration = Duration::from_millis(4);

/// A quota in force. Dropping it lets the process continue without a limit.
#[derive(Debug)]
pub struct Quota {
    ended: Arc<AtomicBool>,
    guard: Option<JoinHandle<()>>,
}

impl Quota {
    /// Limits process `pid` to `share` of a core.
    pub fn start(pid: u32, share: f64) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        let guard = thread::spawn(move || {
            let mut account = Account::new(share);
            while !seen.load(Ordering::Relaxed) && is_running(pid) {
                account.period_ends(hold(pid, &account));
            }
        });
        Self { ended, guard: Some(guard) }
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(guard) = self.guard.take() {
            // The thread ends with the present period, after it has resumed the process.
            let _ = guard.join();
        }
    }
}

/// Limits the process for one period, and returns the processor time that it has used.
fn hold(pid: u32, account: &Account) -> Duration {
    let (began, before) = (Instant::now(), processor_time(pid));
    loop {
        let (elapsed, used) = (began.elapsed(), processor_time(pid).saturating_sub(before));
        if elapsed >= PERIOD {
            return used;
        }
        if let Some(rest) = account.rest(elapsed, used) {
            send(pid, Signal::STOP);
            thread::sleep(rest);
            send(pid, Signal::CONT);
            return processor_time(pid).saturating_sub(before);
        }
        thread::sleep(LOOK);
    }
}

/// The time that a process may use in a period: its share, less what it overused before. Unused time is not kept.
#[derive(Debug)]
struct Account {
    share: Duration,
    owed: Duration,
}

impl Account {
    fn new(share: f64) -> Self {
        Self { share: PERIOD.mul_f64(share), owed: Duration::ZERO }
    }

    /// Returns the time for which the process is stopped, once it has used its share.
    fn rest(&self, elapsed: Duration, used: Duration) -> Option<Duration> {
        (used + self.owed >= self.share).then(|| PERIOD.saturating_sub(elapsed))
    }

    fn period_ends(&mut self, used: Duration) {
        self.owed = (self.owed + used).saturating_sub(self.share);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::ChildGuard;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_process_is_stopped_for_the_rest_of_a_period_once_it_has_used_its_share() {
        let account = Account::new(0.3);
        assert_eq!(account.rest(ms(20), ms(20)), None);
        assert_eq!(account.rest(ms(36), ms(30)), Some(ms(64)));
    }

    #[test]
    fn overuse_is_taken_from_the_next_periods() {
        let mut account = Account::new(0.3);
        account.period_ends(ms(80));
        assert_eq!(account.rest(ms(0), ms(0)), Some(ms(100)));
        account.period_ends(ms(0));
        assert_eq!((account.rest(ms(5), ms(0)), account.rest(ms(12), ms(10))), (None, Some(ms(88))));
    }

    #[test]
    fn the_unused_part_of_a_share_is_not_kept() {
        let mut account = Account::new(0.3);
        account.period_ends(ms(0));
        assert_eq!(account.rest(ms(40), ms(30)), Some(ms(60)));
    }

    #[test]
    fn a_process_that_wants_a_core_gets_its_share_and_runs_again_after_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        let child = ChildGuard::spawn(command).unwrap();
        let quota = Quota::start(child.pid(), 0.2);
        let (began, before) = (Instant::now(), processor_time(child.pid()));
        while began.elapsed() < 20 * PERIOD {
            thread::sleep(LOOK);
        }
        let used = (processor_time(child.pid()) - before).as_secs_f64() / began.elapsed().as_secs_f64();
        assert!(used < 0.25, "it used {used:.2} of a core");
        drop(quota);
        let after = processor_time(child.pid());
        crate::wait::until("it to run again", crate::wait::GENEROUS, || {
            processor_time(child.pid()) > after + PERIOD
        });
    }
}
