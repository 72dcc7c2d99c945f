//! The programs of `lab/interop`'s `go`, `etcd`, `kafka` and `peers`, which Rust tests and benchmarks run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use incumbent_testkit::tools;

use crate::shell;

/// A call of `go build`: the program's name and the arguments. The name is empty if each program has the name of its
/// folder.
type Build = (&'static str, &'static [&'static str]);

/// The programs on the client of NATS.
pub(super) fn nats() -> Result<(PathBuf, String)> {
    provide("lab/interop/go", &[("", &["./cmd/..."])], tools::go_programs())
}

/// The programs on the client of etcd. The server in the same module is a [tool](super::etcd) of its own.
pub(super) fn etcd() -> Result<(PathBuf, String)> {
    provide("lab/interop/etcd", &[("", &["./cmd/candidate", "./cmd/handover"])], tools::go_etcd_programs())
}

/// The programs on Kafka's clients. The candidate is built on two versions of its client, with two lists of modules.
pub(super) fn kafka() -> Result<(PathBuf, String)> {
    let builds: [Build; 3] = [
        ("admin", &["./cmd/admin"]),
        ("candidate-1.8", &["./cmd/candidate"]),
        ("candidate-1.4", &["-modfile=confluent-1.4.mod", "./cmd/candidate"]),
    ];
    provide("lab/interop/kafka", &builds, tools::go_kafka_programs())
}

/// The programs on locks in Redis and PostgreSQL.
pub(super) fn peers() -> Result<(PathBuf, String)> {
    provide("lab/interop/peers", &[("", &["./cmd/..."])], tools::go_peer_programs())
}

/// Builds the programs each time, because Go knows what has changed, and is quick if nothing has.
fn provide(source: &str, builds: &[Build], folder: PathBuf) -> Result<(PathBuf, String)> {
    let go = shell::on_path("go").with_context(|| {
        format!(
            "the programs of {source}: install Go 1.26 or newer (https://go.dev/dl), or pass `--without go`"
        )
    })?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, arguments) in builds {
        let mut build = shell::command(&go);
        build.arg("build").arg("-o").arg(folder.join(name)).args(*arguments);
        shell::run(build.current_dir(shell::root().join(source)))?;
    }
    let version = shell::output(shell::command(go).args(["env", "GOVERSION"]))?;
    Ok((folder, version.trim().replacen("go", "go ", 1)))
}
