//! Campaigns, and runs the [command](work) in every term.

mod work;

use std::io;
use std::time::Duration;

use incumbent::{Event, Instant, Reason, Term};
use rustix::process::Signal;

use self::work::Work;
use super::args::Args;
use super::cgroup::Cgroup;
use super::command::Group;
use super::guard::{self, Order};
use super::helper::Helper;
use super::runner::{Form, Opened, Overdue, Runner, drive};
use super::signals::Asked;
use super::source::Source;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stderr::notice;

/// The interval between two checks for a new deadline, and for a command's end that no signal reported.
const TICK: Duration = Duration::from_millis(50);
/// The interval between two checks of processes that a command has just left behind (1 ms). No signal reports their
/// end.
const SOON: Duration = Duration::from_millis(1);
/// The shortest time between two starts of a waiting process, so that a process that keeps ending does not keep a
/// processor busy.
const AGAIN: Duration = Duration::from_secs(1);
/// The time before the end of a drain at which the command is killed, so that it is dead by then.
const DYING: Duration = Duration::from_millis(200);

/// Runs `incumbent run … -- CMD`. Returns the exit code.
pub(super) async fn run(args: Args) -> Result<u8, Failure> {
    let mut opened = match Opened::open(&args, args.drain + DYING).await? {
        Ok(opened) => opened,
        Err(exit) => return Ok(exit as u8),
    };
    let runner = Runner::new(args, &opened)?;
    let cgroup = Cgroup::new()
        .inspect_err(
            |error| tracing::info!(%error, "processes that leave the command's process group cannot be tracked"),
        )
        .ok();
    let mut supervisor = Supervisor {
        guard: guard::start(runner.file.folder(), &where_to_look(cgroup.as_ref()))?,
        runner,
        cgroup,
        ready: None,
        ready_from: Instant::ZERO,
        work: None,
        rest: None,
        overdue: None,
        backoff: Backoff::default(),
        result: None,
        asked: None,
        is_over: false,
    };
    supervisor.keep_ready();
    let done = drive(&mut supervisor, &mut opened).await;
    // The processes are dropped before the candidate in every case, so that the command does not outlive the candidate.
    supervisor.work = None;
    supervisor.ready = None;
    supervisor.rest = None;
    opened.close().await?;
    done.map(|()| supervisor.result.unwrap_or(Exit::Done as u8))
}

struct Supervisor {
    guard: Helper<Order>,
    runner: Runner,
    /// Holds the command and all its children, if control groups can be used.
    cgroup: Option<Cgroup>,
    /// The process that waits to become the command, while no command runs.
    ready: Option<Group>,
    /// The earliest time at which another waiting process is started.
    ready_from: Instant,
    work: Option<Work>,
    /// The term whose command will be started again, and the time of that.
    rest: Option<(Term, Instant)>,
    /// The term whose command was ended because its lease was not renewed.
    overdue: Option<Overdue>,
    backoff: Backoff,
    /// The exit code, once it is known. Then the only step left is to leave.
    result: Option<u8>,
    /// The signal that asked the supervisor to end.
    asked: Option<Signal>,
    /// The campaign is over.
    is_over: bool,
}

/// Returns the orders that name the control group of the command and its children.
fn where_to_look(cgroup: Option<&Cgroup>) -> Vec<Order> {
    cgroup.map(|cgroup| Order::Within(cgroup.path().to_owned())).into_iter().collect()
}

enum Wake {
    Look,
    GuardGone,
}

impl Form for Supervisor {
    type Wake = Wake;

    fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    fn is_done(&self) -> bool {
        self.is_over
    }

    fn is_leaving(&self) -> bool {
        self.result.is_some() || self.asked.is_some()
    }

    async fn wait(&mut self) -> Wake {
        let group = self.work.as_ref().map(|work| &work.group).or(self.ready.as_ref());
        let nap = match group {
            Some(group) if group.has_just_ended() => Some(SOON),
            // A process that waits for a term does not depend on the clock.
            Some(_) if self.work.is_none() && self.rest.is_none() && self.overdue.is_none() => None,
            _ => Some(TICK),
        };
        tokio::select! {
            () = self.guard.gone() => Wake::GuardGone,
            () = self.runner.health.changed() => Wake::Look,
            () = end(group) => Wake::Look,
            () = tokio::time::sleep(nap.unwrap_or_default()), if nap.is_some() => Wake::Look,
        }
    }

    fn look(&mut self) -> Result<(), Failure> {
        self.look_after_work()
    }

    async fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Won(term) => self.start(term).await?,
            Event::Draining { reason, .. } => {
                tracing::info!(%reason, "leaving");
                self.rest = None;
                self.end_work(self.asked.unwrap_or(Signal::TERM));
            }
            Event::Lost { term, reason } => {
                let at = self.runner.clock.now();
                self.rest = None;
                // The work is killed before any output, which may remain unread for a long time.
                self.kill_work().await?;
                self.runner.lost(&term, reason, at);
                if self.runner.args.once && self.result.is_none() {
                    self.lost(reason);
                }
            }
            Event::Warning(warning) => self.runner.warning(&warning),
            Event::LeaderChanged(leader) => self.runner.leader_changed(leader),
            Event::StateChanged(_) => {}
        }
        Ok(())
    }

    fn over(&mut self) -> Result<(), Failure> {
        self.is_over = true;
        Ok(())
    }

    fn signalled(&mut self, asked: Asked) -> Result<(), Failure> {
        match (asked, &self.work) {
            (Asked::PassOn(signal), Some(work)) => work.group.signal(signal),
            (Asked::PassOn(Signal::HUP), None) => self.leave(Signal::HUP),
            (Asked::PassOn(_), None) => {}
            (Asked::End(signal), _) if self.asked.is_none() => self.leave(signal),
            (Asked::End(_), Some(work)) => work.group.signal(Signal::KILL),
            (Asked::End(_), None) => {}
        }
        Ok(())
    }

    fn woken(&mut self, wake: Wake) -> Result<(), Failure> {
        match wake {
            Wake::Look => Ok(()),
            Wake::GuardGone => self.replace_guard(),
        }
    }

    fn give_up(&mut self, exit: Exit) -> Result<(), Failure> {
        self.result = Some(exit as u8);
        self.runner.leave();
        Ok(())
    }

    async fn settle(&mut self, _: &Source) -> Result<(), Failure> {
        self.start_again().await?;
        self.look_after_work()?;
        self.runner.resign_if_renewed(&mut self.overdue);
        self.keep_ready();
        Ok(())
    }
}

impl Supervisor {
    async fn start(&mut self, term: Term) -> Result<(), Failure> {
        self.runner.won(&term);
        if self.is_leaving() {
            return Ok(());
        }
        self.begin(term).await
    }

    /// Keeps a process waiting for the next term while no command runs.
    fn keep_ready(&mut self) {
        self.ready = self.ready.take().filter(Group::is_alive);
        let now = self.runner.clock.now();
        let is_busy = self.work.is_some() || self.cgroup.as_ref().is_some_and(Cgroup::is_being_killed);
        if self.ready.is_none() && !is_busy && !self.is_leaving() && !self.is_over && now >= self.ready_from {
            self.ready_from = now + AGAIN;
            // A failure is only logged here. If no process is ready at the win, another is started then, and that
            // failure counts.
            self.ready =
                self.prepare().inspect_err(|error| tracing::warn!(%error, "no process is ready")).ok();
        }
    }

    fn prepare(&self) -> io::Result<Group> {
        Group::prepare(&self.runner.args.command, &self.runner.environment(None), self.cgroup.as_ref())
    }

    fn leave(&mut self, signal: Signal) {
        self.asked = Some(signal);
        self.runner.leave();
    }

    fn replace_guard(&mut self) -> Result<(), Failure> {
        tracing::warn!("the process that guards the command has ended; starting it again");
        let mut orders = where_to_look(self.cgroup.as_ref());
        if let Some(work) = &self.work {
            orders.extend(work.watch.map(|(_, watch)| Order::Watch(watch)));
            if work.overdue.is_some() {
                work.group.signal(Signal::TERM);
            }
        }
        self.guard = guard::start(self.runner.file.folder(), &orders)?;
        Ok(())
    }

    /// Ends the supervisor after a lost term that no other term will follow.
    fn lost(&mut self, reason: Reason) {
        if self.asked.is_none() {
            notice(format_args!("the term was lost ({reason}), and --once allows no other"));
            self.result = Some(Exit::Failure as u8);
            self.runner.leave();
        }
    }
}

/// Waits until the process has ended. Never returns if there is none. Cancel-safe.
async fn end(group: Option<&Group>) {
    match group {
        Some(group) => group.end().await,
        None => std::future::pending().await,
    }
}

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// The time from which a command that ran for so long does not count as exiting repeatedly.
const SETTLED: Duration = Duration::from_secs(60);

/// The wait before a command is started again: one second, then twice as long each time, up to a minute. It is one
/// second again after the command has run for a minute.
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
