//! Components, the runtime, the command line, Python and Node in one election, on a real nats-server.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

#[path = "../shared/compiled.rs"]
mod compiled;
mod processes;
mod replaced_bucket;
mod shared;
mod worker;

use std::time::Duration;

use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::nats::{NatsServer, Options};

/// Short enough to wait for its end, long enough not to end just because the machine is busy.
const LEASE: Duration = Duration::from_secs(8);

/// Starts a server with a bucket; returns it and the bucket's URL.
async fn server() -> (NatsServer, String) {
    let server = NatsServer::start(Options::new());
    make_bucket(&server).await;
    let url = format!("{}/elections", server.url());
    (server, url)
}

async fn make_bucket(server: &NatsServer) {
    let settings = NatsSettings::new(&server.url(), "elections").unwrap().fail_fast(true);
    init(&settings, &InitOptions::new().lease(LEASE)).await.unwrap();
}
