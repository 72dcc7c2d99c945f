//! `incumbent top` and `incumbent demo` as a terminal shows them. The views' own tests check their exact content. This
//! file checks keys, sizes, signals, and the state of the terminal afterwards.

use std::fs::File;
use std::io::Read as _;

use incumbent_testkit::process::ChildGuard;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{LIMIT, Running, Scratch, incumbent, sequence};
use crate::terminal::{DRAWN, Terminal, pieces, terminal};

/// Starts leaders whose leases do not end just because the machine is busy.
fn leaders(scratch: &Scratch, keys: &[&str]) -> Vec<Running> {
    let started = keys.iter().map(|key| {
        let words = ["run", "--store", &scratch.url, "--key", key, "--name", "ada", "--lease", "30s", "--"];
        let script = ["sh", "-c", "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000"];
        Running::start(incumbent(&[&words[..], &script].concat()))
    });
    let mut leaders: Vec<Running> = started.collect();
    for run in &mut leaders {
        sequence(run);
    }
    leaders
}

/// A long key, which narrow terminals cut.
const LONG: &str =
    "reports-of-every-night-and-of-every-day-that-are-so-long-that-no-column-can-hold-their-name";

/// Checks every line of `top` at this size of the terminal.
#[track_caller]
fn shows_all_of_top(terminal: &mut Terminal, columns: usize, rows: usize) {
    let lines = terminal.until("three elections", |lines| {
        lines.len() == rows
            && lines[0].chars().count() == columns - 1
            && lines[0].ends_with("3 elections, 3 held")
            && lines[rows - 1].starts_with(" q leave")
    });
    assert!(lines[0].starts_with(" incumbent top  sqlite:"), "{lines:#?}");
    assert!(lines[2].starts_with(" election"), "{lines:#?}");
    assert!(lines[3..6].iter().all(|line| line.contains("  ada  ")), "{lines:#?}");
    assert!(lines[3].starts_with(" jobs ") && lines[5].starts_with(" reports-"), "{lines:#?}");
    assert!(lines[6..rows - 2].iter().all(String::is_empty), "{lines:#?}");
    assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:#?}");
}

#[test]
fn top_fits_80_by_24_and_q_leaves_the_terminal_as_it_was() {
    let scratch = Scratch::made();
    let _leaders = leaders(&scratch, &["jobs", "mailer", LONG]);
    let mut top = Terminal::start(&["top", "--store", &scratch.url], 80, 24);
    shows_all_of_top(&mut top, 80, 24);
    top.press("q");
    assert_eq!(top.ends(0), [""; 0]);
}

#[test]
fn top_fits_120_by_40_and_any_size_it_is_given_and_ctrl_c_leaves_the_terminal_as_it_was() {
    let scratch = Scratch::made();
    let _leaders = leaders(&scratch, &["jobs", "mailer", LONG]);
    let mut top = Terminal::start(&["top", "--store", &scratch.url], 120, 40);
    shows_all_of_top(&mut top, 120, 40);
    for (columns, rows) in [(80, 24), (120, 40), (100, 30), (200, 60)] {
        top.resize(columns, rows);
        shows_all_of_top(&mut top, columns.into(), rows.into());
    }
    top.press("\u{3}");
    assert_eq!(top.ends(0), [""; 0]);
}

#[test]
fn sigterm_to_top_leaves_the_terminal_as_it_was() {
    let scratch = Scratch::made();
    let mut top = Terminal::start(&["top", "--store", &scratch.url], 80, 24);
    top.until("an empty store", |lines| {
        lines.iter().any(|line| {
            line.contains("no election has a record here: none was ever held, or all records have expired")
        })
    });
    top.signal(Signal::TERM);
    assert_eq!(top.ends(0), [""; 0]);
}

/// A demo without faults.
const QUIET: [&str; 5] = ["demo", "--faults", "none", "--no-splay", "--lease=30s"];

/// Checks every line of a demo with ten candidates at this size of the terminal.
#[track_caller]
fn shows_all_of_the_demo(terminal: &mut Terminal, columns: usize, rows: usize) {
    let lines = terminal.until("nine that wait, and a leader", |lines| {
        let waiting = lines.iter().filter(|line| line.contains("  waiting  ")).count();
        let leads = lines.iter().any(|line| line.contains(" is the first leader"));
        let fills = lines.len() == rows && lines[0].chars().count() == columns - 1;
        fills && waiting == 9 && leads && lines[rows - 1].starts_with(" Ctrl-C ends it")
    });
    assert!(lines[0].starts_with(" incumbent demo  ") && lines[0].ends_with(char::is_numeric), "{lines:#?}");
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>().join(" "),
        "candidate pid state token left of 30.00 s terms fault"
    );
    let names: Vec<&str> = lines[3..13].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["ada", "ben", "cleo", "dara", "emil", "fay", "gus", "hana", "ivo", "june"]);
    let leader: Vec<&String> = lines[3..13].iter().filter(|line| line.contains("  leading  ")).collect();
    assert!(leader.len() == 1 && leader[0].contains('█') && leader[0].ends_with("s      1"), "{lines:#?}");
    assert_eq!((lines[13].as_str(), lines[14].as_str()), ("", " 1 term   two leaders: never"));
    assert!(lines[16].contains(" is the first leader"), "{lines:#?}");
    assert!(lines[17..rows - 1].iter().all(String::is_empty), "{lines:#?}");
}

#[track_caller]
fn has_a_summary(said: &[String]) {
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].starts_with("1 term in ") && said[0].contains("; no faults (seed "), "{said:#?}");
    assert_eq!(said[1], "there were never two leaders at once");
}

#[test]
fn the_demo_fits_80_by_24_and_ctrl_c_leaves_the_terminal_as_it_was() {
    let mut demo = Terminal::start(&QUIET, 80, 24);
    shows_all_of_the_demo(&mut demo, 80, 24);
    demo.signal(Signal::INT);
    has_a_summary(&demo.ends(0));
}

#[test]
fn the_demo_fits_120_by_40_and_any_size_it_is_given_and_sigterm_leaves_the_terminal_as_it_was() {
    let mut demo = Terminal::start(&QUIET, 120, 40);
    shows_all_of_the_demo(&mut demo, 120, 40);
    for (columns, rows) in [(80, 24), (200, 60), (120, 40)] {
        demo.resize(columns, rows);
        shows_all_of_the_demo(&mut demo, columns.into(), rows.into());
    }
    demo.signal(Signal::TERM);
    has_a_summary(&demo.ends(0));
}

#[test]
fn what_is_typed_into_the_demo_is_drawn_over() {
    let mut demo = Terminal::start(&QUIET, 80, 24);
    shows_all_of_the_demo(&mut demo, 80, 24);
    // The demo reads no keys, so the terminal echoes the typed text, and the line breaks scroll the screen.
    demo.press("\ntyped by hand\n\n\n");
    demo.until_output("typed by hand");
    let lines = demo.until("the table, and no more", |lines| {
        lines[0].starts_with(" incumbent demo  ") && !lines.iter().any(|line| line.contains("typed"))
    });
    assert!(lines[23].starts_with(" Ctrl-C ends it"), "{lines:#?}");
    shows_all_of_the_demo(&mut demo, 80, 24);
    demo.signal(Signal::INT);
    has_a_summary(&demo.ends(0));
}

#[test]
fn a_terminal_that_is_hardly_there_breaks_no_line_and_is_left_as_it_was() {
    let scratch = Scratch::made();
    let _leaders = leaders(&scratch, &["jobs"]);
    for (columns, rows) in [(20, 5), (2, 2), (1, 1)] {
        let mut top = Terminal::start(&["top", "--store", &scratch.url], columns, rows);
        top.until("a picture", |lines| lines.len() == usize::from(rows));
        top.resize(80, 24);
        top.until("the election", |lines| lines.len() == 24 && lines[3].contains("ada"));
        top.press("q");
        top.ends(0);
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_demo_with_an_error_and_no_panic() {
    let (ours, theirs) = terminal();
    let mut command = incumbent(&QUIET);
    command.stdin(theirs.try_clone().unwrap());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut demo = ChildGuard::spawn(command).unwrap();
    let mut ours = File::from(ours);
    let mut shown = Vec::new();
    while !shown.windows(DRAWN.len()).any(|bytes| bytes == DRAWN) {
        let mut buffer = [0; 4096];
        let size = ours.read(&mut buffer).unwrap();
        shown.extend_from_slice(&buffer[..size]);
    }
    drop(ours);
    assert_eq!(demo.wait(LIMIT).code(), Some(1));
}

#[test]
fn without_colours_nothing_is_coloured_and_all_is_there() {
    let scratch = Scratch::made();
    let _leaders = leaders(&scratch, &["jobs"]);
    let coloured = |environment: &[(&str, &str)]| {
        let mut top = Terminal::start_with(&["top", "--store", &scratch.url], environment, 80, 24);
        top.until("the bar", |lines| lines[3].contains('█'));
        let coloured = top.is_coloured();
        top.press("q");
        top.ends(0);
        coloured
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_gets_plain_lines_from_the_demo_and_nothing_from_top() {
    let scratch = Scratch::made();
    let store = ["--store", &scratch.url];
    let said = |arguments: &[&str], code: i32, signal_at: Option<&str>| {
        let (ours, theirs) = terminal();
        let mut command = incumbent(arguments);
        command.env("TERM", "dumb").stdin(theirs.try_clone().unwrap());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let mut child = ChildGuard::spawn(command).unwrap();
        let pieces = pieces(ours);
        let mut said = String::new();
        while signal_at.is_some_and(|at| !said.contains(at)) {
            said += &pieces.recv_timeout(LIMIT).unwrap();
        }
        if signal_at.is_some() {
            kill_process(Pid::from_raw(child.pid().try_into().unwrap()).unwrap(), Signal::INT).unwrap();
        }
        assert_eq!(child.wait(LIMIT).code(), Some(code), "{said}");
        said.extend(pieces.iter());
        assert!(!said.contains('\u{1b}'), "{said:?}");
        said
    };
    let demo = said(&QUIET, 0, Some(" is the first leader"));
    assert!(demo.contains("there were never two leaders at once"), "{demo}");
    let top = said(&[&["top"][..], &store].concat(), 2, None);
    assert!(top.contains("TERM is dumb") && top.contains("incumbent status --all"), "{top}");
}
