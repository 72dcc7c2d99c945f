//! The commands that the README shows.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use incumbent_testkit::process::ChildGuard;

use crate::support::LIMIT;

/// The lines of the README's shell examples, in their order.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let examples = readme.split("```").skip(1).step_by(2);
    let shell = examples.filter_map(|example| example.strip_prefix("sh\n"));
    shell.flat_map(str::lines).map(str::to_string).collect()
}

/// The command that a test runs for a line of the README: cargo's alias is the program built already, and
/// a demo that would go on until Ctrl-C ends soon.
fn typed(line: &str) -> String {
    match line {
        "cargo demo" => "incumbent demo --for 4s".into(),
        line => line.into(),
    }
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_incumbent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut ran = 0;
    // `cargo xtask test` runs this test; it also packages the components, and runs the host's example.
    let elsewhere = |line: &str| line.starts_with("cargo xtask ") || line.starts_with("cargo run ");
    for line in commands().iter().filter(|line| !elsewhere(line)) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &typed(line)]).current_dir(folder.path()).env("PATH", &path);
        shell.env_remove("INCUMBENT_STORE").stdin(Stdio::null()).stdout(Stdio::null());
        let status = ChildGuard::spawn(shell).unwrap().wait(LIMIT);
        assert!(status.success(), "{line}: {status}");
        ran += 1;
    }
    assert_eq!(ran, 4);
}

#[test]
fn the_readme_names_the_version_there_is() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let version = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    assert!(readme.contains(&format!("incumbent = \"{version}\"")));
}
