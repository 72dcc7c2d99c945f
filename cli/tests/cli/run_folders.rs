//! `incumbent run` with folders for temporary files that are missing, read-only, full, or cleaned.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use incumbent_testkit::wait;
use rustix::process::Signal;

use crate::operate::server;
use crate::run::command;
use crate::support::{LIMIT, Running, Scratch, incumbent, leading, takes_part};

/// A command that prints the path of its deadline file, and the deadline in it.
const READS: &str = "echo $INCUMBENT_DEADLINE_FILE; cat $INCUMBENT_DEADLINE_FILE; exec sleep 1000";

/// Returns true if a process can have its own mounts here.
fn can_mount() -> bool {
    let may = Command::new("unshare").args(["-m", "true"]).output();
    let may = may.is_ok_and(|ended| ended.status.success());
    if !may {
        eprintln!("no namespace of mounts can be made here: nothing to test");
    }
    may
}

/// Starts the program from a shell that has mounted something first.
fn mounted(mount: &str, words: &[&str]) -> Running {
    let plain = incumbent(words);
    let mut run = Command::new("unshare");
    run.args(["-m", "sh", "-c", &format!("{mount} && exec \"$@\""), "sh"]);
    run.arg(plain.get_program()).args(plain.get_args());
    for variable in ["TMPDIR", "XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY"] {
        run.env_remove(variable);
    }
    run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(run)
}

#[track_caller]
fn line(run: &mut Running, what: &str) -> String {
    run.until(what, |line| Some(line.to_owned()))
}

#[test]
fn where_its_folder_cannot_be_made_another_is_used() {
    let scratch = Scratch::made();
    let mut run = incumbent(&command(&scratch, "ada", &[], READS));
    let mut run = Running::start({
        run.env("TMPDIR", "/no/such/folder");
        run
    });
    assert!(line(&mut run, "the path").starts_with("/dev/shm/incumbent-run-"));
    assert_eq!(line(&mut run, "the deadline").split(' ').count(), 3);
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn where_every_folder_is_read_only_every_form_runs() {
    if !can_mount() {
        return;
    }
    let (_server, store) = server("10s");
    let read_only = "mount -t tmpfs -o ro none /dev/shm && mount -t tmpfs -o ro none /tmp && mount -t tmpfs -o ro none /var/tmp";
    let run = |key: &'static str, form: &[&str]| {
        let words = ["run", "--store", &store, "--key", key, "--name", "ada", "--splay", "0s"];
        mounted(read_only, &[&words[..], form].concat())
    };
    let mut supervisor = run("command", &["--", "sh", "-c", READS]);
    assert!(line(&mut supervisor, "the path").starts_with("/proc/"));
    assert_eq!(line(&mut supervisor, "the deadline").split(' ').count(), 3);
    supervisor.signal(Signal::TERM);
    assert_eq!(supervisor.wait().code, Some(0));

    let mut handlers =
        run("handlers", &["--on-won", "cat $INCUMBENT_DEADLINE_FILE", "--on-lost", "echo ends"]);
    let begun = handlers.until_reported("the begin", |line| line.starts_with("on-won: "));
    assert_eq!(begun.split(' ').count(), 4, "{begun}");
    handlers.signal(Signal::TERM);
    assert_eq!(handlers.wait().code, Some(0));

    let mut sidecar = run("sidecar", &["--listen", "127.0.0.1:0"]);
    sidecar.until_reported("the win", |line| line == "incumbent: ada leads sidecar");
    sidecar.signal(Signal::TERM);
    assert_eq!(sidecar.wait().code, Some(0));
}

#[test]
fn in_a_full_folder_no_old_deadline_is_left_and_the_term_goes_on() {
    if !can_mount() {
        return;
    }
    let (_server, store) = server("5s");
    let small = "mkdir -p /tmp/incumbent-small && mount -t tmpfs -o size=64k none /tmp/incumbent-small \
                 && export TMPDIR=/tmp/incumbent-small";
    let script = "read -r a rest < $INCUMBENT_DEADLINE_FILE; cat /dev/zero > $TMPDIR/full 2> /dev/null; b=$a; \
                  while [ -e $INCUMBENT_DEADLINE_FILE ] && [ $a = $b ]; do sleep 0.1; \
                    read -r b rest < $INCUMBENT_DEADLINE_FILE || b=; cat /dev/zero >> $TMPDIR/full 2> /dev/null; done; \
                  echo not stale; rm $TMPDIR/full; \
                  until read -r c rest < $INCUMBENT_DEADLINE_FILE && [ \"$c\" -gt $a ]; do sleep 0.1; done; echo renewed";
    let words =
        ["run", "--store", &store, "--key", "jobs", "--name", "ada", "--splay", "0s", "--", "sh", "-c"];
    let mut run = mounted(small, &[&words[..], &[script]].concat());
    assert_eq!(line(&mut run, "the full folder"), "not stale");
    assert_eq!(line(&mut run, "the space"), "renewed");
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn a_candidate_whose_folder_was_cleaned_while_it_waited_runs_its_command() {
    let scratch = Scratch::made();
    let temporary = scratch.folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let ada = leading(&scratch.url, "jobs", "ada");
    let mut ben = incumbent(&command(&scratch, "ben", &["-v"], READS));
    ben.env("TMPDIR", &temporary);
    let mut ben = Running::start(ben);
    takes_part(&mut ben, "ada");
    let ours = || fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    wait::until("its folder", LIMIT, || !ours().is_empty());
    for folder in ours() {
        fs::remove_dir_all(folder).unwrap();
    }
    ada.signal(Signal::TERM);
    let path = line(&mut ben, "the path");
    assert!(Path::new(&path).starts_with(&temporary), "{path}");
    assert_eq!(line(&mut ben, "the deadline").split(' ').count(), 3);
    ben.signal(Signal::TERM);
    assert_eq!(ben.wait().code, Some(0));
    assert_eq!(ours(), Vec::<std::path::PathBuf>::new());
}
