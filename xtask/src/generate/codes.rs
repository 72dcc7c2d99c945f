//! The errors, reasons, states and warnings in each language.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Part;
use super::settings::{JAVADOC, SLASHES, WIDTH, doc};
use super::templates as of;

/// Every code, in the order of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Codes {
    error: Vec<Row>,
    reason: Vec<Row>,
    state: Vec<Row>,
    warning: Vec<Row>,
}

/// A row, whose keys the head of the file explains.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Row {
    code: String,
    meaning: String,
    more: Option<String>,
    temporary: bool,
    bindings: bool,
    fault: Option<String>,
    python: Option<String>,
    reason: bool,
    text: Option<String>,
    drains: bool,
    plain: bool,
}

impl Codes {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).with_context(|| format!("in {}", file.display()))
    }
}

/// Every file with generated parts.
pub(super) fn files(codes: &Codes) -> Vec<(&'static str, Vec<Part>)> {
    let (error, reason) = (that(&codes.error, |_| true), that(&codes.reason, |_| true));
    let (state, warning) = (that(&codes.state, |_| true), that(&codes.warning, |_| true));
    let kinds = that(&codes.error, |row| !row.bindings);
    let bindings = that(&codes.error, |row| row.bindings);
    // The errors whose class has no field for a reason.
    let plain = that(&codes.error, |row| !row.reason);
    let faults = that(&codes.error, |row| row.fault.is_some());
    let warnings = [&faults[..], &warning].concat();

    let part = |name, template: &str, rows: &[&Row]| Part::Between(name, filled(template, rows, 0));
    let inner = |name, template: &str, rows: &[&Row]| Part::Between(name, filled(template, rows, 4));
    // The fields of a warning are written by hand, so its line is found by the warning's name and the beginning of its
    // fields.
    let documents = |name: fn(&Row) -> String, fields: &str, indent| {
        let item = |row: &Row| name(row) + if row.plain { "," } else { fields };
        let part = |row: &&Row| Part::Documents(item(row), row.doc(SLASHES, indent));
        warning.iter().map(part).collect::<Vec<_>>()
    };
    let mut event = vec![
        part("reasons", of::RUST_REASONS, &reason),
        part("states", of::RUST_STATES, &state),
        part("faults", of::RUST_FAULTS, &faults),
        part("warnings", of::RUST_WARNINGS, &warning),
    ];
    event.extend(documents(Row::pascal, " {", 4));
    let mut wit = vec![inner("reasons", of::WIT_REASONS, &reason), inner("states", of::WIT_STATES, &state)];
    wit.extend(documents(Row::kebab, "(", 8));
    vec![
        ("core/src/campaign/event.rs", event),
        ("stores/seam/src/error.rs", vec![part("kinds", of::RUST_KINDS, &kinds)]),
        ("bindings/ffi/src/error.rs", vec![part("codes", of::RUST_CODES, &bindings)]),
        (
            "bindings/uniffi/src/value.rs",
            vec![part("reasons", of::RAW_REASONS, &reason), part("states", of::RAW_STATES, &state)],
        ),
        (
            "bindings/wasmtime-host/src/convert.rs",
            vec![part("reasons", of::PAIRED_REASONS, &reason), part("states", of::PAIRED_STATES, &state)],
        ),
        ("wit/events.wit", wit),
        (
            "python/lib/incumbent/_types.py",
            vec![inner("reasons", of::PYTHON_MEMBERS, &reason), inner("states", of::PYTHON_MEMBERS, &state)],
        ),
        (
            "python/lib/incumbent/errors.py",
            vec![
                part("names", of::PYTHON_NAMES, &error),
                part("errors", of::PYTHON_ERRORS, &plain),
                part("classes", of::PYTHON_CLASSES, &error),
            ],
        ),
        (
            "python/lib/incumbent/__init__.py",
            vec![part("errors", of::PYTHON_CLASSES, &error), part("names", of::PYTHON_NAMES, &error)],
        ),
        ("node/ts/index.ts", vec![part("errors", of::NODE_EXPORTS, &error)]),
        (
            "node/ts/types.ts",
            vec![part("reasons", of::NODE_REASONS, &reason), part("states", of::NODE_STATES, &state)],
        ),
        (
            "node/ts/errors.ts",
            vec![
                part("codes", of::NODE_CODES, &error),
                part("errors", of::NODE_ERRORS, &plain),
                part("classes", of::NODE_CLASSES, &plain),
            ],
        ),
        (
            "bindings/kotlin/src/main/kotlin/incumbent/Values.kt",
            vec![inner("reasons", of::KOTLIN_MEMBERS, &reason), inner("states", of::KOTLIN_STATES, &state)],
        ),
        (
            "bindings/kotlin/src/main/kotlin/incumbent/Errors.kt",
            vec![
                inner("codes", of::KOTLIN_MEMBERS, &error),
                part("errors", of::KOTLIN_ERRORS, &plain),
                part("classes", of::KOTLIN_CLASSES, &plain),
            ],
        ),
        (
            "bindings/swift/Sources/Incumbent/Values.swift",
            vec![inner("reasons", of::SWIFT_REASONS, &reason), inner("states", of::SWIFT_STATES, &state)],
        ),
        (
            "bindings/swift/Sources/Incumbent/Errors.swift",
            vec![
                inner("codes", of::SWIFT_MEMBERS, &error),
                inner("errors", of::SWIFT_ERRORS, &error),
                part("cases", of::SWIFT_CASES, &plain),
            ],
        ),
        (
            "docs/reference/errors.md",
            vec![
                part("codes", of::CODE_TABLE, &error),
                part("reasons", of::REASON_TABLE, &reason),
                part("warnings", of::WARNING_TABLE, &warnings),
            ],
        ),
        (
            "docs/reference/glossary.md",
            vec![part("reasons", of::REASON_GLOSSARY, &reason), part("states", of::STATE_GLOSSARY, &state)],
        ),
    ]
}

fn that(rows: &[Row], is: fn(&&Row) -> bool) -> Vec<&Row> {
    rows.iter().filter(is).collect()
}

/// Returns the lines of a template for a part that is indented by `around`.
///
/// Lines that begin with `*` are repeated together for each row; among them, a line with `*?temporary ` or `*?drains `
/// appears only for rows that have that property.
fn filled(template: &str, rows: &[&Row], around: usize) -> Vec<String> {
    let list = |between: &str, name: fn(&Row) -> String| {
        rows.iter().map(|row| name(row)).collect::<Vec<_>>().join(between)
    };
    let temporary: Vec<_> =
        rows.iter().filter(|row| row.temporary).map(|row| format!("'{}'", row.code)).collect();
    let mut lines = Vec::new();
    let mut template = template.trim_start_matches('\n').lines().peekable();
    while let Some(line) = template.next() {
        if !line.starts_with('*') {
            let line = line.replace("{count}", &rows.len().to_string());
            let line = line.replace("{Selves}", &list(", ", |row| format!("Self::{}", row.pascal())));
            let line = line.replace("{Names}", &list(" ", Row::pascal));
            lines.push(line.replace("{'TEMPORARY'}", &temporary.join(", ")));
            continue;
        }
        let mut block = vec![line];
        while let Some(line) = template.next_if(|line| line.starts_with('*')) {
            block.push(line);
        }
        for (place, row) in rows.iter().enumerate() {
            let is_last = place + 1 == rows.len();
            block.iter().for_each(|line| lines.extend(row.filled(&line[1..], is_last, around)));
        }
    }
    lines
}

impl Row {
    /// The code as `handler-failed`.
    fn kebab(&self) -> String {
        self.code.to_lowercase().replace('_', "-")
    }

    /// The code as `HandlerFailed`.
    fn pascal(&self) -> String {
        let words = self.code.split('_').filter_map(|word| word.split_at_checked(1));
        words.map(|(first, rest)| first.to_owned() + &rest.to_lowercase()).collect()
    }

    /// The code as `handlerFailed`, with acronyms written as in Swift.
    fn swift(&self) -> String {
        let pascal = self.pascal().replace("Url", "URL");
        pascal[..1].to_lowercase() + &pascal[1..]
    }

    /// The meaning as documentation, for lines that are indented by `indent`.
    fn doc(&self, marks: [&str; 3], indent: usize) -> Vec<String> {
        doc(&format!("{}.", self.meaning), marks, WIDTH - indent)
    }

    /// A line of a template, or several with documentation.
    fn filled(&self, line: &str, is_last: bool, around: usize) -> Vec<String> {
        let line = match (line.strip_prefix("?temporary "), line.strip_prefix("?drains ")) {
            (Some(_), _) if !self.temporary => return Vec::new(),
            (_, Some(_)) if !self.drains => return Vec::new(),
            (left, right) => left.or(right).unwrap_or(line),
        };
        let text = line.trim_start();
        let indent = line.len() - text.len();
        for (place, marks) in [("{///}", SLASHES), ("{/**}", JAVADOC), ("{\"\"\"}", ["\"\"\"", "", "\"\"\""])]
        {
            if text == place {
                let doc = self.doc(marks, around + indent).into_iter();
                // Python's documentation puts code between two backticks on each side.
                let ticks = if marks[1].is_empty() { "``" } else { "`" };
                return doc.map(|doc| format!("{:indent$}{}", "", doc.replace('`', ticks))).collect();
            }
        }
        let swift = self.swift();
        let text = |yes: bool, text: &str| if yes { text.to_owned() } else { String::new() };
        let either = |yes: bool, [one, other]: [&str; 2]| if yes { one.to_owned() } else { other.to_owned() };
        let filled = [
            ("{CODE}", self.code.clone()),
            ("{Name}", self.pascal()),
            ("{kebab}", self.kebab()),
            ("{swift}", swift.clone()),
            // A Swift keyword is declared between backticks.
            ("{`swift`}", either(swift == "internal", ["`internal`", &swift])),
            ("{Python}", self.pascal() + &text(!self.reason, "Error")),
            (", {built-in}", self.python.as_ref().map_or(String::new(), |class| format!(", {class}"))),
            ("{Reason, }", text(self.reason, "Reason, ")),
            ("{_, }", text(self.reason, "_, ")),
            ("{Fault}", self.fault.clone().unwrap_or_default()),
            ("{ .. }", text(!self.plain, " { .. }")),
            ("{text}", self.text.clone().unwrap_or_else(|| self.kebab().replace('-', " "))),
            ("{drains}", self.drains.to_string()),
            ("{work}", either(self.drains, ["may drain", "stops now"])),
            ("{temporary}", self.temporary.to_string()),
            ("{again}", either(self.temporary, ["yes", "no"])),
            ("{meaning}", self.meaning.clone()),
            ("{. More}", self.more.as_ref().map_or(String::new(), |more| format!(". {more}"))),
            ("{;}", text(is_last, ";")),
            ("{,;}", either(is_last, [";", ","])),
        ];
        vec![filled.iter().fold(line.to_owned(), |line, (place, text)| line.replace(place, text))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    fn row(code: &str, meaning: &str) -> Row {
        Row { code: code.into(), meaning: meaning.into(), ..Row::default() }
    }

    #[test]
    fn a_code_is_written_in_each_languages_own_case() {
        let names = |code| {
            let row = row(code, "");
            [row.kebab(), row.pascal(), row.swift()]
        };
        assert_eq!(names("INVALID_URL"), ["invalid-url", "InvalidUrl", "invalidURL"]);
        assert_eq!(names("BROKEN"), ["broken", "Broken", "broken"]);
    }

    #[test]
    fn marked_lines_of_a_template_are_repeated_for_each_row() {
        let (one, other) = (row("A", "First"), Row { temporary: true, ..row("B_C", "Second `x`") });
        let template = "{count} {\n*  {\"\"\"}\n*?temporary   again\n*  {Name}{,;}\n}\n";
        let expected =
            ["2 {", r#"  """First.""""#, "  A,", r#"  """Second ``x``.""""#, "  again", "  BC;", "}"];
        assert_eq!(filled(template, &[&one, &other], 0), expected);
    }

    #[test]
    fn the_schema_of_the_command_lines_json_lists_the_reasons() {
        let schema = fs::read_to_string(root().join("docs/reference/output.schema.json")).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        let listed = schema.pointer("/$defs/reason/enum").and_then(|listed| listed.as_array()).unwrap();
        let codes = Codes::read(&root().join("bindings/schema/codes.toml")).unwrap();
        let reasons: Vec<_> = codes.reason.into_iter().map(|row| row.code).collect();
        assert_eq!(*listed, reasons);
    }
}
