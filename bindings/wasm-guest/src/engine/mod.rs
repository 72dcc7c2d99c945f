//! World `engine`: the bare state machine.

use std::cell::RefCell;

use ::incumbent_core;
use incumbent_core::Instant;
use incumbent_core::campaign::Campaign;

use bindings::exports::incumbent::election::candidates::{self, Guest, GuestCandidate};
use convert::store_info;
use wit::events;
use wit::settings::CampaignSettings;
use wit::stores::{Capabilities, StoreInfo};
use wit::types::{self, Nonce, Refusal};

#[path = "../../../wasmtime-host/src/convert.rs"]
mod convert;
mod machine;

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "engine", path: "../../wit" });
}

/// The types of the world, under the names that `convert` expects.
mod wit {
    pub(super) use super::bindings::exports::incumbent::election::{
        candidates, events, records, settings, stores, types,
    };
}

struct Engine;

impl Guest for Engine {
    type Candidate = Candidate;
}

struct Candidate {
    campaign: RefCell<Campaign>,
}

impl GuestCandidate for Candidate {
    fn create(
        settings: CampaignSettings,
        store: Capabilities,
        info: StoreInfo,
        asked_at: types::Instant,
        nonce: Nonce,
        seed: u64,
        now: types::Instant,
    ) -> Result<candidates::Candidate, Refusal> {
        let info = store_info(info, Instant::from_nanos(asked_at));
        let now = Instant::from_nanos(now);
        let campaign = Campaign::new(settings.into(), store.into(), &info, nonce.into(), seed, now)?;
        Ok(candidates::Candidate::new(Self { campaign: RefCell::new(campaign) }))
    }

    fn handle(&self, now: types::Instant, input: candidates::Input) -> Result<(), candidates::Misuse> {
        Ok(self.campaign.borrow_mut().handle(Instant::from_nanos(now), input.into())?)
    }

    fn poll(&self) -> candidates::Output {
        self.campaign.borrow_mut().poll().into()
    }

    fn lease(&self) -> Option<events::Lease> {
        self.campaign.borrow().lease().map(Into::into)
    }

    fn is_leader(&self, now: types::Instant) -> bool {
        self.campaign.borrow().is_leader(Instant::from_nanos(now))
    }

    fn state(&self) -> events::State {
        self.campaign.borrow().state().into()
    }

    fn leader(&self) -> Option<events::Leader> {
        self.campaign.borrow().leader().cloned().map(Into::into)
    }
}

bindings::export!(Engine with_types_in bindings);
