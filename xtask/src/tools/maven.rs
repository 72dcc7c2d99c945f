//! Java and Maven, and jars from Maven Central.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::debian;
use crate::kotlin::{self, Jdk, OLDEST};
use crate::shell;

/// The oldest Java on which Kafka 4 runs.
const JAVA: u32 = 17;

/// Finds or installs Java, which runs servers and candidates.
pub(super) fn java() -> Result<()> {
    if shell::on_path("java").is_none() {
        debian::install("openjdk-17-jre-headless").with_context(|| {
            format!("there is no java; install Java {JAVA} or newer (https://adoptium.net)")
        })?;
    }
    let reported = shell::output(shell::command("java").arg("--version"))?;
    let found = major(&reported);
    ensure!(
        found.is_some_and(|found| found >= JAVA),
        "Java {JAVA} or newer is needed (https://adoptium.net), and the path has {}",
        reported.lines().next().unwrap_or("another")
    );
    Ok(())
}

/// The major version in `openjdk 17.0.15 2025-04-15`.
fn major(reported: &str) -> Option<u32> {
    reported.split_whitespace().nth(1)?.split(['.', '-', '+']).next()?.parse().ok()
}

/// Finds or installs a JDK, which also has a compiler.
pub(super) fn jdk() -> Result<Jdk> {
    kotlin::jdk().or_else(|missing| {
        debian::install(&format!("openjdk-{OLDEST}-jdk-headless"))
            .with_context(|| format!("{missing}; install one (https://adoptium.net)"))?;
        kotlin::jdk()
    })
}

/// Finds or installs Maven.
pub(super) fn maven() -> Result<()> {
    if shell::on_path("mvn").is_none() {
        debian::install("maven")
            .context("there is no mvn; install Maven 3.8 or newer (https://maven.apache.org)")?;
    }
    Ok(())
}

/// Copies the jars that a project needs, with these versions. Maven compares each jar with its checksum, and keeps the
/// jars for the next time.
pub(super) fn copy_jars(project: &str, versions: &[(&str, &str)], jars: &Path) -> Result<()> {
    maven()?;
    let mut command = shell::command("mvn");
    command.args(["--quiet", "--batch-mode", "--strict-checksums", "--file", project]);
    command.arg("dependency:copy-dependencies").arg("-DincludeScope=runtime");
    command.args(versions.iter().map(|(name, version)| format!("-D{name}={version}")));
    shell::output(command.arg(format!("-DoutputDirectory={}", jars.display())))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_java_is_read_from_its_report() {
        assert_eq!(major("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime"), Some(17));
        assert_eq!(major("openjdk 25-ea 2025-09-16"), Some(25));
        assert_eq!(major("java 21 2023-09-19 LTS"), Some(21));
        assert_eq!(major(""), None);
    }
}
