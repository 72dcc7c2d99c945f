//! What a guest may use.

use std::time::Duration;

/// What a guest may use before it is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest that one call of the guest's to the store may wait, whatever limit the guest gives. 5 s by default.
    pub call: Duration,
    /// For how long the guest may compute without asking a store anything, before an export of it has to have returned;
    /// counted in steps of 10 ms. 1 s by default. A guest that computes for longer is stopped for good.
    pub compute: Duration,
    /// The largest memory of the guest, in bytes. 16 MiB by default.
    pub memory: usize,
    /// How many buckets and watches the guest may have open at a time; each of its campaigns has one of each. 4,096 by
    /// default. One more is a trap.
    pub handles: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(5),
            compute: Duration::from_secs(1),
            memory: 16 << 20,
            handles: 4_096,
        }
    }
}
