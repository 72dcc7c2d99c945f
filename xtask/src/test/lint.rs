//! Checks that run no tests. Each check counts as one test.

use std::process::Command;

use anyhow::Result;

use super::schedule::{Lane, Step};
use super::tally::Report;
use super::{Part, TESTS, words};
use crate::numbers;
use crate::package::site;
use crate::shell::{self, say};
use crate::tools::{DENY, WASM, actionlint};

/// Makes the command of a check.
type Make = fn() -> Result<Command>;

/// The name of the step that writes the crates' documentation, which the site contains.
const DOCUMENTATION: &str = "documentation";
const SITE: &str = "links of the site";

/// The checks, the quickest first.
pub(super) fn steps<'env>(without_go: bool) -> Vec<Step<'env>> {
    let mut checks: Vec<(&'static str, Make)> = vec![
        ("format", || Ok(format())),
        ("licences, bans and sources", || {
            let mut deny = DENY.command()?;
            deny.args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
            Ok(deny)
        }),
    ];
    if without_go {
        say!("the workflows are not checked, as Go is left out");
    } else {
        checks.push(("workflows", || Ok(workflows())));
    }
    let builds: [(&'static str, Make); 5] = [
        ("clippy", || Ok(cargo("clippy --workspace --all-targets --all-features -- -Dwarnings"))),
        (DOCUMENTATION, || {
            let mut docs = cargo("doc --workspace --no-deps --all-features");
            docs.env("RUSTDOCFLAGS", "-Dwarnings");
            Ok(docs)
        }),
        ("core without an operating system", || {
            Ok(cargo(&format!("check --package incumbent-core --target {WASM}")))
        }),
        ("runtime without its features", || Ok(cargo("check --package incumbent --no-default-features"))),
        ("command line without its features", || {
            Ok(cargo("check --package incumbent-cli --no-default-features"))
        }),
    ];
    let check = |(what, command): (&'static str, Make)| {
        Step::new(Part::Lint, what, Lane::Compute, move |report| check(what, &mut command()?, report))
    };
    let site = |report: &mut Report| {
        site::check()?;
        report.check(Part::Lint, SITE, true);
        Ok(())
    };
    let site = Step::new(Part::Lint, SITE, Lane::Compute, site).after(DOCUMENTATION);
    let words = Step::new(Part::Lint, "words", Lane::Compute, words::run);
    let numbers = Step::new(Part::Lint, "numbers", Lane::Compute, |report| {
        shell::progress("lint: numbers");
        report.check(Part::Lint, "numbers", numbers::run(&numbers::Args::default())?);
        Ok(())
    });
    // Cargo runs one compilation at a time in a folder, and most other steps wait for the tests' build, so these checks
    // come after it.
    let builds = builds.into_iter().map(check).map(|step| step.after(TESTS));
    [words, numbers].into_iter().chain(checks.into_iter().map(check)).chain(builds).chain([site]).collect()
}

/// Runs one check, and counts it.
pub(super) fn check(what: &str, command: &mut Command, report: &mut Report) -> Result<()> {
    shell::progress(format!("lint: {what}"));
    report.check(Part::Lint, what, shell::succeeds(command)?);
    Ok(())
}

/// Checks the workflows without the script checkers that only some machines have, so that all machines find the same
/// faults.
fn workflows() -> Command {
    let mut command = shell::command(actionlint::program());
    command.args(["-shellcheck=", "-pyflakes="]);
    command
}

pub(super) fn format() -> Command {
    cargo("fmt --all --check")
}

fn cargo(words: &str) -> Command {
    let mut command = shell::cargo();
    command.args(words.split(' '));
    command
}
