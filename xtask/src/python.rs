//! The Python package: interpreters, virtual environments, its wheel.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;

/// The oldest CPython that the wheel supports.
const OLDEST: (u32, u32) = (3, 10);
/// The version that runs all tests, if it is installed.
const USUAL: (u32, u32) = (3, 11);

/// A CPython on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) program: PathBuf,
    pub(crate) version: (u32, u32),
}

/// A virtual environment.
pub(crate) struct Environment {
    folder: PathBuf,
}

/// The profile of a wheel's build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Like the Rust tests.
    Dev,
    /// For publishing.
    Release,
}

/// Every CPython on this machine that the wheel supports, one per version, beginning with the one that runs all tests.
pub(crate) fn interpreters() -> Result<Vec<Interpreter>> {
    let mut found = Vec::<Interpreter>::new();
    for program in programs() {
        if let Some(interpreter) = Interpreter::at(program)
            && interpreter.version >= OLDEST
            && !found.iter().any(|other| other.version == interpreter.version)
        {
            found.push(interpreter);
        }
    }
    found.sort_by_key(|one| (one.version != USUAL, std::cmp::Reverse(one.version)));
    if found.is_empty() {
        bail!("no CPython {}.{} or newer: install one, or pass `--without python`", OLDEST.0, OLDEST.1);
    }
    Ok(found)
}

/// The possible programs of interpreters: those with a version in their name on the path, and those in pyenv's folder.
fn programs() -> Vec<PathBuf> {
    let names = (OLDEST.1..OLDEST.1 + 10).map(|minor| format!("python3.{minor}")).chain(["python3".into()]);
    let mut programs: Vec<PathBuf> = names.filter_map(|name| shell::on_path(&name)).collect();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv"));
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home);
    if let Some(versions) = pyenv.and_then(|pyenv| fs::read_dir(pyenv.join("versions")).ok()) {
        programs.extend(versions.flatten().map(|version| version.path().join("bin/python3")));
    }
    programs
}

impl Interpreter {
    fn at(program: PathBuf) -> Option<Self> {
        const ASK: &str = "import sys; print(sys.implementation.name, *sys.version_info[:2])";
        let text = shell::output(shell::command(&program).args(["-c", ASK])).ok()?;
        let mut words = text.split_whitespace();
        if words.next() != Some("cpython") {
            return None;
        }
        let mut number = || words.next()?.parse().ok();
        Some(Self { program, version: (number()?, number()?) })
    }

    /// The version's usual name.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// Makes an empty virtual environment of that name, in place of any earlier one.
    pub(crate) fn fresh(&self, name: &str) -> Result<Environment> {
        let folder = folder().join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        shell::output(shell::command(&self.program).args(["-m", "venv"]).arg(&folder))?;
        Ok(Environment { folder })
    }

    /// The existing virtual environment of that name.
    pub(crate) fn made(&self, name: &str) -> Environment {
        Environment { folder: folder().join(name) }
    }

    /// The virtual environment with the build tools, which is kept from one run to the next.
    fn tools(&self) -> Result<Environment> {
        let environment = Environment { folder: folder().join(format!("tools-{}", self.name())) };
        let wanted = pinned("maturin")?;
        let maturin = || shell::output(shell::command(environment.program("maturin")).arg("--version"));
        if maturin().is_ok_and(|version| wanted.ends_with(version.trim().trim_start_matches("maturin "))) {
            return Ok(environment);
        }
        let environment = self.fresh(&format!("tools-{}", self.name()))?;
        environment.install(&[&wanted])?;
        Ok(environment)
    }
}

impl Environment {
    /// One of its programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// A command of its Python.
    pub(crate) fn python(&self) -> std::process::Command {
        let mut command = shell::command(self.program("python"));
        // Keeps the caller's own environment out of the command.
        command.env_remove("PYTHONPATH").env_remove("VIRTUAL_ENV").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Runs `pip install` with these arguments.
    pub(crate) fn install(&self, arguments: &[&str]) -> Result<()> {
        let mut pip = self.python();
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
        shell::output(&mut pip).map(drop)
    }
}

/// Builds the wheel.
pub(crate) fn wheel(interpreter: &Interpreter, profile: Profile) -> Result<PathBuf> {
    let tools = interpreter.tools()?;
    let wheels = folder().join(match profile {
        Profile::Dev => "wheels",
        Profile::Release => "wheels-release",
    });
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| format!("cannot remove {}", wheels.display()))?;
    }
    let mut build = shell::command(tools.program("maturin"));
    build.args(["build", "--quiet", "--manifest-path", "python/Cargo.toml", "--out"]).arg(&wheels);
    build.arg("--interpreter").arg(&interpreter.program).env_remove("VIRTUAL_ENV");
    match profile {
        // A development wheel stays on this machine, so it can use this machine's OpenSSL.
        Profile::Dev => {
            build.arg("--target").arg(host()?).args(with_kafka()?).args(["--auditwheel", "skip"]);
        }
        Profile::Release => drop(build.arg("--release")),
    }
    shell::run(&mut build)?;
    let files = fs::read_dir(&wheels).with_context(|| format!("no wheel in {}", wheels.display()))?;
    let mut files = files.flatten().map(|file| file.path());
    let wheel = files.find(|path| path.extension().is_some_and(|end| end == "whl"));
    wheel.with_context(|| format!("no wheel in {}", wheels.display()))
}

/// Cargo's options that build Kafka into a package for the tests, with the C library that the Rust tests' build has
/// compiled. By itself, the package would be built with other features of third-party crates, and would compile that
/// library again.
pub(crate) fn with_kafka() -> Result<Vec<String>> {
    let mut options = vec!["--features".to_owned(), "kafka".into()];
    let builds = fs::read_dir(shell::target().join("debug/build")).context("nothing is built yet")?;
    let compiled = builds.flatten().map(|build| build.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("rdkafka-sys-") && path.join("out/src/librdkafka.a").is_file()
    });
    let when = |path: &PathBuf| fs::metadata(path).and_then(|folder| folder.modified()).ok();
    if let Some(newest) = compiled.max_by_key(when) {
        let host = host()?;
        let folder = newest.join("out/src");
        for (key, value) in
            [("lib", "static=rdkafka".into()), ("search", format!("native={}", text(&folder)?))]
        {
            options
                .extend(["--config".into(), format!("target.{host}.rdkafka.rustc-link-{key}=['{value}']")]);
        }
    }
    Ok(options)
}

/// This machine as a target of cargo. npm's addon is always built for a named target, so a wheel for the same target
/// shares the build of the dependencies.
pub(crate) fn host() -> Result<String> {
    let version = shell::output(shell::command("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// The pinned requirement of that name.
pub(crate) fn pinned(name: &str) -> Result<String> {
    let list = fs::read_to_string(requirements()).context("cannot read what the tests install")?;
    let wanted = list.lines().find(|line| line.split("==").next() == Some(name));
    wanted.map(str::to_owned).with_context(|| format!("{name} is not pinned"))
}

/// The file of the tests' requirements.
pub(crate) fn requirements() -> PathBuf {
    shell::root().join("python/requirements-test.txt")
}

/// `target/python`.
pub(crate) fn folder() -> PathBuf {
    shell::target().join("python")
}

/// A path as an argument; the paths in the target folder are UTF-8.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
