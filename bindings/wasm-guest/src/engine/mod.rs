//! World `engine`: the bare state machine.

mod machine;

use std::cell::RefCell;

use incumbent_core::Instant;
use incumbent_core::campaign::Campaign;

use bindings::exports::incumbent::election::candidates::{self, Guest, GuestCandidate};
use wit::events;
use wit::settings::CampaignSettings;
use wit::stores::{Capabilities, StoreInfo};
use wit::types::{self, Nonce, Refusal};

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "engine", path: "../../wit" });
}

/// The types of the world, under the names that `map` expects.
mod wit {
    pub(super) use super::bindings::exports::incumbent::election::{
        candidates, events, records, settings, stores, types,
    };
}

#[path = "../map/mod.rs"]
mod map;

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
        let campaign = Campaign::new(
            map::settings(settings),
            map::capabilities(store),
            &map::store_info(info, Instant::from_nanos(asked_at)),
            incumbent_core::record::Nonce(u128::from(nonce.high) << 64 | u128::from(nonce.low)),
            seed,
            Instant::from_nanos(now),
        );
        let campaign = campaign.map_err(map::refusal)?;
        Ok(candidates::Candidate::new(Self { campaign: RefCell::new(campaign) }))
    }

    fn handle(&self, now: types::Instant, input: candidates::Input) -> Result<(), candidates::Misuse> {
        let input = machine::input(input);
        self.campaign.borrow_mut().handle(Instant::from_nanos(now), input).map_err(machine::misuse)
    }

    fn poll(&self) -> candidates::Output {
        machine::output(self.campaign.borrow_mut().poll())
    }

    fn lease(&self) -> Option<events::Lease> {
        self.campaign.borrow().lease().map(map::lease)
    }

    fn is_leader(&self, now: types::Instant) -> bool {
        self.campaign.borrow().is_leader(Instant::from_nanos(now))
    }

    fn state(&self) -> events::State {
        map::state(self.campaign.borrow().state())
    }

    fn leader(&self) -> Option<events::Leader> {
        self.campaign.borrow().leader().cloned().map(map::leader)
    }
}

bindings::export!(Engine with_types_in bindings);
