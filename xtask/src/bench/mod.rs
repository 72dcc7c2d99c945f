//! `cargo xtask bench NAME`: runs a benchmark of the workspace, shows and stores its figures.
//!
//! A benchmark is a bench target without the standard harness, or `python/bench`. It prints progress on standard
//! error, and on standard output one JSON array of [`Figure`]s.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use incumbent_testkit::tools::{EtcdVersion, KafkaVersion, NatsVersion};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::package;
use crate::python::{self, Profile};
use crate::shell;
use crate::test::node;
use crate::tools::{self, Tool};

/// `cargo xtask bench`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benchmark to run
    #[arg(value_enum)]
    name: Bench,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Bench {
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
}

impl Bench {
    fn name(self) -> &'static str {
        match self {
            Self::Handover => "handover",
            Self::Scale => "scale",
            Self::Etcd => "etcd",
            Self::Kafka => "kafka",
            Self::Component => "component",
            Self::Python => "python",
            Self::Node => "node",
        }
    }

    /// The command that measures, after building what it needs.
    fn command(self) -> Result<Command> {
        match self {
            Self::Handover => Ok(cargo("incumbent", "handover")),
            Self::Scale => Ok(cargo("incumbent", "scale")),
            Self::Etcd => Ok(cargo("incumbent", "etcd")),
            Self::Kafka => Ok(cargo("incumbent", "kafka")),
            Self::Component => {
                package::components(None)?;
                Ok(cargo("incumbent-wasmtime", "component"))
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
            Self::Handover | Self::Scale => &[Tool::NatsServer(NatsVersion::Newest)],
            // `etcdctl` is of the older version.
            Self::Etcd => {
                &[Tool::Etcd(EtcdVersion::Newest), Tool::Etcd(EtcdVersion::V3_4), Tool::GoEtcdPrograms]
            }
            Self::Kafka => &[Tool::Kafka(KafkaVersion::Newest), Tool::GoKafkaPrograms],
            Self::Component => &[Tool::Wasm],
            Self::Python | Self::Node => &[],
        }
    }
}

/// One figure of a benchmark.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Figure {
    /// The name of the measurement.
    figure: String,
    /// The result.
    value: f64,
    /// Its unit: `ms`, `ns`, `ratio`, …
    unit: String,
    /// The goal, as a number or a text such as `≤ 1.5`; null where there is none.
    goal: Value,
    /// True if the goal is met; null where there is none.
    met: Option<bool>,
    /// The number of measurements behind the value.
    samples: u64,
}

/// Runs a benchmark. Returns whether it met its goals.
pub(crate) fn run(args: &Args) -> Result<bool> {
    tools::all(args.name.tools(), &[])?;
    let target = args.name.name();
    shell::progress(format!("bench {target}, optimised"));
    let mut text = String::new();
    let succeeded = shell::lines(&mut args.name.command()?, |line| {
        text.push_str(line);
        text.push('\n');
    })?;
    let figures: Vec<Figure> = match serde_json::from_str(&text) {
        Ok(figures) => figures,
        Err(_) if !succeeded => anyhow::bail!("bench {target} failed"),
        Err(error) => {
            return Err(error).with_context(|| format!("bench {target} printed no figures: {text:?}"));
        }
    };
    print!("{}", table(&figures));
    if let Some(file) = &args.json {
        let json = serde_json::to_string_pretty(&figures)? + "\n";
        fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let missed = figures.iter().filter(|figure| figure.met == Some(false)).count();
    let with_goal = figures.iter().filter(|figure| figure.met.is_some()).count();
    println!("{} of {with_goal} goals met", with_goal - missed);
    Ok(succeeded && missed == 0)
}

/// A bench target of the workspace.
fn cargo(package: &str, target: &str) -> Command {
    let mut command = shell::cargo();
    command.args(["bench", "--quiet", "--all-features", "--package", package, "--bench", target]);
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
        let value = format!("{:.3}", figure.value);
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
                {"figure": "bare p50", "value": 0.8, "unit": "ms", "goal": null, "met": null, "samples": 100}]"#,
        )
        .unwrap();
        assert_eq!(
            table(&figures),
            "figure          value  unit   goal   met  samples\n\
             hand-over p50   1.250  ratio  ≤ 1.5  yes      100\n\
             is_leader      71.000  ns     60     NO         5\n\
             bare p50        0.800  ms     -      -        100\n"
        );
    }
}
