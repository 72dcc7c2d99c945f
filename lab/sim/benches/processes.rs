//! Measures what up to ten thousand processes, each with one candidate, ask of one NATS bucket, and what the bucket
//! sends them: when they start, at rest, and after crashes of the leader. This is simulated, because that many
//! processes need several machines; the result is the same on any machine.
//!
//! Pass numbers of processes as arguments to measure only these. Standard output is one JSON array of figures.

#![allow(clippy::expect_used, reason = "a benchmark that cannot continue says why")]

use std::time::Duration;

use incumbent_sim::{Elections, Fleet};
use incumbent_testkit::figure::{self, Figure};

const NUMBERS: [usize; 4] = [10, 100, 1_000, 10_000];
const SEED: u64 = 1;

fn main() {
    let named: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let numbers = NUMBERS.into_iter().filter(|number| named.is_empty() || named.contains(number));
    let figures: Vec<Figure> = numbers.flat_map(|number| [one(number), each(number)].concat()).collect();
    figure::print(&figures);
}

fn per_hour(count: u64) -> f64 {
    count as f64 * 3600.0 / Fleet::RESTED.as_secs_f64()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Measures all processes in one election.
fn one(processes: usize) -> Vec<Figure> {
    eprintln!("{processes} processes, one election");
    let fleet = Fleet::run(processes, Elections::One, SEED).expect("one leads and all others wait");
    let figure = |what: &str, value: f64, unit: &str| {
        Figure::plain(format!("{processes} processes: {what}"), value, unit, processes)
    };
    let mut figures = vec![
        figure("requests at the start", fleet.start.requests() as f64, ""),
        figure("requests at the start, the busiest 0.1 s", fleet.start.busiest as f64, ""),
        figure("requests at rest", per_hour(fleet.rest.requests()), "an hour"),
        figure("changes sent at rest", per_hour(fleet.rest.sent), "an hour"),
    ];
    let (first, last) = (fleet.fail_overs.first(), fleet.fail_overs.last());
    for (name, fail_over) in [("the first crash".into(), first), (format!("crash {}", Fleet::CRASHES), last)]
    {
        let fail_over = fail_over.expect("there are crashes");
        figures.push(figure(
            &format!("writes that were refused after {name}"),
            fail_over.demand.refused as f64,
            "",
        ));
        figures.push(figure(&format!("vacant after {name}, beyond the lease"), millis(fail_over.took), "ms"));
    }
    figures
}

/// Each in its own election.
fn each(processes: usize) -> Vec<Figure> {
    eprintln!("{processes} processes, an election each");
    let fleet = Fleet::run(processes, Elections::Each, SEED).expect("all lead");
    let figure = |what: &str, value: f64, unit: &str| {
        Figure::plain(format!("{processes} processes: {what}, an election each"), value, unit, processes)
    };
    vec![
        figure("requests at the start", fleet.start.requests() as f64, ""),
        figure("requests at the start, the busiest 0.1 s", fleet.start.busiest as f64, ""),
        figure("requests at rest", per_hour(fleet.rest.requests()), "an hour"),
        figure("requests at rest, the busiest 0.1 s", fleet.rest.busiest as f64, ""),
        figure("changes sent at rest", per_hour(fleet.rest.sent), "an hour"),
    ]
}
