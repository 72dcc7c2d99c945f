//! The live table.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Row as Cells, Table, Widget};

use crate::output::span;
use crate::screen::{bar, columns, title, tone};

/// Everything the table shows.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) store: String,
    pub(super) key: String,
    pub(super) lease: Duration,
    pub(super) lasted: Duration,
    pub(super) rows: Vec<Row>,
    pub(super) terms: u64,
    pub(super) overlaps: usize,
    /// The median and the longest.
    pub(super) vacancy: Option<(Duration, Duration)>,
    /// Oldest first: time, tone, text.
    pub(super) log: Vec<(Duration, Style, String)>,
    pub(super) is_closing: bool,
}

/// One candidate.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) pid: Option<u32>,
    /// The code of the campaign's state.
    pub(super) state: String,
    pub(super) is_present: bool,
    pub(super) is_stopped: bool,
    /// The sequence of the current term's token.
    pub(super) token: Option<u64>,
    /// The remaining lease; `None` if the candidate does not lead.
    pub(super) left: Option<Duration>,
    pub(super) terms: u32,
    pub(super) fault: Option<String>,
}

/// The width of the bar that shows the remaining lease, in cells.
const BAR: u16 = 12;
/// The widths of all columns but the last. Some begin with an extra space.
const COLUMNS: [u16; 6] = [11, 7, 11, 6, 1 + BAR + 9, 5];
/// The number of lines other than those of the candidates and of the log.
const FRAME: usize = 7;
/// The number of log lines that are shown even if some candidates must be left out.
const SHORTEST_LOG: usize = 5;

impl Widget for &View {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let space = usize::from(area.height).saturating_sub(FRAME);
        let rows = self.rows.len().min(space.saturating_sub(SHORTEST_LOG).max(1));
        let table = 1 + u16::try_from(rows).unwrap_or(u16::MAX);
        let [all, footer] = Layout::vertical([Fill(1), Length(1)]).areas(area);
        let [above, below] = Layout::vertical([Length(2 + table), Fill(1)]).areas(all);
        let [top, _, table] = Layout::vertical([Length(1), Length(1), Fill(1)]).areas(above);
        let [_, totals, _, log] = Layout::vertical([Length(1), Length(1), Length(1), Fill(1)]).areas(below);
        self.title(area.width).render(top, buffer);
        let widths: Vec<u16> = COLUMNS.into_iter().chain([area.width]).collect();
        Table::new(self.chosen(rows).map(|row| row.cells(self.lease)), columns(&widths, 1, area.width))
            .header(self.headings())
            .render(table, buffer);
        self.totals().render(totals, buffer);
        let skipped = self.log.len().saturating_sub(log.height.into());
        self.log[skipped..].iter().map(entry).collect::<Text<'_>>().render(log, buffer);
        Line::from(self.footer(self.rows.len() - rows)).render(footer, buffer);
    }
}

impl View {
    fn title(&self, width: u16) -> Line<'static> {
        let clock = format!("{:02}:{:02}", self.lasted.as_secs() / 60, self.lasted.as_secs() % 60);
        let place = format!("  {:?} in {}", self.key, self.store);
        title(" incumbent demo", &place, Span::styled(clock, tone::STRONG), width)
    }

    fn headings(&self) -> Cells<'static> {
        let left = format!(" left of {}", span(self.lease));
        let headings = [" candidate", "    pid", " state", " token", &left, "terms", " fault"];
        Cells::new(headings.map(|heading| Span::styled(heading.to_owned(), tone::DIM)))
    }

    /// Chooses the rows to show; the leader is always among them.
    fn chosen(&self, count: usize) -> impl Iterator<Item = &Row> {
        let leader = self.rows.iter().position(|row| row.token.is_some()).filter(|&leader| leader >= count);
        let last = count.saturating_sub(1);
        // `count` is at most the number of rows.
        (0..count).map(move |index| match leader {
            Some(leader) if index == last => &self.rows[leader],
            _ => &self.rows[index],
        })
    }

    fn totals(&self) -> Line<'static> {
        let terms = if self.terms == 1 { "term" } else { "terms" };
        let mut pieces = vec![Span::raw(format!(" {} {terms}", self.terms))];
        if let Some((median, longest)) = self.vacancy {
            pieces.push(Span::raw(format!(
                "   vacant for {} (p50), {} (longest)",
                span(median),
                span(longest)
            )));
        }
        pieces.push(match self.overlaps {
            0 => Span::styled("   two leaders: never", tone::GOOD),
            n => Span::styled(format!("   TWO LEADERS: {n} times"), tone::BAD),
        });
        Line::from(pieces)
    }

    fn footer(&self, hidden: usize) -> Span<'static> {
        let more = if hidden > 0 { format!("{hidden} more; ") } else { String::new() };
        let text = if self.is_closing {
            "all candidates leave; Ctrl-C kills"
        } else {
            "Ctrl-C ends it; try kill -9 on the leader yourself"
        };
        Span::styled(format!(" {more}{text}"), tone::DIM)
    }
}

impl Row {
    fn cells(&self, lease: Duration) -> Cells<'static> {
        let pid = self.pid.map_or_else(|| "-".into(), |pid| pid.to_string());
        let token = self.token.map_or_else(String::new, |token| token.to_string());
        let (tone, state) = self.condition();
        let left = self.left.map(|left| (bar(left, lease, BAR), format!("{:>5.2} s", left.as_secs_f64())));
        let (bar, left) = left.unwrap_or_default();
        let fault = self.fault.as_ref().map(|fault| format!(" {fault}")).unwrap_or_default();
        let name_tone = if self.token.is_some() { tone::STRONG } else { tone::PLAIN };
        let bar_width = usize::from(BAR);
        Cells::new([
            Cell::from(Span::styled(format!(" {}", self.name), name_tone)),
            Cell::from(Span::styled(format!("{pid:>7}"), tone::DIM)),
            Cell::from(Span::styled(format!(" {state}"), tone)),
            Cell::from(format!("{token:>6}")),
            Cell::from(Line::from(vec![
                Span::styled(format!(" {bar:<bar_width$}"), tone),
                Span::raw(format!(" {left}")),
            ])),
            Cell::from(format!("{:>5}", self.terms)),
            Cell::from(Span::styled(fault, tone::WARN)),
        ])
    }

    fn condition(&self) -> (Style, String) {
        if !self.is_present {
            return (tone::BAD, "dead".into());
        }
        if self.is_stopped {
            return (tone::WARN, "stopped".into());
        }
        let tone = match self.state.as_str() {
            "LEADING" => tone::GOOD,
            "DRAINING" | "RELEASING" | "ACQUIRING" | "HOLDING" => tone::WARN,
            _ => tone::DIM,
        };
        let state = if self.state.is_empty() { "starting".into() } else { self.state.to_lowercase() };
        (tone, state)
    }
}

fn entry((at, tone, text): &(Duration, Style, String)) -> Line<'_> {
    Line::from(vec![
        Span::styled(format!(" {}  ", stamp(*at)), tone::DIM),
        Span::styled(text.as_str(), *tone),
    ])
}

/// Minutes, seconds and tenths since the start.
pub(super) fn stamp(at: Duration) -> String {
    let tenths = at.as_millis() / 100;
    format!("{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::tests::{drawn, picture, text};

    fn row(name: &str, state: &str) -> Row {
        Row { name: name.into(), pid: Some(4711), state: state.into(), is_present: true, ..Row::default() }
    }

    fn view() -> View {
        let leader = Row {
            token: Some(42),
            left: Some(Duration::from_millis(1_500)),
            terms: 3,
            ..row("ben", "LEADING")
        };
        let dead = Row { is_present: false, pid: None, fault: Some("killed".into()), ..row("cleo", "") };
        View {
            store: "sqlite:elections.db".into(),
            key: "demo".into(),
            lease: Duration::from_secs(2),
            lasted: Duration::from_secs(74),
            rows: vec![row("ada", "WAITING"), leader, dead],
            terms: 12,
            overlaps: 0,
            vacancy: Some((Duration::from_millis(41), Duration::from_millis(2_100))),
            log: vec![(
                Duration::from_millis(61_240),
                tone::WARN,
                "killed cleo, the leader (SIGKILL)".into(),
            )],
            is_closing: false,
        }
    }

    #[test]
    fn the_table_fits_a_terminal_of_80_by_24() {
        let mut view = view();
        view.store = format!("sqlite:/tmp/{}/elections.db", "x".repeat(90));
        view.rows = (0..10).map(|_| view.rows[1].clone()).collect();
        view.log = (0..30).map(|n| (Duration::from_secs(n), tone::PLAIN, "x".repeat(200))).collect();
        let candidate = " ben           4711  leading        42  █████████     1.50 s      3".to_owned();
        let entry = |n: u32| format!(" 00:{n}.0  {}", "x".repeat(70));
        let lines = text(&drawn(&view, 80, 24));
        assert_eq!(lines.len(), 24);
        assert_eq!(lines[0], format!(" incumbent demo  …{}/elections.db 01:14", "x".repeat(42)));
        assert_eq!(lines[3..13], [(); 10].map(|()| candidate.clone()));
        assert_eq!(lines[16..23], [23, 24, 25, 26, 27, 28, 29].map(entry));
        assert!(lines[23].starts_with(" Ctrl-C ends it"), "{lines:#?}");
    }

    #[test]
    fn it_shows_who_leads_for_how_long_and_what_happened() {
        let lines = [
            " incumbent demo  \"demo\" in sqlite:elections.db                            01:14",
            "",
            " candidate      pid  state       token  left of 2.00 s        terms  fault",
            " ada           4711  waiting                                      0",
            " ben           4711  leading        42  █████████     1.50 s      3",
            " cleo             -  dead                                         0  killed",
            "",
            " 12 terms   vacant for 41 ms (p50), 2.10 s (longest)   two leaders: never",
            "",
            " 01:01.2  killed cleo, the leader (SIGKILL)",
            "",
            "",
            "",
            "",
            "",
            " Ctrl-C ends it; try kill -9 on the leader yourself",
        ];
        let styles = [
            (0, 0..15, tone::STRONG),
            (0, 15..74, tone::DIM),
            (0, 74..79, tone::STRONG),
            (2, 0..10, tone::DIM),
            (2, 12..19, tone::DIM),
            (2, 20..26, tone::DIM),
            (2, 32..38, tone::DIM),
            (2, 39..54, tone::DIM),
            (2, 62..67, tone::DIM),
            (2, 68..74, tone::DIM),
            (3, 12..19, tone::DIM),
            (3, 20..28, tone::DIM),
            (3, 39..52, tone::DIM),
            (4, 0..4, tone::STRONG),
            (4, 12..19, tone::DIM),
            (4, 20..28, tone::GOOD),
            (4, 39..52, tone::GOOD),
            (5, 12..19, tone::DIM),
            (5, 20..25, tone::BAD),
            (5, 39..52, tone::BAD),
            (5, 68..75, tone::WARN),
            (7, 52..73, tone::GOOD),
            (9, 0..10, tone::DIM),
            (9, 10..43, tone::WARN),
            (15, 0..51, tone::DIM),
        ];
        assert_eq!(drawn(&view(), 80, 16), picture(lines, 80, &styles));
    }

    #[test]
    fn a_narrow_terminal_shows_the_same_cut_at_its_edge() {
        assert_eq!(
            text(&drawn(&view(), 40, 15)),
            [
                " incumbent demo  …te:elections.db 01:14",
                "",
                " candidate      pid  state       token",
                " ada           4711  waiting",
                " ben           4711  leading        42",
                " cleo             -  dead",
                "",
                " 12 terms   vacant for 41 ms (p50), 2.10",
                "",
                " 01:01.2  killed cleo, the leader (SIGKI",
                "",
                "",
                "",
                "",
                " Ctrl-C ends it; try kill -9 on the lead",
            ]
        );
    }

    #[test]
    fn the_leader_is_shown_where_not_all_candidates_can_be() {
        let mut view = view();
        view.rows = (0..40).map(|index| row(&format!("c{index}"), "WAITING")).collect();
        view.rows[39].token = Some(1);
        let shown = text(&drawn(&view, 80, 24));
        assert!(shown.iter().any(|line| line.starts_with(" c39 ")), "{shown:#?}");
        assert!(shown[23].starts_with(" 28 more; "), "{}", shown[23]);
    }

    #[test]
    fn a_terminal_of_any_size_is_survived() {
        for (width, height) in [(0, 0), (1, 1), (2, 2), (10, 3), (20, 5), (300, 2)] {
            let drawn = drawn(&view(), width, height);
            assert_eq!((drawn.area.width, drawn.area.height), (width, height));
        }
    }
}
