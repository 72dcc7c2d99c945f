//! An instance of the engine.

use incumbent::incumbent_core::campaign::Lease;
use wasmtime::component::{Component, Linker, ResourceAny};
use wasmtime::{Engine as Wasmtime, Store};

use crate::bindings::Engine;
use crate::wit::settings::CampaignSettings;
use crate::wit::stores::{Capabilities, StoreInfo};
use crate::wit::types::{Nonce, Refusal};
use crate::wit::{candidates, records};

/// One instance.
pub(crate) struct Instance {
    pub(crate) store: Store<()>,
    engine: Engine,
}

/// A candidate of an instance.
pub(crate) type Candidate = ResourceAny;

pub(crate) fn compiled() -> (Wasmtime, Component) {
    let wasmtime = Wasmtime::default();
    let compiled = crate::compiled::compiled(&wasmtime, "incumbent-engine");
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
        capabilities: Capabilities,
        info: StoreInfo,
        asked_at: u64,
        nonce: Nonce,
        seed: u64,
        now: u64,
    ) -> Result<Candidate, Refusal> {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        let store = &mut self.store;
        candidates.call_create(store, settings, capabilities, info, asked_at, nonce, seed, now).unwrap()
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

    pub(crate) fn lease(&mut self, candidate: Candidate) -> Option<Lease> {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_lease(&mut self.store, candidate).unwrap().map(Into::into)
    }

    pub(crate) fn is_leader(&mut self, candidate: Candidate, now: u64) -> bool {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_is_leader(&mut self.store, candidate, now).unwrap()
    }

    /// Calls its other getters, too.
    pub(crate) fn call_getters(&mut self, candidate: Candidate) {
        let candidates = self.engine.incumbent_election_candidates().candidate();
        candidates.call_state(&mut self.store, candidate).unwrap();
        candidates.call_leader(&mut self.store, candidate).unwrap();
    }
}

/// A message that any program may have written.
pub(crate) fn message(revision: u64, kind: records::Kind, value: &[u8]) -> records::Message {
    records::Message { revision, kind, value: value.to_vec(), headers: Vec::new(), oversize: None }
}
