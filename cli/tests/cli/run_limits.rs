//! `incumbent run` when no more threads or processes may be created.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::support::{Running, Scratch};

/// A user that has no other processes.
const LONE_USER: &str = "47321";

#[test]
fn at_a_limit_of_processes_it_says_so_and_fails() {
    let scratch = Scratch::made();
    let program = scratch.folder.path().join("incumbent");
    fs::copy(env!("CARGO_BIN_EXE_incumbent"), &program).unwrap();
    fs::set_permissions(scratch.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let limited = |words: &[&str]| {
        let mut run = Command::new("setpriv");
        run.args(["--reuid", LONE_USER, "--regid", LONE_USER, "--clear-groups"]);
        run.args(["prlimit", "--nproc=1"]).args(words).env_remove("TMPDIR");
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run
    };
    if !limited(&["true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("no other user can be had here: nothing to test");
        return;
    }
    let words = [program.to_str().unwrap(), "run", "--store", &scratch.url, "--key", "jobs", "--", "true"];
    let ended = Running::start(limited(&words)).wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.starts_with("incumbent: no thread can be started: "), "{ended:?}");
    assert!(ended.stderr.contains("raise the limit on processes and threads"), "{ended:?}");
}
