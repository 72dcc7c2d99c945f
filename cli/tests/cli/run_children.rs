//! Commands of `incumbent run` that misbehave, and a supervisor that is killed or stopped.

use std::fs;
use std::io::Read;

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::{self, ChildGuard, is_running};
use incumbent_testkit::wait;
use rustix::process::{Pid, Signal, kill_process};

use crate::run::{pid, started};
use crate::support::{LIMIT, Running, Scratch, children, ended, incumbent, json};

/// A process that leaves its process group and its session, prints its number, and stays.
const AWAY: &str = "(setsid sh -c 'echo $$; exec sleep 1000' &)";

/// A candidate whose lease does not end merely because the machine is busy.
fn command<'a>(scratch: &'a Scratch, options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let words = ["run", "--store", &scratch.url, "--key", "jobs", "--name", "ada", "--lease"];
    [&words, options, &["--", "sh", "-c", script]].concat()
}

/// Returns true if `run` can keep its command in a control group here.
fn has_control_groups(scratch: &Scratch) -> bool {
    let ran = ended(&command(scratch, &["30s"], "cat /proc/self/cgroup"));
    ran.stdout.lines().any(|line| line.starts_with("0::") && line.contains("/incumbent-"))
}

fn gone(what: &str, pid: u32) {
    wait::until(what, wait::GENEROUS, || !is_running(pid));
}

#[test]
fn what_leaves_the_group_ends_with_the_command_where_control_groups_can_be_used() {
    let scratch = Scratch::made();
    if !has_control_groups(&scratch) {
        eprintln!("no control group of version 2 can be made here: nothing to test");
        return;
    }
    let script = format!("{AWAY}; read line < \"$FIFO\"; exit 3");
    let fifo = scratch.folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut run = incumbent(&command(&scratch, &["30s"], &script));
    run.env("FIFO", &fifo);
    let mut run = Running::start(run);
    let away = pid(&mut run);
    assert!(is_running(away));
    fs::write(&fifo, "go\n").unwrap();
    assert_eq!(run.wait().code, Some(3));
    assert!(!is_running(away), "it outlived the command");
}

#[test]
fn what_leaves_the_group_dies_with_a_supervisor_that_is_killed() {
    let scratch = Scratch::made();
    if !has_control_groups(&scratch) {
        eprintln!("no control group of version 2 can be made here: nothing to test");
        return;
    }
    let script = format!("{AWAY}; exec sleep 1000");
    let mut run = Running::start(incumbent(&command(&scratch, &["30s"], &script)));
    let away = pid(&mut run);
    run.kill();
    gone("the end of what left the group", away);
}

#[test]
fn what_leaves_the_group_of_a_stopped_supervisor_is_dead_before_another_leads() {
    let scratch = Scratch::made();
    if !has_control_groups(&scratch) {
        eprintln!("no control group of version 2 can be made here: nothing to test");
        return;
    }
    let mut ada = started(&scratch, "ada", &[], &format!("{AWAY}; exec sleep 1000"));
    let away = pid(&mut ada);
    let look = format!("ps -o stat= -p {away} | grep -qv Z && echo alive; echo dead");
    let mut ben = started(&scratch, "ben", &[], &look);
    process::pause(ada.pid());
    assert_eq!(ben.until("what the successor sees", |line| Some(line.to_owned())), "dead");
    assert_eq!(ben.wait().code, Some(0));
}

#[test]
fn the_control_group_and_the_deadline_file_are_removed() {
    let scratch = Scratch::made();
    let script = "grep ^0:: /proc/self/cgroup | cut -c 4-; dirname $INCUMBENT_DEADLINE_FILE; kill -STOP $$";
    for killed in [false, true] {
        let mut run = Running::start(incumbent(&command(&scratch, &["30s"], script)));
        let group = run.until("the control group", |line| Some(line.to_owned()));
        let folder = run.until("the folder", |line| Some(line.to_owned()));
        assert!(fs::exists(&folder).unwrap(), "{folder}");
        if killed {
            run.kill();
        } else {
            run.signal(Signal::QUIT);
            run.signal(Signal::TERM);
        }
        wait::until("the folder to be removed", wait::GENEROUS, || !fs::exists(&folder).unwrap());
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let left = || {
            group.contains("incumbent-")
                && mounts.iter().any(|at| fs::exists(format!("{at}{group}")).unwrap())
        };
        wait::until("the control group to be removed", wait::GENEROUS, || !left());
    }
}

#[test]
fn a_supervisor_that_is_stopped_with_its_guard_kills_the_command_when_it_goes_on() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &[], "trap '' TERM; echo $$; while :; do sleep 0.01; done");
    let command = pid(&mut ada);
    let guards: Vec<u32> = children(ada.pid()).into_iter().filter(|pid| *pid != command).collect();
    assert_eq!(guards.len(), 1);
    // All processes are stopped, as on a suspended machine. No process is left to keep the promise, and none works.
    for pid in [guards[0], command, ada.pid()] {
        process::pause(pid);
    }
    let mut ben = started(&scratch, "ben", &[], "echo leads; exec sleep 1000");
    ben.until("the successor", |line| (line == "leads").then_some(()));
    process::resume(ada.pid());
    gone("the end of the command", command);
    process::resume(guards[0]);
}

#[test]
fn a_supervisor_that_was_stopped_with_its_guard_kills_the_command_before_anything_else() {
    let scratch = Scratch::made();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.01; done";
    let mut ada = started(&scratch, "ada", &["--json"], script);
    let command = pid(&mut ada);
    let guards: Vec<u32> = children(ada.pid()).into_iter().filter(|pid| *pid != command).collect();
    for pid in [guards[0], ada.pid()] {
        process::pause(pid);
    }
    let mut ben = started(&scratch, "ben", &[], "echo leads; exec sleep 1000");
    ben.until("the successor", |line| (line == "leads").then_some(()));
    // No running process was left that could have ended the command meanwhile.
    assert!(is_running(command));
    process::resume(ada.pid());
    let reported = ada.reported_until("the end of the term", |line| line.contains("\"lost\""));
    let events: Vec<_> =
        reported.lines().map(json).filter(|reported| reported["event"] != "warning").collect();
    let names: Vec<&str> = events.iter().map(|reported| reported["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["won", "exited", "lost"], "{reported}");
    assert_eq!(events[1]["code"], 137, "{reported}");
    assert!(!is_running(command));
    process::resume(guards[0]);
}

#[test]
fn a_command_that_ignores_sigterm_is_dead_with_its_group_before_the_deadline() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--new", "--lease", "15s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // The command and its child each print the time repeatedly, with the deadline.
    let script = "trap '' TERM; \
                  says() { while read -r until rest < $INCUMBENT_DEADLINE_FILE && read -r up rest < /proc/uptime; \
                           do echo $1 $until $up; sleep 0.01; done; }; \
                  echo $$; says child & says command";
    let words = ["run", "--store", &url, "--key", "jobs", "--on-exit", "resign", "--", "sh", "-c", script];
    let mut run = Running::start(incumbent(&words));
    let command = pid(&mut run);
    server.pause();
    gone("the end of the command", command);
    run.kill();
    let said = run.wait().stdout;
    for who in ["child", "command"] {
        let times = said.lines().filter_map(|line| line.strip_prefix(who)?.trim().split_once(' '));
        // The last line may be incomplete, because its writer was killed.
        let times =
            times.filter_map(|(until, up)| Some((until.parse::<f64>().ok()? / 1e9, up.parse::<f64>().ok()?)));
        let times: Vec<(f64, f64)> = times.collect();
        assert!(times.len() > 10, "{said}");
        let late: Vec<_> = times.iter().filter(|(until, up)| up >= until).collect();
        assert!(late.is_empty(), "{who} worked after its deadline: {late:?}");
    }
    server.resume();
    server.stop();
}

#[test]
fn a_command_that_fills_a_pipe_without_a_reader_costs_no_term() {
    let scratch = Scratch::made();
    let mut run = ChildGuard::spawn(incumbent(&command(&scratch, &["10s", "--json"], "exec yes"))).unwrap();
    let revision = || {
        let status = json(&ended(&["status", "jobs", "--store", &scratch.url, "--json"]).stdout);
        (status["state"] == "held").then(|| status["revision"].as_u64().unwrap())
    };
    let first = wait::until_some("a leader", wait::GENEROUS, revision);
    // A lease has three renewals, so four renewals take longer than a lease.
    wait::until("a lease and more", LIMIT, || revision().is_some_and(|now| now >= first + 4));
    kill_process(Pid::from_raw(run.pid().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    let mut reported = run.take_stderr().unwrap();
    assert_eq!(run.wait(LIMIT).code(), Some(0));
    let mut text = String::new();
    reported.read_to_string(&mut text).unwrap();
    let events: Vec<_> = text.lines().map(|line| json(line)["event"].clone()).collect();
    assert_eq!(events, ["won", "exited", "lost"], "{text}");
}

#[test]
fn the_deadline_file_moves_with_every_renewal() {
    let scratch = Scratch::made();
    let script = "\
        read -r a unix token < $INCUMBENT_DEADLINE_FILE; echo $a $unix $token; b=$a
        while [ $a = $b ]; do sleep 0.1; read -r b unix token < $INCUMBENT_DEADLINE_FILE; done
        echo $b $unix $token; echo $INCUMBENT_TOKEN";
    let ended = ended(&command(&scratch, &["10s"], script));
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let [first, unix, token, second, later, same, reported] = words[..] else { panic!("{ended:?}") };
    assert!(second.parse::<u64>().unwrap() > first.parse().unwrap(), "{ended:?}");
    assert!(later.parse::<f64>().unwrap() > unix.parse().unwrap(), "{ended:?}");
    assert_eq!((token, same), (reported, reported));
}

#[test]
fn a_command_is_ended_in_good_time_where_the_server_is_silent() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--new", "--lease", "15s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // The command obeys only the second signal, so the first must be followed by a SIGKILL.
    let script = "trap 'test -e $MARK && exit 0; touch $MARK; echo asked; read -r until rest < $INCUMBENT_DEADLINE_FILE; \
                  read -r up rest < /proc/uptime; echo $until $up' TERM; echo $$; \
                  while :; do sleep 0.01; done";
    let mut run = incumbent(&["run", "--store", &url, "--key", "jobs", "--", "sh", "-c", script]);
    let folder = tempfile::tempdir().unwrap();
    run.env("MARK", folder.path().join("asked"));
    let mut run = Running::start(run);
    let command = pid(&mut run);
    server.pause();
    run.until("the SIGTERM", |line| (line == "asked").then_some(()));
    let (deadline, now) = run.until("the times", |line| {
        let (deadline, now) = line.split_once(' ')?;
        Some((deadline.parse::<f64>().unwrap() / 1e9, now.parse::<f64>().unwrap()))
    });
    assert!(now < deadline, "asked at {now}, the lease was over at {deadline}");
    gone("the end of the command", command);
    // The work was ended because nothing renewed the lease, which runs out without a release.
    run.until_reported("the loss", |line| line.contains("no longer leads jobs: expired"));
    server.resume();
    run.signal(Signal::TERM);
    let run = run.wait();
    assert!(run.code == Some(0) && !run.stderr.contains("resigned"), "{run:?}");
    server.stop();
}
