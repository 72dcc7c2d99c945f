//! Every scenario that can be played with a consumer group, on a real Kafka broker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use incumbent_conformance::harness::StoreKind;
use incumbent_conformance::runner::{Library, run};

fn main() -> ExitCode {
    let harness = PathBuf::from(env!("CARGO_BIN_EXE_incumbent-harness"));
    run(&[StoreKind::Kafka], Arc::new(Library), harness)
}
