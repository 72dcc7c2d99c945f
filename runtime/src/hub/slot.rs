//! The driver's state for a candidate beside its campaign: its handles, and the callers that wait for it.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use incumbent_core::campaign::{self, Event, Identity, InvalidSettings, Lease, State};
use incumbent_core::record::Nonce;
use incumbent_core::session::Refusal;
use incumbent_core::{Instant, Token};

use super::{Answer, Enter, errand, log};
use crate::driver::{Driver, Leave, Reply};
use crate::standing::{Drain, Standing};
use crate::{Error, ErrorKind, Result};

/// A candidate, from when it enters until its handlers have returned.
pub(super) struct Slot {
    pub(super) standing: Arc<Standing>,
    link: Weak<dyn Driver>,
    /// Answered once the campaign has entered, or was refused.
    reply: Option<Answer<()>>,
    /// The last term that was led.
    pub(super) term: Option<Token>,
    /// The driver through which a dropped candidate's work reports its end.
    pub(super) kept: Option<Arc<dyn Driver>>,
    /// The health that the candidate or its health check reported.
    pub(super) is_well: bool,
    /// The watched event loop is responsive.
    pub(super) turns: bool,
    /// Answered once the candidate neither drains nor releases.
    leaving: Vec<Reply>,
    /// Answered once the campaign is over and its handlers have returned.
    closing: Vec<Reply>,
}

impl Slot {
    pub(super) fn new(enter: Enter) -> Self {
        let Enter { id: _, standing, link, options: _, reply } = enter;
        Self {
            standing,
            link,
            reply: Some(reply),
            term: None,
            kept: None,
            is_well: true,
            turns: true,
            leaving: Vec::new(),
            closing: Vec::new(),
        }
    }

    /// The campaign has entered: answers its caller.
    pub(super) fn entered(&mut self) {
        if let Some(reply) = self.reply.take() {
            // A caller that is gone has dropped its candidate, and the driver receives that as a command.
            let _ = reply.send(Ok(()));
        }
    }

    /// The campaign did not enter.
    pub(super) fn refused(&mut self, refusal: Refusal) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(Err(match refusal {
                Refusal::Settings(invalid) => Error::new(ErrorKind::InvalidSetting, invalid.to_string()),
                Refusal::Store(fault) => errand::error(fault),
            }));
        }
    }

    /// Publishes the lease, and then reports the events. Returns whether the work of a term that drains, or is over,
    /// has ended.
    pub(super) fn report(
        &mut self,
        lease: Option<Lease>,
        lease_time: Option<Duration>,
        events: Vec<Event>,
    ) -> bool {
        if let Some(lease_time) = lease_time {
            self.standing.set_lease_time(lease_time);
        }
        self.term = lease.map(|lease| lease.token).or(self.term);
        events.iter().for_each(|event| log::event(&self.standing, event));
        self.standing.update(lease, events, &self.link) == Drain::Done
    }

    /// Whether the candidate is healthy by its own report and by its event loop.
    pub(super) fn is_healthy(&self) -> bool {
        self.is_well && self.turns
    }

    /// Answers that a leave has begun; the caller's second answer follows when it is done.
    pub(super) fn leaves(&mut self, leave: Leave) {
        let _ = leave.begun.send(Ok(()));
        self.leaving.push(leave.done);
    }

    /// Keeps the caller of a close; it is answered when the campaign is over.
    pub(super) fn closes(&mut self, done: Reply) {
        self.closing.push(done);
    }

    /// Answers the callers that wait for a leave, once it is done.
    pub(super) fn settle(&mut self, state: State) {
        if !matches!(state, State::Draining | State::Releasing) {
            self.leaving.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
        }
    }

    /// Ends the campaign, for the handles too.
    pub(super) fn end(&mut self) {
        self.reply = None;
        self.kept = None;
        self.standing.end(campaign::Reason::Closed);
    }

    /// Answers the callers that wait for the end.
    pub(super) fn ended(&mut self) {
        self.closing.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
    }
}

const NO_RANDOM_NUMBERS: &str = "the operating system gives no random numbers, which a campaign needs";

/// A campaign's nonce and the seed of its random choices. The numbers are the operating system's; the process id and
/// the time of day distinguish two machines that were cloned with the state of their random generators.
pub(super) fn draw(name: &str, key: &str, now: Instant) -> Result<(Nonce, u64)> {
    let mut drawn = [0; 3];
    for number in &mut drawn {
        *number = getrandom::u64()
            .map_err(|error| Error::new(ErrorKind::Broken, NO_RANDOM_NUMBERS).caused_by(error))?;
    }
    // Cut to its low 64 bits, which are those that differ. A clock before 1970 counts as zero.
    let today =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |today| today.as_nanos() as u64);
    let process = [u64::from(std::process::id()), today];
    let refused = |invalid: InvalidSettings| Error::new(ErrorKind::InvalidSetting, invalid.to_string());
    campaign::draw(drawn, Identity { name, key, now, process: &process }).map_err(refused)
}
