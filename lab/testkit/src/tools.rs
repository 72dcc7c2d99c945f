//! The paths of the servers' programs, which `cargo xtask tools` installs.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The environment variable that names a nats-server to use instead of the newest.
pub const NATS_SERVER: &str = "NATS_SERVER";

/// The environment variable that is set if the machine deliberately lacks Go, and therefore the older servers, which
/// are built with Go.
pub const WITHOUT_GO: &str = "INCUMBENT_WITHOUT_GO";

/// A version of nats-server in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum NatsVersion {
    /// The newest; `$NATS_SERVER` may name another program for it.
    #[default]
    Newest,
    /// The oldest version that is supported with three replicas.
    V2_12,
    /// The oldest version that is supported with one replica.
    V2_10,
}

impl NatsVersion {
    /// All of them, newest first.
    pub const ALL: [Self; 3] = [Self::Newest, Self::V2_12, Self::V2_10];

    /// The versions that a test of all versions runs on: all, or only the installed ones if [`WITHOUT_GO`] is set.
    pub fn tested() -> Vec<Self> {
        let without_go = std::env::var_os(WITHOUT_GO).is_some();
        Self::ALL.into_iter().filter(|version| !without_go || nats_server(*version).is_ok()).collect()
    }

    /// The version's number, which is also the name of its folder in `target/tools/nats-server`.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Newest => "2.15.1",
            Self::V2_12 => "2.12.15",
            Self::V2_10 => "2.10.27",
        }
    }
}

impl fmt::Display for NatsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

/// A version of etcd in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum EtcdVersion {
    /// The newest.
    #[default]
    Newest,
    /// The version of Debian, the oldest that is supported.
    V3_4,
}

impl EtcdVersion {
    /// Both, newest first.
    pub const ALL: [Self; 2] = [Self::Newest, Self::V3_4];

    /// The versions that a test of all versions runs on: all, or only the installed ones if [`WITHOUT_GO`] is set.
    pub fn tested() -> Vec<Self> {
        let without_go = std::env::var_os(WITHOUT_GO).is_some();
        Self::ALL.into_iter().filter(|version| !without_go || etcd(*version).is_ok()).collect()
    }

    /// The version's number, which is also the name of its folder in `target/tools/etcd`.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Newest => "3.7.3",
            Self::V3_4 => "3.4.23",
        }
    }
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

/// A version of Apache Kafka in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum KafkaVersion {
    /// The newest version, with classic groups and those of KIP-848.
    #[default]
    Newest,
    /// The last version that serves clients from before Kafka 0.10. It has only classic groups.
    V3_9,
}

impl KafkaVersion {
    /// Both, newest first.
    pub const ALL: [Self; 2] = [Self::Newest, Self::V3_9];

    /// The version's number, which is also the name of its folder in `target/tools/kafka`.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Newest => "4.3.1",
            Self::V3_9 => "3.9.2",
        }
    }
}

impl fmt::Display for KafkaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

/// The files of a version of Kafka.
#[derive(Clone, Debug)]
pub struct KafkaFiles {
    folder: PathBuf,
    jars: Vec<PathBuf>,
}

impl KafkaFiles {
    /// The installed jars of a version, in the folder `jars`.
    ///
    /// # Errors
    /// Its expected path, and the command that installs it.
    pub fn find(version: KafkaVersion) -> Result<Self, String> {
        let folder = folder().join("kafka").join(version.number());
        let missing = || format!("no Kafka {version} in {}; run `cargo xtask tools`", folder.display());
        let files = folder.join("jars").read_dir().map_err(|_| missing())?;
        let mut jars: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        // Java accepts an archive of classes only with the class path for which the archive was made, so the order is
        // fixed.
        jars.sort();
        let broker = folder.join("jars").join(format!("kafka_2.13-{version}.jar"));
        if jars.contains(&broker) { Ok(Self { folder, jars }) } else { Err(missing()) }
    }

    /// All jars, separated for Java.
    pub fn class_path(&self) -> OsString {
        // Joining fails only for a path with a colon. Cargo cannot build in such a folder, so no jar's path has one.
        std::env::join_paths(&self.jars).unwrap_or_default()
    }

    /// The archive of the classes that a broker loads. It halves the broker's time to start.
    pub fn archive(&self) -> PathBuf {
        self.folder.join("classes.jsa")
    }

    /// The file with the first records of a new cluster, as the version's own tool writes them.
    pub fn bootstrap(&self) -> PathBuf {
        self.folder.join("bootstrap.checkpoint")
    }
}

/// A program of `lab/interop/kafka`, by the name that it was built with.
///
/// # Errors
/// Its expected path, and the command that builds it.
pub fn go_kafka_program(name: &str) -> Result<PathBuf, String> {
    let program = go_kafka_programs().join(name);
    if is_program(&program) {
        return Ok(program);
    }
    Err(format!("no Go program {}: run `cargo xtask tools`", program.display()))
}

/// The folder of the programs of `lab/interop/kafka`.
pub fn go_kafka_programs() -> PathBuf {
    folder().join("interop-kafka")
}

/// The program of a version of etcd.
///
/// # Errors
/// Its expected path, and the command that installs it.
pub fn etcd(version: EtcdVersion) -> Result<PathBuf, String> {
    let program = folder().join("etcd").join(version.number()).join("etcd");
    if is_program(&program) {
        return Ok(program);
    }
    Err(format!("no etcd {version}: {} does not exist; run `cargo xtask tools`", program.display()))
}

/// The command line of etcd, in Debian's version.
///
/// # Errors
/// Its expected path, and the command that installs it.
pub fn etcdctl() -> Result<PathBuf, String> {
    let program = folder().join("etcd").join(EtcdVersion::V3_4.number()).join("etcdctl");
    if is_program(&program) {
        return Ok(program);
    }
    Err(format!("no etcdctl: {} does not exist; run `cargo xtask tools`", program.display()))
}

/// A component that `cargo xtask package component` has built.
///
/// # Errors
/// The path that was searched, and the command that builds it.
pub fn component(name: &str) -> Result<PathBuf, String> {
    let target = folder().parent().map_or_else(folder, Path::to_owned);
    let file = target.join("components").join(name).with_extension("wasm");
    match file.is_file() {
        true => Ok(file),
        false => Err(format!("there is no {}; run `cargo xtask package component`", file.display())),
    }
}

/// The program of a version of nats-server.
///
/// The newest is searched for in `$NATS_SERVER`, in `target/tools` and on the path; an older one in
/// `target/tools` only.
///
/// # Errors
/// The version and the paths that were searched, and the command that installs it.
pub fn nats_server(version: NatsVersion) -> Result<PathBuf, String> {
    let installed = folder().join("nats-server").join(version.number()).join("nats-server");
    if version == NatsVersion::Newest {
        if let Some(named) = std::env::var_os(NATS_SERVER).filter(|named| !named.is_empty()) {
            let named = PathBuf::from(named);
            return if is_program(&named) {
                Ok(named)
            } else {
                Err(format!("{NATS_SERVER} names {}, which is not a program", named.display()))
            };
        }
        if !is_program(&installed)
            && let Some(found) = on_path("nats-server")
        {
            return Ok(found);
        }
    }
    if is_program(&installed) {
        return Ok(installed);
    }
    Err(format!("no nats-server {version}: {} does not exist; run `cargo xtask tools`", installed.display()))
}

/// A program of `lab/interop/go`: `candidate` or `watch`.
///
/// # Errors
/// Its expected path, and the command that builds it.
pub fn go_program(name: &str) -> Result<PathBuf, String> {
    let program = go_programs().join(name);
    if is_program(&program) {
        return Ok(program);
    }
    Err(format!("no Go program {}: run `cargo xtask tools`", program.display()))
}

/// A program of `lab/interop/etcd`: `candidate` or `handover`.
///
/// # Errors
/// Its expected path, and the command that builds it.
pub fn go_etcd_program(name: &str) -> Result<PathBuf, String> {
    let program = go_etcd_programs().join(name);
    if is_program(&program) {
        return Ok(program);
    }
    Err(format!("no Go program {}: run `cargo xtask tools`", program.display()))
}

/// A program of `lab/interop/peers`: `redsync` or `pgadvisory`.
///
/// # Errors
/// Its expected path, and the command that builds it.
pub fn go_peer_program(name: &str) -> Result<PathBuf, String> {
    let program = go_peer_programs().join(name);
    if is_program(&program) {
        return Ok(program);
    }
    Err(format!("no Go program {}: run `cargo xtask tools peers`", program.display()))
}

/// The folder of the programs of `lab/interop/peers`.
pub fn go_peer_programs() -> PathBuf {
    folder().join("interop-peers")
}

/// The Redis server: on the path, or in `target/tools`.
///
/// # Errors
/// Its expected path, and the command that installs it.
pub fn redis_server() -> Result<PathBuf, String> {
    let installed = folder().join("redis").join("redis-server");
    if is_program(&installed) {
        return Ok(installed);
    }
    let missing = || format!("no redis-server {}: run `cargo xtask tools peers`", installed.display());
    on_path("redis-server").ok_or_else(missing)
}

/// A program of the PostgreSQL server, such as `initdb`: on the path, or the newest of Debian's.
///
/// # Errors
/// The folder that was searched, and the command that installs it.
pub fn postgres(name: &str) -> Result<PathBuf, String> {
    const VERSIONS: &str = "/usr/lib/postgresql";
    if let Some(found) = on_path("initdb").and_then(|initdb| Some(initdb.parent()?.join(name))) {
        return Ok(found);
    }
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let mut folders: Vec<PathBuf> =
        Path::new(VERSIONS).read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort_by_key(number);
    let programs = folders.into_iter().rev().map(|folder| folder.join("bin").join(name));
    programs
        .into_iter()
        .find(|program| is_program(program))
        .ok_or_else(|| format!("no {name} in {VERSIONS}: run `cargo xtask tools peers`"))
}

/// The version of ZooKeeper in the benchmark `peers`.
pub const ZOOKEEPER: &str = "3.9.5";
/// The version of Curator, its client.
pub const CURATOR: &str = "5.9.0";

/// The folder with the jars of ZooKeeper and of Curator, and of what they need.
///
/// # Errors
/// Its expected path, and the command that installs it.
pub fn zookeeper_jars() -> Result<PathBuf, String> {
    let jars = folder().join("zookeeper").join(format!("{ZOOKEEPER}-{CURATOR}"));
    let named = [format!("zookeeper-{ZOOKEEPER}.jar"), format!("curator-recipes-{CURATOR}.jar")];
    if named.iter().all(|name| jars.join(name).is_file()) {
        return Ok(jars);
    }
    Err(format!("no ZooKeeper {ZOOKEEPER} in {}; run `cargo xtask tools peers`", jars.display()))
}

/// The folder of the class `Candidate` of `lab/interop/zookeeper`.
///
/// # Errors
/// Its expected path, and the command that builds it.
pub fn curator_candidate() -> Result<PathBuf, String> {
    let classes = curator_classes();
    if classes.join("Candidate.class").is_file() {
        return Ok(classes);
    }
    Err(format!("no Candidate in {}: run `cargo xtask tools peers`", classes.display()))
}

/// The folder of the classes of `lab/interop/zookeeper`.
pub fn curator_classes() -> PathBuf {
    folder().join("interop-zookeeper")
}

/// The folder of the programs of `lab/interop/etcd`.
pub fn go_etcd_programs() -> PathBuf {
    folder().join("interop-etcd")
}

/// The folder of the programs of `lab/interop/go`.
pub fn go_programs() -> PathBuf {
    folder().join("interop-go")
}

/// Returns `target/tools` of this workspace, or `tools` in `$CARGO_TARGET_DIR` if that is set.
pub fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).unwrap_or(here);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    workspace.join(target).join("tools")
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_not_be_run_is_no_program() {
        assert!(is_program(Path::new("/bin/sh")));
        assert!(!is_program(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path()));
        assert!(!is_program(Path::new("/")));
    }
}
