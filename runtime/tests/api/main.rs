//! The public API, on stores in memory.

mod support;
mod terms;
