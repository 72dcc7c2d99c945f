//! Counts the words that this project avoids. Their number may fall and never rise: `xtask/words.toml` holds, for each
//! word and each tree, how many are left.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use super::Part;
use super::tally::Report;
use crate::shell::{self, say};

/// The file of the limits.
const LIMITS: &str = "xtask/words.toml";
/// Files that are not counted, because they must name the words.
const EXEMPT: [&str; 4] = ["CONTRIBUTING.md", "xtask/src/test/words.rs", "node/docs", "node/ts/native.d.ts"];
/// Folders of build results or installed packages.
const BUILT: [&str; 4] = ["target", "node_modules", "dist", "npm"];
/// The number of places that are shown when a limit is exceeded.
const SHOWN: usize = 12;
/// Entries whose plural is a different, allowed word: "besides".
const WITHOUT_PLURAL: [&str; 1] = ["beside"];

/// `cargo xtask words`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Lower the limits that are higher than the counts; none is ever raised
    #[arg(long)]
    lower: bool,
}

/// Files that are counted together, by language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    Rust,
    Docs,
    Python,
    TypeScript,
    Wit,
}

impl Tree {
    const ALL: [Self; 5] = [Self::Rust, Self::Docs, Self::Python, Self::TypeScript, Self::Wit];

    fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Docs => "docs",
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Wit => "wit",
        }
    }

    fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "rs" => Self::Rust,
            "md" => Self::Docs,
            "py" | "pyi" => Self::Python,
            "ts" | "mts" | "js" | "mjs" => Self::TypeScript,
            "wit" => Self::Wit,
            _ => return None,
        })
    }
}

/// For each word or phrase, the limits of the trees in which it still occurs. A phrase that begins with a comma counts
/// only if a comma comes before it in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limits(BTreeMap<String, BTreeMap<String, usize>>);

impl Limits {
    fn parse(text: &str) -> Result<Self> {
        let limits: BTreeMap<String, BTreeMap<String, usize>> =
            toml::from_str(text).with_context(|| format!("{LIMITS} cannot be read"))?;
        for (word, trees) in &limits {
            let is_known = |name: &&String| Tree::ALL.iter().any(|tree| tree.name() == name.as_str());
            if let Some(name) = trees.keys().find(|name| !is_known(name)) {
                anyhow::bail!("{LIMITS}: {word:?} has a limit for {name:?}, which is not a tree");
            }
        }
        Ok(Self(limits))
    }

    /// The limit of a word in a tree; zero if none is set.
    fn limit(&self, word: &str, tree: Tree) -> usize {
        self.0.get(word).and_then(|trees| trees.get(tree.name())).copied().unwrap_or(0)
    }

    /// Returns these limits, each lowered to the count if the count is smaller.
    fn lowered(&self, found: &Found) -> Self {
        let lowered = |word: &String| {
            let limit = |tree: &Tree| self.limit(word, *tree).min(found.places(word, *tree).len());
            let trees = Tree::ALL.iter().map(|tree| (tree.name().to_owned(), limit(tree)));
            (word.clone(), trees.filter(|(_, limit)| *limit > 0).collect())
        };
        Self(self.0.keys().map(lowered).collect())
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# How often a word or turn that we avoid still occurs in the files of each language. `cargo xtask test lint`"
        )?;
        writeln!(f, "# fails if there are more; `cargo xtask words --lower` writes down how many are left.")?;
        for (word, trees) in &self.0 {
            let trees: Vec<_> = trees.iter().map(|(tree, limit)| format!("{tree} = {limit}")).collect();
            let trees =
                if trees.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", trees.join(", ")) };
            writeln!(f, "{word:?} = {trees}")?;
        }
        Ok(())
    }
}

/// The places of words: `file:line`, those in recently changed files first.
#[derive(Debug, Default)]
struct Found(BTreeMap<(String, Tree), Vec<String>>);

impl Found {
    fn places(&self, word: &str, tree: Tree) -> &[String] {
        self.0.get(&(word.to_owned(), tree)).map_or(&[], Vec::as_slice)
    }

    /// Counts the words of `limits` in a text.
    fn search(&mut self, limits: &Limits, tree: Tree, file: &str, text: &str) {
        // The map's keys are the first words of the phrases, so that few comparisons are needed.
        let mut phrases = BTreeMap::<&str, Vec<Phrase<'_>>>::new();
        for entry in limits.0.keys() {
            let phrase = Phrase::of(entry);
            phrases.entry(phrase.words[0]).or_default().push(phrase);
        }
        for (number, line) in text.lines().enumerate() {
            let tokens = tokens(line);
            for (at, token) in tokens.iter().enumerate() {
                let singular = token.word.strip_suffix('s').unwrap_or("");
                let begun =
                    [token.word.as_str(), singular].into_iter().filter_map(|first| phrases.get(first));
                for phrase in begun.flatten().filter(|phrase| phrase.begins(&tokens[at..])) {
                    let place = format!("{file}:{}", number + 1);
                    self.0.entry((phrase.entry.to_owned(), tree)).or_default().push(place);
                }
            }
        }
    }
}

/// A word or phrase to search for.
struct Phrase<'a> {
    entry: &'a str,
    words: Vec<&'a str>,
    follows_comma: bool,
}

impl<'a> Phrase<'a> {
    fn of(entry: &'a str) -> Self {
        let words = entry.trim_start_matches(", ");
        Self { entry, words: words.split(' ').collect(), follows_comma: words != entry }
    }

    /// Returns true if a line continues with this phrase, or with its plural.
    fn begins(&self, line: &[Token]) -> bool {
        let plural = if WITHOUT_PLURAL.contains(&self.entry) { "" } else { "s" };
        let is_same = |(token, wanted): (&Token, &&str)| {
            token.word.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest == plural)
        };
        line.len() >= self.words.len()
            && (line[0].follows_comma || !self.follows_comma)
            && line.iter().zip(&self.words).all(is_same)
    }
}

/// A word of a line.
#[derive(Debug, Default)]
struct Token {
    /// In lower case.
    word: String,
    /// True if nothing but a comma and white space separates the word from the one before.
    follows_comma: bool,
}

/// The words of a line; an identifier is split into its words.
fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = vec![Token::default()];
    let (mut was_lower, mut comma) = (false, false);
    for character in line.chars() {
        let begins = character.is_uppercase() && was_lower;
        if (begins || !character.is_alphanumeric()) && tokens.last().is_some_and(|last| !last.word.is_empty())
        {
            tokens.push(Token::default());
        }
        if character.is_alphanumeric() {
            if let Some(last) = tokens.last_mut() {
                last.follows_comma |= comma;
                last.word.extend(character.to_lowercase());
            }
            comma = false;
        } else if !character.is_whitespace() {
            comma = character == ',';
        }
        was_lower = character.is_lowercase();
    }
    tokens
}

/// Lists the files of a folder that are counted, those that changed most recently first.
fn files(root: &Path) -> Result<Vec<(PathBuf, Tree)>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let kind = entry.file_type().with_context(|| format!("cannot read {}", path.display()))?;
            if name.starts_with('.')
                || BUILT.contains(&name.as_str())
                || EXEMPT.iter().any(|file| path == root.join(file))
            {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if let Some(tree) = Tree::of(&path) {
                let changed =
                    entry.metadata().and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
                found.push((changed, path, tree));
            }
        }
    }
    found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    Ok(found.into_iter().map(|(_, path, tree)| (path, tree)).collect())
}

/// Reads the limits, and counts the words in the files of `root`.
fn count(root: &Path) -> Result<(Limits, Found)> {
    let limits = fs::read_to_string(root.join(LIMITS)).with_context(|| format!("cannot read {LIMITS}"))?;
    let (limits, mut found) = (Limits::parse(&limits)?, Found::default());
    for (path, tree) in files(root)? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        found.search(&limits, tree, &file, &text);
    }
    Ok((limits, found))
}

/// The words above their limits, one line for each word and tree, with the places.
fn excess(limits: &Limits, found: &Found) -> Vec<String> {
    let pairs = limits.0.keys().flat_map(|word| Tree::ALL.map(|tree| (word, tree)));
    let too_many = pairs.filter_map(|(word, tree)| {
        let (places, limit) = (found.places(word, tree), limits.limit(word, tree));
        (places.len() > limit).then(|| {
            let shown = places.iter().take(SHOWN).map(|place| format!("\n    {place}")).collect::<String>();
            let more = places.len().saturating_sub(SHOWN);
            let more =
                if more > 0 { format!("\n    and {more} in files changed before") } else { String::new() };
            format!("{word:?} occurs {} times in {}, limit {limit}:{shown}{more}", places.len(), tree.name())
        })
    });
    too_many.collect()
}

/// The check of `cargo xtask test lint`.
pub(super) fn run(report: &mut Report) -> Result<()> {
    shell::progress("lint: words");
    let (limits, found) = count(shell::root())?;
    let excess = excess(&limits, &found);
    for line in &excess {
        say!("{line}");
    }
    if !excess.is_empty() {
        say!("CONTRIBUTING.md says what to write instead");
    }
    report.check(Part::Lint, "words", excess.is_empty());
    Ok(())
}

/// `cargo xtask words`: prints the counts, and lowers the limits if that is asked for.
pub(crate) fn chore(args: &Args) -> Result<bool> {
    let (limits, found) = count(shell::root())?;
    for word in limits.0.keys() {
        let left = Tree::ALL.iter().map(|tree| (found.places(word, *tree).len(), tree.name()));
        let left: Vec<_> =
            left.filter(|(left, _)| *left > 0).map(|(left, tree)| format!("{left} in {tree}")).collect();
        println!("{word:<12} {}", if left.is_empty() { "none".into() } else { left.join(", ") });
    }
    let lowered = limits.lowered(&found);
    if args.lower && lowered != limits {
        fs::write(shell::root().join(LIMITS), lowered.to_string())
            .with_context(|| format!("cannot write {LIMITS}"))?;
    }
    let excess = excess(&limits, &found);
    excess.iter().for_each(|line| println!("{line}"));
    Ok(excess.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Limits {
        Limits::parse(text).unwrap()
    }

    fn found(limits: &Limits, text: &str) -> Found {
        let mut found = Found::default();
        found.search(limits, Tree::Rust, "a.rs", text);
        found
    }

    #[test]
    fn words_are_found_in_prose_in_names_and_in_the_plural_and_not_within_other_words() {
        let limits = limits("seat = {}\nnobody = {}\n");
        let text =
            "// A seat: seats.\nfn nobody_leads() {}\nstruct FirstSeat;\nlet SEAT = seated(\"seating\");\n";
        let found = found(&limits, text);
        assert_eq!(found.places("seat", Tree::Rust), ["a.rs:1", "a.rs:1", "a.rs:3", "a.rs:4"]);
        assert_eq!(found.places("nobody", Tree::Rust), ["a.rs:2"]);
        assert!(found.places("seat", Tree::Docs).is_empty());
    }

    #[test]
    fn a_phrase_is_its_words_in_a_row() {
        let limits = limits("\"for ever\" = {}\n");
        let found = found(&limits, "wait for ever\nfor_ever\nfor, ever\nfor each\never\n");
        assert_eq!(found.places("for ever", Tree::Rust), ["a.rs:1", "a.rs:2", "a.rs:3"]);
    }

    #[test]
    fn a_phrase_that_begins_with_a_comma_is_found_only_right_after_one() {
        let limits = limits("\", where it\" = {}\n");
        let text = "stop, where it is\nstop where it is\nStop,where it ends\nstop, or where it is\nstop, (where it is)\n";
        assert_eq!(found(&limits, text).places(", where it", Tree::Rust), ["a.rs:1", "a.rs:3"]);
    }

    #[test]
    fn a_plural_that_is_another_word_is_not_found() {
        let limits = limits("beside = {}\n");
        let found = found(&limits, "besides\nbeside\nfn beside_it() {}\n");
        assert_eq!(found.places("beside", Tree::Rust), ["a.rs:2", "a.rs:3"]);
    }

    #[test]
    fn as_many_as_the_limit_are_accepted_and_one_more_is_named_with_its_place() {
        let text = "seat\nseat\n";
        let enough = limits("seat = { rust = 2 }\n");
        assert!(excess(&enough, &found(&enough, text)).is_empty());
        let low = limits("seat = { rust = 1, docs = 9 }\n");
        let expected = "\"seat\" occurs 2 times in rust, limit 1:\n    a.rs:1\n    a.rs:2";
        assert_eq!(excess(&low, &found(&low, text)), [expected]);
    }

    #[test]
    fn a_long_list_of_places_is_cut() {
        let none = limits("seat = {}\n");
        let lines = excess(&none, &found(&none, &"seat\n".repeat(SHOWN + 3)));
        assert!(lines[0].ends_with(&format!("a.rs:{SHOWN}\n    and 3 in files changed before")), "{lines:?}");
    }

    #[test]
    fn limits_are_lowered_and_never_raised() {
        let before = limits("bell = { rust = 1 }\nseat = { rust = 5, docs = 2 }\n");
        let lowered = before.lowered(&found(&before, "seat\nseat\nbell\nbell\n"));
        assert_eq!(lowered, limits("bell = { rust = 1 }\nseat = { rust = 2 }\n"));
        assert_eq!(limits(&lowered.to_string()), lowered, "what is written is read again");
    }

    #[test]
    fn a_limit_for_an_unknown_tree_is_refused() {
        let error = Limits::parse("seat = { cobol = 1 }\n").unwrap_err().to_string();
        assert_eq!(error, "xtask/words.toml: \"seat\" has a limit for \"cobol\", which is not a tree");
    }

    #[test]
    fn files_are_counted_by_language_and_what_is_built_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "core/a.rs",
            "a.md",
            "target/b.rs",
            ".git/c.rs",
            "node/node_modules/d.ts",
            "CONTRIBUTING.md",
            "e.txt",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "seat").unwrap();
        }
        let mut found = files(root.path()).unwrap();
        found.sort();
        let expected = [(root.path().join("a.md"), Tree::Docs), (root.path().join("core/a.rs"), Tree::Rust)];
        assert_eq!(found, expected);
    }
}
