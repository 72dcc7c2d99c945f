//! A candidate's place on the hub.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use incumbent_core::campaign::{
    self, Campaign, Identity, Input, InvalidSettings, Lease, Output, State, Warning,
};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, Fault, FaultKind, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use super::{Answer, Enter, doubled, errand, log};
use crate::driver::{Driver, Leave, Reply};
use crate::options::CampaignOptions;
use crate::standing::{Drain, Standing};
use crate::store::AcceptReset;
use crate::{Error, ErrorKind, Result};

/// How long an answer is waited for before the lease is known.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);
/// The first wait before a store that did not answer is asked again; doubled up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A candidate's place on the hub.
pub(super) struct Slot {
    pub(super) standing: Arc<Standing>,
    link: Weak<dyn Driver>,
    pub(super) stage: Stage,
    /// How long an answer from the store can matter.
    pub(super) patience: Duration,
    /// When the campaign last sent something.
    pub(super) last_sent: Instant,
    /// The operator's request that was heard last: a watch that begins anew tells it again.
    pub(super) heard: Option<Revision>,
    /// The same of an operator's acceptance that tokens start again.
    heard_acceptance: Option<Revision>,
    /// The largest token it has seen, where it stays out because the store would give no larger one.
    barred_by: Option<Token>,
    /// It is on the roll of those who stand.
    pub(super) enrolled: bool,
    /// The last term that was led.
    pub(super) term: Option<Token>,
    /// By which the work of a dropped candidate says that it has ended.
    pub(super) kept: Option<Arc<dyn Driver>>,
    /// What the candidate says of itself, or its health check.
    pub(super) is_well: bool,
    /// The event loop that is watched for it turns.
    pub(super) turns: bool,
    /// Who waits until the seat is given back.
    leaving: Vec<Reply>,
    /// Who waits until the campaign is over and its handlers have returned.
    closing: Vec<Reply>,
}

pub(super) enum Stage {
    /// Waits for the first answer of the store.
    Entering(Box<Entering>),
    Racing(Box<Campaign>),
    /// Over; its handlers may still run.
    Over,
}

pub(super) struct Entering {
    options: CampaignOptions,
    reply: Option<Answer<()>>,
    failures: u32,
    told: Option<Warning>,
}

/// What the hub has to do after a step.
#[derive(Default)]
pub(super) struct Step {
    pub(super) outputs: Vec<Output>,
    pub(super) wake: Option<Instant>,
    /// The work of a term that drains, or is over, has ended.
    pub(super) drained: bool,
}

impl Slot {
    pub(super) fn new(enter: Enter) -> Self {
        let Enter { id: _, standing, link, options, reply } = enter;
        let entering = Entering { options, reply: Some(reply), failures: 0, told: None };
        Self {
            standing,
            link,
            stage: Stage::Entering(Box::new(entering)),
            patience: FIRST_PATIENCE,
            last_sent: Instant::ZERO,
            heard: None,
            heard_acceptance: None,
            barred_by: None,
            enrolled: false,
            term: None,
            kept: None,
            is_well: true,
            turns: true,
            leaving: Vec::new(),
            closing: Vec::new(),
        }
    }

    /// Hands an input to the campaign, and makes its lease and its events known before anything that
    /// comes of it is sent. Does nothing where no campaign runs.
    pub(super) fn step(&mut self, input: Input) -> Step {
        let Stage::Racing(campaign) = &mut self.stage else { return Step::default() };
        let now = self.standing.clock.now();
        if let Err(misuse) = campaign.handle(now, input) {
            let (election, candidate) = (&*self.standing.election, &*self.standing.candidate);
            tracing::error!(election, candidate, "a defect of this library, please report it: {misuse}");
        }
        self.standing.set_lease_time(campaign.lease_time());
        let lease = campaign.lease();
        self.term = lease.map(|lease| lease.token).or(self.term);
        let mut events = Vec::new();
        let mut outputs = Vec::new();
        let wake = loop {
            match campaign.poll() {
                Output::WakeAt(wake) => break wake.map(|wake| wake.at),
                Output::Event(event) => {
                    if let campaign::Event::Warning(Warning::StoreReset { seen, barred, .. }) = &event {
                        self.barred_by = seen.filter(|_| *barred);
                    }
                    events.push(event);
                }
                output => outputs.push(output),
            }
        };
        let drained = self.tell(lease, events) == Drain::Done;
        Step { outputs, wake, drained }
    }

    fn tell(&self, lease: Option<Lease>, events: Vec<campaign::Event>) -> Drain {
        events.iter().for_each(|event| log::event(&self.standing, event));
        self.standing.update(lease, events, &self.link)
    }

    /// Reports warning that the campaign itself does not know of.
    pub(super) fn report(&mut self, warning: Warning) {
        if let Stage::Racing(_) = self.stage {
            self.tell(self.lease(), vec![campaign::Event::Warning(warning)]);
        }
    }

    /// The lease of a campaign that leads.
    pub(super) fn lease(&self) -> Option<Lease> {
        match &self.stage {
            Stage::Racing(campaign) => campaign.lease(),
            Stage::Entering(_) | Stage::Over => None,
        }
    }

    /// The number that marks what the campaign writes.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        match &self.stage {
            Stage::Racing(campaign) => Some(campaign.nonce()),
            Stage::Entering(_) | Stage::Over => None,
        }
    }

    pub(super) fn state(&self) -> State {
        match &self.stage {
            Stage::Entering(_) => State::Idle,
            Stage::Racing(campaign) => campaign.state(),
            Stage::Over => State::Closed,
        }
    }

    /// Whether it does what an operator's acceptance says: once, only in the incarnation that is named, and only where it
    /// stays out for a token that is named.
    pub(super) fn accepts(
        &mut self,
        revision: Revision,
        request: &AcceptReset,
        present: Option<Incarnation>,
    ) -> bool {
        let is_heard = self.heard_acceptance.replace(revision) == Some(revision);
        let is_named = self.barred_by.is_some_and(|barred_by| barred_by <= request.seen);
        let accepts = !is_heard && is_named && present == Some(request.incarnation);
        if accepts {
            self.barred_by = None;
        }
        accepts
    }

    /// Whether it is in the race, or holds the seat.
    pub(super) fn stands(&self) -> bool {
        !matches!(self.state(), State::Idle | State::Closed)
    }

    /// The store answered for the first time: the campaign can be made.
    ///
    /// What it is refused for is the caller's error; where the caller waits no longer it is told as
    /// warning, and tried again.
    pub(super) fn begin(&mut self, store: Capabilities, info: &StoreInfo) -> Begin {
        let now = self.standing.clock.now();
        let Stage::Entering(entering) = &mut self.stage else { return Begin::Running };
        let settings = entering.options.settings();
        let made = draw(&settings.name, &self.standing.election, now).and_then(|(nonce, seed)| {
            Campaign::new(settings, store, info, nonce, seed, now).map_err(Refusal::Settings)
        });
        match made {
            Ok(campaign) => {
                if let Some(reply) = entering.reply.take() {
                    // A caller that is gone has dropped its candidate; the hub hears of that as well.
                    let _ = reply.send(Ok(()));
                }
                self.stage = Stage::Racing(Box::new(campaign));
                Begin::Now
            }
            Err(refusal) => match entering.reply.take() {
                Some(reply) => {
                    let _ = reply.send(Err(refusal.into()));
                    Begin::Never
                }
                None => {
                    self.warning(refusal.into());
                    Begin::Later(now + LONGEST_WAIT)
                }
            },
        }
    }

    /// The store did not answer, or refused: when to ask again, or `None` where the caller is told that
    /// it failed.
    pub(super) fn not_yet(&mut self, fault: Fault, fail_fast: bool) -> Option<Instant> {
        let now = self.standing.clock.now();
        let Stage::Entering(entering) = &mut self.stage else { return None };
        if let Some(reply) = entering.reply.take() {
            if fail_fast || fault.kind != FaultKind::Unreachable {
                let _ = reply.send(Err(errand::error(fault)));
                return None;
            }
            let _ = reply.send(Ok(()));
        }
        let wait = doubled(FIRST_WAIT, entering.failures, LONGEST_WAIT);
        entering.failures = entering.failures.saturating_add(1);
        self.warning(Warning::Store(fault));
        Some(now + wait)
    }

    /// Tells warning of a candidate that has no campaign yet, once while it lasts.
    fn warning(&mut self, warning: Warning) {
        let Stage::Entering(entering) = &mut self.stage else { return };
        if entering.told.as_ref() != Some(&warning) {
            entering.told = Some(warning.clone());
            self.tell(None, vec![campaign::Event::Warning(warning)]);
        }
    }

    /// Whether the candidate is healthy: both by what it says and by its event loop.
    pub(super) fn health(&self) -> Input {
        Input::Health(self.is_well && self.turns)
    }

    /// A leave has begun; its waiter is answered when it is done.
    pub(super) fn leaves(&mut self, leave: Leave) {
        let _ = leave.begun.send(Ok(()));
        self.leaving.push(leave.done);
    }

    /// The campaign is about to be closed; who waits for that is answered when it is done.
    pub(super) fn closes(&mut self, done: Reply) {
        self.closing.push(done);
    }

    /// Answers those who wait for the seat to be given back, once it is.
    pub(super) fn settle(&mut self) {
        if !matches!(self.state(), State::Draining | State::Releasing) {
            self.leaving.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
        }
    }

    /// Ends the place: for the handles the campaign is over.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Over;
        self.kept = None;
        self.standing.end(campaign::Reason::Closed);
    }

    /// Answers those who wait for the end.
    pub(super) fn ended(&mut self) {
        self.closing.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
    }
}

/// What became of a candidate when the store answered.
pub(super) enum Begin {
    /// Its campaign is made.
    Now,
    /// It ran already.
    Running,
    /// It cannot be made at present; try again then.
    Later(Instant),
    /// It was refused, and its caller has been told.
    Never,
}

/// Why a campaign cannot be made.
enum Refusal {
    Settings(InvalidSettings),
    System(getrandom::Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Settings(refused) => Self::new(ErrorKind::InvalidSetting, refused.to_string()),
            Refusal::System(error) => Self::new(ErrorKind::Broken, NO_RANDOM_NUMBERS).caused_by(error),
        }
    }
}

impl From<Refusal> for Warning {
    fn from(refusal: Refusal) -> Self {
        let detail = match refusal {
            Refusal::Settings(refused) => refused.to_string(),
            Refusal::System(error) => format!("{NO_RANDOM_NUMBERS}: {error}"),
        };
        Self::Store(Fault { kind: FaultKind::Broken, detail })
    }
}

const NO_RANDOM_NUMBERS: &str = "the operating system gives no random numbers, which a campaign needs";

/// A campaign's nonce and the seed of its random choices. The numbers are the operating system's; the process and the
/// time of day tell two machines apart that were cloned with their random numbers.
fn draw(name: &str, key: &str, now: Instant) -> Result<(Nonce, u64), Refusal> {
    let mut drawn = [0; 3];
    for number in &mut drawn {
        *number = getrandom::u64().map_err(Refusal::System)?;
    }
    // Cut to its low 64 bits, which are those that differ. A clock before 1970 says nothing.
    let today =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |today| today.as_nanos() as u64);
    let process = [u64::from(std::process::id()), today];
    campaign::draw(drawn, Identity { name, key, now, process: &process }).map_err(Refusal::Settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::hub::Link;

    fn token(sequence: u64) -> Token {
        Token { incarnation: Incarnation(7), sequence: Revision(sequence) }
    }

    #[test]
    fn an_acceptance_is_honoured_once_for_the_incarnation_and_the_tokens_it_names() {
        let (reply, _) = tokio::sync::oneshot::channel();
        let mut slot = Slot::new(Enter {
            id: 1,
            standing: Standing::new("jobs".into(), "ada".into(), Clock::system()),
            link: Weak::<Link>::new(),
            options: CampaignOptions::new(),
            reply,
        });
        let named = AcceptReset { seen: token(100), incarnation: Incarnation(7) };
        let present = Some(Incarnation(7));
        assert!(!slot.accepts(Revision(1), &named, present), "nothing keeps it out");
        slot.barred_by = Some(token(100));
        assert!(!slot.accepts(Revision(1), &named, present), "that one was heard before");
        assert!(!slot.accepts(Revision(2), &named, Some(Incarnation(8))), "another incarnation");
        assert!(!slot.accepts(Revision(3), &named, None), "not inspected yet");
        let smaller = AcceptReset { seen: token(99), ..named };
        assert!(!slot.accepts(Revision(4), &smaller, present), "it has seen a larger token");
        assert!(slot.accepts(Revision(5), &named, present));
        // Barred once more, by a later reset: the watch shows the same request again.
        slot.barred_by = Some(token(9));
        assert!(!slot.accepts(Revision(5), &named, present));
    }
}
