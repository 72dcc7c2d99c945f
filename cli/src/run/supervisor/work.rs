//! The command in a term: its beginning, its end by the clock, and the steps after it exits by itself.

use std::process::ExitStatus;
use std::time::Duration;

use incumbent::{Instant, Term};
use rustix::process::Signal;
use serde_json::json;

use super::{DYING, Exit, Failure, SOON, Supervisor, TICK, end};
use crate::run::args::OnExit;
use crate::run::command::{Group, exit_code};
use crate::run::guard::{Order, Watch};
use crate::run::reach::Reach;
use crate::run::runner::Overdue;
use crate::stderr::{notice, warn};

/// The time after which a killed process is reported as stuck.
const STUCK: Duration = Duration::from_secs(1);

/// The command in a term.
pub(super) struct Work {
    pub(super) group: Group,
    /// The term, which holds up a drain while the command lives.
    pub(super) term: Term,
    /// The longest time to a deadline so far.
    longest: Duration,
    /// The last watch that was sent to the guard, and its deadline.
    pub(super) watch: Option<(Instant, Watch)>,
    /// The latest time at which the command is killed, once it has been asked to end.
    kill_at: Option<Instant>,
    /// True if the command has been asked to end, or its term is over, so that its exit is not voluntary.
    is_ending: bool,
    /// Checks whether signals reach all processes of the command.
    reach: Reach,
    /// The deadline at which the command was ended because the lease was not renewed. It is not set after a request to
    /// end.
    pub(super) overdue: Option<Instant>,
}

impl Work {
    fn end(&mut self, signal: Signal, kill_at: Instant) {
        self.is_ending = true;
        self.kill_at = Some(kill_at);
        self.group.signal(signal);
    }
}

impl Supervisor {
    pub(super) async fn begin(&mut self, term: Term) -> Result<(), Failure> {
        let deadline = term.deadline();
        if deadline == Instant::ZERO {
            // The term is already over, and its event is about to arrive.
            return Ok(());
        }
        // If the file cannot be written, the command still has the token.
        self.runner.file.write(deadline, term.token(), &self.runner.clock).await;
        let group = match self.ready.take().filter(Group::is_alive) {
            Some(ready) => ready,
            None => self.prepare()?,
        };
        self.work = Some(Work {
            group,
            term,
            longest: Duration::ZERO,
            watch: None,
            kill_at: None,
            is_ending: false,
            reach: Reach::default(),
            overdue: None,
        });
        // The guard gets its order before the command begins, so the command ends in time whatever happens to this
        // process.
        self.look_after_work()?;
        let has_received = self.guard.has_received().await;
        match self.work.take() {
            Some(mut work) if has_received => {
                let (pid, token) = (work.group.pid().as_raw_nonzero().get(), work.term.token());
                work.group.begin(token)?;
                tracing::info!(pid, %token, "the command runs");
                self.work = Some(work);
            }
            // Another guard is about to be started.
            Some(work) => self.rest = Some((work.term.clone(), self.runner.clock.now() + TICK)),
            None => {}
        }
        Ok(())
    }

    /// Starts the command again after its pause.
    pub(super) async fn start_again(&mut self) -> Result<(), Failure> {
        let now = self.runner.clock.now();
        match self.rest.take_if(|(_, at)| *at <= now) {
            Some((term, _)) if term.is_current() && term.drains_until().is_none() => self.begin(term).await,
            _ => Ok(()),
        }
    }

    /// Ends every process that should end, notices every one that has ended, and sends the guard every change.
    pub(super) fn look_after_work(&mut self) -> Result<(), Failure> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let now = self.runner.clock.now();
        if let Some((deadline, _)) = work.watch.filter(|(_, watch)| watch.is_pressing(now) && !work.is_ending)
        {
            tracing::warn!("the lease was not renewed in time; ending the command");
            work.overdue = self.asked.is_none().then_some(deadline);
            work.is_ending = true;
            work.kill_at = Some(now + self.runner.args.drain);
            // Only the guard sends the signal, as it would if this process were stopped. A command that got two signals
            // might shorten its shutdown.
            self.guard.send(Order::Terminate);
        }
        let is_over = work.watch.is_some_and(|(_, watch)| watch.is_over(now));
        if is_over || work.kill_at.is_some_and(|at| now >= at) {
            work.group.kill(self.cgroup.as_ref());
        }
        let deadline = work.term.deadline();
        if deadline != Instant::ZERO && work.watch.is_none_or(|(sent, _)| sent != deadline) {
            work.longest = work.longest.max(deadline.since(now));
            let watch = Watch::new(work.group.pid(), deadline, work.longest, self.runner.args.drain);
            let watch = work.kill_at.map_or(watch, |at| watch.ending(at));
            work.watch = Some((deadline, watch));
            self.guard.send(Order::Watch(watch));
            self.runner.file.say(deadline, work.term.token(), &self.runner.clock);
        }
        if let Some(status) = work.group.reap(self.cgroup.as_ref())? {
            self.exited(status);
        } else if let Some(user) = work.reach.lost(work.group.pid(), work.group.ran()) {
            let remedy = "run incumbent as that user instead";
            match self.cgroup {
                Some(_) => warn(format_args!(
                    "the command runs as {user}, so this process cannot send it signals: when the term ends its \
                     control group is killed, without a SIGTERM first; {remedy}"
                )),
                None => warn(format_args!(
                    "the command runs as {user}, so this process cannot send it signals, and nothing can end it \
                     before another candidate leads; {remedy}, or in its own control group (Delegate=yes in systemd)"
                )),
            }
        }
        Ok(())
    }

    /// The command has ended.
    fn exited(&mut self, status: ExitStatus) {
        self.guard.send(Order::Rest);
        let Some(work) = self.work.take() else { return };
        let (code, at) = (exit_code(status), self.runner.clock.now().as_nanos());
        self.runner.emit(json!({ "event": "exited", "code": code, "at": at }));
        if let Some(asked) = self.asked {
            // A command that ends by the requested signal has succeeded. If it was ended because of its lease, the exit
            // code means nothing.
            let obeyed = i32::from(exit_code(status)) == 128 + asked.as_raw();
            self.result =
                Some(if obeyed || work.overdue.is_some() { Exit::Done as u8 } else { exit_code(status) });
        } else if !work.is_ending {
            self.exited_by_itself(work, code);
        } else if let Some(deadline) = work.overdue {
            self.overdue = Some(Overdue::new(&work.term, deadline));
        }
    }

    /// Handles the command's own exit.
    fn exited_by_itself(&mut self, work: Work, code: u8) {
        match self.runner.args.on_exit {
            OnExit::Restart => {
                let wait = self.backoff.after(work.group.ran());
                notice(format_args!("the command exited with code {code}; starting it again in {wait:?}"));
                self.rest = Some((work.term, self.runner.clock.now() + wait));
            }
            OnExit::Resign if !self.runner.args.once => {
                tracing::info!(code, "the command exited; resigning");
                if code == 0 {
                    self.runner.resign();
                } else {
                    // A candidate whose work keeps failing waits longer each time.
                    work.term.fail();
                }
            }
            OnExit::Resign | OnExit::Exit => {
                self.result = Some(code);
                self.runner.leave();
            }
        }
    }

    pub(super) fn end_work(&mut self, signal: Signal) {
        let by_grace = self.runner.clock.now() + self.runner.args.drain;
        if let Some(work) = self.work.as_mut().filter(|work| !work.is_ending) {
            let by_drain = work.term.drains_until().map(|until| until.before(DYING));
            let kill_at = by_drain.unwrap_or(by_grace).min(by_grace);
            work.end(signal, kill_at);
            // From now on the guard kills the command in time, whatever delays this process.
            if let Some((_, watch)) = &mut work.watch {
                *watch = watch.ending(kill_at);
                self.guard.send(Order::Watch(*watch));
            }
        }
    }

    /// Kills every process of the command, because the term is over.
    pub(super) async fn kill_work(&mut self) -> Result<(), Failure> {
        if let Some(work) = &mut self.work {
            work.is_ending = true;
            work.group.kill(self.cgroup.as_ref());
        }
        let since = tokio::time::Instant::now();
        while self.work.is_some() {
            self.look_after_work()?;
            if !self.runner.health.stays_out && since.elapsed() > STUCK && self.work.is_some() {
                // The term is not given up before the command has ended, and a candidate that cannot start a command
                // should not be elected.
                warn(
                    "the command cannot be killed; this candidate stays out until all its processes have ended",
                );
                self.runner.health.stays_out = true;
                self.runner.apply_health();
            }
            tokio::select! {
                () = end(self.work.as_ref().map(|work| &work.group)) => {}
                () = tokio::time::sleep(SOON) => {}
            }
        }
        self.runner.health.stays_out = false;
        self.runner.apply_health();
        Ok(())
    }
}
