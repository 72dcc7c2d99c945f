//! Properties of times, deadlines and tokens, tried on thousands of cases from the whole range of numbers. The cases
//! are the same every time; `PROPTEST_CASES` overrides their number.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod deadline;
mod settings;
mod values;

use std::time::Duration;

use incumbent_core::Instant;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// The same cases in every run.
pub fn config() -> Config {
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::with_cases(cases()) }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2048)
}

/// Any 64-bit number. Every magnitude is drawn, and numbers near the limits often.
pub fn numbers() -> BoxedStrategy<u64> {
    prop_oneof![
        any::<u64>(),
        (0u32..64, any::<u64>()).prop_map(|(bits, number)| number >> bits),
        (0u64..5_000_000_000).prop_map(|less| u64::MAX - less),
        Just(0),
        Just(u64::MAX),
    ]
    .boxed()
}

/// Any instant.
pub fn instants() -> BoxedStrategy<Instant> {
    numbers().prop_map(Instant::from_nanos).boxed()
}

/// Any span, including spans whose nanoseconds need more than 64 bits.
pub fn spans() -> BoxedStrategy<Duration> {
    prop_oneof![
        4 => numbers().prop_map(Duration::from_nanos),
        1 => (any::<u64>(), 0u32..1_000_000_000).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        1 => Just(Duration::MAX),
    ]
    .boxed()
}
