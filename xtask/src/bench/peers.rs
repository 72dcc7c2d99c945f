//! The section of the page about the benchmark `peers`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use incumbent_testkit::figure::{Figure, Sample};

use super::page::{escaped, interval, number, span, table, value};
use super::plot::{self, Row};

/// The prefix of the names of incumbent's sides.
const OURS: &str = "incumbent";

/// A distribution of the benchmark: its kind, its side, the figure of its median, and its times. There are no times if
/// the side cannot do what is measured.
struct Distribution<'a> {
    kind: &'a str,
    side: &'a str,
    figure: &'a Figure,
    times: Option<&'a [f64]>,
}

/// The distributions among figures, which are named `KIND, SIDE, p50`.
fn distributions(figures: &[Figure]) -> Vec<Distribution<'_>> {
    figures
        .iter()
        .filter_map(|figure| {
            let (kind, side) = figure.figure.strip_suffix(", p50")?.split_once(", ")?;
            let times = figure.raw.as_deref();
            (times.is_some() || figure.value.is_none()).then_some(Distribution { kind, side, figure, times })
        })
        .collect()
}

/// A part of the section.
struct Part {
    title: &'static str,
    /// The kind of the part's times, and the kind of the same times minus the lease, if those are shown.
    kind: &'static str,
    less: Option<&'static str>,
    /// For a temporary fault: the kind of the times in which two lead, and the name of the number of successors.
    fault: Option<[&'static str; 2]>,
    /// The file of its plot.
    file: &'static str,
    prose: &'static str,
}

const PARTS: [Part; 7] = [
    Part {
        title: "Hand-over",
        kind: "hand-over",
        less: None,
        fault: None,
        file: "hand-over.svg",
        prose: HAND_OVER,
    },
    Part {
        title: "After a crash, with one lease",
        kind: "crash",
        less: Some("crash less T"),
        fault: None,
        file: "crash.svg",
        prose: CRASH,
    },
    Part {
        title: "After a crash, with each one's default lease",
        kind: "crash with defaults",
        less: Some("crash less T"),
        fault: None,
        file: "crash-defaults.svg",
        prose: DEFAULTS,
    },
    Part {
        title: "When the leader is stopped for two leases",
        kind: "pause",
        less: Some("pause less T"),
        fault: Some(["overlap after a pause", "successors after a pause"]),
        file: "pause.svg",
        prose: PAUSE,
    },
    Part {
        title: "When the leader is cut off for two leases",
        kind: "partition",
        less: Some("partition less T"),
        fault: Some(["overlap in a partition", "successors in a partition"]),
        file: "partition.svg",
        prose: PARTITION,
    },
    Part {
        title: "Hand-over on Kafka",
        kind: "hand-over on Kafka",
        less: None,
        fault: None,
        file: "hand-over-kafka.svg",
        prose: KAFKA,
    },
    Part {
        title: "After a crash on Kafka",
        kind: "crash on Kafka",
        less: Some("crash on Kafka less T"),
        fault: None,
        file: "crash-kafka.svg",
        prose: KAFKA_CRASH,
    },
];

/// Returns the section. Adds its plots to `plots`, by the names of their files.
pub(super) fn section(figures: &[Figure], plots: &mut BTreeMap<String, String>) -> Result<String> {
    let all = distributions(figures);
    let of = |kind: &str| all.iter().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let mut text = String::from("\n## Compared with other elections and locks\n\n");
    text += PEERS;
    for Part { title, kind, less, fault, file, prose } in PARTS {
        let sides = of(kind);
        if sides.is_empty() {
            continue;
        }
        let less = less.map(of);
        // Distributions in milliseconds are not drawn: a scale that starts there would leave no space for the leases.
        let is_drawn = |one: &&&Distribution<'_>| {
            less.as_ref().is_none_or(|less| less.iter().any(|less| less.side == one.side))
        };
        let rows: Vec<Row> = sides
            .iter()
            .filter(is_drawn)
            .filter_map(|one| {
                Some(Row {
                    name: one.side.into(),
                    ours: one.side.starts_with(OURS),
                    times: one.times?.to_vec(),
                })
            })
            .collect();
        plots.insert(file.into(), plot::distribution("ms", &rows)?);
        let _ = write!(
            text,
            "### {title}\n\n{prose}\n![{title}: every measurement, and the medians](performance/{file})\n\n"
        );
        text += &match (less, fault) {
            (Some(less), Some([overlap, successors])) => {
                faults(&sides, &less, &of(overlap), &named(figures, successors))
            }
            (less, _) => comparison(&sides, &less.unwrap_or_default()),
        };
        text.push('\n');
    }
    Ok(text)
}

/// Returns a table of distributions. Each row has its ratio to the first row, or its times minus the lease if `less` is
/// not empty.
fn comparison(sides: &[&Distribution<'_>], less: &[&Distribution<'_>]) -> String {
    let first = sides.iter().find_map(|one| one.figure.value).unwrap_or(f64::NAN);
    let rows: Vec<Vec<String>> = sides
        .iter()
        .map(|one| {
            let mut row = vec![escaped(one.side)];
            let Some(times) = one.times else {
                row.extend(vec!["n/a".into(); if less.is_empty() { 6 } else { 7 }]);
                return row;
            };
            let times = sample(times);
            row.extend([value(one.figure), interval(one.figure)]);
            row.extend([90, 100].map(|percent| span(times.percentile(percent))));
            if less.is_empty() {
                row.push(number(one.figure.value.unwrap_or(f64::NAN) / first));
            } else {
                let less = less.iter().find(|less| less.side == one.side).and_then(|less| less.times);
                let percentile = |percent| less.map(|less| span(sample(less).percentile(percent)));
                row.extend([50, 100].map(|percent| percentile(percent).unwrap_or("n/a".into())));
            }
            row.push(number(times.len() as f64));
            row
        })
        .collect();
    match less {
        [] => table(1, &["", "p50", "interval", "p90", "max", "p50 of the first row's", "measured"], &rows),
        _ => {
            let head = ["", "p50", "interval", "p90", "max", "p50 less T", "max less T", "measured"];
            table(1, &head, &rows)
        }
    }
}

/// Returns a table about a fault: the times until a successor leads, the same times minus the lease, the times in which
/// two led, and the number of successors.
fn faults(
    sides: &[&Distribution<'_>],
    less: &[&Distribution<'_>],
    overlaps: &[&Distribution<'_>],
    successors: &[(&str, &Figure)],
) -> String {
    let rows: Vec<Vec<String>> = sides
        .iter()
        .map(|one| {
            let of = |kind: &[&Distribution<'_>], percent| {
                let times = kind.iter().find(|other| other.side == one.side).and_then(|other| other.times);
                times.map_or("n/a".into(), |times| span(sample(times).percentile(percent)))
            };
            let mut row = vec![escaped(one.side)];
            for kind in [sides, less, overlaps] {
                row.extend([50, 100].map(|percent| of(kind, percent)));
            }
            let number = successors.iter().find(|(side, _)| *side == one.side).map(|(_, figure)| {
                format!("{} of {}", number(figure.value.unwrap_or_default()), figure.samples)
            });
            row.push(number.unwrap_or("n/a".into()));
            row
        })
        .collect();
    let head = [
        "",
        "p50",
        "max",
        "p50 less T",
        "max less T",
        "time with two leaders, p50",
        "time with two leaders, max",
        "another candidate led",
    ];
    table(1, &head, &rows)
}

/// The figures that are named `WHAT, SIDE`, by the side.
fn named<'a>(figures: &'a [Figure], what: &str) -> Vec<(&'a str, &'a Figure)> {
    let side = |figure: &'a Figure| figure.figure.strip_prefix(what)?.strip_prefix(", ");
    figures.iter().filter_map(|figure| Some((side(figure)?, figure))).collect()
}

fn sample(times: &[f64]) -> Sample {
    times.iter().copied().collect()
}

const PEERS: &str = "\
Each candidate, ours included, is a process of its own and prints a line with the machine's clock when something \
happens to it: this compares what a user waits for. All servers run on the same machine, one of each kind, with \
default settings, and in addition a cluster of three NATS servers that keep a bucket together, and a ZooKeeper server \
with a shorter tick. If candidates are started again and again, those in Java take their turn after the rest: the \
start of one keeps a processor busy for half a second.\n\
[The programs](../lab/interop/README.md) are the clients' own elections and locks, and do nothing else.\n\n";

const HAND_OVER: &str = "\
From the leader's request to leave to its successor's report that it leads. redsync has no queue and no watch: a \
candidate asks again after a random 50 to 250 ms by default, or as often as its settings say, with two requests each \
time. PostgreSQL wakes the session that waits. `etcdctl elect`, etcd's command line, resigns on an interrupt; it reads \
the winner's key once more before it prints, and its line passes through one more process. Curator's `LeaderLatch` is \
a queue of nodes in ZooKeeper: the leader deletes its own, the next candidate watches that node, and leads after two \
more reads. Three NATS servers answer a write when two of them have it. A candidate by the rules of \
nats-kv-leader-elect deletes nothing when it stops, so there is no hand-over.\n";

const CRASH: &str = "\
From the leader's `SIGKILL`, at a random moment between two renewals, to its successor's report that it leads. A lease \
that was just renewed lasts for all of T, and a lease that is about to be renewed for less: so times less T may be \
negative. Our shortest lease on etcd is three times the server's shortest, so etcd's own client is there with both. A \
PostgreSQL lock has no lease: it ends when the server notices that the connection is closed. It notices at once when a \
process dies, and by TCP's keep-alive, after two hours by default, when the machine or the network does. Until then no \
other candidate leads. This lock is in the table only. On ZooKeeper T is the session timeout. A server grants at least \
two of its ticks, 4 s with the tick of 2 s in its sample settings, and ends sessions once a tick, so up to a tick \
late; with `tickTime=1000` it grants 2 s.\n";

const DEFAULTS: &str = "\
The same with each one's default lease, or the shortest that it allows (nats-kv-leader-elect); ours is read from the \
candidate, which was given none. Measured in the first run only, because it takes minutes. A longer lease outlasts \
longer disturbances: this compares defaults, not designs. The lease of `etcdctl elect` cannot be chosen. Curator asks \
for a session of 60 s, and a ZooKeeper server with the tick of 2 s grants at most 20 ticks.\n";

const PAUSE: &str = "\
The leader's process is stopped (`SIGSTOP`) for 2·T and then continues, as after the suspension of a machine or a long \
garbage collection: the times from the stop to the successor's report that it leads, and for how long after the end of \
the stop two candidates say that they lead. Every candidate is asked every 5 ms, by a call that needs no server, and \
its last yes counts: ours by `is_leader()`, etcd's client by the end of its session, redsync by `Until()`, a candidate \
by the rules of nats-kv-leader-elect by its last report, and Curator's latch by `hasLeadership()`. No other software \
here claims that two never lead: redsync's `Until()` is right if its user asks it before each step, etcd's client \
reports that a session is over once it has noticed, the rules report a loss after the next renewal that fails, and \
ZooKeeper's client reports to Curator's latch that its session is over only after it has closed the connection, which \
sleeps for 0.1 s twice. Times of less than 5 ms are shorter than the time between two questions. A PostgreSQL lock is \
held as long as the connection is, and the kernel holds that for a stopped process: no other candidate leads, and none \
has to.\n";

const PARTITION: &str = "\
All connections of the leader stop carrying bytes, in both directions, and nothing closes them; after 2·T they carry \
bytes again, including those sent meanwhile. The times are measured as for the pause, and the whole time in which both \
lead counts. Each candidate has its own proxy in front of its server. etcd's client counts its session's time from the \
arrival of the server's answers, and checks it twice a second. By the rules of nats-kv-leader-elect a win is reported \
0.75·T and 50 ms late, so that a leader that is cut off has noticed by then. ZooKeeper's client gives up a connection \
that was silent for 2/3·T, and Curator's latch then no longer leads; the server ends the session after T, and up to a \
tick later. A server cannot distinguish such a leader from a silent one, so a PostgreSQL lock stays with it until TCP \
gives up, and its holder is not aware that anything is wrong. A file has no network.\n";

const KAFKA: &str = "\
On one broker, in a classic consumer group: from the leader's request to close to its successor's report that it \
leads. Kafka has no request to resign. A member that waits learns of a leave by its next heartbeat to the group: every \
0.6 s in ours, and by default every 3 s in Confluent's client, which the candidate by goNELI's rules uses. goNELI \
counts a member as the leader as soon as partition zero is assigned to it; ours waits until the broker has \
acknowledged a commit of the group, which proves it.\n";

const KAFKA_CRASH: &str = "\
From the leader's `SIGKILL`. T is the session timeout, after which the broker removes a silent member: 6 s for both, \
the shortest that brokers allow by default, and three times our lease and goNELI's receive deadline. By default ours \
is three leases of its preset, and goNELI's 15 s.\n";
