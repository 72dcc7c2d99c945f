//! A scripted election, a store with faults and a manual clock, for tests.

use std::time::{Duration, Instant};

use incumbent_ffi::{settings, testing as ffi};
use napi::bindgen_prelude::{Either, Object};
use napi::{Error, Result, Status};
use napi_derive::napi;

use crate::candidate::Candidate;
use crate::operation::{Operation, Value};
use crate::store::Store;
use crate::value::{self, DIALECT, Failure, Outcome, failure, outcome};

/// A clock that moves only when it is advanced.
#[napi(js_name = "ManualClock")]
pub struct ManualClock {
    clock: ffi::ManualClock,
}

#[napi]
impl ManualClock {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self { clock: ffi::ManualClock::new() }
    }

    /// Advances the clock by that many milliseconds.
    #[napi]
    pub fn advance(&self, milliseconds: f64) -> Result<()> {
        self.clock.advance(length(milliseconds)?);
        Ok(())
    }
}

/// A request of the code under test.
#[napi(object, object_from_js = false, js_name = "AskedRow")]
pub struct AskedRow {
    pub what: &'static str,
    pub value: Option<String>,
}

/// A scripted election.
#[napi(js_name = "Script")]
pub struct Script {
    script: ffi::Script,
    candidate: incumbent_ffi::Candidate,
    made: Instant,
}

/// Creates an election and its only candidate, which does not lead.
#[napi]
pub fn new_script(election: String, candidate: String, clock: Option<&ManualClock>) -> Outcome<Script> {
    let made = ffi::Script::new(&election, &candidate, clock.map(|clock| &clock.clock));
    outcome(made.map(|(script, candidate)| Script { script, candidate, made: Instant::now() }))
}

#[napi]
impl Script {
    /// The candidate of the election.
    #[napi]
    pub fn candidate(&self) -> Candidate {
        self.candidate.clone().into()
    }

    /// Lets the candidate win, with a lease of that many milliseconds or without an expiry. Returns the token.
    #[napi]
    pub fn acquire(&self, lease: Option<f64>) -> Result<Outcome<String>> {
        let lease = lease.map(length).transpose()?;
        Ok(outcome(self.script.acquire(lease).map(|token| token.to_string())))
    }

    /// Ends the term at once, for that reason.
    #[napi]
    pub fn revoke(&self, reason: String) -> Result<Option<Failure>> {
        Ok(failure(self.script.revoke(value::reason(&reason)?)))
    }

    /// Lets the term drain, for that reason.
    #[napi]
    pub fn drain(&self, reason: String) -> Result<Option<Failure>> {
        Ok(failure(self.script.drain(value::reason(&reason)?)))
    }

    /// Shows the candidate a leader of that name, or no leader.
    #[napi]
    pub fn leader(&self, name: Option<String>) -> Option<Failure> {
        failure(self.script.leader(name.as_deref()))
    }

    /// Emits a warning.
    #[napi]
    pub fn warning(&self) -> Option<Failure> {
        failure(self.script.warning())
    }

    /// Emits `count` leaders from another thread, `apart_ms` apart, as a real election does; for the benchmark. The
    /// name of each is the value of `ageNs` just before.
    #[napi]
    pub fn tell_leaders(&self, count: u32, apart_ms: f64) -> Result<()> {
        let (script, made, apart) = (self.script.clone(), self.made, length(apart_ms)?);
        let tell = move || {
            for _ in 0..count {
                std::thread::sleep(apart);
                if script.leader(Some(&made.elapsed().as_nanos().to_string())).is_err() {
                    return;
                }
            }
        };
        let spawned = std::thread::Builder::new().spawn(tell);
        spawned.map(drop).map_err(|error| Error::new(Status::GenericFailure, error.to_string()))
    }

    /// The nanoseconds since the election was created.
    #[napi]
    pub fn age_ns(&self) -> f64 {
        self.made.elapsed().as_nanos() as f64
    }

    /// The requests of the code under test, in order.
    #[napi]
    pub fn asked(&self) -> Outcome<Vec<AskedRow>> {
        let rows = |asked: Vec<(&'static str, Option<String>)>| {
            asked.into_iter().map(|(what, value)| AskedRow { what, value }).collect()
        };
        outcome(self.script.asked().map(rows))
    }
}

/// A store with fault injection.
#[napi(js_name = "FaultyStore")]
pub struct FaultyStore {
    store: incumbent_ffi::Store,
    faults: ffi::Faults,
}

/// Opens a store with fault injection.
#[napi]
pub fn open_faulty(
    url: String,
    settings: Object<'_>,
    clock: Option<&ManualClock>,
) -> Result<Outcome<Operation>> {
    let opening = match settings::opening(&url, value::settings(settings)?, DIALECT) {
        Ok(opening) => opening,
        Err(error) => return Ok(Either::A(error.into())),
    };
    let open = ffi::Faults::open(opening, clock.map(|clock| &clock.clock));
    Ok(Either::B(Operation::new(open, |(store, faults)| Some(Value::E(FaultyStore { store, faults })))))
}

#[napi]
impl FaultyStore {
    /// The store.
    #[napi]
    pub fn store(&self) -> Store {
        self.store.clone().into()
    }

    /// Makes the next `count` writes fail in that way: `lose_answer`, `lose_request` or `busy`.
    #[napi]
    pub fn writes(&self, fault: String, count: u32) -> Result<Option<Failure>> {
        let fault = match fault.as_str() {
            "lose_answer" => ffi::WriteFault::LoseAnswer,
            "lose_request" => ffi::WriteFault::LoseRequest,
            "busy" => ffi::WriteFault::Busy,
            _ => return Err(Error::new(Status::InvalidArg, format!("{fault:?} is not a fault of writes"))),
        };
        Ok(failure(self.faults.writes(fault, count as usize)))
    }

    /// Delays every answer by that many milliseconds; zero ends it.
    #[napi]
    pub fn delay_answers(&self, milliseconds: f64) -> Result<Option<Failure>> {
        Ok(failure(self.faults.delay_answers(length(milliseconds)?)))
    }

    /// Refuses writes for that reason until null is given.
    #[napi]
    pub fn deny_writes(&self, reason: Option<String>) -> Option<Failure> {
        failure(self.faults.deny_writes(reason.as_deref()))
    }

    /// Cuts the connection, or restores it.
    #[napi]
    pub fn partition(&self, is_cut: bool) -> Option<Failure> {
        failure(self.faults.partition(is_cut))
    }

    /// Silences every present watch.
    #[napi]
    pub fn kill_watches(&self) -> Option<Failure> {
        failure(self.faults.kill_watches())
    }
}

fn length(milliseconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(|_| {
        let message = format!("{milliseconds} is not a duration: give milliseconds, not negative");
        Error::new(Status::InvalidArg, message)
    })
}
