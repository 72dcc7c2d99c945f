//! A PostgreSQL server that lives as long as its test.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::port::Port;
use crate::process::ChildGuard;
use crate::{tools, wait};

/// The system's user for a server that root starts: PostgreSQL refuses to run as root.
const USER: &str = "postgres";
/// The time in which a server may end by itself and so remove its shared memory, before it is killed.
const STOPPING: Duration = Duration::from_secs(5);

/// A running server with default settings, on a loopback port. Dropping this value stops the server and removes its
/// folder.
#[derive(Debug)]
pub struct PostgresServer {
    port: Port,
    // Declared before the folder, so that the process is dropped before the folder that it writes to.
    child: ChildGuard,
    _folder: TempDir,
}

impl PostgresServer {
    /// Makes a database, starts a server, and waits until it serves.
    ///
    /// # Panics
    /// When the program is missing or does not start; the message gives the reason.
    #[track_caller]
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("incumbent-postgres-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        if is_root() {
            let id = |which| id(&[which, USER]).unwrap_or_else(|| panic!("there is no user {USER}"));
            let given = chown(folder.path(), Some(id("-u")), Some(id("-g")));
            given.unwrap_or_else(|error| panic!("{USER} cannot have {}: {error}", folder.path().display()));
        }
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let mut initdb = command("initdb", folder.path());
        initdb.arg("-D").arg(&data).args(["--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"]);
        let made = initdb.args(["--username", USER]).output();
        let made = made.unwrap_or_else(|error| panic!("initdb does not start: {error}"));
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));

        let port = Port::free();
        let mut postgres = command("postgres", folder.path());
        postgres.arg("-D").arg(&data).args(["-p", &port.number().to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        postgres.stderr(File::create(&log).unwrap_or_else(|error| panic!("no log: {error}")));
        let child = ChildGuard::spawn(postgres);
        let mut child = child.unwrap_or_else(|error| panic!("postgres does not start: {error}"));
        wait::until("PostgreSQL to serve", wait::GENEROUS, || {
            let log = fs::read_to_string(&log).unwrap_or_default();
            if let Some(status) = child.try_wait() {
                panic!("PostgreSQL ended, {status}:\n{log}");
            }
            log.contains("database system is ready to accept connections")
        });
        Self { port, child, _folder: folder }
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@{}/postgres", self.address())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // `SIGINT` is PostgreSQL's fast shutdown, which disconnects clients. If the process does not end, dropping the
        // guard kills it.
        self.child.interrupt();
        let stopping = Instant::now();
        while self.child.try_wait().is_none() && stopping.elapsed() < STOPPING {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns a command that runs a program of PostgreSQL as another user than root.
#[track_caller]
fn command(name: &str, folder: &Path) -> Command {
    let program = tools::postgres(name).unwrap_or_else(|error| panic!("{error}"));
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        // A change of user clears the death signal that the guard has requested from the kernel.
        command.args([OsStr::new("--reuid"), USER.as_ref(), "--regid".as_ref(), USER.as_ref()]);
        command.args(["--init-groups", "--pdeathsig", "KILL"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(folder);
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The number that `id` prints for these arguments.
fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
