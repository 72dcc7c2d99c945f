//! Everything that went into the campaigns of a run, and what came out, so that another machine can be given the same.

use incumbent_core::Instant;
use incumbent_core::campaign::{Input, Lease, Output, Settings};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, StoreInfo};

/// Something that was handed to a campaign, or came from it. Processes are numbered over the whole run.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// The campaign of a process is made.
    Begins {
        /// Whose.
        process: u64,
        /// What it wants; boxed, being much larger than all else.
        settings: Box<Settings>,
        /// What the store can do.
        store: Capabilities,
        /// What the store said of itself.
        info: StoreInfo,
        /// The campaign's nonce.
        nonce: Nonce,
        /// The seed of its random choices.
        seed: u64,
        /// Its clock.
        now: Instant,
    },
    /// An input was handed in.
    Hands {
        /// To whom.
        process: u64,
        /// Its clock.
        now: Instant,
        /// The input.
        input: Input,
        /// The lease afterwards.
        lease: Option<Lease>,
    },
    /// An output came out.
    Says {
        /// From whom.
        process: u64,
        /// The output.
        output: Output,
    },
}
