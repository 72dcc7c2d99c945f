//! The table in the documentation.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;
use crate::table::{ALL, Mutant};

/// The lines around the table of the page.
const BEGIN: &str = "<!-- mutants: written by `incumbent-mutants --page` -->\n";
const END: &str = "<!-- end of mutants -->\n";

/// The page as it was when this program was compiled.
const PAGE: &str = include_str!("../../../docs/internals/mutants.md");

/// The beginning of the mutant's row in the table; the checks that catch it follow.
fn begins(mutant: &Mutant) -> String {
    format!("| `{}` | {} | {} |", mutant.name, mutant.breaks, mutant.known_from)
}

/// The places in which a mutant was noticed when the page was written; empty if no check noticed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noticed<'a> {
    /// The simulator's seed, and its swarm.
    pub(crate) place: &'a str,
    /// The world of the model checker.
    pub(crate) world: &'a str,
}

/// Returns the places in the mutant's row of the page.
pub(crate) fn noticed(mutant: &Mutant) -> Noticed<'static> {
    let row = PAGE.lines().find_map(|row| row.strip_prefix(&begins(mutant)));
    row.map(places).unwrap_or_default()
}

/// Parses where each check noticed the mutant, which follows the first comma of a cell: `I3, seed 4 of stops | I3, keep
/// busy |`.
fn places(cells: &str) -> Noticed<'_> {
    let mut places = cells.split('|').map(|cell| cell.trim().split_once(", ").map_or("", |(_, place)| place));
    Noticed { place: places.next().unwrap_or_default(), world: places.next().unwrap_or_default() }
}

/// Writes the table of these findings into the page. A mutant that was not hunted keeps its row.
pub(crate) fn write(file: &Path, findings: &[Finding]) -> Result<()> {
    let text = read(file)?;
    let (before, written, after) = split(&text, file)?;
    let mut table = String::from(
        "| mutant | what is wrong | known from | simulator | model checker, or a script |\n|---|---|---|---|---|\n",
    );
    for mutant in ALL.iter() {
        let finding = findings.iter().find(|finding| finding.name == mutant.name);
        let row = match finding {
            Some(finding) => format!("{} {} | {} |", begins(mutant), finding.simulated(), finding.model),
            None => {
                let row = written.lines().find(|row| row.starts_with(&begins(mutant)));
                row.with_context(|| format!("{} has no row yet: leave --mutant out", mutant.name))?.to_owned()
            }
        };
        table += &format!("{row}\n");
    }
    fs::write(file, format!("{before}{BEGIN}\n{table}\n{END}{after}"))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Checks that the page lists exactly the present mutants. It ignores which checks catch them, because that changes
/// with every draw of the simulator.
pub(crate) fn check(file: &Path) -> Result<()> {
    let text = read(file)?;
    let (_, table, _) = split(&text, file)?;
    let differences = differences(table);
    if !differences.is_empty() {
        bail!(
            "{} is out of date: {}; `cargo run -p incumbent-mutants -- --page {0}` writes it",
            file.display(),
            differences.join(", ")
        );
    }
    Ok(())
}

/// Returns every mutant that has no row in the table, and every row that matches no mutant.
fn differences(table: &str) -> Vec<String> {
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let missing = ALL.iter().filter(|mutant| !rows.iter().any(|row| row.starts_with(&begins(mutant))));
    let missing = missing.map(|mutant| format!("no row for {}", mutant.name));
    let stale = rows.iter().filter(|row| !ALL.iter().any(|mutant| row.starts_with(&begins(mutant))));
    let name = |row: &&str| row.split('`').nth(1).unwrap_or(row).to_owned();
    let stale = stale.map(|row| format!("the row of {} is stale", name(row)));
    let repeated = rows.iter().enumerate().filter(|(at, row)| rows[..*at].contains(row));
    let repeated = repeated.map(|(_, row)| format!("{} has two rows", name(row)));
    missing.chain(stale).chain(repeated).collect()
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The text before the table, the table, and the text after it.
fn split<'a>(text: &'a str, file: &Path) -> Result<(&'a str, &'a str, &'a str)> {
    let split = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (table, after) = rest.split_once(END)?;
        Some((before, table, after))
    });
    split.with_context(|| format!("{} has no place for the table, between {BEGIN}and {END}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_where_a_mutant_was_noticed_are_read_from_its_row() {
        let places = |cells| {
            let Noticed { place, world } = places(cells);
            (place, world)
        };
        assert_eq!(places(" I9, seed 4 of stops | keeps, keep busy |"), ("seed 4 of stops", "keep busy"));
        assert_eq!(places(" nothing noticed | I7, twins |"), ("", "twins"));
        assert_eq!(places(" leaving, seed 0 |  |"), ("seed 0", ""));
    }

    #[test]
    fn each_row_that_differs_from_its_mutant_is_named() {
        let (_, table, _) = split(PAGE, Path::new("mutants.md")).unwrap();
        assert_eq!(differences(table), [""; 0]);
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
        let [first, second] = [&ALL[0], &ALL[1]];
        let reworded = rows[0].replace(&first.breaks, "Something else.");
        let changed = [&*reworded, rows[2], "| `unknown` | A rule. | none |", rows[2]];
        let changed = [&changed[..], &rows[3..]].concat().join("\n");
        let expected = [
            format!("no row for {}", first.name),
            format!("no row for {}", second.name),
            format!("the row of {} is stale", first.name),
            "the row of unknown is stale".to_owned(),
            format!("{} has two rows", ALL[2].name),
        ];
        assert_eq!(differences(&changed), expected);
    }

    #[test]
    fn every_mutant_was_noticed_somewhere() {
        assert!(ALL.iter().all(|mutant| noticed(mutant) != Noticed::default()));
    }
}
