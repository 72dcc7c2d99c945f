//! Two candidates on etcd's Go client that hand over to each other, in a separate program.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::tools;
use incumbent_testkit::wait::GENEROUS;

use crate::{LEASE, SETTLED};

/// The program, which measures.
pub(crate) struct Pair {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    program: ChildGuard,
}

impl Pair {
    pub(crate) fn start(endpoints: &str, prefix: &str) -> Self {
        let program = tools::go_etcd_program("handover").expect("cargo xtask bench builds it");
        let mut command = Command::new(program);
        command.args(["-endpoints", endpoints, "-prefix", prefix, "-ttl", &LEASE.as_secs().to_string()]);
        command.args(["-settled", &format!("{}ms", SETTLED.as_millis())]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = ChildGuard::spawn(command).expect("a program that can be started");
        let requests = program.take_stdin().expect("it has a standard input");
        let answers = BufReader::new(program.take_stdout().expect("it has a standard output"));
        Self { requests, answers, program }
    }

    /// Ends the program, which revokes its leases. Keys that expired later would add revisions to the next measurement.
    pub(crate) fn close(mut self) {
        drop(self.requests);
        self.program.wait(GENEROUS);
    }

    /// Hands over this many times. Returns each time from the call of `Resign` to the return of the other candidate's
    /// `Campaign`.
    pub(crate) fn hand_over(&mut self, times: usize) -> Vec<Duration> {
        writeln!(self.requests, "{times}").expect("the program reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the program answers");
        let nanos: Vec<u64> = serde_json::from_str(&line).expect("a list of times");
        assert_eq!(nanos.len(), times);
        nanos.into_iter().map(Duration::from_nanos).collect()
    }
}
