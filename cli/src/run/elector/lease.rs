//! Observes deadlines, and ends the work in good time before them.

use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Input, Message};
use incumbent::{Instant, Reason};
use rustix::process::Signal;

use super::{Elector, Failure, Overdue, guard};
use crate::stderr::warn;

/// The interval between two checks of the lease while there is one.
const TICK: Duration = Duration::from_millis(50);
/// The longest sleep between two readings of the clock, because timers stop while the machine is suspended.
const NAP: Duration = Duration::from_secs(1);

impl Elector {
    /// The time until the next check.
    pub(super) fn nap(&self) -> Duration {
        let kills = self.running.as_ref().is_some_and(|running| running.kill_at.is_some());
        if self.term.is_some() || self.overdue.is_some() || kills {
            return TICK;
        }
        self.wake.map_or(NAP, |at| at.since(self.runner.clock.now()).min(NAP))
    }

    /// Acts on the time.
    pub(super) fn check_lease(&mut self) -> Result<(), Failure> {
        let now = self.runner.clock.now();
        if let Some(running) = &self.running
            && running.kill_at.is_some_and(|at| at <= now)
        {
            running.signal(Signal::KILL);
        }
        let deadline =
            self.term.as_ref().map(|term| term.deadline()).filter(|deadline| *deadline != Instant::ZERO);
        if let Some(deadline) = deadline {
            self.learn(deadline)?;
        }
        // The work is also ended in time if the end of the term has been published and its event has not arrived yet.
        if self.term.is_some() {
            self.hurry()?;
        }
        self.give(Input::Tick)
    }

    /// Takes in the deadline of the current term.
    pub(super) fn learn(&mut self, deadline: Instant) -> Result<(), Failure> {
        let (Some(token), true) = (self.token, deadline != self.deadline) else { return Ok(()) };
        self.deadline = deadline;
        self.longest = self.longest.max(deadline.since(self.runner.clock.now()));
        self.runner.file.say(deadline, token, &self.runner.clock);
        self.give(Input::Lease { until: deadline })
    }

    /// Ends the work in good time if the lease is not renewed.
    fn hurry(&mut self) -> Result<(), Failure> {
        let (at, _) = guard::times(self.deadline, self.longest, self.runner.args.drain);
        let leaves = self.term.as_ref().is_some_and(|term| {
            term.drains_until().is_some() || term.reason().is_some_and(|reason| reason != Reason::Expired)
        });
        if self.hurried || leaves || self.runner.clock.now() < at {
            return Ok(());
        }
        self.hurried = true;
        self.reason = Some(Reason::Expired);
        warn("the lease was not renewed in time, so the work is ended");
        self.overdue = self.term.as_ref().map(|term| Overdue::new(term, self.deadline));
        self.give(Input::Message(Message::NotLeader))
    }
}
