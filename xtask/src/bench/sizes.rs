//! The sections of the page about benchmarks of several sizes: many elections, and many candidates of one election.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use incumbent_testkit::figure::Figure;

use super::page::{escaped, number, table, value};
use super::plot::{self, Line};

/// The figures that are named `N OF: WHAT`, grouped by `WHAT`, each with its number `N`.
struct Sizes<'a>(Vec<(&'a str, Vec<(u32, &'a Figure)>)>);

impl<'a> Sizes<'a> {
    fn of(unit: &str, figures: &'a [Figure]) -> Self {
        let mut sizes: Vec<(&str, Vec<(u32, &Figure)>)> = Vec::new();
        let middle = format!(" {unit}: ");
        for figure in figures {
            let Some((number, what)) = figure.figure.split_once(&middle) else { continue };
            let Ok(number) = number.parse() else { continue };
            match sizes.iter_mut().find(|(known, _)| *known == what) {
                Some((_, figures)) => figures.push((number, figure)),
                None => sizes.push((what, vec![(number, figure)])),
            }
        }
        Self(sizes)
    }

    /// A row for each thing that was measured, and a column for each number.
    fn table(&self) -> String {
        let mut numbers: Vec<u32> =
            self.0.iter().flat_map(|(_, figures)| figures.iter().map(|(n, _)| *n)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let head: Vec<String> =
            std::iter::once(String::new()).chain(numbers.iter().map(|n| number(f64::from(*n)))).collect();
        let rows: Vec<Vec<String>> = self
            .0
            .iter()
            .map(|(what, figures)| {
                let of = |n: &u32| figures.iter().find(|(number, _)| number == n);
                let cell = |n: &u32| of(n).map_or(String::new(), |(_, figure)| value(figure));
                std::iter::once(escaped(what)).chain(numbers.iter().map(cell)).collect()
            })
            .collect();
        table(1, &head.iter().map(String::as_str).collect::<Vec<_>>(), &rows)
    }

    /// Returns the lines of the names for which `is_drawn` returns true. `point` makes a point from a number and its
    /// figure's value. A value of 0 gets no point.
    fn lines(&self, is_drawn: impl Fn(&str) -> bool, point: impl Fn(f64, f64) -> f64) -> Vec<Line> {
        let lines = self.0.iter().filter(|(what, _)| is_drawn(what)).map(|(what, figures)| {
            let points = figures.iter().filter_map(|(number, figure)| {
                let value = figure.value.filter(|value| *value > 0.0)?;
                Some((f64::from(*number), point(f64::from(*number), value)))
            });
            Line { name: (*what).into(), points: points.collect() }
        });
        lines.filter(|line| line.points.len() > 1).collect()
    }
}

/// Returns the section about `scale`. Adds its plots to `plots`, by the names of their files.
pub(super) fn many_elections(figures: &[Figure], plots: &mut BTreeMap<String, String>) -> Result<String> {
    const MEMORY: [&str; 2] = ["memory of a leading candidate", "memory of a waiting candidate"];
    const PROCESSOR: [&str; 4] = [
        "processor time of the leaders' process",
        "processor time of the bare client",
        "processor time of the waiting candidates' process",
        "processor time of the server with the leaders",
    ];
    let sizes = Sizes::of("elections", figures);
    let mut text = String::from("## Many elections in one process\n\n");
    text += SCALE;
    let mut memory = sizes.lines(|what| MEMORY.contains(&what), |number, each| number * each / 1e6);
    for line in &mut memory {
        line.name = line
            .name
            .replace("of a leading candidate", "of all leading candidates")
            .replace("of a waiting candidate", "of all waiting candidates");
    }
    let processor = sizes.lines(|what| PROCESSOR.contains(&what), |_, share| share);
    for (file, title, up, lines) in [
        ("memory.svg", "Memory of all elections", "MB", memory),
        ("processor.svg", "Processor time by the number of elections", "% of a core", processor),
    ] {
        if !lines.is_empty() {
            plots.insert(file.into(), plot::growth("elections", up, &lines)?);
            let _ = write!(text, "![{title}](performance/{file})\n\n");
        }
    }
    Ok(text + &sizes.table())
}

/// Returns the section about `cost`. Adds its plot to `plots`, by the name of its file.
pub(super) fn many_candidates(figures: &[Figure], plots: &mut BTreeMap<String, String>) -> Result<String> {
    const FILE: &str = "cost.svg";
    let mut sizes = Sizes::of("candidates", figures);
    // Keeps the sides of a figure adjacent. A name has the figure first, then a comma and the side.
    let place = |what: &str| {
        let name = |figure: &Figure| Some(figure.figure.split_once(": ")?.1.split_once(", ")?.0.to_owned());
        let own = what.split_once(", ").map(|(own, _)| own.to_owned());
        figures.iter().position(|figure| name(figure) == own)
    };
    sizes.0.sort_by_key(|(what, _)| place(what));
    let mut text = String::from("\n## What the candidates of one election cost\n\n");
    text += COST;
    let lines = sizes.lines(|what| what.starts_with("messages "), |_, messages| messages);
    if !lines.is_empty() {
        plots.insert(FILE.into(), plot::growth("candidates", "messages an hour", &lines)?);
        let _ = write!(text, "![Messages by the number of candidates](performance/{FILE})\n\n");
    }
    Ok(text + &sizes.table())
}

/// The section about `processes`.
pub(super) fn many_processes(figures: &[Figure]) -> String {
    format!(
        "\n## Ten thousand processes, simulated\n\n{PROCESSES}{}",
        Sizes::of("processes", figures).table()
    )
}

const SCALE: &str = "\
Each side is one process with that many candidates on one connection to NATS. The lease is 30 s. One bare client \
creates the same records and renews them as often; another does what a candidate must until all are led: it watches \
the bucket, creates the records, and inspects the bucket once. Closing writes a release for each election that is led. \
The process has then freed what its elections took; the allocator of the C library keeps much of that for later use, \
and the system counts it as the process's memory.\n\n";

const COST: &str = "\
One election on NATS whose candidates have a connection each, with the same bucket and a lease of 30 s, while one \
leads and all others wait. The figures are the server's own counters for an hour, less those of a server without \
clients. They were counted over three leases; differences of a second of processor time are noise. Our leader renews \
every 10 s, and asks for its bucket's state as often. A candidate that waits watches the key, and sends nothing; the \
server sends it each renewal, and every few seconds a heartbeat of its watch, whose absence would show that the watch \
is dead: these are most of what is sent to many candidates. By the rules of nats-kv-leader-elect each candidate does \
something every 22.5 s: the leader renews, and every other candidate tries to create the key, which the server \
refuses. With few candidates fewer renewals cost less, and leave less time to repeat one that failed. A direct read \
and a refused write are messages, but no requests to JetStream.\n\n\
The rows *an election each* are as many processes that share only the bucket: each leads an election of its own. A \
connection watches the elections that it takes part in, up to eight by name, so what such a process sends and receives \
does not depend on the number of others.\n\n";

const PROCESSES: &str = "\
The requests of so many processes to one bucket, with a candidate each, in one election or in one each. No machine \
here holds so many and their server, so the core's rules run on simulated clocks, and on a store that answers at once: \
the figures are the same on every machine. The lease is 30 s, and all processes start within a second. A candidate \
that waits starts with three or four requests, and one that leads with five: the state of the bucket, the watch, \
reads, writes. At rest those that wait ask nothing. Those that lead renew in the rhythm of their starts, here within \
one second of ten.\n\n\
After the crash of a leader another leads once the store has removed the record, which it does up to 350 ms late. The \
first time all others try as well, at the cost of a refused write each: none knows how many there are. With each race \
that it loses a candidate doubles the time over which it spreads its next try, so later crashes cost less.\n\n";
