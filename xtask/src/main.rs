//! The project's tasks: `cargo xtask tools | test | hunt | check | generate | words | numbers | package | release | bench`.
//!
//! Each sets itself up, so a machine with Rust, and Go for the interop tests, is enough.

mod bench;
mod budgets;
mod check;
mod generate;
mod hunt;
mod kotlin;
mod notices;
mod numbers;
mod package;
mod playground;
mod python;
mod release;
mod shell;
mod swift;
mod test;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Find or install what the tests need, and print the versions
    Tools(tools::Args),
    /// Run the tests; the last line is `N passed, N failed`
    Test(test::Args),
    /// Hunt for a run of the simulator that breaks a promise, with fresh seeds
    Hunt(hunt::Args),
    /// Check that the code compiles for macOS and Windows, with clippy's lints
    Check(check::Args),
    /// Generate files from `bindings/schema`: settings in every language, and the tables of the reference
    Generate(generate::Args),
    /// Build the released packages into `target`, and try them
    Package(package::Args),
    /// Elect with every built package on all stores, and print what each contains and needs
    Artefacts(package::artefacts::Args),
    /// Check that all parts have the version of a tag, and write its notes
    Release(release::Args),
    /// Count the words that this project avoids, and lower their limits
    Words(test::words::Args),
    /// Count the lines, the likenesses and the circles of the sources
    Numbers(numbers::Args),
    /// Measure, and compare with the goals
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Tools(args) => tools::run(&args),
        Chore::Test(args) => test::run(&args),
        Chore::Hunt(args) => return hunt::exit_code(&args),
        Chore::Check(args) => check::run(&args),
        Chore::Generate(args) => generate::run(&args),
        Chore::Words(args) => test::words::chore(&args),
        Chore::Numbers(args) => numbers::run(&args),
        Chore::Package(args) => package::run(&args),
        Chore::Artefacts(args) => package::artefacts::run(&args),
        Chore::Release(args) => release::run(&args),
        Chore::Bench(args) => bench::run(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// The workflows, by file name.
    fn workflows() -> Vec<(String, String)> {
        let files = fs::read_dir(shell::root().join(".github/workflows")).unwrap();
        let mut workflows: Vec<_> = files
            .map(|file| {
                let file = file.unwrap();
                let text = fs::read_to_string(file.path()).unwrap();
                (file.file_name().to_string_lossy().into_owned(), text)
            })
            .collect();
        workflows.sort();
        assert!(workflows.len() >= 3, "{workflows:?}");
        workflows
    }

    #[test]
    fn the_tasks_that_workflows_run_exist() {
        let mut tasks = BTreeSet::new();
        for (name, text) in workflows() {
            for line in text.lines().filter_map(|line| line.split_once("run: cargo xtask ")) {
                let words = line.1.split(' ').map(|word| word.trim_matches('"'));
                let parsed = Cli::try_parse_from(std::iter::once("cargo xtask").chain(words));
                assert!(parsed.is_ok(), "{name}: {}: {}", line.1, parsed.unwrap_err());
                tasks.insert(line.1.split(' ').next().unwrap().to_owned());
            }
        }
        assert_eq!(tasks.into_iter().collect::<Vec<_>>(), ["package", "release", "test"]);
    }

    #[test]
    fn workflows_use_actions_by_the_hash_of_a_named_version() {
        let mut used = 0;
        for (name, text) in workflows() {
            for line in text.lines().map(|line| line.trim().trim_start_matches("- ")) {
                let Some(action) = line.strip_prefix("uses: ") else { continue };
                if action.starts_with("./") {
                    continue;
                }
                let (hash, version) =
                    action.split_once('@').and_then(|(_, rest)| rest.split_once(" # v")).unwrap_or_default();
                let is_hash = hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit());
                assert!(is_hash && version.split('.').count() == 3, "{name}: {line}");
                used += 1;
            }
        }
        assert!(used > 10, "only {used}");
    }

    #[test]
    fn workflows_may_read_by_default_and_every_job_has_a_time_limit() {
        for (name, text) in workflows() {
            assert!(text.contains("\npermissions:\n  contents: read\n"), "{name}");
            assert!(text.contains("\nconcurrency:\n"), "{name}");
            // A called workflow has limits of its own.
            let jobs = text.matches("\n    runs-on: ").count();
            assert_eq!(text.matches("\n    timeout-minutes: ").count(), jobs, "{name}");
        }
    }
}
