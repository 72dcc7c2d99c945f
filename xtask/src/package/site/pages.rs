//! The pages of the book: those of the repository, in the same folders. Links between them stay as they are; links to
//! other files lead to the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::API;
use crate::package::crates;
use crate::shell;

/// The page with the index of the documentation.
const INDEX: &str = "docs/README.md";

/// The pages about working on the project.
const PROJECT: [(&str, &str); 3] =
    [("Contributing", "CONTRIBUTING.md"), ("Security", "SECURITY.md"), ("Changes", "CHANGELOG.md")];

/// The page about the crates' documentation.
const CRATES: &str = "crates.md";

/// The README's heading above which the site shows the playground.
const BEFORE: &str = "## See it\n";
const PLAYGROUND: &str = "## Try it\n\n\
    Five candidates campaign in this page. Kill, freeze or cut off the leader, and see who follows, when, and why.\n\
    [On a page of its own](playground/index.html). [About the playground](docs/guide/playground.md).\n\n\
    <iframe class=\"playground-frame\" src=\"playground/index.html\" title=\"The election playground\"></iframe>\n\n";

/// A part of the book: its title, and its pages with their titles.
type Part = (String, Vec<(String, String)>);

/// Writes the pages, and `SUMMARY.md`. Returns the number of pages.
pub(super) fn write(to: &Path) -> Result<usize> {
    let root = shell::root();
    let parts = parts(&read(INDEX)?)?;
    let mut pages: BTreeSet<String> =
        parts.iter().flat_map(|(_, pages)| pages.iter().map(|(_, page)| page.clone())).collect();
    pages.extend(["README.md".to_owned(), INDEX.to_owned()]);
    let mut files = pages.clone();
    // Pictures and schemas.
    others(&root.join("docs"), root, &mut files)?;
    for page in &pages {
        let text = read(page)?;
        let text = match page.as_str() {
            "README.md" => {
                ensure!(text.contains(BEFORE), "README.md has no heading {BEFORE:?} for the playground");
                text.replacen(BEFORE, &format!("{PLAYGROUND}{BEFORE}"), 1)
            }
            _ => text,
        };
        put(&to.join(named(page)), with_links(&text, page, &files, root))?;
    }
    for file in files.difference(&pages) {
        let contents = fs::read(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        put(&to.join(file), contents)?;
    }
    put(&to.join(CRATES), crates_page()?)?;
    put(&to.join("SUMMARY.md"), summary(&parts))?;
    Ok(pages.len())
}

fn read(page: &str) -> Result<String> {
    fs::read_to_string(shell::root().join(page)).with_context(|| format!("cannot read {page}"))
}

fn put(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

/// The files below a folder that are not pages.
fn others(folder: &Path, root: &Path, found: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            others(&path, root, found)?;
        } else if path.extension().is_none_or(|extension| extension != "md") {
            found.insert(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        }
    }
    Ok(())
}

/// Reads the parts of the book from the headings of the documentation's index and from the links in its tables.
fn parts(index: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::<Part>::new();
    for line in index.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            parts.push((title.to_owned(), Vec::new()));
        } else if let (Some(row), Some((_, pages))) = (line.strip_prefix("| "), parts.last_mut()) {
            let first = row.split(" | ").next().unwrap_or(row);
            for (title, target) in links(first) {
                let page =
                    resolved("docs", target).with_context(|| format!("{target} is not in the repository"))?;
                pages.push((capitalised(title), page));
            }
        }
    }
    ensure!(parts.len() > 1, "{INDEX} has no headings");
    let own = PROJECT.map(|(title, page)| (title.to_owned(), page.to_owned()));
    parts.push(("Project".into(), own.to_vec()));
    Ok(parts)
}

/// Capitalises a title for a list, because in the index it may be within a sentence.
fn capitalised(title: &str) -> String {
    let mut characters = title.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The links in a line: their texts and targets.
fn links(line: &str) -> Vec<(&str, &str)> {
    let pieces = line.split('[').skip(1);
    pieces
        .filter_map(|piece| {
            let (text, rest) = piece.split_once("](")?;
            Some((text, rest.split_once(')')?.0))
        })
        .collect()
}

/// The list of chapters.
fn summary(parts: &[Part]) -> String {
    let mut summary = format!("# Summary\n\n[Leader election](index.md)\n[All pages]({})\n", named(INDEX));
    for (title, pages) in parts {
        summary += &format!("\n# {title}\n\n");
        for (title, page) in pages {
            summary += &format!("- [{title}]({})\n", named(page));
        }
        if title == "Reference" {
            summary += &format!("- [The crates]({CRATES})\n");
        }
    }
    summary
}

/// The page about the crates' documentation.
fn crates_page() -> Result<String> {
    let mut page = String::from("# The crates\n\n| crate | |\n|---|---|\n");
    for (name, description) in crates::described()? {
        let module = name.replace('-', "_");
        page += &format!("| [`{name}`]({API}/{module}/index.html) | {description} |\n");
    }
    Ok(page)
}

/// The path of a page in the book, in which the page of a folder is the folder's index.
fn named(page: &str) -> String {
    match page.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => page.to_owned(),
    }
}

/// Resolves a path that is relative to a folder of the repository. Returns `None` if it leads outside.
fn resolved(folder: &str, path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(folder).join(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()?),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// The path that leads from a page to a file, both in the repository.
fn relative(page: &str, file: &str) -> String {
    let from: Vec<_> = Path::new(page).parent().unwrap_or(Path::new("")).components().collect();
    let to: Vec<_> = Path::new(file).components().collect();
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to[shared..].iter().copied()).collect();
    path.display().to_string()
}

/// Returns a page with its links changed for the book: they lead to the book's `files` if the target is among them, and
/// otherwise to the repository.
fn with_links(text: &str, page: &str, files: &BTreeSet<String>, root: &Path) -> String {
    let (mut inside, mut in_code) = (false, false);
    let lines = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        if inside || is_fence {
            return line.to_owned();
        }
        // Code between backticks may begin on one line and end on the next, within a paragraph.
        let begins_in_code = in_code && !line.trim().is_empty();
        in_code = begins_in_code ^ (line.matches('`').count() % 2 == 1);
        line_with_links(line, begins_in_code, page, files, root)
    });
    lines.map(|line| line + "\n").collect()
}

fn line_with_links(
    line: &str,
    begins_in_code: bool,
    page: &str,
    files: &BTreeSet<String>,
    root: &Path,
) -> String {
    let (mut written, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("](") {
        let Some((target, after)) = after.split_once(')') else { break };
        written += before;
        written += "](";
        // A link with an odd number of backticks before it is within code.
        let is_code = begins_in_code ^ (written.matches('`').count() % 2 == 1);
        written += &if is_code { target.to_owned() } else { in_book(target, page, files, root) };
        written.push(')');
        rest = after;
    }
    written + rest
}

/// The target that a link has in the book.
fn in_book(target: &str, page: &str, files: &BTreeSet<String>, root: &Path) -> String {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let (path, heading) = match target.split_once('#') {
        Some((path, heading)) => (path, format!("#{heading}")),
        None => (target, String::new()),
    };
    let kinds = ["blob", "tree"].map(|kind| format!("{repository}/{kind}/main/"));
    let own = kinds.iter().find_map(|prefix| path.strip_prefix(prefix.as_str()));
    if path.is_empty() || (own.is_none() && (path.contains("://") || path.starts_with("mailto:"))) {
        return target.to_owned();
    }
    let folder = Path::new(page).parent().unwrap_or(Path::new("")).to_string_lossy();
    let file = match own {
        Some(own) => own.trim_end_matches('/').to_owned(),
        None => match resolved(&folder, path) {
            Some(file) => file,
            None => return target.to_owned(),
        },
    };
    let page_of_folder = format!("{file}/README.md");
    if files.contains(&file) {
        return named(&relative(page, &file)) + &heading;
    }
    if files.contains(&page_of_folder) {
        return named(&relative(page, &page_of_folder)) + &heading;
    }
    // The target is not in the repository: it is a page that only the book has.
    if !root.join(&file).exists() {
        return target.to_owned();
    }
    let kind = if root.join(&file).is_dir() { "tree" } else { "blob" };
    format!("{repository}/{kind}/main/{file}{heading}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_book_are_those_of_the_index_with_their_pages() {
        let parts = parts(&read(INDEX).unwrap()).unwrap();
        let titles: Vec<_> = parts.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["Start", "Guide", "Reference", "Internals", "Project"]);
        assert_eq!(parts[1].1[0], ("How the campaign works".into(), "docs/guide/how-it-works.md".into()));
        assert!(parts[3].1.contains(&("Architecture".into(), "ARCHITECTURE.md".into())));
        for (title, page) in parts.iter().flat_map(|(_, pages)| pages) {
            assert!(shell::root().join(page).is_file(), "{title}: {page}");
        }
    }

    #[test]
    fn the_readme_of_every_package_is_in_the_book() {
        let parts = parts(&read(INDEX).unwrap()).unwrap();
        let start: BTreeSet<_> = parts[0].1.iter().map(|(_, page)| page.as_str()).collect();
        for package in [
            "bindings/kotlin",
            "bindings/swift",
            "bindings/wasmtime-host",
            "cli",
            "node",
            "python",
            "runtime",
        ] {
            assert!(start.contains(format!("{package}/README.md").as_str()), "{package}");
        }
    }

    #[test]
    fn every_page_of_the_documentation_is_in_the_book_once() {
        let parts = parts(&read(INDEX).unwrap()).unwrap();
        let all: Vec<_> = parts.iter().flat_map(|(_, pages)| pages.iter().map(|(_, page)| page)).collect();
        let once: BTreeSet<_> = all.iter().collect();
        assert_eq!(once.len(), all.len());
    }

    #[test]
    fn links_lead_to_pages_of_the_book_or_to_the_repository() {
        let files = ["docs/guide/a.md", "docs/README.md", "README.md", "docs/b.svg"];
        let files: BTreeSet<String> = files.map(str::to_owned).into();
        let repository = env!("CARGO_PKG_REPOSITORY");
        let on = |page: &str, text: &str| with_links(text, page, &files, shell::root()).trim_end().to_owned();
        let page = "docs/guide/a.md";
        assert_eq!(on(page, "[a](../README.md#b) ![c](../b.svg)"), "[a](../index.md#b) ![c](../b.svg)");
        assert_eq!(
            on(page, "[`a`](../../core/src/lib.rs)"),
            format!("[`a`]({repository}/blob/main/core/src/lib.rs)")
        );
        assert_eq!(on(page, "[a](../../core)"), format!("[a]({repository}/tree/main/core)"));
        assert_eq!(on("README.md", "[a](docs)"), "[a](docs/index.md)");
        let absolute = format!("[a]({repository}/blob/main/docs/guide/a.md#c)");
        assert_eq!(on("python/README.md", &absolute), "[a](../docs/guide/a.md#c)");
        let after_code = "`a\nb` [`c`](../../core)";
        assert_eq!(on(page, after_code), format!("`a\nb` [`c`]({repository}/tree/main/core)"));
        for unchanged in
            ["[a](#b)", "[a](https://example.com)", "`[a](../../core)`", "```\n[a](../../core)\n```"]
        {
            assert_eq!(on(page, unchanged), unchanged);
        }
    }
}
