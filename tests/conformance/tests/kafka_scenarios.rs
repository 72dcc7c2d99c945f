//! Every scenario that a consumer group can show, on a real Kafka broker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use incumbent_conformance::runner::{Library, run};
use incumbent_conformance::stage::StoreKind;

fn main() -> ExitCode {
    let stage = PathBuf::from(env!("CARGO_BIN_EXE_incumbent-stage"));
    run(&[StoreKind::Kafka], Arc::new(Library), stage)
}
