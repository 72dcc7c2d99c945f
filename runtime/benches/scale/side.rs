//! One side of the comparison, in a process of its own, and what the two say to each other.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The kernel's unit of processor time in `/proc`, USER_HZ of proc(5): a hundredth of a second on all common platforms.
const TICK: Duration = Duration::from_millis(10);

/// A running side; killed when dropped.
pub(crate) struct Side {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Side {
    /// Starts this program with these arguments, and waits until it is connected.
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
        let mut side = Self { child, input, output };
        side.expect("ready");
        side
    }

    /// Has it begin, and returns the time until all are won.
    pub(crate) fn all_won(&mut self) -> Duration {
        let began = Instant::now();
        self.begin();
        self.expect("settled");
        let _ = self.wins();
        began.elapsed()
    }

    /// Has it begin, and returns when all wait.
    pub(crate) fn all_wait(&mut self) {
        self.begin();
        self.expect("settled");
    }

    /// The times of the wins, when there is one in each election.
    pub(crate) fn wins(&mut self) -> Vec<Duration> {
        let times = self.expect("won");
        times.split_whitespace().map(|at| Duration::from_nanos(at.parse().expect("a number"))).collect()
    }

    /// The memory that it uses, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        resident.expect("Linux reports it").parse::<u64>().expect("a number") * 1024
    }

    /// The share of a core that it uses in that time.
    pub(crate) fn cpu_over(&self, span: Duration) -> f64 {
        let before = cpu_of(self.child.id());
        sleep(span);
        (cpu_of(self.child.id()) - before).as_secs_f64() / span.as_secs_f64()
    }

    fn begin(&mut self) {
        writeln!(self.input, "begin").expect("it reads");
    }

    /// Reads the next line, and returns what follows that word.
    fn expect(&mut self, word: &str) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        assert!(line.starts_with(word), "{word} comes next, not {line:?}");
        line[word.len()..].trim().to_owned()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processor time that a process has used.
pub(crate) fn cpu_of(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // After the name, which may have spaces: the state is the third field, the times are the 14th and 15th.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let ticks: u32 =
        fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("ticks")).sum();
    TICK * ticks
}

/// The time since 1970, which both sides read.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}

/// Writes a line to the other side.
pub(crate) fn report(line: &str) {
    println!("{line}");
}

/// Waits for a line of the other side.
pub(crate) async fn asked() {
    let read = tokio::task::spawn_blocking(|| std::io::stdin().lines().next());
    read.await.expect("the thread does not panic");
}
