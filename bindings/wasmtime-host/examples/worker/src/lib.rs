//! An application component that does its work only while it leads.
//!
//! It depends on no store: it imports `elections` and is composed with `incumbent-campaigner.wasm`, whose imports the
//! host provides.

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "example:worker/worker", path: ["../../../../wit", "wit"], generate_all });
}

mod settings;

use bindings::example::worker::ledger;
use bindings::incumbent::election as wit;
use settings::defaults;
use wit::elections::{Candidate, Error};
use wit::events::Event;
use wit::settings::{CampaignSettings, Preset};

struct Worker;

/// The longest time that a step may wait for the watch when nothing is due: 50 ms.
const STEP_LIMIT: u64 = 50_000_000;

impl bindings::Guest for Worker {
    fn run(name: String, pieces: u32) -> Result<u32, String> {
        let settings = CampaignSettings { preset: Preset::Fast, splay: Some(0), ..defaults(&name) };
        let candidate = Candidate::campaign("elections", "jobs", &settings).map_err(message)?;
        let mut booked = 0;
        let mut done = 0;
        loop {
            let result = candidate.step(STEP_LIMIT);
            for event in &result.events {
                if let Event::Draining(_) = event {
                    // No work runs between two steps.
                    candidate.drained();
                }
            }
            if result.wake_at.is_none() {
                return Ok(booked);
            }
            // The token is read right before the work, and sent with it.
            if let Some(lease) = candidate.lease().filter(|_| done < pieces && candidate.is_leader()) {
                booked += u32::from(ledger::book(&name, lease.token));
                done += 1;
                if done == pieces {
                    candidate.close();
                }
            }
        }
    }
}

fn message(error: Error) -> String {
    match error {
        Error::Refused(refused) => format!("{} is {}: {}", refused.setting, refused.value, refused.remedy),
        Error::NotLeader => "this candidate does not lead".into(),
        Error::Store(fault) => format!("{fault:?}"),
        Error::Other(text) => text,
    }
}

bindings::export!(Worker with_types_in bindings);
