//! The hand that a runner has on a store and on the network: the program `incumbent-stage`.
//!
//! It makes a store for a scenario, gives each connection a URL of its own, and does to the store and to the
//! network what a scenario asks for. It speaks lines of JSON on its standard input and output, so that a
//! runner in any language has the same hand; `README.md` lists what can be asked.

mod protocol;
mod scene;
mod serve;

pub use protocol::{Hello, PROTOCOL, Reply, Request, Set, StoreKind};
pub use serve::serve;
