//! `docs/performance.md` and its plots, from stored results alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use incumbent_testkit::figure::{Figure, Sample};
use serde_json::Value;

use super::plot::{self, Line, Row};
use super::stored::Stored;
use crate::shell;

/// The page, and the folder of its plots.
const PAGE: &str = "docs/performance.md";
const PLOTS: &str = "docs/performance";
/// The beginning of the names of our sides.
const OURS: &str = "incumbent";
/// The share of other programs from which the page warns of them.
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

/// The page's text. Adds its plots, by the names of their files.
fn page(stored: &[Stored], plots: &mut BTreeMap<String, String>) -> Result<String> {
    let named = |name: &str| stored.iter().find(|stored| stored.bench == name);
    let mut page = String::from(
        "# Performance\n\n\
         <!-- `cargo xtask bench page` writes this page from what the benchmarks have stored. -->\n\n\
         Figures of one machine, measured by `cargo xtask bench`, beside other software in the same run. They compare; on \
         another machine the times differ, and the ratios less so.\n\n",
    );
    page += &goals(stored);
    if let Some(peers) = named("peers") {
        page += &beside_peers(peers, plots)?;
    }
    if let Some(scale) = named("scale") {
        page += &many_elections(scale, plots)?;
    }
    page += LIMITS;
    page += &all_figures(stored);
    page += &provenance(stored);
    page += "\n## Repeat it\n\n\
        ```sh\n\
        cargo xtask bench all\n\
        ```\n\n\
        installs the servers, runs each benchmark, stores figures and samples as JSON in `target/bench`, and writes this page \
        from them. `cargo xtask bench NAME` repeats one, and `cargo xtask bench page` writes the page again without \
        measuring. Leave the machine alone meanwhile: the page says where other programs have used it.\n";
    Ok(page)
}

/// Every goal, and whether it is met.
fn goals(stored: &[Stored]) -> String {
    let rows: Vec<Vec<String>> = stored
        .iter()
        .flat_map(|stored| stored.figures.iter().map(move |figure| (stored, figure)))
        .filter_map(|(stored, figure)| {
            let met = if figure.met? { "yes" } else { "**no**" };
            Some(vec![stored.bench.clone(), escaped(&figure.figure), value(figure), goal(figure), met.into()])
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let met = rows.iter().filter(|row| row.last().is_some_and(|met| met == "yes")).count();
    format!(
        "## Goals\n\n{met} of {} are met.\n\n{}",
        rows.len(),
        table(2, &["benchmark", "figure", "value", "goal", "met"], &rows)
    )
}

/// A distribution of the benchmark `peers`: its kind, the side, and the times, which are none where the side cannot do it.
struct Distribution<'a> {
    kind: &'a str,
    side: &'a str,
    times: Option<&'a [f64]>,
}

/// The distributions among figures, which are named `KIND, SIDE, p50`.
fn distributions(figures: &[Figure]) -> Vec<Distribution<'_>> {
    figures
        .iter()
        .filter_map(|figure| {
            let (kind, side) = figure.figure.strip_suffix(", p50")?.split_once(", ")?;
            let times = figure.raw.as_deref();
            (times.is_some() || figure.value.is_none()).then_some(Distribution { kind, side, times })
        })
        .collect()
}

fn beside_peers(peers: &Stored, plots: &mut BTreeMap<String, String>) -> Result<String> {
    let all = distributions(&peers.figures);
    let of = |kind: &str| all.iter().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let mut text = String::from("\n## Beside other elections and locks\n\n");
    text += PEERS;
    for (title, kind, file, prose) in [
        ("Hand-over", "hand-over", "hand-over.svg", HAND_OVER),
        ("After a crash, with one lease", "crash", "crash.svg", CRASH),
        (
            "After a crash, with each one's default lease",
            "crash with defaults",
            "crash-defaults.svg",
            DEFAULTS,
        ),
    ] {
        let sides = of(kind);
        if sides.is_empty() {
            continue;
        }
        let less = of("crash less T");
        // A time of milliseconds would leave no space for the leases.
        let is_drawn =
            |one: &&&Distribution<'_>| kind == "hand-over" || less.iter().any(|less| less.side == one.side);
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
        text += &comparison(&sides, if kind == "hand-over" { &[] } else { &less });
        text.push('\n');
    }
    Ok(text)
}

/// A table of distributions, each beside the first, and beside itself less its lease where `less` has that.
fn comparison(sides: &[&Distribution<'_>], less: &[&Distribution<'_>]) -> String {
    let sample = |times: &[f64]| times.iter().copied().collect::<Sample>();
    let first = sides.iter().find_map(|one| Some(sample(one.times?).percentile(50))).unwrap_or(f64::NAN);
    let rows: Vec<Vec<String>> = sides
        .iter()
        .map(|one| {
            let mut row = vec![escaped(one.side)];
            let Some(times) = one.times else {
                row.extend(vec!["n/a".into(); if less.is_empty() { 6 } else { 7 }]);
                return row;
            };
            let times = sample(times);
            row.extend([50, 90, 99, 100].map(|percent| span(times.percentile(percent))));
            if less.is_empty() {
                row.push(number(times.percentile(50) / first));
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
        [] => table(1, &["", "p50", "p90", "p99", "max", "p50 of the first row's", "measured"], &rows),
        _ => {
            let head = ["", "p50", "p90", "p99", "max", "p50 less T", "max less T", "measured"];
            table(1, &head, &rows)
        }
    }
}

/// The figures of `scale`, which are named `N elections: WHAT`, by what they are and the number.
fn sizes(figures: &[Figure]) -> Vec<(&str, Vec<(u32, &Figure)>)> {
    let mut sizes: Vec<(&str, Vec<(u32, &Figure)>)> = Vec::new();
    for figure in figures {
        let Some((number, what)) = figure.figure.split_once(" elections: ") else { continue };
        let Ok(number) = number.parse() else { continue };
        match sizes.iter_mut().find(|(known, _)| *known == what) {
            Some((_, figures)) => figures.push((number, figure)),
            None => sizes.push((what, vec![(number, figure)])),
        }
    }
    sizes
}

fn many_elections(scale: &Stored, plots: &mut BTreeMap<String, String>) -> Result<String> {
    let sizes = sizes(&scale.figures);
    let mut numbers: Vec<u32> =
        sizes.iter().flat_map(|(_, figures)| figures.iter().map(|(n, _)| *n)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut text = String::from("## Many elections in one process\n\n");
    text += SCALE;
    for (file, title, up, measured) in [
        (
            "memory.svg",
            "Memory of all elections",
            "MB",
            &["memory of one led", "memory of one that waits"][..],
        ),
        (
            "processor.svg",
            "Processor time by the number of elections",
            "% of a core",
            &[
                "processor, led",
                "processor of the bare client that renews",
                "processor, waiting beside a leader",
                "processor of the server, led",
            ][..],
        ),
    ] {
        let lines = sizes.iter().filter(|(what, _)| measured.contains(what)).map(|(what, figures)| {
            let points = figures.iter().filter_map(|(number, figure)| {
                let per_one = figure.value.filter(|value| *value > 0.0)?;
                let all = if up == "MB" { per_one * f64::from(*number) / 1e6 } else { per_one };
                Some((f64::from(*number), all))
            });
            Line {
                name: what.replace("of one that waits", "of all that wait").replace("of one", "of all"),
                points: points.collect(),
            }
        });
        let lines: Vec<Line> = lines.filter(|line| line.points.len() > 1).collect();
        if !lines.is_empty() {
            plots.insert(file.into(), plot::growth("elections", up, &lines)?);
            let _ = write!(text, "![{title}](performance/{file})\n\n");
        }
    }
    let head: Vec<String> =
        std::iter::once(String::new()).chain(numbers.iter().map(|n| number(f64::from(*n)))).collect();
    let rows: Vec<Vec<String>> = sizes
        .iter()
        .map(|(what, figures)| {
            let of = |n: &u32| figures.iter().find(|(number, _)| number == n);
            let cell = |n: &u32| of(n).map_or(String::new(), |(_, figure)| value(figure));
            std::iter::once(escaped(what)).chain(numbers.iter().map(cell)).collect()
        })
        .collect();
    text += &table(1, &head.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    Ok(text)
}

/// The figures of the benchmarks that have no section of their own.
fn all_figures(stored: &[Stored]) -> String {
    let mut text = String::new();
    for stored in stored.iter().filter(|stored| !["peers", "scale"].contains(&stored.bench.as_str())) {
        let rows: Vec<Vec<String>> = stored
            .figures
            .iter()
            .map(|figure| {
                vec![escaped(&figure.figure), value(figure), goal(figure), number(figure.samples as f64)]
            })
            .collect();
        let _ = write!(
            text,
            "\n## `cargo xtask bench {}`\n\n{}",
            stored.bench,
            table(1, &["figure", "value", "goal", "measured"], &rows)
        );
    }
    text
}

/// Where and when the figures were measured.
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
            "\nOther programs ran beside {}: their times, and most of all their highest percentiles, are larger than on a \
             quiet machine, for every side.\n",
            disturbed.join(", ")
        );
    }
    text
}

/// A table in Markdown: so many columns of words to the left, those of numbers to the right.
fn table(words: usize, head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let mut text = line(&head);
    let rule = (0..head.len()).map(|column| if column < words { "---" } else { "---:" });
    let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
    rows.iter().for_each(|row| text += &line(row));
    text
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// A figure's value and unit.
fn value(figure: &Figure) -> String {
    match (figure.value, figure.unit.as_str()) {
        (None, _) => "n/a".into(),
        (Some(value), "ms") => span(value),
        (Some(value), "ratio") => format!("{} ×", number(value)),
        (Some(value), unit) => format!("{} {unit}", number(value)),
    }
}

fn goal(figure: &Figure) -> String {
    match &figure.goal {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A time, from milliseconds.
fn span(ms: f64) -> String {
    if ms.abs() >= 1000.0 { format!("{} s", number(ms / 1000.0)) } else { format!("{} ms", number(ms)) }
}

/// A number with three digits that count.
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

const PEERS: &str = "\
Each candidate is a process of its own and prints a line with the machine's clock when something happens to it, ours as well: \
what is compared is what a user waits for. All servers run on the same machine, one of each kind, with default settings.\n\
[The programs](../tests/interop/README.md) are the clients' own elections and locks, and do nothing else.\n\n";

const HAND_OVER: &str = "\
From the leader's request to leave to its successor's report that it leads. redsync has no queue and no watch: a candidate asks \
again after a random 50 to 250 ms by default, and as often as it is told to otherwise, with two requests each time. PostgreSQL \
wakes the session that waits. A candidate by the rules of nats-kv-leader-elect deletes nothing when it stops, so there is no \
hand-over.\n";

const CRASH: &str = "\
From the leader's `SIGKILL` to its successor's report that it leads, at all phases between two renewals. A lease that was just \
renewed lasts for all of T, one that is about to be renewed for less: that is why times less T may be negative. Our shortest \
lease on etcd is three of the server's shortest, so etcd's own client is there with both. A PostgreSQL lock has no lease: it ends \
when the server notices that the connection is closed, which it does at once when a process dies, and by TCP's keep-alive, after \
two hours by default, when the machine or the network does. Until then no other candidate leads. It is in the table alone.\n";

const DEFAULTS: &str = "\
The same with the lease that each has where none is chosen, or the shortest that it allows (nats-kv-leader-elect). A longer lease \
outlasts longer disturbances: this compares defaults, not designs.\n";

const SCALE: &str = "\
Each side is one process with that many candidates on one connection to NATS. The lease is 30 s, at 100,000 elections 300 s. The \
bare client creates the same records and renews them as often.\n\n";

/// What bounds the figures. The numbers are those of other software's sources and settings, not measurements.
const LIMITS: &str = "\n\
## What the limit is, and why\n\n\
- **A hand-over** cannot be faster than its messages: the leader's release is written, the store delivers it to the candidate \
that waits, the candidate's claim is written and acknowledged. `bench handover` sends just these with the bare client for NATS, \
and compares. Redis and PostgreSQL keep these locks in memory alone; NATS, etcd and SQLite write the release and the claim to a file, \
etcd and SQLite wait for the disk. SQLite delivers nothing: a candidate looks at the file, so `poll` bounds it.\n\
- **After a crash** nothing but time proves that the leader is gone. A candidate that leads before the lease is over, less what had \
passed since its last renewal, would lead beside a leader that is only slow. Beyond the lease there is what the store adds: a NATS server \
removes expired records every 250 ms, and etcd revokes expired leases every 500 ms. With markers a NATS server reports the \
removal; without, candidates look for it.\n\
- **Locks that end with a connection** are quicker after the crash of a process, and have no bound after the loss of a machine. \
Locks that are polled buy a quicker hand-over with requests of every candidate, all the time.\n\
- **Many elections** cost what their renewals cost: three writes a lease for each that is led, which the bare client pays as well.\n\
- **To lead ten thousand at once** takes more than to create their records. Each candidate reads its key before it creates the record, \
from the leader of the stream, and the watch delivers each record; the second bare client in the table does the same. A server takes \
longer for such a read than for a write, since it also publishes an advisory about it. A candidate could believe a watch that no record \
is there, and save the read; but a watch may lag, and what that means for a record that was deleted by hand has not been studied.\n\
- **The memory** of one election is a campaign with its settings and the record that it observed, its handles and its term, and what \
the allocator keeps after all of them sent their requests at once: a quarter to a third. The bare client keeps 2 kB for each.\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::stored::Machine;

    /// Results of three benchmarks.
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
                {"figure": "hand-over, incumbent on NATS, p50", "value": 1.0, "unit": "ms", "goal": null, "met": null, "samples": 3, "raw": [1.0, 0.5, 2.0]},
                {"figure": "hand-over, incumbent on NATS, max", "value": 2.0, "unit": "ms", "goal": null, "met": null, "samples": 3},
                {"figure": "hand-over, redsync, p50", "value": 150.0, "unit": "ms", "goal": null, "met": null, "samples": 1, "raw": [150.0]},
                {"figure": "hand-over, rules of nats-kv-leader-elect, p50", "value": null, "unit": "ms", "goal": null, "met": null, "samples": 0},
                {"figure": "crash, incumbent on NATS, T = 2 s, p50", "value": 1850, "unit": "ms", "goal": null, "met": null, "samples": 1, "raw": [1850.0]},
                {"figure": "crash less T, incumbent on NATS, T = 2 s, p50", "value": -150, "unit": "ms", "goal": null, "met": null, "samples": 1, "raw": [-150.0]},
                {"figure": "hand-over p50, incumbent on NATS / redsync", "value": 0.0067, "unit": "ratio", "goal": "≤ 1.0", "met": true, "samples": 3}]"#,
            ),
            result(
                "scale",
                Some(0.01),
                r#"[
                {"figure": "1000 elections: memory of one led", "value": 3000, "unit": "bytes", "goal": null, "met": null, "samples": 1000},
                {"figure": "10000 elections: memory of one led", "value": 2500, "unit": "bytes", "goal": "≤ 2048.0", "met": false, "samples": 10000}]"#,
            ),
            result(
                "node",
                None,
                r#"[{"figure": "isLeader", "value": 71, "unit": "ns", "goal": 60, "met": false, "samples": 5}]"#,
            ),
        ]
    }

    #[test]
    fn a_page_is_made_of_stored_results() {
        let mut plots = BTreeMap::new();
        let page = page(&stored(), &mut plots).unwrap();
        for line in [
            "1 of 3 are met.",
            "| peers | hand-over p50, incumbent on NATS / redsync | 0.0067 × | ≤ 1.0 | yes |",
            "| node | isLeader | 71 ns | 60 | **no** |",
            "| incumbent on NATS | 1 ms | 2 ms | 2 ms | 2 ms | 1 | 3 |",
            "| redsync | 150 ms | 150 ms | 150 ms | 150 ms | 150 | 1 |",
            "| rules of nats-kv-leader-elect | n/a | n/a | n/a | n/a | n/a | n/a |",
            "| incumbent on NATS, T = 2 s | 1.85 s | 1.85 s | 1.85 s | 1.85 s | −150 ms | −150 ms | 1 |",
            "|  | 1,000 | 10,000 |",
            "| memory of one led | 3,000 bytes | 2,500 bytes |",
            "## `cargo xtask bench node`",
            "- A Processor, 2 cores, Linux 6.1",
            "- nats-server 2.15.1",
            "| peers | 2026-11-23 | `0123456789ab` | 61 s | 31 % |",
            "| node | 2026-11-23 | `0123456789ab` | 61 s | unknown |",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n\n{page}");
        }
        assert!(page.contains("\nOther programs ran beside peers: "), "{page}");
        assert_eq!(plots.into_keys().collect::<Vec<_>>(), ["crash.svg", "hand-over.svg", "memory.svg"]);
    }

    #[test]
    fn the_links_of_a_page_lead_to_its_plots() {
        let mut plots = BTreeMap::new();
        let page = page(&stored(), &mut plots).unwrap();
        let linked: Vec<&str> =
            page.split("](performance/").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).collect();
        assert_eq!(linked, ["hand-over.svg", "crash.svg", "memory.svg"]);
    }

    #[test]
    fn nothing_is_said_of_a_benchmark_that_was_not_measured() {
        let mut plots = BTreeMap::new();
        let page = page(&stored()[2..], &mut plots).unwrap();
        assert!(!page.contains("## Beside other elections"), "{page}");
        assert!(!page.contains("## Many elections"), "{page}");
        assert!(plots.is_empty());
    }

    #[test]
    fn a_number_has_three_digits_that_count() {
        let numbers = [0.0, 0.00671, 0.456_7, 1.0, 12.34, 123.4, 1234.5, 98_765.4, -150.04].map(number);
        assert_eq!(numbers, ["0", "0.00671", "0.457", "1", "12.3", "123", "1,234", "98,765", "−150"]);
    }
}
