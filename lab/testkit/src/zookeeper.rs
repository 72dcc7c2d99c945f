//! A ZooKeeper server that lives as long as its test.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::port::Port;
use crate::process::ChildGuard;
use crate::{tools, wait};

/// The longest time that a server may take to serve: Java is slow to start on a machine that is also building.
const STARTUP: Duration = Duration::from_secs(60);

/// A single running server, on a loopback port. Dropping this value kills the server and removes its folder.
#[derive(Debug)]
pub struct ZookeeperServer {
    port: Port,
    // Declared before the folder, so that the process is dropped before the folder that it writes to.
    _child: ChildGuard,
    _folder: TempDir,
}

impl ZookeeperServer {
    /// The tick in ZooKeeper's sample settings, `zoo_sample.cfg`.
    pub const TICK: Duration = Duration::from_secs(2);

    /// Starts a server with default settings except for its tick, and waits until it serves. It grants sessions of 2 to
    /// 20 ticks, and ends expired sessions at each tick.
    ///
    /// # Panics
    /// When the jars are missing, or the server does not start; the message gives the reason.
    #[track_caller]
    pub fn start(tick: Duration) -> Self {
        let jars = tools::zookeeper_jars().unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::Builder::new().prefix("incumbent-zookeeper-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let port = Port::free();
        let (settings, log) = (folder.path().join("zoo.cfg"), folder.path().join("log"));
        let text = format!(
            "tickTime={}\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n",
            tick.as_millis(),
            folder.path().join("data").display(),
            port.number()
        );
        fs::write(&settings, text).unwrap_or_else(|error| panic!("no settings: {error}"));
        let written = File::create(&log).unwrap_or_else(|error| panic!("no log: {error}"));
        let again = written.try_clone().unwrap_or_else(|error| panic!("no log: {error}"));
        let mut command = Command::new("java");
        command.args(["-Xmx256m", "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]);
        command.arg("-cp").arg(jars.join("*")).arg("org.apache.zookeeper.server.ZooKeeperServerMain");
        command.arg(&settings).stdout(written).stderr(again);
        let mut child = ChildGuard::spawn(command)
            .unwrap_or_else(|error| panic!("cannot start java: {error}; run `cargo xtask tools peers`"));
        wait::until("ZooKeeper to serve", STARTUP, || {
            if let Some(status) = child.try_wait() {
                panic!("ZooKeeper ended, {status}:\n{}", fs::read_to_string(&log).unwrap_or_default());
            }
            is_healthy(port.number())
        });
        Self { port, _child: child, _folder: folder }
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }
}

/// Returns true if the server answers `srvr`, the only four-letter command that it allows by default.
fn is_healthy(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut answer = String::new();
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let answered = stream.write_all(b"srvr").and_then(|()| stream.read_to_string(&mut answer));
    answered.is_ok() && answer.contains("Mode: standalone")
}
