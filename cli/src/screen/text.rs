//! Text cut to fit, with a mark where it was cut; and bars.

use std::time::Duration;

use ratatui::layout::Constraint;
use ratatui::symbols::block;
use ratatui::text::{Line, Span};
use unicode_truncate::{Alignment, UnicodeTruncateStr as _};
use unicode_width::UnicodeWidthStr as _;

use super::tone;

/// The first line of a screen: a name, as much of the place's text as fits, and a text at the right edge.
pub(crate) fn title<'a>(name: &'a str, place: &str, right: Span<'a>, width: u16) -> Line<'a> {
    let space = usize::from(width).saturating_sub(name.width() + right.width() + 2);
    let place = shortened(place, space).unicode_pad(space + 1, Alignment::Left, false).into_owned();
    Line::from(vec![Span::styled(name, tone::STRONG), Span::styled(place, tone::DIM), right])
}

/// The columns of a table with that space between them. Columns beyond the screen's width are cut off. A table without
/// this function would make all of them narrower instead.
pub(crate) fn columns(widths: &[u16], spacing: u16, screen: u16) -> Vec<Constraint> {
    let mut left = screen;
    let column = |width: &u16| {
        let shown = (left > 0).then(|| Constraint::Length((*width).min(left)));
        left = left.saturating_sub(width.saturating_add(spacing));
        shown
    };
    widths.iter().map_while(column).collect()
}

/// The text, or the part that fits into `width` columns, with `…` at its end.
pub(crate) fn fitting(text: &str, width: u16) -> String {
    // Control characters have no cell on the screen.
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let width = usize::from(width);
    if text.width() <= width || width == 0 {
        return text.unicode_truncate(width).0.to_owned();
    }
    let (kept, _) = text.unicode_truncate(width - 1);
    format!("{kept}…")
}

/// The text, or the longest end of it that fits. The end of a path says more than its beginning.
fn shortened(text: &str, space: usize) -> String {
    if text.width() <= space {
        return text.to_owned();
    }
    let (kept, _) = text.unicode_truncate_start(space.saturating_sub(3));
    format!("  …{kept}").unicode_truncate(space).0.to_owned()
}

/// A bar of `cells` cells, drawn in eighths of a cell. (`Gauge` cannot be a cell of a `Table`, and always has a label.)
pub(crate) fn bar(left: Duration, lease: Duration, cells: u16) -> String {
    const EIGHTHS: [&str; 8] = [
        "",
        block::ONE_EIGHTH,
        block::ONE_QUARTER,
        block::THREE_EIGHTHS,
        block::HALF,
        block::FIVE_EIGHTHS,
        block::THREE_QUARTERS,
        block::SEVEN_EIGHTHS,
    ];
    let part = (left.as_secs_f64() / lease.as_secs_f64().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let eighths = (part * f64::from(cells) * 8.0).round() as usize;
    block::FULL.repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_with_a_whole_lease_and_empty_with_none() {
        let lease = Duration::from_secs(2);
        let bar = |left| bar(left, lease, 12);
        assert_eq!(bar(lease), "█".repeat(12));
        assert_eq!(bar(lease * 9), "█".repeat(12));
        assert_eq!(bar(Duration::ZERO), "");
        assert_eq!(bar(Duration::from_millis(104)), "▋");
    }

    #[test]
    fn a_text_is_cut_to_its_cell_with_a_sign_that_it_was() {
        assert_eq!(fitting("jobs", 6), "jobs");
        assert_eq!(fitting("nightly", 6), "night…");
        assert_eq!(fitting("nightly", 0), "");
        assert_eq!(fitting("選挙の鍵", 6), "選挙…");
        assert_eq!(fitting("a\u{1b}[2Jb", 6), "a[2Jb");
    }

    #[test]
    fn a_place_is_cut_at_its_beginning_and_leaves_the_right_edge_as_it_is() {
        let shown = |place, width| title("top", place, Span::raw("2 held"), width).to_string();
        assert_eq!(shown("  memory:", 24), "top  memory:     2 held");
        assert_eq!(shown("  memory:", 18), "top  …ory: 2 held");
        assert_eq!(shown("  memory:", 5), "top 2 held");
        assert_eq!(shown("  選挙選挙", 20), "top  …挙選挙 2 held");
        assert_eq!(shown("  選挙選挙", 19), "top  …選挙  2 held");
    }

    #[test]
    fn columns_are_cut_where_the_screen_ends() {
        let shown = |screen| columns(&[4, 3, 5], 2, screen);
        assert_eq!(shown(80), [4, 3, 5].map(Constraint::Length));
        assert_eq!(shown(13), [4, 3, 2].map(Constraint::Length));
        assert_eq!(shown(11), [4, 3].map(Constraint::Length));
        assert_eq!(shown(0), []);
    }
}
