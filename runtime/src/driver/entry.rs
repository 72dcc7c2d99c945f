//! A candidate as its driver keeps it: its handles, and the callers that wait for it.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use incumbent_core::Token;
use incumbent_core::campaign::{Reason, State};

use super::command::{CommandSink, LeaveReplies, Reply};
use super::request::Enter;
use crate::candidate_state::CandidateState;
use incumbent_store::Error;

/// A candidate with its handles and the callers that wait for it, from its entry until its handlers have returned and
/// it has left nothing in the store.
pub(super) struct CandidateEntry {
    pub(super) shared: Arc<CandidateState>,
    /// The time of day at which this candidate entered.
    pub(super) since: SystemTime,
    pub(super) stage: Stage,
    pub(super) commands: Weak<dyn CommandSink>,
    /// Answered once the campaign has entered, or has been refused.
    pub(super) reply: Option<Reply>,
    /// The last term in which the candidate led.
    pub(super) term: Option<Token>,
    /// The channel through which a dropped candidate's work reports its end.
    pub(super) kept_commands: Option<Arc<dyn CommandSink>>,
    /// The health that the candidate or its health check reported.
    pub(super) is_well: bool,
    /// The watched event loop responds.
    pub(super) loop_responds: bool,
    /// The callers that wait for this candidate, if any.
    pub(super) waiting: Option<Box<Waiting>>,
}

/// The callers that wait for a candidate.
#[derive(Default)]
pub(super) struct Waiting {
    /// Answered once the successor is next and the drain has begun, or once the hand-over has failed.
    pub(super) handing_over: Vec<HandingOver>,
    /// Answered once the candidate has finished draining and releasing.
    pub(super) leaving: Vec<Reply>,
    /// Answered once the campaign is over and its handlers have returned.
    pub(super) closing: Vec<Reply>,
}

/// The stage of a candidate's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Running,
    /// The campaign is over for its handles.
    Over {
        /// The campaign's handlers have returned, or the wait for them is over.
        returned: bool,
        /// The campaign has left nothing in the store.
        settled: bool,
    },
}

/// A caller that hands over.
pub(super) struct HandingOver {
    pub(super) successor: String,
    pub(super) leave: LeaveReplies,
}

impl CandidateEntry {
    pub(super) fn new(enter: Enter) -> Self {
        Self {
            shared: enter.shared,
            since: SystemTime::now(),
            stage: Stage::Running,
            commands: enter.commands,
            reply: Some(enter.reply),
            term: None,
            kept_commands: None,
            is_well: enter.options.healthy,
            loop_responds: true,
            waiting: None,
        }
    }

    /// Answers the caller whose campaign has entered.
    pub(super) fn entered(&mut self) {
        if let Some(reply) = self.reply.take() {
            // A caller that is gone has dropped its candidate, and the driver receives that as a command.
            let _ = reply.send(Ok(()));
        }
    }

    /// Returns true if the candidate is healthy by its own report and by its event loop.
    pub(super) fn is_healthy(&self) -> bool {
        self.is_well && self.loop_responds
    }

    /// Answers the callers that wait for the candidate to leave, once it has left.
    pub(super) fn answer_leaves(&mut self, state: State) {
        if !matches!(state, State::Draining | State::Releasing) {
            let leaving = self.waiting.iter_mut().flat_map(|waiting| waiting.leaving.drain(..));
            leaving.for_each(|reply| drop(reply.send(Ok(()))));
        }
    }

    /// Answers the callers that asked to hand over. From now on they wait for the drain.
    pub(super) fn hand_over_begins(&mut self) {
        let Some(waiting) = &mut self.waiting else { return };
        for HandingOver { leave, .. } in waiting.handing_over.drain(..) {
            // A caller that no longer waits needs no answer.
            let _ = leave.begun.send(Ok(()));
            waiting.leaving.push(leave.done);
        }
    }

    /// Answers the callers that asked to hand over, except those who named `kept`.
    pub(super) fn refuse_hand_over(&mut self, kept: Option<&str>, error: &Error) {
        let Some(waiting) = &mut self.waiting else { return };
        for handing_over in waiting.handing_over.extract_if(.., |one| Some(&*one.successor) != kept) {
            handing_over.leave.refuse(error);
        }
    }

    /// Returns true if the campaign is over and its handlers have returned. It may still have keys in the store.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over { returned: true, .. })
    }

    /// Ends the campaign, for its handles too.
    pub(super) fn end(&mut self) {
        self.reply = None;
        self.kept_commands = None;
        self.shared.end(Reason::Closed);
    }
}
