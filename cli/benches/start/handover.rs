//! The hand-over of `incumbent run`: from the SIGTERM to the leader's supervisor to the first line of the successor's
//! command.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use incumbent_testkit::figure::{Figure, Sample};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::wait;

/// The number of hand-overs on each store. The stores take turns, so that both see the same machine.
const ROUNDS: usize = 20;
/// The number of first hand-overs that are not counted, because they still read files from the disk.
const WARM: usize = 3;
/// The time for which a candidate waits before its leader is asked to end (300 ms). After that it takes part, and is
/// idle.
const SETTLED: Duration = Duration::from_millis(300);
/// The command, which prints that it runs and keeps running.
const COMMAND: [&str; 3] = ["sh", "-c", "echo runs; exec sleep 600"];

/// A store, and the candidate that leads there.
struct Side {
    name: &'static str,
    url: String,
    goal: f64,
    leader: Candidate,
    times: Sample,
}

/// A running candidate.
struct Candidate {
    process: ChildGuard,
    /// The times at which lines of the command's output were read.
    lines: Receiver<Instant>,
    reports: Receiver<String>,
}

pub(crate) fn measure(program: &str) -> Vec<Figure> {
    let server = NatsServer::start(Options::new());
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let nats = format!("{}/H", server.url());
    let sqlite = format!("sqlite:{}", folder.path().join("elections.db").display());
    let mut sides = [("NATS", nats, 5.0), ("SQLite", sqlite, 12.0)].map(|(name, url, goal)| {
        let made = Command::new(program).args(["init", "--store", &url, "--new"]).output();
        assert!(made.expect("the program is there").status.success(), "the store is made");
        let leader = Candidate::start(program, &url);
        leader.runs();
        Side { name, url, goal, leader, times: Sample::default() }
    });
    let mut shell = Sample::default();
    for round in 0..WARM + ROUNDS {
        for side in &mut sides {
            let took = side.hand_over(program);
            if round >= WARM {
                side.times.add(took);
            }
        }
        let began = Instant::now();
        let mut command = Command::new(COMMAND[0]);
        command.args(["-c", "echo runs"]).stdin(Stdio::null());
        assert!(command.output().expect("there is a shell").status.success());
        if round >= WARM {
            shell.add(began.elapsed());
        }
    }
    let mut figures = Vec::new();
    for Side { name, goal, times, .. } in &sides {
        let name = format!("hand-over of incumbent run on {name}, p50");
        figures.push(Figure::median(name, times).within(*goal));
    }
    figures.push(Figure::median("the command alone, from start to end, p50", &shell));
    figures
}

impl Side {
    fn hand_over(&mut self, program: &str) -> Duration {
        let successor = Candidate::start(program, &self.url);
        successor.follows();
        thread::sleep(SETTLED);
        assert!(successor.lines.try_recv().is_err(), "its command runs while another leads");
        let began = Instant::now();
        self.leader.process.terminate();
        let took = successor.runs().duration_since(began);
        assert_eq!(self.leader.process.wait(wait::GENEROUS).code(), Some(0), "the leader has left");
        self.leader = successor;
        took
    }
}

impl Candidate {
    fn start(program: &str, url: &str) -> Self {
        let mut command = Command::new(program);
        command.args(["run", "--store", url, "--key", "k", "--splay", "0s", "-v", "--"]).args(COMMAND);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = ChildGuard::spawn(command).expect("the program is there");
        let (give_line, lines) = mpsc::channel();
        let stdout = process.take_stdout().expect("it is a pipe");
        thread::spawn(move || {
            for _ in BufReader::new(stdout).lines().map_while(Result::ok) {
                // The benchmark may have ended.
                let _ = give_line.send(Instant::now());
            }
        });
        let (give_report, reports) = mpsc::channel();
        let stderr = process.take_stderr().expect("it is a pipe");
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = give_report.send(line);
            }
        });
        Self { process, lines, reports }
    }

    /// Waits until the candidate's command begins, and returns the time of that.
    fn runs(&self) -> Instant {
        self.lines.recv_timeout(wait::GENEROUS).expect("the command runs")
    }

    /// Waits until the candidate knows the leader.
    fn follows(&self) {
        let until = Instant::now() + wait::GENEROUS;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.reports.recv_timeout(left).expect("it follows");
            if line.contains("the leader changed") && line.contains("leader=") {
                return;
            }
        }
    }
}
