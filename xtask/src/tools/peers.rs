//! Redis, PostgreSQL and ZooKeeper, for the benchmark of other locks: installed ones, Debian's packages, and jars from
//! Maven Central.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Context, Result};
use incumbent_testkit::tools::{self, CURATOR, ZOOKEEPER};

use super::{debian, maven};
use crate::shell;

/// The name under which Debian's package without the service contains the program of the Redis server.
const REDIS_OF_DEBIAN: &str = "redis-check-rdb";

pub(super) fn redis() -> Result<(PathBuf, String)> {
    if tools::redis_server().is_err() {
        // The package `redis-server` would only add a link to the program of `redis-tools`, and start a service.
        debian::install("redis-tools")
            .context("there is no redis-server; install Redis 7 or newer (https://redis.io)")?;
        let installed = shell::on_path(REDIS_OF_DEBIAN)
            .with_context(|| format!("apt-get has installed redis-tools without {REDIS_OF_DEBIAN}"))?;
        let folder = tools::folder().join("redis");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let link = folder.join("redis-server");
        // Removes a link that may be left from a program that no longer exists.
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

pub(super) fn zookeeper() -> Result<(PathBuf, String)> {
    maven::java()?;
    if tools::zookeeper_jars().is_err() {
        shell::progress(format!("ZooKeeper {ZOOKEEPER} from Maven Central"));
        let versions = [("zookeeper", ZOOKEEPER), ("curator", CURATOR)];
        let jars = tools::folder().join("zookeeper").join(format!("{ZOOKEEPER}-{CURATOR}"));
        // Copies into another folder first, so that an interrupted copy is not taken for a complete one.
        let copied = jars.with_file_name("new");
        let _ = fs::remove_dir_all(&copied);
        maven::copy_jars("lab/interop/zookeeper", &versions, &copied)?;
        let _ = fs::remove_dir_all(&jars);
        fs::rename(&copied, &jars).with_context(|| format!("cannot make {}", jars.display()))?;
    }
    Ok((tools::zookeeper_jars().map_err(anyhow::Error::msg)?, format!("ZooKeeper {ZOOKEEPER}")))
}

/// Compiles the candidate on Curator's latch. It is compiled each time, because that takes only a second.
pub(super) fn curator() -> Result<(PathBuf, String)> {
    let jdk = maven::jdk()?;
    let jars = tools::zookeeper_jars().map_err(anyhow::Error::msg)?;
    let classes = tools::curator_classes();
    let mut compile = shell::command(jdk.home.join("bin/javac"));
    compile.args(["-Xlint:all", "-Werror", "--release", "17", "-cp"]).arg(jars.join("*"));
    shell::run(compile.arg("-d").arg(&classes).arg("lab/interop/zookeeper/Candidate.java"))?;
    Ok((classes, format!("Curator {CURATOR}")))
}
