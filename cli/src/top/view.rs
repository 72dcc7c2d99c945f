//! The lines of the screen.

use std::time::Duration;

use incumbent::Instant;
use incumbent::incumbent_core::record::Entry;

use super::board::{Board, Row, Since};
use super::controls::{Controls, Mode, Sort};
use crate::output::span;
use crate::screen::{Line, Tone, bar, cell, shortened};

/// The data to show.
pub(super) struct View<'a> {
    pub(super) place: &'a str,
    pub(super) board: &'a Board,
    pub(super) controls: &'a Controls,
    pub(super) now: Instant,
}

/// Lines that are no elections.
const FRAME: usize = 6;
/// The time after which a silent store is reported.
const SILENCE: Duration = Duration::from_secs(3);

/// The widths of the columns that vary.
#[derive(Clone, Copy)]
struct Widths {
    election: usize,
    leader: usize,
    bar: usize,
}

const HELD: usize = 9;
const LEFT: usize = 8;
const CHANGES: usize = 8;
const WAITING: usize = 8;

impl Widths {
    /// The width left beside the other columns, and the two spaces between all of them.
    fn of(width: usize) -> Self {
        let space = width.saturating_sub(1 + HELD + LEFT + CHANGES + WAITING + 2 * 5 + 1);
        let bar = (space / 5).clamp(8, 20);
        let space = space.saturating_sub(bar);
        let leader = space * 2 / 5;
        Self { election: space - leader, leader, bar }
    }
}

impl View<'_> {
    /// The lines of a terminal of that size.
    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let shown = self.controls.shown(self.board, self.now);
        let widths = Widths::of(width);
        let space = height.saturating_sub(FRAME);
        let chosen = self.controls.chosen(&shown);
        let first = (chosen + 1).saturating_sub(space);
        let mut lines = vec![self.title(shown.len(), width), Line::default(), self.headings(widths)];
        for (index, (key, row)) in shown.iter().enumerate().skip(first).take(space) {
            lines.push(self.row(key, row, widths, index == chosen));
        }
        if shown.is_empty() && space > 0 {
            lines.push(Line(vec![(Tone::Dim, format!(" {}", self.nothing()))]));
        }
        lines.resize(height.saturating_sub(3), Line::default());
        lines.push(more(shown.len(), first, space));
        lines.push(self.word(shown.get(chosen).copied()));
        lines.push(self.footer());
        lines.truncate(height);
        lines.iter().map(|line| line.cut(width)).collect()
    }

    fn title(&self, shown: usize, width: usize) -> Line {
        let name = " incumbent top";
        let all = self.board.rows.len();
        let count = match shown {
            shown if shown == all => format!("{all}"),
            shown => format!("{shown} of {all}"),
        };
        let held = self.board.rows.values().filter(|row| row.leader().is_some()).count();
        let elections = if count == "1" { "election" } else { "elections" };
        let count = format!("{count} {elections}, {held} held");
        let place = format!("  {}", self.place);
        let space = width.saturating_sub(name.len() + count.len() + 2);
        let place = shortened(&place, space);
        let gap = " ".repeat(space.saturating_sub(place.chars().count()) + 1);
        Line(vec![(Tone::Strong, name.into()), (Tone::Dim, place), (Tone::Plain, gap + &count)])
    }

    fn headings(&self, widths: Widths) -> Line {
        let Widths { election, leader, bar } = widths;
        let columns = [election, leader, HELD, bar + 1 + LEFT, CHANGES, WAITING];
        let mut pieces = vec![(Tone::Dim, " ".to_owned())];
        for (sort, width) in Sort::ALL.into_iter().zip(columns) {
            let is_sorted = sort == self.controls.sort;
            let arrow = match (is_sorted, self.controls.is_reversed) {
                (false, _) => "",
                (true, false) => "↓",
                (true, true) => "↑",
            };
            let tone = if is_sorted { Tone::Strong } else { Tone::Dim };
            pieces.push((tone, cell(&format!("{}{arrow}", sort.heading()), width)));
            pieces.push((Tone::Dim, "  ".into()));
        }
        Line(pieces)
    }

    fn row(&self, key: &str, row: &Row, widths: Widths, is_chosen: bool) -> Line {
        let state = row.state(self.now);
        let tone = match state {
            "held" => Tone::Good,
            "overdue" => Tone::Bad,
            _ => Tone::Warn,
        };
        let left = row.left(self.now);
        let (bar_tone, bar, left) = match left {
            None => (Tone::Dim, String::new(), String::new()),
            Some(left) => {
                let tone = match (left.is_bound, left.left * 3 < left.lease) {
                    (true, _) => Tone::Dim,
                    (false, true) => Tone::Warn,
                    (false, false) => Tone::Good,
                };
                let text = if state == "overdue" { state.into() } else { short(left.left, left.is_bound) };
                (tone, bar(left.left, left.lease, widths.bar), text)
            }
        };
        let chosen = if is_chosen { Tone::Chosen } else { Tone::Plain };
        let waiting = row.waiting.as_ref().map_or("-".into(), |waiting| waiting.len().to_string());
        Line(vec![
            (chosen, format!(" {}", cell(key, widths.election))),
            (tone, format!("  {}", cell(&leader(row, state), widths.leader))),
            (Tone::Plain, format!("  {}", cell(&age(row.held, self.now), HELD))),
            (bar_tone, format!("  {}", cell(&bar, widths.bar))),
            (if state == "overdue" { tone } else { Tone::Plain }, format!(" {left:>LEFT$}")),
            (Tone::Plain, format!("  {:>CHANGES$}", row.changes)),
            (Tone::Plain, format!("  {waiting:>WAITING$}")),
        ])
    }

    /// The reason why there are no lines.
    fn nothing(&self) -> &'static str {
        match (self.board.answered, self.board.rows.is_empty()) {
            (None, _) => "the store is asked",
            (Some(_), true) => "no election was ever held here",
            (Some(_), false) => "no election has that in its key or in its leader's name",
        }
    }

    /// The question or the result, or the store's warning; otherwise the candidates that wait for the chosen
    /// election.
    fn word(&self, chosen: Option<(&str, &Row)>) -> Line {
        let controls = self.controls;
        let silent = self.now.since(self.board.answered.unwrap_or(self.board.began));
        let (tone, text) = match (&controls.mode, &controls.said, &self.board.warning) {
            (Mode::Confirm { question, .. }, _, _) => (Tone::Strong, question.clone()),
            (Mode::Filter, _, _) => (Tone::Strong, format!("filter: {}▏", controls.filter)),
            (Mode::Look, Some(said), _) => (Tone::Strong, said.clone()),
            (Mode::Look, None, Some(warning)) => {
                (Tone::Bad, format!("as it was {} ago: {warning}", span(silent)))
            }
            (Mode::Look, None, None) if silent > SILENCE => {
                (Tone::Bad, format!("the store has not answered for {}", span(silent)))
            }
            (Mode::Look, None, None) if !controls.filter.is_empty() => {
                (Tone::Warn, format!("filter: {}  (Esc shows all)", controls.filter))
            }
            (Mode::Look, None, None) => {
                (Tone::Plain, chosen.map(|(key, row)| waiting(key, row)).unwrap_or_default())
            }
        };
        Line(vec![(tone, format!(" {text}"))])
    }

    fn footer(&self) -> Line {
        let keys = match self.controls.mode {
            Mode::Look => " q leave  ↑↓ choose  s sort  r reverse  / filter  e evict",
            Mode::Filter => " Enter done  Esc shows all",
            Mode::Confirm { .. } => " y evicts  any other key: nothing is done",
        };
        Line(vec![(Tone::Dim, keys.into())])
    }
}

/// The leader, or the successor that was named, or the reason for the vacancy.
fn leader(row: &Row, state: &str) -> String {
    match (&row.entry, row.leader()) {
        (_, Some(leader)) => leader.to_owned(),
        (Entry::Released(release), _) if release.successor.is_some() => {
            format!("→ {}", release.successor.as_deref().unwrap_or_default())
        }
        _ => format!("({state})"),
    }
}

/// The candidates that wait in that election, and for how long.
fn waiting(key: &str, row: &Row) -> String {
    let Some(waiting) = &row.waiting else { return String::new() };
    let names: Vec<_> =
        waiting.iter().map(|one| format!("{} {}", one.name, clock(one.standing_for))).collect();
    match names.as_slice() {
        [] => format!("no candidate answered that waits for {key}"),
        names => format!("waiting for {key}: {}", names.join(", ")),
    }
}

/// The numbers of lines above and below.
fn more(shown: usize, first: usize, space: usize) -> Line {
    let below = shown.saturating_sub(first + space);
    let text = match (first, below) {
        (0, 0) => String::new(),
        (0, below) => format!(" {below} more below"),
        (above, 0) => format!(" {above} more above"),
        (above, below) => format!(" {above} more above, {below} below"),
    };
    Line(vec![(Tone::Dim, text)])
}

/// The age of a state; with `>` where it is a lower bound.
fn age(since: Since, now: Instant) -> String {
    let bound = if since.is_exact { "" } else { ">" };
    format!("{bound}{}", clock(since.age(now)))
}

/// `4:05`, `2:04:05`, `3d4h`.
fn clock(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes, seconds) =
        (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (days, hours) => format!("{days}d{hours}h"),
    }
}

/// Seconds with one decimal; `<` where it is an upper bound.
fn short(left: Duration, is_bound: bool) -> String {
    let bound = if is_bound && !left.is_zero() { "<" } else { "" };
    format!("{bound}{:.1} s", left.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::board::tests::{at, deleted, held, present};
    use super::*;
    use crate::screen::Key;

    fn board() -> Board {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 1), held("nightly-report", "ben2", 2)], None);
        let now = vec![held("jobs", "ada", 3), held("nightly-report", "ben2", 2), deleted("old", 4)];
        board.take(at(74), now, None);
        board.call(Some(vec![
            present("jobs", "ada", 3),
            present("jobs", "cleo", 1),
            present("jobs", "dora", 2),
        ]));
        board
    }

    fn text(lines: &[Line]) -> Vec<String> {
        let whole = |line: &Line| line.0.iter().map(|(_, text)| text.as_str()).collect::<String>();
        lines.iter().map(|line| whole(line).trim_end().to_owned()).collect()
    }

    fn lines(board: &Board, controls: &Controls, width: usize, height: usize) -> Vec<Line> {
        View { place: "sqlite:elections.db", board, controls, now: at(75) }.lines(width, height)
    }

    #[test]
    fn it_shows_who_leads_for_how_long_and_what_is_left_of_the_lease() {
        assert_eq!(
            text(&lines(&board(), &Controls::default(), 80, 12)),
            [
                " incumbent top  sqlite:elections.db                         3 elections, 2 held",
                "",
                " election↓          leader      for        left of the lease  changes   waiting",
                " jobs               ada         >1:14      ███████▌   14.0 s         0         2",
                " nightly-report     ben2        >1:14                overdue         0         0",
                " old                (deleted)   0:01                                 0         0",
                "",
                "",
                "",
                "",
                " waiting for jobs: cleo 1:10, dora 1:10",
                " q leave  ↑↓ choose  s sort  r reverse  / filter  e evict",
            ]
        );
    }

    #[test]
    fn every_line_fits_a_terminal_of_any_size() {
        let mut controls = Controls::default();
        controls.press(Key::Char('e'), &board(), at(75));
        for (width, height) in [(0, 0), (1, 1), (10, 3), (80, 24), (120, 40), (300, 2)] {
            let lines = lines(&board(), &controls, width, height);
            assert_eq!(lines.len(), height);
            for line in text(&lines) {
                assert!(line.chars().count() <= width, "{line:?} in {width}");
            }
        }
    }

    #[test]
    fn what_is_chosen_is_on_the_screen_and_what_is_not_is_counted() {
        let mut board = Board::new(at(0));
        board.take(at(1), (0..40).map(|n| held(&format!("e{n:02}"), "ada", n)).collect(), None);
        let mut controls = Controls::default();
        let first = text(&lines(&board, &controls, 80, 24));
        assert!(first[3].starts_with(" e00 ") && first[20].starts_with(" e17 "), "{first:#?}");
        assert_eq!(first[21], " 22 more below");
        for _ in 0..20 {
            controls.press(Key::Down, &board, at(75));
        }
        let moved = text(&lines(&board, &controls, 80, 24));
        assert!(moved[20].starts_with(" e20 "), "{moved:#?}");
        assert_eq!(moved[21], " 3 more above, 19 below");
    }

    #[test]
    fn a_store_that_does_not_answer_is_shown_with_the_age_of_the_screen() {
        let mut board = board();
        let word = |board: &Board| {
            let view = View { place: "", board, controls: &Controls::default(), now: at(79) };
            text(&view.lines(80, 12))[10].clone()
        };
        assert_eq!(word(&board), " the store has not answered for 5.00 s");
        board.warning("no answer".into());
        assert_eq!(word(&board), " as it was 5.00 s ago: no answer");
    }

    #[test]
    fn ages_are_short_at_every_length() {
        let since = |is_exact| Since { at: at(0), already: Duration::ZERO, is_exact };
        let shown = |seconds| age(since(true), at(seconds));
        assert_eq!(shown(5), "0:05");
        assert_eq!(shown(7_445), "2:04:05");
        assert_eq!(shown(273_845), "3d4h");
        assert_eq!(age(since(false), at(60)), ">1:00");
    }
}
