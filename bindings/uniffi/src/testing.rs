//! A scripted election, a store with faults and a manual clock, for tests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use incumbent_ffi::settings;
use incumbent_ffi::testing as ffi;

use crate::candidate::Candidate;
use crate::pending::PendingFaultyStore;
use crate::store::Store;
use crate::term::TokenParts;
use crate::value::{Failure, Reason, Setting, dialect};

/// A clock that moves only when it is advanced.
#[derive(uniffi::Object)]
pub struct ManualClock(ffi::ManualClock);

#[uniffi::export]
impl ManualClock {
    /// Creates one.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(Self(ffi::ManualClock::new()))
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        self.0.advance(by);
    }
}

/// A scripted election, whose only candidate leads when the test makes it lead.
#[derive(uniffi::Object)]
pub struct Script {
    script: ffi::Script,
    candidate: Arc<Candidate>,
}

/// A request of the code under test.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Asked {
    /// The request's name.
    pub what: String,
    /// The request's argument.
    pub value: Option<String>,
}

#[uniffi::export]
impl Script {
    /// Creates an election and its only candidate, which does not lead.
    #[uniffi::constructor]
    pub fn new(
        election: &str,
        candidate: &str,
        clock: Option<Arc<ManualClock>>,
    ) -> Result<Arc<Self>, Failure> {
        let (script, candidate) =
            ffi::Script::new(election, candidate, clock.as_ref().map(|clock| &clock.0))?;
        Ok(Arc::new(Self { script, candidate: Candidate::of(candidate) }))
    }

    /// The candidate of the election.
    pub fn candidate(&self) -> Arc<Candidate> {
        Arc::clone(&self.candidate)
    }

    /// Lets the candidate win; with `lease`, or without an expiry.
    pub fn acquire(&self, lease: Option<Duration>) -> Result<TokenParts, Failure> {
        Ok(self.script.acquire(lease)?.into())
    }

    /// Ends the term at once, for that reason.
    pub fn revoke(&self, reason: Reason) -> Result<(), Failure> {
        Ok(self.script.revoke(reason.into())?)
    }

    /// Lets the term drain, for that reason.
    pub fn drain(&self, reason: Reason) -> Result<(), Failure> {
        Ok(self.script.drain(reason.into())?)
    }

    /// Shows the candidate a leader of that name, or no leader.
    pub fn leader(&self, name: Option<String>) -> Result<(), Failure> {
        Ok(self.script.leader(name.as_deref())?)
    }

    /// Emits a warning.
    pub fn warning(&self) -> Result<(), Failure> {
        Ok(self.script.warning()?)
    }

    /// The requests of the code under test, in order.
    pub fn asked(&self) -> Result<Vec<Asked>, Failure> {
        let asked = self.script.asked()?;
        Ok(asked.into_iter().map(|(what, value)| Asked { what: what.to_owned(), value }).collect())
    }
}

/// A fault of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum WriteFault {
    /// The write is done, and its answer is lost.
    LoseAnswer,
    /// The write is never done.
    LoseRequest,
    /// The store refuses the write because another is in flight.
    Busy,
}

/// A store with fault injection.
#[derive(uniffi::Object)]
pub struct FaultyStore {
    store: Arc<Store>,
    faults: ffi::Faults,
}

/// Opens a store with fault injection.
#[uniffi::export]
pub fn open_faulty(
    url: &str,
    settings: HashMap<String, Setting>,
    clock: Option<Arc<ManualClock>>,
) -> Result<Arc<PendingFaultyStore>, Failure> {
    let opening = settings::opening(url, crate::value::settings(settings), dialect())?;
    opening.check()?;
    let open = ffi::Faults::open(opening, clock.as_ref().map(|clock| &clock.0));
    let faulty = |(store, faults)| Arc::new(FaultyStore { store: Store::of(store), faults });
    Ok(Arc::new(open.map(faulty).into()))
}

#[uniffi::export]
impl FaultyStore {
    /// The store.
    pub fn store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    /// Makes the next `count` writes fail in that way.
    pub fn writes(&self, fault: WriteFault, count: u32) -> Result<(), Failure> {
        let fault = match fault {
            WriteFault::LoseAnswer => ffi::WriteFault::LoseAnswer,
            WriteFault::LoseRequest => ffi::WriteFault::LoseRequest,
            WriteFault::Busy => ffi::WriteFault::Busy,
        };
        Ok(self.faults.writes(fault, count as usize)?)
    }

    /// Delays every answer from now on; zero ends it.
    pub fn delay_answers(&self, delay: Duration) -> Result<(), Failure> {
        Ok(self.faults.delay_answers(delay)?)
    }

    /// Refuses writes for that reason until nothing is given.
    pub fn deny_writes(&self, reason: Option<String>) -> Result<(), Failure> {
        Ok(self.faults.deny_writes(reason.as_deref())?)
    }

    /// Cuts the connection, or restores it.
    pub fn partition(&self, cut: bool) -> Result<(), Failure> {
        Ok(self.faults.partition(cut)?)
    }

    /// Silences every present watch.
    pub fn kill_watches(&self) -> Result<(), Failure> {
        Ok(self.faults.kill_watches()?)
    }
}
