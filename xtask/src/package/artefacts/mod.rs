//! `cargo xtask artefacts`: the built packages in a table, with what each needs of a system, and an election with each
//! on every store, in an environment that has nothing else.

mod elect;
mod stores;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use incumbent_testkit::tools::{EtcdVersion, KafkaVersion, NatsVersion};

use super::Package;
use super::linux::{self, Linux, copy_into};
use crate::kotlin;
use crate::shell::{self, say};
use crate::tools::{self, Tool, packaging};
use stores::Servers;

/// `cargo xtask artefacts`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The packages; all that are built if none is named
    #[arg(value_enum)]
    names: Vec<Package>,
}

/// The servers, and the operator of Kafka, who gives its users passwords.
pub(crate) const SERVERS: [Tool; 4] = [
    Tool::NatsServer(NatsVersion::Newest),
    Tool::Etcd(EtcdVersion::Newest),
    Tool::Kafka(KafkaVersion::Newest),
    Tool::GoKafkaPrograms,
];

/// The packages with a compiled part.
pub(crate) const PACKAGES: [Package; 4] = [Package::Python, Package::Node, Package::Kotlin, Package::Cli];

pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut tools = SERVERS.to_vec();
    tools.push(Tool::Packaging);
    let named = |package: &Package| args.names.is_empty() || args.names.contains(package);
    if named(&Package::Kotlin) {
        tools.push(Tool::Kotlin);
    }
    tools::all(&tools, &[])?;
    let mut artefacts = Vec::new();
    for package in PACKAGES.iter().filter(|package| named(package)) {
        artefacts.extend(built(*package)?);
    }
    ensure!(!artefacts.is_empty(), "no package is built: run `cargo xtask package python node kotlin cli`");
    say!("{}", table(&try_out(&artefacts)?));
    Ok(true)
}

/// Elects with what was built of one package.
pub(crate) fn elect(package: Package) -> Result<()> {
    let artefacts = built(package)?;
    ensure!(!artefacts.is_empty(), "nothing of the package is built");
    say!("{}", table(&try_out(&artefacts)?));
    Ok(())
}

/// A file that users install.
#[derive(Clone, Debug)]
struct Artefact {
    package: Package,
    linux: Linux,
    file: PathBuf,
}

/// What the table says about an artefact.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    bytes: u64,
    needs: String,
    /// As it lists them itself; empty if it cannot run here.
    stores: Vec<String>,
    /// The time from opening each store to the first term.
    terms: Vec<(String, Duration)>,
}

/// The artefacts of a package that are built.
fn built(package: Package) -> Result<Vec<Artefact>> {
    let packages = super::folder("")?;
    let version = env!("CARGO_PKG_VERSION");
    let mut artefacts = Vec::new();
    for linux in Linux::ALL {
        let file = match package {
            Package::Python => {
                wheels()?.into_iter().find(|wheel| is_for(wheel, linux)).unwrap_or_else(|| "none".into())
            }
            Package::Node => packages.join("node").join(format!("incumbent-{}-{version}.tgz", linux.npm())),
            Package::Cli => {
                packages.join("cli").join(format!("incumbent-{version}-{}.tar.gz", linux.triple()))
            }
            // The jar has the part of every processor; the row of each is about its own.
            Package::Kotlin if !linux.is_musl() => kotlin::jar(),
            _ => continue,
        };
        if file.is_file() && (package != Package::Kotlin || lists(&file, linux.jna())?) {
            artefacts.push(Artefact { package, linux, file });
        }
    }
    Ok(artefacts)
}

/// Whether a jar has a part for a platform.
fn lists(jar: &Path, platform: &str) -> Result<bool> {
    let mut list = packaging::program("python");
    Ok(shell::output(list.args(["-m", "zipfile", "--list"]).arg(jar))?.contains(&format!("{platform}/lib")))
}

/// The wheels that are built.
fn wheels() -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(super::folder("python")?).context("cannot read the folder of wheels")?;
    Ok(files.flatten().map(|file| file.path()).collect())
}

/// Whether a wheel is for a kind of Linux, by its name.
fn is_for(wheel: &Path, linux: Linux) -> bool {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    name.contains(linux.wheel()) && name.ends_with(&format!("_{}.whl", linux.machine()))
}

/// Elects with each artefact that this machine can run, on servers of its own.
fn try_out(artefacts: &[Artefact]) -> Result<Vec<Row>> {
    shell::progress("servers of NATS, etcd and Kafka");
    let servers = Servers::start();
    artefacts.iter().map(|artefact| artefact.row(&servers)).collect()
}

impl Artefact {
    fn name(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match self.package {
            Package::Kotlin => format!("{name}, {}", self.linux.jna()),
            _ => name,
        }
    }

    fn row(&self, servers: &Servers) -> Result<Row> {
        let unpacked = tempfile::tempdir().context("no temporary folder")?;
        let library = self.unpack(unpacked.path())?;
        let needs = linux::needs(&library)?;
        let here = self.linux.triple().starts_with(std::env::consts::ARCH);
        let (stores, terms) = if here {
            shell::progress(format!("elections with {}", self.name()));
            elect::everywhere(self, &library, servers)?
        } else {
            (Vec::new(), Vec::new())
        };
        let bytes = fs::metadata(&self.file).context("cannot read a package")?.len();
        Ok(Row { name: self.name(), bytes, needs, stores, terms })
    }

    /// Unpacks the compiled part into a folder. Returns its path.
    fn unpack(&self, folder: &Path) -> Result<PathBuf> {
        let tar = |file: &str| -> Result<PathBuf> {
            shell::output(shell::command("tar").arg("-xzf").arg(&self.file).arg("-C").arg(folder).arg(file))?;
            Ok(folder.join(file))
        };
        let zip = |file: &str| -> Result<PathBuf> {
            let mut unzip = packaging::program("python");
            shell::output(unzip.args(["-m", "zipfile", "--extract"]).arg(&self.file).arg(folder))?;
            Ok(folder.join(file))
        };
        match self.package {
            Package::Python => zip("incumbent/_incumbent.abi3.so"),
            Package::Node => tar(&format!("package/incumbent.{}.node", self.linux.npm())),
            Package::Kotlin => zip(&format!("{}/libincumbent_uniffi.so", self.linux.jna())),
            _ => {
                let name = self.file.file_name().unwrap_or_default().to_string_lossy();
                tar(&format!("{}/incumbent", name.trim_end_matches(".tar.gz")))
            }
        }
    }
}

/// The rows as a table in Markdown.
fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| artefact | bytes | needs | stores | from opening a store to the first term |\n|---|---:|---|---|---|\n",
    );
    for Row { name, bytes, needs, stores, terms } in rows {
        let terms: Vec<String> =
            terms.iter().map(|(store, took)| format!("{store}: {} ms", took.as_millis())).collect();
        let or =
            |list: Vec<String>| if list.is_empty() { "not run here".to_owned() } else { list.join("; ") };
        let (stores, terms) = (or(stores.clone()), or(terms));
        text.push_str(&format!("| {name} | {bytes} | {needs} | {stores} | {terms} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_recognised_by_the_tags_in_its_name() {
        let name = |tags| format!("incumbent-0.1.0-cp310-abi3-{tags}.whl");
        let kinds = [
            (Linux::X64Gnu, name("manylinux_2_17_x86_64.manylinux2014_x86_64")),
            (Linux::Arm64Gnu, name("manylinux_2_17_aarch64.manylinux2014_aarch64")),
            (Linux::X64Musl, name("musllinux_1_2_x86_64")),
            (Linux::Arm64Musl, name("musllinux_1_2_aarch64")),
        ];
        for (linux, wheel) in &kinds {
            let found = Linux::ALL.into_iter().filter(|other| is_for(Path::new(wheel), *other));
            assert_eq!(found.collect::<Vec<_>>(), [*linux], "{wheel}");
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_artefact_and_names_those_that_cannot_run() {
        let ran = Row {
            name: "a.whl".into(),
            bytes: 7,
            needs: "libc.so.6, glibc 2.17".into(),
            stores: vec!["memory".into(), "kafka".into()],
            terms: vec![
                ("memory".into(), Duration::from_micros(1_900)),
                ("kafka, TLS".into(), Duration::from_secs(5)),
            ],
        };
        let other = Row {
            name: "b.whl".into(),
            needs: "libc.so".into(),
            stores: vec![],
            terms: vec![],
            ..ran.clone()
        };
        let expected = [
            "| a.whl | 7 | libc.so.6, glibc 2.17 | memory; kafka | memory: 1 ms; kafka, TLS: 5000 ms |",
            "| b.whl | 7 | libc.so | not run here | not run here |",
        ];
        assert_eq!(table(&[ran, other]).lines().skip(2).collect::<Vec<_>>(), expected);
    }
}
