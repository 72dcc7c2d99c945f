//! Runs the scenarios, one after the other, and reports the results.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use incumbent_testkit::tools::{EtcdVersion, NatsVersion, etcd, etcdctl, go_etcd_program, nats_server};

use crate::check::{Violation, check};
use crate::controller::{self, INTERRUPTED};
use crate::history::History;
use crate::kind::Kind;
use crate::report::Report;
use crate::scenario::{Scenario, StoreKind};

/// The lines that are shown around a violation: their greatest distance in nanoseconds, and the number of lines on
/// either side.
const AROUND: u64 = 3_000_000_000;
const LINES: usize = 40;

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The duration of the faults in minutes, for all runs on NATS together, or for the run on etcd; each run takes
    /// some seconds more to begin and end
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = minutes)]
    minutes: f64,
    /// The seed of the script of faults; it decides their order, but not the exact moments
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Only one of the runs
    #[arg(long, value_enum, value_name = "RUN", conflicts_with = "store")]
    only: Option<Only>,
    /// Only the runs in one store
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<StoreKind>,
    /// Print the figures as JSON on standard output, and the tables on standard error
    #[arg(long)]
    json: bool,
    /// Keep the logs, even if all is well
    #[arg(long)]
    keep: bool,
    /// Print the kinds of faults, and do nothing
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// One nats-server
    OneNode,
    /// Three nats-servers
    Cluster,
    /// Three members of etcd
    Etcd,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 10_000.0 => Ok(minutes),
        _ => Err("a number of minutes above 0 and at most 10000, such as 5 or 0.5".into()),
    }
}

/// Returns whether every run passed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if args.list {
        for kind in Kind::ALL {
            println!("{kind:<22} {}", kind.says());
        }
        return Ok(true);
    }
    let wanted = |scenario: &Scenario| {
        let is_it = match args.only {
            None => true,
            Some(Only::OneNode) => scenario.store == StoreKind::Nats && scenario.servers == 1,
            Some(Only::Cluster) => scenario.store == StoreKind::Nats && scenario.servers > 1,
            Some(Only::Etcd) => scenario.store == StoreKind::Etcd,
        };
        is_it && args.store.is_none_or(|store| scenario.store == store)
    };
    let scenarios: Vec<Scenario> = Scenario::all().into_iter().filter(wanted).collect();
    // The scenarios are checked now, so that the error does not come from the start of a server.
    if scenarios.iter().any(|scenario| scenario.store == StoreKind::Nats) {
        nats_server(NatsVersion::Newest).map_err(anyhow::Error::msg)?;
    }
    if scenarios.iter().any(|scenario| scenario.store == StoreKind::Etcd) {
        etcd(EtcdVersion::Newest)
            .and(etcdctl())
            .and(go_etcd_program("candidate"))
            .map_err(anyhow::Error::msg)?;
    }
    listen_for_the_end()?;
    let mut reports = Vec::new();
    for scenario in &scenarios {
        let of_its_store = scenarios.iter().filter(|other| other.store == scenario.store);
        let weights: f64 = of_its_store.map(weight).sum();
        let time = Duration::from_secs_f64(args.minutes * 60.0 * weight(scenario) / weights);
        let scenario = scenario.clone();
        let report = one(scenario, args, time)?;
        if args.json {
            eprint!("{report}");
        } else {
            print!("{report}");
        }
        reports.push(report);
    }
    if args.json {
        println!("{}", serde_json::to_string(&reports)?);
    }
    Ok(reports.iter().all(|report| report.passed))
}

/// A cluster's faults take longer than those of one server.
fn weight(scenario: &Scenario) -> f64 {
    if scenario.servers == 1 { 2.0 } else { 3.0 }
}

fn one(scenario: Scenario, args: &Args, time: Duration) -> Result<Report> {
    let (name, seed) = (scenario.name, args.seed);
    eprintln!("==> {name}, seed {seed}, {:.0} s of faults", time.as_secs_f64());
    let folder = tempfile::Builder::new().prefix(&format!("incumbent-chaos-{name}-")).tempdir()?;
    let path = folder.path().to_owned();
    // A failed operation on a server or process panics.
    let running =
        thread::Builder::new().name(name.into()).spawn(move || controller::run(scenario, seed, time, &path));
    let ran = running?.join().unwrap_or_else(|panic| Err(anyhow::Error::msg(said(&*panic))));
    if INTERRUPTED.load(Ordering::Acquire) {
        bail!("interrupted");
    }
    let report = match (History::read(folder.path()), ran) {
        (Ok(history), ran) => {
            let mut violations = check(&history);
            if let Err(error) = ran {
                violations.push(Violation {
                    rule: "run",
                    what: format!("{error:#}"),
                    key: None,
                    at: history.end,
                });
            }
            show(&history, &violations);
            Report::of(&history, &violations)
        }
        (Err(unreadable), ran) => {
            let why = ran.err().unwrap_or(unreadable);
            Report::broken(name, seed, format!("{why:#}"))
        }
    };
    if !report.passed || args.keep {
        let kept = folder.keep();
        eprintln!("the logs of all processes are in {}", kept.display());
        eprintln!("to judge it again: cargo run -p incumbent-chaos -- check {}", kept.display());
        let minutes = time.as_secs_f64() / 60.0;
        eprintln!(
            "to run the script again: cargo run -p incumbent-chaos -- --only {name} --seed {seed} --minutes {minutes:.1}"
        );
    }
    Ok(report)
}

/// Judges a folder. Returns whether the run passed.
pub(crate) fn check_again(folder: &Path) -> Result<bool> {
    let history = History::read(folder)?;
    let violations = check(&history);
    show(&history, &violations);
    let report = Report::of(&history, &violations);
    print!("{report}");
    Ok(report.passed)
}

/// The first violation, with the events around it.
fn show(history: &History, violations: &[Violation]) {
    let Some(first) = violations.first() else { return };
    let seconds = first.at.saturating_sub(history.begin) as f64 / 1e9;
    eprintln!("{} at {seconds:.4} s: {}", first.rule, first.what);
    let lines = history.around(first.at, AROUND, first.key.as_deref());
    let before = lines.iter().take_while(|(at, _)| *at < first.at).count();
    for (_, line) in lines.iter().skip(before.saturating_sub(LINES)).take(2 * LINES) {
        eprintln!("{line}");
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}

/// At a signal from a person or a supervisor, the run stops and everything is cleaned up.
fn listen_for_the_end() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal)
    };
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                let [Ok(interrupt), Ok(terminate), Ok(hangup)] = &mut signals else { return };
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            INTERRUPTED.store(true, Ordering::Release);
        })
        .context("no thread for signals")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_that_cannot_be_are_refused() {
        assert_eq!(minutes("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "soon", "10001"] {
            assert!(minutes(text).unwrap_err().contains("such as 5"), "{text}");
        }
    }
}
