//! Every scenario on the stores that need no server.

mod support;

use std::process::ExitCode;

use incumbent_conformance::stage::StoreKind;

fn main() -> ExitCode {
    support::run(&[StoreKind::Memory, StoreKind::Sqlite])
}
