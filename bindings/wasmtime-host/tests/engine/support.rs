//! An instance of the engine, and conversion of its types to the core's.

use std::path::PathBuf;

use incumbent::incumbent_core::Instant;
use incumbent::incumbent_core::campaign::{Input, Output, ReadId, Timer, Wake};
use incumbent::incumbent_core::record::Attempt;
use incumbent::incumbent_core::store::{Action, Expect, Write};
use incumbent_testkit::tools::component;
use wasmtime::component::{Component, Linker, ResourceAny};
use wasmtime::{Engine as Wasmtime, Store};

use crate::bindings::Engine;
use crate::bindings::incumbent::election::settings::{BackOff, CampaignSettings, Preset, WinDelay};
use crate::bindings::incumbent::election::stores::{Capabilities, StoreInfo};
use crate::bindings::incumbent::election::types::{Nonce, Refusal};
use crate::bindings::incumbent::election::{candidates, records};
use crate::{given, told};

/// One instance.
pub(crate) struct Instance {
    pub(crate) store: Store<()>,
    engine: Engine,
}

/// A candidate of an instance.
pub(crate) type Candidate = ResourceAny;

pub(crate) fn compiled() -> (Wasmtime, Component) {
    let file: PathBuf = component("incumbent-engine").unwrap();
    let wasmtime = Wasmtime::default();
    let compiled = Component::from_file(&wasmtime, file).unwrap();
    (wasmtime, compiled)
}

impl Instance {
    /// Links nothing, since the engine imports nothing.
    pub(crate) fn new((wasmtime, component): &(Wasmtime, Component)) -> Self {
        let mut store = Store::new(wasmtime, ());
        let engine = Engine::instantiate(&mut store, component, &Linker::new(wasmtime)).unwrap();
        Self { store, engine }
    }

    #[allow(clippy::too_many_arguments, reason = "as many as the world says")]
    pub(crate) fn create(
        &mut self,
        settings: &CampaignSettings,
        can: Capabilities,
        info: StoreInfo,
        asked_at: u64,
        nonce: Nonce,
        seed: u64,
        now: u64,
    ) -> Result<Candidate, Refusal> {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        let store = &mut self.store;
        candidates.call_create(store, settings, can, info, asked_at, nonce, seed, now).unwrap()
    }

    pub(crate) fn handle(
        &mut self,
        candidate: Candidate,
        now: u64,
        input: &candidates::Input,
    ) -> Result<(), candidates::Misuse> {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_handle(&mut self.store, candidate, now, input).unwrap()
    }

    pub(crate) fn poll(&mut self, candidate: Candidate) -> candidates::Output {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_poll(&mut self.store, candidate).unwrap()
    }

    pub(crate) fn lease(
        &mut self,
        candidate: Candidate,
    ) -> Option<incumbent::incumbent_core::campaign::Lease> {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_lease(&mut self.store, candidate).unwrap().map(told::lease)
    }

    pub(crate) fn is_leader(&mut self, candidate: Candidate, now: u64) -> bool {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_is_leader(&mut self.store, candidate, now).unwrap()
    }

    /// Calls its other getters, too.
    pub(crate) fn look(&mut self, candidate: Candidate) {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_state(&mut self.store, candidate).unwrap();
        candidates.call_leader(&mut self.store, candidate).unwrap();
    }
}

pub(crate) fn defaults(name: &str) -> CampaignSettings {
    CampaignSettings {
        name: name.into(),
        preset: Preset::Standard,
        lease: None,
        skew: None,
        drift_ppm: None,
        slack: None,
        win_delay: WinDelay::Automatic,
        splay: None,
        drain: None,
        interval: None,
        back_off: BackOff::Standard,
        metadata: Vec::new(),
    }
}

pub(crate) fn input(input: &Input) -> candidates::Input {
    match input.clone() {
        Input::Tick => candidates::Input::Tick,
        Input::Campaign => candidates::Input::Campaign,
        Input::Resign => candidates::Input::Resign,
        Input::HandOver(name) => candidates::Input::HandOver(name),
        Input::Close => candidates::Input::Close,
        Input::Health(well) => candidates::Input::Health(well),
        Input::Drained => candidates::Input::Drained,
        Input::HandlerFailed => candidates::Input::HandlerFailed,
        Input::Accept => candidates::Input::Accept,
        Input::Wrote { attempt, outcome } => {
            let (attempt, outcome) = (attempt.0, given::outcome(outcome));
            candidates::Input::Wrote(candidates::Wrote { attempt, outcome })
        }
        Input::Read { read, result } => {
            let answer = result.map(|entry| given::message(&entry)).map_err(given::fault);
            candidates::Input::Answered(candidates::Answered { read: read.0, answer })
        }
        Input::Inspected(result) => {
            let asked_at = result.as_ref().map_or(0, |info| info.asked_at.as_nanos());
            let answer = result.map(given::store_info).map_err(given::fault);
            candidates::Input::Inspected(candidates::Inspection { asked_at, answer })
        }
        Input::Watched(entry) => candidates::Input::Watched(given::message(&entry)),
        Input::Watching { since } => candidates::Input::Watching(since.as_nanos()),
        Input::Reconnected => candidates::Input::Reconnected,
    }
}

pub(crate) fn output(output: candidates::Output) -> Output {
    match output {
        candidates::Output::Write(candidates::Write { attempt, expect, action }) => {
            let expect = match expect {
                candidates::Expect::Absent => Expect::Absent,
                candidates::Expect::Revision(revision) => {
                    Expect::Revision(incumbent::incumbent_core::Revision(revision))
                }
            };
            let action = match action {
                candidates::Action::Acquire(put) => Action::Acquire(given::put(put)),
                candidates::Action::Renew(put) => Action::Renew(given::put(put)),
                candidates::Action::Release(headers) => Action::Release { headers },
            };
            Output::Write(Write { attempt: Attempt(attempt), expect, action })
        }
        candidates::Output::Read(read) => Output::Read(ReadId(read)),
        candidates::Output::Inspect(since) => Output::Inspect { since: Instant::from_nanos(since) },
        candidates::Output::Reconnect => Output::Reconnect,
        candidates::Output::Event(event) => Output::Event(told::event(event).unwrap()),
        candidates::Output::WakeAt(wake) => Output::WakeAt(
            wake.map(|wake| Wake { at: Instant::from_nanos(wake.at), timer: timer(wake.timer) }),
        ),
    }
}

fn timer(timer: candidates::Timer) -> Timer {
    match timer {
        candidates::Timer::Deadline => Timer::Deadline,
        candidates::Timer::Attempt => Timer::Attempt,
        candidates::Timer::Read => Timer::Read,
        candidates::Timer::Inspect => Timer::Inspect,
        candidates::Timer::Close => Timer::Close,
        candidates::Timer::Release => Timer::Release,
        candidates::Timer::Drain => Timer::Drain,
        candidates::Timer::Win => Timer::Win,
        candidates::Timer::Renew => Timer::Renew,
        candidates::Timer::Retry => Timer::Retry,
        candidates::Timer::Splay => Timer::Splay,
        candidates::Timer::Acquire => Timer::Acquire,
        candidates::Timer::Poll => Timer::Poll,
    }
}

/// A message that any program may have written.
pub(crate) fn message(revision: u64, kind: records::Kind, value: &[u8]) -> records::Message {
    records::Message { revision, kind, value: value.to_vec(), headers: Vec::new(), oversize: None }
}
