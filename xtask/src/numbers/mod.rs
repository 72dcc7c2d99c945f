//! `cargo xtask numbers`: the size and the shape of the sources, always counted in the same way, so that a change can
//! be compared with the state before it.
//!
//! ```text
//!   mod ── what is counted, and the table
//!     ├── alike ── places that share lines
//!     ├── circles ── modules that import from one another
//!     └── structs ── the fields of structs
//! ```

mod alike;
mod circles;
mod structs;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::shell::{self, say};

/// The product's sources.
const PRODUCT: [&str; 19] = [
    "core/src",
    "runtime/src",
    "stores/seam/src",
    "stores/memory/src",
    "stores/sqlite/src",
    "stores/nats/src",
    "stores/etcd/src",
    "stores/kafka/src",
    "neli/src",
    "rig/src",
    "cli/src",
    "bindings/wasm-guest/src",
    "bindings/componentise/src",
    "bindings/ffi/src",
    "bindings/uniffi/src",
    "bindings/wasmtime-host/src",
    "node/src",
    "python/src",
    "examples/rust/src",
];

/// The stores whose files are in their own folders, or should be.
const STORES: [&str; 5] = ["memory", "sqlite", "nats", "etcd", "kafka"];

/// The folders of the three rules. A function whose name occurs in all three is either the same idea written three
/// times, or a hook.
const RULES: [&str; 3] = ["core/src/campaign", "core/src/queue", "core/src/induction"];

/// Folders of build results or installed packages.
const BUILT: [&str; 4] = ["target", "node_modules", "dist", "npm"];

/// `cargo xtask numbers`
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Write JSON: an object of numbers
    #[arg(long)]
    json: bool,

    /// List the places that are alike, the large structs and the circles, too
    #[arg(long, conflicts_with = "json")]
    list: bool,
}

/// A thing that is counted, and its number.
struct Number {
    name: &'static str,
    says: &'static str,
    count: usize,
    /// A line for each counted thing, if its place is worth reading.
    places: Vec<String>,
}

impl Number {
    fn new(name: &'static str, says: &'static str, count: usize) -> Self {
        Self { name, says, count, places: Vec::new() }
    }

    fn of_places(name: &'static str, says: &'static str, places: Vec<String>) -> Self {
        Self { name, says, count: places.len(), places }
    }
}

/// Prints the numbers.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let numbers = count()?;
    if args.json {
        let object: serde_json::Map<_, _> =
            numbers.iter().map(|number| (number.name.to_owned(), number.count.into())).collect();
        say!("{}", serde_json::Value::Object(object));
    } else {
        for Number { says, count, places, .. } in numbers {
            say!("{count:>8}  {says}");
            for place in places.iter().filter(|_| args.list) {
                say!("{:>8}  {place}", "");
            }
        }
    }
    Ok(true)
}

fn count() -> Result<Vec<Number>> {
    let mut files = Vec::new();
    walk(shell::root(), &mut files)?;
    let rust: Vec<&(String, String)> = files.iter().filter(|(path, _)| path.ends_with(".rs")).collect();
    let lines =
        |files: &[&(String, String)]| files.iter().map(|(_, text)| text.lines().count()).sum::<usize>();
    let outside: Vec<_> = rust.iter().copied().filter(|(path, _)| !path.starts_with("lab/")).collect();
    let product: Vec<(String, String)> = outside
        .iter()
        .filter(|(path, _)| {
            PRODUCT.iter().any(|folder| path.starts_with(&format!("{folder}/"))) && !is_test(path)
        })
        .map(|(path, text)| (path.clone(), without_tests(text).to_owned()))
        .collect();
    let structs: Vec<(&str, &str, usize)> = product
        .iter()
        .flat_map(|(path, text)| {
            structs::structs(text).into_iter().map(move |(name, fields)| (path.as_str(), name, fields))
        })
        .collect();
    let largest_of_core =
        structs.iter().filter(|(path, ..)| path.starts_with("core/")).map(|(.., fields)| *fields).max();
    let large = structs.iter().filter(|(.., fields)| *fields > 12);
    let large = large.map(|(path, name, fields)| format!("{path}: {name}, {fields}")).collect();
    let circles = |folders: &[&str]| -> Vec<String> {
        let of = |folder: &&str| {
            let below = format!("{folder}/");
            let sources: Vec<_> = product
                .iter()
                .filter_map(|(path, text)| Some((path.strip_prefix(&below)?.to_owned(), text.clone())))
                .collect();
            let circles = circles::circles(&sources).into_iter();
            circles.map(|circle| format!("{folder}: {}", circle.join(", "))).collect::<Vec<_>>()
        };
        folders.iter().flat_map(of).collect()
    };
    let names: Vec<BTreeSet<&str>> = RULES
        .map(|folder| {
            product
                .iter()
                .filter(|(path, _)| path.starts_with(folder))
                .flat_map(|(_, text)| functions(text))
                .collect()
        })
        .into();
    let in_all = names[0].iter().filter(|name| names[1..].iter().all(|other| other.contains(**name))).count();
    let mut numbers = vec![
        Number::new("files", "files", files.len()),
        Number::new("lines", "lines", lines(&files.iter().collect::<Vec<_>>())),
        Number::new("rust_outside_lab", "lines of Rust outside lab/", lines(&outside)),
        Number::new(
            "product",
            "lines of Rust of the product, without its tests",
            lines(&product.iter().collect::<Vec<_>>()),
        ),
        Number::of_places(
            "alike",
            "pairs of places in the product that share six lines and more",
            alike::pairs(&product),
        ),
        Number::of_places("structs_over_12", "structs of the product with more than 12 fields", large),
        Number::new(
            "largest_of_core",
            "fields of the largest struct of the core",
            largest_of_core.unwrap_or_default(),
        ),
        Number::of_places("circles", "circles of modules in the product", circles(&PRODUCT)),
        Number::of_places(
            "circles_inside",
            "of these in core, runtime and the stores",
            circles(&PRODUCT[..9]),
        ),
        Number::new("in_three_rules", "functions of one name in all three rules", in_all),
    ];
    for store in STORES {
        let says = match store {
            "memory" => "folders that hold files of the memory store",
            "sqlite" => "folders that hold files of SQLite",
            "nats" => "folders that hold files of NATS",
            "etcd" => "folders that hold files of etcd",
            _ => "folders that hold files of Kafka",
        };
        numbers.push(Number::new(store, says, folders_of(store, &files)));
    }
    Ok(numbers)
}

/// Counts the folders that contain a file named after the store or are named after it. Folders below a counted folder
/// count as part of it.
fn folders_of(store: &str, files: &[(String, String)]) -> usize {
    let named = |segment: &str| segment.split(|c: char| !c.is_alphanumeric()).any(|word| word == store);
    let holder = |path: &str| {
        let segments: Vec<&str> = path.split('/').collect();
        let at = segments.iter().position(|segment| named(segment))?;
        Some(segments[..(at + 1).min(segments.len() - 1)].join("/"))
    };
    files.iter().filter_map(|(path, _)| holder(path)).collect::<BTreeSet<_>>().len()
}

/// The names of the functions of a source.
fn functions(source: &str) -> Vec<&str> {
    let name = |line: &str| {
        let (_, rest) = line.trim_start().split_once("fn ")?;
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        Some((length, line.len() - rest.len()))
    };
    source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter_map(|line| name(line).map(|(length, begin)| &line[begin..begin + length]))
        .filter(|name| !name.is_empty())
        .collect()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn without_tests(source: &str) -> &str {
    source.split("\nmod tests {").next().unwrap_or(source)
}

/// The Rust sources below a folder of the repository, by their paths from that folder.
#[cfg(test)]
fn sources(folder: &str) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let root = shell::root();
    walk(&root.join(folder), &mut files)?;
    let below = format!("{folder}/");
    let is_rust = |(path, text): (String, String)| {
        let path = path.strip_prefix(&below)?.to_owned();
        path.ends_with(".rs").then_some((path, text))
    };
    Ok(files.into_iter().filter_map(is_rust).collect())
}

/// The text files below a folder, by their paths from the repository's root.
fn walk(folder: &Path, found: &mut Vec<(String, String)>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let kind = entry.file_type().with_context(|| format!("cannot read {}", path.display()))?;
        if name.starts_with('.') || BUILT.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            walk(&path, found)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(shell::root()).unwrap_or(&path);
            found.push((path.display().to_string(), text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stores_folder_counts_once_with_all_below_it_and_a_file_counts_its_folder() {
        let files = [
            "a/etcd/x.rs",
            "a/etcd/b/y.rs",
            "b/etcd.rs",
            "b/my_etcd_test.rs",
            "c/kafka/etcd.rs",
            "d/fetched.rs",
        ];
        let files: Vec<_> = files.map(|path| (path.to_owned(), String::new())).into();
        assert_eq!((folders_of("etcd", &files), folders_of("kafka", &files)), (3, 1));
    }

    #[test]
    fn a_functions_name_is_what_follows_fn() {
        let source = "pub(super) fn one(&self) {\n    // fn none()\n    const fn two<T>() {}\n    let f = \"often\";\n";
        assert_eq!(functions(source), ["one", "two"]);
    }
}
