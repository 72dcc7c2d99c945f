//! `Won` and `Lost` alternate for every candidate, and each pair belongs to one term.

use incumbent::Token;
use incumbent_rig::candidate::{Report, ReportKind};

use super::Violation;
use crate::history::{History, Life};
use crate::log::{Line, Nanos};

pub(super) fn check(history: &History) -> Vec<Violation> {
    let keys = || history.elections.iter().map(|election| election.key.as_str());
    let mut found: Vec<_> =
        history.lives.iter().flat_map(|life| keys().flat_map(|key| of_life(life, key))).collect();
    // In an aborted run no candidate was asked to leave.
    if history.faults_over.is_some() {
        found.extend(history.lives.iter().filter_map(|life| left(life, history.end)));
    }
    found
}

fn of_life(life: &Life, key: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut wrong = |what: String, at: Nanos| {
        let what = format!("{} in {key}: {what}", life.who());
        found.push(Violation { rule: "events", what, key: Some(key.into()), at });
    };
    let mut open = None::<(Token, Nanos)>;
    for line in life.lines.iter().filter(|line| line.key() == Some(key)) {
        let Line::Report(Report { what, at, .. }) = line else { continue };
        match what {
            ReportKind::Won { token, .. } => {
                if let Some((before, _)) = open.replace((*token, *at)) {
                    wrong(format!("won {token} without having lost {before}"), *at);
                }
            }
            ReportKind::Lost { token, reason } => {
                let won = open.take().map(|(token, _)| token);
                if won != Some(*token) {
                    let won = won.map_or("nothing".into(), |token| token.to_string());
                    wrong(format!("lost {token} ({reason}) after winning {won}"), *at);
                }
            }
            _ => {}
        }
    }
    if let Some((token, at)) = open.filter(|_| life.killed.is_none() && has_left(life)) {
        wrong(format!("won {token} and never lost it"), at);
    }
    found
}

/// Checks that a candidate that was not killed left cleanly at the end.
fn left(life: &Life, end: Nanos) -> Option<Violation> {
    let is_well = life.killed.is_some() || has_left(life);
    let what = format!("{} did not leave", life.who());
    (!is_well).then_some(Violation { rule: "events", what, key: None, at: end })
}

fn has_left(life: &Life) -> bool {
    life.lines.iter().any(|line| matches!(line, Line::Report(Report { what: ReportKind::Left, .. })))
}

#[cfg(test)]
mod tests {
    use super::ReportKind;
    use crate::check::sample::{Run, rules};

    #[test]
    fn a_second_win_without_a_loss_is_found() {
        let mut run = Run::new();
        run.won("a-1", 1, 5);
        run.won("a-1", 2, 6);
        run.lost("a-1", 2, 7, "CLOSED");
        assert_eq!(rules(&run.history()), ["events"]);
    }

    #[test]
    fn a_loss_without_a_win_or_of_another_term_is_found() {
        let mut run = Run::new();
        run.lost("a-1", 1, 7, "EXPIRED");
        assert_eq!(rules(&run.history()), ["events"]);
        let mut run = Run::new();
        run.won("a-1", 1, 5);
        run.lost("a-1", 2, 7, "EXPIRED");
        assert_eq!(rules(&run.history()), ["events"]);
    }

    #[test]
    fn a_win_that_is_never_lost_is_found_unless_the_process_was_killed() {
        let mut run = Run::new();
        run.won("a-1", 1, 5);
        assert_eq!(rules(&run.history()), ["events"]);
        let mut run = Run::new();
        run.won("a-1", 1, 5);
        run.killed("a-1", 6);
        assert_eq!(rules(&run.history()), Vec::<&str>::new());
    }

    #[test]
    fn a_candidate_that_does_not_leave_is_found() {
        let mut run = Run::new();
        run.report("a-1", 5, ReportKind::Leader { name: None });
        run.never_leaves("a-1");
        assert_eq!(rules(&run.history()), ["events"]);
    }
}
