//! The JDK and Maven, which build the Kotlin library.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::debian;
use crate::kotlin::{self, OLDEST};
use crate::shell;

/// Finds or installs a JDK and Maven, and fetches what the build needs into `target/tools/maven`: later builds need no
/// network.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    let jdk = kotlin::jdk().or_else(|missing| {
        debian::install(&format!("openjdk-{OLDEST}-jdk-headless")).with_context(|| {
            format!("{missing}; install one (https://adoptium.net), or say `--without java`")
        })?;
        kotlin::jdk()
    })?;
    if shell::on_path("mvn").is_none() {
        debian::install("maven").context(
            "there is no mvn; install Maven 3.8 or newer (https://maven.apache.org), or say `--without java`",
        )?;
    }
    kotlin::fetch()?;
    Ok((jdk.home, format!("JDK {}", jdk.version)))
}
