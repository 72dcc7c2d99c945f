//! The programs, and the memory of processes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use incumbent_testkit::figure::{self, Figure, Sample};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::{tools, wait};
use procfs::process::Process;

/// The number of starts of each program. The programs take turns, so that all see the same machine.
const ROUNDS: usize = 20;
/// The number of first starts that are not counted, because they still read files from the disk.
const WARM: usize = 3;
/// The goal for the start of our own commands.
const GOAL: f64 = 10.0;
/// The bytes that a command's guard may hold in addition to what it shares with other processes.
const GUARD: f64 = 3e6;

/// The first line of a NATS server. A client writes nothing before it has read it.
const INFO: &str = "INFO {\"server_id\":\"S\",\"server_name\":\"s\",\"version\":\"2.15.1\",\"proto\":1,\"go\":\"go1\",\
     \"host\":\"127.0.0.1\",\"port\":4222,\"headers\":true,\"max_payload\":1048576,\"jetstream\":true}\r\n";

/// A program, and the time from its start to its first byte, or to its end if it does not connect.
struct Side {
    name: &'static str,
    program: String,
    arguments: Vec<String>,
    connects: bool,
    goal: Option<f64>,
    times: Sample,
}

pub(crate) fn measure() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("nats://{}", server.local_addr().expect("it is bound"));
    let store = format!("{url}/B");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let ours = env!("CARGO_BIN_EXE_incumbent");
    let go = tools::go_program("candidate").unwrap_or_else(|error| panic!("{error}"));
    let go = go.display().to_string();
    let run = ["run", "--store", &store, "--key", "k", "--", "sleep", "600"];
    let in_go = ["-url", &url, "-bucket", "B", "-key", "k", "-name", "a", "-no-splay"];
    let mut sides = [
        ("/bin/true, from start to end", "/bin/true", words(&[]), false, None),
        ("a candidate in Go", go.as_str(), words(&in_go), true, None),
        ("incumbent status", ours, words(&["status", "k", "--store", &store]), true, Some(GOAL)),
        ("incumbent run", ours, words(&run), true, Some(GOAL)),
    ]
    .map(|(name, program, arguments, connects, goal)| Side {
        name,
        program: program.into(),
        arguments,
        connects,
        goal,
        times: Sample::default(),
    });
    eprintln!("the start of each program, {ROUNDS} times");
    for round in 0..WARM + ROUNDS {
        for side in &mut sides {
            let took = side.start(&server);
            if round >= WARM {
                side.times.add(took);
            }
        }
    }
    let mut figures = Vec::new();
    for side in &sides {
        let figure = Figure::median(format!("{}, p50", side.name), &side.times);
        figures.push(match side.goal {
            Some(goal) => figure.within(goal),
            None => figure,
        });
    }
    eprintln!("the hand-over of `incumbent run`");
    figures.extend(crate::handover::measure(ours));
    eprintln!("the memory of `incumbent run`");
    figures.extend(memory(ours));
    figure::print(&figures);
}

impl Side {
    fn start(&self, server: &TcpListener) -> Duration {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        if !self.connects {
            assert!(command.status().expect("the program is there").success());
            return began.elapsed();
        }
        let mut child = ChildGuard::spawn(command).expect("the program is there");
        let (connection, _) = server.accept().expect("it connects");
        let took = first_byte(connection, began);
        child.kill();
        took
    }
}

/// The time until the client's first byte.
fn first_byte(mut connection: TcpStream, began: Instant) -> Duration {
    connection.set_nodelay(true).expect("a connection of this machine");
    connection.write_all(INFO.as_bytes()).expect("the client reads");
    connection.read_exact(&mut [0]).expect("the client writes");
    began.elapsed()
}

/// The memory of `incumbent run`, its guard and its child while it leads, and of the process that waits to become the
/// child of another candidate.
fn memory(program: &str) -> Vec<Figure> {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/B", server.url());
    let command = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let made = command(&["init", "--store", &store, "--lease", "30s", "--new"]).status();
    assert!(made.expect("the program is there").success(), "the bucket is made");
    let words = ["run", "--store", &store, "--key", "k", "--splay", "0s", "--", "sleep", "600"];
    let run = ChildGuard::spawn(command(&words)).expect("the program is there");
    let pid = i32::try_from(run.pid()).expect("the system's own number");
    let named = |pid: i32, name: &str| {
        wait::until_some(name, wait::GENEROUS, || {
            let processes = procfs::process::all_processes().ok()?;
            let is_it =
                |process: &Process| process.stat().is_ok_and(|stat| stat.ppid == pid && stat.comm == name);
            processes.flatten().find(is_it)
        })
    };
    let guard = named(pid, "run-guard");
    let child = named(pid, "sleep");
    let other = ChildGuard::spawn(command(&words)).expect("the program is there");
    let waiting = named(i32::try_from(other.pid()).expect("the system's own number"), "run-exec");
    let run = Process::new(pid).expect("it runs");
    let mut figures = Vec::new();
    let processes = [
        ("incumbent run", &run),
        ("the guard of incumbent run", &guard),
        ("the command of incumbent run, sleep", &child),
        ("a process that waits for a term", &waiting),
    ];
    for (name, process) in processes {
        let resident = rollup(process, "Rss");
        let own = rollup(process, "Private_Clean") + rollup(process, "Private_Dirty");
        figures.push(Figure::plain(format!("memory of {name}, resident"), resident / 1e6, "MB", 1));
        let figure = format!("memory of {name}, shared with no process");
        figures.push(match name {
            "the guard of incumbent run" => Figure::bounded(figure, own / 1e6, "MB", GUARD / 1e6, 1),
            _ => Figure::plain(figure, own / 1e6, "MB", 1),
        });
    }
    figures
}

/// A sum of `/proc/PID/smaps_rollup`, in bytes.
fn rollup(process: &Process, name: &str) -> f64 {
    let maps = process.smaps_rollup().expect("the process runs").memory_map_rollup;
    let map = maps.into_iter().next().expect("it has memory");
    map.extension.map.get(name).copied().expect("the system reports it") as f64
}
