//! Places that share six or more lines.

use std::collections::BTreeMap;

/// The number of equal lines in a row that make two places alike.
const ROW: usize = 6;

/// A place: a file, and the number of a counted line in it.
type Place = (usize, usize);

/// Counts the pairs of places in these sources that share [`ROW`] or more lines. Lines that every file has do not
/// count: blank lines, comments, imports, attributes, and lines that only close a block.
pub(super) fn pairs(sources: &[(String, String)]) -> usize {
    let files: Vec<Vec<&str>> = sources
        .iter()
        .map(|(_, source)| source.lines().map(str::trim).filter(|line| counts(line)).collect())
        .collect();
    let mut places: BTreeMap<&[&str], Vec<Place>> = BTreeMap::new();
    for (file, lines) in files.iter().enumerate() {
        for (at, row) in lines.windows(ROW).enumerate() {
            places.entry(row).or_default().push((file, at));
        }
    }
    let follows = |one: Place, other: Place| {
        let before = |(file, at): Place| at.checked_sub(1).map(|at| files[file][at]);
        before(one).is_some() && before(one) == before(other)
    };
    let mut found = 0;
    for same in places.values() {
        for (at, one) in same.iter().enumerate() {
            // If the preceding lines are equal too, the pair has already been counted at an earlier line.
            found += same[at + 1..].iter().filter(|other| !follows(*one, **other)).count();
        }
    }
    found
}

fn counts(line: &str) -> bool {
    let is_code = line.chars().any(char::is_alphanumeric);
    is_code
        && !["//", "use ", "pub use ", "pub(crate) use ", "mod ", "pub mod ", "#"]
            .iter()
            .any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: impl IntoIterator<Item = u32>) -> (String, String) {
        let text = lines.into_iter().map(|line| format!("let x{line} = f();\n")).collect();
        (String::new(), text)
    }

    #[test]
    fn six_lines_in_two_places_are_one_pair_and_so_are_more_in_a_row() {
        assert_eq!(pairs(&[file(0..6), file(0..6)]), 1);
        assert_eq!(pairs(&[file(0..20), file(0..20)]), 1);
        assert_eq!(pairs(&[file(0..6), file(0..6), file(0..6)]), 3);
        assert_eq!(pairs(&[file((0..9).chain(20..30)), file((20..30).chain(0..9))]), 2);
    }

    #[test]
    fn five_lines_are_none_and_neither_are_lines_that_every_file_has() {
        assert_eq!(pairs(&[file(0..5), file(0..5)]), 0);
        let (name, text) = file(0..5);
        let padded = (name, format!("use a::b;\n// a comment\n{text}}}\n#[test]\n"));
        assert_eq!(pairs(&[padded.clone(), padded]), 0);
    }
}
