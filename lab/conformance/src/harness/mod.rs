//! The program `incumbent-harness`: a runner's access to a store and to the network.
//!
//! The harness makes a store for a scenario, gives each connection a URL of its own, and makes the scenario's faults in
//! the store and the network. Requests and replies are lines of JSON on its standard input and output, so that a runner
//! in any language has the same access; `README.md` lists the requests.

mod protocol;
mod serve;
mod server;
mod store;

pub use protocol::{Hello, PROTOCOL, Prepared, Reply, Request, StoreKind};
pub use serve::serve;
pub(crate) use server::BROKER;
