//! A candidate without a command: other processes check whether it leads, by a [file](super::leader_file) or over HTTP.
//!
//! The candidate cannot end the work of those processes. So it first reports that it no longer leads, keeps the lease
//! for the time of the drain, and then gives the lease up.

use std::time::Duration;

use incumbent::{Event, Instant, Term};

use super::args::Args;
use super::guard::{self, Order, Watch};
use super::helper::Helper;
use super::leader_file::LeaderFile;
use super::runner::{Form, Opened, Runner, drive};
use super::signals::Asked;
use crate::exit::Exit;
use crate::failure::Failure;

/// The interval between two checks for a new deadline.
const TICK: Duration = Duration::from_millis(50);
/// The time before the end of a drain at which the term is given up, so that its release is sent in time.
const RELEASING: Duration = Duration::from_millis(200);

/// Runs `incumbent run --listen ADDRESS` or `--file PATH`. Returns the exit code.
pub(super) async fn run(args: Args) -> Result<u8, Failure> {
    if args.is_console() {
        return Err(Failure::usage(
            "console: has no election to report on: give another store, or --on-won and --on-lost",
        ));
    }
    let mut opened = match Opened::open(&args, args.drain + RELEASING).await? {
        Ok(opened) => opened,
        Err(exit) => return Ok(exit as u8),
    };
    let runner = Runner::new(args, &opened)?;
    let file = match &runner.args.file {
        Some(path) => {
            let guard = guard::start(runner.file.folder(), &[])?;
            Some(Guarded { file: LeaderFile::new(path, &runner.clock)?, guard, shown: None })
        }
        None => None,
    };
    let mut sidecar = Sidecar {
        runner,
        file,
        term: None,
        longest: Duration::ZERO,
        asked: false,
        is_over: false,
        result: None,
    };
    let done = drive(&mut sidecar, &mut opened).await;
    sidecar.withdraw();
    sidecar.term = None;
    if let Some(Guarded { guard, file, .. }) = sidecar.file.take() {
        file.close().await;
        guard.dismiss(Order::Rest).await;
    }
    opened.close().await?;
    done.map(|()| sidecar.result.unwrap_or(Exit::Done) as u8)
}

struct Sidecar {
    runner: Runner,
    file: Option<Guarded>,
    /// Holds up a drain.
    term: Option<Term>,
    /// The longest time to a deadline so far.
    longest: Duration,
    asked: bool,
    /// The campaign is over.
    is_over: bool,
    /// The exit code, once it is known.
    result: Option<Exit>,
}

/// The file, and the process that removes it if this process cannot.
struct Guarded {
    file: LeaderFile,
    guard: Helper<Order>,
    /// The deadline in the file, and the watch with the time by which the file must be gone.
    shown: Option<(Instant, Watch)>,
}

enum Wake {
    Look,
    GuardGone,
}

impl Form for Sidecar {
    type Wake = Wake;

    fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    fn is_done(&self) -> bool {
        self.is_over
    }

    fn is_leaving(&self) -> bool {
        self.asked || self.result.is_some()
    }

    async fn wait(&mut self) -> Wake {
        let has_leftover = self.file.as_ref().is_some_and(|guarded| guarded.file.has_leftover());
        tokio::select! {
            () = gone(&mut self.file) => Wake::GuardGone,
            () = self.runner.health.changed() => Wake::Look,
            () = tokio::time::sleep(TICK), if self.term.is_some() || has_leftover => Wake::Look,
        }
    }

    fn look(&mut self) -> Result<(), Failure> {
        let now = self.runner.clock.now();
        let Some(term) = &self.term else {
            if let Some(guarded) = &mut self.file {
                guarded.file.sweep(now);
            }
            return Ok(());
        };
        if let Some(until) = term.drains_until() {
            if now >= until.before(RELEASING) {
                self.term = None;
            }
            return Ok(());
        }
        let Some(Guarded { file, guard, shown }) = &mut self.file else { return Ok(()) };
        let deadline = term.deadline();
        if deadline != Instant::ZERO && shown.is_none_or(|(said, _)| said != deadline) {
            self.longest = self.longest.max(deadline.since(now));
            let watch = Watch::of_file(deadline, self.longest);
            guard.send(Order::Watch(watch));
            file.write(deadline, watch.until(), term.token(), &self.runner.clock);
            *shown = Some((deadline, watch));
        } else if shown.is_some_and(|(_, watch)| watch.is_over(now)) {
            file.remove(term.token());
        }
        Ok(())
    }

    async fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Won(term) => self.won(term).await,
            Event::Draining { reason, .. } => {
                tracing::info!(%reason, "leaving");
                self.withdraw();
            }
            Event::Lost { term, reason } => {
                let at = self.runner.clock.now();
                self.withdraw();
                self.term = None;
                self.runner.lost(&term, reason, at);
                if self.runner.args.once && !self.is_leaving() {
                    self.result = Some(if reason.may_drain() { Exit::Done } else { Exit::Failure });
                    self.runner.leave();
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
        match asked {
            Asked::End(_) if self.asked => self.term = None,
            Asked::End(_) | Asked::PassOn(rustix::process::Signal::HUP) => {
                self.asked = true;
                self.runner.leave();
            }
            Asked::PassOn(_) => {}
        }
        Ok(())
    }

    fn woken(&mut self, wake: Wake) -> Result<(), Failure> {
        if let (Wake::GuardGone, Some(Guarded { file, guard, shown })) = (wake, &mut self.file) {
            tracing::warn!("the process that guards the leader's file has ended; starting it again");
            let of_term = self.term.as_ref().map(|term| Order::Remove(file.of(term.token())));
            let orders: Vec<Order> =
                of_term.into_iter().chain(shown.map(|(_, watch)| Order::Watch(watch))).collect();
            *guard = guard::start(self.runner.file.folder(), &orders)?;
        }
        Ok(())
    }

    fn give_up(&mut self, exit: Exit) -> Result<(), Failure> {
        self.result = Some(exit);
        self.runner.leave();
        Ok(())
    }
}

impl Sidecar {
    async fn won(&mut self, term: Term) {
        self.runner.won(&term);
        if self.is_leaving() {
            return;
        }
        if let Some(Guarded { file, guard, .. }) = &mut self.file {
            // The guard gets its order before the file exists, so the file is removed in time whatever happens to this
            // process. A guard that takes too long to confirm the order is replaced.
            guard.send(Order::Remove(file.of(term.token())));
            guard.has_received().await;
        }
        self.longest = Duration::ZERO;
        self.term = Some(term);
    }

    /// Removes the file, so that it no longer shows that this candidate leads.
    fn withdraw(&mut self) {
        // If the removal takes longer, the guard removes the file in time.
        if let (Some(Guarded { file, shown, .. }), Some(term)) = (&mut self.file, &self.term)
            && shown.take().is_some()
        {
            file.remove(term.token());
        }
    }
}

/// Waits until the guard has ended, which should not happen. Never returns if there is no guard. Cancel-safe.
async fn gone(file: &mut Option<Guarded>) {
    match file {
        Some(guarded) => guarded.guard.gone().await,
        None => std::future::pending().await,
    }
}
