//! The candidates of a driver: their entry, the commands of their handles, the reports to them, and their log lines.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use incumbent_core::Instant;
use incumbent_core::campaign::{self, Event, Identity, Lease, Reason, State, Warning, check_name};
use incumbent_core::candidacy::Rule;
use incumbent_core::record::Nonce;
use incumbent_core::session::{self, CampaignId, Refusal};
use incumbent_core::store::FaultKind;
use incumbent_core::text::Names;

use super::Driver;
use super::command::{Command, LeaveReplies};
use super::entry::{CandidateEntry, HandingOver, Stage};
use super::request::Enter;
use crate::candidate_state::CandidateState;
use incumbent_store::link::{Input, Link};
use incumbent_store::registry::Registration;
use incumbent_store::{Error, ErrorKind, Result};

impl<L: Link> Driver<L> {
    pub(super) fn enter(&mut self, enter: Enter) {
        let refused = self.admit(&enter).err();
        match (refused, self.store.link.check_overlap(&enter.shared.election)) {
            // A caller that is gone has dropped its receiver.
            (Some(error), _) => drop(enter.reply.send(Err(error))),
            (None, Some(check)) => self.in_flight.push(self.store.check_overlap(enter, check)),
            (None, None) => self.enter_checked(enter, Ok(())),
        }
    }

    pub(super) fn enter_checked(&mut self, enter: Enter, checked: Result<()>) {
        // The caller dropped its candidate before anything else knew of it.
        if enter.reply.is_closed() {
            return;
        }
        match checked.and_then(|()| self.admit(&enter)) {
            Ok(admitted) => {
                self.store.link.follow(&enter.shared.election);
                let (id, is_well) = (enter.id, enter.options.healthy);
                self.candidates.insert(id, Box::new(CandidateEntry::new(enter)));
                self.feed(Input::<L>::Enter(Box::new(admitted)));
                if !is_well {
                    self.feed(Input::<L>::Command { id, command: session::Command::Health(false) });
                }
            }
            // A caller that is gone has dropped its receiver.
            Err(error) => drop(enter.reply.send(Err(error))),
        }
    }

    fn admit(&self, enter: &Enter) -> Result<session::Enter> {
        if self.closing.is_some() {
            let message = "the store is closing; open it again with `Store::open`";
            return Err(Error::new(ErrorKind::Closed, message));
        }
        let election = Arc::clone(&enter.shared.election);
        self.check_election(&election)?;
        self.store.link.check_name(&enter.shared.candidate)?;
        let settings = enter.options.settings();
        let (nonce, seed) = draw(&settings.name, &election, self.clock.now())?;
        Ok(session::Enter { id: enter.id, election, settings, nonce, seed, fail_fast: self.fail_fast })
    }

    pub(super) fn command(&mut self, id: CampaignId, command: Command) {
        // If the campaign is gone, a waiting caller learns that from the dropped reply.
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        let campaign = self.session.campaign(id);
        let token = campaign.and_then(|campaign| campaign.lease()).map(|lease| lease.token);
        let (command, leave) = match command {
            Command::Resign(leave) => (session::Command::Resign, Some(leave)),
            Command::HandOver(to, leave) => {
                let rules =
                    || check_name(&to).map_err(|refused| Error::refused(ErrorKind::InvalidName, refused));
                if let Err(error) = self
                    .store
                    .link
                    .check_hand_over()
                    .and_then(|()| self.store.link.check_name(&to))
                    .and_then(|()| rules())
                {
                    return leave.refuse(&error);
                }
                if campaign.is_none_or(|campaign| campaign.state() != State::Leading) {
                    return leave.refuse(&Error::new(ErrorKind::NotLeader, "only the leader can hand over"));
                }
                return self.hand_over(id, to, leave);
            }
            Command::Close(leave) => {
                match entry.is_over() {
                    true => drop(leave.done.send(Ok(()))),
                    false => entry.waiting.get_or_insert_default().closing.push(leave.done),
                }
                self.close_campaign(id);
                // The answer must come after the report of the drain, because a caller inside the drained work checks
                // for that report.
                let _ = leave.begun.send(Ok(()));
                return;
            }
            Command::Abandon(commands) => {
                entry.kept_commands = Some(commands);
                (session::Command::Close, None)
            }
            Command::Health(is_well) => {
                entry.is_well = is_well;
                (session::Command::Health(entry.is_healthy()), None)
            }
            Command::LoopResponds(responds) => {
                entry.loop_responds = responds;
                (session::Command::Health(entry.is_healthy()), None)
            }
            Command::AcceptReset => (session::Command::Accept, None),
            Command::Drained(of) if entry.term == Some(of) => (session::Command::Drained, None),
            Command::HandlerFailed(of) if token == Some(of) => (session::Command::HandlerFailed, None),
            // The command is for a term that is over.
            Command::Drained(_) | Command::HandlerFailed(_) => return,
        };
        self.feed(Input::<L>::Command { id, command });
        if let Some(leave) = leave
            && let Some(entry) = self.candidates.get_mut(&id)
        {
            // A caller that no longer waits has dropped its receiver.
            let _ = leave.begun.send(Ok(()));
            entry.waiting.get_or_insert_default().leaving.push(leave.done);
            entry.answer_leaves(state(&self.session, id));
        }
    }

    fn hand_over(&mut self, id: CampaignId, successor: String, leave: LeaveReplies) {
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        let handing_over = HandingOver { successor: successor.clone(), leave };
        entry.waiting.get_or_insert_default().handing_over.push(handing_over);
        entry.refuse_hand_over(Some(&successor), &replaced(&successor));
        self.feed(Input::<L>::Command { id, command: session::Command::HandOver(successor.clone()) });
        let campaign = self.session.campaign(id);
        let waits = campaign.is_some_and(L::is_handing_over);
        let leads = campaign.is_some_and(|campaign| campaign.state() == State::Leading);
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        match (waits, leads) {
            (true, _) => {}
            (false, true) => entry.refuse_hand_over(None, &not_next(&successor, None, true)),
            (false, false) => {
                entry.hand_over_begins();
                entry.answer_leaves(state(&self.session, id));
            }
        }
    }

    /// Refuses a hand-over, because the successor is not next in the queue.
    pub(super) fn not_next(&mut self, id: CampaignId, successor: &str, before: Option<String>) {
        let leads = state(&self.session, id) == State::Leading;
        let error = not_next(successor, before.as_deref(), leads);
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        let (election, candidate) = (&*entry.shared.election, &*entry.shared.candidate);
        tracing::warn!(election, candidate, to = successor, "{error}");
        entry.refuse_hand_over(None, &error);
    }

    pub(super) fn close_campaign(&mut self, id: CampaignId) {
        self.feed(Input::<L>::Command { id, command: session::Command::Close });
    }

    /// Publishes the lease of a campaign, and then its events. Returns true if the work of a draining or ended term has
    /// ended.
    pub(super) fn report(
        &mut self,
        id: CampaignId,
        lease: Option<Lease>,
        lease_time: Option<Duration>,
        events: Vec<Event>,
    ) -> bool {
        let Some(entry) = self.candidates.get_mut(&id) else { return false };
        if let Some(lease_time) = lease_time {
            entry.shared.set_lease_time(lease_time);
        }
        entry.term = lease.map(|lease| lease.token).or(entry.term);
        events.iter().for_each(|event| log_event(&entry.shared, event));
        let hands_over = |event: &_| matches!(event, Event::Draining { reason: Reason::HandedOver, .. });
        let (hands_over, lost) = (events.iter().any(hands_over), events.iter().find_map(lost));
        let closed = events.contains(&Event::StateChanged(State::Closed));
        let work_ended = entry.shared.update(lease, events, &entry.commands);
        if hands_over {
            entry.hand_over_begins();
        }
        if let Some(reason) = lost {
            let message = format!("the term ended before it could be handed over: {reason}");
            entry.refuse_hand_over(None, &Error::new(ErrorKind::NotLeader, message));
        }
        entry.answer_leaves(state(&self.session, id));
        if closed {
            self.end(id);
        }
        work_ended
    }

    /// Registers or removes a candidate.
    pub(super) fn register(&mut self, id: CampaignId, takes_part: bool) {
        if !takes_part {
            return self.roll.leave(id);
        }
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        entry.since = SystemTime::now();
        let (election, name) = (Arc::clone(&entry.shared.election), entry.shared.candidate.clone());
        let nonce = self.session.campaign(id).map(|campaign| campaign.nonce());
        self.roll.enter(id, Registration { election, name, nonce, since: self.clock.now() });
    }

    /// Answers the caller whose campaign was refused.
    pub(super) fn refused(&mut self, id: CampaignId, refusal: Refusal) {
        let reply = self.candidates.get_mut(&id).and_then(|entry| entry.reply.take());
        if let Some(reply) = reply {
            let _ = reply.send(Err(match refusal {
                Refusal::Settings(invalid) => invalid.into(),
                Refusal::Store(fault) => fault.into(),
            }));
        }
        self.settled(id);
    }

    /// Ends a campaign for its handles.
    fn end(&mut self, id: CampaignId) {
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        if entry.stage == Stage::Running {
            entry.stage = Stage::Over { returned: false, settled: false };
            entry.end();
            entry.answer_leaves(State::Closed);
            match entry.shared.tasks() {
                Some(tasks) => self.in_flight.push(self.store.await_handlers(id, tasks.clone())),
                None => self.handlers_returned(id),
            }
        }
    }

    /// Answers the callers that wait for the handlers of a campaign that is over, because those handlers have returned.
    pub(super) fn handlers_returned(&mut self, id: CampaignId) {
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        let closing = entry.waiting.iter_mut().flat_map(|waiting| waiting.closing.drain(..));
        closing.for_each(|reply| drop(reply.send(Ok(()))));
        if let Stage::Over { returned, .. } = &mut entry.stage {
            *returned = true;
        }
        self.forget(id);
    }

    /// Records that the campaign is over, and has left nothing in the store.
    pub(super) fn settled(&mut self, id: CampaignId) {
        self.end(id);
        if let Some(CandidateEntry { stage: Stage::Over { settled, .. }, shared, .. }) =
            self.candidates.get_mut(&id).map(Box::as_mut)
        {
            *settled = true;
            let election = Arc::clone(&shared.election);
            self.unfollow_unless_needed(&election);
        }
        self.forget(id);
    }

    /// Forgets a campaign that is settled, once its handlers have returned.
    fn forget(&mut self, id: CampaignId) {
        let done = Stage::Over { returned: true, settled: true };
        if self.candidates.get(&id).is_some_and(|entry| entry.stage == done) {
            self.candidates.remove(&id);
        }
    }

    /// Logs an operator's request, and whether the campaign accepted it.
    pub(super) fn considered(&mut self, id: CampaignId, request: &session::Request, accepted: bool) {
        let Some(entry) = self.candidates.get_mut(&id) else { return };
        log_request(&entry.shared, request, accepted);
        if let (session::Request::HandOver { successor, .. }, true) = (request, accepted) {
            entry.refuse_hand_over(Some(successor), &replaced(successor));
        }
    }
}

/// The state of a campaign. A campaign that has not begun, or is over, neither drains nor releases.
fn state<R: Rule>(session: &session::Session<R>, id: CampaignId) -> State {
    session.campaign(id).map_or(State::Idle, |campaign| campaign.state())
}

/// The reason for which a term was lost, if this event reports a loss.
fn lost(event: &Event) -> Option<Reason> {
    match event {
        Event::Lost { reason, .. } => Some(*reason),
        _ => None,
    }
}

/// The error of a hand-over whose successor is not next in the queue.
fn not_next(successor: &str, before: Option<&str>, leads: bool) -> Error {
    let why = match before {
        Some(before) => format!(
            "{before:?} arrived before it and keeps its place"
        ),
        None if leads => {
            "no such candidate is in the queue, or it did not become next within the drain time; `candidates` lists \
             the queue"
                .into()
        }
        None => "the term ends for another reason".into(),
    };
    let goes_on = if leads { "; the term continues" } else { "" };
    Error::new(ErrorKind::Unsupported, format!("cannot hand over to {successor:?}: {why}{goes_on}"))
}

/// The error of a hand-over that a later one has replaced.
fn replaced(successor: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("a later request hands over to {successor:?} instead"))
}

const NO_RANDOM_NUMBERS: &str = "the operating system provides no random numbers, which a campaign needs";

/// Draws a campaign's nonce and the seed of its random choices. The random numbers are the operating system's. The
/// process id and the time of day distinguish two machines that were cloned with the state of their random generators.
pub(super) fn draw(name: &str, key: &str, now: Instant) -> Result<(Nonce, u64)> {
    let mut drawn = [[0; 8]; 3];
    getrandom::fill(drawn.as_flattened_mut())
        .map_err(|error| Error::new(ErrorKind::Broken, NO_RANDOM_NUMBERS).caused_by(error))?;
    let drawn = drawn.map(u64::from_ne_bytes);
    // The time of day is cut to its low 64 bits, which differ between two moments. A clock before 1970 counts as zero.
    let today =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |today| today.as_nanos() as u64);
    let process = [u64::from(std::process::id()), today];
    Ok(campaign::draw(drawn, Identity { name, key, now, process: &process })?)
}

/// Logs an event. Levels: error, a person must act; warn, a promise is at risk; info, a term begins or ends; debug, a
/// decision; trace, a message. A healthy candidate that waits logs nothing above debug.
fn log_event(shared: &CandidateState, event: &Event) {
    let (election, candidate) = (&*shared.election, &*shared.candidate);
    match event {
        Event::Won(term) => tracing::info!(election, candidate, term = %term.token, "won"),
        Event::Draining { term, reason, .. } => {
            tracing::debug!(election, candidate, term = %term.token, "draining: {reason}");
        }
        Event::Lost { term, reason } => {
            tracing::info!(election, candidate, term = %term.token, "lost: {reason}");
        }
        Event::LeaderChanged(Some(leader)) => {
            tracing::debug!(election, candidate, leader = leader.name, "the leader changed");
        }
        Event::LeaderChanged(None) => tracing::debug!(election, candidate, "the election is vacant"),
        Event::StateChanged(state) => {
            tracing::debug!(election, candidate, state = state.code(), "campaigning")
        }
        Event::Warning(warning) if needs_a_person(warning) => {
            tracing::error!(election, candidate, "{}", logged(warning));
        }
        Event::Warning(warning) => tracing::warn!(election, candidate, "{}", logged(warning)),
    }
}

fn log_request(shared: &CandidateState, request: &session::Request, accepted: bool) {
    let (election, candidate) = (&*shared.election, &*shared.candidate);
    match (request, accepted) {
        (session::Request::HandOver { successor, .. }, true) => {
            tracing::info!(election, candidate, to = successor, "handing over at an operator's request");
        }
        (session::Request::HandOver { .. }, false) => {
            tracing::debug!(election, candidate, "ignoring an operator's request to hand over");
        }
        (session::Request::AcceptReset { seen, .. }, true) => {
            tracing::warn!(election, candidate, %seen, "an operator accepted that tokens start again below this one");
        }
        (session::Request::AcceptReset { seen, .. }, false) => {
            tracing::debug!(election, candidate, %seen, "an operator's acceptance of a reset does not concern this \
                candidate");
        }
    }
}

/// The text of a warning in a log, which operators of programs in any language read: it names the command line's commands.
fn logged(warning: &Warning) -> String {
    warning.text().spelled(Names::CommandLine)
}

/// Returns true if the condition lasts until a person acts.
fn needs_a_person(warning: &Warning) -> bool {
    match warning {
        Warning::Store(fault) => fault.kind != FaultKind::Unreachable,
        Warning::StoreReset { barred, .. } => *barred,
        Warning::MaxAgeChanged { to, .. } => to.is_none(),
        Warning::NotExpiring { .. } | Warning::NotARecord { .. } | Warning::SameNonce { .. } => true,
        // After an unanswered step, the next step may be answered.
        Warning::GaveWay { fault, .. } => {
            fault.as_ref().is_some_and(|fault| fault.kind != FaultKind::Unreachable)
        }
        Warning::SameName { .. }
        | Warning::ShortLease { .. }
        | Warning::MarkersMislead
        | Warning::Quoted { .. }
        | Warning::YoungStore { .. }
        | Warning::Overloaded { .. }
        | Warning::NoLeader { .. } => false,
    }
}
