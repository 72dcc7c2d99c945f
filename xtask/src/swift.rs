//! The Swift library: its compiled part, the code that uniffi generates, and SwiftPM.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::kotlin::{BINDGEN, CRATE, Profile};
use crate::{notices, shell};

/// The name of the compiled part.
const LIBRARY: &str = "libincumbent_uniffi.a";

/// What the compiled part needs where Kafka is built in. Debian has them without the packages for developers.
const KAFKA_NEEDS: [&str; 8] = [
    "-Xlinker",
    "--no-as-needed",
    "-Xlinker",
    "-l:libssl.so.3",
    "-Xlinker",
    "-l:libcrypto.so.3",
    "-Xlinker",
    "-l:libz.so.1",
];

/// Mounts what a command needs, in a namespace that ends with it, and runs it in Swift's system. The project is where it
/// is outside.
const ENTER: &str = r#"
system=$1 project=$2 target=$3 folder=$4; shift 4
mkdir -p "$system$project" "$system$target"
mount --rbind /dev "$system/dev"
mount -t proc proc "$system/proc"
mount --bind "$project" "$system$project"
mount --bind "$target" "$system$target"
exec chroot "$system" sh -ec 'cd "$0"; exec "$@"' "$folder" "$@"
"#;

/// The folder of the package's sources.
fn folder() -> PathBuf {
    shell::root().join("bindings/swift")
}

/// The folder of everything that is built for Swift.
pub(crate) fn target() -> PathBuf {
    shell::target().join("swift")
}

/// The folder of the system that has Swift.
pub(crate) fn system() -> PathBuf {
    incumbent_testkit::tools::folder().join("swift")
}

/// A command in the system that has Swift.
pub(crate) fn inside(folder: &Path, program: &str) -> Result<Command> {
    let target = shell::target();
    fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
    let mut command = shell::command("unshare");
    command.args(["--mount", "sh", "-ec", ENTER, "sh"]).arg(system()).arg(shell::root()).arg(target);
    command.arg(folder).arg(program);
    command.env("HOME", "/root").env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    Ok(command)
}

/// The same, with the standard error in the standard output: the compiler and the test runner write to either.
pub(crate) fn inside_as_one(folder: &Path, program: &str) -> Result<Command> {
    let mut command = inside(folder, "sh")?;
    command.args(["-c", r#"exec "$0" "$@" 2>&1"#, program]);
    Ok(command)
}

/// The folder of the package as it is built for the tests.
pub(crate) fn package_of_tests() -> PathBuf {
    target().join("package")
}

/// Builds the tests, and the programs that they start, into `.build/debug` of [`package_of_tests`].
pub(crate) fn build_tests() -> Result<()> {
    let package = package_of_tests();
    assemble(Profile::Dev, &package)?;
    mirror(&folder().join("Tests"), &package.join("Tests"))?;
    mirror(&shell::root().join("examples/swift/Sources"), &package.join("Examples"))?;
    let compiled = shell::target().join("debug/deps").join(LIBRARY);
    let lib = fresh(&target().join("lib"))?;
    symlink(&compiled, lib.join(LIBRARY)).context("cannot link the library")?;
    forget_older(&package.join(".build/debug"), &compiled)?;
    shell::progress("swift build");
    let mut build = inside_as_one(&package, "swift")?;
    build.args(["build", "--quiet", "--build-tests"]).args(KAFKA_NEEDS);
    build.env("INCUMBENT_LIBRARY", lib).env("INCUMBENT_TESTS", "1");
    without_warnings(&mut build)
}

/// Runs the compiler, whose warnings are errors.
fn without_warnings(build: &mut Command) -> Result<()> {
    let mut warned = false;
    let succeeded = shell::lines(build, |line| {
        shell::say!("{line}");
        warned |= line.contains(": warning: ");
    })?;
    if !succeeded || warned {
        bail!("{}", if warned { "Swift's compiler warns" } else { "swift build failed" });
    }
    Ok(())
}

/// Removes linked programs that are older than the compiled part: SwiftPM does not look at it.
fn forget_older(built: &Path, compiled: &Path) -> Result<()> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let newest = modified(compiled).with_context(|| format!("there is no {}", compiled.display()))?;
    for name in ["IncumbentPackageTests.xctest", "programs", "readme", "scheduled-job"] {
        let program = built.join(name);
        if modified(&program).is_ok_and(|linked| linked < newest) {
            fs::remove_file(&program).with_context(|| format!("cannot remove {}", program.display()))?;
        }
    }
    Ok(())
}

/// Puts the sources of the library, and the generated ones, into a folder.
fn assemble(profile: Profile, package: &Path) -> Result<()> {
    let shared = match profile {
        Profile::Dev => shell::target().join("debug/deps"),
        Profile::Release { .. } => shell::target().join("release"),
    };
    let shared = shared.join(format!(
        "{}incumbent_uniffi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    shell::progress("generate the code between Swift and Rust");
    let generated = fresh(&target().join("generated"))?;
    let mut bindgen = shell::command(match profile {
        Profile::Dev => shell::built(BINDGEN),
        Profile::Release { .. } => shell::target().join("release").join(BINDGEN),
    });
    bindgen
        .args(["generate", "--language", "swift", "--no-format", "--out-dir"])
        .arg(&generated)
        .arg(&shared);
    shell::run(&mut bindgen)?;
    for module in ["Incumbent", "IncumbentTesting"] {
        let part = Path::new("Sources").join(module);
        mirror(&folder().join(&part), &package.join(&part))?;
    }
    for (from, to) in [
        (folder().join("Package.swift"), "Package.swift"),
        (folder().join("README.md"), "README.md"),
        (generated.join("IncumbentRaw.swift"), "Sources/IncumbentRaw/IncumbentRaw.swift"),
        (generated.join("IncumbentRawFFI.h"), "Sources/IncumbentRawFFI/IncumbentRawFFI.h"),
        // The name that compilers look for.
        (generated.join("IncumbentRawFFI.modulemap"), "Sources/IncumbentRawFFI/module.modulemap"),
    ] {
        write(
            &package.join(to),
            &fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?,
        )?;
    }
    Ok(())
}

/// Makes one folder like another. Files that are the same stay as they are: what is newer is compiled again.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for file in fs::read_dir(to)? {
        let file = file?.path();
        if !from.join(file.file_name().unwrap_or_default()).exists() {
            let removed = if file.is_dir() { fs::remove_dir_all(&file) } else { fs::remove_file(&file) };
            removed.with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    for file in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let file = file?;
        let (from, to) = (file.path(), to.join(file.file_name()));
        if file.file_type()?.is_dir() {
            mirror(&from, &to)?;
        } else {
            write(&to, &fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?)?;
        }
    }
    Ok(())
}

/// Writes a file, unless it is the same.
fn write(path: &Path, text: &[u8]) -> Result<()> {
    match fs::read(path) {
        Ok(before) if before == text => return Ok(()),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
        _ => {}
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes an empty folder, and returns its path.
fn fresh(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// Builds the package of a release into `target/swift/release/Incumbent`: the sources, the compiled part for this
/// platform, and the licences. A project outside that depends on it is then built and run.
pub(crate) fn package(kafka: bool) -> Result<PathBuf> {
    let profile = Profile::Release { kafka };
    shell::progress("build the compiled part of the Swift library");
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--release", "--package", CRATE, "--features", "bindgen"]);
    shell::run(build.args(profile.features()))?;
    let package = fresh(&target().join("release/Incumbent"))?;
    assemble(profile, &package)?;
    notices::write(CRATE, profile.features(), &package)?;
    let compiled = shell::target().join("release").join(LIBRARY);
    let platform = package.join("lib").join(format!("linux-{}", std::env::consts::ARCH));
    fs::create_dir_all(&platform).with_context(|| format!("cannot make {}", platform.display()))?;
    fs::copy(&compiled, platform.join(LIBRARY))
        .with_context(|| format!("cannot copy {}", compiled.display()))?;
    try_out(&package, kafka)?;
    Ok(package)
}

/// Builds the example as a project of its own that depends on the package, and has it lead once.
fn try_out(package: &Path, kafka: bool) -> Result<()> {
    shell::progress("a project outside");
    let project = target().join("trial");
    mirror(&shell::root().join("examples/swift"), &fresh(&project)?)?;
    let mut run = inside_as_one(&project, "timeout")?;
    run.args(["--kill-after=10", "600", "swift", "run", "--quiet"]).args(if kafka {
        &KAFKA_NEEDS[..]
    } else {
        &[]
    });
    run.args(["scheduled-job", "memory:", "--once"]).env("INCUMBENT_PACKAGE", package);
    let mut led = false;
    let succeeded = shell::lines(&mut run, |line| {
        shell::say!("{line}");
        led |= line.starts_with("the invoices go out with token ");
    })?;
    if !succeeded || !led {
        bail!("a project cannot use the package");
    }
    Ok(())
}
