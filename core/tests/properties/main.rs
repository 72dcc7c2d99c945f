//! Properties of times, deadlines and tokens, tried on thousands of cases drawn from the whole range of
//! numbers. The cases are the same every time; `PROPTEST_CASES` sets another number.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod deadline;
mod draw;
mod settings;
mod values;
