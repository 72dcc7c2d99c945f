//! The candidates that are compared: each is a process of its own, which prints a JSON object a line.

use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use incumbent::Clock;
use incumbent_testkit::json::JsonProgram;
use serde_json::Value;

/// The longest that an event may take: the slowest fail-over is that of a lease of a minute.
const LIMIT: Duration = Duration::from_secs(180);
/// The time that a new waiter is given: etcd takes up a watch of its Go client within 100 ms, and some programs print
/// that they campaign just before they do.
pub(crate) const SETTLED: Duration = Duration::from_millis(150);

/// Makes the command for a candidate in an election, with a name.
type Start = Box<dyn Fn(&str, &str) -> Command + Sync>;

/// A kind of candidates, with their settings.
pub(crate) struct Side {
    /// Its name in the figures.
    pub(crate) name: String,
    /// The lease; none where a lock ends with its connection.
    pub(crate) lease: Option<Duration>,
    /// The time from one renewal to the next, over which crashes are spread.
    pub(crate) renewal: Duration,
    /// The event that says that a candidate waits.
    pub(crate) waits: &'static str,
    /// The event that says that it leads.
    pub(crate) leads: &'static str,
    /// True if a leader can leave before its lease is over.
    pub(crate) resigns: bool,
    pub(crate) command: Start,
}

/// A running candidate.
pub(crate) struct Candidate {
    program: JsonProgram,
    orders: ChildStdin,
}

/// A leader and a candidate that waits for its end, in an election of their own.
pub(crate) struct Pair<'a> {
    pub(crate) side: &'a Side,
    election: String,
    leader: Candidate,
    waiter: Candidate,
    /// The time since which the waiter waits.
    waiting: u64,
    /// The number of candidates started.
    started: u32,
}

impl Side {
    /// A side that prints the events of `tests/interop/peers`, and renews three times in a lease.
    pub(crate) fn new(
        name: &str,
        lease: Option<Duration>,
        command: impl Fn(&str, &str) -> Command + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            lease,
            renewal: lease.unwrap_or_default() / 3,
            waits: "campaigning",
            leads: "elected",
            resigns: true,
            command: Box::new(command),
        }
    }
}

impl Candidate {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        let mut program = JsonProgram::on_stdout(command);
        let orders = program.child().take_stdin().expect("it is piped");
        Self { program, orders }
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it reads");
    }

    /// Waits for an event later than `after`, and returns its time: nanoseconds of the machine's clock.
    fn event(&self, event: &str, after: u64) -> u64 {
        time(&self.program.await_line(event, LIMIT, |line| fits(line, event, after)))
    }

    /// Returns true if it has reported such an event.
    fn has_reported(&self, event: &str, after: u64) -> bool {
        self.program.lines().iter().any(|line| fits(line, event, after))
    }
}

impl<'a> Pair<'a> {
    /// Starts a leader, and then a candidate that waits.
    pub(crate) fn start(side: &'a Side, election: &str) -> Self {
        let candidate = |name| Candidate::start((side.command)(election, name));
        let leader = candidate("c1");
        leader.event(side.leads, 0);
        let waiter = candidate("c2");
        let mut pair = Self { side, election: election.into(), leader, waiter, waiting: 0, started: 2 };
        pair.settle(0);
        pair
    }

    /// Waits until the waiter waits.
    fn settle(&mut self, since: u64) {
        self.waiting = self.waiter.event(self.side.waits, since);
        std::thread::sleep(SETTLED);
    }

    /// Has the leader leave: the time from its request to the report of the one that waited. None where the leader had lost
    /// its lease before, as happens on a machine that stands still for longer; another pair is started then.
    pub(crate) fn hand_over(&mut self) -> Option<Duration> {
        if self.waiter.has_reported(self.side.leads, self.waiting) {
            eprintln!("not counted: a leader lost its lease, {}", self.side.name);
            *self = Self::start(self.side, &format!("{}-again", self.election));
            return None;
        }
        let since = now();
        self.leader.order("resign");
        let resigning = self.leader.event("resigning", since);
        let elected = self.waiter.event(self.side.leads, resigning);
        self.leader.event("resigned", resigning);
        std::mem::swap(&mut self.leader, &mut self.waiter);
        self.waiter.order("campaign");
        self.settle(elected);
        Some(Duration::from_nanos(elected - resigning))
    }

    /// Kills the leader: the time from the signal to the report of the one that waited. None where that leads already.
    pub(crate) fn crash(&mut self) -> Option<Duration> {
        let killed = now();
        self.leader.program.child().kill();
        let elected = self.waiter.event(self.side.leads, self.waiting);
        if elected < killed {
            eprintln!("not counted: a leader lost its lease, {}", self.side.name);
        }
        Some(Duration::from_nanos(elected.checked_sub(killed)?))
    }

    /// Starts a candidate in place of the leader that was killed.
    pub(crate) fn replace(&mut self) {
        self.started += 1;
        let since = now();
        let command = (self.side.command)(&self.election, &format!("c{}", self.started));
        std::mem::swap(&mut self.leader, &mut self.waiter);
        self.waiter = Candidate::start(command);
        self.settle(since);
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        // Killed where it does not end: its locks and leases are no longer needed.
        self.program.child().kill();
    }
}

/// Returns true if a line reports this event, later than `after`.
fn fits(line: &Value, event: &str, after: u64) -> bool {
    line["event"] == event && time(line) > after
}

/// The time of a line: nanoseconds of the machine's clock.
fn time(line: &Value) -> u64 {
    line["t"].as_u64().unwrap_or_default()
}

/// The machine's clock, which all candidates print.
fn now() -> u64 {
    Clock::system().now().as_nanos()
}
