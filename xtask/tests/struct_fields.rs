//! The structs of the core are small: more than 15 fields have parts with rules of their own, and each such part should
//! be a type. No struct is exempt: a user's settings have fewer, too.

#![allow(clippy::expect_used, reason = "a test may panic; it says why")]

use std::fs;
use std::path::Path;

/// The most fields of a struct.
const MOST: usize = 15;

/// The structs with named fields in a source, and the number of each one's fields.
fn structs(source: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = named(line) else { continue };
        // Lines such as `where` may precede the fields. A struct without a brace has no named fields.
        let mut opening = Some(line);
        while opening.is_some_and(|line| !line.ends_with(['{', ';', '}'])) {
            opening = lines.next();
        }
        if !opening.is_some_and(|line| line.ends_with('{')) {
            continue;
        }
        let body = lines.by_ref().take_while(|line| line.trim_end() != format!("{:indent$}}}", ""));
        found.push((name, body.filter(|line| is_field(line, indent + 4)).count()));
    }
    found
}

/// The name of the struct that a line declares.
fn named(line: &str) -> Option<&str> {
    let declared = without_visibility(line.trim_start()).strip_prefix("struct ")?;
    declared.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Returns true if a line with this indent declares a field.
fn is_field(line: &str, indent: usize) -> bool {
    let code = line.trim_start();
    let name = without_visibility(code).split(':').next().unwrap_or_default();
    line.len() - code.len() == indent
        && code.contains(": ")
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn without_visibility(code: &str) -> &str {
    let Some(rest) = code.strip_prefix("pub") else { return code };
    rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest).trim_start()
}

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.to_string_lossy().replace('\\', "/");
            let name = name.split_once("../").map_or(name.clone(), |(_, name)| name.to_owned());
            found.push((name, fs::read_to_string(&path).expect("a source")));
        }
    }
}

#[test]
fn no_struct_of_the_core_has_more_than_fifteen_fields() {
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src"), &mut all);
    let counted = all.iter().flat_map(|(file, source)| {
        structs(source).into_iter().map(move |(name, fields)| (format!("{file}: {name}"), fields))
    });
    let counted: Vec<_> = counted.collect();
    assert!(counted.len() > 100, "{} structs", counted.len());
    let too_large: Vec<_> = counted.into_iter().filter(|(_, fields)| *fields > MOST).collect();
    assert_eq!(too_large, [], "give a part with rules of its own a type");
}

#[test]
fn the_fields_of_a_struct_are_counted_whatever_precedes_them() {
    let source = "\
pub(crate) struct Plain {
    /// Why: this is no field.
    #[serde(default)]
    pub(super) one: u32,
    pub two: Map<
        String: Key,
    >,
    r: [u8; 4],
}

struct Unit;
struct Tuple(u32);

struct Bound<T>
where
    T: Copy,
{
    only: T,
}
";
    assert_eq!(structs(source), [("Plain", 3), ("Bound", 1)]);
}
