//! Terms, from the candidates' answers and events.

use std::collections::BTreeMap;

use crate::history::{History, Life};
use crate::log::{Line, Nanos};

/// One term of one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The candidate's name, with the number of its run.
    pub(crate) who: String,
    pub(crate) token: String,
    /// The time of its win event, or of the first answer where the process was killed before it could log that.
    pub(crate) started: Nanos,
    /// A time throughout which it certainly led.
    pub(crate) proven: Option<(Nanos, Nanos)>,
}

/// The terms of an election, in the order in which they began.
pub(crate) fn of(history: &History, key: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = history.lives.iter().flat_map(|life| of_life(life, key)).collect();
    terms.sort_by(|one, other| (one.started, &one.token).cmp(&(other.started, &other.token)));
    terms
}

#[derive(Default)]
struct Evidence {
    started: Option<Nanos>,
    first: Option<Nanos>,
    last: Nanos,
    deadline: Nanos,
    /// The first answer after the last true one.
    gone: Option<Nanos>,
    reason: Option<String>,
}

/// Between two true answers of one term the candidate led throughout, because a term ends once. After the
/// last of them it led until the deadline that it had read before, where nothing but the clock ended the
/// term: the end was reported as an expiry, and the first false answer came after the deadline.
fn of_life(life: &Life, key: &str) -> Vec<Term> {
    let mut all = BTreeMap::<String, Evidence>::new();
    let mut leading = None::<String>;
    for line in life.lines.iter().filter(|line| line.key() == Some(key)) {
        match line {
            Line::Answer { leads, before, after, .. } => {
                let token = leads.as_ref().map(|held| held.token.clone());
                if let Some(over) = leading.take().filter(|last| Some(last) != token.as_ref()) {
                    all.entry(over).or_default().gone.get_or_insert(*before);
                }
                if let (Some(held), Some(token)) = (leads, &token) {
                    let evidence = all.entry(token.clone()).or_default();
                    evidence.first.get_or_insert(*after);
                    evidence.last = *before;
                    evidence.deadline = evidence.deadline.max(held.deadline);
                }
                leading = token;
            }
            Line::Won { token, started, .. } => {
                all.entry(token.clone()).or_default().started = Some(*started);
            }
            Line::Lost { token, reason, .. } => {
                all.entry(token.clone()).or_default().reason = Some(reason.clone());
            }
            _ => {}
        }
    }
    let term = |(token, evidence): (String, Evidence)| {
        let by_the_clock = evidence.reason.as_deref() == Some("EXPIRED")
            && evidence.gone.is_some_and(|gone| gone >= evidence.deadline);
        let until = if by_the_clock { evidence.last.max(evidence.deadline) } else { evidence.last };
        let proven = evidence.first.map(|first| (first, until.max(first)));
        let started = evidence.started.or(evidence.first)?;
        Some(Term { who: life.who(), token, started, proven })
    };
    all.into_iter().filter_map(term).collect()
}
