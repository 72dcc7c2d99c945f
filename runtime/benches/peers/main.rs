//! The time of a hand-over and of a fail-over, beside other software's elections and locks in the same run.
//!
//! Every candidate, ours as well, is a process of its own that prints a JSON object a line with the machine's clock, so all
//! are measured alike: a hand-over from the leader's request to leave to the report of the one that waited, a fail-over
//! from the leader's SIGKILL to that report. Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot go on says why")]

mod crash;
mod hand_over;
mod ours;
mod servers;
mod side;

use std::thread;
use std::time::Duration;

use incumbent::Preset;
use incumbent_testkit::figure::{Figure, Sample};
use servers::Servers;
use side::Side;

/// Hand-overs of each side.
const HAND_OVERS: usize = 50;
/// Pairs of candidates of each side with one lease, and the rounds in which their leaders are killed.
const PAIRS: usize = 4;
const CRASHES: usize = 12;
/// Pairs of each side with its default lease, whose leaders are killed once: that takes up to two minutes.
const DEFAULT_PAIRS: usize = 10;
/// The percentiles that are printed; 100 is the maximum.
const PERCENTILES: [usize; 4] = [50, 90, 99, 100];

/// The measurements and goals that compare two sides: the median of the first is at most so many times that of the second.
const GOALS: [(&str, &str, &str, f64); 6] = [
    ("hand-over", "incumbent on NATS", "redsync, retry=1ms", 1.0),
    ("hand-over", "incumbent on NATS", "PostgreSQL advisory lock", 1.0),
    ("hand-over", "incumbent on etcd", "etcd's Go client", 1.3),
    ("crash", "incumbent on NATS, markers, T = 2 s", "redsync, T = 2 s", 1.0),
    ("crash", "incumbent on NATS, markers, T = 2 s", "rules of nats-kv-leader-elect, T = 2 s", 1.0),
    ("crash", "incumbent on etcd, T = 6 s", "etcd's Go client, T = 6 s", 1.0),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["candidate", url, election, name, lease] => {
            let lease = Duration::from_millis(lease.parse().expect("a number"));
            let preset = if lease < Duration::from_secs(5) { Preset::Fast } else { Preset::Standard };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(ours::campaign(url, election, name, lease, preset));
        }
        _ => measure(),
    }
}

fn measure() {
    let servers = Servers::start();
    let mut measured = Vec::new();

    let sides = servers.that_hand_over();
    eprintln!("{HAND_OVERS} hand-overs of each of {} sides, in turn", sides.len());
    for (side, sample) in sides.iter().zip(hand_over::measure(&sides, HAND_OVERS)) {
        measured.push(("hand-over", side.name.clone(), sample));
    }

    let (short, long) = (servers.with_one_lease(), servers.with_their_leases());
    eprintln!("{} crashes of each of {} sides with one lease,", PAIRS * CRASHES, short.len());
    eprintln!("and at the same time {DEFAULT_PAIRS} of each of {} sides with its default lease", long.len());
    let (short_times, long_times) = thread::scope(|scope| {
        let long_times = scope.spawn(|| crash::measure(&long, DEFAULT_PAIRS, 1));
        (crash::measure(&short, PAIRS, CRASHES), long_times.join().expect("it is measured"))
    });
    for (kind, sides, samples) in [("crash", &short, short_times), ("crash with defaults", &long, long_times)]
    {
        for (side, sample) in sides.iter().zip(samples) {
            let name = with_lease(side);
            let less = side.lease.map(|lease| ("crash less T", name.clone(), Some(sample.less(lease))));
            measured.push((kind, name, Some(sample)));
            measured.extend(less);
        }
    }

    let mut figures = Vec::new();
    for (kind, name, sample) in &measured {
        let name = format!("{kind}, {name}");
        match sample {
            Some(sample) => figures.extend(percentiles(&name, sample)),
            None => figures.push(Figure::absent(format!("{name}, p50"), "ms")),
        }
    }
    for (kind, ours, theirs, most) in GOALS {
        let median = |of: &str| {
            let named = measured.iter().find(|(measured, name, _)| *measured == kind && name == of);
            let sample = named.and_then(|(.., sample)| sample.as_ref()).expect("it was measured");
            (sample.percentile(50), sample.len())
        };
        let ((our, samples), (their, _)) = (median(ours), median(theirs));
        let name = format!("{kind} p50, {ours} / {theirs}");
        figures.push(Figure::at_most(name, our / their, "ratio", most, samples));
    }
    println!("{}", serde_json::to_string(&figures).expect("figures are plain data"));
}

/// The name of a side, and its lease.
fn with_lease(side: &Side) -> String {
    match side.lease {
        Some(lease) => format!("{}, T = {} s", side.name, lease.as_secs()),
        None => format!("{}, no lease", side.name),
    }
}

/// The figures of a sample; the first has all times.
fn percentiles(name: &str, sample: &Sample) -> Vec<Figure> {
    let figure = |percent| {
        let percentile = if percent == 100 { "max".into() } else { format!("p{percent}") };
        let value = sample.percentile(percent);
        Figure::plain(format!("{name}, {percentile}"), value, "ms", sample.len())
    };
    let mut figures: Vec<Figure> = PERCENTILES.into_iter().map(figure).collect();
    if let Some(first) = figures.first_mut() {
        *first = first.clone().of(sample);
    }
    figures
}
