//! The JDK and Maven, which build the Kotlin library.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::maven;
use crate::kotlin;

/// Finds or installs a JDK and Maven, and fetches what the build needs into `target/tools/maven`: later builds need no
/// network.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    let without = "the Kotlin library, which `--without java` leaves out";
    let jdk = maven::jdk().context(without)?;
    maven::maven().context(without)?;
    kotlin::fetch()?;
    Ok((jdk.home, format!("JDK {}", jdk.version)))
}
