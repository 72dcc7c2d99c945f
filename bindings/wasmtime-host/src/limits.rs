//! The limits of a guest.

use std::time::Duration;

/// The resources that a guest may use before it is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest time that one call of the guest to the store may wait, whatever limit the guest passes. 5 s by
    /// default.
    pub call: Duration,
    /// The longest time that the guest may compute between two requests to a store, or until an export of it returns;
    /// counted in steps of 10 ms. 1 s by default. A guest that computes for longer is stopped for good.
    pub compute: Duration,
    /// The largest memory of the guest, in bytes. 16 MiB by default.
    pub memory: usize,
    /// The number of buckets and watches that the guest may have open at a time; each of its campaigns has one of each.
    /// 4,096 by default. One more is a trap.
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
