//! Every program of `examples/shell`, run unchanged.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/shell")
}

/// Runs an example in a folder, with the program on the path.
fn run(example: &str, inside: &TempDir) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_incumbent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.arg(folder().join(example)).current_dir(inside.path()).env("PATH", path);
    shell.env_remove("INCUMBENT_STORE").stdin(Stdio::null()).output().unwrap()
}

#[test]
fn one_of_many_leads_for_as_long_as_its_command_runs() {
    let inside = tempfile::tempdir().unwrap();
    let output = run("one-of-many.sh", &inside);
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("leading in nightly-report with token "), "{stdout}");
    assert!(inside.path().join("elections.db").exists());
}

#[test]
fn of_two_timers_only_the_first_does_the_job() {
    // The folder is in memory if the machine has such a file system, because a busy disk would hold up an example for
    // longer than its job.
    let inside = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let init = ["init", "--store", "sqlite:elections.db", "--new"];
    let status = Command::new(env!("CARGO_BIN_EXE_incumbent")).args(init).current_dir(inside.path()).output();
    assert!(status.unwrap().status.success());
    let outputs = thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(|| run("only-the-first.sh", &inside)));
        runs.map(|run| run.join().unwrap())
    });
    let mut lines = outputs.map(|output| {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    });
    lines.sort();
    assert_eq!(lines, ["another machine does the job\n", "the job runs\n"]);
}

#[test]
fn every_example_is_run() {
    let mut names: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["one-of-many.sh", "only-the-first.sh"]);
}
