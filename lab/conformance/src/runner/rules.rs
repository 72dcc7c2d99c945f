//! The rules that hold in every scenario, whatever its steps ask for.

use incumbent::{Instant, Token};

use super::leader_check::LeaderCheck;
use super::participant::{Participant, TermEvent};
use super::suite::Missed;

/// Returns the first rule that is broken.
pub(super) fn broken(participants: &[Participant], leader_check: &LeaderCheck) -> Option<Missed> {
    if let Some(two) = leader_check.two_leaders() {
        return Some(Missed::new("at most one leader at any time", two));
    }
    let reported = participants.iter().find_map(|participant| participant.log.entries().broken.clone());
    if let Some(reported) = reported {
        return Some(Missed::new("Won, then perhaps Draining, then Lost, each once a term", reported));
    }
    disorder(&wins(participants))
        .map(|seen| Missed::new("a larger token for every later term of an election", seen))
}

/// Returns the first event that no step has consumed. A drain needs no step of its own if a step expects the loss that
/// follows.
pub(super) fn unasked(participants: &[Participant]) -> Option<Missed> {
    participants.iter().find_map(|participant| {
        let entries = participant.log.entries();
        let event = entries.unread().first()?;
        Some(Missed::new("no event that no step expects", format!("{} got {event}", participant.id)))
    })
}

struct Win {
    election: String,
    id: String,
    token: Token,
    at: Instant,
}

fn wins(participants: &[Participant]) -> Vec<Win> {
    let of = |participant: &Participant| {
        let entries = participant.log.entries();
        let win = |reported: &TermEvent| match reported {
            TermEvent::Won { token, at } => {
                let (election, id) = (participant.of.election().into(), participant.id.clone());
                Some(Win { election, id, token: *token, at: *at })
            }
            _ => None,
        };
        entries.terms.iter().filter_map(win).collect::<Vec<_>>()
    };
    participants.iter().flat_map(of).collect()
}

/// Finds two terms of one election such that the later term has no larger token.
fn disorder(wins: &[Win]) -> Option<String> {
    let mut sorted: Vec<&Win> = wins.iter().collect();
    sorted.sort_by_key(|win| win.at);
    sorted.iter().enumerate().find_map(|(at, later)| {
        let mut before = sorted.iter().take(at).filter(|win| win.election == later.election);
        let earlier = before.find(|win| win.token >= later.token)?;
        Some(format!(
            "{} won with {}, and before that {} with {}",
            later.id, later.token, earlier.id, earlier.token
        ))
    })
}

#[cfg(test)]
mod tests {
    use incumbent::incumbent_core::{Incarnation, Revision};

    use super::*;

    fn win(election: &str, id: &str, sequence: u64, at: u64) -> Win {
        let token = Token { incarnation: Incarnation(1), sequence: Revision(sequence) };
        Win { election: election.into(), id: id.into(), token, at: Instant::from_nanos(at) }
    }

    #[test]
    fn tokens_grow_within_an_election() {
        assert_eq!(disorder(&[win("jobs", "a", 1, 1), win("jobs", "b", 2, 2), win("mail", "c", 1, 3)]), None);
        let seen = disorder(&[win("jobs", "b", 2, 2), win("jobs", "a", 2, 1)]);
        assert!(seen.is_some_and(|seen| seen.starts_with("b won with")));
    }
}
