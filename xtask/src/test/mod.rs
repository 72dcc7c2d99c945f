//! `cargo xtask test [PART…]`.

mod chaos;
mod doc;
mod go;
mod jco;
mod lint;
mod model;
mod mutants;
mod nextest;
pub(crate) mod node;
mod playground;
mod processes;
mod python;
mod release;
mod tally;
mod wasmtime_py;

use anyhow::Result;
use clap::ValueEnum;
use incumbent_testkit::tools::NatsVersion;

use crate::package;
use crate::shell;
use crate::tools::{self, Tool, Without};
use tally::Report;

/// `cargo xtask test`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to test; everything where nothing is named
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Do without a tool, and without the tests that need it
    #[arg(long, value_name = "TOOL")]
    without: Vec<Without>,
    /// How long the chaos suite makes faults, in minutes
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// The seed of the chaos suite's script
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// A part of the project's tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub(crate) enum Part {
    /// The state machines
    Core,
    /// Simulated elections under faults
    Sim,
    /// Small worlds, explored to their ends
    Model,
    /// Rules broken on purpose, which the simulator must notice (see docs/internals/mutants.md)
    Mutants,
    /// The runtime without servers, the test kit, these chores
    Runtime,
    /// The runtime on real nats-servers
    Nats,
    /// The command line
    Cli,
    /// The WebAssembly components, and their host
    Component,
    /// Together with other people's libraries
    Interop,
    /// Processes on real servers, under faults drawn from a seed
    Chaos,
    /// The Python package, on every CPython of this machine
    Python,
    /// The npm package, on Node 20, 22 and 24
    Node,
    /// Format, clippy, docs, licences, features, the core without an operating system
    Lint,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Sim => "sim",
            Self::Model => "model",
            Self::Mutants => "mutants",
            Self::Runtime => "runtime",
            Self::Nats => "nats",
            Self::Cli => "cli",
            Self::Component => "component",
            Self::Interop => "interop",
            Self::Chaos => "chaos",
            Self::Python => "python",
            Self::Node => "node",
            Self::Lint => "lint",
        }
    }

    fn tools(self) -> &'static [Tool] {
        match self {
            Self::Core | Self::Sim | Self::Model => &[Tool::Nextest],
            Self::Mutants => &[],
            // The test kit tries itself on every server.
            Self::Runtime | Self::Nats | Self::Cli => SERVERS,
            Self::Component => &[Tool::Nextest, Tool::Wasm, Tool::NatsServer(NatsVersion::Newest)],
            Self::Interop => INTEROP,
            Self::Chaos => &[Tool::Nextest, Tool::NatsServer(NatsVersion::Newest)],
            Self::Python | Self::Node => &[Tool::NatsServer(NatsVersion::Newest)],
            Self::Lint => &[Tool::Deny, Tool::Wasm],
        }
    }
}

/// The packages of [`Part::Component`], which take long to build: left out where they are not tested.
const COMPONENT: [&str; 4] =
    ["incumbent-component", "incumbent-componentise", "incumbent-wasmtime", "incumbent-example-worker"];

const SERVERS: &[Tool] = &[
    Tool::Nextest,
    Tool::NatsServer(NatsVersion::Newest),
    Tool::NatsServer(NatsVersion::V2_12),
    Tool::NatsServer(NatsVersion::V2_10),
];

const INTEROP: &[Tool] = &[
    Tool::Nextest,
    Tool::NatsServer(NatsVersion::Newest),
    Tool::NatsServer(NatsVersion::V2_12),
    Tool::NatsServer(NatsVersion::V2_10),
    Tool::GoPrograms,
];

pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut parts = if args.parts.is_empty() { Part::value_variants().to_vec() } else { args.parts.clone() };
    parts.sort();
    parts.dedup();
    let without_go = args.without.contains(&Without::Go);
    if without_go && parts.contains(&Part::Interop) {
        println!("interop is left out, as Go is");
        parts.retain(|part| *part != Part::Interop);
    }
    if args.without.contains(&Without::Python) && parts.contains(&Part::Python) {
        println!("python is left out, as asked (--without python)");
        parts.retain(|part| *part != Part::Python);
    }
    if args.without.contains(&Without::Node) && parts.contains(&Part::Node) {
        println!("node is left out, as asked (--without node)");
        parts.retain(|part| *part != Part::Node);
    }
    let needed = |tool: &&Tool| parts.iter().any(|part| part.tools().contains(tool));
    let needed: Vec<Tool> = Tool::ALL.iter().filter(needed).copied().collect();
    shell::progress("tools");
    let missing = tools::provide(&needed, &args.without);
    let mut report = Report::new(&parts);
    for (tool, reason) in &missing {
        parts.retain(|part| {
            let needs_it = part.tools().contains(tool);
            if needs_it {
                report.check(*part, reason, false);
            }
            !needs_it
        });
    }

    if parts.contains(&Part::Component)
        && let Err(error) = package::components()
    {
        report.check(Part::Component, &format!("{error:#}"), false);
        parts.retain(|part| *part != Part::Component);
    }
    nextest::run(&parts, without_go, &mut report)?;
    for part in &parts {
        match part {
            Part::Core | Part::Runtime => doc::run(*part, &mut report)?,
            Part::Component => {
                doc::run(*part, &mut report)?;
                jco::run(&args.without, &mut report);
                wasmtime_py::run(&args.without, &mut report);
                playground::run(&args.without, &mut report);
                processes::run(&args.without, &parts, &mut report)?;
            }
            Part::Interop if without_go => {
                shell::progress("interop: Go is left out, as asked (--without go)")
            }
            Part::Interop => go::run(&mut report)?,
            Part::Chaos => chaos::run(args.minutes, args.seed, &mut report)?,
            Part::Model => model::run(&mut report)?,
            Part::Mutants => mutants::run(&mut report)?,
            Part::Python => python::run(&mut report)?,
            Part::Node => node::run(!args.without.contains(&Without::Python), &mut report)?,
            Part::Lint => lint::run(&mut report)?,
            Part::Sim => release::run(&mut report)?,
            Part::Nats | Part::Cli => {}
        }
    }
    Ok(report.close())
}
