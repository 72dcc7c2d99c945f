//! Every scenario that applies to it on a real etcd server.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use incumbent_conformance::runner::{Library, run};
use incumbent_conformance::stage::StoreKind;

fn main() -> ExitCode {
    let stage = PathBuf::from(env!("CARGO_BIN_EXE_incumbent-stage"));
    run(&[StoreKind::Etcd], Arc::new(Library), stage)
}
