//! `docs/performance.md` and its plots, from stored results alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use incumbent_testkit::figure::{Figure, Verdict};

use super::stored::Stored;
use super::{peers, sizes, with_tails};
use crate::shell;

/// The page, and the folder of its plots.
const PAGE: &str = "docs/performance.md";
const PLOTS: &str = "docs/performance";
/// The benchmarks that have a section of their own.
const WITH_SECTION: [&str; 8] =
    ["peers", "scale", "overload", "cost", "processes", "languages", "start", "sizes"];
/// The share of processor time, used by other programs, from which the page warns.
const DISTURBED: f64 = 0.05;

/// Writes the page and its plots.
pub(super) fn write(stored: &[Stored]) -> Result<()> {
    let folder = shell::root().join(PLOTS);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut plots = BTreeMap::new();
    let page = page(stored, &mut plots)?;
    for (name, svg) in plots {
        fs::write(folder.join(&name), svg).with_context(|| format!("cannot write {PLOTS}/{name}"))?;
    }
    fs::write(shell::root().join(PAGE), page).with_context(|| format!("cannot write {PAGE}"))?;
    shell::progress(format!("wrote {PAGE}"));
    Ok(())
}

/// Makes a table of figures.
type Table = fn(&[Figure]) -> String;

/// Returns the page's text. Adds its plots to `plots`, by the names of their files.
fn page(stored: &[Stored], plots: &mut BTreeMap<String, String>) -> Result<String> {
    let named = |name: &str| stored.iter().find(|stored| stored.bench == name);
    let mut page = String::from(
        "# Performance\n\n\
         <!-- `cargo xtask bench page` writes this page from the stored results of the benchmarks. -->\n\n\
         Figures of one machine, measured by `cargo xtask bench`, with other software in the same run. Compare them with \
         each other: on another machine the times differ, and the ratios less so.\n\n",
    );
    page += &goals(stored);
    if let Some(peers) = named("peers") {
        page += &peers::section(&peers.figures, plots)?;
    }
    if let Some(scale) = named("scale") {
        page += &sizes::many_elections(&scale.figures, plots)?;
    }
    if let Some(overload) = named("overload") {
        page += &format!("\n## Many elections in trouble\n\n{OVERLOAD}{}", of_one(&overload.figures));
    }
    if let Some(cost) = named("cost") {
        page += &sizes::many_candidates(&cost.figures, plots)?;
    }
    if let Some(processes) = named("processes") {
        page += &sizes::many_processes(&processes.figures);
    }
    let sections: [(&str, &str, &str, Table); 3] = [
        ("languages", "Languages", LANGUAGES, of_each),
        ("start", "The command line", START, of_one),
        ("sizes", "Sizes and build times", SIZES, of_each),
    ];
    for (name, title, prose, table) in sections {
        if let Some(stored) = named(name) {
            let _ = write!(page, "\n## {title}\n\n{prose}{}", table(&stored.figures));
        }
    }
    page += LIMITS;
    page += &all_figures(stored);
    page += &provenance(stored);
    let minutes = stored.iter().map(|stored| stored.seconds).sum::<f64>() / 60.0;
    let _ = write!(
        page,
        "\n## Repeat it\n\n\
        ```sh\n\
        cargo xtask bench all\n\
        ```\n\n\
        installs the servers, runs each benchmark, stores figures and samples as JSON in `target/bench`, and writes this \
        page from them. Here that took {minutes:.0} minutes; the first time takes longer, because everything that is \
        measured is compiled with optimisation. `cargo xtask bench NAME` repeats one benchmark, and `cargo xtask bench \
        page` writes the page again without measuring. Leave the machine alone meanwhile: the page reports it if other \
        programs have used it.\n"
    );
    Ok(page)
}

/// Lists every goal with its verdict. Figures whose limit follows from the rules are listed separately.
fn goals(stored: &[Stored]) -> String {
    let with_goal = |invariant: bool| {
        let all = stored.iter().flat_map(|stored| stored.figures.iter().map(move |figure| (stored, figure)));
        all.filter(move |(_, figure)| figure.goal.is_some_and(|goal| goal.invariant == invariant))
    };
    let row = |(stored, figure): (&Stored, &Figure)| {
        let mut row = vec![stored.bench.clone(), escaped(&figure.figure), value(figure)];
        if figure.goal.is_some_and(|goal| !goal.invariant) {
            row.push(interval(figure));
        }
        row.extend([goal(figure), verdict(figure), figure.runs.len().max(1).to_string()]);
        row.push(number(figure.samples as f64));
        row
    };
    let mut text = String::new();
    let rows: Vec<Vec<String>> = with_goal(false).map(row).collect();
    if !rows.is_empty() {
        let of = |wanted| with_goal(false).filter(|(_, figure)| figure.verdict() == Some(wanted)).count();
        let [met, missed, undecided] = [Verdict::Met, Verdict::Missed, Verdict::Undecided].map(of);
        let is_wide = |figure: &Figure| {
            figure.value.zip(figure.goal).is_some_and(|(value, goal)| 2.0 * value <= goal.most)
        };
        let wide = with_goal(false).filter(|(_, figure)| is_wide(figure)).count();
        let head = ["benchmark", "figure", "value", "interval", "goal", "verdict", "runs", "measured"];
        let _ = write!(
            text,
            "## Goals\n\n{GOALS}Of {} goals: {met} met, {missed} missed, {undecided} undecided. {wide} of them are wide: the value is \
             half of the limit or less, so that only a large change would miss them.\n\n{}",
            rows.len(),
            table(2, &head, &rows)
        );
    }
    let rows: Vec<Vec<String>> = with_goal(true).map(row).collect();
    if !rows.is_empty() {
        let head = ["benchmark", "figure", "value", "limit", "verdict", "runs", "measured"];
        let _ = write!(text, "\n## Counts, sizes and zeros\n\n{INVARIANTS}{}", table(2, &head, &rows));
    }
    text
}

/// A table of the figures named `THING: WHAT`, with a row for each language or file.
fn of_each(figures: &[Figure]) -> String {
    let named: Vec<(&str, &str, &Figure)> = figures
        .iter()
        .filter_map(|figure| figure.figure.split_once(": ").map(|(thing, what)| (thing, what, figure)))
        .collect();
    let (mut things, mut kinds): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (thing, what, _) in &named {
        if !things.contains(thing) {
            things.push(*thing);
        }
        if !kinds.contains(what) {
            kinds.push(*what);
        }
    }
    // Each figure is followed by its ratio.
    kinds.sort_by_key(|what| named.iter().position(|(_, other, _)| what.starts_with(*other)));
    let rows: Vec<Vec<String>> = things
        .iter()
        .map(|thing| {
            let of = |what: &&str| named.iter().find(|(one, other, _)| *one == *thing && *other == *what);
            let cells =
                kinds.iter().map(|what| of(what).map_or(String::new(), |(_, _, figure)| value(figure)));
            std::iter::once(escaped(thing)).chain(cells).collect()
        })
        .collect();
    let head: Vec<&str> = std::iter::once("").chain(kinds).collect();
    table(1, &head, &rows)
}

/// The figures of a benchmark, a row for each.
fn of_one(figures: &[Figure]) -> String {
    let row = |figure: &Figure| {
        vec![
            escaped(&figure.figure),
            value(figure),
            interval(figure),
            goal(figure),
            number(figure.samples as f64),
        ]
    };
    let rows: Vec<Vec<String>> = with_tails(figures).iter().map(row).collect();
    table(1, &["figure", "value", "interval", "goal", "measured"], &rows)
}

/// The figures of the benchmarks that have no section of their own.
fn all_figures(stored: &[Stored]) -> String {
    let mut text = String::new();
    for stored in stored.iter().filter(|stored| !WITH_SECTION.contains(&stored.bench.as_str())) {
        let _ = write!(text, "\n## `cargo xtask bench {}`\n\n{}", stored.bench, of_one(&stored.figures));
    }
    text
}

/// The machine, the day and the commit of the figures.
fn provenance(stored: &[Stored]) -> String {
    let mut text = String::from("\n## The machine\n\n");
    let mut machines: Vec<String> = stored
        .iter()
        .map(|stored| {
            let machine = &stored.machine;
            format!("{}, {} cores, {}", machine.processor, machine.cores, machine.kernel)
        })
        .collect();
    machines.dedup();
    for machine in &machines {
        let _ = writeln!(text, "- {}", escaped(machine));
    }
    let mut versions: Vec<&str> =
        stored.iter().flat_map(|stored| stored.versions.iter().map(String::as_str)).collect();
    versions.sort_unstable();
    versions.dedup();
    if !versions.is_empty() {
        let _ = writeln!(text, "- {}", versions.join(", "));
    }
    let rows: Vec<Vec<String>> = stored
        .iter()
        .map(|stored| {
            let others = stored.others.map_or("unknown".into(), |share| format!("{:.0} %", 100.0 * share));
            let took = format!("{:.0} s", stored.seconds);
            vec![stored.bench.clone(), stored.date.clone(), format!("`{}`", stored.commit), took, others]
        })
        .collect();
    text.push('\n');
    text += &table(
        3,
        &["benchmark", "day", "commit", "took, with its build", "other programs' processor time"],
        &rows,
    );
    let disturbed: Vec<&str> = stored
        .iter()
        .filter(|stored| stored.others.is_some_and(|share| share > DISTURBED))
        .map(|stored| stored.bench.as_str())
        .collect();
    if !disturbed.is_empty() {
        let _ = write!(
            text,
            "\nOther programs ran during {}: its times, and most of all the highest percentiles, are larger than on a \
             quiet machine, for every side.\n",
            disturbed.join(", ")
        );
    }
    text
}

/// Returns a table in Markdown. The first `words` columns are text, aligned to the left; the other columns are numbers,
/// aligned to the right.
pub(super) fn table(words: usize, head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let mut text = line(&head);
    let rule = (0..head.len()).map(|column| if column < words { "---" } else { "---:" });
    let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
    rows.iter().for_each(|row| text += &line(row));
    text
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// A figure's value and unit.
pub(super) fn value(figure: &Figure) -> String {
    figure.value.map_or("n/a".into(), |value| with_unit(value, &figure.unit))
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "ms" => span(value),
        "ratio" => format!("{} ×", number(value)),
        "" => number(value),
        unit => format!("{} {unit}", number(value)),
    }
}

/// The interval of a figure's median; empty if there is none.
pub(super) fn interval(figure: &Figure) -> String {
    let Some((low, high)) = figure.interval() else { return String::new() };
    let low = if figure.unit == "ms" { span(low) } else { number(low) };
    format!("{low} to {}", with_unit(high, &figure.unit))
}

fn goal(figure: &Figure) -> String {
    figure.goal.map_or(String::new(), |goal| format!("≤ {}", with_unit(goal.most, &figure.unit)))
}

/// Returns the verdict on a figure with a goal, or the reason why a single run gives none.
fn verdict(figure: &Figure) -> String {
    match figure.verdict() {
        Some(Verdict::Met) => "met".into(),
        Some(Verdict::Missed) => "**missed**".into(),
        Some(Verdict::Undecided) if figure.runs.len() <= 1 => "undecided: one run".into(),
        Some(Verdict::Undecided) => "undecided".into(),
        None => String::new(),
    }
}

/// A time, from milliseconds.
pub(super) fn span(ms: f64) -> String {
    if ms.abs() >= 1000.0 { format!("{} s", number(ms / 1000.0)) } else { format!("{} ms", number(ms)) }
}

/// Formats a number with three significant digits.
pub(super) fn number(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    let digits = size.log10().floor() as i32;
    let places = usize::try_from(2 - digits).unwrap_or(0).min(6);
    let text = format!("{size:.places$}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if part.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{part}") }
}

const GOALS: &str = "\
A figure is the median of its runs. Each run starts its servers and programs again and measures both sides in turn. \
The interval contains the median of all possible runs with a probability of 90 % or more. It reaches from one of the \
sorted values to its counterpart at the other end, with five runs from the smallest to the largest (93.75 %), and \
assumes nothing about how the values are distributed. A goal is *met* if the whole interval is within it, *missed* if \
the whole interval is beyond it, and otherwise *undecided*, as it always is with fewer than five runs. A 99th \
percentile is shown if 300 times or more were measured.\n\n";

const INVARIANTS: &str = "\
These follow from the rules: the writes that a lease needs, the zeros that safety needs, the budgets of files. They \
notice a mistake, and say nothing about speed. The value is the largest of all runs, and each run has to keep the \
limit.\n\n";

const OVERLOAD: &str = "\
Ours and the bare client of the section before, each on its own server, in the same trouble: 100,000 elections with 30 \
% of a core for each side for 40 s, both at the same time; 10,000 on servers that wait for the disk at each write, \
while four programs for each core want the disk for 20 s, one side after the other; 10,000 that another process \
watches, which is stopped for 15 s, both at the same time. The lease is 30 s. An election counts as led while the \
server has a record of it; this is read four times a second until all are led again, and for 15 s at least. The bare \
client has nothing to lose but its writes: what it keeps, ours should keep. A process in trouble that holds fewer \
terms is safe, but its elections have no leader meanwhile.\n\n";

const LANGUAGES: &str = "\
One program for each language makes the same calls and receives the same events of a scripted election. Another thread \
reports the events while the reader is idle: the time of an event is from the report to the first line of the program \
that has it. Calls are the quickest of a hundred runs of ten thousand. Every call reads the clock, in every language; \
what it costs beyond Rust is the way into the compiled part. A component in Wasmtime is called by its host; it \
delivers no events, because its steps return them. Columns with a slash are ratios to Rust, in the same run.\n\n";

const SIZES: &str = "\
The files that users install, built as they are released, for this machine; the command line and the libraries use the \
C library of this system. Wheels and npm packages are downloaded as they are; the download of the other files is their \
size after gzip. A component contains the core alone. The library for Swift comes from the same build as the library \
for Kotlin, and is the largest, because a program takes from it only what it calls. The times of a build are for our \
own crates and the package: the crates of others were compiled before. Much of that time is the final optimisation \
across all crates. The libraries of the bindings take as long as the command line, and are not timed. Budgets are for \
the files that users get; the tests check them [as well](../xtask/src/budgets.rs).\n\n";

const START: &str = "\
From the start of a process until a server has its first byte: a cron job waits that long before its election can \
begin. The candidate in Go has the official client alone. `incumbent run` has a second process, which ends the command \
if the first is killed or stopped, and, while it waits, a third, which becomes the command. All are one program, so \
most of the resident memory is the program's file, which they share; each row below shows what a process has for \
itself. A hand-over is from the SIGTERM to the leader's supervisor to the first line of the successor's command, a \
shell.\n\n";

/// The text about the bounds of the figures. Its numbers come from other software's sources and settings, not from
/// measurements.
const LIMITS: &str = "\n\
## What the limit is, and why\n\n\
- **A hand-over** cannot be faster than its messages: the leader's release is written, the store delivers it to the \
waiting candidate, and the candidate's claim is written and acknowledged. `bench handover` sends just these with the \
bare client for NATS, and compares: hot, with one hand-over right after another, and cold, 100 to 150 ms apart, when \
all processes and the server have fallen asleep and each message waits until its receiver is awake. A ratio alone \
would measure that wait, so the difference in microseconds is shown as well. Redis and PostgreSQL keep these locks in \
memory alone; NATS, etcd, SQLite and ZooKeeper write the release to a file, the first three the claim as well, and all \
but NATS wait for the disk. SQLite delivers nothing: a candidate polls the file, so `poll` bounds it.\n\
- **After a crash** only time proves that the leader is gone. A candidate that leads before the lease is over, counted \
from the leader's last renewal, could lead at the same time as a leader that is merely slow. The store adds to the \
lease: a NATS server removes expired records every 250 ms, etcd revokes expired leases every 500 ms, and ZooKeeper \
ends sessions every 2 s. With markers a NATS server reports the removal; without them, candidates poll for it.\n\
- **Locks that end with a connection** are quicker after the crash of a process, and have no bound after the loss of a \
machine. Locks that are polled buy a quicker hand-over with constant requests from every candidate.\n\
- **Many elections** cost what their renewals cost: three writes a lease for each election that is led, which the bare \
client pays as well. From 64 elections on, a connection spreads its renewals over the time between two of them, at the \
cost of one more renewal for each term at most.\n\
- **One record for all elections of a process** was studied in the simulator, and rejected. A process renews one \
record, and the records of its elections name it, so renewals fall from 3·N/T to 3·P/T a second for N elections on P \
processes with a lease T: from 1,000 to 0.1 for ten thousand elections of one process and 30 s. Twelve rules made it \
safe: in 30,000 seeds with 30 to 120 faults each (535,048 terms) at most one led, tokens grew, and each election was \
led again; each of fifteen rules that was broken on purpose was noticed within 2,000 seeds. But if one process leads \
ten thousand elections, it saves at most a tenth of a core, the server's part included, and 2 % of a core for each \
process that waits. It saves no memory, which is the first to exceed a goal. A leader needs no watch today; in that \
design the watch is the proof, so one watch that hangs, one refused key or one deletion by an operator ends all terms \
of a process. The elections need a bucket without a maximum age, which neither the Go library nor an older version can \
share, and every observer has to join two keys. It is worth another look beyond a hundred thousand elections on one \
bucket, if a thousand writes a second cost more than that, if many processes wait, or on a store that attaches keys to \
a lease by itself. Until then a longer lease costs less, or one election for a group of jobs.\n\
- **To lead ten thousand at once** takes more than creating their records. The watch delivers each record, and each \
win waits for an inspection of the bucket after its record was acknowledged; one request serves them all. If a new \
watch has shown that a key has no record, a candidate creates its record without reading the key: the compare of the \
create proves the absence, as it would after a read. Only as many create at the same time as the server answers soon. \
The second bare client in the table does what a candidate must: it watches, creates, and inspects the bucket once.\n\
- **The memory** of one election is a campaign with its settings and the record that it observed, its handles and its \
term, and what the allocator keeps after all of them sent their requests at once; rows with *kept* leave that last \
part out.\n\
- **A thousand campaigns in Python** take 9 kB each while they lead, and 10 kB in Node; 2 kB of that is the campaign \
in the core.\n\
- **Many processes** on one bucket cost the server what each of them costs, because a connection that takes part in up \
to eight elections watches these alone. Two cores hold the server and three thousand such processes; the requests of \
ten thousand are [simulated](#ten-thousand-processes-simulated), and grow with the number alone. The server's \
processor time grows a little faster: it looks up each message among more subjects.\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::stored::Machine;

    /// Results of four benchmarks.
    fn stored() -> Vec<Stored> {
        let result = |bench: &str, others: Option<f64>, figures: &str| Stored {
            bench: bench.into(),
            date: "2026-11-23".into(),
            commit: "0123456789ab".into(),
            machine: Machine { processor: "A Processor".into(), cores: 2, kernel: "Linux 6.1".into() },
            versions: vec!["nats-server 2.15.1".into()],
            seconds: 61.4,
            others,
            figures: serde_json::from_str(figures).unwrap(),
        };
        vec![
            result(
                "peers",
                Some(0.31),
                r#"[
                {"figure": "hand-over, incumbent on NATS, p50", "value": 1.0, "unit": "ms", "samples": 3, "runs": [1.0, 0.9, 1.1, 1.3, 1.0], "raw": [1.0, 0.5, 2.0]},
                {"figure": "hand-over, redsync, p50", "value": 150.0, "unit": "ms", "samples": 1, "raw": [150.0]},
                {"figure": "hand-over, rules of nats-kv-leader-elect, p50", "value": null, "unit": "ms", "samples": 0},
                {"figure": "crash, incumbent on NATS, T = 2 s, p50", "value": 1850, "unit": "ms", "samples": 1, "raw": [1850.0]},
                {"figure": "crash less T, incumbent on NATS, T = 2 s, p50", "value": -150, "unit": "ms", "samples": 1, "raw": [-150.0]},
                {"figure": "pause, incumbent on NATS, T = 2 s, p50", "value": 1900, "unit": "ms", "samples": 1, "raw": [1900.0]},
                {"figure": "pause less T, incumbent on NATS, T = 2 s, p50", "value": -100, "unit": "ms", "samples": 1, "raw": [-100.0]},
                {"figure": "overlap after a pause, incumbent on NATS, T = 2 s, p50", "value": 0, "unit": "ms", "samples": 1, "raw": [0.0]},
                {"figure": "successors after a pause, incumbent on NATS, T = 2 s", "value": 1, "unit": "in all", "samples": 2},
                {"figure": "pause, PostgreSQL advisory lock, no lease, p50", "value": null, "unit": "ms", "samples": 0},
                {"figure": "successors after a pause, PostgreSQL advisory lock, no lease", "value": 0, "unit": "in all", "samples": 2},
                {"figure": "hand-over p50, incumbent on NATS / redsync", "value": 0.0067, "unit": "ratio", "goal": {"most": 1.0}, "samples": 15, "runs": [0.006, 0.0067, 0.007, 0.005, 0.008]},
                {"figure": "crash p50, incumbent on NATS / redsync", "value": 1.03, "unit": "ratio", "goal": {"most": 1.0}, "samples": 15, "runs": [1.1, 1.03, 0.99, 1.2, 0.9]},
                {"figure": "longest overlap after a pause, incumbent on NATS, T = 2 s", "value": 0, "unit": "ms", "goal": {"most": 0.0, "invariant": true}, "samples": 1}]"#,
            ),
            result(
                "scale",
                Some(0.01),
                r#"[
                {"figure": "1000 elections: memory of a leading candidate", "value": 3000, "unit": "bytes", "samples": 1000},
                {"figure": "10000 elections: memory of a leading candidate", "value": 2500, "unit": "bytes", "goal": {"most": 2048.0}, "samples": 50000, "runs": [2500, 2400, 2600, 2450, 2550]}]"#,
            ),
            result(
                "cost",
                Some(0.01),
                r#"[
                {"figure": "1 candidates: messages in, incumbent", "value": 720, "unit": "an hour", "samples": 1},
                {"figure": "1 candidates: bytes in, incumbent", "value": 76.5, "unit": "kB an hour", "samples": 1},
                {"figure": "1 candidates: messages in, rules", "value": 160, "unit": "an hour", "samples": 1},
                {"figure": "10 candidates: messages in, incumbent", "value": 720, "unit": "an hour", "samples": 10},
                {"figure": "10 candidates: messages in, rules", "value": 3040, "unit": "an hour", "samples": 10}]"#,
            ),
            result(
                "node",
                None,
                r#"[{"figure": "isLeader", "value": 71, "unit": "ns", "goal": {"most": 60}, "samples": 5}]"#,
            ),
        ]
    }

    #[test]
    fn a_page_is_made_of_stored_results() {
        let mut plots = BTreeMap::new();
        let page = page(&stored(), &mut plots).unwrap();
        for line in [
            "Of 4 goals: 1 met, 1 missed, 2 undecided. 1 of them are wide: the value is half of the limit or less, so that only a large change would miss them.",
            "| benchmark | figure | value | interval | goal | verdict | runs | measured |",
            "| peers | hand-over p50, incumbent on NATS / redsync | 0.0067 × | 0.005 to 0.008 × | ≤ 1 × | met | 5 | 15 |",
            "| peers | crash p50, incumbent on NATS / redsync | 1.03 × | 0.9 to 1.2 × | ≤ 1 × | undecided | 5 | 15 |",
            "| scale | 10000 elections: memory of a leading candidate | 2,500 bytes | 2,400 to 2,600 bytes | ≤ 2,048 bytes | **missed** | 5 | 50,000 |",
            "| node | isLeader | 71 ns |  | ≤ 60 ns | undecided: one run | 1 | 5 |",
            "| peers | longest overlap after a pause, incumbent on NATS, T = 2 s | 0 ms | ≤ 0 ms | met | 1 | 1 |",
            "| incumbent on NATS | 1 ms | 0.9 ms to 1.3 ms | 2 ms | 2 ms | 1 | 3 |",
            "| redsync | 150 ms |  | 150 ms | 150 ms | 150 | 1 |",
            "| rules of nats-kv-leader-elect | n/a | n/a | n/a | n/a | n/a | n/a |",
            "| incumbent on NATS, T = 2 s | 1.85 s |  | 1.85 s | 1.85 s | −150 ms | −150 ms | 1 |",
            "| incumbent on NATS, T = 2 s | 1.9 s | 1.9 s | −100 ms | −100 ms | 0 ms | 0 ms | 1 of 2 |",
            "| PostgreSQL advisory lock, no lease | n/a | n/a | n/a | n/a | n/a | n/a | 0 of 2 |",
            "| messages in, rules | 160 an hour | 3,040 an hour |",
            "| bytes in, incumbent | 76.5 kB an hour |  |",
            "|  | 1,000 | 10,000 |",
            "| memory of a leading candidate | 3,000 bytes | 2,500 bytes |",
            "## `cargo xtask bench node`",
            "- A Processor, 2 cores, Linux 6.1",
            "- nats-server 2.15.1",
            "| peers | 2026-11-23 | `0123456789ab` | 61 s | 31 % |",
            "| node | 2026-11-23 | `0123456789ab` | 61 s | unknown |",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n\n{page}");
        }
        assert!(page.contains("\nOther programs ran during peers: "), "{page}");
        let both = page.find("| messages in, rules |").zip(page.find("| bytes in, incumbent |"));
        assert!(
            both.is_some_and(|(messages, bytes)| messages < bytes),
            "the sides of one figure are adjacent"
        );
        let files: Vec<_> = plots.into_keys().collect();
        assert_eq!(files, ["cost.svg", "crash.svg", "hand-over.svg", "memory.svg", "pause.svg"]);
    }

    #[test]
    fn figures_that_follow_from_the_rules_are_listed_apart_from_goals() {
        let text = goals(&stored());
        let of = |what: &str| text.find(what).unwrap();
        assert!(of("## Goals") < of("| node | isLeader"));
        assert!(of("| node | isLeader") < of("## Counts, sizes and zeros"));
        assert!(of("## Counts, sizes and zeros") < of("| peers | longest overlap"));
    }

    #[test]
    fn a_benchmark_without_a_section_has_a_row_for_each_figure_and_for_the_tail_of_its_times() {
        let times: Vec<String> = (1..=10).map(|ms| ms.to_string()).collect();
        let raw = times.join(", ");
        let figures: Vec<Figure> = serde_json::from_str(&format!(
            r#"[{{"figure": "bare hand-over p50", "value": 5, "unit": "ms", "samples": 10, "runs": [5, 4, 6, 5, 5], "raw": [{raw}]}}]"#
        ))
        .unwrap();
        assert_eq!(
            of_one(&figures),
            "| figure | value | interval | goal | measured |\n|---|---:|---:|---:|---:|\n\
             | bare hand-over p50 | 5 ms | 4 ms to 6 ms |  | 10 |\n\
             | bare hand-over p90 | 9 ms |  |  | 10 |\n| bare hand-over max | 10 ms |  |  | 10 |\n"
        );
    }

    #[test]
    fn each_language_has_a_row_and_a_ratio_follows_its_figure() {
        let figures: Vec<Figure> = serde_json::from_str(
            r#"[{"figure": "Rust: is_leader()", "value": 30, "unit": "ns", "samples": 9},
                {"figure": "Rust: an event, p50", "value": 8, "unit": "µs", "samples": 9},
                {"figure": "Node: is_leader()", "value": 90, "unit": "ns", "samples": 9},
                {"figure": "Node: is_leader() / Rust", "value": 3, "unit": "ratio", "samples": 9}]"#,
        )
        .unwrap();
        assert_eq!(
            of_each(&figures),
            "|  | is_leader() | is_leader() / Rust | an event, p50 |\n|---|---:|---:|---:|\n\
             | Rust | 30 ns |  | 8 µs |\n| Node | 90 ns | 3 × |  |\n"
        );
    }

    #[test]
    fn each_file_has_a_row_and_a_file_of_the_same_build_has_no_times() {
        let figures: Vec<Figure> = serde_json::from_str(
            r#"[{"figure": "library for Kotlin: installed", "value": 7600.5, "unit": "kB", "goal": {"most": 9000.0, "invariant": true}, "samples": 1},
                {"figure": "library for Kotlin: build", "value": 61.2, "unit": "s", "samples": 1},
                {"figure": "library for Kotlin: crates of others", "value": 214, "unit": "", "samples": 1},
                {"figure": "library for Swift: installed", "value": 48000, "unit": "kB", "goal": {"most": 60000.0, "invariant": true}, "samples": 1}]"#,
        )
        .unwrap();
        assert_eq!(
            of_each(&figures),
            "|  | installed | build | crates of others |\n|---|---:|---:|---:|\n\
             | library for Kotlin | 7,600 kB | 61.2 s | 214 |\n| library for Swift | 48,000 kB |  |  |\n"
        );
    }

    #[test]
    fn the_links_of_a_page_lead_to_its_plots() {
        let mut plots = BTreeMap::new();
        let page = page(&stored(), &mut plots).unwrap();
        let linked: Vec<&str> =
            page.split("](performance/").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).collect();
        assert_eq!(linked, ["hand-over.svg", "crash.svg", "pause.svg", "memory.svg", "cost.svg"]);
    }

    #[test]
    fn a_benchmark_that_was_not_measured_is_not_mentioned() {
        let mut plots = BTreeMap::new();
        let page = page(&stored()[3..], &mut plots).unwrap();
        assert!(!page.contains("## Compared with other elections"), "{page}");
        assert!(!page.contains("## Many elections"), "{page}");
        assert!(!page.contains("## What the candidates"), "{page}");
        assert!(plots.is_empty());
    }

    #[test]
    fn a_number_has_three_significant_digits() {
        let numbers = [0.0, 0.00671, 0.456_7, 1.0, 12.34, 123.4, 1234.5, 98_765.4, -150.04].map(number);
        assert_eq!(numbers, ["0", "0.00671", "0.457", "1", "12.3", "123", "1,234", "98,765", "−150"]);
    }
}
