//! The first programs of a package's README, run as its reader would run them.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::shell::say;

/// The store of the README's programs. These trials have no server, so they use another store.
const STORE: &str = "nats://localhost:4222/ELECTIONS";

/// Returns the program with that number among those in this language, changed to use another store.
pub(super) fn program(readme: &str, language: &str, number: usize, store: &str) -> Result<String> {
    let fence = format!("```{language}\n");
    let program = readme.split(&fence).skip(1).nth(number).and_then(|rest| rest.split_once("\n```"));
    let (program, _) = program.context("the README lacks a program")?;
    ensure!(program.contains(STORE), "the README's program has another store");
    Ok(program.replace(STORE, store))
}

/// Runs a worker until it leads, and then stops it as a supervisor would.
pub(super) fn leads(command: &mut Command) -> Result<()> {
    let mut worker = command.stdout(Stdio::piped()).spawn().context("cannot run the README's program")?;
    let output = worker.stdout.take().context("the program has no output")?;
    let line =
        BufReader::new(output).lines().next().transpose().context("cannot read the program's output")?;
    let _ = kill_process(Pid::from_child(&worker), Signal::TERM);
    let ended = worker.wait().context("cannot wait for the README's program")?;
    let line = line.context("the README's program printed nothing")?;
    say!("{line}");
    ensure!(line.starts_with("leading with token "), "the README's program printed {line:?}");
    ensure!(ended.success(), "the README's program ended with {ended}");
    Ok(())
}
