//! The simulator as users run it, optimised and without assertions: its runs are the same as in any other build.

use anyhow::Result;

use super::tally::{Report, Tally};
use super::{Part, doc};
use crate::shell::{self, say};

pub(super) fn run(report: &mut Report) -> Result<()> {
    shell::progress("the runs of sim in a release build");
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "incumbent-sim", "--test", "digests", "--quiet"]);
    let mut total = Tally::default();
    let succeeded = shell::lines(&mut command, |line| {
        say!("{line}");
        total += doc::count(line).unwrap_or_default();
    })?;
    report.add(Part::Sim, total);
    if total.failed > 0 {
        report.name_failure(Part::Sim, "a release build runs otherwise");
    } else if !succeeded || total == Tally::default() {
        report.check(Part::Sim, "the tests of a release build did not run", false);
    }
    Ok(())
}
