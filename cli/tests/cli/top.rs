//! `incumbent top` on a pseudo-terminal.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::{self, ChildGuard};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::support::{LIMIT, Scratch, campaigning_for_long, ended, incumbent, settled};
use crate::terminal::{pieces, terminal};

/// The program on a terminal of its own.
struct Top {
    child: ChildGuard,
    keyboard: File,
    terminal: OwnedFd,
    before: Termios,
    pieces: Receiver<String>,
    shown: String,
}

impl Top {
    #[track_caller]
    fn start(store: &str, columns: u16, rows: u16) -> Self {
        let (ours, theirs) = terminal();
        tcsetwinsize(&ours, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let before = tcgetattr(&theirs).unwrap();
        let mut command = incumbent(&["top", "--every", "100ms", "--store", store]);
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap());
        let child = ChildGuard::spawn(command).unwrap();
        let keyboard = File::from(ours.try_clone().unwrap());
        Self { child, keyboard, terminal: theirs.into(), before, pieces: pieces(ours), shown: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The lines of the first complete picture that matches.
    #[track_caller]
    fn until(&mut self, what: &str, found: impl Fn(&[String]) -> bool) -> Vec<String> {
        let started = Instant::now();
        loop {
            let lines = last_picture(&self.shown);
            if found(&lines) {
                return lines;
            }
            let piece = self.pieces.recv_timeout(LIMIT.saturating_sub(started.elapsed()));
            let piece = piece.unwrap_or_else(|error| panic!("{what} never came ({error}): {lines:#?}"));
            self.shown.push_str(&piece);
        }
    }

    #[track_caller]
    fn until_line(&mut self, what: &str) -> Vec<String> {
        self.until(what, |lines| lines.iter().any(|line| line.contains(what)))
    }

    /// Waits for its end, and checks that the terminal is restored.
    #[track_caller]
    fn ends(mut self) {
        assert_eq!(self.child.wait(LIMIT).code(), Some(0));
        let now = tcgetattr(&self.terminal).unwrap();
        assert_eq!(now.local_modes, self.before.local_modes);
        assert_eq!(now.output_modes, self.before.output_modes);
        let started = Instant::now();
        while !self.shown.contains("\u{1b}[?1049l") || !self.shown.contains("\u{1b}[?25h") {
            let piece = self.pieces.recv_timeout(LIMIT.saturating_sub(started.elapsed()));
            self.shown
                .push_str(&piece.unwrap_or_else(|error| panic!("not restored ({error}): {}", self.shown)));
        }
    }
}

/// The text of the last complete picture, without colours.
fn last_picture(shown: &str) -> Vec<String> {
    let Some(end) = shown.rfind("\u{1b}[?2026l") else { return Vec::new() };
    let begin = shown[..end].rfind("\u{1b}[?2026h").unwrap();
    let mut text = String::new();
    let mut rest = shown[begin..end].chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => drop(rest.find(char::is_ascii_alphabetic)),
            '\r' => {}
            c => text.push(c),
        }
    }
    text.split('\n').map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn every_election_of_a_store_has_a_line_and_the_terminal_is_left_as_it_was() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let _ben = settled(&scratch.url, "mailer", "ben");
    let mut top = Top::start(&scratch.url, 80, 24);
    let lines = top.until_line("2 elections, 2 held");
    assert_eq!(lines.len(), 24, "{lines:#?}");
    assert!(lines[0].starts_with(" incumbent top  "), "{lines:#?}");
    assert!(lines[2].starts_with(" election"), "{lines:#?}");
    let words = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    assert_eq!(words(&lines[3]), "jobs ada");
    assert_eq!(words(&lines[4]), "mailer ben");
    assert!(lines[23].starts_with(" q leave"), "{lines:#?}");
    top.press("q");
    top.ends();
}

#[test]
fn a_large_terminal_is_filled_and_another_size_is_noticed() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let mut top = Top::start(&scratch.url, 120, 40);
    top.until("40 lines", |lines| lines.len() == 40 && lines[3].contains("ada"));
    let smaller = Winsize { ws_row: 10, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&top.keyboard, smaller).unwrap();
    let lines = top.until("10 lines", |lines| lines.len() == 10);
    assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:#?}");
    top.press("\u{3}");
    top.ends();
}

#[test]
fn a_leader_of_other_software_in_a_queue_is_shown_and_evicted() {
    let server = EtcdServer::start(Default::default());
    let store = format!("etcd://{}/app", server.address());
    server.ctl(&["put", "app/jobs/1", "go-1"]);
    server.ctl(&["put", "app/jobs/2", "go-2"]);
    let mut top = Top::start(&store, 100, 24);
    let lines = top.until_line("go-1");
    assert!(lines[3].trim_start().starts_with("jobs"), "{lines:#?}");
    top.press("e");
    top.until_line("Evict go-1 from jobs? It is of other software, and may go on");
    top.press("y");
    top.until_line("go-1 is evicted from jobs");
    top.until("the next one", |lines| lines.get(3).is_some_and(|line| line.contains("go-2")));
    assert_eq!(server.ctl(&["get", "app/jobs/1"]), "");
    top.press("q");
    top.ends();
}

#[test]
fn a_leader_is_evicted_after_a_question() {
    let scratch = Scratch::made();
    let ada = settled(&scratch.url, "jobs", "ada");
    let mut top = Top::start(&scratch.url, 80, 24);
    top.until_line("ada");
    top.press("e");
    top.until_line("Evict ada from jobs? The next leader waits 30.00 s. [y/N]");
    top.press("n");
    top.until_line("nothing was done");
    // A stopped leader does not hear of it, so that another one wins.
    process::pause(ada.pid());
    let _ben = campaigning_for_long(&scratch.url, "jobs", "ben");
    top.press("e");
    top.until_line("[y/N]");
    top.press("y");
    top.until_line("ada is evicted from jobs");
    // A new leader whose beginning was observed.
    let lines = top.until("the change", |lines| {
        lines
            .get(3)
            .is_some_and(|line| line.contains("ben") && line.split_whitespace().rev().nth(1) == Some("1"))
    });
    assert!(!lines[3].contains('>'), "{lines:#?}");
    top.press("q");
    top.ends();
}

#[test]
fn what_is_typed_filters_and_keys_sort() {
    let scratch = Scratch::made();
    let _zoe = settled(&scratch.url, "jobs", "zoe");
    let _ben = settled(&scratch.url, "mailer", "ben");
    let mut top = Top::start(&scratch.url, 80, 24);
    top.until("both", |lines| lines.len() > 4 && lines[3].contains("zoe") && lines[4].contains("ben"));
    top.press("s");
    top.until("the order of leaders", |lines| lines[3].contains("ben") && lines[4].contains("zoe"));
    top.press("r");
    top.until("the other order", |lines| lines[3].contains("zoe") && lines[4].contains("ben"));
    top.press("/mail\r");
    let lines = top.until_line("1 of 2 elections");
    assert!(lines[3].contains("mailer") && lines[4].is_empty(), "{lines:#?}");
    top.press("q");
    top.ends();
}

#[test]
fn who_waits_for_the_chosen_election_is_named() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let _cleo = settled(&scratch.url, "mailer", "cleo");
    let _ben = campaigning_for_long(&scratch.url, "mailer", "ben");
    let mut top = Top::start(&scratch.url, 80, 24);
    top.until_line("no candidate answered that waits for jobs");
    top.press("j");
    let lines = top.until_line("waiting for mailer: ben 0:");
    assert!(lines[4].contains("cleo") && lines[4].ends_with(" 1"), "{lines:#?}");
    top.press("q");
    top.ends();
}

#[test]
fn a_bucket_on_a_server_is_watched_and_its_silence_is_shown() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--new", "--lease", "30s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut top = Top::start(&url, 80, 24);
    top.until_line("no election was ever held here");
    let _ada = settled(&url, "jobs", "ada");
    let lines = top.until_line("1 election, 1 held");
    assert!(lines[3].contains("ada"), "{lines:#?}");
    server.pause();
    top.until("the silence", |lines| {
        lines.iter().any(|line| line.contains("has not answered for") || line.contains("as it was"))
    });
    server.resume();
    top.until("the answer", |lines| lines[22].contains("waits for jobs") && lines[3].contains("ada"));
    kill_process(Pid::from_raw(top.child.pid().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    top.ends();
    server.stop();
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let scratch = Scratch::made();
    for arguments in [&["top"][..], &["top", "--json"]] {
        let refused = ended(&[arguments, &["--store", &scratch.url]].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("incumbent status --all --json"), "{refused:?}");
    }
}
