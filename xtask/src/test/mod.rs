//! `cargo xtask test [PART…]`.

mod applications;
mod cargo_test;
mod chaos;
mod component;
mod go;
mod hunt;
mod instructions;
mod junit;
mod kotlin;
mod lint;
mod model;
mod mutants;
mod nextest;
pub(crate) mod node;
mod packages;
mod playground;
mod python;
mod quick;
mod schedule;
mod swift;
mod tally;
mod times;
pub(crate) mod words;

use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use incumbent_testkit::tools::{EtcdVersion, KafkaVersion, NatsVersion};

use crate::kotlin::BINDGEN;
use crate::package;
use crate::shell::{self, say};
use crate::tools::{self, Tool, Without, valgrind};
use schedule::Lane::{Compute, Spare, Wait};
use schedule::Step;
use tally::Report;

/// The default number of waiting steps that run at the same time. With more of them, tests that measure time would
/// disturb each other.
const WAITING: usize = 3;

/// `cargo xtask test`
#[derive(Debug, clap::Args)]
#[command(after_long_help = quick::HELP)]
pub(crate) struct Args {
    /// The parts to test; all but `packages` and `applications` if none is named
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Leave out a tool, and the tests that need it
    #[arg(long, value_name = "TOOL")]
    without: Vec<Without>,
    /// The duration of the chaos suite's faults in each store, in minutes
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// The seed of the chaos suite's script
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The number of waiting steps that run at a time, in addition to one that computes
    #[arg(long, value_name = "N", default_value_t = WAITING)]
    waiting: usize,
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
    /// All tests that run real etcd servers, alone and with other clients
    Etcd,
    /// All tests that run real Kafka brokers, alone and with other clients
    Kafka,
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
    /// The Kotlin library, for Kotlin and Java
    Kotlin,
    /// The Swift library
    Swift,
    /// Format, words, clippy, docs, the site, licences, workflows, features, the core without an operating system
    Lint,
    /// The packages, built as for a release, and used. The full run leaves this out: optimised builds take half an hour
    Packages,
    /// Applications on the frameworks that people use, under faults. The full run leaves this out: it measures times, and
    /// takes five minutes. A workflow runs it every night
    Applications,
    /// A selection that shows within minutes what a change broke: see below. The full run has all of it
    Quick,
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
            Self::Etcd => "etcd",
            Self::Kafka => "kafka",
            Self::Cli => "cli",
            Self::Component => "component",
            Self::Interop => "interop",
            Self::Chaos => "chaos",
            Self::Python => "python",
            Self::Node => "node",
            Self::Kotlin => "kotlin",
            Self::Swift => "swift",
            Self::Lint => "lint",
            Self::Packages => "packages",
            Self::Applications => "applications",
            Self::Quick => "quick",
        }
    }

    fn tools(self, without: &[Without]) -> Vec<Tool> {
        let tools: &[Tool] = match self {
            Self::Core | Self::Sim | Self::Model => &[Tool::Nextest],
            Self::Quick => &[Tool::Nextest, Tool::NatsServer(NatsVersion::Newest)],
            Self::Mutants => &[],
            // The test kit's own tests run on every server.
            Self::Runtime | Self::Nats | Self::Cli => SERVERS,
            Self::Etcd => ETCD,
            Self::Kafka => KAFKA,
            Self::Component => &[Tool::Nextest, Tool::Wasm, Tool::NatsServer(NatsVersion::Newest)],
            Self::Interop => INTEROP,
            Self::Chaos => CHAOS,
            Self::Python | Self::Node => SCENARIOS,
            Self::Kotlin => KOTLIN,
            Self::Swift => SWIFT,
            Self::Lint => &[Tool::Deny, Tool::Actionlint, Tool::Wasm, Tool::Mdbook],
            Self::Packages => return packages::tools(without),
            Self::Applications if without.contains(&Without::Java) => APPLICATIONS,
            Self::Applications => APPLICATIONS_WITH_JAVA,
        };
        tools.to_vec()
    }
}

/// The packages of [`Part::Component`]. They take long to build, so they are left out if they are not tested.
const COMPONENT: [&str; 4] =
    ["incumbent-component", "incumbent-componentise", "incumbent-wasmtime", "incumbent-example-worker"];

const SERVERS: &[Tool] = &[
    Tool::Nextest,
    Tool::NatsServer(NatsVersion::Newest),
    Tool::NatsServer(NatsVersion::V2_12),
    Tool::NatsServer(NatsVersion::V2_10),
];

const ETCD: &[Tool] =
    &[Tool::Nextest, Tool::Etcd(EtcdVersion::Newest), Tool::Etcd(EtcdVersion::V3_4), Tool::GoEtcdPrograms];

const CHAOS: &[Tool] = &[
    Tool::Nextest,
    Tool::NatsServer(NatsVersion::Newest),
    Tool::Etcd(EtcdVersion::Newest),
    Tool::Etcd(EtcdVersion::V3_4),
    Tool::GoEtcdPrograms,
];

/// The servers of the conformance scenarios, and the command line of an operator.
const SCENARIOS: &[Tool] = &[
    Tool::NatsServer(NatsVersion::Newest),
    Tool::Etcd(EtcdVersion::Newest),
    Tool::Etcd(EtcdVersion::V3_4),
    Tool::Kafka(KafkaVersion::Newest),
];

const KOTLIN: &[Tool] = &[
    Tool::NatsServer(NatsVersion::Newest),
    Tool::Etcd(EtcdVersion::Newest),
    Tool::Etcd(EtcdVersion::V3_4),
    Tool::Kafka(KafkaVersion::Newest),
    Tool::Kotlin,
];

const APPLICATIONS: &[Tool] = &[Tool::NatsServer(NatsVersion::Newest)];
const APPLICATIONS_WITH_JAVA: &[Tool] = &[Tool::NatsServer(NatsVersion::Newest), Tool::Kotlin];

const SWIFT: &[Tool] = &[
    Tool::NatsServer(NatsVersion::Newest),
    Tool::Etcd(EtcdVersion::Newest),
    Tool::Kafka(KafkaVersion::Newest),
    Tool::Swift,
];

const KAFKA: &[Tool] = &[
    Tool::Nextest,
    Tool::Kafka(KafkaVersion::Newest),
    Tool::Kafka(KafkaVersion::V3_9),
    Tool::GoKafkaPrograms,
];

const INTEROP: &[Tool] = &[
    Tool::Nextest,
    Tool::NatsServer(NatsVersion::Newest),
    Tool::NatsServer(NatsVersion::V2_12),
    Tool::NatsServer(NatsVersion::V2_10),
    Tool::GoPrograms,
];

pub(crate) fn run(args: &Args) -> Result<bool> {
    let begin = Instant::now();
    let _temporary = shell::temporary_files_in_memory();
    if args.parts.contains(&Part::Quick) {
        anyhow::ensure!(
            args.parts.len() == 1,
            "`quick` cannot be combined with parts: name it alone, or name parts"
        );
        return quick::run(begin);
    }
    let is_in_full_run = |part: &Part| !matches!(part, Part::Packages | Part::Applications | Part::Quick);
    let everything = || Part::value_variants().iter().copied().filter(is_in_full_run);
    let mut parts = if args.parts.is_empty() { everything().collect() } else { args.parts.clone() };
    parts.sort();
    parts.dedup();
    let left_out = [
        (Without::Go, Part::Etcd),
        (Without::Go, Part::Kafka),
        (Without::Go, Part::Interop),
        (Without::Python, Part::Python),
        (Without::Node, Part::Node),
        (Without::Java, Part::Kotlin),
        (Without::Swift, Part::Swift),
    ];
    for (tool, part) in left_out {
        if args.without.contains(&tool) && parts.contains(&part) {
            say!("{} is left out, as asked", part.name());
            parts.retain(|other| *other != part);
        }
    }
    let mut report = Report::new(&parts);
    provide(&mut parts, &args.without, &mut report);
    plan(args, &parts, |steps| schedule::run(steps, args.waiting, &mut report));
    Ok(report.close(begin.elapsed()))
}

/// Finds or installs the tools of the parts. A part with a missing tool fails and is removed from the list.
fn provide(parts: &mut Vec<Part>, without: &[Without], report: &mut Report) {
    let needed = |tool: &&Tool| parts.iter().any(|part| part.tools(without).contains(tool));
    let needed: Vec<Tool> = Tool::ALL.iter().filter(needed).copied().collect();
    shell::progress("tools");
    for (tool, reason) in &tools::provide(&needed, without) {
        parts.retain(|part| {
            let needs_it = part.tools(without).contains(tool);
            if needs_it {
                report.check(*part, reason, false);
            }
            !needs_it
        });
    }
}

/// The names of steps for which other steps wait.
const TESTS: &str = "build the Rust tests";
const PROGRAMS: &str = "build the programs";
const COMPONENTS: &str = "build the components";
const NEXTEST: &str = "run the Rust tests";
const HUNT: &str = "build the hunt";
const WHEEL: &str = "build the wheel";
const ADDON: &str = "build the addon";

/// Lists the steps of the parts, and passes them to `perform`. The most urgent steps come first: those that others
/// need, then those that take longest.
fn plan(args: &Args, parts: &[Part], perform: impl FnOnce(Vec<Step<'_>>)) {
    let has = |part| parts.contains(&part);
    let without = |tool| args.without.contains(&tool);
    let applications = has(Part::Applications);
    let with_python = has(Part::Python)
        || ((has(Part::Node) || has(Part::Component) || applications) && !without(Without::Python));
    let with_node = has(Part::Node) || ((has(Part::Component) || applications) && !without(Without::Node));
    let with_jar = has(Part::Kotlin) || (applications && !without(Without::Java));
    // If a build for several parts fails, the first of these parts fails.
    let first = |users: &[Part]| users.iter().copied().find(|part| has(*part)).unwrap_or(Part::Component);
    let of_python = first(&[Part::Python, Part::Node, Part::Component, Part::Applications]);
    let of_node = first(&[Part::Node, Part::Component, Part::Applications]);
    let of_programs = first(&[Part::Python, Part::Node, Part::Kotlin, Part::Swift, Part::Applications]);
    let rust = nextest::Tests::of(parts, without(Without::Go));
    let python = python::Python::default();
    let (rust, python) = (&rust, &python);
    let compute =
        |part, name: &str, work: fn(&mut Report) -> Result<()>| Step::new(part, name, Compute, work);

    let mut steps = Vec::new();
    if has(Part::Interop) {
        steps.push(Step::new(Part::Interop, "go test", Wait, go::run));
    }
    if let Some(first) = rust.first() {
        steps.push(Step::new(first, TESTS, Compute, |_| rust.build()));
    }
    if has(Part::Component) {
        let build = |report: &mut Report| {
            package::components(Some(&shell::built("incumbent-componentise")))?;
            component::weigh(report)
        };
        steps.push(Step::new(Part::Component, COMPONENTS, Compute, build).after(TESTS));
    }
    if has(Part::Python) || has(Part::Node) || has(Part::Kotlin) || has(Part::Swift) || applications {
        // The command line, and the harness of the conformance scenarios, for the tests of other languages.
        let mut programs = vec!["incumbent", "incumbent-harness"];
        programs.extend((with_jar || has(Part::Swift)).then_some(BINDGEN));
        programs.extend(applications.then_some(applications::PROGRAM));
        let build = move |_: &mut Report| nextest::programs(&programs);
        steps.push(Step::new(of_programs, PROGRAMS, Compute, build).after(TESTS));
    }
    if with_python {
        steps.push(Step::new(of_python, WHEEL, Compute, |_| python.build()).after(PROGRAMS));
    }
    if let Some(first) = rust.first() {
        let run = |report: &mut Report| rust.run(report);
        steps.push(Step::new(first, NEXTEST, Wait, run).after(TESTS).after(COMPONENTS));
    }
    if with_node {
        let build = move |_: &mut Report| {
            node::there_is_node()?;
            node::build(if of_node == Part::Node {
                &["build:addon", "build:js", "docs"]
            } else {
                &["build:addon", "build:js"]
            })
        };
        steps.push(Step::new(of_node, ADDON, Compute, build).after(PROGRAMS));
    }
    if has(Part::Python) {
        steps.extend(python.steps());
    }
    if has(Part::Node) {
        steps.extend(node::steps(with_python.then_some(python)));
    }
    if with_jar {
        steps.push(kotlin::jar(first(&[Part::Kotlin, Part::Applications])));
    }
    if applications {
        steps.extend(applications::steps(with_python.then_some(python), with_node, with_jar));
    }
    if has(Part::Kotlin) {
        steps.extend(kotlin::steps(with_python.then_some(python), with_node, has(Part::Swift)));
    }
    if has(Part::Swift) {
        steps.extend(swift::steps());
    }
    if has(Part::Chaos) {
        let (minutes, seed) = (args.minutes, args.seed);
        let run = move |report: &mut Report| chaos::nats(minutes, seed, report);
        steps.push(Step::new(Part::Chaos, "chaos", Wait, run).after(TESTS));
        if !without(Without::Go) {
            let run = move |report: &mut Report| chaos::etcd(minutes, seed, report);
            steps.push(Step::new(Part::Chaos, "chaos on etcd", Wait, run).after(TESTS));
        }
    }
    if has(Part::Component) {
        let without = &args.without;
        let step = |name: &str, work: fn(&[Without], &mut Report)| {
            let work = move |report: &mut Report| {
                work(without, report);
                Ok(())
            };
            Step::new(Part::Component, name, Wait, work).after(COMPONENTS)
        };
        steps.push(step("component in Node", component::in_node));
        steps.push(step("component in Python", component::in_python));
        steps.push(step("playground", playground::run));
        let run = move |report: &mut Report| component::with_processes(without, python, report);
        let step = Step::new(Part::Component, "processes of all languages", Wait, run);
        steps.push(step.after(COMPONENTS).after(WHEEL).after(ADDON).after(NEXTEST));
    }
    if has(Part::Core) {
        match valgrind::COUNTS_HERE {
            true => steps.push(compute(Part::Core, "instructions", instructions::run).after(TESTS)),
            false => say!("instructions are counted on Linux and x86-64 alone"),
        }
    }
    if has(Part::Mutants) {
        steps.push(compute(Part::Mutants, "mutants", mutants::run).after(TESTS));
    }
    if has(Part::Model) {
        steps.push(compute(Part::Model, "small worlds", model::run).after(TESTS));
    }
    if let Some(first) = cargo_test::DOCUMENTED.into_iter().find(|part| has(*part)) {
        let run = |report: &mut Report| cargo_test::documentation(parts, report);
        steps.push(Step::new(first, "doc tests", Compute, run).after(TESTS));
    }
    if has(Part::Sim) {
        steps.push(Step::new(Part::Sim, HUNT, Compute, hunt::build).after(TESTS));
        steps.push(Step::new(Part::Sim, "hunt", Spare, hunt::run).after(HUNT));
        steps.push(compute(Part::Sim, "sim in a release build", cargo_test::release));
    }
    if has(Part::Packages) {
        steps.extend(packages::steps(&args.without));
    }
    if has(Part::Lint) {
        steps.extend(lint::steps(without(Without::Go)));
    }
    perform(steps);
}
