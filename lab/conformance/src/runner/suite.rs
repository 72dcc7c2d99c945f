//! A test for each scenario and store, listed from the files, and the report of a failure.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::KafkaVersion;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::fixture::offers;
use super::implementation::Implementation;
use super::play::{Setup, play};
use crate::harness::StoreKind;
use crate::scenario::{Scenario, files};

/// The time limit of an expectation, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The number of scenarios that are played at the same time on one broker. They mostly wait.
const AT_A_TIME: usize = 8;

/// Runs the tests of a binary that has no test harness of its own (`harness = false`): all scenarios on these stores,
/// played by these candidates with the help of the program `incumbent-harness`.
///
/// On Kafka a single test plays all scenarios on one broker, several at a time, because a broker takes longer to start
/// than most scenarios take. Each scenario can be played alone with `--ignored`.
pub fn run(kinds: &[StoreKind], implementation: Arc<dyn Implementation>, harness: PathBuf) -> ExitCode {
    let args = Arguments::from_args();
    let files = match files() {
        Ok(files) => files,
        Err(error) => {
            eprintln!("cannot list the scenarios: {error}");
            return ExitCode::FAILURE;
        }
    };
    let setup = Setup { implementation, harness, broker: None, timeout: TIMEOUT };
    let all = kinds.iter().flat_map(|kind| files.iter().map(|file| trial(*kind, file, &setup)));
    let mut all: Vec<Trial> = all.collect();
    if kinds.contains(&StoreKind::Kafka) {
        let setup = setup.clone();
        all.push(Trial::test("kafka::scenarios_on_one_broker", move || on_one_broker(&files, setup)));
    }
    libtest_mimic::run(&args, all).exit_code()
}

/// Makes the test of a scenario. If the store cannot show the scenario, or these candidates cannot play it, the test is
/// ignored and its name gives the reason.
fn trial(kind: StoreKind, file: &Path, setup: &Setup) -> Trial {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let scenario = match Scenario::read(file) {
        Ok(scenario) => scenario,
        Err(wrong) => return Trial::test(format!("{kind}::{name}"), move || Err(Failed::from(wrong))),
    };
    let with_others = (kind == StoreKind::Kafka).then(|| "among the scenarios on one broker".to_owned());
    let ignored = cannot_be_played(&scenario, kind, setup).or(with_others);
    let name = match &ignored {
        Some(why) => format!("{kind}::{name} ({why})"),
        None => format!("{kind}::{name}"),
    };
    let setup = setup.clone();
    Trial::test(name, move || test(&scenario, kind, &setup)).with_ignored_flag(ignored.is_some())
}

fn cannot_be_played(scenario: &Scenario, kind: StoreKind, setup: &Setup) -> Option<String> {
    let cannot = scenario.cannot(&*setup.implementation).map(str::to_owned);
    let not_here = || scenario.not_on.get(&kind).cloned();
    cannot.or_else(|| scenario.lacks(&offers(kind))).or_else(not_here)
}

/// Plays all scenarios that can be played. The error lists every scenario that failed.
fn on_one_broker(files: &[PathBuf], mut setup: Setup) -> Result<(), Failed> {
    let broker = Kafka::start(KafkaVersion::Newest);
    setup.broker = Some(broker.address());
    let all: Vec<Scenario> = files.iter().map(|file| Scenario::read(file)).collect::<Result<_, _>>()?;
    let can_be_played = |scenario: &Scenario| cannot_be_played(scenario, StoreKind::Kafka, &setup).is_none();
    let played = all.into_iter().filter(can_be_played);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let failures = runtime.block_on(async {
        let (turns, mut plays) = (Arc::new(Semaphore::new(AT_A_TIME)), JoinSet::new());
        for scenario in played {
            let (turns, setup) = (Arc::clone(&turns), setup.clone());
            plays.spawn(async move {
                let turn = turns.acquire_owned().await;
                let result = play(&scenario, StoreKind::Kafka, &setup).await;
                drop(turn);
                result
            });
        }
        let results = plays.join_all().await;
        results.into_iter().filter_map(Result::err).map(|failure| failure.to_string()).collect::<Vec<_>>()
    });
    if failures.is_empty() { Ok(()) } else { Err(Failed::from(failures.join("\n"))) }
}

fn test(scenario: &Scenario, kind: StoreKind, setup: &Setup) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(play(scenario, kind, setup)).map_err(|failure| Failed::from(failure.to_string()))
}

/// A failed scenario.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its name.
    pub scenario: String,
    /// The store.
    pub store: StoreKind,
    /// The number of the step, counted from 1; `None` before the first step or after the last.
    pub step: Option<usize>,
    /// The number of steps.
    pub steps: usize,
    /// The step as it is in the file, or what the runner was doing if there is no step.
    pub verb: String,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub seen: String,
    /// All events of all candidates, in order.
    pub history: Vec<String>,
}

/// The unmet expectation of a step.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    pub(super) expected: String,
    pub(super) seen: String,
}

impl Missed {
    pub(super) fn new(expected: impl Into<String>, seen: impl fmt::Display) -> Self {
        Self { expected: expected.into(), seen: seen.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, store, steps, verb, expected, seen, .. } = self;
        write!(f, "{scenario} on {store} failed ")?;
        match self.step {
            Some(step) => writeln!(f, "at step {step} of {steps}: {verb}")?,
            None => writeln!(f, "{verb}")?,
        }
        writeln!(f, "  expected: {expected}")?;
        writeln!(f, "  seen:     {seen}")?;
        writeln!(f, "  history:")?;
        self.history.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

impl std::error::Error for Failure {}
