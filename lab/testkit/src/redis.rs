//! A Redis server that lives as long as its test.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::port::Port;
use crate::process::ChildGuard;
use crate::{tools, wait};

/// A running server with default settings, on a loopback port. Dropping this value kills the server and removes its
/// folder.
#[derive(Debug)]
pub struct RedisServer {
    port: Port,
    // Declared before the folder, so that the process is dropped before the folder that it writes to.
    _child: ChildGuard,
    _folder: TempDir,
}

impl RedisServer {
    /// Starts a server, and waits until it serves.
    ///
    /// # Panics
    /// When the program is missing or does not start; the message gives the reason.
    #[track_caller]
    pub fn start() -> Self {
        let program = tools::redis_server().unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::Builder::new().prefix("incumbent-redis-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let port = Port::free();
        let log = folder.path().join("log");
        let mut command = Command::new(&program);
        command.args(["--bind", "127.0.0.1", "--port", &port.number().to_string()]);
        command.arg("--dir").arg(folder.path());
        command.stdout(File::create(&log).unwrap_or_else(|error| panic!("no log: {error}")));
        let mut child = ChildGuard::spawn(command)
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        wait::until("Redis to serve", wait::GENEROUS, || {
            if let Some(status) = child.try_wait() {
                panic!("Redis ended, {status}:\n{}", fs::read_to_string(&log).unwrap_or_default());
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

fn is_healthy(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut answer = [0; 5];
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    stream.write_all(b"PING\r\n").and_then(|()| stream.read_exact(&mut answer)).is_ok() && answer == *b"+PONG"
}
