//! `incumbent run` without a command: other processes check whether the candidate leads.

use std::fs;
use std::path::PathBuf;

use incumbent_testkit::wait;
use rustix::process::Signal;

use crate::listen::{OK, UNAVAILABLE, got};
use crate::run::{arguments, command, pid, started, state};
use crate::support::{LIMIT, Running, Scratch, ended, incumbent};

/// A candidate without a command, and its file.
fn alone(scratch: &Scratch, name: &str, options: &[&str]) -> (Running, PathBuf) {
    let file = scratch.folder.path().join(format!("{name}-leads"));
    let mut words = arguments(scratch, name);
    words.extend(["--file", file.to_str().unwrap()]);
    words.extend(options);
    (Running::start(incumbent(&words)), file)
}

#[test]
fn its_file_is_there_while_it_leads_and_is_gone_before_the_lease_is_given_up() {
    let scratch = Scratch::made();
    let (mut ada, file) = alone(&scratch, "ada", &["--drain", "60s"]);
    wait::until("the file", LIMIT, || file.exists());
    let line = fs::read_to_string(&file).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [deadline, unix, token] = words[..] else { panic!("{line}") };
    assert!(deadline.parse::<u64>().is_ok() && unix.parse::<f64>().is_ok(), "{line}");
    token.parse::<incumbent::Token>().unwrap();
    wait::until("a renewal", LIMIT, || fs::read_to_string(&file).is_ok_and(|now| now != line));
    ada.signal(Signal::TERM);
    wait::until("the file to go", LIMIT, || !file.exists());
    assert_eq!(state(&scratch), "held");
    // Another signal ends the wait.
    ada.signal(Signal::INT);
    let ada = ada.wait();
    assert_eq!(ada.code, Some(0), "{ada:?}");
    assert_eq!(state(&scratch), "released");
    let left: Vec<_> =
        fs::read_dir(scratch.folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("leads")), "{left:?}");
}

#[test]
fn its_file_goes_when_it_is_killed() {
    let scratch = Scratch::made();
    let (mut ada, file) = alone(&scratch, "ada", &[]);
    wait::until("the file", LIMIT, || file.exists());
    ada.kill();
    wait::until("the file to go", LIMIT, || !file.exists());
}

#[test]
fn its_file_goes_before_another_leads_when_it_is_stopped() {
    let scratch = Scratch::made();
    let (ada, of_ada) = alone(&scratch, "ada", &[]);
    wait::until("the file of ada", LIMIT, || of_ada.exists());
    let (_ben, of_ben) = alone(&scratch, "ben", &[]);
    ada.signal(Signal::STOP);
    wait::until("the file of ben", LIMIT, || {
        let has_ben = of_ben.exists();
        assert!(!(has_ben && of_ada.exists()), "both say that they lead");
        has_ben
    });
    ada.signal(Signal::CONT);
    let reported = "incumbent: ada no longer leads jobs";
    let mut ada = ada;
    ada.until_reported("the loss", |line| line.starts_with(reported));
    assert!(!of_ada.exists());
}

#[test]
fn what_a_dead_candidate_left_there_is_removed_and_what_is_no_candidates_is_refused() {
    let scratch = Scratch::made();
    let mut ben = started(&scratch, "ben", &[], "echo $$; exec sleep 1000");
    pid(&mut ben);
    let file = scratch.folder.path().join("ada-leads");
    fs::write(&file, "1 1.000 18ea2824e4e5a66d-0000000000000001\n").unwrap();
    let (_ada, _) = alone(&scratch, "ada", &[]);
    wait::until("the file to go", LIMIT, || !file.exists());
    fs::write(&file, "root:x:0:0\n").unwrap();
    let (mut again, _) = alone(&scratch, "ada", &[]);
    let again = again.wait();
    assert_eq!(again.code, Some(2), "{again:?}");
    let said = format!("incumbent: --file {} exists: it is not a file of a candidate; ", file.display());
    assert!(again.stderr.contains(&said), "{again:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "root:x:0:0\n");
}

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    let scratch = Scratch::made();
    let mut words = arguments(&scratch, "ada");
    words.extend(["--file", "/no/such/folder/leads"]);
    let refused = ended(&words);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--file /no/such/folder/leads cannot be written: "), "{refused:?}");
    let mut words = command(&scratch, "ada", &["--file", "leads"], "true");
    assert_eq!(ended(&words).code, Some(2));
    words.truncate(arguments(&scratch, "ada").len());
    words.extend(["--file", "leads", "--on-won", "true"]);
    assert_eq!(ended(&words).code, Some(2));
}

#[test]
fn it_answers_that_it_leads_and_no_longer_once_it_leaves() {
    let scratch = Scratch::made();
    let mut words = arguments(&scratch, "ada");
    words.extend(["--listen", "127.0.0.1:0", "--drain", "60s"]);
    let mut ada = Running::start(incumbent(&words));
    let reported = ada.until_reported("the address", |line| line.starts_with("incumbent: listening on "));
    let address = reported.rsplit(' ').next().unwrap().to_owned();
    wait::until("it to lead", LIMIT, || got(&address, "/leader").0 == OK);
    ada.signal(Signal::TERM);
    wait::until("it to leave", LIMIT, || got(&address, "/leader").0 == UNAVAILABLE);
    assert_eq!(state(&scratch), "held");
    ada.signal(Signal::INT);
    assert_eq!(ada.wait().code, Some(0));
}

#[test]
fn it_ends_after_one_term_where_that_is_asked_for() {
    let scratch = Scratch::made();
    let (mut ada, file) = alone(&scratch, "ada", &["--once"]);
    wait::until("the file", LIMIT, || file.exists());
    assert_eq!(ended(&["evict", "jobs", "--yes", "--store", &scratch.url]).code, Some(0));
    assert_eq!(ada.wait().code, Some(1));
    assert!(!file.exists());
}
