//! The refusals of settings: a function for each, and a test that the table of refusals has the text of each.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use super::Part;
use super::schema::{By, Refusal, Schema, Store, camel};
use super::settings::{JAVADOC, SLASHES, WIDTH, doc};

/// The files whose refusals other crates also use.
const SHARED: [&str; 2] = ["stores/seam/src/refusals.rs", "stores/kafka/src/refusals.rs"];

/// Every file with generated parts.
pub(super) fn files(schema: &Schema) -> Result<Vec<(&'static str, Vec<Part>)>> {
    let file = |file: &'static str, is: &dyn Fn(&Refusal) -> bool| {
        let mut lines = Vec::new();
        for refusal in schema.refusal.iter().filter(|refusal| is(refusal)) {
            let visibility = if SHARED.contains(&file) { "pub" } else { "pub(crate)" };
            let function = function(refusal, visibility);
            lines.extend(function.with_context(|| format!("the refusal {}", refusal.code))?);
        }
        anyhow::Ok((file, vec![Part::Between("refusals", lines)]))
    };
    let own = |language: By| schema.refusal.iter().filter(move |refusal| refusal.by == language);
    let own_file = |file, language: By| {
        let lines: Result<Vec<_>> = own(language).map(|refusal| own_function(refusal, language)).collect();
        anyhow::Ok((file, vec![Part::Between("refusals", lines?.concat())]))
    };
    let mut table = Vec::new();
    for (name, language) in [
        ("command line", By::Cli),
        ("Node", By::Node),
        ("Python", By::Python),
        ("Kotlin, Java", By::Kotlin),
        ("Swift", By::Swift),
    ] {
        for refusal in own(language) {
            table.push(format!("{name}: {}", own_text(refusal, language, |name| format!("{{{name}}}"))?));
        }
    }
    let by = |crate_: By| move |refusal: &Refusal| refusal.only_of.is_none() && refusal.by == crate_;
    let of = |store: Store| move |refusal: &Refusal| refusal.only_of == Some(store);
    Ok(vec![
        file("core/src/refusals.rs", &by(By::Core))?,
        file("bindings/wasm-guest/src/campaigner/refusals.rs", &by(By::Guest))?,
        file("bindings/ffi/src/settings/refusals.rs", &by(By::Bindings))?,
        file("stores/seam/src/refusals.rs", &by(By::Stores))?,
        file("stores/sqlite/src/refusals.rs", &of(Store::Sqlite))?,
        file("stores/nats/src/refusals.rs", &of(Store::Nats))?,
        file("stores/etcd/src/refusals.rs", &of(Store::Etcd))?,
        file("stores/kafka/src/refusals.rs", &of(Store::Kafka))?,
        own_file("cli/src/refusals.rs", By::Cli)?,
        own_file("node/ts/refusals.ts", By::Node)?,
        own_file("python/lib/incumbent/_refusals.py", By::Python)?,
        own_file("bindings/kotlin/src/main/kotlin/incumbent/Refusals.kt", By::Kotlin)?,
        own_file("bindings/swift/Sources/Incumbent/Refusals.swift", By::Swift)?,
        ("bindings/ffi/tests/refusals.txt", vec![Part::Between("by one language", table)]),
    ])
}

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Words(&'a str),
    /// The name of a setting.
    Name(&'a str),
    /// The call that prepares a store, with the settings that `+` separates.
    Init(&'a str),
    /// A value, by its name and type.
    Value(&'a str, &'a str),
}

fn pieces(template: &str) -> Result<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((words, behind)) = rest.split_once('{') {
        let (place, behind) = behind.split_once('}').context("a { without its }")?;
        pieces.push(Piece::Words(words));
        pieces.push(match place.split_once(':').context("a place without a type")? {
            ("setting", name) => Piece::Name(name),
            ("init", with) => Piece::Init(with),
            (name, kind) => Piece::Value(name, kind),
        });
        rest = behind;
    }
    pieces.push(Piece::Words(rest));
    pieces.retain(|piece| *piece != Piece::Words(""));
    Ok(pieces)
}

/// The Rust type of the values for a placeholder.
fn rust_type(kind: &str) -> Result<&'static str> {
    Ok(match kind {
        "length" => "Duration",
        "whole" => "u64",
        "text" | "quoted" => "&str",
        "char" => "char",
        "setting" => "&'static str",
        "names" => "Text",
        _ => bail!("there is no type {kind:?}"),
    })
}

/// The function for a refusal.
fn function(refusal: &Refusal, visibility: &str) -> Result<Vec<String>> {
    let Refusal { code, setting, value, limit, remedy, text, when, .. } = refusal;
    let templates = match text {
        Some(text) => vec![text],
        None => vec![setting, value, limit, remedy],
    };
    let mut arguments: Vec<String> = Vec::new();
    for template in &templates {
        for piece in pieces(template)? {
            if let Piece::Value(name, kind) = piece {
                let argument = format!("{name}: {}", rust_type(kind)?);
                if !arguments.contains(&argument) {
                    arguments.push(argument);
                }
            }
        }
    }
    let mut lines = doc(&format!("Refuses {when}."), SLASHES, WIDTH);
    let arguments = arguments.join(", ");
    match text {
        Some(text) => {
            lines.push(format!("{visibility} fn {code}({arguments}) -> Text {{"));
            lines.push(format!("    {}", rust_text(text)?));
        }
        None => {
            let value = match rust_string(&pieces(value)?) {
                Some(value) => value,
                None => bail!("a value may only have words and values"),
            };
            let setting = match pieces(setting)?[..] {
                [Piece::Words(name)] => format!("{name:?}"),
                [Piece::Value(name, "setting")] => name.to_owned(),
                _ => bail!("a setting must be one name"),
            };
            lines.push(format!("{visibility} fn {code}({arguments}) -> InvalidSettings {{"));
            lines.push("    InvalidSettings {".into());
            lines.push(format!("        setting: {setting},"));
            lines.push(format!("        value: {value},"));
            lines.push(format!("        limit: {},", rust_text(limit)?));
            lines.push(format!("        remedy: {},", rust_text(remedy)?));
            lines.push("    }".into());
        }
    }
    lines.extend(["}".into(), String::new()]);
    Ok(lines)
}

/// Returns the text of a refusal by one language. `place` writes each placeholder.
fn own_text(refusal: &Refusal, language: By, place: impl Fn(&str) -> String) -> Result<String> {
    let template = refusal.text.as_deref().context("a refusal by one language is a text")?;
    let pieces = pieces(template)?.into_iter().map(|piece| {
        Ok(match piece {
            Piece::Words(words) => words.to_owned(),
            Piece::Name(name) if language == By::Python => name.to_owned(),
            Piece::Name(name) if language == By::Cli => format!("--{}", name.replace('_', "-")),
            Piece::Name(name) => camel(name),
            Piece::Value(name, _) => place(name),
            Piece::Init(_) => bail!("a refusal by one language writes the call itself"),
        })
    });
    pieces.collect()
}

/// The function that makes the text of a refusal by one language.
fn own_function(refusal: &Refusal, language: By) -> Result<Vec<String>> {
    let (code, when) = (&refusal.code, &refusal.when);
    let pieces = pieces(refusal.text.as_deref().unwrap_or_default())?;
    let mut names: Vec<&str> = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Value(name, "text") if !names.contains(name) => names.push(name),
            Piece::Value(_, "text") | Piece::Words(_) | Piece::Name(_) | Piece::Init(_) => {}
            Piece::Value(_, kind) => bail!("a language's own refusal has no {kind}"),
        }
    }
    let arguments =
        |each: &dyn Fn(&str) -> String| names.iter().map(|name| each(name)).collect::<Vec<_>>().join(", ");
    let documented = |marks| doc(&format!("Refuses {when}."), marks, WIDTH);
    Ok(match language {
        By::Cli => {
            let arguments = arguments(&|name| format!("{name}: &str"));
            let text = own_text(refusal, language, |name| format!("{{{name}}}"))?;
            let text =
                if names.is_empty() { format!("{text:?}.into()") } else { format!("format!({text:?})") };
            let mut lines = documented(SLASHES);
            lines.push(format!("pub(crate) fn {code}({arguments}) -> String {{"));
            lines.extend([format!("    {text}"), "}".into(), String::new()]);
            lines
        }
        By::Node => {
            let arguments = arguments(&|name| format!("{name}: string"));
            let text = own_text(refusal, language, |name| format!("${{{name}}}"))?;
            let text = if names.is_empty() { format!("'{text}'") } else { format!("`{text}`") };
            let mut lines = documented(JAVADOC);
            lines.push(format!("export const {} = ({arguments}): string =>", camel(code)));
            lines.extend([format!("  {text};"), String::new()]);
            lines
        }
        By::Python => {
            let arguments = arguments(&|name| format!("{name}: str"));
            let text = own_text(refusal, language, |name| format!("{{{name}}}"))?;
            let mark = if names.is_empty() { "" } else { "f" };
            let mut lines = vec![format!("def {code}({arguments}) -> str:")];
            lines.push(format!("    \"\"\"Refuses {when}.\"\"\""));
            lines.extend([format!("    return {mark}\"{text}\""), String::new(), String::new()]);
            lines
        }
        By::Kotlin => {
            let arguments = arguments(&|name| format!("{name}: String"));
            let text = own_text(refusal, language, |name| format!("${name}"))?;
            let mut lines = documented(JAVADOC);
            lines.push(format!("internal fun {}({arguments}): String =", camel(code)));
            lines.extend([format!("    \"{text}\""), String::new()]);
            lines
        }
        By::Swift => {
            let arguments = arguments(&|name| format!("{name}: String"));
            let text = own_text(refusal, language, |name| format!("\\({name})"))?;
            let mut lines = documented(SLASHES);
            lines.push(format!("func {}({arguments}) -> String {{", camel(code)));
            lines.extend([format!("    \"{text}\""), "}".into(), String::new()]);
            lines
        }
        _ => bail!("{language:?} is not a language"),
    })
}

/// Returns a Rust expression of type `String` for these words and values, or `None` if they include names of settings.
fn rust_string(pieces: &[Piece<'_>]) -> Option<String> {
    let mut format = String::new();
    let mut is_plain = true;
    for piece in pieces {
        match piece {
            Piece::Words(words) => format.push_str(words),
            Piece::Name(_) | Piece::Init(_) | Piece::Value(_, "setting" | "names") => return None,
            Piece::Value(name, kind) => {
                is_plain = false;
                let mark = if matches!(*kind, "length" | "quoted" | "char") { ":?" } else { "" };
                let _ = write!(format, "{{{name}{mark}}}");
            }
        }
    }
    Some(match pieces {
        [Piece::Value(name, "text")] => format!("{name}.into()"),
        _ if is_plain => format!("{format:?}.into()"),
        _ => format!("format!({format:?})"),
    })
}

/// Returns a Rust expression of type `Text` for a template.
fn rust_text(template: &str) -> Result<String> {
    let pieces = pieces(template)?;
    let mut text = String::new();
    let is_name = |piece: &Piece<'_>| {
        matches!(piece, Piece::Name(_) | Piece::Init(_) | Piece::Value(_, "setting" | "names"))
    };
    for run in pieces.chunk_by(|one, other| !is_name(one) && !is_name(other)) {
        let part = match run {
            [Piece::Name(name)] => format!("Text::setting({name:?})"),
            [Piece::Init(with)] => {
                let with: Vec<_> = with.split('+').filter(|name| !name.is_empty()).collect();
                format!("Text::init(&{with:?})")
            }
            [Piece::Value(name, "setting")] => format!("Text::setting({name})"),
            [Piece::Value(name, "names")] => (*name).to_owned(),
            run => rust_string(run).context("a name among words")?.replace(".into()", ""),
        };
        if text.is_empty() {
            text = if part.starts_with("Text::") { part } else { format!("Text::from({part})") };
        } else {
            let _ = write!(text, ".and({part})");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::shell::root;

    #[test]
    fn a_refusal_is_a_function_of_the_places_in_its_templates() {
        let refusal = Refusal {
            code: "lease_under_margin".into(),
            when: "a lease".into(),
            setting: "lease".into(),
            value: "{lease:length}".into(),
            limit: "at least {least:length}, \"x\"".into(),
            remedy: "lower {setting:skew}, or {why:text}".into(),
            ..Refusal::default()
        };
        let expected = [
            "/// Refuses a lease.",
            "pub(crate) fn lease_under_margin(lease: Duration, least: Duration, why: &str) -> InvalidSettings {",
            "    InvalidSettings {",
            "        setting: \"lease\",",
            "        value: format!(\"{lease:?}\"),",
            "        limit: Text::from(format!(\"at least {least:?}, \\\"x\\\"\")),",
            "        remedy: Text::from(\"lower \").and(Text::setting(\"skew\")).and(format!(\", or {why}\")),",
            "    }",
            "}",
            "",
        ];
        assert_eq!(function(&refusal, "pub(crate)").unwrap(), expected);
    }

    #[test]
    fn a_text_may_be_nothing_but_a_value_or_a_name() {
        assert_eq!(rust_text("{why:text}").unwrap(), "Text::from(why)");
        assert_eq!(rust_text("{name:setting}").unwrap(), "Text::setting(name)");
        assert_eq!(
            rust_text("{setting:a}: {known:names}").unwrap(),
            "Text::setting(\"a\").and(\": \").and(known)"
        );
        assert_eq!(
            rust_text("use {init:} or {init:new+update}").unwrap(),
            "Text::from(\"use \").and(Text::init(&[])).and(\" or \").and(Text::init(&[\"new\", \"update\"]))"
        );
        assert!(rust_text("{why:number}").is_ok_and(|text| text == "Text::from(format!(\"{why}\"))"));
        assert_eq!(pieces("a {b").unwrap_err().to_string(), "a { without its }");
        assert_eq!(rust_type("number").unwrap_err().to_string(), "there is no type \"number\"");
    }

    #[test]
    fn a_language_alone_has_a_function_in_its_own_syntax() {
        let refusal = |by| Refusal {
            code: "no_drain".into(),
            by,
            when: "a drain".into(),
            text: Some("{setting:drain_time} is {value:text}".into()),
            ..Refusal::default()
        };
        let function = |by| own_function(&refusal(by), by).unwrap().join("\n");
        assert_eq!(
            function(By::Cli),
            "/// Refuses a drain.\npub(crate) fn no_drain(value: &str) -> String {\n    format!(\"--drain-time is {value}\")\n}\n"
        );
        assert_eq!(
            function(By::Node),
            "/** Refuses a drain. */\nexport const noDrain = (value: string): string =>\n  `drainTime is ${value}`;\n"
        );
        assert_eq!(
            function(By::Python),
            "def no_drain(value: str) -> str:\n    \"\"\"Refuses a drain.\"\"\"\n    return f\"drain_time is {value}\"\n\n"
        );
        assert_eq!(
            function(By::Kotlin),
            "/** Refuses a drain. */\ninternal fun noDrain(value: String): String =\n    \"drainTime is $value\"\n"
        );
        assert_eq!(
            function(By::Swift),
            "/// Refuses a drain.\nfunc noDrain(value: String) -> String {\n    \"drainTime is \\(value)\"\n}\n"
        );
    }

    /// Returns true if the line contains the words of the template, in their order.
    fn has(line: &str, template: &str) -> bool {
        let mut rest = line;
        pieces(template).unwrap().iter().all(|piece| {
            let Piece::Words(words) = piece else { return true };
            rest.split_once(words).is_some_and(|(_, behind)| {
                rest = behind;
                true
            })
        })
    }

    #[test]
    fn the_table_of_refusals_has_the_text_of_every_row() {
        let table = fs::read_to_string(root().join("bindings/ffi/tests/refusals.txt")).unwrap();
        let missing: Vec<_> = Schema::read(root())
            .unwrap()
            .refusal
            .into_iter()
            .filter(|refusal| {
                let Refusal { setting, value, limit, remedy, .. } = refusal;
                let whole = format!("{setting} is {value}, and must be {limit}: {remedy}");
                let template = refusal.text.as_ref().unwrap_or(&whole);
                !table.lines().any(|line| has(line, template))
            })
            .map(|refusal| refusal.code)
            .collect();
        assert_eq!(missing, [""; 0], "each row of the schema is one of bindings/ffi/tests/refusals.rs");
    }
}
