//! The exported resource.

use core::time::Duration;
use std::cell::RefCell;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event, Input, check_name};
use incumbent_core::store::FaultKind;

use super::bindings::exports::incumbent::election::elections::{self, Error, GuestCandidate, StepResult};
use super::clock::{self, Clock};
use super::entering::{Entering, Refusal};
use super::map;
use super::racing::Racing;
use super::stage::Stage;
use super::store::Key;
use super::wit::events::{Leader, Lease, State, Term};
use super::wit::settings::CampaignSettings;
use super::wit::types;

/// A campaign. Each call borrows its cell; a component is never re-entered, so the cell is never borrowed already.
pub(super) struct Candidate {
    clock: Clock,
    inner: RefCell<Inner>,
}

struct Inner {
    stage: Stage,
    /// Events from before the campaign ran, or from its end.
    events: Vec<Event>,
}

impl GuestCandidate for Candidate {
    fn campaign(
        bucket: String,
        key: String,
        settings: CampaignSettings,
    ) -> Result<elections::Candidate, Error> {
        if !clock::is_fit() {
            return Err(Error::Refused(unfit_clock()));
        }
        let name = check_name(&settings.name);
        name.map_err(|refused| Error::Refused(map::refusal(refused)))?;
        let key =
            Key::open(&bucket, key, &settings.name).map_err(|fault| Error::Store(map::own_fault(fault)))?;
        let clock = Clock::default();
        let now = || clock.now();
        let mut events = Vec::new();
        let entering = Entering::new(key, settings, now()).map_err(Error::Refused)?;
        let stage = match entering.ask(now) {
            Ok(racing) => Stage::Racing(Box::new(racing)),
            Err((_, Refusal::Settings(refused))) => return Err(Error::Refused(refused)),
            Err((mut entering, Refusal::Store(fault))) if fault.kind == FaultKind::Unreachable => {
                events.extend(entering.not_yet(Refusal::Store(fault), now()));
                Stage::Entering(entering)
            }
            Err((_, Refusal::Store(fault))) => return Err(Error::Store(map::own_fault(fault))),
        };
        Ok(elections::Candidate::new(Self { clock, inner: RefCell::new(Inner { stage, events }) }))
    }

    fn step(&self, patience: types::Duration) -> StepResult {
        let now = || self.clock.now();
        let inner = &mut *self.inner.borrow_mut();
        match core::mem::replace(&mut inner.stage, Stage::Over) {
            Stage::Entering(entering) if entering.due() <= now() => match entering.ask(now) {
                Ok(racing) => inner.stage = Stage::Racing(Box::new(racing)),
                Err((mut entering, refusal)) => {
                    inner.events.extend(entering.not_yet(refusal, now()));
                    inner.stage = Stage::Entering(entering);
                }
            },
            Stage::Racing(mut racing) => {
                racing.step(Duration::from_nanos(patience), now);
                inner.stage = Stage::Racing(racing);
            }
            other => inner.stage = other,
        }
        inner.turn(now())
    }

    fn is_leader(&self) -> bool {
        let now = self.clock.now();
        self.racing(|racing| racing.campaign().is_leader(now)).unwrap_or(false)
    }

    fn lease(&self) -> Option<Lease> {
        self.racing(|racing| racing.campaign().lease().map(map::lease)).flatten()
    }

    fn term(&self) -> Option<Term> {
        self.racing(|racing| racing.term().map(map::term)).flatten()
    }

    fn state(&self) -> State {
        match &self.inner.borrow().stage {
            Stage::Entering(_) => State::Idle,
            Stage::Racing(racing) => map::state(racing.campaign().state()),
            Stage::Over => State::Closed,
        }
    }

    fn leader(&self) -> Option<Leader> {
        self.racing(|racing| racing.campaign().leader().cloned().map(map::leader)).flatten()
    }

    fn resign(&self) {
        self.take(Input::Resign);
    }

    fn hand_over(&self, successor: String) -> Result<(), Error> {
        check_name(&successor).map_err(|mut refused| {
            refused.setting = "successor";
            Error::Refused(map::refusal(refused))
        })?;
        if self.state() != State::Leading {
            return Err(Error::NotLeader);
        }
        self.take(Input::HandOver(successor));
        Ok(())
    }

    fn drained(&self) {
        self.take(Input::Drained);
    }

    fn set_healthy(&self, healthy: bool) {
        if let Stage::Entering(entering) = &mut self.inner.borrow_mut().stage {
            entering.health(healthy);
        }
        self.take(Input::Health(healthy));
    }

    fn handler_failed(&self) {
        // `handler-failed` also means that the work has ended: the release need not wait for it.
        self.take(Input::HandlerFailed);
        self.take(Input::Drained);
    }

    fn accept_reset(&self) {
        self.take(Input::Accept);
    }

    fn close(&self) {
        let inner = &mut *self.inner.borrow_mut();
        if matches!(inner.stage, Stage::Entering(_)) {
            inner.stage = Stage::Over;
            inner.events.push(Event::StateChanged(incumbent_core::campaign::State::Closed));
        }
        inner.take(self.clock.now(), Input::Close);
    }
}

impl Candidate {
    fn racing<T>(&self, look: impl FnOnce(&Racing) -> T) -> Option<T> {
        match &self.inner.borrow().stage {
            Stage::Racing(racing) => Some(look(racing)),
            Stage::Entering(_) | Stage::Over => None,
        }
    }

    fn take(&self, input: Input) {
        self.inner.borrow_mut().take(self.clock.now(), input);
    }
}

impl Inner {
    fn take(&mut self, now: Instant, input: Input) {
        if let Stage::Racing(racing) = &mut self.stage {
            racing.take(now, input);
        }
    }

    /// Returns the events and the time of the next step.
    fn turn(&mut self, now: Instant) -> StepResult {
        let mut events = core::mem::take(&mut self.events);
        let wake_at = match &mut self.stage {
            Stage::Entering(entering) => Some(entering.due()),
            Stage::Racing(racing) => {
                events.append(&mut racing.take_events());
                (!racing.is_over()).then(|| racing.due(now))
            }
            Stage::Over => None,
        };
        StepResult {
            wake_at: wake_at.map(Instant::as_nanos),
            events: events.into_iter().map(map::event).collect(),
        }
    }
}

fn unfit_clock() -> types::Refusal {
    types::Refusal {
        setting: "clock".into(),
        value: "one that may stand still while the machine is suspended".into(),
        limit: "one that counts the time of a suspension".into(),
        remedy: "have the host read CLOCK_BOOTTIME on Linux, mach_continuous_time on macOS, or \
                 QueryPerformanceCounter on Windows, and answer counts-suspension with true"
            .into(),
    }
}
