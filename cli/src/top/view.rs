//! The picture of the screen.

use std::time::Duration;

use incumbent::Instant;
use incumbent::incumbent_core::record::Entry;
use ratatui::buffer::Buffer;
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row as Cells, Table, Widget};

use super::board::{Board, Row, Since};
use super::controls::{Controls, Mode, Sort};
use crate::output::span;
use crate::screen::{bar, columns, fitting, title, tone};

/// The data to show.
pub(super) struct View<'a> {
    pub(super) place: &'a str,
    pub(super) board: &'a Board,
    pub(super) controls: &'a Controls,
    pub(super) now: Instant,
}

/// The time after which a silent store is reported.
const SILENCE: Duration = Duration::from_secs(3);

/// The columns that are shown in addition to that of the election, with their widths.
struct Widths {
    election: u16,
    /// Zero for none.
    bar: u16,
    others: Vec<(Sort, u16)>,
}

const HELD: u16 = 9;
const LEFT: u16 = 8;
const CHANGES: u16 = 8;
const WAITING: u16 = 8;
/// The space between two columns.
const BETWEEN: u16 = 2;
/// The width that the names of elections and leaders must have together before another column is shown.
const NAMES: u16 = 20;

impl Widths {
    /// Chooses as many columns as leave space for names. The bar is dropped first, and the rest of the lease last.
    fn of(width: u16) -> Self {
        // The first column begins with a space.
        let names = |others: &[(Sort, u16)]| {
            let others = others.iter().map(|(_, width)| BETWEEN + width).sum::<u16>();
            width.saturating_sub(1 + BETWEEN + others)
        };
        let mut others =
            vec![(Sort::Held, HELD), (Sort::Left, LEFT), (Sort::Changes, CHANGES), (Sort::Waiting, WAITING)];
        let with_bar = names(&others).saturating_sub(1);
        let bar = (with_bar / 5).clamp(8, 20);
        let bar = if with_bar >= NAMES + bar { bar } else { 0 };
        if bar > 0 {
            // The column of the rest of the lease, which has the bar.
            others[1].1 += bar + 1;
        }
        for dropped in [Sort::Changes, Sort::Waiting, Sort::Held, Sort::Left] {
            if names(&others) < NAMES {
                others.retain(|(column, _)| *column != dropped);
            }
        }
        let space = names(&others);
        let leader = space * 2 / 5;
        others.insert(0, (Sort::Leader, leader));
        Self { election: space - leader, bar, others }
    }

    /// The widths of all columns.
    fn all(&self) -> Vec<u16> {
        [1 + self.election].into_iter().chain(self.others.iter().map(|(_, width)| *width)).collect()
    }
}

/// The heights of the parts around the lines of elections. If the screen is too low for all parts, the least useful
/// part is dropped first, and a question last.
struct Heights {
    title: u16,
    space: u16,
    headings: u16,
    hidden: u16,
    word: u16,
    footer: u16,
}

/// The number of elections that are shown before any line that only helps to read them.
const ELECTIONS: u16 = 3;

impl Heights {
    fn of(height: u16, asks: bool) -> Self {
        let from = |least| u16::from(height >= least);
        // The title, the headings, the word and the footer have a line each.
        let (hidden, space) = (from(ELECTIONS + 5), from(ELECTIONS + 6));
        let word = if asks { from(1) } else { from(2) };
        Self { title: from(3), space, headings: from(5), hidden, word, footer: from(4) }
    }
}

impl Widget for &View<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let heights = Heights::of(area.height, matches!(self.controls.mode, Mode::Confirm { .. }));
        let Heights { title, space, headings, hidden: more, word, footer } = heights;
        let [top, _, table, more, word, footer] = Layout::vertical([
            Length(title),
            Length(space),
            Fill(1),
            Length(more),
            Length(word),
            Length(footer),
        ])
        .areas(area);
        let [_, rows] = Layout::vertical([Length(headings), Fill(1)]).areas(table);
        let shown = self.controls.shown(self.board, self.now);
        let space = usize::from(rows.height);
        let chosen = self.controls.chosen(&shown);
        let first = (chosen + 1).saturating_sub(space);

        self.title(shown.len(), area.width).render(top, buffer);
        let widths = Widths::of(area.width);
        // Only the elections that are shown become text, because a store may have thousands of elections.
        let visible = shown.iter().enumerate().skip(first).take(space);
        let lines = visible.map(|(index, (key, row))| self.row(key, row, &widths, index == chosen));
        let lines = Table::new(lines, columns(&widths.all(), BETWEEN, area.width)).column_spacing(BETWEEN);
        let lines = if headings > 0 { lines.header(self.headings(&widths)) } else { lines };
        Widget::render(lines, table, buffer);
        if shown.is_empty() {
            Line::from(Span::styled(format!(" {}", self.nothing()), tone::DIM)).render(rows, buffer);
        }
        Line::from(Span::styled(hidden(shown.len(), first, space), tone::DIM)).render(more, buffer);
        Line::from(self.word(shown.get(chosen).copied())).render(word, buffer);
        Line::from(self.footer()).render(footer, buffer);
    }
}

impl View<'_> {
    fn title(&self, shown: usize, width: u16) -> Line<'static> {
        let all = self.board.rows.len();
        let count = match shown {
            shown if shown == all => format!("{all}"),
            shown => format!("{shown} of {all}"),
        };
        let held = self.board.rows.values().filter(|row| row.leader().is_some()).count();
        let elections = if count == "1" { "election" } else { "elections" };
        let count = Span::raw(format!("{count} {elections}, {held} held"));
        title(" incumbent top", &format!("  {}", self.place), count, width)
    }

    fn headings(&self, widths: &Widths) -> Cells<'static> {
        let columns = [(Sort::Election, widths.election)].into_iter().chain(widths.others.iter().copied());
        let headings = columns.map(|(sort, width)| {
            let is_sorted = sort == self.controls.sort;
            let arrow = match (is_sorted, self.controls.is_reversed) {
                (false, _) => "",
                (true, false) => "↓",
                (true, true) => "↑",
            };
            let tone = if is_sorted { tone::STRONG } else { tone::DIM };
            let margin = if sort == Sort::Election { " " } else { "" };
            let text = match sort {
                Sort::Left if widths.bar == 0 => {
                    format!("{:>1$}", format!("left{arrow}"), usize::from(width))
                }
                sort => fitting(&format!("{}{arrow}", sort.heading()), width),
            };
            Span::styled(format!("{margin}{text}"), tone)
        });
        Cells::new(headings)
    }

    fn row(&self, key: &str, row: &Row, widths: &Widths, is_chosen: bool) -> Cells<'static> {
        let state = row.state(self.now);
        let tone = match state {
            "held" => tone::GOOD,
            "overdue" => tone::BAD,
            _ => tone::WARN,
        };
        let left = row.left(self.now);
        let (bar_tone, bar, left) = match left {
            None => (tone::DIM, String::new(), String::new()),
            Some(left) => {
                let tone = match (left.is_bound, left.left * 3 < left.lease) {
                    (true, _) => tone::DIM,
                    (false, true) => tone::WARN,
                    (false, false) => tone::GOOD,
                };
                let text = if state == "overdue" { state.into() } else { short(left.left, left.is_bound) };
                (tone, bar(left.left, left.lease, widths.bar), text)
            }
        };
        let left_tone = if state == "overdue" { tone } else { tone::PLAIN };
        let waiting = row.waiting.as_ref().map_or("-".into(), |waiting| waiting.len().to_string());
        let (bar_width, left_width) = (usize::from(widths.bar), usize::from(LEFT));
        let (changes_width, waiting_width) = (usize::from(CHANGES), usize::from(WAITING));
        let election = Cell::from(format!(" {}", fitting(key, widths.election)));
        let election = election.style(if is_chosen { tone::CHOSEN } else { tone::PLAIN });
        let others = widths.others.iter().map(|(column, width)| match column {
            Sort::Election | Sort::Leader => {
                Cell::from(Span::styled(fitting(&leader(row, state), *width), tone))
            }
            Sort::Held => Cell::from(fitting(&age(row.held, self.now), *width)),
            Sort::Left if widths.bar == 0 => {
                Cell::from(Span::styled(format!("{left:>left_width$}"), left_tone))
            }
            Sort::Left => Cell::from(Line::from(vec![
                Span::styled(format!("{bar:<bar_width$}"), bar_tone),
                Span::styled(format!(" {left:>left_width$}"), left_tone),
            ])),
            Sort::Changes => Cell::from(format!("{:>changes_width$}", row.changes)),
            Sort::Waiting => Cell::from(format!("{waiting:>waiting_width$}")),
        });
        Cells::new([election].into_iter().chain(others))
    }

    /// The reason for which there are no lines.
    fn nothing(&self) -> &'static str {
        match (self.board.answered, self.board.rows.is_empty()) {
            (None, _) => "waiting for the store",
            (Some(_), true) => {
                "no election has a record here: none was ever held, or all records have expired"
            }
            (Some(_), false) => "no key and no leader's name contains the filter's text",
        }
    }

    /// The question, the result or the store's warning. Without any of these, the candidates that wait for the chosen
    /// election.
    fn word(&self, chosen: Option<(&str, &Row)>) -> Span<'static> {
        let controls = self.controls;
        let silent = self.now.since(self.board.answered.unwrap_or(self.board.began));
        let (tone, text) = match (&controls.mode, &controls.said, &self.board.warning) {
            (Mode::Confirm { question, .. }, _, _) => (tone::STRONG, question.clone()),
            (Mode::Filter, _, _) => (tone::STRONG, format!("filter: {}▏", controls.filter)),
            (Mode::Look, Some(said), _) => (tone::STRONG, said.clone()),
            (Mode::Look, None, Some(warning)) => {
                (tone::BAD, format!("as it was {} ago: {warning}", span(silent)))
            }
            (Mode::Look, None, None) if silent > SILENCE => {
                (tone::BAD, format!("the store has not answered for {}", span(silent)))
            }
            (Mode::Look, None, None) if !controls.filter.is_empty() => {
                (tone::WARN, format!("filter: {}  (Esc shows all)", controls.filter))
            }
            (Mode::Look, None, None) => {
                (tone::PLAIN, chosen.map(|(key, row)| waiting(key, row)).unwrap_or_default())
            }
        };
        Span::styled(format!(" {text}"), tone)
    }

    fn footer(&self) -> Span<'static> {
        let keys = match self.controls.mode {
            Mode::Look => " q leave  ↑↓ choose  s sort  r reverse  / filter  e evict",
            Mode::Filter => " Enter done  Esc shows all",
            Mode::Confirm { .. } => " y evicts  any other key cancels",
        };
        Span::styled(keys, tone::DIM)
    }
}

/// The leader, the named successor, or the reason for the vacancy.
fn leader(row: &Row, state: &str) -> String {
    match (&row.entry, row.leader()) {
        (_, Some(leader)) => leader.to_owned(),
        (Entry::Released(release), _) if release.successor.is_some() => {
            format!("→ {}", release.successor.as_deref().unwrap_or_default())
        }
        _ => format!("({state})"),
    }
}

/// The candidates that wait in that election, and for how long each has waited.
fn waiting(key: &str, row: &Row) -> String {
    let Some(waiting) = &row.waiting else { return String::new() };
    let names: Vec<_> =
        waiting.iter().map(|one| format!("{} {}", one.name, clock(one.standing_for))).collect();
    match names.as_slice() {
        [] => format!("no waiting candidate of {key} answered"),
        names => format!("waiting for {key}: {}", names.join(", ")),
    }
}

/// A note of how many lines are hidden above and below.
fn hidden(shown: usize, first: usize, space: usize) -> String {
    let below = shown.saturating_sub(first + space);
    match (first, below) {
        (0, 0) => String::new(),
        (0, below) => format!(" {below} more below"),
        (above, 0) => format!(" {above} more above"),
        (above, below) => format!(" {above} more above, {below} below"),
    }
}

/// The age of a state, with `>` if it is a lower bound.
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

/// Seconds with one decimal, with `<` if they are an upper bound.
fn short(left: Duration, is_bound: bool) -> String {
    let bound = if is_bound && !left.is_zero() { "<" } else { "" };
    format!("{bound}{:.1} s", left.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::super::board::tests::{at, deleted, held, present};
    use super::*;
    use crate::screen::Key;
    use crate::screen::tests::{drawn, picture, text};

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

    fn shown(board: &Board, controls: &Controls, width: u16, height: u16) -> Buffer {
        let view = View { place: "sqlite:elections.db", board, controls, now: at(75) };
        drawn(&view, width, height)
    }

    #[test]
    fn it_shows_who_leads_for_how_long_and_what_is_left_of_the_lease() {
        let lines = [
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
        ];
        let styles = [
            (0, 0..14, tone::STRONG),
            (0, 14..60, tone::DIM),
            (2, 0..10, tone::STRONG),
            (2, 20..26, tone::DIM),
            (2, 32..35, tone::DIM),
            (2, 43..60, tone::DIM),
            (2, 62..69, tone::DIM),
            (2, 72..79, tone::DIM),
            (3, 0..18, tone::CHOSEN),
            (3, 20..23, tone::GOOD),
            (3, 43..51, tone::GOOD),
            (4, 20..24, tone::BAD),
            (4, 43..51, tone::DIM),
            (4, 51..60, tone::BAD),
            (5, 20..29, tone::WARN),
            (5, 43..51, tone::DIM),
            (11, 0..57, tone::DIM),
        ];
        assert_eq!(shown(&board(), &Controls::default(), 80, 12), picture(lines, 80, &styles));
    }

    #[test]
    fn a_narrow_terminal_keeps_elections_and_leaders_and_drops_the_bar_and_then_columns() {
        let lines = |width| text(&shown(&board(), &Controls::default(), width, 9));
        assert_eq!(
            lines(60),
            [
                " incumbent top  sqlite:elections.db     3 elections, 2 held",
                "",
                " election↓         leader      for            left  waiting",
                " jobs              ada         >1:14        14.0 s         2",
                " nightly-report    ben2        >1:14       overdue         0",
                " old               (deleted)   0:01                        0",
                "",
                " waiting for jobs: cleo 1:10, dora 1:10",
                " q leave  ↑↓ choose  s sort  r reverse  / filter  e evict",
            ]
        );
        assert_eq!(
            lines(40),
            [
                " incumbent top  …db 3 elections, 2 held",
                "",
                " election↓          leader          left",
                " jobs               ada           14.0 s",
                " nightly-report     ben2         overdue",
                " old                (deleted)",
                "",
                " waiting for jobs: cleo 1:10, dora 1:10",
                " q leave  ↑↓ choose  s sort  r reverse",
            ]
        );
    }

    #[test]
    fn a_low_terminal_keeps_lines_of_elections_and_drops_what_surrounds_them() {
        let lines = |height| text(&shown(&board(), &Controls::default(), 40, height));
        let (jobs, nightly) =
            (" jobs               ada           14.0 s", " nightly-report     ben2         overdue");
        let (title, old) = (" incumbent top  …db 3 elections, 2 held", " old                (deleted)");
        let headings = " election↓          leader          left";
        let word = " waiting for jobs: cleo 1:10, dora 1:10";
        let keys = " q leave  ↑↓ choose  s sort  r reverse";
        assert_eq!(lines(8), [title, headings, jobs, nightly, old, "", word, keys]);
        assert_eq!(lines(7), [title, headings, jobs, nightly, old, word, keys]);
        assert_eq!(lines(5), [title, headings, jobs, word, keys]);
        assert_eq!(lines(4), [title, jobs, word, keys]);
        assert_eq!(lines(3), [title, jobs, word]);
        assert_eq!(lines(2), [jobs, word]);
        assert_eq!(lines(1), [jobs]);
    }

    #[test]
    fn the_smallest_terminal_that_people_have_shows_an_election_and_its_leader() {
        assert_eq!(
            text(&shown(&board(), &Controls::default(), 20, 5)),
            [
                " incumbent top 3 ele",
                " election↓    leader",
                " jobs         ada",
                " waiting for jobs: c",
                " q leave  ↑↓ choose",
            ]
        );
    }

    #[test]
    fn a_question_is_on_the_lowest_terminal_too() {
        let mut controls = Controls::default();
        controls.press(Key::Char('e'), &board(), at(75));
        let question = " Evict ada from jobs? The next leader waits 15.00 s. [y/N]";
        assert_eq!(text(&shown(&board(), &controls, 80, 1)), [question]);
    }

    #[test]
    fn a_tall_terminal_has_its_last_lines_at_its_end() {
        let tall = text(&shown(&board(), &Controls::default(), 120, 40));
        let rows = [
            " jobs                                  ada                       >1:14      ██████████████    14.0 s         0         2",
            " nightly-report                        ben2                      >1:14                       overdue         0         0",
            " old                                   (deleted)                 0:01                                        0         0",
        ];
        assert_eq!(tall[3..6], rows);
        assert!(tall[6..38].iter().all(String::is_empty), "{tall:#?}");
        let end = [
            " waiting for jobs: cleo 1:10, dora 1:10",
            " q leave  ↑↓ choose  s sort  r reverse  / filter  e evict",
        ];
        assert_eq!(tall[38..], end);
    }

    #[test]
    fn a_question_takes_the_place_of_the_candidates_and_of_the_keys() {
        let mut controls = Controls::default();
        controls.press(Key::Char('e'), &board(), at(75));
        let asked = shown(&board(), &controls, 80, 12);
        let end = [
            " Evict ada from jobs? The next leader waits 15.00 s. [y/N]",
            " y evicts  any other key cancels",
        ];
        assert_eq!(text(&asked)[10..], end);
        assert_eq!(asked[(1, 10)].modifier, Modifier::BOLD);
    }

    #[test]
    fn wide_characters_and_control_characters_move_no_column() {
        let mut board = Board::new(at(0));
        let keys = ["選挙の鍵は長い名前です", "a\u{1b}[2Jb", "reports-of-every-night"];
        board.take(at(1), keys.map(|key| held(key, "大統領の名前", 1)).into(), None);
        let lines = text(&shown(&board, &Controls::default(), 80, 12));
        let rows = [
            " a[2Jb              大統領の…   >1:14                overdue         0         -",
            " reports-of-every…  大統領の…   >1:14                overdue         0         -",
            " 選挙の鍵は長い名…  大統領の…   >1:14                overdue         0         -",
        ];
        assert_eq!(lines[3..6], rows);
    }

    #[test]
    fn a_terminal_of_any_size_is_survived() {
        for (width, height) in [(0, 0), (1, 1), (2, 2), (10, 3), (20, 5), (300, 2)] {
            let drawn = shown(&board(), &Controls::default(), width, height);
            assert_eq!((drawn.area.width, drawn.area.height), (width, height));
        }
    }

    #[test]
    fn what_is_chosen_is_on_the_screen_and_what_is_not_is_counted() {
        let mut board = Board::new(at(0));
        board.take(at(1), (0..40).map(|n| held(&format!("e{n:02}"), "ada", n)).collect(), None);
        let mut controls = Controls::default();
        let first = text(&shown(&board, &controls, 80, 24));
        assert!(first[3].starts_with(" e00 ") && first[20].starts_with(" e17 "), "{first:#?}");
        assert_eq!(first[21], " 22 more below");
        for _ in 0..20 {
            controls.press(Key::Down, &board, at(75));
        }
        let moved = shown(&board, &controls, 80, 24);
        let lines = text(&moved);
        assert!(lines[20].starts_with(" e20 "), "{lines:#?}");
        assert_eq!(lines[21], " 3 more above, 19 below");
        let reversed = (3..21).filter(|y| moved[(1, *y)].modifier.contains(Modifier::REVERSED));
        assert_eq!(reversed.collect::<Vec<_>>(), [20]);
    }

    #[test]
    fn a_store_that_does_not_answer_is_shown_with_the_age_of_the_screen() {
        let mut board = board();
        let word = |board: &Board| {
            let view = View { place: "", board, controls: &Controls::default(), now: at(79) };
            text(&drawn(&view, 80, 12))[10].clone()
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
