//! The time of a hand-over and of a fail-over, compared with other software's elections and locks in the same run; and
//! the time for which two candidates lead after a temporary fault.
//!
//! Every candidate, including ours, is a separate process that prints a JSON object per line with the machine's clock,
//! so all are measured alike. A hand-over lasts from the leader's request to leave to the waiting candidate's report. A
//! fail-over lasts from the leader's SIGKILL, its stop or its cut connections to that report. Progress goes to standard
//! error; standard output is one JSON array of figures.
//!
//! The arguments, if any, are the kinds of measurements to make: see [`KINDS`].

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot continue reports why")]

mod etcdctl;
mod ours;
mod pair;
mod rounds;
mod servers;
mod side;

use std::thread;
use std::time::Duration;

use incumbent_testkit::figure::{self, Figure, Sample};
use pair::{Fault, Succession};
use rounds::{Extent, sample};
use servers::Servers;
use side::Side;

/// The kinds of measurements. `defaults` are crashes with default leases. Measurements on Kafka belong to `crash`, and
/// run at the same time.
const KINDS: [&str; 5] = ["hand-over", "crash", "defaults", "pause", "partition"];
/// The number of hand-overs of each side in a run.
const HAND_OVERS: usize = 10;
/// The number of leaders of each side that are killed, with the same lease for all.
const CRASHES: Extent = Extent { pairs: 4, rounds: 3 };
/// The number of leaders of each side that are killed, with default leases. Each takes up to two minutes.
const DEFAULT_CRASHES: Extent = Extent { pairs: 10, rounds: 1 };
/// The number of hand-overs, and then of crashes, of each side on Kafka. It is small because a rebalance takes seconds.
const ON_KAFKA: Extent = Extent { pairs: 4, rounds: 1 };
/// The number of leaders on each side that are stopped or cut off.
const FAULTS: Extent = Extent { pairs: 4, rounds: 1 };

/// The goals, each a comparison of two sides: the median of the first is at most this many times that of the second.
const GOALS: [(&str, &str, &str, f64); 6] = [
    ("hand-over", "incumbent on NATS", "redsync, retry=1ms", 1.0),
    ("hand-over", "incumbent on NATS", "PostgreSQL advisory lock", 1.0),
    ("hand-over", "incumbent on etcd", "etcd's Go client", 1.3),
    ("crash", "incumbent on NATS, markers, T = 2 s", "redsync, T = 2 s", 1.0),
    ("crash", "incumbent on NATS, markers, T = 2 s", "rules of nats-kv-leader-elect, T = 2 s", 1.0),
    ("crash", "incumbent on etcd, T = 6 s", "etcd's Go client, T = 6 s", 1.0),
];
/// The word with which this program tells its candidates to use their default lease.
const DEFAULT: &str = "default";
/// The prefix of the names of our sides. Two candidates of such a side never lead at the same time.
const OURS: &str = "incumbent";

/// Measured times: the kind, the side, and the sample. There is no sample if the side cannot do it.
type Measured = (&'static str, String, Option<Sample>);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["candidate", url, election, name, lease, is_asked] => {
            let lease = (lease != DEFAULT).then(|| Duration::from_millis(lease.parse().expect("a number")));
            let is_asked = is_asked.parse().expect("true or false");
            runtime().block_on(ours::campaign(ours::Setup { url, election, name, lease, is_asked }));
        }
        ["etcdctl", endpoints, election, name] => {
            runtime().block_on(etcdctl::campaign(endpoints, election, name));
        }
        ref arguments => {
            let is_named = |kind: &&str| arguments.contains(kind);
            let named: Vec<&str> = KINDS.into_iter().filter(is_named).collect();
            measure(if named.is_empty() { &KINDS } else { &named });
        }
    }
}

/// The runtime of a candidate.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn measure(kinds: &[&str]) {
    let servers = Servers::start();
    let mut measured = Vec::new();
    let mut figures = Vec::new();
    if kinds.contains(&"hand-over") {
        measured.extend(hand_overs(&servers));
    }
    if kinds.contains(&"crash") || kinds.contains(&"defaults") {
        measured.extend(crashes(&servers, kinds));
    }
    let faults = [Fault::Pause, Fault::Partition];
    let faults: Vec<Fault> =
        faults.into_iter().filter(|fault| kinds.contains(&fault_names(*fault)[0])).collect();
    let usual = |fault| match fault {
        Fault::Pause => servers.that_are_paused(),
        Fault::Partition => servers.that_are_cut_off(),
    };
    let in_java = |fault| servers.in_java_with(fault);
    let turns: [&(dyn Fn(Fault) -> Vec<Side> + Sync); 2] = [&usual, &in_java];
    for sides in turns {
        // Candidates in Java are measured separately, as for crashes. The two faults are made at the same time, because
        // the candidates mostly wait.
        let disturbed: Vec<_> = thread::scope(|scope| {
            let disturb = |&fault| scope.spawn(move || disturbances(&sides(fault), fault));
            let running: Vec<_> = faults.iter().map(disturb).collect();
            running.into_iter().map(|one| one.join().expect("it is measured")).collect()
        });
        for (times, successors) in disturbed {
            measured.extend(times);
            figures.extend(successors);
        }
    }

    for (kind, name, sample) in &measured {
        let name = format!("{kind}, {name}");
        match sample {
            Some(sample) => figures.push(Figure::median(format!("{name}, p50"), sample)),
            None => figures.push(Figure::absent(format!("{name}, p50"), "ms")),
        }
    }
    for (kind, ours, theirs, most) in GOALS.into_iter().filter(|(kind, ..)| kinds.contains(kind)) {
        let median = |of: &str| {
            let named = measured.iter().find(|(measured, name, _)| *measured == kind && name == of);
            let sample = named.and_then(|(.., sample)| sample.as_ref()).expect("it was measured");
            (sample.percentile(50), sample.len())
        };
        let ((our, samples), (their, _)) = (median(ours), median(theirs));
        let name = format!("{kind} p50, {ours} / {theirs}");
        figures.push(Figure::at_most(name, our / their, "ratio", most, samples));
    }
    figure::print(&figures);
}

fn hand_overs(servers: &Servers) -> Vec<Measured> {
    let sides = servers.that_hand_over();
    eprintln!("{HAND_OVERS} hand-overs of each of {} sides, in turn", sides.len());
    let samples = rounds::hand_over(&sides, HAND_OVERS);
    sides.iter().zip(samples).map(|(side, sample)| ("hand-over", side.name.clone(), sample)).collect()
}

/// Measures those kinds of crashes that are wanted. Crashes with one lease are measured together with Kafka, then
/// crashes with default leases, and at last the crashes of candidates in Java.
fn crashes(servers: &Servers, kinds: &[&str]) -> Vec<Measured> {
    let sides = |kind: &str, sides: &dyn Fn() -> Vec<Side>| {
        if kinds.contains(&kind) { sides() } else { Vec::new() }
    };
    let short = sides("crash", &|| servers.with_one_lease());
    let long = sides("defaults", &|| servers.with_their_leases());
    let java = sides("crash", &|| servers.in_java());
    let long_java = sides("defaults", &|| servers.in_java_with_their_leases());
    let kafka = sides("crash", &|| servers.on_kafka());
    eprintln!("{} crashes of each of {} sides with one lease,", CRASHES.all(), short.len());
    eprintln!("{} of each of {} sides with its default lease,", DEFAULT_CRASHES.all(), long.len());
    eprintln!("{} hand-overs and crashes of each of {} sides on Kafka,", ON_KAFKA.all(), kafka.len());
    eprintln!("and then as many crashes of each of {} sides in Java", java.len() + long_java.len());
    let (short, long, kafka) = (&short[..], &long[..], &kafka[..]);
    let (java, long_java) = (&java[..], &long_java[..]);
    let crash = |sides, extent| rounds::times(sides, extent, "crash", |pair| pair.crash());
    let measured = thread::scope(|scope| {
        let long_times = scope.spawn(move || crash(long, DEFAULT_CRASHES));
        let kafka_times = scope.spawn(move || {
            (rounds::times(kafka, ON_KAFKA, "hand-over", |pair| pair.hand_over()), crash(kafka, ON_KAFKA))
        });
        let short_times = crash(short, CRASHES);
        let (handed_over, crashed) = kafka_times.join().expect("it is measured");
        [
            ("crash", short, short_times),
            ("crash with defaults", long, long_times.join().expect("it is measured")),
            ("hand-over on Kafka", kafka, handed_over),
            ("crash on Kafka", kafka, crashed),
        ]
    });
    // Candidates in Java are measured separately, because starting one keeps a processor busy for half a second and
    // would disturb the other measurements.
    let in_java = thread::scope(|scope| {
        let long_times = scope.spawn(move || crash(long_java, DEFAULT_CRASHES));
        let times = crash(java, CRASHES);
        let long_times = long_times.join().expect("it is measured");
        [("crash", java, times), ("crash with defaults", long_java, long_times)]
    });
    let mut all = Vec::new();
    for (kind, sides, samples) in measured.into_iter().chain(in_java) {
        for (side, sample) in sides.iter().zip(samples) {
            let name = with_lease(side);
            let less = side.lease.filter(|_| kind.starts_with("crash"));
            let less = less.map(|lease| (less_lease(kind), name.clone(), Some(sample.less(lease))));
            all.push((kind, name, Some(sample)));
            all.extend(less);
        }
    }
    all
}

/// The times to a successor, the times for which two candidates led, and how often there was a successor.
fn disturbances(sides: &[Side], fault: Fault) -> (Vec<Measured>, Vec<Figure>) {
    let [kind, overlap, successors] = fault_names(fault);
    eprintln!("{} times a {kind} of each of {} sides", FAULTS.all(), sides.len());
    let outcomes = rounds::measure(sides, FAULTS, kind, Some(fault), |pair| pair.disturb());
    let (mut times, mut figures) = (Vec::new(), Vec::new());
    for (side, outcomes) in sides.iter().zip(outcomes) {
        let name = with_lease(side);
        let all = outcomes.len();
        let successions: Vec<Succession> = outcomes.into_iter().flatten().collect();
        let number = successions.len();
        figures.push(Figure::plain(format!("{successors}, {name}"), number as f64, "in all", all));
        let after = sample(successions.iter().map(|succession| succession.after));
        let overlaps = sample(successions.iter().map(|succession| succession.overlap));
        if name.starts_with(OURS) {
            let longest = overlaps.percentile(100);
            let name = format!("longest {overlap}, {name}");
            figures.push(Figure::bounded(name, longest, "ms", 0.0, number));
        }
        let any = |sample: Sample| (number > 0).then_some(sample);
        let less = side.lease.map(|lease| (less_lease(kind), name.clone(), any(after.less(lease))));
        times.push((kind, name.clone(), any(after)));
        times.extend(less);
        times.push((overlap, name, any(overlaps)));
    }
    (times, figures)
}

/// The names of the figures of a fault: the time to a successor, the time for which two candidates lead, and the number
/// of successors.
fn fault_names(fault: Fault) -> [&'static str; 3] {
    match fault {
        Fault::Pause => ["pause", "overlap after a pause", "successors after a pause"],
        Fault::Partition => ["partition", "overlap in a partition", "successors in a partition"],
    }
}

/// The name of the kind whose times are those of `kind` minus the lease.
fn less_lease(kind: &str) -> &'static str {
    match kind {
        "pause" => "pause less T",
        "partition" => "partition less T",
        "crash on Kafka" => "crash on Kafka less T",
        _ => "crash less T",
    }
}

/// The name of a side, and its lease.
fn with_lease(side: &Side) -> String {
    match side.lease {
        Some(lease) => format!("{}, T = {} s", side.name, lease.as_secs()),
        None => format!("{}, no lease", side.name),
    }
}
