//! The command line as an archive: a binary, which needs no libraries of the system if it can be linked statically;
//! manual pages, completions, licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::Build;
use super::linux::Linux;
use crate::budgets::{self, Artefact};
use crate::notices::{self, Compiled};
use crate::python;
use crate::shell::{self, say};

/// The shells that have completions, each with the file name under which it looks for them.
const COMPLETIONS: [(&str, &str); 4] = [
    ("bash", "incumbent.bash"),
    ("elvish", "incumbent.elv"),
    ("fish", "incumbent.fish"),
    ("zsh", "_incumbent"),
];

/// Builds an archive for each processor of Linux, or for this machine, and tries its binary. Returns their folder.
pub(crate) fn package(build: &Build) -> Result<PathBuf> {
    let packages = super::fresh("cli")?;
    if cfg!(target_os = "linux") {
        for linux in build.linux().filter(|linux| linux.is_musl()) {
            let binary = statically(linux, build)?;
            if !linux.is_arm() {
                budgets::check(Artefact::CommandLine, build.made(), &binary)?;
            }
            let here = linux.triple().starts_with(std::env::consts::ARCH);
            let how = if here { How::Alone } else { How::Emulated };
            archive(&binary, linux.triple(), how, &linux.compiled(CRATE), &packages)?;
        }
    } else {
        let target = python::host()?;
        shell::progress(format!("the command line for {target}"));
        let mut cargo = shell::cargo();
        cargo.args(["build", "--quiet", "--package", CRATE, "--bin", "incumbent", "--target", &target]);
        shell::run(cargo.args(["--profile", build.profile()]))?;
        let binary = shell::target().join(&target).join(build.profile()).join("incumbent");
        let compiled = Compiled::new(CRATE, &["--target", &target]);
        archive(&binary, &target, How::Here, &compiled, &packages)?;
    }
    super::sums(&packages)?;
    Ok(packages)
}

/// The crate of the command line.
const CRATE: &str = "incumbent-cli";

/// Builds the binary with musl's C library linked in.
fn statically(linux: Linux, build: &Build) -> Result<PathBuf> {
    shell::progress(format!("the command line for {}", linux.triple()));
    let mut cargo = shell::cargo();
    linux.building(cargo.args(["rustc", "--quiet", "--locked", "--package", CRATE, "--bin", "incumbent"]));
    cargo.args(linux.features()).args(["--target", linux.triple(), "--profile", build.profile()]);
    // The option is only for the last step, because all dependencies share their build with the libraries for musl.
    shell::run(cargo.args(["--", "-C", "target-feature=+crt-static"]))?;
    Ok(linux.built(build, "incumbent"))
}

/// Makes the archive of a binary, after trying the binary.
fn archive(built: &Path, target: &str, how: How, compiled: &Compiled, packages: &Path) -> Result<()> {
    let name = format!("incumbent-{}-{target}", env!("CARGO_PKG_VERSION"));
    let folder = packages.join(&name);
    fs::create_dir_all(folder.join("completions"))
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let binary = folder.join("incumbent");
    fs::copy(built, &binary).context("cannot copy the binary")?;
    let run = || how.command(&binary);
    shell::output(run().arg("man").arg("--out").arg(folder.join("man/man1")))?;
    for (shell, file) in COMPLETIONS {
        let script = shell::output(run().args(["completions", shell]))?;
        fs::write(folder.join("completions").join(file), script)
            .with_context(|| format!("cannot write {file}"))?;
    }
    fs::copy(shell::root().join("cli/README.md"), folder.join("README.md"))
        .context("cannot copy the README")?;
    fs::copy(shell::root().join("CHANGELOG.md"), folder.join("CHANGELOG.md"))
        .context("cannot copy the changes")?;
    notices::write(compiled, &folder)?;
    notices::bill(compiled, &folder)?;
    attempt(&binary, how)?;

    let archive = packages.join(format!("{name}.tar.gz"));
    // Leaves out the names and numbers of this machine's users.
    let owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
    let mut tar = shell::command("tar");
    tar.args(if cfg!(target_os = "linux") { &owner[..] } else { &[] });
    shell::run(tar.arg("-czf").arg(&archive).arg("-C").arg(packages).arg(&name))
}

/// The way in which a binary is run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Like any program.
    Here,
    /// Linked statically, and run in a root folder that contains nothing else, as in the container image.
    Alone,
    /// Linked statically for another processor, and run by QEMU. Such a binary cannot start other programs of that
    /// processor.
    Emulated,
}

impl How {
    /// Returns a command that runs the binary in this system.
    fn command(self, binary: &Path) -> Command {
        if self != Self::Emulated {
            return shell::command(binary);
        }
        let mut command = shell::command(EMULATOR);
        command.arg(binary);
        command
    }
}

/// Debian's ARM emulator, which runs a static program without further files.
const EMULATOR: &str = "qemu-aarch64-static";

/// The commands that an archive's binary must carry out, in a folder of its own.
///
/// `run` starts the program again, which an emulated program cannot do. For an emulated binary the candidates are
/// therefore tasks in one process.
fn commands(binary: &str, store: &str, how: How) -> Vec<(Vec<String>, &'static str)> {
    let version = env!("CARGO_PKG_VERSION");
    let word = |word: &str| word.replace("BINARY", binary).replace("STORE", store);
    let election = match how {
        How::Emulated => {
            ("demo --in-process --workers 3 --for 3s --no-splay", "there were never two leaders at once")
        }
        How::Here | How::Alone => (
            "run --store STORE --key jobs --name worker-7 --lease 5s --splay 0s -- BINARY --version",
            version,
        ),
    };
    let listed = if how == How::Emulated { "no election was ever held here" } else { "jobs" };
    [("--version", version), ("init --store STORE", ""), election, ("status --store STORE --all", listed)]
        .into_iter()
        .map(move |(command, expected)| (command.split(' ').map(word).collect(), expected))
        .collect()
}

/// Runs an election with the binary.
fn attempt(binary: &Path, how: How) -> Result<()> {
    let alone = how == How::Alone;
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    fs::copy(binary, scratch.path().join("incumbent")).context("cannot copy the binary")?;
    let inside = |name: &str| match alone {
        true => format!("/{name}"),
        false => scratch.path().join(name).display().to_string(),
    };
    let (program, store) = (inside("incumbent"), format!("sqlite:{}", inside("elections.db")));
    if alone {
        shell::progress("an election in an empty root");
    } else {
        shell::progress(if how == How::Emulated { "an election in an emulator" } else { "an election" });
    }
    if how != How::Here {
        linked_statically(binary)?;
    }
    for (arguments, expected) in commands(&program, &store, how) {
        let mut command = match alone {
            true => in_root(scratch.path()),
            false => how.command(Path::new(&program)),
        };
        if alone {
            command.arg(&program);
        }
        // Removes the settings of the caller's own elections, which must not affect this one.
        let settings = std::env::vars_os().map(|(name, _)| name);
        settings.filter(|name| name.to_string_lossy().starts_with("INCUMBENT_")).for_each(|name| {
            command.env_remove(name);
        });
        let said = shell::output(command.args(&arguments))?;
        say!("{}", said.trim_end());
        ensure!(
            said.contains(expected),
            "`incumbent {}` printed {said:?}, without {expected:?}",
            arguments.join(" ")
        );
    }
    Ok(())
}

/// Adds what a container has in addition to its image: `/proc`, `/dev/null`, and memory for temporary files.
const CONTAINER: &str = r#"
mkdir -p "$0/proc" "$0/dev/shm" && touch "$0/dev/null"
mount --bind /dev/null "$0/dev/null" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"
"#;

/// Returns a command that runs with this folder as its root, and with the additions of [`CONTAINER`].
pub(super) fn in_root(folder: &Path) -> Command {
    let mut command = shell::command("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command
        .args(["--mount", "--pid", "--fork", "sh", "-euc", CONTAINER])
        .arg(folder)
        .env("TMPDIR", "/dev/shm");
    command
}

/// Fails if the binary needs a dynamic loader.
fn linked_statically(binary: &Path) -> Result<()> {
    let contents = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    // An ELF file that is linked dynamically contains the path of its loader.
    let loaders = [&b"/lib64/ld-linux"[..], b"/lib/ld-linux", b"/lib/ld-musl"];
    if loaders.iter().any(|loader| contents.windows(loader.len()).any(|window| window == *loader)) {
        bail!("{} is linked dynamically", binary.display());
    }
    Ok(())
}
