//! Circles: sets of modules that all import from one another, so that none can be understood without the rest.

use std::collections::{BTreeMap, BTreeSet};

/// A module, by its path from the crate's root; the root's path is empty.
type Module = Vec<String>;

/// Returns the circles of the crate with these sources, which are given by their paths below `src`. A circle is the
/// list of its modules' names.
pub(super) fn circles(sources: &[(String, String)]) -> Vec<Vec<String>> {
    circles_of(&sources.iter().map(|(path, source)| (module(path), code(source))).collect())
}

fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str())) {
        module.pop();
    }
    module
}

/// A source without comments and tests. A module that is written in its parent's file is part of that file, so the
/// `super` of such a module is the file itself.
fn code(source: &str) -> String {
    let code = source.split("\nmod tests {").next().unwrap_or_default();
    let mut inside = Vec::new();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| {
        let indent = line.len() - line.trim_start().len();
        if line.trim() == "}" && inside.last() == Some(&indent) {
            inside.pop();
        }
        let begins = line.ends_with('{') && line.split_whitespace().any(|word| word == "mod");
        let line = inside.iter().fold(line.to_owned(), |line, _| within(&line));
        if begins {
            inside.push(indent);
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line of a module that is written in its parent's file, with its paths as the parent has them.
fn within(line: &str) -> String {
    line.replace("super::super::", "\0").replace("super::", "self::").replace('\0', "super::")
}

/// Returns the paths that a source names: those after `use`, with braces expanded, and those that begin with `crate` or
/// `super`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let begins_a_word = rest[..at].ends_with(['\n', ' ', ')']) || at == 0;
        let tree = rest[at + 4..].split(';').next().unwrap_or_default();
        if begins_a_word {
            let tree: String =
                tree.split_whitespace().map(|word| if word == "as" { "," } else { word }).collect();
            write_out(&tree, &[], &mut found);
        }
        rest = &rest[at + 4..];
    }
    for head in ["crate::", "super::"] {
        for (at, _) in code.match_indices(head) {
            let path = code[at..].split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).next();
            // The part in braces was written out above, and a visibility such as `pub(in super::super)` names no item.
            let names_an_item = |path: &&str| {
                path.split("::").last().is_some_and(|last| !["", "super", "crate"].contains(&last))
            };
            if let Some(path) = path.filter(names_an_item) {
                found.push(path.split("::").map(str::to_owned).collect());
            }
        }
    }
    found
}

/// Expands `a::{b, c::d}` to `a::b` and `a::c::d`.
fn write_out(tree: &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let (mut depth, mut begin) = (0, 0);
    let mut pieces = Vec::new();
    for (at, c) in tree.char_indices().chain([(tree.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&tree[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        let (path, inner) = piece.split_once('{').map_or((piece, None), |(path, inner)| (path, Some(inner)));
        let segments = path.split("::").filter(|segment| !segment.is_empty()).map(str::to_owned);
        let path: Vec<String> = before.iter().cloned().chain(segments).collect();
        match inner {
            Some(inner) => write_out(inner.strip_suffix('}').unwrap_or(inner), &path, found),
            None => found.push(path),
        }
    }
}

/// Returns the module of the item that a path names from within the module `from`, or `None` if the item is in the same
/// module or in another crate.
fn target<'a>(path: &[String], from: &Module, all: &'a BTreeMap<Module, String>) -> Option<&'a Module> {
    let is_folder = |at: &[String]| all.keys().any(|module| module.starts_with(at));
    let mut at = from.clone();
    let mut segments = path.iter().peekable();
    match segments.peek()?.as_str() {
        "crate" => at.clear(),
        "super" | "self" => {}
        child if is_folder(&[&from[..], &[child.to_owned()]].concat()) => {}
        _ => return None,
    }
    for segment in segments {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => _ = at.pop(),
            name => {
                at.push(name.to_owned());
                // A folder of modules may have no file of its own.
                if !is_folder(&at) {
                    at.pop();
                    break;
                }
            }
        }
    }
    while !all.contains_key(&at) {
        at.pop()?;
    }
    all.get_key_value(&at).map(|(module, _)| module).filter(|module| *module != from)
}

/// Returns the sets of modules that can all reach each other.
fn of_graph<'a>(edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> BTreeSet<BTreeSet<&'a Module>> {
    let reach = |from: &'a Module| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(module) = next.pop() {
            let new = edges.get(module).into_iter().flatten().filter(|to| reached.insert(**to));
            next.extend(new.copied().collect::<Vec<_>>());
        }
        reached
    };
    let reached: BTreeMap<_, _> = edges.keys().map(|module| (*module, reach(module))).collect();
    let circle = |module: &&'a Module| {
        let back = |other: &&&'a Module| reached.get(**other).is_some_and(|reached| reached.contains(module));
        reached[module].iter().filter(back).copied().collect::<BTreeSet<_>>()
    };
    edges.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

fn circles_of(all: &BTreeMap<Module, String>) -> Vec<Vec<String>> {
    let targets = |from| paths(&all[from]).iter().filter_map(|path| target(path, from, all)).collect();
    let edges = all.keys().map(|from| (from, targets(from))).collect();
    let name = |module: &&Module| if module.is_empty() { "crate".to_owned() } else { module.join("::") };
    let named = |circle: BTreeSet<&Module>| circle.iter().map(name).collect();
    of_graph(&edges).into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sources;
    use super::*;

    /// The files in the largest circle of the command line today.
    const LARGEST: usize = 4;

    #[test]
    fn no_more_files_of_the_command_line_import_from_one_another_in_a_circle() {
        let all = sources("cli/src").unwrap();
        assert!(all.len() > 50, "{} files", all.len());
        let too_large: Vec<_> = circles(&all).into_iter().filter(|circle| circle.len() > LARGEST).collect();
        assert_eq!(too_large, Vec::<Vec<String>>::new(), "move what they share into a module of its own");
    }

    #[test]
    fn a_circle_is_found_and_a_line_is_not() {
        let module = |name: &str, code: &str| (vec![name.to_owned()], code.to_owned());
        let line = [
            module("a", "use crate::{\n    b::{self, B},\n    c::C as D,\n};"),
            module("b", "fn f() { crate::c::g() }"),
        ];
        let all = |c: &str| line.clone().into_iter().chain([module("c", c)]).collect();
        assert_eq!(circles_of(&all("use std::fmt;")), Vec::<Vec<String>>::new());
        assert_eq!(circles_of(&all("use super::a::A;")), [["a", "b", "c"]]);
    }

    #[test]
    fn a_module_in_its_parents_file_is_part_of_that_file() {
        let circles_with = |last: &str| {
            let file = |name: &str, source: &str| (name.to_owned(), source.to_owned());
            let inner = "mod inner {\n    use super::A;\n    use super::super::wire::b::B;\n}";
            circles(&[
                file("lib.rs", "mod a;\nmod wire {\n    pub(super) mod b;\n}\nuse self::a::A;"),
                file("a.rs", &format!("use crate::wire::b::B;\n{inner}")),
                file("wire/b.rs", last),
            ])
        };
        assert_eq!(circles_with("pub(in super::super) fn f() {}"), Vec::<Vec<String>>::new());
        assert_eq!(circles_with("use crate::C;"), [["crate", "a", "wire::b"]]);
    }
}
