//! `cargo xtask bench NAME`: runs a benchmark of the workspace, shows and stores its figures. `all` runs each in turn and
//! writes the page about them, `page` only writes it.
//!
//! A benchmark is a bench target without the standard harness, or `python/bench`. It prints progress on standard
//! error, and on standard output one JSON array of [`Figure`]s.

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
use incumbent_testkit::figure::Figure;
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
pub(crate) struct Args {
    /// The benchmark to run
    #[arg(value_enum)]
    name: What,
    /// Also write the figures of one benchmark to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Arguments of one benchmark: numbers of elections for `scale`, of candidates for `cost` and of processes for `processes`, kinds of
    /// measurements for `peers`, languages for `languages`, crates for `sizes`
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug)]
enum What {
    One(Bench),
    All,
    Page,
}

impl ValueEnum for What {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [What; 15] = [
            What::One(Bench::Peers),
            What::One(Bench::Cost),
            What::One(Bench::Processes),
            What::One(Bench::Handover),
            What::One(Bench::Scale),
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
            Self::Page => Some(PossibleValue::new("page").help("The page again, from what is stored")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// The time of a hand-over and of a fail-over after a crash, a pause and a partition, on every store, beside other
    /// software's elections and locks, and the time in which two lead
    Peers,
    /// What one, ten, a hundred and a thousand candidates of one election cost a NATS server, beside candidates by the
    /// rules of nats-kv-leader-elect
    Cost,
    /// What up to ten thousand processes ask of one bucket: simulated
    Processes,
    /// The time of a hand-over and of a fail-over on NATS, beside the bare client; the cost of leading
    Handover,
    /// A thousand, ten thousand and a hundred thousand elections in one process on NATS, beside the bare client: the time
    /// until all are led, memory, processor time, and the time until all are led again after a crash
    Scale,
    /// The time of a hand-over on etcd, beside etcd's own Go client; the cost of leading
    Etcd,
    /// The time of a hand-over and of a fail-over on Kafka, beside bare consumers; the cost of leading
    Kafka,
    /// The cost of a campaign in a component for a Wasmtime host
    Component,
    /// The cost of the Python package: `is_leader`, an event, the import, a thousand campaigns
    Python,
    /// The cost of the npm package: `isLeader`, an event, a thousand campaigns
    Node,
    /// `is_leader()` and the delivery of an event in Rust, Python, Node, Kotlin and Swift, and `is_leader()` of a component,
    /// beside each other
    Languages,
    /// The start of the command line until its first byte to a server, and the memory of `incumbent run`
    Start,
    /// The bytes of what users install, each with its budget, and the times of its builds
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

    /// Builds what it needs, and measures.
    fn figures(self, arguments: &[String]) -> Result<Vec<Figure>> {
        match self {
            Self::Languages => return languages::measure(arguments),
            Self::Sizes => return artefacts::measure(arguments),
            _ => (),
        }
        let mut command = self.command()?;
        if !arguments.is_empty() {
            command.arg("--").args(arguments);
        }
        printed(&mut command)
    }

    /// The command that measures, after building what it needs.
    fn command(self) -> Result<Command> {
        match self {
            Self::Peers => Ok(cargo("incumbent", "peers", WITH_ALL)),
            Self::Cost => Ok(cargo("incumbent", "cost", WITH_ALL)),
            Self::Processes => Ok(cargo("incumbent-sim", "processes", WITH_ALL)),
            Self::Handover => Ok(cargo("incumbent", "handover", WITH_ALL)),
            Self::Scale => Ok(cargo("incumbent", "scale", WITH_ALL)),
            Self::Etcd => Ok(cargo("incumbent", "etcd", WITH_ALL)),
            Self::Kafka => Ok(cargo("incumbent", "kafka", WITH_ALL)),
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
                // Its modules are compiled once, as those of any package are.
                command.env_remove("PYTHONDONTWRITEBYTECODE").arg("python/bench/bench.py");
                Ok(command)
            }
            Self::Start => Ok(cargo("incumbent-cli", "start", AS_RELEASED)),
            Self::Languages | Self::Sizes => bail!("it has more than one command"),
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
                // `etcdctl` is of the older version.
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
            Self::Handover | Self::Scale => &[Tool::NatsServer(NatsVersion::Newest)],
            // `etcdctl` is of the older version.
            Self::Etcd => {
                &[Tool::Etcd(EtcdVersion::Newest), Tool::Etcd(EtcdVersion::V3_4), Tool::GoEtcdPrograms]
            }
            Self::Kafka => &[Tool::Kafka(KafkaVersion::Newest), Tool::GoKafkaPrograms],
            Self::Component => &[Tool::Wasm],
            Self::Start => &[Tool::NatsServer(NatsVersion::Newest), Tool::GoPrograms],
            // The languages find their own, as one may be missing.
            Self::Processes | Self::Python | Self::Node | Self::Languages | Self::Sizes => &[],
        }
    }
}

/// Does what is asked. Returns whether all goals of what was measured are met.
pub(crate) fn run(args: &Args) -> Result<bool> {
    match args.name {
        What::One(bench) => {
            let figures = measure(bench, &args.arguments)?;
            if let Some(file) = &args.json {
                let json = serde_json::to_string_pretty(&figures)? + "\n";
                fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
            }
            Ok(figures.iter().all(|figure| figure.met != Some(false)))
        }
        What::All => {
            let mut is_well = true;
            for bench in Bench::value_variants() {
                // What one lacks is no reason to leave the rest out.
                match measure(*bench, &[]) {
                    Ok(figures) => is_well &= figures.iter().all(|figure| figure.met != Some(false)),
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

/// Writes the page from what is stored.
fn write_page() -> Result<()> {
    let read = Bench::value_variants().iter().map(|bench| Stored::read(bench.name()));
    let stored: Vec<Stored> = read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    ensure!(!stored.is_empty(), "nothing is stored; run `cargo xtask bench all`");
    page::write(&stored)
}

/// Runs a benchmark, prints its figures and stores them; not those of a part of it, which would replace the rest.
fn measure(bench: Bench, arguments: &[String]) -> Result<Vec<Figure>> {
    let name = bench.name();
    let versions = tools::all(bench.tools(), &[])?;
    shell::progress(format!("bench {name}, optimised"));
    let meter = Meter::start();
    let figures = bench.figures(arguments).with_context(|| format!("bench {name}"))?;
    let (seconds, others) = meter.read();
    print!("{}", table(&figures));
    let missed = figures.iter().filter(|figure| figure.met == Some(false)).count();
    let with_goal = figures.iter().filter(|figure| figure.met.is_some()).count();
    println!("{} of {with_goal} goals met", with_goal - missed);
    if !arguments.is_empty() {
        println!("a part of the benchmark: it is not stored");
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

/// Runs a benchmark, and reads the figures that it prints.
fn printed(command: &mut Command) -> Result<Vec<Figure>> {
    let mut text = String::new();
    let succeeded = shell::lines(command, |line| {
        text.push_str(line);
        text.push('\n');
    })?;
    ensure!(succeeded, "the benchmark failed");
    serde_json::from_str(&text).with_context(|| format!("it printed no figures: {text:?}"))
}

/// Finds or installs a tool that one part of a benchmark needs.
fn available(tool: Tool) -> Result<()> {
    match tools::provide(&[tool], &[]).pop() {
        Some((_, missing)) => bail!(missing),
        None => Ok(()),
    }
}

/// Cargo's options for the features of a package: those that it is released with, or all.
const AS_RELEASED: &[&str] = &[];
const WITH_ALL: &[&str] = &["--all-features"];

/// A bench target of the workspace.
fn cargo(package: &str, target: &str, features: &[&str]) -> Command {
    let mut command = shell::cargo();
    command.args(["bench", "--quiet", "--package", package, "--bench", target]).args(features);
    command
}

fn table(figures: &[Figure]) -> String {
    let head = ["figure", "value", "unit", "goal", "met", "samples"].map(String::from);
    let rows = figures.iter().map(|figure| {
        let goal = match &figure.goal {
            Value::Null => "-".into(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let met = figure.met.map_or("-", |met| if met { "yes" } else { "NO" });
        let value = figure.value.map_or("n/a".into(), |value| format!("{value:.3}"));
        [figure.figure.clone(), value, figure.unit.clone(), goal, met.into(), figure.samples.to_string()]
    });
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            // Numbers are aligned to the right, words to the left.
            let _ = match column {
                1 | 5 => write!(line, "{cell:>width$}  "),
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
        let figures: Vec<Figure> = serde_json::from_str(
            r#"[{"figure": "hand-over p50", "value": 1.25, "unit": "ratio", "goal": "≤ 1.5", "met": true, "samples": 100},
                {"figure": "is_leader", "value": 71, "unit": "ns", "goal": 60, "met": false, "samples": 5},
                {"figure": "bare p50", "value": 0.8, "unit": "ms", "goal": null, "met": null, "samples": 2, "raw": [0.8, 0.9]},
                {"figure": "queue p50", "value": null, "unit": "ms", "goal": null, "met": null, "samples": 0}]"#,
        )
        .unwrap();
        assert_eq!(
            table(&figures),
            "figure          value  unit   goal   met  samples\n\
             hand-over p50   1.250  ratio  ≤ 1.5  yes      100\n\
             is_leader      71.000  ns     60     NO         5\n\
             bare p50        0.800  ms     -      -          2\n\
             queue p50         n/a  ms     -      -          0\n"
        );
    }
}
