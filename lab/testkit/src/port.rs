//! Loopback ports that stay reserved while a server is down.

use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;

/// The range has enough ports for all tests at the same time. Each reserved port leaves an empty file behind.
const RANGE: Range<u16> = 20_000..24_000;

/// A TCP port of 127.0.0.1, reserved among all tests of this machine until this value is dropped.
///
/// The port is below the system's range for outgoing connections. Otherwise a client that keeps dialling a stopped
/// server could get the server's port as its own, and connect to itself.
#[derive(Debug)]
pub struct Port {
    number: u16,
    // An advisory lock. The system releases it when the process ends, even after a crash.
    _lock: File,
}

impl Port {
    /// Reserves a port that has no listener.
    ///
    /// # Panics
    /// When no port is free, or the folder of the locks cannot be written.
    pub fn free() -> Self {
        let folder = std::env::temp_dir().join("incumbent-test-ports");
        if let Err(error) = fs::create_dir_all(&folder) {
            panic!("cannot make {}: {error}", folder.display());
        }
        for _ in 0..1000 {
            let number = fastrand::u16(RANGE);
            let path = folder.join(number.to_string());
            let lock = match File::create(&path) {
                Ok(lock) => lock,
                Err(error) => panic!("cannot make {}: {error}", path.display()),
            };
            if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Self { number, _lock: lock };
            }
        }
        panic!("no free port in {RANGE:?} on 127.0.0.1");
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_port_is_given_to_one_at_a_time() {
        let ports: Vec<Port> = (0..200).map(|_| Port::free()).collect();
        let numbers: HashSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), 200);
    }

    #[test]
    fn no_process_listens_on_a_free_port() {
        let port = Port::free();
        assert!(TcpListener::bind(("127.0.0.1", port.number())).is_ok());
    }
}
