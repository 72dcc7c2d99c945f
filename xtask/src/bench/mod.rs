//! `cargo xtask bench NAME`: runs a benchmark of the workspace, and shows and stores its figures. `all` runs every
//! benchmark and writes the page about them; `page` only writes the page.
//!
//! A benchmark is a bench target without the standard harness, or `python/bench`. It prints progress on standard
//! error, and on standard output one JSON array of [`Figure`]s. If its figures have goals it runs five times, and a
//! figure is the median of these runs.

mod artefacts;
mod languages;
mod page;
mod peers;
mod plot;
mod sizes;
mod stored;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use incumbent_testkit::drawn;
use incumbent_testkit::figure::{Figure, Sample, Verdict, merged};
use incumbent_testkit::tools::{EtcdVersion, KafkaVersion, NatsVersion};
use serde_json::Value;

use crate::package;
use crate::python::{self, Profile};
use crate::shell;
use crate::test::node;
use crate::tools::{self, Tool};
use stored::{Machine, Meter, Stored};

/// `cargo xtask bench`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The benchmark to run
    #[arg(value_enum)]
    name: What,
    /// Also write the figures of one benchmark to this file, with their intervals and verdicts
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run one benchmark this many times; fewer than five give no intervals, and decide no goal
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// The number of elections, for a trial of `scale` or `overload`; its results are not stored
    #[arg(long, value_name = "N")]
    elections: Option<u32>,
    /// Arguments of one benchmark: numbers of elections for `scale`, of candidates for `cost` and of processes for
    /// `processes`, kinds of measurements for `peers`, kinds of trouble for `overload`, languages for `languages`,
    /// crates for `sizes`
    #[arg(last = true)]
    arguments: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  cargo xtask bench all                                 every benchmark, within an hour, and the page
  cargo xtask bench handover                            five runs of one
  cargo xtask bench overload --elections 1000 --runs 1  a trial of four minutes
  cargo xtask bench overload --json overload.json -- quota
  cargo xtask bench peers --runs 1 -- hand-over crash

On a quiet machine, once everything is built, the parts of `all` take, in minutes: peers 13, cost 2, processes 0.1, handover 3,
scale 7, overload 16, etcd 3.5, kafka 4, component 0.5, python 1, node 2, languages 1, start 2, sizes 3.";

/// The task.
#[derive(Clone, Copy, Debug)]
enum What {
    One(Bench),
    All,
    Page,
}

impl ValueEnum for What {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [What; 16] = [
            What::One(Bench::Peers),
            What::One(Bench::Cost),
            What::One(Bench::Processes),
            What::One(Bench::Handover),
            What::One(Bench::Scale),
            What::One(Bench::Overload),
            What::One(Bench::Etcd),
            What::One(Bench::Kafka),
            What::One(Bench::Component),
            What::One(Bench::Python),
            What::One(Bench::Node),
            What::One(Bench::Languages),
            What::One(Bench::Start),
            What::One(Bench::Sizes),
            What::All,
            What::Page,
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::One(bench) => bench.to_possible_value(),
            Self::All => {
                Some(PossibleValue::new("all").help("Every benchmark in turn, and the page about them"))
            }
            Self::Page => Some(PossibleValue::new("page").help("The page again, from stored results")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// The time of a hand-over and of a fail-over after a crash, a pause and a partition, on every store, compared with
    /// other software's elections and locks, and the time in which two lead
    Peers,
    /// The cost of one, ten, a hundred and a thousand candidates of one election for a NATS server, compared with
    /// candidates by the rules of nats-kv-leader-elect
    Cost,
    /// The requests of up to ten thousand processes to one bucket: simulated
    Processes,
    /// The time of a hand-over and of a fail-over on NATS, compared with the bare client; the cost of leading
    Handover,
    /// A thousand, ten thousand and a hundred thousand elections in one process on NATS, compared with two bare
    /// clients: the time until all are led and until all are closed, memory, processor time, and the time until all are
    /// led again after a crash
    Scale,
    /// As many elections in one process on NATS with little processor time, a slow disk and a slow watcher, compared
    /// with the bare client: how many stay led, and the time until all are led again
    Overload,
    /// The time of a hand-over on etcd, compared with etcd's own Go client; the cost of leading
    Etcd,
    /// The time of a hand-over and of a fail-over on Kafka, compared with bare consumers; the cost of leading
    Kafka,
    /// The cost of a campaign in a component for a Wasmtime host
    Component,
    /// The cost of the Python package: `is_leader`, an event, the import, a thousand campaigns
    Python,
    /// The cost of the npm package: `isLeader`, an event, a thousand campaigns
    Node,
    /// `is_leader()` and the delivery of an event in Rust, Python, Node, Kotlin and Swift, and `is_leader()` of a
    /// component, compared with each other
    Languages,
    /// The start of the command line until its first byte to a server, and the memory of `incumbent run`
    Start,
    /// The bytes of the files that users install, each with its budget, and the times of their builds
    Sizes,
}

impl Bench {
    fn name(self) -> &'static str {
        match self {
            Self::Peers => "peers",
            Self::Cost => "cost",
            Self::Processes => "processes",
            Self::Handover => "handover",
            Self::Scale => "scale",
            Self::Overload => "overload",
            Self::Etcd => "etcd",
            Self::Kafka => "kafka",
            Self::Component => "component",
            Self::Python => "python",
            Self::Node => "node",
            Self::Languages => "languages",
            Self::Start => "start",
            Self::Sizes => "sizes",
        }
    }

    /// Builds what the benchmark needs, and measures `runs` times.
    fn figures(self, arguments: &[String], runs: usize) -> Result<Vec<Figure>> {
        match self {
            Self::Languages => return languages::measure(arguments),
            Self::Sizes => return artefacts::measure(arguments),
            _ => (),
        }
        let mut measured = Vec::new();
        for run in 1..=runs {
            let mut command = self.command()?;
            command.env(drawn::RUN, run.to_string());
            let arguments = self.arguments_of(run, arguments);
            if !arguments.is_empty() {
                command.arg("--").args(arguments);
            }
            if runs > 1 {
                shell::progress(format!("bench {}, run {run} of {runs}", self.name()));
            }
            measured.push(printed(&mut command)?);
        }
        Ok(merged(measured))
    }

    /// The number of runs of the benchmark. Five runs give an interval that contains the median with a probability of
    /// 94 %. A single run is enough if chance cannot make a run miss a goal.
    fn runs(self) -> usize {
        match self {
            Self::Cost | Self::Processes | Self::Languages | Self::Sizes => 1,
            _ => 5,
        }
    }

    /// Returns the arguments of the benchmark's program in one run: those that the user gave, or all. Slow measurements
    /// without a goal are made only in the first run.
    fn arguments_of(self, run: usize, named: &[String]) -> Vec<String> {
        let of_all: &[&str] = match self {
            Self::Overload => &["overload"],
            Self::Peers if named.is_empty() && run > 1 => &["hand-over", "crash", "pause", "partition"],
            Self::Scale if named.is_empty() && run > 1 => &["10000"],
            _ => &[],
        };
        of_all.iter().map(|word| (*word).to_owned()).chain(named.iter().cloned()).collect()
    }

    /// Builds what the benchmark needs, and returns the command that measures.
    fn command(self) -> Result<Command> {
        match self {
            Self::Peers => Ok(cargo("incumbent", "peers", WITH_ALL)),
            Self::Cost => Ok(cargo("incumbent-nats", "cost", WITH_ALL)),
            Self::Processes => Ok(cargo("incumbent-sim", "processes", WITH_ALL)),
            Self::Handover => Ok(cargo("incumbent-nats", "handover", WITH_ALL)),
            // Both benchmarks use the same program.
            Self::Scale | Self::Overload => Ok(cargo("incumbent-nats", "scale", WITH_ALL)),
            Self::Etcd => Ok(cargo("incumbent-etcd", "etcd", WITH_ALL)),
            Self::Kafka => Ok(cargo("incumbent-kafka", "kafka", WITH_ALL)),
            Self::Component => {
                package::components(None)?;
                Ok(cargo("incumbent-wasmtime", "component", WITH_ALL))
            }
            Self::Python => {
                let interpreters = python::interpreters()?;
                let interpreter = interpreters.first().context("no interpreter")?;
                let wheel = python::wheel(interpreter, Profile::Release)?;
                let environment = interpreter.fresh("bench")?;
                environment.install(&["--no-deps", python::text(&wheel)?])?;
                let mut command = environment.python();
                // Lets Python store the compiled modules of the benchmark, as it does for any package.
                command.env_remove("PYTHONDONTWRITEBYTECODE").arg("python/bench/bench.py");
                Ok(command)
            }
            Self::Start => Ok(cargo("incumbent-cli", "start", AS_RELEASED)),
            Self::Languages | Self::Sizes => bail!("this benchmark has more than one command"),
            Self::Node => {
                node::build(&["build"])?;
                let mut command = shell::command("node");
                command.args(["--expose-gc", "node/bench/bench.mjs"]);
                Ok(command)
            }
        }
    }

    fn tools(self) -> &'static [Tool] {
        match self {
            Self::Peers => &[
                Tool::NatsServer(NatsVersion::Newest),
                Tool::GoPrograms,
                Tool::Etcd(EtcdVersion::Newest),
                // `etcdctl` comes from the older version.
                Tool::Etcd(EtcdVersion::V3_4),
                Tool::GoEtcdPrograms,
                Tool::Kafka(KafkaVersion::Newest),
                Tool::GoKafkaPrograms,
                Tool::Redis,
                Tool::Postgres,
                Tool::GoPeerPrograms,
                Tool::Zookeeper,
                Tool::CuratorCandidate,
            ],
            Self::Cost => &[Tool::NatsServer(NatsVersion::Newest), Tool::GoPrograms],
            Self::Handover | Self::Scale | Self::Overload => &[Tool::NatsServer(NatsVersion::Newest)],
            // `etcdctl` comes from the older version.
            Self::Etcd => {
                &[Tool::Etcd(EtcdVersion::Newest), Tool::Etcd(EtcdVersion::V3_4), Tool::GoEtcdPrograms]
            }
            Self::Kafka => &[Tool::Kafka(KafkaVersion::Newest), Tool::GoKafkaPrograms],
            Self::Component => &[Tool::Wasm],
            Self::Start => &[Tool::NatsServer(NatsVersion::Newest), Tool::GoPrograms],
            // The benchmark of languages finds the tools itself, because some may be missing.
            Self::Processes | Self::Python | Self::Node | Self::Languages | Self::Sizes => &[],
        }
    }
}

/// Runs the benchmarks. Returns false if a goal was missed; an undecided goal is not missed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    match args.name {
        What::One(bench) => {
            let figures = measure(bench, args)?;
            if let Some(file) = &args.json {
                let json = serde_json::to_string_pretty(&with_verdicts(&figures)?)? + "\n";
                fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
            }
            Ok(!misses(&figures))
        }
        What::All => {
            let mut is_well = true;
            for bench in Bench::value_variants() {
                // If a benchmark lacks a tool, all other benchmarks still run.
                match measure(*bench, args) {
                    Ok(figures) => is_well &= !misses(&figures),
                    Err(error) => {
                        eprintln!("error: bench {}: {error:#}", bench.name());
                        is_well = false;
                    }
                }
            }
            write_page()?;
            Ok(is_well)
        }
        What::Page => write_page().map(|()| true),
    }
}

fn misses(figures: &[Figure]) -> bool {
    figures.iter().any(|figure| figure.verdict() == Some(Verdict::Missed))
}

/// The figures, each with its interval and its verdict.
fn with_verdicts(figures: &[Figure]) -> Result<Vec<Value>> {
    let one = |figure: &Figure| {
        let mut all = serde_json::to_value(figure)?;
        all["interval"] = serde_json::to_value(figure.interval())?;
        all["verdict"] = serde_json::to_value(figure.verdict())?;
        Ok(all)
    };
    figures.iter().map(one).collect()
}

/// Adds the higher percentiles after each median whose times are kept.
fn with_tails(figures: &[Figure]) -> Vec<Figure> {
    let with_tail = |figure: &Figure| {
        let sample: Sample = figure.raw.iter().flatten().copied().collect();
        let tail = sample.tail().into_iter().map(|(name, value)| {
            Figure::plain(figure.figure.replace("p50", name), value, &figure.unit, sample.len())
        });
        std::iter::once(figure.clone()).chain(tail).collect::<Vec<_>>()
    };
    figures.iter().flat_map(with_tail).collect()
}

/// Writes the page from stored results.
fn write_page() -> Result<()> {
    let read = Bench::value_variants().iter().map(|bench| Stored::read(bench.name()));
    let stored: Vec<Stored> = read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    ensure!(!stored.is_empty(), "nothing is stored; run `cargo xtask bench all`");
    page::write(&stored)
}

/// Runs a benchmark, prints its figures and stores them. The figures of a partial run are not stored, because they
/// would replace all others.
fn measure(bench: Bench, args: &Args) -> Result<Vec<Figure>> {
    let name = bench.name();
    let arguments = arguments(bench, args)?;
    let runs = args.runs.unwrap_or(bench.runs());
    ensure!(runs > 0, "nothing is measured in 0 runs");
    let versions = tools::all(bench.tools(), &[])?;
    shell::progress(format!("bench {name}, optimised"));
    let meter = Meter::start();
    let figures = bench.figures(&arguments, runs).with_context(|| format!("bench {name}"))?;
    let (seconds, others) = meter.read();
    print!("{}", table(&with_tails(&figures)));
    println!("{}", summary(&figures));
    if let Some(others) = others {
        println!("other programs used {:.0} % of the machine's processor time meanwhile", 100.0 * others);
    }
    if !arguments.is_empty() || runs < bench.runs() {
        println!("only a part of the benchmark ran: its figures are not stored");
        return Ok(figures);
    }
    Stored {
        bench: name.into(),
        date: stored::today()?,
        commit: stored::commit()?,
        machine: Machine::here(),
        versions,
        seconds,
        others,
        figures: figures.clone(),
    }
    .write()?;
    Ok(figures)
}

/// The arguments that the user gave for a benchmark's program.
fn arguments(bench: Bench, args: &Args) -> Result<Vec<String>> {
    let elections = match (bench, args.elections) {
        (_, None) => Vec::new(),
        (Bench::Scale, Some(elections)) => vec![elections.to_string()],
        (Bench::Overload, Some(elections)) => vec!["--elections".into(), elections.to_string()],
        _ => bail!("--elections belongs to `scale` and `overload`"),
    };
    Ok(elections.into_iter().chain(args.arguments.iter().cloned()).collect())
}

/// Runs a benchmark, and reads the figures that it prints.
fn printed(command: &mut Command) -> Result<Vec<Figure>> {
    let mut text = String::new();
    let succeeded = shell::lines(command, |line| {
        text.push_str(line);
        text.push('\n');
    })?;
    ensure!(succeeded, "the benchmark failed");
    serde_json::from_str(&text).with_context(|| format!("the benchmark printed no figures: {text:?}"))
}

/// Finds or installs a tool that one part of a benchmark needs.
fn available(tool: Tool) -> Result<()> {
    match tools::provide(&[tool], &[]).pop() {
        Some((_, missing)) => bail!(missing),
        None => Ok(()),
    }
}

/// Cargo's options for a package with the features with which it is released.
const AS_RELEASED: &[&str] = &[];
const WITH_ALL: &[&str] = &["--all-features"];

/// A bench target of the workspace.
fn cargo(package: &str, target: &str, features: &[&str]) -> Command {
    let mut command = shell::cargo();
    command.args(["bench", "--quiet", "--package", package, "--bench", target]).args(features);
    command
}

/// The numbers of goals by their verdicts.
fn summary(figures: &[Figure]) -> String {
    let of = |verdict| figures.iter().filter(|figure| figure.verdict() == Some(verdict)).count();
    let [met, missed, undecided] = [Verdict::Met, Verdict::Missed, Verdict::Undecided].map(of);
    format!("{met} of {} goals are met, {missed} missed, {undecided} undecided", met + missed + undecided)
}

fn table(figures: &[Figure]) -> String {
    let head = ["figure", "value", "interval", "unit", "goal", "verdict", "samples"].map(String::from);
    let rows = figures.iter().map(|figure| {
        let interval = figure.interval().map_or("-".into(), |(low, high)| format!("{low:.3} to {high:.3}"));
        let goal = figure.goal.map_or("-".into(), |goal| format!("≤ {}", goal.most));
        let verdict = match figure.verdict() {
            Some(Verdict::Met) => "met",
            Some(Verdict::Missed) => "MISSED",
            Some(Verdict::Undecided) => "undecided",
            None => "-",
        };
        let value = figure.value.map_or("n/a".into(), |value| format!("{value:.3}"));
        let samples = figure.samples.to_string();
        [figure.figure.clone(), value, interval, figure.unit.clone(), goal, verdict.into(), samples]
    });
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            // Numbers are aligned to the right, words to the left.
            let _ = match column {
                1 | 2 | 6 => write!(line, "{cell:>width$}  "),
                _ => write!(line, "{cell:<width$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_and_says_what_was_missed() {
        let of = |values: [f64; 5], unit: &str, most: f64| {
            let run = |value| vec![Figure::at_most(unit, value, unit, most, 20)];
            merged(values.into_iter().map(run).collect()).remove(0)
        };
        let bare: Sample = (1..=10).map(|tenths| f64::from(tenths) / 10.0).collect();
        let figures = with_tails(&[
            of([1.0, 1.25, 1.5, 1.25, 1.125], "ratio", 1.5),
            of([71.0, 70.0, 72.0, 80.5, 69.0], "ns", 60.0),
            Figure::median("bare p50", &bare),
            Figure::at_most("memory", 9.0, "MB", 10.0, 1),
            Figure::absent("queue p50", "ms"),
        ]);
        assert_eq!(
            table(&figures),
            "figure      value          interval  unit   goal   verdict    samples\n\
             ratio       1.250    1.000 to 1.500  ratio  ≤ 1.5  met            100\n\
             ns         71.000  69.000 to 80.500  ns     ≤ 60   MISSED         100\n\
             bare p50    0.500                 -  ms     -      -               10\n\
             bare p90    0.900                 -  ms     -      -               10\n\
             bare max    1.000                 -  ms     -      -               10\n\
             memory      9.000                 -  MB     ≤ 10   undecided        1\n\
             queue p50     n/a                 -  ms     -      -                0\n"
        );
        assert_eq!(summary(&figures), "1 of 3 goals are met, 1 missed, 1 undecided");
        assert!(misses(&figures));
    }

    #[test]
    fn machines_read_each_figure_with_its_interval_and_its_verdict() {
        let runs = [1.0, 2.0, 3.0, 4.0, 5.0].map(|value| vec![Figure::at_most("a", value, "ms", 6.0, 1)]);
        let figures = with_verdicts(&merged(runs.into())).unwrap();
        // The order of the fields depends on the features with which the workspace is built.
        assert_eq!(
            serde_json::to_value(&figures).unwrap(),
            serde_json::json!([{
                "figure": "a",
                "value": 3.0,
                "unit": "ms",
                "goal": { "most": 6.0 },
                "samples": 5,
                "runs": [1.0, 2.0, 3.0, 4.0, 5.0],
                "interval": [1.0, 5.0],
                "verdict": "met",
            }])
        );
    }

    #[test]
    fn a_trial_of_many_elections_is_an_argument_of_the_program() {
        let args = |name, words: &[&str]| Args {
            name: What::One(name),
            json: None,
            runs: None,
            elections: Some(1_000),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let given = |bench, words: &[&str]| arguments(bench, &args(bench, words));
        assert_eq!(given(Bench::Overload, &["quota"]).unwrap(), ["--elections", "1000", "quota"]);
        assert_eq!(given(Bench::Scale, &[]).unwrap(), ["1000"]);
        let refused = given(Bench::Peers, &[]).unwrap_err().to_string();
        assert_eq!(refused, "--elections belongs to `scale` and `overload`");
    }

    #[test]
    fn long_measurements_without_a_goal_are_made_in_the_first_run_alone() {
        assert_eq!(Bench::Peers.arguments_of(1, &[]), Vec::<String>::new());
        assert_eq!(Bench::Peers.arguments_of(2, &[]), ["hand-over", "crash", "pause", "partition"]);
        assert_eq!(Bench::Peers.arguments_of(2, &["crash".into()]), ["crash"]);
        assert_eq!(Bench::Overload.arguments_of(2, &["quota".into()]), ["overload", "quota"]);
    }
}
