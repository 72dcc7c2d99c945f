//! The command line as an archive: a binary that needs nothing of the system where it can be linked so, manual pages,
//! completions, licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{self, say};
use crate::{notices, python, tools};

/// The shells that have completions, and the names under which they look for them.
const COMPLETIONS: [(&str, &str); 4] = [
    ("bash", "incumbent.bash"),
    ("elvish", "incumbent.elv"),
    ("fish", "incumbent.fish"),
    ("zsh", "_incumbent"),
];

/// Builds the archive, and tries its binary. Returns the archive's path.
pub(crate) fn package() -> Result<PathBuf> {
    let target = target()?;
    shell::progress(format!("the command line for {target}"));
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--release", "--package", "incumbent-cli", "--bin", "incumbent"]);
    shell::run(build.args(["--target", &target]))?;

    let packages = super::fresh("cli")?;
    let name = format!("incumbent-{}-{target}", env!("CARGO_PKG_VERSION"));
    let folder = packages.join(&name);
    fs::create_dir_all(folder.join("completions"))
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let binary = folder.join("incumbent");
    fs::copy(shell::target().join(&target).join("release/incumbent"), &binary)
        .context("cannot copy the binary")?;
    shell::output(Command::new(&binary).arg("man").arg("--out").arg(folder.join("man/man1")))?;
    for (shell, file) in COMPLETIONS {
        let script = shell::output(Command::new(&binary).args(["completions", shell]))?;
        fs::write(folder.join("completions").join(file), script)
            .with_context(|| format!("cannot write {file}"))?;
    }
    fs::copy(shell::root().join("cli/README.md"), folder.join("README.md"))
        .context("cannot copy the README")?;
    fs::copy(shell::root().join("CHANGELOG.md"), folder.join("CHANGELOG.md"))
        .context("cannot copy the changes")?;
    notices::write("incumbent-cli", &["--target", &target], &folder)?;
    attempt(&binary, target.ends_with("-musl"))?;

    let archive = packages.join(format!("{name}.tar.gz"));
    // Not with the names and numbers of this machine's users.
    let owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
    let mut tar = shell::command("tar");
    tar.args(if cfg!(target_os = "linux") { &owner[..] } else { &[] });
    shell::run(tar.arg("-czf").arg(&archive).arg("-C").arg(&packages).arg(&name))?;
    super::sums(&packages)?;
    Ok(archive)
}

/// The target that the binary is built for: on Linux the C library is linked in.
fn target() -> Result<String> {
    if cfg!(target_os = "linux") { Ok(tools::musl()) } else { python::host() }
}

/// The commands that an archive's binary must be able to do, in a folder of its own.
fn commands(binary: &str, store: &str) -> Vec<(Vec<String>, &'static str)> {
    let word = |word: &str| word.replace("BINARY", binary).replace("STORE", store);
    [
        ("--version", env!("CARGO_PKG_VERSION")),
        ("init --store STORE", ""),
        // The binary is the only program there.
        (
            "run --store STORE --key jobs --name worker-7 --lease 5s --splay 0s -- BINARY --version",
            env!("CARGO_PKG_VERSION"),
        ),
        ("status --store STORE --all", "jobs"),
    ]
    .into_iter()
    .map(move |(command, expected)| (command.split(' ').map(word).collect(), expected))
    .collect()
}

/// Runs an election with the binary: where it should need nothing of the system, in a folder as its root that contains
/// nothing else, as in the container image.
fn attempt(binary: &Path, alone: bool) -> Result<()> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    fs::copy(binary, scratch.path().join("incumbent")).context("cannot copy the binary")?;
    let inside = |name: &str| match alone {
        true => format!("/{name}"),
        false => scratch.path().join(name).display().to_string(),
    };
    let (program, store) = (inside("incumbent"), format!("sqlite:{}", inside("elections.db")));
    if alone {
        shell::progress("an election in an empty root");
        linked_statically(binary)?;
    } else {
        shell::progress("an election");
    }
    for (arguments, expected) in commands(&program, &store) {
        let mut command = match alone {
            true => in_root(scratch.path()),
            false => shell::command(&program),
        };
        if alone {
            command.arg(&program);
        }
        // Settings of the caller's own elections have no part in it.
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

/// What a container has beside its image: the list of its processes, `/dev/null`, and memory for temporary files.
const CONTAINER: &str = r#"
mkdir -p "$0/proc" "$0/dev/shm" && touch "$0/dev/null"
mount --bind /dev/null "$0/dev/null" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"
"#;

/// A command whose root is a folder, with nothing else in it than a container has.
fn in_root(folder: &Path) -> Command {
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

/// Fails where the binary names a program that loads libraries for it.
fn linked_statically(binary: &Path) -> Result<()> {
    let contents = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    // The path of such a program, in an ELF file's segment for it.
    let loader = b"/lib64/ld-linux";
    if contents.windows(loader.len()).any(|window| window == loader) {
        bail!("{} is linked dynamically", binary.display());
    }
    Ok(())
}
