//! `docs/internals/faults.md` names the tests that show each fault, and what happens to a dropped handle in each
//! language. These tests compare the page with the code, so that the page stays correct.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use std::fs;
use std::path::{Path, PathBuf};

use incumbent_sim::Kind;

/// The numbers of the faults that the page lists: those of the existing stores and, from 132, those of Kafka and of
/// watches. The missing numbers are for stores that do not exist yet.
const ROWS: [std::ops::RangeInclusive<usize>; 4] = [1..=117, 132..=161, 163..=191, 201..=206];
/// The beginning of the last cell of a row that no test shows.
const NOT_YET: &str = "not yet: ";

struct Row {
    number: usize,
    shown_by: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The rows of the table in a page: those that begin with a number.
fn rows(page: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, fault, happens, shown_by] = cells[..] else {
            return Err(format!("a row has {} cells and not 4: {line}", cells.len()));
        };
        if fault.is_empty() || happens.is_empty() {
            return Err(format!("a cell is empty: {line}"));
        }
        let number = number.parse().map_err(|_| format!("{number:?} is not a number: {line}"))?;
        rows.push(Row { number, shown_by: shown_by.into() });
    }
    Ok(rows)
}

/// Checks the tests that a row names.
fn check(shown_by: &str) -> Result<(), String> {
    if let Some(reason) = shown_by.strip_prefix(NOT_YET) {
        let good = !reason.is_empty() && !reason.contains('`');
        return if good { Ok(()) } else { Err("a row is either shown or not yet, with a reason".into()) };
    }
    let inner = shown_by.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    let inner = inner.ok_or_else(|| format!("{shown_by:?} is neither `a reference` nor {NOT_YET:?}"))?;
    // Some languages have commas in the names of tests.
    inner.split("`, `").try_for_each(check_reference)
}

fn check_reference(reference: &str) -> Result<(), String> {
    if let Some(kind) = reference.strip_prefix("sim: ") {
        return kind.parse::<Kind>().map(drop);
    }
    if let Some(kind) = reference.strip_prefix("chaos: ") {
        return check_chaos(kind);
    }
    let (file, test) =
        reference.split_once("::").ok_or_else(|| format!("{reference:?} is not of the form FILE::TEST"))?;
    let source = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let found = match extension {
        "rs" => has_rust_test(&source, test),
        "py" => source.contains(&format!("def {test}(")) && test.starts_with("test_"),
        "kt" => source.contains(&format!("fun `{test}`(")),
        "swift" => source.contains(&format!("@Test(\"{test}\")")),
        "java" => source.contains(&format!("void {test}(")),
        "go" => source.contains(&format!("func {test}(")) && test.starts_with("Test"),
        "js" | "mjs" | "ts" => ['"', '\'', '`'].iter().any(|q| source.contains(&format!("({q}{test}{q}"))),
        _ => return Err(format!("{file} is in a language whose tests this check cannot read")),
    };
    if found { Ok(()) } else { Err(format!("{file} has no test {test:?}")) }
}

/// The chaos suite is a program, not a library: its kinds are read from their table.
fn check_chaos(kind: &str) -> Result<(), String> {
    let file = "lab/chaos/src/kind.rs";
    let source = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
    let (_, table) = source.split_once("\nkinds! {\n").ok_or_else(|| format!("{file} has no table"))?;
    let table = table.lines().take_while(|line| *line != "}");
    let mut names = table.filter_map(|line| line.split_whitespace().nth(1));
    let found = names.any(|name| name == format!("{kind:?}"));
    if found { Ok(()) } else { Err(format!("{file} has no kind {kind:?}")) }
}

/// Returns true if the source has the test. The modules before its name must exist, too.
fn has_rust_test(source: &str, test: &str) -> bool {
    let (modules, name) = test.rsplit_once("::").unwrap_or(("", test));
    let has_module = |module: &str| source.contains(&format!("mod {module} {{"));
    if !modules.split("::").filter(|module| !module.is_empty()).all(has_module) {
        return false;
    }
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let is_it = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let place = lines.iter().position(|line| is_it(line));
    place.is_some_and(|place| {
        let before = lines[..place].iter().rev().take_while(|line| line.starts_with("#["));
        before.into_iter().any(|line| *line == "#[test]" || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn every_row_of_the_fault_table_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/internals/faults.md")).expect("docs/internals/faults.md");
    let rows = rows(&page).unwrap_or_else(|error| panic!("{error}"));
    let numbers: Vec<_> = rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers, ROWS.into_iter().flatten().collect::<Vec<_>>(), "every fault once, in order");
    let wrong: Vec<_> = rows
        .iter()
        .filter_map(|row| check(&row.shown_by).err().map(|error| format!("{}: {error}", row.number)))
        .collect();
    assert!(wrong.is_empty(), "docs/internals/faults.md does not match the code:\n{}", wrong.join("\n"));
}

/// The rows of the table below a heading, without the table's head. Each row is its first cell and the other cells.
fn table<'a>(page: &'a str, heading: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let (_, below) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading:?}"));
    let lines =
        below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &'a str| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>();
    lines.skip(2).map(cells).map(|cells| (cells[0], cells[1..].to_vec())).collect()
}

/// The ends of the names of files that contain the tests of a language.
fn ends(language: &str) -> &'static [&'static str] {
    match language {
        "Rust" => &["rs"],
        "Python" => &["py"],
        "Swift" => &["swift"],
        "Node" => &["ts"],
        "Kotlin, Java" => &["kt", "java"],
        _ => panic!("{language:?} is no language whose handles are described"),
    }
}

#[test]
fn every_language_shows_by_tests_what_becomes_of_a_dropped_handle() {
    let read =
        |page: &str| fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let described = read("docs/guide/what-can-go-wrong.md");
    let described = table(&described, "### A handle that is dropped");
    let shown = read("docs/internals/faults.md");
    let shown = table(&shown, "## Handles that are dropped");
    let languages =
        |rows: &[(&str, Vec<&str>)]| rows.iter().map(|(row, _)| (*row).to_owned()).collect::<Vec<_>>();
    assert_eq!(languages(&shown), languages(&described), "both pages have the same rows");
    assert_eq!(languages(&shown), ["Rust", "Python", "Swift", "Node", "Kotlin, Java"]);
    for (language, tests) in shown {
        assert_eq!(tests.len(), 2, "{language}: a candidate and a store");
        for shown_by in tests {
            assert!(!shown_by.starts_with(NOT_YET), "{language}: {shown_by}");
            check(shown_by).unwrap_or_else(|error| panic!("{language}: {error}"));
            for reference in shown_by.trim_matches('`').split("`, `") {
                let file = reference.split_once("::").map_or(reference, |(file, _)| file);
                let end = file.rsplit_once('.').map_or("", |(_, end)| end);
                assert!(ends(language).contains(&end), "{file} is no test in {language}");
            }
        }
    }
}

#[test]
fn a_reference_to_nothing_is_found() {
    let here = "xtask/tests/fault_table.rs";
    let good = [
        format!("`{here}::a_reference_to_nothing_is_found`"),
        "`sim: loss`, `sim: delay`".into(),
        "`chaos: kill`, `chaos: rolling-restart`".into(),
        "`stores/sqlite/tests/store_sqlite/file.rs::a_lock::for_a_moment_is_waited_out`".into(),
        "not yet: it is not written".into(),
    ];
    for text in &good {
        assert_eq!(check(text), Ok(()), "{text}");
    }
    let bad = [
        String::new(),
        "a test".into(),
        "not yet: ".into(),
        "not yet: but `sim: loss`".into(),
        "`sim: nothing`".into(),
        "`chaos: nothing`".into(),
        "`chaos: Leader`".into(),
        format!("`{here}`"),
        format!("`{here}::check`"),
        format!("`{here}::a_reference`"),
        format!("`{here}::no_module::a_reference_to_nothing_is_found`"),
        "`xtask/tests/no_file.rs::a`".into(),
        "`docs/internals/faults.md::a`".into(),
    ];
    for text in &bad {
        assert!(check(text).is_err(), "{text}");
    }
}

#[test]
fn a_row_of_another_shape_is_found() {
    assert_eq!(rows("| # | a |\n| 7 | a | b | `c` |\n").map(|rows| rows[0].number), Ok(7));
    assert!(rows("| 7 | a | b |").is_err());
    assert!(rows("| 7 | a | | `c` |").is_err());
}
