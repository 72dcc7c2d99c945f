//! Short names of long values: what is equal has the same, and what differs has, in all likelihood, another.

use std::hash::{BuildHasher, Hash};

use ahash::{AHasher, RandomState};

/// The same on every run of a machine.
pub(crate) fn hasher() -> AHasher {
    RandomState::with_seeds(0x1d, 0x2f, 0x35, 0x4b).build_hasher()
}

/// The digest of one value.
pub(crate) fn of(value: &impl Hash) -> u64 {
    RandomState::with_seeds(0x1d, 0x2f, 0x35, 0x4b).hash_one(value)
}
