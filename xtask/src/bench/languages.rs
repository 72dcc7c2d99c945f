//! `is_leader()` and the delivery of an event in each language, compared with Rust in the same run. Each language has
//! one small program, which prints its figures; if a language cannot be measured, the page has no rows for it.

use std::process::Command;

use anyhow::{Context, Result, bail};
use incumbent_testkit::figure::Figure;

use super::{WITH_ALL, available, cargo, printed};
use crate::kotlin;
use crate::package;
use crate::python::{self, Profile};
use crate::shell;
use crate::swift;
use crate::test::node;
use crate::tools::Tool;

/// The language with which all others are compared.
pub(super) const FIRST: &str = "Rust";

/// Builds a language's package as it is released, and returns the command of its program.
type Prepare = fn() -> Result<Command>;

/// The languages, in the order of the page.
const LANGUAGES: [(&str, Prepare); 7] = [
    (FIRST, || Ok(cargo("incumbent", "languages", WITH_ALL))),
    ("Python, async", || in_python("async")),
    ("Python, sync", || in_python("sync")),
    ("Node", || {
        node::there_is_node()?;
        node::build(&["build"])?;
        let mut command = shell::command("node");
        command.arg("node/bench/languages.mjs");
        Ok(command)
    }),
    ("Kotlin", || {
        available(Tool::Kotlin)?;
        kotlin::build(kotlin::Profile::Release { kafka: false })?;
        kotlin::program("programs.CostKt")
    }),
    ("Swift", || {
        available(Tool::Swift)?;
        swift::released_program("cost")
    }),
    ("WebAssembly, in Wasmtime", || {
        available(Tool::Wasm)?;
        package::components(None)?;
        let mut command = cargo("incumbent-wasmtime", "component", WITH_ALL);
        command.args(["--", "languages"]);
        Ok(command)
    }),
];

/// Measures all languages, or the first and those that are named. If a language other than the first lacks a tool, all
/// other languages are still measured.
pub(super) fn measure(named: &[String]) -> Result<Vec<Figure>> {
    let has = |row: &str, name: &str| row.split(',').next() == Some(name);
    if let Some(unknown) = named.iter().find(|name| !LANGUAGES.iter().any(|(row, _)| has(row, name))) {
        bail!("{unknown:?} is not measured");
    }
    let mut all: Vec<Figure> = Vec::new();
    let mut first: Vec<Figure> = Vec::new();
    for (language, prepare) in LANGUAGES {
        if language != FIRST && !named.is_empty() && !named.iter().any(|name| has(language, name)) {
            continue;
        }
        shell::progress(language);
        let figures = match prepare().and_then(|mut command| printed(&mut command)) {
            Ok(figures) => figures,
            Err(error) if language != FIRST => {
                eprintln!("not measured: {language}: {error:#}");
                continue;
            }
            Err(error) => return Err(error),
        };
        if language == FIRST {
            first.clone_from(&figures);
        }
        for figure in figures {
            let base = first.iter().find(|base| base.figure == figure.figure).and_then(|base| base.value);
            let ratio = figure.value.zip(base).map(|(value, base)| value / base);
            let name = format!("{language}: {}", figure.figure);
            let samples = usize::try_from(figure.samples).unwrap_or(usize::MAX);
            all.push(Figure { figure: name.clone(), ..figure });
            if let Some(ratio) = ratio.filter(|_| language != FIRST) {
                all.push(Figure::plain(format!("{name} / {FIRST}"), ratio, "ratio", samples));
            }
        }
    }
    Ok(all)
}

fn in_python(kind: &str) -> Result<Command> {
    let interpreters = python::interpreters()?;
    let interpreter = interpreters.first().context("no interpreter")?;
    // The same package for both.
    if kind == "async" {
        let wheel = python::wheel(interpreter, Profile::Release)?;
        interpreter.fresh("bench")?.install(&["--no-deps", python::text(&wheel)?])?;
    }
    let mut command = interpreter.made("bench").python();
    command.args(["python/bench/languages.py", kind]);
    Ok(command)
}
