//! A candidate through `etcdctl elect`, with the orders and the events of the other programs.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use incumbent::Clock;
use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::tools;
use serde_json::json;
use tokio::sync::mpsc;

use crate::ours::orders;

/// The longest time that `etcdctl` may take to end.
const ENDING: Duration = Duration::from_secs(30);

/// Campaigns until its input ends. At the order `resign`, an interrupt makes `etcdctl` resign and end; at the order
/// `campaign`, it is started again. The time of a win is that at which its line arrives here.
pub(crate) async fn campaign(endpoints: &str, election: &str, name: &str) {
    let clock = Clock::system();
    let report = |event: &str| {
        println!("{}", json!({"t": clock.now().as_nanos(), "name": name, "event": event}));
    };
    let mut orders = orders();
    let (mut child, mut lines) = elect(endpoints, election, name);
    report("campaigning");
    loop {
        tokio::select! {
            Some(line) = lines.recv() => if line == name {
                report("elected");
            },
            order = orders.recv() => match order.as_deref() {
                Some("resign") => {
                    report("resigning");
                    child.interrupt();
                    child.wait(ENDING);
                    report("resigned");
                }
                Some("campaign") => {
                    (child, lines) = elect(endpoints, election, name);
                    report("campaigning");
                }
                Some(other) => panic!("no order: {other:?}"),
                None => return,
            },
        }
    }
}

/// Starts `etcdctl elect`. Once it leads, it prints a line with its key and one with its name.
fn elect(endpoints: &str, election: &str, name: &str) -> (ChildGuard, mpsc::UnboundedReceiver<String>) {
    let program = tools::etcdctl().expect("cargo xtask bench installs it");
    let mut command = Command::new(program);
    command.env("ETCDCTL_API", "3").args(["--endpoints", endpoints, "elect", election, name]);
    let mut child = ChildGuard::spawn({
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    })
    .expect("a program that can be started");
    let output = child.take_stdout().expect("it is piped");
    let (send, lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    (child, lines)
}
