//! A candidate in a separate process, which can be killed and stopped.
//!
//! The process is this test binary, which then runs only the function `campaigns_in_a_process_of_its_own` below.

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use incumbent::{Event, Store};
use incumbent_testkit::kafka::shared::Shared;
use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::wait::{until, until_some};

use crate::support::{LIMIT, brief};

/// The variable with the campaign of a child process: URL, election, name.
const ORDER: &str = "INCUMBENT_TEST_CANDIDATE";

/// A candidate in another process, with a lease of 2 s.
pub(super) struct Process {
    child: ChildGuard,
    lines: Arc<Mutex<Vec<String>>>,
    /// The number of lines that earlier waits have read.
    read: Cell<usize>,
}

impl Process {
    pub(super) fn start(url: &str, election: &str, name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "process::campaigns_in_a_process_of_its_own",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env(ORDER, format!("{url} {election} {name}")).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = ChildGuard::spawn(command).unwrap();
        let output = BufReader::new(child.take_stdout().unwrap());
        let lines = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, lines, read: Cell::default() }
    }

    /// Waits until the candidate prints this text, after the lines of earlier waits, and returns the rest of its line.
    #[track_caller]
    pub(super) fn reports(&self, what: &str) -> String {
        until_some(&format!("a line with {what:?}"), LIMIT, || {
            let lines = self.lines.lock().unwrap();
            let fresh = lines.iter().enumerate().skip(self.read.get());
            let (place, rest) =
                fresh.filter_map(|(place, line)| Some((place, line.split_once(what)?.1))).next()?;
            self.read.set(place + 1);
            Some(rest.trim().to_owned())
        })
    }

    /// Makes later waits skip all lines so far.
    fn skip(&self) {
        self.read.set(self.lines.lock().unwrap().len());
    }

    /// The token of the last term that the candidate reported, unless it has reported the loss of that term.
    pub(super) fn leads(&self) -> Option<u64> {
        let lines = self.lines.lock().unwrap();
        let last = lines.iter().rfind(|line| line.contains("won ") || line.contains("lost "))?;
        last.split_once("won ").map(|(_, token)| token.trim().parse().unwrap())
    }

    pub(super) fn kill(&mut self) {
        self.child.kill();
    }

    pub(super) fn pause(&self) {
        self.child.pause();
    }

    pub(super) fn resume(&self) {
        self.child.resume();
    }
}

/// A leader and a waiting candidate of one election, each in its own process.
pub(super) struct Pair {
    pub(super) leader: Process,
    pub(super) other: Process,
    /// The sequence of the leader's token.
    pub(super) token: u64,
}

impl Pair {
    /// Starts two processes, and waits until both are members of the group and one of them leads.
    #[track_caller]
    pub(super) fn start(broker: &Shared, parameters: &str, election: &str) -> Self {
        let url = format!("kafka://{}/{parameters}", broker.address());
        let [ada, ben] = ["ada", "ben"].map(|name| {
            let process = Process::start(&url, election, name);
            process.reports("joins");
            process
        });
        // With an eager assignor the second member's arrival ends the first one's term.
        let leads = || [&ada, &ben].map(Process::leads);
        let mut found = [None; 2];
        until("one of two members leads", LIMIT, || {
            let before = leads();
            broker.admin().owner(election, 2);
            // On a busy machine either candidate may have led already.
            [&ada, &ben].into_iter().for_each(Process::skip);
            found = leads();
            before == found && found.iter().flatten().count() == 1
        });
        match found {
            [Some(token), _] => Self { leader: ada, other: ben, token },
            [None, token] => Self { leader: ben, other: ada, token: token.unwrap_or_default() },
        }
    }
}

/// Not a test, but the candidate of a [`Process`]. Without an order in the environment it does nothing.
#[tokio::test]
async fn campaigns_in_a_process_of_its_own() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let mut words = order.split(' ');
    let [url, election, name] = [(); 3].map(|()| words.next().unwrap().to_owned());
    let store = Store::open(&url).await.unwrap();
    let candidate = store.campaign(&election, brief(&name)).await.unwrap();
    println!("joins");
    let mut events = candidate.events();
    while let Some(event) = events.next().await {
        match event {
            Event::Won(term) => println!("won {}", term.token().sequence.0),
            Event::Lost { reason, .. } => println!("lost {reason}, leads {}", candidate.is_leader()),
            Event::Warning(warning) => println!("warned {warning}"),
            _ => {}
        }
    }
}
