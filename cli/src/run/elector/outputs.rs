//! The reconciler's outputs.

use incumbent::incumbent_core::reconcile::{Event as Reported, Handler, Input, Message, Output, RunId};
use incumbent::{Candidate, Instant, Reason};
use rustix::process::Signal;
use serde_json::json;

use super::cleanup::Instruction;
use super::handler::{Running, option};
use super::{Elector, Exit, Failure, Work, guard};
use crate::stderr::warn;

impl Elector {
    pub(super) fn returned(&mut self, failure: Option<String>) -> Result<(), Failure> {
        let Some(running) = self.running.take() else { return Ok(()) };
        if let Some(how) = &failure {
            warn(format_args!("{} failed: {how}", option(running.handler)));
        }
        match running.handler {
            Handler::Begin => self.instruct_cleanup(Work::Begun),
            Handler::End if failure.is_some() => self.instruct_cleanup(Work::Begun),
            Handler::End | Handler::Error => {}
        }
        self.give(Input::Returned { run: running.run, succeeded: failure.is_none() })
    }

    pub(super) fn give(&mut self, input: Input) -> Result<(), Failure> {
        self.reconciler
            .handle(self.runner.clock.now(), input)
            .map_err(|misuse| Failure::failed(misuse.to_string()))?;
        loop {
            match self.reconciler.poll() {
                Output::WakeAt(wake) => {
                    self.wake = wake.map(|wake| wake.at);
                    return Ok(());
                }
                output => self.carry_out(output)?,
            }
        }
    }

    fn carry_out(&mut self, output: Output) -> Result<(), Failure> {
        match output {
            Output::Run { run, handler } => self.start(run, handler),
            Output::Stop(_) => self.stop(),
            Output::StandDown => self.runner.health.stays_out = true,
            Output::StandUp => {
                self.runner.health.stays_out = false;
                self.term = None;
                // If this candidate has won meanwhile, it leads without having begun its work, so it resigns.
                if self.runner.candidate.as_ref().is_some_and(Candidate::is_leader) {
                    self.runner.resign();
                }
            }
            Output::Relinquish => self.relinquish(),
            Output::Event(event) => self.reported(event),
            Output::GiveUp(gave_up) => {
                let key = self.runner.args.key.as_deref().unwrap_or("the console");
                let leader =
                    self.runner.leader().unwrap_or_else(|| "none that this candidate knows of".into());
                warn(format_args!(
                    "giving up: {gave_up}. The election is {key}, and its leader is {leader}. \
                     Check this machine before you start a candidate here again"
                ));
                // The term is not given up while the work may continue, so its lease runs out on its own.
                self.result = Some(Exit::Inconsistent);
            }
            Output::WakeAt(_) => {}
        }
        Ok(())
    }

    /// Releases the term, because no work is left. A term that was won since then is another term, and is kept.
    fn relinquish(&mut self) {
        let Some(term) = self.term.take_if(|term| Some(term.token()) == self.begun) else { return };
        // This leader does no work. If its lease was not renewed in time, the lease is left to run out, unless it is
        // renewed later.
        if self.overdue.is_none() && term.is_current() && term.drains_until().is_none() {
            self.runner.resign();
        }
    }

    fn start(&mut self, run: RunId, handler: Handler) {
        if handler == Handler::Begin {
            self.begun = self.token;
        }
        // The cleanup process has nothing to do, because a handler that ends the work continues without this process.
        self.instruct_cleanup(if handler == Handler::Begin { Work::Begins } else { Work::None });
        let Some(script) = self.scripts.of(handler) else {
            self.running = Some(Running::nothing(run, handler));
            return;
        };
        let reason = (handler != Handler::Begin).then(|| self.why().code());
        let started = Running::start(run, handler, script, &self.runner.environment(self.token), reason);
        self.runner.emit(json!({ "event": "handler", "handler": option(handler) }));
        let mut running = started.unwrap_or_else(|error| Running::not_started(run, handler, &error));
        running.kill_at =
            self.runner.args.handlers.handler_timeout.map(|limit| self.runner.clock.now() + limit);
        self.running = Some(running);
        self.instruct_cleanup(self.work);
    }

    /// The reason for which the work ends, as far as it is known.
    fn why(&self) -> Reason {
        let by_hand = || match self.typed {
            Some(Message::Error) => Reason::HandlerFailed,
            _ => Reason::Resigned,
        };
        let over = || (self.deadline != Instant::ZERO).then_some(Reason::Expired);
        // If no other reason is known, the lease has run out by the clock.
        self.reason.or_else(over).unwrap_or_else(by_hand)
    }

    /// Sets the work that must be ended if this process is killed.
    fn instruct_cleanup(&mut self, work: Work) {
        self.work = work;
        let begins = self.running.as_ref().filter(|_| work == Work::Begins).and_then(Running::group);
        let instruction = match (&self.scripts.end, work) {
            (None, _) | (_, Work::None) => None,
            (Some(script), Work::Begins | Work::Begun) => {
                Some(Instruction::new(script, &self.runner.environment(self.token), begins))
            }
        };
        self.cleanup.set(instruction);
    }

    /// Ends a begin handler that is no longer needed. If there is a lease, the handler ends before the lease is over.
    fn stop(&mut self) {
        let now = self.runner.clock.now();
        let by_grace = now + self.runner.args.drain;
        let by_lease = match self.deadline {
            Instant::ZERO => by_grace,
            deadline => guard::times(deadline, self.longest, self.runner.args.drain).1,
        };
        if let Some(running) = &mut self.running {
            running.signal(Signal::TERM);
            let at = by_grace.min(by_lease);
            running.kill_at = Some(running.kill_at.map_or(at, |before| before.min(at)));
        }
    }

    fn reported(&mut self, event: Reported) {
        match event {
            Reported::State(state) => {
                self.runner.emit(json!({ "event": "state", "state": state.to_string() }))
            }
            // The work that the handler began is ended while the lease is held, and then the lease is given up.
            Reported::Failed(Handler::Begin) => self.reason = Some(Reason::HandlerFailed),
            Reported::Failed(_) => {}
            Reported::Overdue { since } => {
                let by = self.runner.clock.now().since(since);
                let doing = match &self.running {
                    Some(running) => format!("{} is still running", option(running.handler)),
                    None => "on-lost failed and will be run again".into(),
                };
                warn(format_args!(
                    "the promise of one leader is broken: the lease ended {by:?} ago, and the work that on-won began \
                     has not ended ({doing}). Another candidate may lead at the same time"
                ));
            }
            Reported::Late { by } => warn(format_args!("the work ended {by:?} too late")),
            Reported::Resumed { dropped } => {
                warn(format_args!("the candidacy resumes; messages dropped in between: {dropped}"));
            }
        }
    }
}
