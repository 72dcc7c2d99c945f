//! Checks that links between the site's pages lead to existing files and elements. A page that only redirects, as
//! rustdoc writes for items that moved, has the elements of its target. Addresses elsewhere are not looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use percent_encoding::percent_decode_str;

/// The result of a check.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) pages: usize,
    pub(super) links: usize,
    pub(super) broken: Vec<String>,
}

/// The names and the links of a page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    /// The names of its elements.
    anchors: BTreeSet<String>,
    /// The targets of the page's links, pictures, styles and scripts.
    targets: BTreeSet<String>,
    /// The page to which this page redirects.
    instead: Option<String>,
}

/// The most redirects that are followed in a row, because redirects can form a circle.
const REDIRECTS: usize = 4;

/// Checks the links of all pages in a folder, except links into its `unbuilt` folders.
pub(super) fn check(site: &Path, unbuilt: &[&str]) -> Result<Checked> {
    let mut files = BTreeSet::new();
    list(site, &mut files)?;
    let unbuilt: Vec<_> = unbuilt.iter().map(|folder| site.join(folder)).collect();
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "html")) {
        let html = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        pages.insert(file.clone(), page(&String::from_utf8_lossy(&html)));
    }
    let mut checked = Checked { pages: pages.len(), ..Checked::default() };
    for (file, page) in &pages {
        // A server shows the page 404.html in place of any missing page, so its links begin at the root.
        let is_missing_page = *file == site.join("404.html");
        for target in page.targets.iter().filter(|target| !is_missing_page || !target.starts_with('/')) {
            let Some(problem) = followed(target, file, &files, &pages, &unbuilt) else { continue };
            checked.links += 1;
            if let Err(problem) = problem {
                let file = file.strip_prefix(site).unwrap_or(file);
                checked.broken.push(format!("{}: {target}: {problem}", file.display()));
            }
        }
    }
    Ok(checked)
}

/// Lists all files below a folder, including those in linked folders.
fn list(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

/// Returns the result of following a link, or `None` if the link leads elsewhere.
fn followed(
    target: &str,
    from: &Path,
    files: &BTreeSet<PathBuf>,
    pages: &BTreeMap<PathBuf, Page>,
    unbuilt: &[PathBuf],
) -> Option<Result<(), &'static str>> {
    let scheme = target.split(['/', '?', '#']).next().unwrap_or_default();
    if scheme.contains(':') || target.starts_with("//") {
        return None;
    }
    if target.starts_with('/') {
        // The site is served from a folder, so a link must not begin at the root.
        return Some(Err("begins at the server's root"));
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let path = decoded(path.split('?').next().unwrap_or_default());
    let file = if path.is_empty() { from.to_owned() } else { resolved(from, &path) };
    if unbuilt.iter().any(|folder| file.starts_with(folder)) {
        return None;
    }
    let mut file = if files.contains(&file) { file } else { file.join("index.html") };
    if !files.contains(&file) {
        return Some(Err("there is no such file"));
    }
    let Some(anchor) = anchor else { return Some(Ok(())) };
    for _ in 0..REDIRECTS {
        let Some(instead) = pages.get(&file).and_then(|page| page.instead.as_ref()) else { break };
        // The target's existence is checked with the redirecting page's own link.
        file = resolved(&file, &decoded(instead));
    }
    // A script names the lines of rustdoc's source pages, so they are not elements of the page.
    let is_line = anchor.chars().all(|c| c.is_ascii_digit() || c == '-');
    // The undecoded anchor is compared first, because names that rustdoc writes have escapes in them.
    let is_there = |page: &Page| page.anchors.contains(anchor) || page.anchors.contains(&decoded(anchor));
    let has_it = |page: &Page| anchor.is_empty() || is_line || is_there(page);
    Some(if pages.get(&file).is_none_or(has_it) { Ok(()) } else { Err("there is no such element") })
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Resolves a path that is relative to a page.
fn resolved(from: &Path, path: &str) -> PathBuf {
    let mut file = from.parent().unwrap_or(from).to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(file.pop()),
            Component::Normal(part) => file.push(part),
            _ => {}
        }
    }
    file
}

/// Elements whose content is not HTML.
const RAW: [&str; 2] = ["script", "style"];

/// Reads the names and targets in a page.
fn page(html: &str) -> Page {
    let (mut page, mut rest) = (Page::default(), html);
    while let Some((_, tag)) = rest.split_once('<') {
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = tag[..end].to_ascii_lowercase();
        rest = &tag[end..];
        if name.is_empty() {
            continue;
        }
        let (mut refreshes, mut content) = (false, None);
        rest = attributes(rest, |attribute, value| {
            let is_anchor = attribute == "id" || (attribute == "name" && name == "a");
            if is_anchor {
                page.anchors.insert(value);
            } else if matches!(attribute, "href" | "src") && name != "base" {
                page.targets.insert(value);
            } else if name == "meta" {
                match attribute {
                    "http-equiv" => refreshes = value.eq_ignore_ascii_case("refresh"),
                    "content" => content = Some(value),
                    _ => {}
                }
            }
        });
        // The content is a time and an address: `0;URL=../a.html`.
        let address = content.as_deref().filter(|_| refreshes).and_then(|content| content.split_once('='));
        if let Some((_, address)) = address {
            page.targets.insert(address.to_owned());
            page.instead = Some(address.to_owned());
        }
        if RAW.contains(&name.as_str()) {
            let end = format!("</{name}");
            rest = rest.find(&end).map_or("", |at| &rest[at..]);
        }
    }
    page
}

/// Passes the attributes of a tag to `each`. Returns what follows the tag.
fn attributes(tag: &str, mut each: impl FnMut(&str, String)) -> &str {
    let mut rest = tag;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return after;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace() || "=>/".contains(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        rest = rest[end..].trim_start();
        if name.is_empty() && !rest.starts_with('=') {
            return rest;
        }
        let Some(value) = rest.strip_prefix('=') else { continue };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value
                .split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len())),
        };
        each(&name.to_ascii_lowercase(), unescaped(value));
        rest = after;
    }
}

/// The text of an attribute.
fn unescaped(value: &str) -> String {
    let named =
        [("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    named.iter().fold(value.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn names_and_targets_are_read_however_they_are_quoted() {
        let html = "<!doctype html><a id=one href='a.html?x&amp;y#b' hidden>a < b</a><img src=\"c d.png\"/>\
            <!-- <a href=\"no\"> --><script src=e.js>\"<a href='no'>\"</script><h2 id = \"two\">x</h2><a name=three>";
        let expected = Page {
            anchors: set(&["one", "two", "three"]),
            targets: set(&["a.html?x&y#b", "c d.png", "e.js"]),
            instead: None,
        };
        assert_eq!(page(html), expected);
    }

    fn site(files: &[(&str, &str)]) -> tempfile::TempDir {
        let site = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = site.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        site
    }

    #[test]
    fn links_to_files_folders_with_an_index_and_elements_are_well() {
        let links = "<a href=\"b/c.html#d%20e\"></a><a href=\"b/\"></a><a href=\"#o%3Cn\" id=\"o%3Cn\"></a>\
            <a href=\"#\"></a><img src=\"b/p.svg\"><a href=\"https://example.com/none\"></a>";
        let site = site(&[
            ("index.html", links),
            ("b/c.html", "<p id=\"d e\"><a href=\"../index.html#o%3Cn\">"),
            ("b/index.html", ""),
            ("b/p.svg", ""),
        ]);
        let checked = check(site.path(), &[]).unwrap();
        assert_eq!((checked.pages, checked.links, checked.broken.len()), (3, 6, 0), "{checked:?}");
    }

    #[test]
    fn links_to_what_is_not_there_are_named() {
        let links = "<a href=\"none.html\"></a><a href=\"b.html#none\"></a><a href=\"/b.html\"></a>";
        let site = site(&[("index.html", links), ("b.html", "")]);
        let expected = [
            "index.html: /b.html: begins at the server's root",
            "index.html: b.html#none: there is no such element",
            "index.html: none.html: there is no such file",
        ];
        assert_eq!(check(site.path(), &[]).unwrap().broken, expected);
    }

    const TO_C: &str = "<META content='0;URL=b/c.html' http-equiv=refresh>";

    #[test]
    fn a_page_that_leads_to_another_has_the_elements_of_that() {
        let links = "<a href=\"moved.html#d\"></a><a href=\"moved.html#none\"></a>";
        let site = site(&[("index.html", links), ("moved.html", TO_C), ("b/c.html", "<p id=d>")]);
        let checked = check(site.path(), &[]).unwrap();
        assert_eq!(checked.links, 3);
        assert_eq!(checked.broken, ["index.html: moved.html#none: there is no such element"]);
    }

    #[test]
    fn a_page_that_leads_to_one_that_is_not_there_is_named() {
        let site = site(&[("moved.html", TO_C)]);
        assert_eq!(check(site.path(), &[]).unwrap().broken, ["moved.html: b/c.html: there is no such file"]);
    }

    #[test]
    fn pages_that_lead_to_each_other_have_no_elements() {
        let to = |page: &str| format!("<meta http-equiv=\"refresh\" content=\"0; url={page}\">");
        let site =
            site(&[("a.html", &to("b.html")), ("b.html", &to("a.html")), ("c.html", "<a href=a.html#d>")]);
        assert_eq!(check(site.path(), &[]).unwrap().broken, ["c.html: a.html#d: there is no such element"]);
    }

    #[test]
    fn links_into_a_folder_that_is_not_built_are_not_followed() {
        let links = "<a href=\"game/index.html\"></a><a href=\"gamer/index.html\"></a>";
        let site = site(&[("index.html", links)]);
        let checked = check(site.path(), &["game"]).unwrap();
        assert_eq!(checked.broken, ["index.html: gamer/index.html: there is no such file"]);
    }
}
