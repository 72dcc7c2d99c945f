//! The program's own documentation: help, completions, manual.

use crate::snapshot;
use crate::support::{Running, ended, incumbent};

/// Every public command.
pub(crate) const COMMANDS: [&str; 14] = [
    "demo",
    "run",
    "status",
    "observe",
    "top",
    "hand-over",
    "accept-reset",
    "evict",
    "init",
    "doctor",
    "permissions",
    "completions",
    "man",
    "help",
];

#[track_caller]
fn help(arguments: &[&str]) -> String {
    help_on(arguments, 100)
}

/// The help on a terminal of this many columns.
#[track_caller]
fn help_on(arguments: &[&str], columns: u32) -> String {
    let mut command = incumbent(arguments);
    command.env("COLUMNS", columns.to_string());
    let help = Running::start(command).wait();
    assert_eq!(help.code, Some(0), "{help:?}");
    help.stdout
}

#[test]
fn the_first_page_is_as_it_is() {
    snapshot::assert("help", &help(&["--help"]));
}

#[test]
fn the_page_of_every_command_has_examples_and_exit_codes_and_is_as_it_is() {
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let page = help(&[command, "--help"]);
        assert!(page.contains("Examples:\n  "), "{page}");
        assert!(page.contains(&format!("\n  incumbent {command}")), "{page}");
        assert!(page.contains("Exit codes:\n  0  "), "{page}");
        snapshot::assert(&format!("help-{command}"), &page);
    }
}

#[test]
fn no_line_of_help_is_wider_than_a_hundred_and_ten_columns() {
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let page = help(&[command, "--help"]);
        let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 110).collect();
        assert!(wide.is_empty(), "{command}: {wide:#?}");
    }
}

#[test]
fn no_heading_comes_twice_on_a_page() {
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let page = help(&[command, "--help"]);
        let mut headings: Vec<&str> = page.lines().filter(|line| is_heading(line)).collect();
        headings.sort_unstable();
        assert!(headings.windows(2).all(|two| two[0] != two[1]), "{command}: {headings:?}");
    }
    let first = help(&["--help"]);
    let headings: Vec<&str> = first.lines().filter(|line| is_heading(line)).collect();
    assert_eq!(headings, ["Commands:", "Options:", "Of every command:", "Settings:", "Exit codes:"]);
}

fn is_heading(line: &str) -> bool {
    line.ends_with(':') && line.len() < 20 && line.starts_with(|c: char| c.is_ascii_uppercase())
}

#[test]
fn what_is_set_by_hand_is_not_broken_on_a_terminal_of_eighty_columns() {
    let by_hand = |page: &str| {
        page[page.rfind("\nOf every command:").unwrap()..]
            .split_once("\nExamples:")
            .map(|two| two.1.to_owned())
    };
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let [wide, narrow] = [100, 80].map(|columns| help_on(&[command, "--help"], columns));
        assert_eq!(by_hand(&narrow), by_hand(&wide), "{command}");
        let wide: Vec<&str> = narrow
            .lines()
            .filter(|line| line.chars().count() > 80 && !line.contains("--on-won <CMD>"))
            .collect();
        assert!(wide.is_empty(), "{command}: {wide:#?}");
    }
    let [wide, narrow] = [100, 80].map(|columns| help_on(&["--help"], columns));
    let about = |page: &str| page.split_once("Usage:").unwrap().0.to_owned();
    let codes = |page: &str| page[page.find("\nSettings:").unwrap()..].to_owned();
    assert_eq!((about(&narrow), codes(&narrow)), (about(&wide), codes(&wide)));
}

#[test]
fn shells_complete_the_commands_and_nothing_that_is_hidden() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ended(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{script:?}");
        for command in COMMANDS {
            assert!(script.stdout.contains(command), "{command} in {shell}");
        }
        for hidden in ["run-guard", "run-exec", "run-cleanup", "demo-candidate"] {
            assert!(!script.stdout.contains(hidden), "{hidden} in {shell}");
        }
    }
}

#[test]
fn bash_reads_its_completions() {
    let script = ended(&["completions", "bash"]).stdout;
    let program = format!(
        "{script}\nCOMP_WORDS=(incumbent doc)\nCOMP_CWORD=1\n_incumbent incumbent doc incumbent\necho ${{COMPREPLY[@]}}"
    );
    let read = std::process::Command::new("bash").args(["--norc", "-c", &program]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout), "doctor\n", "{read:?}");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("share/man1");
    let written = ended(&["man", "--out", made.to_str().unwrap()]);
    assert_eq!(written.code, Some(0), "{written:?}");
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let page = std::fs::read_to_string(made.join(format!("incumbent-{command}.1"))).unwrap();
        for heading in ["NAME", "SYNOPSIS", "\"EXAMPLES\"", "\"EXIT STATUS\""] {
            assert!(page.contains(&format!("\n.SH {heading}\n")), "{heading}: {page}");
        }
        assert!(page.is_ascii() && !page.contains("EXTRA"), "{page}");
        assert_eq!(ended(&["man", command]).stdout, page);
    }
    let first = std::fs::read_to_string(made.join("incumbent.1")).unwrap();
    assert!(first.contains(".SH \"EXIT STATUS\""), "{first}");
    let run = std::fs::read_to_string(made.join("incumbent-run.1")).unwrap();
    for part in [
        ".SH ENVIRONMENT\n",
        "Also \\-\\-ttl",
        "\nAs \\-\\-on\\-won\n",
        "\nINCUMBENT_KEY            the election\n",
    ] {
        assert!(run.contains(part), "{part:?} in {run}");
    }
    assert_eq!(std::fs::read_dir(&made).unwrap().count(), COMMANDS.len());
    let unknown = ended(&["man", "nothing"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}
