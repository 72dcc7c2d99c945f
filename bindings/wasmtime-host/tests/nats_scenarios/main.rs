//! Every scenario of `conformance/`, played by components in Wasmtime: in memory, in a file, and on a real NATS server.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic; it says why")]

#[path = "../shared/compiled.rs"]
mod compiled;
mod components;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use incumbent_conformance::harness::StoreKind;
use incumbent_conformance::runner::run;

use components::Components;

fn main() -> ExitCode {
    // A component imports a key-value store, and an election on etcd is a queue.
    let stores = [StoreKind::Memory, StoreKind::Sqlite, StoreKind::Nats];
    run(&stores, Arc::new(Components::default()), harness())
}

/// The program, which cargo builds with the tests of its own package.
fn harness() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("incumbent-harness");
    assert!(
        program.is_file(),
        "there is no {}; run `cargo build -p incumbent-conformance`",
        program.display()
    );
    program
}
