//! A recording of the inputs and outputs of a run's campaigns, to be replayed on another machine.

use incumbent_core::Instant;
use incumbent_core::campaign::{Input, Lease, Output, Settings};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, StoreInfo};

use crate::Outcome;
use crate::nats::World;
use crate::plan::{Choice, Plan};

/// An input or output of a campaign. The processes of the whole run are numbered.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// A campaign is made for a process.
    Begins {
        /// The number of the process.
        process: u64,
        /// The settings. They are boxed because they are much larger than everything else.
        settings: Box<Settings>,
        /// The capabilities of the store.
        store: Capabilities,
        /// The store's inspection.
        info: StoreInfo,
        /// The campaign's nonce.
        nonce: Nonce,
        /// The seed of the campaign's random choices.
        seed: u64,
        /// Its clock.
        now: Instant,
    },
    /// An input was handed in.
    Input {
        /// The number of the process.
        process: u64,
        /// Its clock.
        now: Instant,
        /// The input.
        input: Input,
        /// The lease afterwards.
        lease: Option<Lease>,
    },
    /// An output came out.
    Output {
        /// The number of the process.
        process: u64,
        /// The output.
        output: Output,
    },
}

/// Makes a run on a bucket, and records the inputs and outputs of its campaigns.
pub fn record(choice: &Choice) -> (Outcome, Vec<Recorded>) {
    let mut world = World::new(Plan::new(choice), false, false);
    world.store.recording = Some(Vec::new());
    let (run, store) = world.run();
    (run.outcome, store.recording.unwrap_or_default())
}
