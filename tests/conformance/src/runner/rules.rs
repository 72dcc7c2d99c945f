//! The rules that hold in every scenario, whatever its steps ask for.

use incumbent::{Instant, Token};

use super::actor::{Actor, OfTerm};
use super::failure::Missed;
use super::witness::Witness;

/// The first rule that is broken.
pub(super) fn broken(actors: &[Actor], witness: &Witness) -> Option<Missed> {
    if let Some(two) = witness.verdict() {
        return Some(Missed::new("at most one leader at any time", two));
    }
    let reported = actors.iter().find_map(|actor| actor.book.pages().broken.clone());
    if let Some(reported) = reported {
        return Some(Missed::new(
            "Won, then Draining where there is one, then Lost, each once a term",
            reported,
        ));
    }
    disorder(&wins(actors))
        .map(|seen| Missed::new("a larger token for every later term of an election", seen))
}

/// The events that no step has consumed. A drain needs no step where its loss has one.
pub(super) fn unasked(actors: &[Actor]) -> Option<Missed> {
    actors.iter().find_map(|actor| {
        let pages = actor.book.pages();
        let event = pages.unread().first()?;
        Some(Missed::new("nothing that no step asks for", format!("{} got {event}", actor.id)))
    })
}

struct Win {
    election: String,
    id: String,
    token: Token,
    at: Instant,
}

fn wins(actors: &[Actor]) -> Vec<Win> {
    let of = |actor: &Actor| {
        let pages = actor.book.pages();
        let win = |reported: &OfTerm| match reported {
            OfTerm::Won { token, at } => {
                let (election, id) = (actor.of.election().into(), actor.id.clone());
                Some(Win { election, id, token: *token, at: *at })
            }
            _ => None,
        };
        pages.terms.iter().filter_map(win).collect::<Vec<_>>()
    };
    actors.iter().flat_map(of).collect()
}

/// Two terms of one election; the later has no larger token.
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
