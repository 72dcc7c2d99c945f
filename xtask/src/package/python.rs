//! The wheels and the source distribution of the Python package.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::linux::{self, Linux, copy_into};
use super::unwinder::Unwinder;
use super::{Build, readme};
use crate::budgets::{self, Artefact};
use crate::notices::{self, Compiled};
use crate::python::{self, Interpreter, Profile};
use crate::shell::{self, say};
use crate::tools::packaging;
use crate::tools::systems::System;

/// The crate of the compiled part.
const CRATE: &str = "incumbent-python";

/// Runs an election in memory, and prints the installed version.
const TRIAL: &str = r#"
import asyncio, importlib.metadata, incumbent

async def main():
    async with await incumbent.connect("memory:") as store:
        async with store.campaign("jobs", name="worker-7", splay=0) as candidate:
            async for term in candidate.terms():
                async with term:
                    print(importlib.metadata.version("incumbent"), candidate.is_leader, len(str(term.token)))
                break

asyncio.run(main())
"#;

/// Builds the wheels and the source distribution, and runs elections with them in new environments. Returns their
/// folder.
pub(crate) fn package(build: &Build) -> Result<PathBuf> {
    let packages = super::fresh("python")?;
    let interpreters = python::interpreters()?;
    if !cfg!(target_os = "linux") {
        let interpreter = interpreters.first().context("no interpreter")?;
        shell::progress("the wheel");
        notices::write(&Compiled::new(CRATE, &[]), &licences()?)?;
        let wheel = copy_into(&python::wheel(interpreter, Profile::Release)?, &packages)?;
        lead(interpreter, &wheel)?;
        return Ok(packages);
    }
    let mut wheels = Vec::new();
    for linux in build.linux() {
        wheels.push((linux, wheel(linux, build, &packages)?));
    }
    let sources = sources(&packages)?;
    check(wheels.iter().map(|(_, wheel)| wheel), &sources)?;
    for (linux, wheel) in &wheels {
        contents(wheel)?;
        if !linux.is_arm() {
            budgets::check(Artefact::Wheel, build.made(), wheel)?;
        }
        library(*linux, wheel)?;
        policy(*linux, wheel)?;
        attempt(*linux, wheel, &interpreters)?;
    }
    Ok(packages)
}

/// The folder from which the wheel's build takes the licences.
fn licences() -> Result<PathBuf> {
    let folder = shell::root().join("python/licenses");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds the wheel for a kind of Linux.
fn wheel(linux: Linux, build: &Build, packages: &Path) -> Result<PathBuf> {
    shell::progress(format!("the wheel for {}", linux.npm()));
    notices::write(&linux.compiled(CRATE), &licences()?)?;
    let wheels = tempfile::tempdir().context("no temporary folder")?;
    let mut maturin = packaging::program("maturin");
    maturin.args(["build", "--quiet", "--locked", "--manifest-path", "python/Cargo.toml"]);
    maturin.args([
        "--target",
        linux.triple(),
        "--compatibility",
        linux.wheel(),
        "--profile",
        build.profile(),
    ]);
    maturin.args(linux.features());
    linux.building(maturin.arg("--out").arg(wheels.path()).env_remove("VIRTUAL_ENV"));
    // These options are only for the last step, because all dependencies share their build with the addon and the
    // library for the JVM.
    maturin.arg("--").args(Unwinder::of_wheel(linux).options(linux)?);
    shell::run(&mut maturin)?;
    let built = fs::read_dir(wheels.path()).context("cannot read the folder of wheels")?;
    let built = built.flatten().next().context("maturin has built no wheel")?.path();
    copy_into(&built, packages)
}

/// Makes the source distribution: everything that a build by pip needs, for a platform that has no wheel.
fn sources(packages: &Path) -> Result<PathBuf> {
    shell::progress("the source distribution");
    let mut sdist = packaging::program("maturin");
    sdist.args(["sdist", "--manifest-path", "python/Cargo.toml", "--out"]).arg(packages);
    shell::output(&mut sdist)?;
    let sources = packages.join(format!("incumbent-{}.tar.gz", env!("CARGO_PKG_VERSION")));
    ensure!(sources.is_file(), "there is no {}", sources.display());
    Ok(sources)
}

/// Runs the checkers of the registry's rules and of the stable interface of CPython.
fn check<'a>(wheels: impl Iterator<Item = &'a PathBuf>, sources: &Path) -> Result<()> {
    let wheels: Vec<&PathBuf> = wheels.collect();
    shell::progress("twine check, check-wheel-contents, abi3audit");
    shell::run(packaging::program("twine").args(["check", "--strict"]).args(&wheels).arg(sources))?;
    let parts = ["--toplevel", "incumbent,incumbent_pytest"];
    shell::run(packaging::program("check-wheel-contents").args(parts).args(&wheels))?;
    shell::run(packaging::program("abi3audit").args(["--strict", "--summary"]).args(&wheels))
}

/// Fails if a wheel lacks a licence, the third-party notices, or the list of its parts.
fn contents(wheel: &Path) -> Result<()> {
    let listed = shell::output(packaging::program("python").args(["-m", "zipfile", "--list"]).arg(wheel))?;
    for wanted in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES", ".cyclonedx.json", "py.typed"] {
        ensure!(listed.contains(wanted), "{} has no {wanted}", wheel.display());
    }
    Ok(())
}

/// Checks the compiled part of a wheel.
fn library(linux: Linux, wheel: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let mut unzip = packaging::program("python");
    shell::output(unzip.args(["-m", "zipfile", "--extract"]).arg(wheel).arg(folder.path()))?;
    let library = folder.path().join("incumbent/_incumbent.abi3.so");
    linux::check(&library, linux, Unwinder::of_wheel(linux))
}

/// Fails unless auditwheel finds that the wheel runs on the systems that its name promises.
fn policy(linux: Linux, wheel: &Path) -> Result<()> {
    if linux.is_musl() {
        return musl_alone(linux, wheel);
    }
    let said = shell::output(packaging::program("auditwheel").arg("show").arg(wheel))?;
    say!("{}", said.trim());
    let words: Vec<&str> = said.split_whitespace().collect();
    let consistent = format!("following platform tag: \"{}_{}\"", linux.wheel(), linux.machine());
    ensure!(words.join(" ").contains(&consistent), "auditwheel does not say {consistent}");
    Ok(())
}

/// Fails unless auditwheel finds that the wheel needs musl and nothing else.
///
/// auditwheel knows musl only by its name on Alpine, so it reports the wheel as one for any Linux. Musl itself treats
/// every library name that begins with `libc.` as its own (`load_library` in its `ldso/dynlink.c`), and a linker writes
/// `libc.so`.
fn musl_alone(linux: Linux, wheel: &Path) -> Result<()> {
    // auditwheel opens `libc.so`, which on this system may be a linker script, so it must look in another system's
    // folder.
    let system = if linux.is_arm() { System::Arm } else { System::Bullseye };
    let musl = system.root().join(format!("usr/lib/{}-linux-musl", linux.machine()));
    let mut show = packaging::program("auditwheel");
    let said = shell::output(show.args(["show", "--json", "--ldpaths"]).arg(&musl).arg(wheel))?;
    let found: Value = serde_json::from_str(&said).context("cannot read what auditwheel says")?;
    let libraries: Vec<&str> = found["external_libs"]
        .as_object()
        .into_iter()
        .flat_map(|all| all.keys())
        .map(String::as_str)
        .collect();
    say!("{} needs {}", python::text(wheel)?, libraries.join(", "));
    let promised = format!("{}_{}", linux.wheel(), linux.machine());
    ensure!(libraries == ["libc.so"], "auditwheel finds that the wheel needs {}", libraries.join(", "));
    ensure!(found["sym_tag"] == *promised, "auditwheel says {}, not {promised}", found["sym_tag"]);
    ensure!(found["unsupported_isa"] == false, "the wheel needs more of the processor than {promised} has");
    Ok(())
}

/// Runs an election with a wheel, if this machine can run its compiled part.
fn attempt(linux: Linux, wheel: &Path, interpreters: &[Interpreter]) -> Result<()> {
    match linux {
        Linux::X64Gnu if std::env::consts::ARCH == "x86_64" => {
            interpreters.iter().try_for_each(|interpreter| lead(interpreter, wheel))
        }
        Linux::Arm64Gnu => inside(System::Arm, wheel),
        _ => {
            say!(
                "there is no CPython here that loads the wheel for {}: it is built and checked only",
                linux.npm()
            );
            Ok(())
        }
    }
}

/// The number of interpreters of each kind that `exits.py` ends. The rarest crash that it has found occurred in a third
/// of them.
const EXITS: &str = "8";

/// Runs an election with the wheel in a new environment, and the first programs of the README. Then ends interpreters
/// whose threads lead or wait.
fn lead(interpreter: &Interpreter, wheel: &Path) -> Result<()> {
    shell::progress(format!("an election, and the README's programs, on CPython {}", interpreter.name()));
    let environment = interpreter.fresh("package")?;
    environment.install(&["--no-deps", "--no-index", python::text(wheel)?])?;
    // Runs outside the repository, so that Python does not import the package's source from there.
    let elsewhere = tempfile::tempdir().context("no temporary folder")?;
    let on = |words: &[&str]| {
        let mut python = environment.python();
        python.current_dir(&elsewhere).args(words);
        python
    };
    led(&shell::output(&mut on(&["-c", TRIAL]))?)?;
    let pages = fs::read_to_string(shell::root().join("python/README.md")).context("no README")?;
    let init = readme::program(&pages, "python", 0, "sqlite:elections.db")?;
    let said = shell::output(&mut on(&["-c", &init]))?;
    ensure!(said == "new\n", "the README's first program printed {said:?}");
    // Python's output is unbuffered, so that the line arrives while the program runs.
    readme::leads(&mut on(&["-u", "-c", &readme::program(&pages, "python", 1, "memory:")?]))?;
    shell::progress(format!("exits of CPython {}", interpreter.name()));
    let exits = shell::root().join("python/tests/programs/exits.py");
    shell::run(&mut on(&[python::text(&exits)?, EXITS]))
}

/// Runs an election with the wheel on the CPython of another system. Debian 11 is not used for that, because its
/// CPython is too old.
fn inside(system: System, wheel: &Path) -> Result<()> {
    shell::progress(format!("an election in the system {}", system.name()));
    let folder = system.fresh("wheel")?;
    // Unpacks the wheel, because the emulator runs a single program, and pip would start others.
    let mut unzip = packaging::program("python");
    shell::output(unzip.args(["-m", "zipfile", "--extract"]).arg(wheel).arg(&folder))?;
    let mut about = system.command("/usr/bin/python3");
    about.args(["-c", "import platform as p; print(p.python_version(), p.machine(), *p.libc_ver())"]);
    say!("{}", shell::output(&mut about)?.trim());
    let mut trial = system.command("/usr/bin/python3");
    led(&shell::output(trial.env("PYTHONPATH", "/wheel").args(["-c", TRIAL]))?)
}

fn led(said: &str) -> Result<()> {
    let expected = format!("{} True 33\n", env!("CARGO_PKG_VERSION"));
    ensure!(said == expected, "the wheel's election printed {said:?}, not {expected:?}");
    Ok(())
}
