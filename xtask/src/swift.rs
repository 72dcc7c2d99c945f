//! The Swift library: its compiled part, the code that uniffi generates, and SwiftPM.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::budgets::{self, Artefact, Made};
use crate::kotlin::{BINDGEN, CRATE, Profile};
use crate::notices::{self, Compiled};
use crate::shell;
use crate::tools::provide_target;

/// The name of the compiled part.
const LIBRARY: &str = "libincumbent_uniffi.a";

/// The linker's options for the libraries that the compiled part needs if Kafka is built in. Debian has these libraries
/// even without its development packages.
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

/// Mounts what a command needs in a namespace that ends with the command, and runs the command in Swift's system. The
/// project has the same path inside as outside.
const ENTER: &str = r#"
system=$1 project=$2 target=$3 folder=$4; shift 4
mkdir -p "$system$project" "$system$target"
mount --rbind /dev "$system/dev"
mount -t proc proc "$system/proc"
mount --bind "$project" "$system$project"
mount --bind "$target" "$system$target"
exec chroot "$system" sh -ec 'cd "$0"; exec "$@"' "$folder" "$@"
"#;

/// The search path of Swift's system.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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

/// Returns a command in the system that has Swift: on a Mac the machine itself, elsewhere the system in a
/// [folder](system).
pub(crate) fn inside(folder: &Path, program: &str) -> Result<Command> {
    if cfg!(target_os = "macos") {
        let mut command = shell::command(program);
        command.current_dir(folder);
        return Ok(command);
    }
    let target = shell::target();
    fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
    let mut command = shell::command("unshare");
    command.args(["--mount", "sh", "-ec", ENTER, "sh"]).arg(system()).arg(shell::root()).arg(target);
    command.arg(folder).arg(program);
    command.env("HOME", "/root").env("PATH", PATH);
    Ok(command)
}

/// Returns a command in the system that has Swift, with standard error merged into standard output, because the
/// compiler and the test runner write to both.
pub(crate) fn inside_as_one(folder: &Path, program: &str) -> Result<Command> {
    let mut command = inside(folder, "sh")?;
    command.args(["-c", r#"exec "$0" "$@" 2>&1"#, program]);
    Ok(command)
}

/// Writes a script that runs a program of the tests in the system that has Swift, for the tests of other languages. The
/// process of the script becomes that of the program, so that signals reach the program.
pub(crate) fn script(name: &str) -> Result<PathBuf> {
    let package = package_of_tests();
    let program = Tests::Plain.programs().join(name);
    let words = [system(), shell::root().to_owned(), shell::target(), package, program];
    let words =
        words.map(|word| format!("'{}'", word.display().to_string().replace('\'', r"'\''"))).join(" ");
    let script = target().join(name);
    let text = format!(
        "#!/usr/bin/env -S unshare --mount sh -e\nexport HOME=/root PATH={PATH}\nset -- {words} \"$@\"\n{ENTER}"
    );
    write(&script, text.as_bytes())?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} a program", script.display()))?;
    Ok(script)
}

/// The folder of the package that is built for the tests.
pub(crate) fn package_of_tests() -> PathBuf {
    target().join("package")
}

/// How the tests are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tests {
    Plain,
    /// Built with Swift's thread sanitizer, which reports data races of the code in Swift.
    Sanitized,
}

impl Tests {
    /// The folder of everything that SwiftPM builds.
    fn folder(self) -> PathBuf {
        match self {
            Self::Plain => package_of_tests().join(".build"),
            Self::Sanitized => target().join("sanitized"),
        }
    }

    /// The folder of the programs.
    pub(crate) fn programs(self) -> PathBuf {
        self.folder().join("debug")
    }
}

/// Builds the tests, and the programs that they start, into [`Tests::programs`].
pub(crate) fn build_tests(tests: Tests) -> Result<()> {
    let package = package_of_tests();
    let compiled = shell::target().join("debug/deps").join(LIBRARY);
    let lib = target().join("lib");
    if tests == Tests::Plain {
        assemble(Profile::Dev, &package)?;
        mirror(&folder().join("Tests"), &package.join("Tests"))?;
        mirror(&shell::root().join("examples/swift/Sources"), &package.join("Examples"))?;
        symlink(&compiled, shell::fresh(&lib)?.join(LIBRARY)).context("cannot link the library")?;
    }
    forget_older(&tests.programs(), &compiled)?;
    shell::progress("swift build");
    let mut build = inside_as_one(&package, "swift")?;
    build.args(["build", "--quiet", "--build-tests", "--scratch-path"]).arg(tests.folder());
    // Swift's own linker needs a fifth of the time of GNU's for a library of this size.
    build.args(["-Xswiftc", "-use-ld=lld"]).args(KAFKA_NEEDS);
    if tests == Tests::Sanitized {
        build.arg("--sanitize=thread");
    }
    build.env("INCUMBENT_LIBRARY", lib).env("INCUMBENT_TESTS", "1");
    without_warnings(&mut build)
}

/// Writes the documentation of the modules that programs import into `target/swift/docs`, from the tests' build. A
/// broken link is an error, and so is a public symbol without a comment.
pub(crate) fn document() -> Result<()> {
    let package = package_of_tests();
    // `x86_64-pc-linux-gnu/debug`
    let platform = fs::read_link(Tests::Plain.programs()).context("the Swift package is not built")?;
    let platform = platform.parent().unwrap_or(&platform);
    for module in ["Incumbent", "IncumbentTesting"] {
        shell::progress(format!("the documentation of {module}"));
        let folder = shell::fresh(&target().join("docs").join(module))?;
        let symbols = shell::fresh(&folder.join("symbols"))?;
        let mut extract = inside(&package, "swift")?;
        extract.args(["symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public"]);
        extract.arg("-target").arg(platform).arg("-I").arg(Tests::Plain.programs().join("Modules"));
        let map = package.join("Sources/IncumbentRawFFI/module.modulemap");
        extract.arg("-Xcc").arg(format!("-fmodule-map-file={}", map.display()));
        shell::run(extract.arg("-output-dir").arg(&symbols))?;
        let graph = fs::read(symbols.join(format!("{module}.symbols.json"))).context("no symbols")?;
        let bare = without_comment(&serde_json::from_slice(&graph).context("the symbols are not JSON")?);
        ensure!(bare.is_empty(), "public symbols of {module} without a comment: {}", bare.join(", "));
        let mut convert = inside(&package, "/usr/libexec/swift/bin/docc")?;
        convert.args(["convert", "--warnings-as-errors", "--fallback-display-name", module]);
        convert.args(["--fallback-bundle-identifier", module, "--additional-symbol-graph-dir"]).arg(&symbols);
        shell::run(convert.arg("--output-path").arg(folder.join("archive")))?;
    }
    Ok(())
}

/// Lists the symbols of a graph that are declared without a comment. A symbol that fulfils a third-party protocol is
/// documented in that protocol.
fn without_comment(graph: &Value) -> Vec<String> {
    let list = |name: &str| graph[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let elsewhere: HashSet<_> = list("relationships")
        .iter()
        .filter(|relationship| !relationship["sourceOrigin"].is_null())
        .filter_map(|relationship| relationship["source"].as_str())
        .collect();
    let is_bare = |symbol: &&Value| {
        let id = symbol["identifier"]["precise"].as_str().unwrap_or_default();
        symbol["docComment"].is_null() && !id.contains("::SYNTHESIZED::") && !elsewhere.contains(id)
    };
    let name = |symbol: &Value| {
        let parts = symbol["pathComponents"].as_array().map(Vec::as_slice).unwrap_or_default();
        parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(".")
    };
    list("symbols").iter().filter(is_bare).map(name).collect()
}

/// Runs the compiler, and fails on warnings, too.
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

/// Removes linked programs that are older than the compiled part, which SwiftPM does not check.
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

/// Copies the sources of the library, and the generated sources, into a folder.
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
    let generated = shell::fresh(&target().join("generated"))?;
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
        // The name that compilers expect.
        (generated.join("IncumbentRawFFI.modulemap"), "Sources/IncumbentRawFFI/module.modulemap"),
    ] {
        write(
            &package.join(to),
            &fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?,
        )?;
    }
    Ok(())
}

/// Makes the folder `to` equal to `from`. Files that are already equal are not written, because a newer file would be
/// compiled again.
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

/// Writes a file, unless it already has this content.
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

/// Builds the tests' programs with the library as it is released, and returns the command that runs one of them with an
/// argument.
pub(crate) fn released_program(argument: &str) -> Result<Command> {
    let profile = Profile::Release { kafka: false };
    shell::progress("build the compiled part of the Swift library");
    compile(profile)?;
    let package = target().join("measured");
    assemble(profile, &package)?;
    mirror(&folder().join("Tests"), &package.join("Tests"))?;
    mirror(&shell::root().join("examples/swift/Sources"), &package.join("Examples"))?;
    // The library is alone in its folder, because a linker would prefer a shared library next to it.
    let lib = shell::fresh(&target().join("lib-released"))?;
    symlink(released(), lib.join(LIBRARY)).context("cannot link the library")?;
    let built = package.join(".build/release");
    forget_older(&built, &released())?;
    shell::progress("swift build, optimised");
    let mut build = inside_as_one(&package, "swift")?;
    build.args(["build", "--quiet", "--configuration", "release", "--product", "programs"]);
    build.args(["-Xswiftc", "-use-ld=lld"]).env("INCUMBENT_TESTS", "1");
    build.env("INCUMBENT_LIBRARY", lib);
    without_warnings(&mut build)?;
    let mut program = inside(&package, "timeout")?;
    program.args(["--kill-after=10", "600"]).arg(built.join("programs")).arg(argument);
    Ok(program)
}

/// Builds the compiled part as it is released, and the generator of the code between Swift and Rust.
fn compile(profile: Profile) -> Result<()> {
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--release", "--package", CRATE, "--features", "bindgen"]);
    shell::run(build.args(profile.features()))
}

/// The compiled part for this platform, built as for a release.
pub(crate) fn released() -> PathBuf {
    shell::target().join("release").join(LIBRARY)
}

/// Builds the package of a release into `target/swift/release/Incumbent`: the sources, the compiled part for this
/// platform, and the licences. Then builds and runs a project outside of this one that depends on the package.
pub(crate) fn package(kafka: bool) -> Result<PathBuf> {
    let profile = Profile::Release { kafka };
    shell::progress("build the compiled part of the Swift library");
    compile(profile)?;
    let package = shell::fresh(&target().join("release/Incumbent"))?;
    assemble(profile, &package)?;
    notices::write(&Compiled::new(CRATE, profile.features()), &package)?;
    if cfg!(target_os = "macos") {
        xcframework(profile, &package)?;
    } else {
        let compiled = released();
        if cfg!(target_arch = "x86_64") && !kafka {
            budgets::check(Artefact::SwiftLibrary, Made::Released, &compiled)?;
        }
        let platform = package.join("lib").join(format!("linux-{}", std::env::consts::ARCH));
        fs::create_dir_all(&platform).with_context(|| format!("cannot make {}", platform.display()))?;
        fs::copy(&compiled, platform.join(LIBRARY))
            .with_context(|| format!("cannot copy {}", compiled.display()))?;
    }
    try_out(&package, kafka)?;
    Ok(package)
}

/// Apple's platforms, each with the targets whose libraries are joined in one file.
const APPLE: [(&str, &[&str]); 3] = [
    ("macos", &["aarch64-apple-darwin", "x86_64-apple-darwin"]),
    ("ios", &["aarch64-apple-ios"]),
    ("ios-simulator", &["aarch64-apple-ios-sim", "x86_64-apple-ios"]),
];

/// Builds the compiled part for Apple's platforms into the package. Needs Xcode. This function has never run, because
/// no Mac was available.
fn xcframework(profile: Profile, package: &Path) -> Result<()> {
    let joined = shell::fresh(&target().join("apple"))?;
    let headers = package.join("Sources/IncumbentRawFFI");
    let mut create = shell::command("xcodebuild");
    create.arg("-create-xcframework");
    for (platform, targets) in APPLE {
        shell::progress(format!("the compiled part of the Swift library for {platform}"));
        let library = shell::fresh(&joined.join(platform))?.join(LIBRARY);
        let mut lipo = shell::command("lipo");
        lipo.arg("-create").arg("-output").arg(&library);
        for target in targets {
            provide_target(target)?;
            let mut build = shell::cargo();
            build.args(["build", "--quiet", "--release", "--package", CRATE, "--lib", "--target", target]);
            // The same oldest systems as in `Package.swift`.
            build.env("MACOSX_DEPLOYMENT_TARGET", "13.0").env("IPHONEOS_DEPLOYMENT_TARGET", "16.0");
            shell::run(build.args(profile.features()))?;
            lipo.arg(shell::target().join(target).join("release").join(LIBRARY));
        }
        shell::run(&mut lipo)?;
        create.arg("-library").arg(&library).arg("-headers").arg(&headers);
    }
    shell::run(create.arg("-output").arg(package.join("IncumbentRawFFI.xcframework")))?;
    // The framework now contains copies of these files.
    fs::remove_dir_all(&headers).with_context(|| format!("cannot remove {}", headers.display()))
}

/// Uses the package as its users do: in a project with the README's program, and in the example. Each must lead a
/// single time. On a Mac the project is only built.
fn try_out(package: &Path, kafka: bool) -> Result<()> {
    let needed = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES", "README.md", "Package.swift"];
    if let Some(missing) = needed.into_iter().find(|name| !package.join(name).is_file()) {
        bail!("the package has no {missing}");
    }
    let needs = if kafka { &KAFKA_NEEDS[..] } else { &[] };
    shell::progress("a project outside, with the README's program");
    let readme = fs::read_to_string(package.join("README.md")).context("cannot read the package's README")?;
    let program = readme.split_once("```swift\n").and_then(|(_, rest)| rest.split_once("\n```"));
    let (program, _) = program.context("the README has no program")?;
    let project = shell::fresh(&target().join("trial-readme"))?;
    write(&project.join("Sources/worker/main.swift"), program.as_bytes())?;
    let manifest = format!(
        "// swift-tools-version: 6.0\nimport PackageDescription\n\nlet package = Package(\n    name: \"worker\",\n    \
         dependencies: [.package(path: \"{}\")],\n    targets: [.executableTarget(name: \"worker\", dependencies: \
         [\"Incumbent\"])]\n)\n",
        package.display()
    );
    write(&project.join("Package.swift"), manifest.as_bytes())?;
    let mut build = inside_as_one(&project, "swift")?;
    without_warnings(build.args(["build", "--quiet"]).args(needs))?;
    if cfg!(target_os = "macos") {
        return Ok(());
    }
    ensure!(leads(&project)?, "the README's program does not lead");

    shell::progress("a project outside: the example");
    let project = target().join("trial");
    mirror(&shell::root().join("examples/swift"), &shell::fresh(&project)?)?;
    let mut run = inside_as_one(&project, "timeout")?;
    run.args(["--kill-after=10", "600", "swift", "run", "--quiet"]).args(needs);
    run.args(["scheduled-job", "memory:", "--once"]).env("INCUMBENT_PACKAGE", package);
    let mut led = false;
    let succeeded = shell::lines(&mut run, |line| {
        shell::say!("{line}");
        led |= line.starts_with("the invoices go out with token ");
    })?;
    ensure!(succeeded && led, "a project cannot use the package");
    Ok(())
}

/// Runs the README's program until it prints its first line. Returns true if that line reports that the program leads.
fn leads(project: &Path) -> Result<bool> {
    // The worker prints into a pipe, so its output has to be unbuffered.
    let mut worker = inside(project, "timeout")?;
    worker.args(["60", "stdbuf", "-oL"]).arg(project.join(".build/debug/worker")).arg("memory:");
    let mut running = worker.stdout(Stdio::piped()).spawn().context("cannot run the README's program")?;
    let output = running.stdout.take().context("the program has no output")?;
    let line =
        BufReader::new(output).lines().next().transpose().context("cannot read the program's output")?;
    // `timeout` passes the signal on to the program. A program that has already ended needs no signal.
    let _ = kill_process(Pid::from_child(&running), Signal::TERM);
    running.wait().context("cannot wait for the README's program")?;
    Ok(line.is_some_and(|line| line.starts_with("leading with token ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_without_a_comment_is_found_and_one_of_a_protocol_is_not() {
        let symbol = |id: &str, comment: bool| {
            let mut symbol =
                serde_json::json!({"identifier": {"precise": id}, "pathComponents": ["Term", id]});
            if comment {
                symbol["docComment"] = serde_json::json!({"lines": []});
            }
            symbol
        };
        let graph = serde_json::json!({
            "symbols": [symbol("bare", false), symbol("commented", true), symbol("hash", false), symbol("a::SYNTHESIZED::b", false)],
            "relationships": [{"source": "hash", "sourceOrigin": {"identifier": "s:SH"}}, {"source": "bare"}],
        });
        assert_eq!(without_comment(&graph), ["Term.bare"]);
    }
}
