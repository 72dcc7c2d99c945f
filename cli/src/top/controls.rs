//! The state that a person has chosen by keys.

use std::cmp::Ordering;

use incumbent::{Instant, Leader};

use super::board::{Board, Row};
use crate::screen::Key;

/// The column that sorts the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Election,
    Leader,
    Held,
    Left,
    Changes,
    Waiting,
}

impl Sort {
    pub(super) const ALL: [Self; 6] =
        [Self::Election, Self::Leader, Self::Held, Self::Left, Self::Changes, Self::Waiting];

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).map_or(0, |at| at + 1);
        Self::ALL[at % Self::ALL.len()]
    }

    /// The heading of its column.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Leader => "leader",
            Self::Held => "for",
            Self::Left => "left of the lease",
            Self::Changes => "changes",
            Self::Waiting => "waiting",
        }
    }

    fn compare(self, one: &Row, other: &Row, now: Instant) -> Ordering {
        match self {
            Self::Election => Ordering::Equal,
            // Elections without a leader come last.
            Self::Leader => {
                one.leader().is_none().cmp(&other.leader().is_none()).then(one.leader().cmp(&other.leader()))
            }
            // The newest first.
            Self::Held => one.held.age(now).cmp(&other.held.age(now)),
            Self::Left => {
                let left = |row: &Row| row.left(now).map(|left| left.left);
                left(one).is_none().cmp(&left(other).is_none()).then(left(one).cmp(&left(other)))
            }
            // The most first.
            Self::Changes => other.changes.cmp(&one.changes),
            // The elections with the fewest candidates come first, to show those without a successor.
            Self::Waiting => {
                let waiting = |row: &Row| row.waiting.as_ref().map(Vec::len);
                waiting(one).is_none().cmp(&waiting(other).is_none()).then(waiting(one).cmp(&waiting(other)))
            }
        }
    }
}

/// The meaning of the next key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Look,
    /// A filter is being typed.
    Filter,
    /// The question whether to evict that leader.
    Confirm { key: String, leader: Leader, question: String },
}

/// An action to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Leave,
    Evict { key: String, leader: Leader },
}

/// The number of lines by which PgUp and PgDn move.
const PAGE: usize = 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Controls {
    pub(super) sort: Sort,
    pub(super) is_reversed: bool,
    pub(super) filter: String,
    /// The key of the chosen election.
    chosen: Option<String>,
    pub(super) mode: Mode,
    /// The result of the last action.
    pub(super) said: Option<String>,
}

impl Controls {
    /// The elections to show, in order.
    pub(super) fn shown<'a>(&self, board: &'a Board, now: Instant) -> Vec<(&'a str, &'a Row)> {
        let filter = self.filter.to_lowercase();
        let fits = |text: &str| text.to_lowercase().contains(&filter);
        let rows = board.rows.iter().map(|(key, row)| (key.as_str(), row));
        let mut shown: Vec<_> =
            rows.filter(|(key, row)| fits(key) || row.leader().is_some_and(fits)).collect();
        // The elections are ordered by key, and the stable sort keeps that order among equals.
        shown.sort_by(|(_, one), (_, other)| self.sort.compare(one, other, now));
        if self.is_reversed {
            shown.reverse();
        }
        shown
    }

    /// The index of the chosen election among the shown ones, or of the first if the chosen one is not shown.
    pub(super) fn chosen(&self, shown: &[(&str, &Row)]) -> usize {
        let is_chosen = |(key, _): &(&str, &Row)| Some(*key) == self.chosen.as_deref();
        shown.iter().position(is_chosen).unwrap_or(0)
    }

    pub(super) fn say(&mut self, text: String) {
        self.said = Some(text);
    }

    /// Handles a key. Returns an action, if there is one.
    pub(super) fn press(&mut self, key: Key, board: &Board, now: Instant) -> Option<Act> {
        match (key, &self.mode) {
            (Key::Resized, _) => return None,
            (Key::Interrupt, _) => return Some(Act::Leave),
            _ => self.said = None,
        }
        match std::mem::take(&mut self.mode) {
            Mode::Look => self.look(key, board, now),
            Mode::Filter => {
                self.mode = Mode::Filter;
                match key {
                    Key::Char(c) => self.filter.push(c),
                    Key::Backspace => drop(self.filter.pop()),
                    Key::Enter => self.mode = Mode::Look,
                    Key::Escape => (self.mode, self.filter) = (Mode::Look, String::new()),
                    _ => {}
                }
                None
            }
            Mode::Confirm { key: election, leader, .. } => match key {
                Key::Char('y' | 'Y') => Some(Act::Evict { key: election, leader }),
                _ => {
                    self.say("nothing was done".into());
                    None
                }
            },
        }
    }

    fn look(&mut self, key: Key, board: &Board, now: Instant) -> Option<Act> {
        match key {
            Key::Char('q') => return Some(Act::Leave),
            Key::Char('s') => self.sort = self.sort.next(),
            Key::Char('r') => self.is_reversed = !self.is_reversed,
            Key::Char('/') => self.mode = Mode::Filter,
            Key::Char('e') => self.ask(board, now),
            Key::Escape => self.filter.clear(),
            Key::Up | Key::Char('k') => self.go(board, now, |at| at.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.go(board, now, |at| at + 1),
            Key::PageUp => self.go(board, now, |at| at.saturating_sub(PAGE)),
            Key::PageDown => self.go(board, now, |at| at + PAGE),
            Key::Home => self.go(board, now, |_| 0),
            Key::End => self.go(board, now, |_| usize::MAX),
            _ => {}
        }
        None
    }

    fn go(&mut self, board: &Board, now: Instant, to: impl Fn(usize) -> usize) {
        let shown = self.shown(board, now);
        let to = to(self.chosen(&shown)).min(shown.len().saturating_sub(1));
        self.chosen = shown.get(to).map(|(key, _)| (*key).to_owned());
    }

    fn ask(&mut self, board: &Board, now: Instant) {
        let shown = self.shown(board, now);
        let Some((key, row)) = shown.get(self.chosen(&shown)) else { return };
        match super::question(key, row, board) {
            Some((leader, question)) => {
                // The election remains chosen, even if its line moves.
                self.chosen = Some((*key).to_owned());
                self.mode = Mode::Confirm { key: (*key).to_owned(), leader, question };
            }
            None => self.say(format!("{key} is vacant: there is no leader to evict")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::board::tests::{at, deleted, held, present};
    use super::*;

    fn board() -> Board {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("alpha", "zoe", 1), held("beta", "adam", 2), deleted("gamma", 3)], None);
        let cleo = held("beta", "cleo2", 4);
        let leader = Leader::of(cleo.entry.live().unwrap());
        board.observe(at(5), "beta", Some(&leader));
        board.take(at(5), vec![held("alpha", "zoe", 1), cleo, deleted("gamma", 3)], None);
        board.call(Some(vec![present("alpha", "ben", 1), present("beta", "x", 2), present("beta", "y", 1)]));
        board
    }

    fn pressed(controls: &mut Controls, keys: &[Key]) -> Option<Act> {
        keys.iter().filter_map(|key| controls.press(*key, &board(), at(6))).last()
    }

    fn typed(controls: &mut Controls, text: &str) -> Option<Act> {
        pressed(controls, &text.chars().map(Key::Char).collect::<Vec<_>>())
    }

    fn keys(controls: &Controls) -> Vec<String> {
        controls.shown(&board(), at(6)).iter().map(|(key, _)| (*key).to_owned()).collect()
    }

    #[test]
    fn every_column_can_be_sorted_by_both_ways() {
        let mut controls = Controls::default();
        let mut orders = Vec::new();
        for _ in Sort::ALL {
            orders.push((controls.sort, keys(&controls).concat()));
            typed(&mut controls, "s");
        }
        assert_eq!(controls.sort, Sort::Election);
        let expected = [
            (Sort::Election, "alphabetagamma"),
            (Sort::Leader, "betaalphagamma"),
            (Sort::Held, "betaalphagamma"),
            (Sort::Left, "alphabetagamma"),
            (Sort::Changes, "betaalphagamma"),
            (Sort::Waiting, "gammaalphabeta"),
        ];
        assert_eq!(orders, expected.map(|(sort, order)| (sort, order.to_owned())));
        typed(&mut controls, "r");
        assert_eq!(keys(&controls), ["gamma", "beta", "alpha"]);
    }

    #[test]
    fn what_is_typed_filters_by_key_and_by_leader() {
        let mut controls = Controls::default();
        typed(&mut controls, "/ZO");
        assert_eq!(keys(&controls), ["alpha"]);
        pressed(&mut controls, &[Key::Backspace, Key::Backspace]);
        assert_eq!(typed(&mut controls, "q"), None);
        assert!(keys(&controls).is_empty());
        pressed(&mut controls, &[Key::Enter]);
        assert_eq!(controls.mode, Mode::Look);
        pressed(&mut controls, &[Key::Escape]);
        assert_eq!(keys(&controls).len(), 3);
    }

    #[test]
    fn what_is_chosen_stays_chosen_in_another_order() {
        let mut controls = Controls::default();
        pressed(&mut controls, &[Key::Down, Key::Char('s')]);
        let board = board();
        let shown = controls.shown(&board, at(6));
        assert_eq!(shown[controls.chosen(&shown)].0, "beta");
        pressed(&mut controls, &[Key::End, Key::Down, Key::PageDown]);
        assert_eq!(controls.chosen(&shown), 2);
        pressed(&mut controls, &[Key::Home, Key::Up, Key::PageUp]);
        assert_eq!(controls.chosen(&shown), 0);
    }

    #[test]
    fn only_a_yes_evicts_whom_the_question_named() {
        let mut controls = Controls::default();
        assert_eq!(typed(&mut controls, "jen"), None);
        assert_eq!((controls.said.as_deref(), &controls.mode), (Some("nothing was done"), &Mode::Look));
        typed(&mut controls, "e");
        let Mode::Confirm { question, .. } = &controls.mode else { panic!("{:?}", controls.mode) };
        assert_eq!(question, "Evict cleo2 from beta? The next leader waits 15.00 s. [y/N]");
        let Some(Act::Evict { key, leader }) = typed(&mut controls, "y") else { panic!("nothing") };
        assert_eq!((key.as_str(), leader.name.as_str()), ("beta", "cleo2"));
    }

    #[test]
    fn a_vacant_election_has_no_leader_to_evict() {
        let mut controls = Controls::default();
        assert_eq!(pressed(&mut controls, &[Key::End, Key::Char('e'), Key::Char('y')]), None);
        typed(&mut controls, "e");
        assert_eq!(controls.said.as_deref(), Some("gamma is vacant: there is no leader to evict"));
    }

    #[test]
    fn it_is_left_with_q_and_with_ctrl_c_in_the_middle_of_a_question() {
        assert_eq!(typed(&mut Controls::default(), "q"), Some(Act::Leave));
        let mut controls = Controls::default();
        assert_eq!(pressed(&mut controls, &[Key::Char('e'), Key::Interrupt]), Some(Act::Leave));
    }
}
