//! The meaning of an election's events for the reconciler.

use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Input, Message};
use incumbent::{Event, Instant, Reason, Term};

use super::{Elector, Exit, Failure};

impl Elector {
    pub(super) async fn follow(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Won(term) => self.won(term).await,
            Event::Draining { reason, .. } => {
                // A candidate that stays out has had an error, so the reason for ending the work is already known.
                if !self.runner.health.stays_out {
                    self.reason = Some(reason);
                }
                self.pass_on(Message::NotLeader)
            }
            Event::Lost { term, reason } => self.lost(&term, reason),
            Event::Warning(warning) => {
                self.runner.warning(&warning);
                Ok(())
            }
            Event::LeaderChanged(leader) => {
                self.runner.leader_changed(leader);
                Ok(())
            }
            Event::StateChanged(_) => Ok(()),
        }
    }

    async fn won(&mut self, term: Term) -> Result<(), Failure> {
        let token = term.token();
        self.runner.won(&term);
        (self.token, self.reason, self.hurried) = (Some(token), None, false);
        (self.deadline, self.longest) = (Instant::ZERO, Duration::ZERO);
        let deadline = term.deadline();
        if deadline == Instant::ZERO {
            // The term is already over, and its event is about to arrive.
            return Ok(());
        }
        // If the file cannot be written, the work still has the token.
        self.runner.file.write(deadline, token, &self.runner.clock).await;
        self.term = Some(term);
        self.learn(deadline)?;
        self.pass_on(Message::Leader)
    }

    fn lost(&mut self, term: &Term, reason: Reason) -> Result<(), Failure> {
        let now = self.runner.clock.now();
        let reason = known(self.reason, reason);
        self.runner.lost(term, reason, now);
        if !self.runner.health.stays_out {
            self.reason = Some(reason);
        }
        // A term whose work may drain is given up only when that work has ended, and after a deletion other candidates
        // wait for our lease to run out. In all other cases another candidate may lead now.
        let is_kept = reason.may_drain() || matches!(reason, Reason::Deleted | Reason::HandlerFailed);
        let until = if is_kept { self.deadline } else { self.deadline.min(now) };
        self.give(Input::Lease { until })?;
        self.pass_on(Message::NotLeader)?;
        // The term is held until no work is left.
        if !self.reconciler.works() {
            self.term = None;
        }
        if self.runner.args.once && !self.asked {
            self.result = Some(if reason.may_drain() { Exit::Done } else { Exit::Failure });
            self.close()?;
        }
        Ok(())
    }

    /// Passes a message on, unless it only reports that the candidate leaves because of an error, which is already
    /// known.
    fn pass_on(&mut self, message: Message) -> Result<(), Failure> {
        if self.runner.health.stays_out && message == Message::NotLeader {
            return Ok(());
        }
        self.give(Input::Message(message))
    }
}

/// The reason for a loss. The election knows only that this candidate left on its own, but this process knows why.
pub(super) fn known(ours: Option<Reason>, reason: Reason) -> Reason {
    match ours {
        Some(Reason::HandlerFailed) if reason == Reason::Unhealthy => Reason::HandlerFailed,
        _ => reason,
    }
}
