//! nats-server, in every version that the tests use.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use incumbent_testkit::tools::{self, NATS_SERVER, NatsVersion};

use crate::shell;

const MODULE: &str = "github.com/nats-io/nats-server/v2";
/// The oldest series on which an election can run.
const FLOOR: (u32, u32) = (2, 10);

/// Finds or installs a version of nats-server.
pub(super) fn provide(version: NatsVersion) -> Result<(PathBuf, String)> {
    match tools::nats_server(version) {
        Ok(found) if is_acceptable(&found, version) => return described(found),
        // The tests would use the program that the variable names, even if others are installed.
        Ok(found) if is_named(&found) => bail!("${NATS_SERVER} names {}, too old or broken", found.display()),
        _ => {}
    }
    let folder = tools::folder().join("nats-server").join(version.number());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let attempts = [go_install as fn(NatsVersion, &Path) -> Result<PathBuf>, debian_package];
    let mut reasons = Vec::new();
    for attempt in attempts {
        match attempt(version, &folder).and_then(|program| checked(program, version)) {
            Ok(program) => return described(program),
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    bail!(
        "nats-server {version}: install Go 1.26 or newer (https://go.dev/dl), or put a nats-server into {} ({})",
        folder.display(),
        reasons.join("; ")
    )
}

fn is_named(program: &Path) -> bool {
    std::env::var_os(NATS_SERVER).is_some_and(|named| Path::new(&named) == program)
}

fn go_install(version: NatsVersion, folder: &Path) -> Result<PathBuf> {
    let go = shell::on_path("go").context("Go is not on the path")?;
    shell::progress(format!("go install {MODULE}@v{version}"));
    let module = format!("{MODULE}@v{version}");
    // Runs outside of the workspace's folders, so that no go.mod interferes.
    shell::run(
        shell::command(go)
            .args(["install", &module])
            .env("GOBIN", folder)
            .env_remove("GOFLAGS")
            .current_dir("/"),
    )?;
    Ok(folder.join("nats-server"))
}

/// Unpacks Debian's package into a folder instead of installing it. So root is not needed, and no service is started.
fn debian_package(version: NatsVersion, folder: &Path) -> Result<PathBuf> {
    if shell::on_path("apt-get").is_none() || shell::on_path("dpkg-deb").is_none() {
        bail!("this system is not Debian");
    }
    shell::progress(format!("Debian's package of nats-server, for {version}"));
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    shell::output(shell::command("apt-get").args(["download", "nats-server"]).current_dir(&scratch))?;
    let mut files = fs::read_dir(&scratch)?.filter_map(|entry| Some(entry.ok()?.path()));
    let package = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.context("apt-get downloaded nothing")?;
    shell::output(shell::command("dpkg-deb").arg("-x").arg(package).arg(scratch.path()))?;
    let unpacked = scratch.path().join("usr/sbin/nats-server");
    checked(unpacked.clone(), version)?;
    let program = folder.join("nats-server");
    fs::copy(unpacked, &program).context("cannot copy Debian's nats-server")?;
    Ok(program)
}

fn checked(program: PathBuf, version: NatsVersion) -> Result<PathBuf> {
    if is_acceptable(&program, version) {
        return Ok(program);
    }
    let found = reported(&program)?;
    Err(match version {
        NatsVersion::Newest => anyhow!("{found} is older than {}.{}, the oldest supported", FLOOR.0, FLOOR.1),
        other => anyhow!("{found} is not {other}"),
    })
}

/// Returns true if the program can be used as this version. The newest may be any supported version; any other version
/// must be of the same series.
fn is_acceptable(program: &Path, version: NatsVersion) -> bool {
    let Ok(series) = reported(program).and_then(|text| series(&text)) else { return false };
    match version {
        NatsVersion::Newest => series >= FLOOR,
        other => self::series(other.number()).is_ok_and(|wanted| wanted == series),
    }
}

fn described(program: PathBuf) -> Result<(PathBuf, String)> {
    let version = reported(&program)?;
    Ok((program, version))
}

/// The version that the program reports: `nats-server: v2.15.1`.
fn reported(program: &Path) -> Result<String> {
    let text = shell::output(shell::command(program).arg("--version"))?;
    Ok(text.trim().replace(": v", " "))
}

fn series(text: &str) -> Result<(u32, u32)> {
    let number = text.rsplit(' ').next().unwrap_or(text);
    let mut parts = number.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => bail!("{text:?} names no version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_read_from_a_number_and_from_what_the_program_says() {
        assert_eq!(series("2.10.27").unwrap(), (2, 10));
        assert_eq!(series("nats-server 2.15.1").unwrap(), (2, 15));
        assert!(series("nats-server").is_err());
    }
}
