//! Runs every example as a process, as its first lines say.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test fails")]

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use incumbent::Clock;
use incumbent::store::{Sqlite, SqliteSettings, StoreSettings};
use incumbent_testkit::process::ChildGuard;
use rusqlite::Connection;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

/// An example that runs, and the lines that it prints. Killed when it is dropped.
struct Example {
    process: ChildGuard,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Example {
    fn start(program: &str, arguments: &[&str]) -> Self {
        Self::start_in(".", program, arguments)
    }

    fn start_in(folder: impl AsRef<Path>, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = ChildGuard::spawn(command).unwrap();
        let lines = BufReader::new(process.take_stdout().unwrap()).lines();
        Self { process, lines }
    }

    /// Reads the next line. An example that hangs is ended by the test runner.
    fn line(&mut self) -> String {
        self.lines.next().unwrap_or_else(|| panic!("it ended")).unwrap()
    }

    fn interrupt(&self) {
        let pid = self.process.pid().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A file for elections, stated to be new, so its first leader need not wait for a lease.
fn elections(folder: &TempDir) -> String {
    let path = folder.path().join("elections.db");
    let (settings, clock) = (SqliteSettings::new(&path), Clock::system());
    now(Sqlite::init(&settings, &clock, true)).unwrap();
    format!("sqlite:{}", path.display())
}

#[test]
fn the_cron_runner_works_until_it_is_interrupted_and_is_followed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = elections(&folder);
    let mut first = Example::start(env!("CARGO_BIN_EXE_cron_runner"), &[&url]);
    assert!(first.line().starts_with("leading with token "));
    assert_eq!(first.line(), "the job runs");
    let mut second = Example::start(env!("CARGO_BIN_EXE_cron_runner"), &[&url]);
    first.interrupt();
    assert!(first.process.wait(TIMEOUT).success());
    assert_eq!(first.lines.last().unwrap().unwrap(), "the last job is done");
    assert!(second.line().starts_with("leading with token "));
    assert_eq!(second.line(), "the job runs");
}

#[test]
fn the_outbox_relay_sends_in_order_and_is_refused_when_a_larger_token_has_written() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("outbox.db");
    let mut relay = Example::start(
        env!("CARGO_BIN_EXE_outbox_relay"),
        &[&elections(&folder), database.to_str().unwrap()],
    );
    let token = relay.line().strip_prefix("leading with token ").unwrap().to_string();
    let outbox = Connection::open(&database).unwrap();
    outbox.busy_timeout(TIMEOUT).unwrap();
    outbox.execute_batch("INSERT INTO outbox (body) VALUES ('first'), ('second')").unwrap();
    for (id, body) in [(1, "first"), (2, "second")] {
        assert_eq!([relay.line(), relay.line()], [format!("message {id}: {body}"), format!("sent {id}")]);
    }
    let sent_with: String =
        outbox.query_row("SELECT DISTINCT sent_with FROM outbox", [], |row| row.get(0)).unwrap();
    assert_eq!(sent_with, token);
    outbox.execute("UPDATE fence SET token = ?1", ["f".repeat(33)]).unwrap();
    assert_eq!(relay.line(), format!("giving up: the database has seen a larger token than {token}"));
}

#[test]
fn the_observer_prints_the_leader_and_the_vacancy_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = elections(&folder);
    let mut runner = Example::start(env!("CARGO_BIN_EXE_cron_runner"), &[&url]);
    assert!(runner.line().starts_with("leading with token "));
    let mut observer = Example::start(env!("CARGO_BIN_EXE_observer"), &[&url, "cron"]);
    assert!(observer.line().starts_with("leader: "));
    runner.interrupt();
    assert!(runner.process.wait(TIMEOUT).success());
    assert_eq!(observer.line(), "no leader");
}

#[test]
fn the_program_of_the_readme_leads_again_after_its_lease_was_taken_away() {
    let (readme, program) =
        (include_str!("../../../runtime/README.md"), include_str!("../src/bin/billing_cron.rs"));
    let (_, program) = program.split_once("\n\n").unwrap();
    assert!(readme.contains(&format!("```rust,no_run\n{program}```\n")), "the README has another program");

    let folder = tempfile::tempdir().unwrap();
    let url = elections(&folder);
    let mut program = Example::start_in(&folder, env!("CARGO_BIN_EXE_billing_cron"), &[]);
    let first = program.line();
    assert!(first.starts_with("leading with token "), "{first}");
    now(async {
        let settings: StoreSettings = url.parse().unwrap();
        settings.operate(&Clock::system()).await.unwrap().delete("billing-cron").await.unwrap();
    });
    while program.line() == first {}
}
