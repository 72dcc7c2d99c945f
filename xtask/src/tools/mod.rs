//! `cargo xtask tools`: finds or installs the tests' tools, into `target/tools`.
//!
//! Installed tools are not installed again, so later runs are quick.

pub(crate) mod actionlint;
mod cargo_tools;
pub(crate) mod chromium;
mod debian;
mod etcd;
mod go_programs;
mod kafka;
mod kotlin;
mod maven;
mod nats_server;
pub(crate) mod packaging;
mod peers;
mod swift;
pub(crate) mod systems;
pub(crate) mod valgrind;

use std::path::PathBuf;

use anyhow::{Result, bail};
use incumbent_testkit::tools::{EtcdVersion, KafkaVersion, NatsVersion};

pub(crate) use cargo_tools::{DENY, MDBOOK, NEXTEST, WASM, provide_target};
use systems::System;

/// `cargo xtask tools`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tools to provide; all if none is named
    #[arg(value_enum)]
    tools: Vec<Name>,
    /// Leave out a tool; without Go, everything that only Go can install
    #[arg(long, value_name = "TOOL")]
    without: Vec<Without>,
}

/// A tool that a machine may lack on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Without {
    /// The Go toolchain: no interop tests against Go, no older nats-servers, no check of the workflows
    Go,
    /// CPython: no tests of the Python package
    Python,
    /// Node: no tests of the npm package
    Node,
    /// A JDK and Maven: no tests of the Kotlin library
    Java,
    /// The Swift toolchain: no tests of the Swift library
    Swift,
}

/// A name for tools on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// nats-server in three versions, and candidates on the client for Go
    Nats,
    /// etcd in two versions, its command line, and candidates on the client for Go
    Etcd,
    /// Kafka in two versions, candidates on clients for Go, and an administrator
    Kafka,
    /// The programs that cargo runs, and a standard library for WebAssembly
    Cargo,
    /// A JDK, Maven, and what they need for the Kotlin library
    Kotlin,
    /// The Swift toolchain, in a folder with its own Debian
    Swift,
    /// The checker of the workflows
    Workflows,
    /// The tools that make packages and the site
    Packages,
    /// Systems with an older C library, and with another processor, in folders
    Systems,
    /// The counter of instructions
    Valgrind,
    /// Redis, PostgreSQL and ZooKeeper, and candidates on their locks, for `cargo xtask bench peers`
    Peers,
}

/// A tool of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// A version of nats-server.
    NatsServer(NatsVersion),
    /// A version of etcd, and its command line.
    Etcd(EtcdVersion),
    /// A version of Kafka.
    Kafka(KafkaVersion),
    /// The test runner.
    Nextest,
    /// The checker of licences and sources.
    Deny,
    /// The checker of the workflows.
    Actionlint,
    /// Rust's standard library for `wasm32-unknown-unknown`.
    Wasm,
    /// The programs of `lab/interop/go`.
    GoPrograms,
    /// The programs of `lab/interop/etcd`.
    GoEtcdPrograms,
    /// The programs of `lab/interop/kafka`.
    GoKafkaPrograms,
    /// The programs of `lab/interop/peers`.
    GoPeerPrograms,
    /// The Redis server.
    Redis,
    /// The PostgreSQL server.
    Postgres,
    /// The ZooKeeper server, and its client Curator.
    Zookeeper,
    /// The program of `lab/interop/zookeeper`. It comes after the jars with which it is compiled.
    CuratorCandidate,
    /// A JDK and Maven, and what Maven needs for the Kotlin library.
    Kotlin,
    /// The Swift toolchain.
    Swift,
    /// The counter of instructions.
    Valgrind,
    /// The generator of the site.
    Mdbook,
    /// The tools that build packages for every kind of Linux, and check them.
    Packaging,
    /// The tools that check the code for macOS and Windows.
    Platforms,
    /// The checkers of npm packages.
    NpmCheckers,
    /// A system in which packages are tried.
    System(System),
}

impl Tool {
    pub(crate) const ALL: [Self; 28] = [
        Self::NatsServer(NatsVersion::Newest),
        Self::NatsServer(NatsVersion::V2_12),
        Self::NatsServer(NatsVersion::V2_10),
        Self::Etcd(EtcdVersion::Newest),
        Self::Etcd(EtcdVersion::V3_4),
        Self::Kafka(KafkaVersion::Newest),
        Self::Kafka(KafkaVersion::V3_9),
        Self::Nextest,
        Self::Deny,
        Self::Actionlint,
        Self::Wasm,
        Self::GoPrograms,
        Self::GoEtcdPrograms,
        Self::GoKafkaPrograms,
        Self::GoPeerPrograms,
        Self::Redis,
        Self::Postgres,
        Self::Zookeeper,
        Self::CuratorCandidate,
        Self::Kotlin,
        Self::Swift,
        Self::Valgrind,
        Self::Mdbook,
        Self::Packaging,
        Self::Platforms,
        Self::NpmCheckers,
        Self::System(System::Bullseye),
        Self::System(System::Arm),
    ];

    /// Returns the tool's path and version, after installing the tool if it is missing.
    fn provide(self) -> Result<(PathBuf, String)> {
        match self {
            Self::NatsServer(version) => nats_server::provide(version),
            Self::Etcd(version) => etcd::provide(version),
            Self::Kafka(version) => kafka::provide(version),
            Self::Nextest => NEXTEST.provide(),
            Self::Deny => DENY.provide(),
            Self::Actionlint => actionlint::provide(),
            Self::Wasm => cargo_tools::provide_wasm(),
            Self::GoPrograms => go_programs::nats(),
            Self::GoEtcdPrograms => go_programs::etcd(),
            Self::GoKafkaPrograms => go_programs::kafka(),
            Self::GoPeerPrograms => go_programs::peers(),
            Self::Redis => peers::redis(),
            Self::Postgres => peers::postgres(),
            Self::Zookeeper => peers::zookeeper(),
            Self::CuratorCandidate => peers::curator(),
            Self::Kotlin => kotlin::provide(),
            Self::Swift => swift::provide(),
            Self::Valgrind => valgrind::provide(),
            Self::Mdbook => MDBOOK.provide(),
            Self::Packaging => packaging::provide(),
            Self::Platforms => packaging::provide_platforms(),
            Self::NpmCheckers => packaging::provide_checkers(),
            Self::System(system) => system.provide(),
        }
    }

    fn name(self) -> Name {
        match self {
            Self::NatsServer(_) | Self::GoPrograms => Name::Nats,
            Self::Etcd(_) | Self::GoEtcdPrograms => Name::Etcd,
            Self::Kafka(_) | Self::GoKafkaPrograms => Name::Kafka,
            Self::Nextest | Self::Deny | Self::Wasm => Name::Cargo,
            Self::Actionlint => Name::Workflows,
            Self::Kotlin => Name::Kotlin,
            Self::Swift => Name::Swift,
            Self::Valgrind => Name::Valgrind,
            Self::Mdbook | Self::Packaging | Self::Platforms | Self::NpmCheckers => Name::Packages,
            Self::System(_) => Name::Systems,
            Self::GoPeerPrograms
            | Self::Redis
            | Self::Postgres
            | Self::Zookeeper
            | Self::CuratorCandidate => Name::Peers,
        }
    }

    /// Returns true if the tool can be left out on a machine that lacks Go on purpose.
    fn needs_go(self) -> bool {
        matches!(
            self,
            Self::NatsServer(NatsVersion::V2_12 | NatsVersion::V2_10)
                | Self::Etcd(EtcdVersion::Newest)
                | Self::GoPrograms
                | Self::GoEtcdPrograms
                | Self::GoKafkaPrograms
                | Self::GoPeerPrograms
                | Self::Actionlint
        )
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    // These tools are left out by default: systems of gigabytes for the tests of packages, and servers for a single
    // benchmark.
    let special = [Name::Systems, Name::Peers];
    let runs_here = |tool: &Tool| *tool != Tool::Valgrind || valgrind::COUNTS_HERE;
    let usual = |tool: &Tool| args.tools.is_empty() && !special.contains(&tool.name()) && runs_here(tool);
    let named = |tool: &&Tool| usual(tool) || args.tools.contains(&tool.name());
    let tools: Vec<Tool> = Tool::ALL.iter().filter(named).copied().collect();
    all(&tools, &args.without)?;
    Ok(true)
}

/// Finds or installs every one of `tools`, and prints its path. Returns their versions.
///
/// # Errors
/// The tools that are missing, each with what to install.
pub(crate) fn all(tools: &[Tool], without: &[Without]) -> Result<Vec<String>> {
    let (versions, missing) = each(tools, without);
    if !missing.is_empty() {
        let reasons: Vec<&str> = missing.iter().map(|(_, reason)| reason.as_str()).collect();
        bail!("tools are missing\n  {}", reasons.join("\n  "));
    }
    Ok(versions)
}

/// Finds or installs `tools`, and prints the path of each. Returns the missing ones, and the reasons.
pub(crate) fn provide(tools: &[Tool], without: &[Without]) -> Vec<(Tool, String)> {
    each(tools, without).1
}

/// Returns the versions of the available tools, and the missing tools with the reasons.
fn each(tools: &[Tool], without: &[Without]) -> (Vec<String>, Vec<(Tool, String)>) {
    let (mut versions, mut missing) = (Vec::new(), Vec::new());
    for tool in tools {
        match tool.provide() {
            Ok((path, version)) => {
                println!("{version:<28} {}", path.display());
                versions.push(version);
            }
            Err(error) if tool.needs_go() && without.contains(&Without::Go) => {
                println!("not tested, as Go is left out: {error:#}");
            }
            Err(error) if *tool == Tool::Kotlin && without.contains(&Without::Java) => {
                println!("not tested, as Java is left out: {error:#}");
            }
            Err(error) if *tool == Tool::Swift && without.contains(&Without::Swift) => {
                println!("not tested, as Swift is left out: {error:#}");
            }
            Err(error) => missing.push((*tool, format!("{error:#}"))),
        }
    }
    (versions, missing)
}
