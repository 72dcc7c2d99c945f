//! The exported resource.

use core::time::Duration;
use std::cell::RefCell;

use incumbent_core::campaign::{Identity, Settings, check_name, draw};
use incumbent_core::session::{Command, Refusal};

use super::bindings::exports::incumbent::election::elections::{self, Error, GuestCandidate, StepResult};
use super::driver::Driver;
use super::imports::{Clock, Key, random_numbers};
use super::refusals;
use super::wit::events::{Leader, Lease, State, Term};
use super::wit::settings::CampaignSettings;
use super::wit::types;

/// A candidate. Each call borrows its cell; a component is never re-entered, so the cell is never borrowed already.
pub(super) struct Candidate(RefCell<Driver>);

impl GuestCandidate for Candidate {
    fn campaign(
        bucket: String,
        key: String,
        settings: CampaignSettings,
    ) -> Result<elections::Candidate, Error> {
        match enter(&bucket, key, settings.into()) {
            Ok(driver) => Ok(elections::Candidate::new(Self(RefCell::new(driver)))),
            Err(Refusal::Settings(invalid)) => Err(Error::Refused(invalid.into())),
            Err(Refusal::Store(fault)) => Err(Error::Store(fault.into())),
        }
    }

    fn step(&self, limit: types::Duration) -> StepResult {
        let mut driver = self.0.borrow_mut();
        driver.step(Duration::from_nanos(limit));
        StepResult {
            wake_at: driver.wake_at().map(|at| at.as_nanos()),
            events: driver.take_events().into_iter().map(Into::into).collect(),
        }
    }

    fn is_leader(&self) -> bool {
        self.0.borrow_mut().is_leader()
    }

    fn lease(&self) -> Option<Lease> {
        self.0.borrow().lease().map(Into::into)
    }

    fn term(&self) -> Option<Term> {
        self.0.borrow().term().map(Into::into)
    }

    fn state(&self) -> State {
        self.0.borrow().state().into()
    }

    fn leader(&self) -> Option<Leader> {
        self.0.borrow().leader().cloned().map(Into::into)
    }

    fn resign(&self) {
        self.command(Command::Resign);
    }

    fn hand_over(&self, successor: String) -> Result<(), Error> {
        check_name(&successor).map_err(|mut invalid| {
            invalid.setting = "successor";
            Error::Refused(invalid.into())
        })?;
        if self.state() != State::Leading {
            return Err(Error::NotLeader);
        }
        self.command(Command::HandOver(successor));
        Ok(())
    }

    fn drained(&self) {
        self.command(Command::Drained);
    }

    fn set_healthy(&self, healthy: bool) {
        self.command(Command::Health(healthy));
    }

    fn handler_failed(&self) {
        // `handler-failed` also means that the work has ended: the release need not wait for it.
        self.command(Command::HandlerFailed);
        self.command(Command::Drained);
    }

    fn accept_reset(&self) {
        self.command(Command::Accept);
    }

    fn close(&self) {
        self.command(Command::Close);
    }
}

impl Candidate {
    fn command(&self, command: Command) {
        self.0.borrow_mut().command(command);
    }
}

fn enter(bucket: &str, key: String, settings: Settings) -> Result<Driver, Refusal> {
    if !Clock::is_fit() {
        return Err(Refusal::Settings(refusals::clock()));
    }
    check_name(&settings.name).map_err(Refusal::Settings)?;
    let key = Key::open(bucket, key, &settings.name).map_err(Refusal::Store)?;
    let mut clock = Clock::default();
    let identity = Identity { name: &settings.name, key: key.name(), now: clock.now(), process: &[] };
    let (nonce, seed) = draw(random_numbers(), identity).map_err(Refusal::Settings)?;
    Driver::enter(clock, key, settings, nonce, seed)
}
