//! Places that share six or more lines.

use std::collections::BTreeMap;

/// The number of equal lines in a row that make two places alike.
const ROW: usize = 6;

/// A place: a file, and the number of a counted line in it.
type Place = (usize, usize);

/// The pairs of places in these sources that share [`ROW`] lines and more. Lines that every file has do not count:
/// blank lines, comments, imports, attributes, and lines that only close a block. A pair is named by the first line of
/// each place.
pub(super) fn pairs(sources: &[(String, String)]) -> Vec<String> {
    let (numbers, files): (Vec<_>, Vec<_>) = sources.iter().map(|(_, source)| counted(source)).unzip();
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
    let name = |(file, at): Place| format!("{}:{}", sources[file].0, numbers[file][at]);
    let mut found = Vec::new();
    for same in places.values() {
        for (at, one) in same.iter().enumerate() {
            // If the preceding lines are equal too, the pair has already been counted at an earlier line.
            let others = same[at + 1..].iter().filter(|other| !follows(*one, **other));
            found.extend(others.map(|other| format!("{} = {}", name(*one), name(*other))));
        }
    }
    found
}

/// The lines of a source that count, with their numbers.
fn counted(source: &str) -> (Vec<usize>, Vec<&str>) {
    let lines = source.lines().map(str::trim).enumerate();
    lines.filter(|(_, line)| counts(line)).map(|(at, line)| (at + 1, line)).unzip()
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

    /// The number of pairs in these sources.
    fn count(sources: &[(String, String)]) -> usize {
        pairs(sources).len()
    }

    fn file(lines: impl IntoIterator<Item = u32>) -> (String, String) {
        let text = lines.into_iter().map(|line| format!("let x{line} = f();\n")).collect();
        (String::new(), text)
    }

    #[test]
    fn six_lines_in_two_places_are_one_pair_and_so_are_more_in_a_row() {
        assert_eq!(count(&[file(0..6), file(0..6)]), 1);
        assert_eq!(count(&[file(0..20), file(0..20)]), 1);
        assert_eq!(count(&[file(0..6), file(0..6), file(0..6)]), 3);
        assert_eq!(count(&[file((0..9).chain(20..30)), file((20..30).chain(0..9))]), 2);
    }

    #[test]
    fn five_lines_are_none_and_neither_are_lines_that_every_file_has() {
        assert_eq!(count(&[file(0..5), file(0..5)]), 0);
        let (name, text) = file(0..5);
        let padded = (name, format!("use a::b;\n// a comment\n{text}}}\n#[test]\n"));
        assert_eq!(count(&[padded.clone(), padded]), 0);
    }
}
