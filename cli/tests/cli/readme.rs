//! The commands in the READMEs and in the pages on handlers and services.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::ChildGuard;

use crate::support::{LIMIT, Running, ended, sequence};

/// The lines of the shell examples in a page, in the order of the page.
fn commands(page: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let examples = page.split("```").skip(1).step_by(2);
    let shell = examples.filter_map(|example| example.strip_prefix("sh\n"));
    shell.flat_map(str::lines).map(str::to_string).collect()
}

/// The command that a test runs for a line. The built program replaces cargo's alias, and a demo ends soon instead of
/// running until Ctrl-C.
fn typed(line: &str) -> String {
    match line {
        "cargo demo" => "incumbent demo --for 4s".into(),
        line => line.into(),
    }
}

#[test]
fn every_command_of_the_readmes_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_incumbent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut ran = 0;
    // The Python package's tests run the lines of Python, releases run the installations, and a reader of this page has
    // already cloned the repository.
    let elsewhere = |line: &str| {
        let others = ["git clone ", "cargo install ", "python3 ", ".venv/bin/", "incumbent.sync."];
        others.iter().any(|other| line.starts_with(other))
    };
    let commands = [commands("../README.md"), commands("README.md")].concat();
    for line in commands.iter().filter(|line| !elsewhere(line)) {
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
fn the_program_of_the_quick_start_leads_and_leads_again_after_its_lease_was_taken_away() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job");
    fs::write(&job, "#!/bin/sh\necho leads with $INCUMBENT_SEQUENCE\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&job, fs::Permissions::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_incumbent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let start = |line: &str| {
        let mut shell = Command::new("sh");
        let line = format!("exec {}", line.replace("nats://localhost:4222/ELECTIONS", &store));
        shell.args(["-c", &line]).current_dir(folder.path()).env("PATH", &path).env_remove("INCUMBENT_STORE");
        Running::start({
            shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            shell
        })
    };
    let lines = commands("../docs/start/quick-start.md");
    let [serve, init, run, status, hand_over] = &lines[..] else { panic!("{lines:?}") };

    assert_eq!(serve, "nats-server -js");
    // The wait after an eviction is as long as the lease.
    let made = start(&format!("{init} --lease 10s")).wait();
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut first = start(run);
    let before = sequence(&mut first);
    let evicted = ended(&["evict", "billing-cron", "--yes", "--store", &store]);
    assert_eq!(evicted.code, Some(0), "{evicted:?}");
    assert!(sequence(&mut first) > before);
    let mut second = start(run);
    second.until_reported("that it waits", |line| line.contains("waiting for billing-cron"));
    let seen = start(status).wait();
    assert!(seen.code == Some(0) && seen.stdout.contains("billing-cron"), "{seen:?}");
    let handed = start(&format!("{hand_over} --yes")).wait();
    assert_eq!(handed.code, Some(0), "{handed:?}");
    sequence(&mut second);
}

#[test]
fn the_readmes_name_the_version_there_is() {
    let read = |page: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let version = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    assert!(read("../runtime/README.md").contains(&format!("incumbent = \"{version}\"")));
    assert!(read("../README.md").contains(&format!("Version {version},")));
}

/// The examples of a page that are written in `language`.
fn examples(page: &str, language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide").join(page);
    let text = fs::read_to_string(page).unwrap();
    let examples = text.split("```").skip(1).step_by(2);
    let wanted = |example: &str| example.strip_prefix(&format!("{language}\n")).map(str::to_string);
    examples.filter_map(wanted).collect()
}

#[test]
fn the_example_of_handlers_runs_as_it_is_written() {
    let program = Path::new(env!("CARGO_BIN_EXE_incumbent")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let [example] = &examples("elector.md", "sh")[..] else { panic!("one example") };
    let shell =
        Command::new("sh").args(["-c", example]).env("PATH", path).stdin(Stdio::null()).output().unwrap();
    assert!(shell.status.success(), "{shell:?}");
    assert_eq!(String::from_utf8_lossy(&shell.stderr), "on-won: begins\non-lost: ends\n");
}

#[test]
fn the_unit_of_systemd_is_one_where_systemd_can_say_so() {
    let [unit] = &examples("systemd.md", "ini")[..] else { panic!("one unit") };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mailer.service");
    // A missing program counts as an error too.
    let present =
        unit.replace("/usr/local/bin/incumbent", "/bin/sh").replace("/usr/local/bin/mailer", "/bin/sh");
    assert_eq!(present.matches("/bin/sh").count(), 2);
    fs::write(&file, present).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut verify = match ChildGuard::spawn(verify) {
        Ok(verify) => verify,
        Err(error) => {
            eprintln!("there is no systemd-analyze here ({error}): nothing to test");
            return;
        }
    };
    let mut stderr = verify.take_stderr().unwrap();
    let mut reported = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut reported).unwrap();
    assert!(verify.wait(LIMIT).success(), "{reported}");
    assert!(!reported.contains("mailer.service"), "{reported}");
}
