//! A test for each scenario and store, listed from the files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use super::fixture::offers;
use super::implementation::Implementation;
use super::play::{Setup, play};
use crate::scenario::{Scenario, files};
use crate::stage::StoreKind;

/// The time limit of an expectation, on however busy a machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The tests of a binary without a harness: all scenarios on these stores, played by these candidates with the help of the
/// program `incumbent-stage`.
pub fn run(kinds: &[StoreKind], implementation: Arc<dyn Implementation>, stage: PathBuf) -> ExitCode {
    let args = Arguments::from_args();
    let files = match files() {
        Ok(files) => files,
        Err(error) => {
            eprintln!("cannot list the scenarios: {error}");
            return ExitCode::FAILURE;
        }
    };
    let setup = Setup { implementation, stage, timeout: TIMEOUT };
    let all = kinds.iter().flat_map(|kind| files.iter().map(|file| trial(*kind, file, &setup)));
    libtest_mimic::run(&args, all.collect()).exit_code()
}

/// A scenario that the store cannot show, or that these candidates cannot play, is ignored, and the name of the test
/// gives the reason.
fn trial(kind: StoreKind, file: &Path, setup: &Setup) -> Trial {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let scenario = match Scenario::read(file) {
        Ok(scenario) => scenario,
        Err(wrong) => return Trial::test(format!("{kind}::{name}"), move || Err(Failed::from(wrong))),
    };
    let cannot = scenario.cannot(&*setup.implementation).map(str::to_owned);
    let not_here = || scenario.not_on.get(&kind).cloned();
    let ignored = cannot.or_else(|| scenario.lacks(&offers(kind))).or_else(not_here);
    let name = match &ignored {
        Some(why) => format!("{kind}::{name} ({why})"),
        None => format!("{kind}::{name}"),
    };
    let setup = setup.clone();
    Trial::test(name, move || test(&scenario, kind, &setup)).with_ignored_flag(ignored.is_some())
}

fn test(scenario: &Scenario, kind: StoreKind, setup: &Setup) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(play(scenario, kind, setup)).map_err(|failure| Failed::from(failure.to_string()))
}
