//! The Kotlin library: its compiled part, the code that uniffi generates, and Maven.

mod brackets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::notices::{self, Compiled};
use crate::package::linux::Linux;
use crate::shell;

/// The crate of the compiled part.
pub(crate) const CRATE: &str = "incumbent-uniffi";

/// The program of that crate which generates the code between Rust and Kotlin or Swift.
pub(crate) const BINDGEN: &str = "incumbent-bindgen";

/// The oldest JDK that Kotlin's compiler and the tests' libraries run on.
pub(crate) const OLDEST: u32 = 17;

/// The kind of build of the compiled part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Built together with the programs of the Rust tests.
    Dev,
    /// Built as for a release, with or without Kafka.
    Release { kafka: bool },
}

impl Profile {
    /// Cargo's options for the features of the compiled part.
    pub(crate) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Dev => &["--all-features"],
            Self::Release { kafka: true } => &["--features", "kafka"],
            Self::Release { kafka: false } => &[],
        }
    }
}

/// A JDK of this machine.
pub(crate) struct Jdk {
    pub(crate) home: PathBuf,
    pub(crate) version: String,
}

/// Finds a JDK: in `JAVA_HOME`, on the path, or among Debian's. A `java` on the path may lack a compiler.
pub(crate) fn jdk() -> Result<Jdk> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    if let Some(javac) = shell::on_path("javac") {
        // The `javac` on the path is usually a link into the JDK.
        let javac = fs::canonicalize(&javac).with_context(|| format!("cannot follow {}", javac.display()))?;
        homes.extend(javac.parent().and_then(Path::parent).map(Path::to_owned));
    }
    if let Ok(installed) = fs::read_dir("/usr/lib/jvm") {
        homes.extend(installed.flatten().map(|folder| folder.path()));
    }
    let found = homes.into_iter().find_map(|home| {
        // `javac 17.0.15` on standard output. Java 8 writes its version to standard error.
        let reported = shell::output(shell::command(home.join("bin/javac")).arg("-version")).ok()?;
        let version = reported.trim().strip_prefix("javac ")?.to_owned();
        let release: u32 = version.split(['.', '-', '+']).next()?.parse().ok()?;
        (release >= OLDEST).then_some(Jdk { home, version })
    });
    found.with_context(|| format!("no JDK {OLDEST} or newer"))
}

/// The folder of the Maven project.
pub(crate) fn folder() -> PathBuf {
    shell::root().join("bindings/kotlin")
}

/// The folder of everything that is built for Kotlin.
pub(crate) fn target() -> PathBuf {
    shell::target().join("kotlin")
}

/// Versions of Kotlin and of its coroutines in applications: those of Spring Boot 3.5 and of 4.0.
const CONSUMERS: [(&str, &str); 2] = [("1.9.25", "1.8.1"), ("2.2.21", "1.10.2")];

/// Fetches what Maven needs for this project and for [`consumers`], unless it has already done so for the same project
/// files.
pub(crate) fn fetch() -> Result<()> {
    let read = |name: &str| {
        let pom = folder().join(name);
        fs::read(&pom).with_context(|| format!("cannot read {}", pom.display()))
    };
    let (pom, consumer) = (read("pom.xml")?, read("consumer/pom.xml")?);
    let wanted = [&*pom, &*consumer, format!("{CONSUMERS:?}").as_bytes()].concat();
    let marker = repository().join("fetched-for.xml");
    if fs::read(&marker).is_ok_and(|fetched| fetched == wanted) {
        return Ok(());
    }
    shell::progress("fetch Kotlin's compiler and libraries");
    // Maven fetches everything that its goals load, including the test runner's parts, only when the goals run. An
    // empty project is enough for that.
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let test = "class EmptyTest { @org.junit.jupiter.params.ParameterizedTest\n\
                @org.junit.jupiter.params.provider.ValueSource(ints = [1]) fun test(one: Int) { check(one == 1) } }\n";
    for (name, text) in [
        ("pom.xml", &*pom),
        ("src/main/kotlin/Empty.kt", b"/** Nothing. */\nclass Empty\n"),
        ("src/test/kotlin/EmptyTest.kt", test.as_bytes()),
        ("src/test/java/Nothing.java", b"class Nothing {}\n"),
        ("consumer/pom.xml", &*consumer),
        ("consumer/src/test/kotlin/EmptyTest.kt", test.as_bytes()),
    ] {
        let path = scratch.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(scratch.path()))?;
        fs::write(path, text)?;
    }
    let mut maven = maven_with(scratch.path());
    maven.current_dir(scratch.path()).args(["--activate-profiles", "release", "verify"]);
    shell::run(&mut maven)?;
    let project = scratch.path().join("consumer");
    for versions in CONSUMERS {
        // An older compiler cannot read the output of a newer one.
        shell::fresh(&project.join("target"))?;
        shell::run(&mut consumer_with(&project, versions))?;
    }
    fs::write(&marker, wanted).with_context(|| format!("cannot write {}", marker.display()))
}

/// Puts the compiled part for this machine, and the licences, into the folder of the jar's resources, and generates the
/// code between Kotlin and Rust.
pub(crate) fn build(profile: Profile) -> Result<()> {
    if profile != Profile::Dev {
        shell::progress("build the compiled part of the Kotlin library");
        let mut build = shell::cargo();
        build.args(["build", "--quiet", "--release", "--package", CRATE]);
        // The library calls nothing in the generator, so the generator's code is not linked into it.
        shell::run(build.args(["--features", "bindgen"]).args(profile.features()))?;
    }
    let library = library(profile);
    let native = shell::fresh(&target().join("native"))?;
    let here = shell::fresh(&native.join(platform()?))?;
    fs::copy(&library, here.join(file_name(&library)?))
        .with_context(|| format!("cannot copy {}", library.display()))?;
    // The released jar has the parts that are built for each kind of Linux.
    let compiled = match profile {
        Profile::Release { .. } if cfg!(target_os = "linux") => Linux::X64Gnu.compiled(CRATE),
        _ => Compiled::new(CRATE, profile.features()),
    };
    notices::write(&compiled, &native.join("META-INF"))?;
    shell::progress("generate the code between Kotlin and Rust");
    let mut bindgen = shell::command(match profile {
        Profile::Dev => shell::built(BINDGEN),
        Profile::Release { .. } => shell::target().join("release").join(BINDGEN),
    });
    bindgen.args(["generate", "--language", "kotlin", "--no-format"]);
    let generated = shell::fresh(&target().join("generated"))?;
    shell::run(bindgen.arg("--out-dir").arg(&generated).arg(&library))?;
    let folder = generated.join("incumbent/raw");
    let code = folder.join("incumbent.kt");
    let text = fs::read_to_string(&code).with_context(|| format!("cannot read {}", code.display()))?;
    let (natives, calls) = brackets::bracketed(&text)?;
    for (path, text) in [(code, natives), (folder.join("calls.kt"), calls)] {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Maven on the project, without the network.
pub(crate) fn maven() -> Command {
    let mut command = maven_with(&target());
    command.arg("--offline");
    command
}

/// Compiles the library and the tests' programs, and returns the command that runs the program with this class.
/// [`build`] must have run before.
pub(crate) fn program(class: &str) -> Result<Command> {
    shell::progress("mvn test-compile");
    shell::run(maven().arg("test-compile"))?;
    let built = target().join("maven");
    let mut path = vec![built.join("classes"), built.join("test-classes")];
    path.extend(dependencies().collect::<Result<Vec<_>>>()?);
    if let Some(missing) = path.iter().find(|path| !path.exists()) {
        bail!("there is no {}", missing.display());
    }
    let mut java = shell::command(jdk()?.home.join("bin/java"));
    java.arg("-cp").arg(std::env::join_paths(path).context("a path has a colon")?).arg(class);
    Ok(java)
}

/// The libraries that a program needs at run time: group, artifact, and the property of the project file with the
/// version.
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("org.jetbrains.kotlin", "kotlin-stdlib", "kotlin.version"),
    ("org.jetbrains.kotlinx", "kotlinx-coroutines-core-jvm", "coroutines.version"),
    ("net.java.dev.jna", "jna", "jna.version"),
];

/// The jars of these libraries.
fn dependencies() -> impl Iterator<Item = Result<PathBuf>> {
    LIBRARIES.into_iter().map(|(group, artifact, property)| {
        let version = property_of_the_project(property)?;
        let folder = repository().join(group.replace('.', "/")).join(artifact).join(&version);
        Ok(folder.join(format!("{artifact}-{version}.jar")))
    })
}

fn property_of_the_project(name: &str) -> Result<String> {
    let pom = fs::read_to_string(folder().join("pom.xml")).context("cannot read the project file")?;
    let document = roxmltree::Document::parse(&pom).context("the project file is not XML")?;
    let node = document.descendants().find(|node| node.has_tag_name(name));
    let text = node.and_then(|node| node.text()).with_context(|| format!("the project has no {name}"))?;
    Ok(text.to_owned())
}

/// Returns a command that runs Maven with the project's own repository, and builds everything in that folder.
fn maven_with(built: &Path) -> Command {
    let mut command = shell::command("mvn");
    if let Ok(jdk) = jdk() {
        command.env("JAVA_HOME", jdk.home);
    }
    // The virtual machine's second compiler is off: it doubles the processor time, and a build ends before that pays
    // off.
    command.env("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m");
    command.current_dir(folder()).args(["--batch-mode", "--quiet", "--no-transfer-progress"]);
    command.arg(format!("-Dmaven.repo.local={}", repository().display()));
    command.arg(format!("-Dincumbent.build={}", built.join("maven").display()));
    command.arg(format!("-Dincumbent.native={}", built.join("native").display()));
    command.arg(format!("-Dincumbent.generated={}", built.join("generated").display()));
    command
}

fn repository() -> PathBuf {
    incumbent_testkit::tools::folder().join("maven")
}

/// The path of the compiled part.
pub(crate) fn library(profile: Profile) -> PathBuf {
    let name = format!("{}incumbent_uniffi{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    shell::target().join(match profile {
        // In a development build, cargo puts a library that a program depends on into `deps`.
        Profile::Dev => Path::new("debug/deps").join(name),
        Profile::Release { .. } => Path::new("release").join(name),
    })
}

fn file_name(path: &Path) -> Result<&std::ffi::OsStr> {
    path.file_name().with_context(|| format!("{} has no name", path.display()))
}

/// The name by which JNA looks for this platform in a jar.
fn platform() -> Result<String> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x86-64",
        "aarch64" => "aarch64",
        other => bail!("the Kotlin library is not built for {other}"),
    };
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        "windows" => "win32",
        other => bail!("the Kotlin library is not built for {other}"),
    };
    Ok(format!("{system}-{architecture}"))
}

/// Builds the artefacts of a release into `target/kotlin/release`, a Maven repository: the jar with the compiled part
/// of every platform that is built, the jars of sources and documentation, and the POM. An otherwise empty project then
/// uses these artefacts.
///
/// The compiled parts of other platforms are taken from `target/kotlin/platforms`, a folder for each as in the jar,
/// where the build on each platform has left them.
pub(crate) fn package(kafka: bool) -> Result<PathBuf> {
    build(Profile::Release { kafka })?;
    let platforms = target().join("platforms");
    if platforms.is_dir() {
        // Copies the part for this platform too, because it may be built for an older C library than this machine's.
        for folder in fs::read_dir(&platforms)? {
            let folder = folder?;
            copy(&folder.path(), &target().join("native").join(folder.file_name()))?;
        }
    }
    shell::progress("mvn verify");
    // Removes the classes and resources of an earlier build.
    shell::fresh(&target().join("maven"))?;
    shell::run(maven().args(["--activate-profiles", "release", "-Dmaven.test.skip", "verify"]))?;
    let release = target().join("release");
    publish(&release)?;
    anyhow::ensure!(shell::succeeds(&mut trial(&release)?)?, "a project cannot use the packaged jar");
    for (name, mut consumer) in consumers(&release)? {
        anyhow::ensure!(shell::succeeds(&mut consumer)?, "{name} cannot use the packaged jar");
    }
    Ok(release)
}

/// Publishes the jars that Maven has built, and the POM, in a new Maven repository.
pub(crate) fn publish(repository: &Path) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let folder = shell::fresh(repository)?.join(GROUP.replace('.', "/")).join("incumbent").join(version);
    let folder = shell::fresh(&folder)?;
    for file in fs::read_dir(target().join("maven"))? {
        let path = file?.path();
        if path.extension().is_some_and(|end| end == "jar") {
            fs::copy(&path, folder.join(file_name(&path)?))
                .with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    let pom = self::folder().join("pom.xml");
    fs::copy(&pom, folder.join(format!("incumbent-{version}.pom")))
        .with_context(|| format!("cannot copy {}", pom.display()))?;
    Ok(())
}

/// The jar that [`package`] has built.
pub(crate) fn jar() -> PathBuf {
    let version = env!("CARGO_PKG_VERSION");
    let folder = target().join("release").join(GROUP.replace('.', "/")).join("incumbent").join(version);
    folder.join(format!("incumbent-{version}.jar"))
}

/// The command that runs a program's source with a jar and what it depends on, and nothing else.
pub(crate) fn java(jar: &Path) -> Result<Command> {
    let path = std::iter::once(Ok(jar.to_owned())).chain(dependencies()).collect::<Result<Vec<_>>>()?;
    let mut java = shell::command(jdk()?.home.join("bin/java"));
    java.arg("-cp").arg(std::env::join_paths(path).context("a path has a colon")?);
    Ok(java)
}

/// The group of the artefacts.
const GROUP: &str = "io.github.incumbent-rs";

/// Makes a project outside of this one that depends on the artefacts in a Maven repository, and returns the command
/// that builds it and runs its test, without the network.
pub(crate) fn trial(published: &Path) -> Result<Command> {
    let project = target().join("trial");
    copy(&folder().join("trial"), &shell::fresh(&project)?)?;
    forget_published()?;
    let mut maven = maven();
    maven.current_dir(&project).args(["-Daether.offline.protocols=file", "test"]);
    maven.arg(format!("-Dincumbent.version={}", env!("CARGO_PKG_VERSION")));
    maven.arg(format!("-Dincumbent.published=file://{}", published.display()));
    Ok(maven)
}

/// Makes an application for each of the [older versions of Kotlin](CONSUMERS), which depends on the artefacts in a
/// Maven repository. Returns the application's name, and the command that builds it and runs its test without the
/// network. [`trial`] must have run before.
pub(crate) fn consumers(published: &Path) -> Result<Vec<(String, Command)>> {
    let made = CONSUMERS.map(|versions| {
        let project = target().join("consumers").join(versions.0);
        copy(&folder().join("consumer"), &shell::fresh(&project)?)?;
        let mut maven = consumer_with(&project, versions);
        maven.args(["--offline", "-Daether.offline.protocols=file"]);
        maven.arg(format!("-Dincumbent.version={}", env!("CARGO_PKG_VERSION")));
        maven.arg(format!("-Dincumbent.published=file://{}", published.display()));
        Ok((format!("an application in Kotlin {}", versions.0), maven))
    });
    made.into_iter().collect()
}

/// The command that builds and tests such an application in its folder.
fn consumer_with(project: &Path, (kotlin, coroutines): (&str, &str)) -> Command {
    let mut maven = maven_with(project);
    maven.current_dir(project).arg("test");
    maven.arg(format!("-Dconsumer.kotlin={kotlin}")).arg(format!("-Dconsumer.coroutines={coroutines}"));
    maven
}

/// Returns a command that runs Maven on a project outside of this one that depends on the published jar. Maven fetches
/// everything else from the network.
pub(crate) fn maven_online(project: &Path) -> Result<Command> {
    forget_published()?;
    let mut maven = maven_with(project);
    maven.current_dir(project);
    maven.arg(format!("-Dincumbent.version={}", env!("CARGO_PKG_VERSION")));
    maven.arg(format!("-Dincumbent.published=file://{}", target().join("published").display()));
    Ok(maven)
}

/// Removes the artefacts of an earlier trial, which Maven would prefer.
fn forget_published() -> Result<()> {
    let known = repository().join(GROUP.replace('.', "/"));
    if known.exists() {
        fs::remove_dir_all(&known).with_context(|| format!("cannot remove {}", known.display()))?;
    }
    Ok(())
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let file = file?;
        let (from, to) = (file.path(), to.join(file.file_name()));
        if file.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maven_project_has_the_version_of_the_workspace() {
        let pom = fs::read_to_string(folder().join("pom.xml")).unwrap();
        let document = roxmltree::Document::parse(&pom).unwrap();
        let version = document.root_element().children().find(|child| child.has_tag_name("version")).unwrap();
        assert_eq!(version.text(), Some(env!("CARGO_PKG_VERSION")));
    }
}
