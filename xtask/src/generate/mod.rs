//! Generates the parts of many files from `bindings/schema` and the `schema.toml` of each store: each language's
//! settings, refusals, errors, reasons, states and warnings, and the tables of the reference; and the glossary's words
//! in the documentation of the core. The output is committed; a test fails if a file differs from what the schema
//! gives.
//!
//! A file has parts that are written by hand, and generated ones: between a line with `generated: PART` and one with
//! `end of PART`, or the first paragraph of the documentation of a function or field.

mod codes;
mod options;
mod refusals;
mod schema;
mod settings;
mod templates;

use std::fs;

use anyhow::{Context, Result};

use crate::shell::{root, say};
use codes::Codes;
use schema::Schema;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing, and fail if a file is stale
    #[arg(long)]
    check: bool,
}

/// Returns true if no file is stale afterwards.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let stale = stale()?;
    for (file, text) in &stale {
        if args.check {
            say!("{file} is stale: run `cargo xtask generate`");
            continue;
        }
        fs::write(root().join(file), text).with_context(|| format!("cannot write {file}"))?;
        say!("{file}");
    }
    Ok(stale.is_empty() || !args.check)
}

/// Returns the files that differ from what the schema gives, each with the text that it should have.
fn stale() -> Result<Vec<(String, String)>> {
    let schema = Schema::read(root())?;
    let (settings, refusals) = (settings::files(&schema), refusals::files(&schema)?);
    let options = options::files(&schema)?;
    let codes = codes::files(&Codes::read(&root().join("bindings/schema/codes.toml"))?);
    let glossary = [("core/src/lib.rs", vec![Part::Between("glossary", words()?)])];
    let mut stale = Vec::new();
    for (file, parts) in settings.into_iter().chain(options).chain(refusals).chain(codes).chain(glossary) {
        let path = root().join(file);
        let before = fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        let mut text = before.clone();
        for part in parts {
            text = match part {
                Part::Between(part, lines) => replaced(&text, part, &lines),
                Part::Documents(item, lines) => documented(&text, &item, &lines),
            }
            .with_context(|| format!("in {file}"))?;
        }
        if text != before {
            stale.push((file.to_owned(), text));
        }
    }
    Ok(stale)
}

/// The rows of the glossary's table of words, for the documentation of the core.
fn words() -> Result<Vec<String>> {
    let file = root().join("docs/reference/glossary.md");
    let glossary = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let rows = glossary.lines().skip_while(|line| !line.starts_with('|'));
    Ok(rows.take_while(|line| line.starts_with('|')).map(|line| format!("//! {line}")).collect())
}

/// A generated part of a file.
enum Part {
    /// The lines of the part with that name.
    Between(&'static str, Vec<String>),
    /// The first paragraph of the documentation of the item whose line begins with this text.
    Documents(String, Vec<String>),
}

/// Returns the text with `doc` as the first paragraph of the documentation of an item.
fn documented(text: &str, item: &str, doc: &[String]) -> Result<String> {
    let lines: Vec<_> = text.lines().collect();
    let is_item = |line: &&str| line.trim_start().starts_with(item);
    let at = lines.iter().position(is_item).with_context(|| format!("there is no line `{item}`"))?;
    let indent = &lines[at][..lines[at].len() - lines[at].trim_start().len()];
    let inner = format!("{indent}    ");
    let before = |line: usize, mark: &str| line > 0 && lines[line - 1].trim_start().starts_with(mark);
    let mut end = at;
    while before(end, "#[") || before(end, ")]") {
        end -= 1;
        // An attribute of several lines.
        while lines[end].trim_start().starts_with(")]") || lines[end].starts_with(&inner) {
            end -= 1;
        }
    }
    let mut begin = end;
    while before(begin, "///") {
        begin -= 1;
    }
    let paragraph = lines[begin..end].iter().position(|line| line.trim() == "///");
    let mut documented: Vec<_> = lines[..begin].iter().map(|line| (*line).to_owned()).collect();
    documented.extend(doc.iter().map(|line| format!("{indent}{line}")));
    documented
        .extend(lines[paragraph.map_or(end, |place| begin + place)..].iter().map(|line| (*line).to_owned()));
    Ok(documented.join("\n") + "\n")
}

/// Returns the text with new lines in one of its generated parts. They are indented like the line that begins the part.
fn replaced(text: &str, part: &str, lines: &[String]) -> Result<String> {
    let (begin, end) = (format!("generated: {part}"), format!("end of {part}"));
    let ends_with = |line: &str, mark: &str| {
        let line = line.trim_end().trim_end_matches("-->").trim_end_matches("*/").trim_end();
        line.ends_with(mark)
    };
    let mut replaced = String::new();
    let mut old = text.split_inclusive('\n');
    let first = loop {
        let line = old.next().with_context(|| format!("there is no line `{begin}`"))?;
        replaced.push_str(line);
        if ends_with(line, &begin) {
            break line;
        }
    };
    let indent = &first[..first.len() - first.trim_start().len()];
    for line in lines {
        if !line.is_empty() {
            replaced.push_str(indent);
            replaced.push_str(line);
        }
        replaced.push('\n');
    }
    let last = old.find(|line| ends_with(line, &end)).with_context(|| format!("there is no line `{end}`"))?;
    replaced.push_str(last);
    replaced.extend(old);
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generated_part_is_what_the_schema_gives() {
        let stale: Vec<_> = stale().unwrap().into_iter().map(|(file, _)| file).collect();
        assert_eq!(stale, [""; 0], "run `cargo xtask generate`");
    }

    #[test]
    fn the_first_paragraph_of_an_items_documentation_is_replaced_over_its_attributes() {
        let text = "  /// Old.\n  /// Older.\n  ///\n  /// Stays.\n  #[arg]\n  skew: u8,\n";
        let expected = "  /// New.\n  ///\n  /// Stays.\n  #[arg]\n  skew: u8,\n";
        assert_eq!(documented(text, "skew:", &["/// New.".to_owned()]).unwrap(), expected);
        let text = "  /// Old.\n  #[arg(\n      long\n  )]\n  skew: u8,\n";
        let expected = "  /// New.\n  #[arg(\n      long\n  )]\n  skew: u8,\n";
        assert_eq!(documented(text, "skew:", &["/// New.".to_owned()]).unwrap(), expected);
        let error = documented(text, "slack:", &[]).unwrap_err();
        assert_eq!(error.to_string(), "there is no line `slack:`");
    }

    #[test]
    fn a_part_is_replaced_with_the_indentation_of_its_first_line_and_the_rest_stays() {
        let text = "a\n  // generated: b\n  old\n  // end of b\nc\n";
        let lines = ["x {".to_owned(), String::new(), "}".to_owned()];
        let expected = "a\n  // generated: b\n  x {\n\n  }\n  // end of b\nc\n";
        assert_eq!(replaced(text, "b", &lines).unwrap(), expected);
        assert_eq!(replaced(expected, "b", &lines).unwrap(), expected);
        let error = replaced(text, "d", &lines).unwrap_err();
        assert_eq!(error.to_string(), "there is no line `generated: d`");
    }
}
