//! Links between the pages of this repository lead to an existing file or folder, and to a heading in it. Addresses
//! elsewhere are not looked up.

#![allow(clippy::expect_used, reason = "a test fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The addresses of the repository's own files, for pages that are also read elsewhere.
const REPOSITORY: [&str; 2] = [
    "https://github.com/incumbent-rs/incumbent/blob/main/",
    "https://github.com/incumbent-rs/incumbent/tree/main/",
];
/// Folders with pages that are not the project's.
const SKIPPED: [&str; 6] = ["target", "node_modules", ".git", "dist", "npm", "__pycache__"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// All pages below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        // typedoc writes copies of pages into `node/docs`.
        let is_generated = entry.path().ends_with("node/docs");
        if kind.is_dir() && !is_generated && !SKIPPED.iter().any(|skipped| name == *skipped) {
            pages(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// A page without its code blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line without the text between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The targets of a page's links.
fn targets(page: &str) -> Vec<String> {
    let text = prose(page);
    // Code in the text of a link does not matter, because only `](` and the text after it count.
    let text = without_code(&text);
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect()
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let shown = heading.trim().replace(['`', '*'], "").to_lowercase();
    let kept = shown.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Checks a link, and returns an error that names what is wrong.
fn check(root: &Path, page: &Path, target: &str) -> Result<(), String> {
    let own = REPOSITORY.iter().find_map(|prefix| target.strip_prefix(prefix));
    if own.is_none() && (target.contains("://") || target.starts_with("mailto:")) {
        return Ok(());
    }
    let (path, heading) = match own.unwrap_or(target).split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (own.unwrap_or(target), None),
    };
    let base = if own.is_some() { root } else { page.parent().unwrap_or(root) };
    let file = if path.is_empty() { page.to_path_buf() } else { base.join(path) };
    let file = file.canonicalize().map_err(|_| format!("{target}: there is no such file"))?;
    if !file.starts_with(root) {
        return Err(format!("{target}: outside of the repository"));
    }
    let Some(heading) = heading else { return Ok(()) };
    let text = fs::read_to_string(&file).map_err(|error| format!("{target}: {error}"))?;
    if anchors(&text).contains(heading) { Ok(()) } else { Err(format!("{target}: there is no such heading")) }
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_a_heading_that_exist() {
    let root = root();
    let mut found = Vec::new();
    pages(&root, &mut found);
    let (mut links, mut broken) = (0, Vec::new());
    for page in &found {
        let text = fs::read_to_string(page).expect("a page");
        for target in targets(&text) {
            links += 1;
            if let Err(problem) = check(&root, page, &target) {
                broken.push(format!("{}: {problem}", page.strip_prefix(&root).unwrap_or(page).display()));
            }
        }
    }
    assert!(found.len() > 30 && links > 150, "only {links} links in {} pages were found", found.len());
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn the_index_of_the_documentation_names_every_page_in_it() {
    let docs = root().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).expect("the index");
    let named: BTreeSet<_> = targets(&index).into_iter().collect();
    let mut found = Vec::new();
    pages(&docs, &mut found);
    for page in found.iter().filter(|page| !page.ends_with("README.md")) {
        let path = page.strip_prefix(&docs).unwrap_or(page).display().to_string();
        assert!(named.contains(&path), "docs/README.md does not name {path}");
    }
}

#[test]
fn a_link_to_what_is_not_there_is_found() {
    let page = root().join("docs/README.md");
    let wrong = |target: &str| check(&root(), &page, target).expect_err(target);
    assert_eq!(wrong("guide/nowhere.md"), "guide/nowhere.md: there is no such file");
    assert_eq!(wrong("#nowhere"), "#nowhere: there is no such heading");
    assert_eq!(wrong("../README.md#nowhere"), "../README.md#nowhere: there is no such heading");
    assert_eq!(wrong("../../elsewhere"), "../../elsewhere: there is no such file");
    let moved = "https://github.com/incumbent-rs/incumbent/blob/main/docs/errors.md";
    assert_eq!(wrong(moved), format!("{moved}: there is no such file"));
    assert_eq!(check(&root(), &page, "../README.md#the-promise"), Ok(()));
    assert_eq!(check(&root(), &page, "https://example.com/"), Ok(()));
}

#[test]
fn headings_are_called_what_github_calls_them() {
    assert_eq!(anchor(" To the supervisor of `incumbent run`"), "to-the-supervisor-of-incumbent-run");
    assert_eq!(anchor(" What is promised, and what cannot be"), "what-is-promised-and-what-cannot-be");
}

#[test]
fn code_holds_no_links() {
    assert_eq!(targets("a [b](c.md) `[d](e.md)`\n```\n[f](g.md)\n```\n[`h`](i.md#j)"), ["c.md", "i.md#j"]);
}
