//! The page about the paths through the layers names only functions that exist, and numbers them without a gap.

#![allow(clippy::expect_used, reason = "a test may panic; it says why")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../docs/internals/paths.md");

/// The functions in a drawing, by number.
fn functions(drawing: &str) -> Vec<(u32, &str)> {
    let words: Vec<&str> = drawing.split_whitespace().collect();
    let numbered = words.windows(2).filter_map(|pair| Some((pair[0].parse().ok()?, pair[1])));
    let mut functions: Vec<_> = numbered.collect();
    functions.sort_unstable();
    functions
}

#[test]
fn every_function_on_the_ways_through_the_layers_exists_and_none_is_left_out_of_the_count() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = Command::new("git")
        .args(["grep", "-hoE", r"\b(fn|def|function) +[a-zA-Z_]+|^  (async )?[a-zA-Z_]+\("])
        .args(["--", "*.rs", "*.py", "*.ts", ":!lab", ":!xtask", ":!core"])
        .current_dir(&root)
        .output()
        .expect("git runs");
    let found = String::from_utf8(found.stdout).expect("names");
    let existing: BTreeSet<&str> =
        found.lines().filter_map(|line| line.trim_end_matches('(').split_whitespace().next_back()).collect();
    let drawings: Vec<_> =
        PAGE.split("```text").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(drawings.len(), 3);
    for drawing in drawings {
        let functions = functions(drawing);
        let numbers: Vec<u32> = functions.iter().map(|(number, _)| *number).collect();
        let last = u32::try_from(numbers.len()).expect("a few");
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        for (_, function) in functions {
            let name = function.rsplit([':', '.']).next().unwrap_or_default();
            assert!(existing.contains(name), "there is no function {function}");
        }
    }
}
