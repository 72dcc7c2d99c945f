//! The site: a book of the repository's pages, the crates' documentation, and the playground on the front page.

mod links;
mod pages;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::crates;
use crate::shell::{self, say};
use crate::tools::MDBOOK;

/// The folder of the crates' documentation in the site.
const API: &str = "api";

/// Broken links in the documentation of other crates. Our documentation repeats such a link if another crate's trait is
/// implemented for every type. Only `tracing` has such a link.
const FOREIGN: [&str; 1] = [": dispatcher#setting-the-default-subscriber: "];

/// The page to which links back from rustdoc's own pages lead.
const CRATES: &str = "<!doctype html><meta charset=\"utf-8\"><title>Crates</title>\
    <meta http-equiv=\"refresh\" content=\"0; url=../crates.html\"><a href=\"../crates.html\">Crates</a>\n";

/// The folder of the playground in the site.
const PLAYGROUND: &str = "playground";

/// Builds the site, and checks its links. Returns the site's folder.
pub(crate) fn build() -> Result<PathBuf> {
    let site = super::fresh("site")?;
    let pages = book(&site)?;
    copy(&super::playground()?, &site.join(PLAYGROUND))?;
    documentation(&site.join(API))?;
    follow(&site, pages, &[])?;
    Ok(site)
}

/// Builds the book with the crates' documentation from an earlier `cargo doc`, and checks the links of both. Links into
/// the playground are not checked, because its build needs Node.
pub(crate) fn check() -> Result<()> {
    let site = super::fresh("site-links")?;
    let pages = book(&site)?;
    link(&shell::target().join("doc"), &site.join(API))?;
    follow(&site, pages, &[PLAYGROUND])
}

/// Builds the book. Returns the number of its pages that come from the repository.
fn book(site: &Path) -> Result<usize> {
    shell::progress("the book");
    let book = super::fresh("book")?;
    let pages = pages::write(&book.join("src"))?;
    fs::write(book.join("book.toml"), settings(site)).context("cannot write the book's settings")?;
    fs::write(book.join("site.css"), include_str!("site.css")).context("cannot write the book's style")?;
    fs::write(book.join("site.js"), include_str!("site.js")).context("cannot write the book's script")?;
    shell::output(MDBOOK.command()?.arg("build").arg(&book))?;
    Ok(pages)
}

/// Fails if the site has a broken link.
fn follow(site: &Path, pages: usize, unbuilt: &[&str]) -> Result<()> {
    shell::progress("links of the site");
    let checked = links::check(site, unbuilt)?;
    let broken: Vec<_> =
        checked.broken.iter().filter(|link| !FOREIGN.iter().any(|foreign| link.contains(foreign))).collect();
    if let Some(first) = broken.first() {
        bail!("{} links of the site lead nowhere; the first is {first}", broken.len());
    }
    say!("{pages} pages of the repository, {} pages in all, {} links", checked.pages, checked.links);
    Ok(())
}

/// The book's settings.
fn settings(site: &Path) -> String {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let name = repository.rsplit('/').next().unwrap_or_default();
    format!(
        "[book]\n\
         title = \"{name}\"\n\
         description = \"Leader election on the infrastructure you already run\"\n\
         language = \"en\"\n\
         [build]\n\
         build-dir = '{}'\n\
         create-missing = false\n\
         [output.html]\n\
         additional-css = [\"site.css\"]\n\
         additional-js = [\"site.js\"]\n\
         git-repository-url = \"{repository}\"\n\
         site-url = \"/{name}/\"\n\
         no-section-label = true\n\
         [output.html.print]\n\
         enable = false\n\
         [output.html.playground]\n\
         runnable = false\n",
        site.display()
    )
}

/// The documentation of the crates that are published.
fn documentation(to: &Path) -> Result<()> {
    shell::progress("the crates' documentation");
    let documented = shell::target().join("doc");
    // Removes earlier documentation, because the index would list the crates that were documented before.
    if documented.exists() {
        fs::remove_dir_all(&documented).with_context(|| format!("cannot remove {}", documented.display()))?;
    }
    let mut doc = shell::cargo();
    doc.args(["doc", "--quiet", "--no-deps", "--all-features", "--lib"]).env("RUSTDOCFLAGS", "-Dwarnings");
    for (name, _) in crates::described()? {
        doc.args(["--package", &name]);
    }
    shell::run(&mut doc)?;
    copy(&documented, to)?;
    fs::write(to.join("index.html"), CRATES).context("cannot write the index of crates")
}

/// Adds links to the site that lead to the documentation of the published crates, within that of the whole workspace.
fn link(documented: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.join("src")).with_context(|| format!("cannot make {}", to.display()))?;
    let mut parts = Vec::new();
    for (name, _) in crates::described()? {
        let module = name.replace('-', "_");
        parts.extend([format!("src/{module}"), module]);
    }
    // The names of files and folders that all crates share contain a dot.
    let entries =
        fs::read_dir(documented).with_context(|| format!("cannot read {}", documented.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    parts.extend(names.filter(|name| name.contains('.') && name != "index.html"));
    for part in parts {
        symlink(documented.join(&part), to.join(&part)).with_context(|| format!("cannot link {part}"))?;
    }
    fs::write(to.join("index.html"), CRATES).context("cannot write the index of crates")
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for file in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let file = file?;
        let (from, to) = (file.path(), to.join(file.file_name()));
        if file.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(())
}
