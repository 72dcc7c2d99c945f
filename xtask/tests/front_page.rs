//! The repository's first page is short, and its addresses are right.

#![allow(clippy::expect_used, reason = "a test fails")]

use std::fs;
use std::path::Path;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("the README")
}

#[test]
fn the_first_page_has_at_most_six_hundred_words() {
    let words = readme().split_whitespace().count();
    assert!(words <= 600, "README.md has {words} words");
}

#[test]
fn the_first_page_links_the_site_of_the_repository_and_its_playground() {
    let repository = env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/").expect("on GitHub");
    let (owner, name) = repository.split_once('/').expect("an owner and a name");
    let site = format!("https://{owner}.github.io/{name}/");
    let readme = readme();
    for address in [format!("]({site})"), format!("]({site}playground/)")] {
        assert!(readme.contains(&address), "README.md has no link {address}");
    }
}
