//! Redis and PostgreSQL, for the benchmark of other locks: installed ones, or Debian's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Context, Result};
use incumbent_testkit::tools;

use super::debian;
use crate::shell;

/// Debian's name for the program of the Redis server in the package without the service.
const REDIS_OF_DEBIAN: &str = "redis-check-rdb";

pub(super) fn redis() -> Result<(PathBuf, String)> {
    if tools::redis_server().is_err() {
        // The package `redis-server` adds only a link to this one's program, and starts a service.
        debian::install("redis-tools")
            .context("there is no redis-server; install Redis 7 or newer (https://redis.io)")?;
        let installed = shell::on_path(REDIS_OF_DEBIAN)
            .with_context(|| format!("apt-get has installed redis-tools without {REDIS_OF_DEBIAN}"))?;
        let folder = tools::folder().join("redis");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let link = folder.join("redis-server");
        // One may be left of a program that is gone.
        let _ = fs::remove_file(&link);
        symlink(installed, &link).with_context(|| format!("cannot make {}", link.display()))?;
    }
    let program = tools::redis_server().map_err(anyhow::Error::msg)?;
    let reported = shell::output(shell::command(&program).arg("--version"))?;
    let number = reported.split_once(" v=").and_then(|(_, rest)| rest.split(' ').next());
    let number = number.with_context(|| format!("{} reports no version: {reported}", program.display()))?;
    Ok((program, format!("Redis {number}")))
}

pub(super) fn postgres() -> Result<(PathBuf, String)> {
    if tools::postgres("initdb").is_err() {
        debian::install("postgresql")
            .context("there is no initdb; install PostgreSQL 13 or newer (https://www.postgresql.org)")?;
    }
    let program = tools::postgres("postgres").map_err(anyhow::Error::msg)?;
    let reported = shell::output(shell::command(&program).arg("--version"))?;
    // "postgres (PostgreSQL) 15.14 (Debian …)"
    let number = reported.split(' ').nth(2).unwrap_or_default().trim();
    Ok((program, format!("PostgreSQL {number}")))
}
