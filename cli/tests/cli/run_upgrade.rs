//! The program's file is replaced while candidates run, as in a package's upgrade.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use incumbent_testkit::process;
use incumbent_testkit::wait;
use rustix::process::Signal;

use crate::run_held_up::guard;
use crate::support::{LIMIT, Running, Scratch, incumbent, sequence};

/// A copy of the program, which can be replaced.
struct Installed {
    path: PathBuf,
    scratch: Scratch,
}

impl Installed {
    fn new() -> Self {
        let scratch = Scratch::made();
        let path = scratch.folder.path().join("incumbent");
        fs::copy(env!("CARGO_BIN_EXE_incumbent"), &path).unwrap();
        Self { path, scratch }
    }

    fn started(&self, words: &[&str]) -> Running {
        let common =
            ["run", "--store", &self.scratch.url, "--key", "jobs", "--lease", "30s", "--splay", "0s"];
        let plain = incumbent(&[&common[..], words].concat());
        let mut run = Command::new(&self.path);
        run.args(plain.get_args());
        for (variable, value) in plain.get_envs() {
            match value {
                Some(value) => run.env(variable, value),
                None => run.env_remove(variable),
            };
        }
        let piped = std::process::Stdio::piped;
        Running::start({
            run.stdin(std::process::Stdio::null()).stdout(piped()).stderr(piped());
            run
        })
    }

    /// Replaces the program's file, as packages do, with one that cannot be run.
    fn upgrade(&self) {
        let new = self.scratch.folder.path().join("new");
        fs::write(&new, "another version").unwrap();
        fs::rename(&new, &self.path).unwrap();
    }
}

#[test]
fn a_command_is_started_again_after_an_upgrade() {
    let installed = Installed::new();
    let script = "echo leads with $INCUMBENT_SEQUENCE; sleep 0.5";
    let mut run = installed.started(&["--on-exit", "restart", "--", "sh", "-c", script]);
    let first = sequence(&mut run);
    installed.upgrade();
    assert_eq!(sequence(&mut run), first, "in the same term");
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn a_guard_that_is_killed_after_an_upgrade_is_replaced() {
    let installed = Installed::new();
    let mut run =
        installed.started(&["--", "sh", "-c", "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000"]);
    sequence(&mut run);
    let first = guard(&run);
    installed.upgrade();
    process::kill(first);
    wait::until("another guard", LIMIT, || guard(&run) != first);
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}
