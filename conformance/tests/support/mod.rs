//! A test for each scenario and store, listed from the files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers fail their test")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use incumbent_conformance::runner::{Setup, offers, play};
use incumbent_conformance::scenario::{Scenario, files};
use incumbent_conformance::stage::StoreKind;
use libtest_mimic::{Arguments, Failed, Trial};

/// How long an expectation is waited for, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs all scenarios on these stores.
pub(crate) fn run(kinds: &[StoreKind]) -> ExitCode {
    let args = Arguments::from_args();
    let files = files().expect("no scenarios");
    let trials = kinds.iter().flat_map(|kind| files.iter().map(move |file| trial(*kind, file.clone())));
    libtest_mimic::run(&args, trials.collect()).exit_code()
}

/// A scenario that the store cannot show is ignored, and the name of the test says why.
fn trial(kind: StoreKind, file: PathBuf) -> Trial {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let scenario = match Scenario::read(&file) {
        Ok(scenario) => scenario,
        Err(wrong) => return Trial::test(format!("{kind}::{name}"), move || Err(Failed::from(wrong))),
    };
    let lacks = scenario.lacks(&offers(kind));
    let name = match &lacks {
        Some(lacks) => format!("{kind}::{name} ({lacks})"),
        None => format!("{kind}::{name}"),
    };
    Trial::test(name, move || test(&scenario, kind)).with_ignored_flag(lacks.is_some())
}

fn test(scenario: &Scenario, kind: StoreKind) -> Result<(), Failed> {
    let stage = Path::new(env!("CARGO_BIN_EXE_incumbent-stage")).to_owned();
    let setup = Setup { stage, patience: PATIENCE };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(play(scenario, kind, &setup)).map_err(|failure| Failed::from(failure.to_string()))
}
