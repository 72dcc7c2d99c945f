//! What holds of times, deadlines and tokens for every number there is: properties, tried on thousands of
//! cases drawn from the whole range. The cases are the same every time; `PROPTEST_CASES` sets another number.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod deadline;
mod draw;
mod instants;
mod settings;
mod tokens;
