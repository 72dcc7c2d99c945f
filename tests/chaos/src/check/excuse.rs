//! Until when an election may be without a leader, and why.

use std::time::Duration;

use crate::history::{History, Incident};
use crate::kind::{Kind, Touch};
use crate::log::{Election, Line, Nanos};
use crate::scenario::survives;

/// A time in which nobody need lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excuse {
    pub(crate) why: &'static str,
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
}

/// The beginning: nobody has led yet.
pub(crate) const START: &str = "start";
/// The store took no writes, which the other clients noticed too.
pub(crate) const OUTAGE: &str = "store-outage";
/// The machine had no processor to give.
pub(crate) const STALL: &str = "machine-stall";

/// How late a candidate may have written down what it was doing, and how old the last answer of one that
/// was killed may be.
const LATE: Nanos = 500_000_000;
/// How long a client may take to find another server when the one it has does not answer, and then the
/// cluster to elect a leader for the stream: 5 to 7 s, measured.
const FAIL_OVER: Duration = Duration::from_secs(12);
/// How long a client may go on without a connection when the store is back.
const RECONNECT: Duration = Duration::from_secs(6);

/// How long it takes until somebody leads again, at worst, when nothing stands in the way any more: the
/// record of the last leader has to expire; whoever saw it for the first time just before waits for one
/// lease from then on; and everybody may first have to find the store again.
pub(crate) fn recovery(lease: Duration) -> Duration {
    lease * 2 + RECONNECT
}

/// All that excuses an election.
pub(crate) fn all(history: &History, election: &Election) -> Vec<Excuse> {
    let lease = Duration::from_millis(election.lease_ms);
    let (recovery, survives) = (nanos(recovery(lease)), survives(lease));
    let excuse = |why, from: Nanos, until: Nanos| Excuse {
        why,
        from: from.saturating_sub(LATE),
        until: until.saturating_add(recovery),
    };
    let mut excuses = vec![excuse(START, history.begin, history.begin)];
    for fault in &history.faults {
        let mended = fault.mended.unwrap_or(history.end);
        if touches(history, election, fault, survives) {
            excuses.push(excuse(fault.kind.name(), fault.at, over(fault, mended)));
        }
    }
    let outages = history.outages.iter().filter(|outage| outage.bucket == election.bucket);
    for outage in outages.filter(|outage| survives <= span(outage.from, outage.until) + RECONNECT) {
        excuses.push(excuse(OUTAGE, outage.from, outage.until));
    }
    // A leader that has to wait for the processor again and again loses its lease though no wait was as long.
    let matters = |(from, until): &(Nanos, Nanos)| survives <= span(*from, *until) * 4;
    for (from, until) in history.stalls.iter().filter(|stall| matters(stall)) {
        excuses.push(excuse(STALL, *from, *until));
    }
    for life in &history.lives {
        for line in &life.lines {
            let Line::Stall { from, until } = line else { continue };
            let is_stop =
                life.stops.iter().any(|(begin, end)| from <= &end.unwrap_or(Nanos::MAX) && begin <= until);
            if !is_stop && matters(&(*from, *until)) && has_part(history, &life.name, election, *from, *until)
            {
                excuses.push(excuse(STALL, *from, *until));
            }
        }
    }
    excuses
}

/// When what a fault does must be over, at the latest.
pub(crate) fn over_at_the_latest(history: &History, election: &Election, fault: &Incident) -> Nanos {
    let mended = fault.mended.unwrap_or(history.end);
    mended.saturating_add(nanos(recovery(Duration::from_millis(election.lease_ms))))
}

/// Whether a fault may leave that election vacant.
fn touches(history: &History, election: &Election, fault: &Incident, survives: Duration) -> bool {
    let mended = fault.mended.unwrap_or(history.end);
    match fault.kind.touch() {
        Touch::Leader | Touch::Follower => has_part(history, &fault.on, election, fault.at, mended),
        Touch::Key => fault.key == election.key,
        Touch::Server => survives <= FAIL_OVER,
        Touch::Store => survives <= span(fault.at, mended) + FAIL_OVER,
    }
}

/// When a fault stops doing harm. Whoever waits for the seat of a process that was hit is well and need
/// not wait until that one is.
fn over(fault: &Incident, mended: Nanos) -> Nanos {
    match fault.kind {
        // It may lose its lease at any time while everything is slow.
        Kind::Slow => mended,
        _ if matches!(fault.kind.touch(), Touch::Leader | Touch::Follower) => fault.at,
        _ => mended,
    }
}

/// Whether a candidate led, or was about to, in some instant between these two: only then can anything that
/// happens to it be noticed in the election.
fn has_part(history: &History, name: &str, election: &Election, from: Nanos, until: Nanos) -> bool {
    let (from, until) = (from.saturating_sub(LATE), until.saturating_add(LATE));
    let lives = history.lives.iter().filter(|life| life.name == name);
    lives.into_iter().any(|life| {
        let states = life.lines.iter().filter_map(|line| match line {
            Line::State { key, state, at } if *key == election.key => Some((*at, state.as_str())),
            _ => None,
        });
        let mut busy_before = false;
        let mut busy_meanwhile = false;
        for (at, state) in states {
            let busy = matches!(state, "ACQUIRING" | "HOLDING" | "LEADING" | "DRAINING" | "RELEASING");
            if at < from {
                busy_before = busy;
            } else if at <= until {
                busy_meanwhile |= busy;
            }
        }
        // A life that was over by then did nothing.
        let was_over = life.killed.is_some_and(|killed| killed < from);
        busy_meanwhile || (busy_before && !was_over)
    })
}

fn span(from: Nanos, until: Nanos) -> Duration {
    Duration::from_nanos(until.saturating_sub(from))
}

fn nanos(span: Duration) -> Nanos {
    Nanos::try_from(span.as_nanos()).unwrap_or(Nanos::MAX)
}
