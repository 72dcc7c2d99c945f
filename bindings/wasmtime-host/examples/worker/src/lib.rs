//! An application component that does its work only while it leads.
//!
//! It depends on no store: it imports `elections` and is composed with `incumbent-campaigner.wasm`, whose imports the
//! host provides.

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "example:worker/worker", path: ["../../../../wit", "wit"], generate_all });
}

use bindings::example::worker::ledger;
use bindings::incumbent::election::elections::{Candidate, Error};
use bindings::incumbent::election::events::Event;
use bindings::incumbent::election::settings::{BackOff, CampaignSettings, Preset, WinDelay};

struct Worker;

/// The longest time that a step may wait for events when nothing is due: 50 ms.
const PATIENCE: u64 = 50_000_000;

impl bindings::Guest for Worker {
    fn run(name: String, pieces: u32) -> Result<u32, String> {
        let candidate = Candidate::campaign("elections", "jobs", &campaign_settings(&name)).map_err(why)?;
        let mut booked = 0;
        let mut done = 0;
        loop {
            let turn = candidate.step(PATIENCE);
            for event in &turn.events {
                if let Event::Draining(_) = event {
                    // No work runs between two steps.
                    candidate.drained();
                }
            }
            if turn.wake_at.is_none() {
                return Ok(booked);
            }
            // Read right before the work, and sent with it.
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

fn campaign_settings(name: &str) -> CampaignSettings {
    CampaignSettings {
        name: name.into(),
        preset: Preset::Fast,
        lease: None,
        skew: None,
        drift_ppm: None,
        slack: None,
        win_delay: WinDelay::Automatic,
        splay: Some(0),
        drain: None,
        interval: None,
        back_off: BackOff::Standard,
        metadata: Vec::new(),
    }
}

fn why(error: Error) -> String {
    match error {
        Error::Refused(refused) => format!("{} is {}: {}", refused.setting, refused.value, refused.remedy),
        Error::NotLeader => "it does not lead".into(),
        Error::Store(fault) => format!("{fault:?}"),
        Error::Other(text) => text,
    }
}

bindings::export!(Worker with_types_in bindings);
