//! Every scenario on a real NATS server.

mod support;

use std::process::ExitCode;

use incumbent_conformance::stage::StoreKind;

fn main() -> ExitCode {
    support::run(&[StoreKind::Nats])
}
