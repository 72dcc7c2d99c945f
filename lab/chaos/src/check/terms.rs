//! Terms, from the candidates' answers and events.

use std::collections::BTreeMap;

use incumbent::{Reason, Token};
use incumbent_rig::candidate::{Report, ReportKind};
use incumbent_rig::record as rig;

use crate::history::{History, Life};
use crate::log::{Line, Nanos};

/// One term of one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The candidate's name, with the number of its run.
    pub(crate) who: String,
    pub(crate) token: Token,
    /// The time of its win event, or of the first answer if the process was killed before it could log the win.
    pub(crate) started: Nanos,
    /// A time in which the candidate certainly led without a break.
    pub(crate) proven: Option<(Nanos, Nanos)>,
}

/// The terms of an election, in the order in which they began.
pub(crate) fn of(history: &History, key: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = history.lives.iter().flat_map(|life| of_life(life, key)).collect();
    terms.sort_by_key(|term| (term.started, term.token));
    terms
}

/// The terms that the answers prove, and reported terms without any answer.
fn of_life(life: &Life, key: &str) -> Vec<Term> {
    let (mut terms, mut started) = (rig::Terms::default(), BTreeMap::new());
    for line in life.lines.iter().filter(|line| line.key() == Some(key)) {
        match line {
            Line::Answer { reading, .. } => _ = terms.note(*reading),
            Line::Report(Report { what: ReportKind::Won { token, started: at }, .. }) => {
                started.insert(*token, *at);
            }
            Line::Report(Report { what: ReportKind::Lost { token, reason }, .. }) => {
                let reason = Reason::ALL.into_iter().find(|known| known.code() == reason);
                reason.into_iter().for_each(|reason| _ = terms.ended(*token, reason));
            }
            _ => {}
        }
    }
    let proven = terms.into_all().into_iter().map(|evidence| {
        let from = evidence.since.as_nanos();
        let proven = Some((from, evidence.proven_until().as_nanos().max(from)));
        let started = started.remove(&evidence.token).unwrap_or(from);
        Term { who: life.who(), token: evidence.token, started, proven }
    });
    let mut all: Vec<Term> = proven.collect();
    let unproven = |(token, started)| Term { who: life.who(), token, started, proven: None };
    all.extend(started.into_iter().map(unproven));
    all
}
