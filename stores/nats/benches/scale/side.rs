//! One side of the comparison, in a separate process, and the protocol between the two processes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use incumbent_testkit::process::processor_time;

use crate::counted;

/// A running side, which is killed when this is dropped.
pub(crate) struct Side {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The bytes that the side keeps in memory once all candidates have settled, beyond those that it kept before it
    /// began.
    pub(crate) keeps: u64,
    /// The bytes that the side kept before it began.
    kept_before: u64,
}

impl Side {
    /// Starts this program with these arguments as a side, and waits until it is connected.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let program = std::env::current_exe().expect("the program has a path");
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts again");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (give, lines) = mpsc::channel();
        // A side that prints a lot does not wait for this process to read it.
        thread::spawn(move || output.lines().map_while(Result::ok).all(|line| give.send(line).is_ok()));
        let mut side = Self { child, input, lines, keeps: 0, kept_before: 0 };
        side.kept_before = side.kept("ready");
        side
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Makes the side take the next step.
    pub(crate) fn proceed(&mut self) {
        writeln!(self.input, "proceed").expect("it reads");
    }

    /// Makes the side begin, and returns the time until all elections are won.
    pub(crate) fn all_won(&mut self) -> Duration {
        let began = Instant::now();
        self.all_wait();
        let _ = self.wins();
        began.elapsed()
    }

    /// Makes the side begin, and returns once all its candidates wait.
    pub(crate) fn all_wait(&mut self) {
        self.proceed();
        self.keeps = self.kept("settled").saturating_sub(self.kept_before);
    }

    /// The times of the side's wins, once it has won every election.
    pub(crate) fn wins(&mut self) -> Vec<Duration> {
        let times = self.expect("won");
        times.split_whitespace().map(|at| Duration::from_nanos(at.parse().expect("a number"))).collect()
    }

    /// Makes the side close all candidates and its store. Returns the time that this took, and the memory that the side
    /// keeps afterwards, relative to before it began.
    pub(crate) fn all_closed(&mut self) -> (Duration, f64) {
        let began = Instant::now();
        self.proceed();
        self.kept("closed");
        let closed = began.elapsed();
        (closed, self.kept("ended") as f64 / self.kept_before as f64)
    }

    /// The memory that the side uses, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        resident.expect("Linux reports it").parse::<u64>().expect("a number") * 1024
    }

    /// The share of a core that the side uses in that time.
    pub(crate) fn cpu_over(&self, span: Duration) -> f64 {
        let before = processor_time(self.pid());
        sleep(span);
        (processor_time(self.pid()) - before).as_secs_f64() / span.as_secs_f64()
    }

    /// Reads the side's next line, which ends with the memory that the side keeps.
    fn kept(&mut self, word: &str) -> u64 {
        self.expect(word).parse().expect("a number")
    }

    /// Reads the side's next line, and returns what follows that word.
    fn expect(&mut self, word: &str) -> String {
        let line = self.lines.recv().expect("it runs");
        assert!(line.starts_with(word), "{word} comes next, not {line:?}");
        line[word.len()..].trim().to_owned()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The time since 1970, by the clock that both processes read.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}

/// Writes a line to the other process, with the memory that this one keeps.
pub(crate) fn report_with_memory(word: &str) {
    report(&format!("{word} {}", counted::kept()));
}

/// Writes a line to the other process.
pub(crate) fn report(line: &str) {
    println!("{line}");
}

/// Waits for a line from the other process.
pub(crate) async fn asked() {
    let read = tokio::task::spawn_blocking(|| std::io::stdin().lines().next());
    read.await.expect("the thread does not panic");
}
