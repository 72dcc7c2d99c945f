//! The live table: the lines, and the tone of each. It draws nothing; see [`crate::screen`].

use std::time::Duration;

use crate::output::span;
use crate::screen::{Line, Tone, bar, shortened};

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
    pub(super) log: Vec<(Duration, Tone, String)>,
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
    /// The remaining lease; none where it does not lead.
    pub(super) left: Option<Duration>,
    pub(super) terms: u32,
    pub(super) fault: Option<String>,
}

/// The cells of the bar that shows the remaining lease.
const BAR: usize = 12;
/// Lines that are neither candidates nor the log.
const FRAME: usize = 7;
/// Lines of the log that are shown even where some candidates must be left out.
const SHORTEST_LOG: usize = 5;

impl View {
    /// The lines of a terminal of that size.
    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let space = height.saturating_sub(FRAME);
        let rows = self.rows.len().min(space.saturating_sub(SHORTEST_LOG).max(1));
        let mut lines = vec![self.title(width), Line::default(), self.headings()];
        lines.extend(self.chosen(rows).map(|row| row.line(self.lease)));
        lines.push(Line::default());
        lines.push(self.totals());
        lines.push(Line::default());
        let log = space.saturating_sub(rows);
        let skipped = self.log.len().saturating_sub(log);
        lines.extend(self.log[skipped..].iter().map(entry));
        lines.resize(height.saturating_sub(1), Line::default());
        lines.push(self.footer(self.rows.len() - rows));
        lines.iter().map(|line| line.cut(width)).collect()
    }

    fn title(&self, width: usize) -> Line {
        let clock = format!("{:02}:{:02}", self.lasted.as_secs() / 60, self.lasted.as_secs() % 60);
        let name = " incumbent demo";
        let place = format!("  {:?} in {}", self.key, self.store);
        let space = width.saturating_sub(name.len() + clock.len() + 2);
        let place = shortened(&place, space);
        let gap = " ".repeat(space - place.chars().count() + 1);
        Line(vec![(Tone::Strong, name.into()), (Tone::Dim, place), (Tone::Strong, gap + &clock)])
    }

    fn headings(&self) -> Line {
        let left = format!("left of {}", span(self.lease));
        let text = format!(
            " {:<10} {:>7}  {:<10} {:>6}  {left:<21} {:>5}  {}",
            "candidate", "pid", "state", "token", "terms", "fault"
        );
        Line(vec![(Tone::Dim, text)])
    }

    /// Chooses the rows to show; the leader is always among them.
    fn chosen(&self, count: usize) -> impl Iterator<Item = &Row> {
        let leader = self.rows.iter().position(|row| row.token.is_some()).filter(|&leader| leader >= count);
        let last = count.saturating_sub(1);
        (0..count).map(move |index| match leader {
            Some(leader) if index == last => &self.rows[leader],
            _ => &self.rows[index],
        })
    }

    fn totals(&self) -> Line {
        let terms = if self.terms == 1 { "term" } else { "terms" };
        let mut pieces = vec![(Tone::Plain, format!(" {} {terms}", self.terms))];
        if let Some((median, longest)) = self.vacancy {
            let text = format!("   vacant for {} (p50), {} (longest)", span(median), span(longest));
            pieces.push((Tone::Plain, text));
        }
        pieces.push(match self.overlaps {
            0 => (Tone::Good, "   two leaders: never".into()),
            n => (Tone::Bad, format!("   TWO LEADERS: {n} times")),
        });
        Line(pieces)
    }

    fn footer(&self, hidden: usize) -> Line {
        let more = if hidden > 0 { format!("{hidden} more; ") } else { String::new() };
        let text = if self.is_closing {
            "all candidates leave; Ctrl-C kills"
        } else {
            "Ctrl-C ends it; try kill -9 on the leader yourself"
        };
        Line(vec![(Tone::Dim, format!(" {more}{text}"))])
    }
}

impl Row {
    fn line(&self, lease: Duration) -> Line {
        let pid = self.pid.map_or_else(|| "-".into(), |pid| pid.to_string());
        let token = self.token.map_or_else(String::new, |token| token.to_string());
        let (tone, state) = self.condition();
        let left = self.left.map(|left| (bar(left, lease, BAR), format!("{:>5.2} s", left.as_secs_f64())));
        let (bar, left) = left.unwrap_or_default();
        let name: String = self.name.chars().take(10).collect();
        let fault = self.fault.clone().unwrap_or_default();
        let name_tone = if self.token.is_some() { Tone::Strong } else { Tone::Plain };
        Line(vec![
            (name_tone, format!(" {name:<10}")),
            (Tone::Dim, format!(" {pid:>7}")),
            (tone, format!("  {state:<10}")),
            (Tone::Plain, format!(" {token:>6}  ")),
            (tone, format!("{bar:<BAR$}")),
            (Tone::Plain, format!(" {left:<8}")),
            (Tone::Plain, format!(" {:>5}  ", self.terms)),
            (Tone::Warn, fault),
        ])
    }

    fn condition(&self) -> (Tone, String) {
        if !self.is_present {
            return (Tone::Bad, "dead".into());
        }
        if self.is_stopped {
            return (Tone::Warn, "stopped".into());
        }
        let tone = match self.state.as_str() {
            "LEADING" => Tone::Good,
            "DRAINING" | "RELEASING" | "ACQUIRING" | "HOLDING" => Tone::Warn,
            _ => Tone::Dim,
        };
        let state = if self.state.is_empty() { "starting".into() } else { self.state.to_lowercase() };
        (tone, state)
    }
}

fn entry((at, tone, text): &(Duration, Tone, String)) -> Line {
    Line(vec![(Tone::Dim, format!(" {}  ", stamp(*at))), (*tone, text.clone())])
}

/// Minutes, seconds and tenths since the start.
pub(super) fn stamp(at: Duration) -> String {
    let tenths = at.as_millis() / 100;
    format!("{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                Tone::Warn,
                "killed cleo, the leader (SIGKILL)".into(),
            )],
            is_closing: false,
        }
    }

    fn text(lines: &[Line]) -> Vec<String> {
        let whole = |line: &Line| line.0.iter().map(|(_, text)| text.as_str()).collect::<String>();
        lines.iter().map(|line| whole(line).trim_end().to_owned()).collect()
    }

    #[test]
    fn the_table_fits_a_terminal_of_80_by_24() {
        let mut view = view();
        view.store = format!("sqlite:/tmp/{}/elections.db", "x".repeat(90));
        view.rows = (0..10).map(|_| view.rows[1].clone()).collect();
        view.log = (0..30).map(|_| (Duration::ZERO, Tone::Plain, "x".repeat(200))).collect();
        let lines = view.lines(80, 24);
        assert_eq!(lines.len(), 24);
        for line in &lines {
            let width: usize = line.0.iter().map(|(_, text)| text.chars().count()).sum();
            assert!(width <= 80, "{line:?}");
        }
    }

    #[test]
    fn it_shows_who_leads_for_how_long_and_what_happened() {
        assert_eq!(
            text(&view().lines(80, 16)),
            [
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
            ]
        );
    }

    #[test]
    fn the_leader_is_shown_where_not_all_candidates_can_be() {
        let mut view = view();
        view.rows = (0..40).map(|index| row(&format!("c{index}"), "WAITING")).collect();
        view.rows[39].token = Some(1);
        let shown = text(&view.lines(80, 24));
        assert!(shown.iter().any(|line| line.starts_with(" c39 ")), "{shown:#?}");
        assert!(shown[23].starts_with(" 28 more; "), "{}", shown[23]);
    }

    #[test]
    fn a_terminal_of_any_size_is_survived() {
        for (width, height) in [(0, 0), (1, 1), (10, 3), (300, 2)] {
            view().lines(width, height);
        }
    }
}
