//! Times in which an election may be without a leader, and the reasons.

use std::time::Duration;

use incumbent_rig::candidate::{Report, ReportKind};

use crate::history::{History, Incident};
use crate::kind::{Kind, Touch};
use crate::log::{Election, Line, Nanos};
use crate::scenario::survives;

/// A time in which no candidate needs to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excuse {
    pub(crate) why: &'static str,
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
}

/// The run has just begun, and no candidate has led yet.
pub(crate) const START: &str = "start";
/// The store took no writes, and independent clients noticed it too.
pub(crate) const OUTAGE: &str = "store-outage";
/// The machine had no processor time left.
pub(crate) const STALL: &str = "machine-stall";

/// The longest delay of a candidate's log line, and the greatest age of the last answer of a killed candidate.
const LATE: Nanos = 500_000_000;
/// The longest time for a client to find another server when its own does not answer, and then for the cluster to elect
/// a leader for the stream: measured at 5 to 7 s.
const FAIL_OVER: Duration = Duration::from_secs(12);
/// The longest time that a client may stay disconnected after the store is back.
const RECONNECT: Duration = Duration::from_secs(6);

/// The longest time until a candidate leads again once nothing prevents it: the record of the last leader
/// must expire; a candidate that saw it for the first time just before waits for one lease from then on; and
/// all candidates may first have to find the store again.
pub(crate) fn recovery(lease: Duration) -> Duration {
    lease * 2 + RECONNECT
}

/// All excuses of an election.
pub(crate) fn all(history: &History, election: &Election) -> Vec<Excuse> {
    let lease = Duration::from_millis(election.lease_ms);
    let (recovery, survives) = (nanos(recovery(lease)), survives(election.store, lease));
    let excuse = |why, from: Nanos, until: Nanos| Excuse {
        why,
        from: from.saturating_sub(LATE),
        until: until.saturating_add(recovery),
    };
    let mut excuses = vec![excuse(START, history.begin, history.begin)];
    for fault in &history.faults {
        let repaired = fault.repaired.unwrap_or(history.end);
        if touches(history, election, fault, survives) {
            excuses.push(excuse(fault.kind.name(), fault.at, over(fault, repaired)));
        }
    }
    let outages = history.outages.iter().filter(|outage| outage.bucket == election.bucket);
    for outage in outages.filter(|outage| survives <= span(outage.from, outage.until) + RECONNECT) {
        excuses.push(excuse(OUTAGE, outage.from, outage.until));
    }
    // A leader that repeatedly waits for the processor loses its lease even if no single wait was that long.
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

/// The latest time at which the effects of a fault may still be felt.
pub(crate) fn over_at_the_latest(history: &History, election: &Election, fault: &Incident) -> Nanos {
    let repaired = fault.repaired.unwrap_or(history.end);
    repaired.saturating_add(nanos(recovery(Duration::from_millis(election.lease_ms))))
}

/// Returns true if a fault may leave that election vacant.
fn touches(history: &History, election: &Election, fault: &Incident, survives: Duration) -> bool {
    let repaired = fault.repaired.unwrap_or(history.end);
    match fault.kind.touch() {
        Touch::Leader | Touch::Follower => has_part(history, &fault.on, election, fault.at, repaired),
        Touch::Key | Touch::Foreign => fault.key == election.key,
        Touch::Server => survives <= FAIL_OVER,
        Touch::Store => survives <= span(fault.at, repaired) + FAIL_OVER,
    }
}

/// The time from which a fault does no more harm. Candidates that wait for the key of a faulty process are well
/// themselves, so they need not wait until that process recovers.
fn over(fault: &Incident, repaired: Nanos) -> Nanos {
    match fault.kind {
        // The leader may lose its lease at any time while everything is slow.
        Kind::Slow => repaired,
        _ if matches!(fault.kind.touch(), Touch::Leader | Touch::Follower) => fault.at,
        _ => repaired,
    }
}

/// Returns true if a candidate led, or was about to lead, at some instant between `from` and `until`. Only then does a
/// fault of this candidate affect the election.
fn has_part(history: &History, name: &str, election: &Election, from: Nanos, until: Nanos) -> bool {
    let (from, until) = (from.saturating_sub(LATE), until.saturating_add(LATE));
    let lives = history.lives.iter().filter(|life| life.name == name);
    lives.into_iter().any(|life| {
        let states = life.lines.iter().filter_map(|line| match line {
            Line::Report(Report { at, key: Some(key), what: ReportKind::State { state } })
                if *key == election.key =>
            {
                Some((*at, state.as_str()))
            }
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
        // A process that had ended by then played no part.
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
