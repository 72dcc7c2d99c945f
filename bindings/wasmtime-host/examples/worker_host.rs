//! A host for an application component that works only while it leads.
//!
//! ```sh
//! cargo xtask package component
//! cargo run -p incumbent-wasmtime --example worker_host -- nats://localhost:4222/ELECTIONS worker-1 100
//! ```
//!
//! `example-worker.wasm` is the component in `examples/worker`, composed with `incumbent-campaigner.wasm`: the
//! application campaigns by itself, and the host provides a store, a clock, random numbers, and a ledger for its work.
//! Each piece of work that is booked is a line of JSON on standard output.

use std::path::Path;
use std::process::ExitCode;

use incumbent::Clock;
use incumbent_wasmtime::{Bounded, Host, Limits, Provides, Provision, Stores, add_to_linker, interruptible};
use wasmtime::component::{Component, HasSelf, Linker};

mod bindings {
    #![allow(unused_qualifications, clippy::all, reason = "generated")]
    wasmtime::component::bindgen!({
        path: ["wit", "examples/worker/wit"],
        world: "example:worker/worker",
        imports: { "example:worker/ledger": async | trappable },
        exports: { default: async },
    });
}

use bindings::example::worker::ledger;

/// The state that the host provides to the guest.
struct State {
    provision: Provision,
    /// The largest token that the ledger has seen.
    largest: Option<(u64, u64)>,
}

impl Provides for State {
    fn provision(&mut self) -> &mut Provision {
        &mut self.provision
    }
}

impl ledger::Host for State {
    async fn book(&mut self, worker: String, token: ledger::Token) -> wasmtime::Result<bool> {
        let token = (token.incarnation, token.sequence);
        if self.largest.is_some_and(|largest| token < largest) {
            return Ok(false);
        }
        self.largest = Some(token);
        let (incarnation, sequence) = token;
        let at = Clock::system().now().as_nanos();
        println!(
            "{}",
            serde_json::json!({
                "event": "booked", "worker": worker, "at": at, "incarnation": incarnation, "sequence": sequence,
            })
        );
        Ok(true)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, name, pieces] = arguments.as_slice() else {
        eprintln!("usage: worker_host STORE-URL NAME PIECES");
        return ExitCode::from(2);
    };
    let Ok(pieces) = pieces.parse() else {
        eprintln!("PIECES is {pieces:?}, and must be a number");
        return ExitCode::from(2);
    };
    match work(url, name, pieces).await {
        Ok(booked) => {
            println!("{}", serde_json::json!({ "event": "done", "booked": booked }));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the worker to its end; returns the number of pieces that were booked.
async fn work(url: &str, name: &str, pieces: u32) -> Result<u32, Box<dyn std::error::Error>> {
    let clock = Clock::system();
    let stores = Stores::new(clock.clone()).with("elections", incumbent::store::open(url, &clock).await?);

    let host = Host::new()?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/components/example-worker.wasm");
    let component = Component::from_file(host.engine(), file)?;
    let mut linker = Linker::new(host.engine());
    add_to_linker(&mut linker)?;
    ledger::add_to_linker::<Bounded<State>, HasSelf<State>>(&mut linker, |bounded| &mut bounded.data)?;

    let provision = Provision::new(stores, Limits::default());
    let computed = provision.computed();
    let mut store = interruptible(host.engine(), State { provision, largest: None });
    let worker = bindings::Worker::instantiate_async(&mut store, &component, &linker).await?;
    computed.begin();
    Ok(worker.call_run(&mut store, name, pieces).await??)
}
