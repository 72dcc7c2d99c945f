//! `incumbent top` on a pseudo-terminal. The view's own tests check its pictures exactly, and `screens.rs` checks
//! sizes, signals and the terminal afterwards.

use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process;
use rustix::process::Signal;

use crate::support::{Scratch, campaigning_for_long, ended, settled};
use crate::terminal::Terminal;

#[track_caller]
fn top(store: &str, columns: u16) -> Terminal {
    Terminal::start(&["top", "--every", "100ms", "--store", store], columns, 24)
}

#[test]
fn a_leader_of_other_software_in_a_queue_is_shown_and_evicted() {
    let server = EtcdServer::start(Default::default());
    let store = format!("etcd://{}/app", server.address());
    server.ctl(&["put", "app/jobs/1", "go-1"]);
    server.ctl(&["put", "app/jobs/2", "go-2"]);
    let mut top = top(&store, 100);
    let lines = top.until_line("go-1");
    assert!(lines[3].trim_start().starts_with("jobs"), "{lines:#?}");
    top.press("e");
    top.until_line("Evict go-1 from jobs? It runs other software, and may keep working");
    top.press("y");
    top.until_line("go-1 is evicted from jobs");
    top.until("the next one", |lines| lines.get(3).is_some_and(|line| line.contains("go-2")));
    assert_eq!(server.ctl(&["get", "app/jobs/1"]), "");
    top.press("q");
    assert_eq!(top.ends(0), [""; 0]);
}

#[test]
fn a_leader_is_evicted_after_a_question() {
    let scratch = Scratch::made();
    let ada = settled(&scratch.url, "jobs", "ada");
    let mut top = top(&scratch.url, 80);
    top.until_line("ada");
    top.press("e");
    top.until_line("Evict ada from jobs? The next leader waits 30.00 s. [y/N]");
    top.press("n");
    top.until_line("nothing was done");
    // A stopped leader does not notice its eviction, so another candidate wins.
    process::pause(ada.pid());
    let _ben = campaigning_for_long(&scratch.url, "jobs", "ben");
    top.press("e");
    top.until_line("[y/N]");
    top.press("y");
    top.until_line("ada is evicted from jobs");
    // The win of the new leader was observed.
    let lines = top.until("the change", |lines| {
        lines
            .get(3)
            .is_some_and(|line| line.contains("ben") && line.split_whitespace().rev().nth(1) == Some("1"))
    });
    assert!(!lines[3].contains('>'), "{lines:#?}");
    top.press("q");
    assert_eq!(top.ends(0), [""; 0]);
}

#[test]
fn what_is_typed_filters_and_keys_sort() {
    let scratch = Scratch::made();
    let _zoe = settled(&scratch.url, "jobs", "zoe");
    let _ben = settled(&scratch.url, "mailer", "ben");
    let mut top = top(&scratch.url, 80);
    top.until("both", |lines| lines.len() > 4 && lines[3].contains("zoe") && lines[4].contains("ben"));
    top.press("s");
    top.until("the order of leaders", |lines| lines[3].contains("ben") && lines[4].contains("zoe"));
    top.press("r");
    top.until("the other order", |lines| lines[3].contains("zoe") && lines[4].contains("ben"));
    top.press("/mail\r");
    let lines = top.until_line("1 of 2 elections");
    assert!(lines[3].contains("mailer") && lines[4].is_empty(), "{lines:#?}");
    top.press("q");
    assert_eq!(top.ends(0), [""; 0]);
}

#[test]
fn who_waits_for_the_chosen_election_is_named() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let _cleo = settled(&scratch.url, "mailer", "cleo");
    let _ben = campaigning_for_long(&scratch.url, "mailer", "ben");
    let mut top = top(&scratch.url, 80);
    top.until_line("no waiting candidate of jobs answered");
    top.press("j");
    let lines = top.until_line("waiting for mailer: ben 0:");
    assert!(lines[4].contains("cleo") && lines[4].ends_with(" 1"), "{lines:#?}");
    top.press("q");
    assert_eq!(top.ends(0), [""; 0]);
}

#[test]
fn a_bucket_on_a_server_is_watched_and_its_silence_is_shown() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--new", "--lease", "30s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut top = top(&url, 80);
    top.until_line("no election has a record here: none was ever held, or all records have expired");
    let _ada = settled(&url, "jobs", "ada");
    let lines = top.until_line("1 election, 1 held");
    assert!(lines[3].contains("ada"), "{lines:#?}");
    server.pause();
    top.until("the silence", |lines| {
        lines.iter().any(|line| line.contains("has not answered for") || line.contains("as it was"))
    });
    server.resume();
    top.until("the answer", |lines| {
        lines[22].contains("no waiting candidate of jobs") && lines[3].contains("ada")
    });
    top.signal(Signal::TERM);
    assert_eq!(top.ends(0), [""; 0]);
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
