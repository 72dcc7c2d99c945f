//! The compared candidates. Each is a separate process, which prints a JSON object per line.

use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use incumbent_testkit::json::JsonProgram;
use incumbent_testkit::proxy::Proxy;
use serde_json::Value;

/// Makes the command for a candidate.
type Start = Box<dyn Fn(&Entry<'_>) -> Command + Sync>;
/// Waits until this many candidates are in an election.
type Present = Box<dyn Fn(&str, usize) + Sync>;

/// The settings of a candidate.
pub(crate) struct Entry<'a> {
    /// The address of the server, or of a proxy in front of it.
    pub(crate) server: &'a str,
    pub(crate) election: &'a str,
    pub(crate) name: &'a str,
    /// True if the candidate reports until when it led: see [`LED`].
    pub(crate) is_asked: bool,
}

/// The event of a polled candidate that no longer leads. It is polled by a call that needs no server. The event's time
/// is that of the last question whose answer was yes.
pub(crate) const LED: &str = "led";
/// The polling interval.
pub(crate) const QUESTIONS: Duration = Duration::from_millis(5);

/// The way in which a leader leaves before its lease runs out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It resigns, and may campaign again.
    Resigns,
    /// It leaves the election, and its program ends.
    Closes,
    /// It cannot.
    Never,
}

/// A kind of candidate, with its settings.
pub(crate) struct Side {
    /// Its name in the figures.
    pub(crate) name: String,
    /// The server's address; empty if there is none.
    pub(crate) server: String,
    /// The lease; `None` for a lock that ends with its connection.
    pub(crate) lease: Option<Duration>,
    /// The time from one renewal to the next, over which faults are spread.
    pub(crate) renewal: Duration,
    /// The event that reports that a candidate waits.
    pub(crate) waits: &'static str,
    /// The event that reports that a candidate leads.
    pub(crate) leads: &'static str,
    /// The events that report that a leader no longer leads, if a new candidate may become the leader.
    pub(crate) loses: &'static [&'static str],
    pub(crate) leaving: Leaving,
    /// Set for a side whose candidates report that they wait before they are in the election.
    pub(crate) present: Option<Present>,
    pub(crate) command: Start,
}

impl Side {
    /// Returns a side that prints the events of `lab/interop/peers`, and renews three times in a lease.
    pub(crate) fn new(
        name: &str,
        server: String,
        lease: Option<Duration>,
        command: impl Fn(&Entry<'_>) -> Command + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            server,
            lease,
            renewal: lease.unwrap_or_default() / 3,
            waits: "campaigning",
            leads: "elected",
            loses: &[],
            leaving: Leaving::Resigns,
            present: None,
            command: Box::new(command),
        }
    }
}

/// A running candidate.
pub(crate) struct Candidate {
    program: JsonProgram,
    orders: ChildStdin,
    /// The proxy to the server, if it can be cut.
    proxy: Option<Proxy>,
}

impl Candidate {
    /// Starts a candidate of a side, with its own proxy if `is_cuttable`.
    pub(crate) fn start(side: &Side, election: &str, name: &str, is_asked: bool, is_cuttable: bool) -> Self {
        let proxy = is_cuttable.then(|| Proxy::to(&side.server));
        let address = proxy.as_ref().map_or_else(|| side.server.clone(), Proxy::address);
        let mut command = (side.command)(&Entry { server: &address, election, name, is_asked });
        command.stdin(Stdio::piped());
        let mut program = JsonProgram::on_stdout(command);
        let orders = program.child().take_stdin().expect("it is piped");
        Self { program, orders, proxy }
    }

    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it reads");
    }

    /// Waits for an event later than `after`, and returns its time: nanoseconds of the machine's clock.
    pub(crate) fn event(&self, event: &str, after: u64, limit: Duration) -> u64 {
        time(&self.program.await_line(event, limit, |line| fits(line, event, after)))
    }

    /// The time of the first such event, if the candidate has reported one.
    pub(crate) fn reported(&self, event: &str, after: u64) -> Option<u64> {
        self.program.lines().iter().find(|line| fits(line, event, after)).map(time)
    }

    /// The time of the last such event, if the candidate has reported one.
    pub(crate) fn last_reported(&self, event: &str) -> Option<u64> {
        self.program.lines().iter().rfind(|line| fits(line, event, 0)).map(time)
    }

    /// Returns true if `leads` is the newest of these events.
    pub(crate) fn newest_is(&self, leads: &str, loses: &[&str]) -> bool {
        let is_one =
            |line: &&Value| line["event"] == leads || loses.iter().any(|loss| line["event"] == *loss);
        self.program.lines().iter().rfind(is_one).is_some_and(|line| line["event"] == leads)
    }

    pub(crate) fn kill(&mut self) {
        self.program.child().kill();
    }

    pub(crate) fn pause(&mut self) {
        self.program.child().pause();
    }

    pub(crate) fn resume(&mut self) {
        self.program.child().resume();
    }

    /// Stops all bytes from and to the server, but closes no connection.
    pub(crate) fn cut(&self) {
        self.proxy.as_ref().expect("it was started with one").cut();
    }

    /// Lets all bytes pass, including those that were held back.
    pub(crate) fn heal(&self) {
        self.proxy.as_ref().expect("it was started with one").heal();
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        // The process is killed even if it has not ended, because its locks and leases are no longer needed.
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
