//! Short names of long values: equal values have the same, and different ones have, in all likelihood, different ones.

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
