//! Checks that run no test: each counts as one.

use std::process::Command;

use anyhow::Result;

use super::Part;
use super::tally::Report;
use crate::shell;
use crate::tools::{DENY, WASM};

pub(super) fn run(report: &mut Report) -> Result<()> {
    let cargo = |words: &str| {
        let mut command = shell::cargo();
        command.args(words.split(' '));
        command
    };
    let mut docs = cargo("doc --workspace --no-deps --all-features");
    docs.env("RUSTDOCFLAGS", "-Dwarnings");
    let mut deny = DENY.command()?;
    deny.args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    let checks: [(&str, Command); 6] = [
        ("format", cargo("fmt --all --check")),
        ("clippy", cargo("clippy --workspace --all-targets --all-features -- -Dwarnings")),
        ("documentation", docs),
        ("licences, bans and sources", deny),
        (
            "core without an operating system",
            cargo(&format!("check --package incumbent-core --target {WASM}")),
        ),
        ("runtime without its features", cargo("check --package incumbent --no-default-features")),
    ];
    for (what, mut command) in checks {
        shell::progress(format!("lint: {what}"));
        report.check(Part::Lint, what, shell::succeeds(&mut command)?);
    }
    Ok(())
}
