//! The process that waits to become the command of `incumbent run`: only the win lets it begin.

use std::fs;
use std::io::{IoSlice, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use incumbent_testkit::process::{self, is_running};
use incumbent_testkit::wait;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Ended, LIMIT, Running, Scratch, children, incumbent, takes_part};

const TOKEN: &str = "0000000000000007-0000000000000003";

/// Makes a program ignore all ignorable signals that a terminal, a shell, a service manager or the kernel sends. A
/// program that replaces a shell ignores the signals that the shell ignored.
const IGNORING: &str = "trap '' HUP INT QUIT TERM USR1 USR2 ALRM TSTP TTIN TTOU; exec \"$0\" \"$@\"";

/// The program with these arguments, which ignores the signals that it does not handle.
fn ignoring(arguments: &[&str]) -> Command {
    let program = incumbent(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", IGNORING]).arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// A waiting process that this test started, and the other end of its socket.
struct Waiting {
    process: Running,
    socket: UnixStream,
}

impl Waiting {
    fn start() -> Self {
        let parent = std::process::id().to_string();
        let script = "echo begun $$ $INCUMBENT_TOKEN $INCUMBENT_SEQUENCE; cat";
        let (socket, theirs) = UnixStream::pair().unwrap();
        let mut command = ignoring(&["run-exec", "--parent", &parent, "--", "sh", "-c", script]);
        command.stdin(OwnedFd::from(theirs));
        let process = Running::start(command);
        wait::until("that it waits", LIMIT, || is_waiting(process.pid()));
        Self { process, socket }
    }

    /// Sends a text, and the descriptor of a standard input with the text of `said`.
    fn send(&self, text: &str) {
        let mut stdin = tempfile::tempfile().unwrap();
        stdin.write_all(b"said\n").unwrap();
        stdin.rewind().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [stdin.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let text = IoSlice::new(text.as_bytes());
        assert_eq!(sendmsg(&self.socket, &[text], &mut control, SendFlags::empty()), Ok(text.len()));
    }

    /// Closes the socket. Returns how the process ended.
    fn close(self) -> Ended {
        let Self { mut process, socket } = self;
        drop(socket);
        process.wait()
    }
}

/// Returns true if a process waits for its message, which means that it sleeps under the name of waiting processes.
fn is_waiting(pid: u32) -> bool {
    let said = |what: &str| fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
    said("comm") == "run-exec\n" && said("stat").contains(") S ")
}

/// The number of the process that waits to become a candidate's command.
fn waiting(run: &Running) -> u32 {
    wait::until_some("a waiting process", LIMIT, || {
        children(run.pid()).into_iter().find(|pid| is_waiting(*pid))
    })
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

/// A candidate with a long lease, whose command prints its number and keeps running.
fn candidate<'a>(scratch: &'a Scratch, name: &'a str) -> Vec<&'a str> {
    let words = ["run", "--store", &scratch.url, "--key", "jobs", "--name", name, "--lease", "30s", "-v"];
    [&words[..], &["--splay", "0s", "--", "sh", "-c", "echo $$; exec sleep 1000"]].concat()
}

/// Starts a leader and a waiting candidate. Returns the leader with the process number of its command, and the
/// candidate with the number of its waiting process.
fn led(scratch: &Scratch) -> ((Running, u32), (Running, u32)) {
    let mut ada = Running::start(incumbent(&candidate(scratch, "ada")));
    let command = ada.until("the command", |line| line.parse().ok());
    let mut ben = Running::start(ignoring(&candidate(scratch, "ben")));
    takes_part(&mut ben, "ada");
    let waits = waiting(&ben);
    ((ada, command), (ben, waits))
}

/// Makes the leader leave. Returns the process number of its successor's command, and everything that the successor
/// printed until then.
fn succeed((mut ada, command): (Running, u32), ben: &mut Running) -> u32 {
    assert!(is_running(command));
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
    // The first line of all.
    ben.until("the successor's command", |line| Some(line.parse().unwrap()))
}

#[test]
fn a_whole_message_lets_the_command_begin_with_its_term_and_its_input() {
    let waiting = Waiting::start();
    waiting.send(&format!("{TOKEN}\n"));
    let pid = waiting.process.pid();
    let ended = waiting.close();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout, format!("begun {pid} {TOKEN} 3\nsaid\n"));
}

#[test]
fn no_signal_lets_a_waiting_process_begin() {
    let waiting = Waiting::start();
    let pid = waiting.process.pid();
    process::pause(pid);
    for ignored in [Signal::HUP, Signal::TERM, Signal::USR1, Signal::TSTP, Signal::CONT, Signal::CONT] {
        signal(pid, ignored);
    }
    wait::until("that it waits again", LIMIT, || is_waiting(pid));
    let ended = waiting.close();
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(1), "", ""));
}

#[test]
fn a_message_that_is_not_whole_lets_nothing_begin() {
    let said = "incumbent: the message that starts the command is incomplete, so the command is not run\n";
    for text in [&TOKEN[..20], TOKEN, &format!("{}\n", TOKEN.replace('-', " "))] {
        let waiting = Waiting::start();
        waiting.send(text);
        let ended = waiting.close();
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (Some(1), "", said),
            "{text:?}"
        );
    }
    // Without a descriptor.
    let mut waiting = Waiting::start();
    waiting.socket.write_all(format!("{TOKEN}\n").as_bytes()).unwrap();
    let ended = waiting.close();
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(1), "", said));
}

#[test]
fn a_process_that_has_lost_its_parent_lets_nothing_begin() {
    let mut command = ignoring(&["run-exec", "--parent", "1", "--", "echo", "begun"]);
    let (_socket, theirs) = UnixStream::pair().unwrap();
    command.stdin(OwnedFd::from(theirs));
    let ended = Running::start(command).wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_eq!(ended.stderr, "incumbent: the process that started this one is gone\n");
}

#[test]
fn the_command_begins_in_the_process_that_waited_for_the_win() {
    let scratch = Scratch::made();
    let (ada, (mut ben, waits)) = led(&scratch);
    assert_eq!(succeed(ada, &mut ben), waits);
}

#[test]
fn a_candidate_that_is_stopped_and_continued_with_all_its_processes_runs_nothing_before_it_wins() {
    let scratch = Scratch::made();
    let (ada, (mut ben, waits)) = led(&scratch);
    let all = [children(ben.pid()), vec![ben.pid()]].concat();
    for _ in 0..3 {
        all.iter().for_each(|pid| process::pause(*pid));
        all.iter().for_each(|pid| process::resume(*pid));
    }
    wait::until("that it waits again", LIMIT, || is_waiting(waits));
    assert_eq!(succeed(ada, &mut ben), waits);
}

#[test]
fn a_process_that_is_stopped_while_it_waits_becomes_the_command_all_the_same() {
    let scratch = Scratch::made();
    let (ada, (mut ben, waits)) = led(&scratch);
    process::pause(waits);
    assert_eq!(succeed(ada, &mut ben), waits);
}

#[test]
fn a_stopped_process_whose_supervisor_is_killed_ends_and_runs_nothing() {
    let scratch = Scratch::made();
    let ((ada, command), (mut ben, waits)) = led(&scratch);
    // The kernel sends a SIGHUP and a SIGCONT to a stopped group that loses its parent.
    process::pause(waits);
    ben.kill();
    wait::until("the end of the waiting process", LIMIT, || !is_running(waits));
    assert_eq!(ben.wait().stdout, "");
    assert!(is_running(command));
    drop(ada);
}

#[test]
fn a_candidate_whose_terminal_is_closed_leaves_and_runs_nothing() {
    let scratch = Scratch::made();
    let ((ada, command), _) = led(&scratch);
    let mut cleo = Running::start(incumbent(&candidate(&scratch, "cleo")));
    takes_part(&mut cleo, "ada");
    let waits = waiting(&cleo);
    for pid in [waits, cleo.pid()] {
        signal(pid, Signal::HUP);
    }
    let ended = cleo.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(!is_running(waits));
    assert!(is_running(command));
    drop(ada);
}

#[test]
fn a_waiting_process_that_is_killed_is_replaced() {
    let scratch = Scratch::made();
    let (ada, (mut ben, killed)) = led(&scratch);
    signal(killed, Signal::KILL);
    wait::until("its end", LIMIT, || !is_running(killed));
    let waits = waiting(&ben);
    assert_ne!(waits, killed);
    assert_eq!(succeed(ada, &mut ben), waits);
}

#[test]
fn a_candidate_that_is_asked_to_end_while_it_waits_leaves_no_process() {
    let scratch = Scratch::made();
    let ((ada, command), (mut ben, waits)) = led(&scratch);
    ben.signal(Signal::TERM);
    let ended = ben.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(!is_running(waits));
    assert!(is_running(command));
    drop(ada);
}
