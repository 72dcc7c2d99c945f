//! A line of the screen: its text and tone.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Strong,
    Good,
    Warn,
    Bad,
    /// The selected row.
    Chosen,
}

/// One line, in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) Vec<(Tone, String)>);

impl Line {
    /// The part that fits into `width` columns.
    pub(crate) fn cut(&self, width: usize) -> Self {
        let mut left = width;
        let mut pieces = Vec::new();
        for (tone, text) in &self.0 {
            let text = fitting(text, left);
            left -= text.width();
            pieces.push((*tone, text));
        }
        Self(pieces)
    }
}

/// The longest prefix of a text that fits into `width` columns, without characters that move the cursor.
pub(crate) fn fitting(text: &str, width: usize) -> String {
    let mut left = width;
    let fits = |c: &char| {
        let space = left.checked_sub(c.width().unwrap_or(0));
        left = space.unwrap_or(0);
        space.is_some()
    };
    text.chars().filter(|c| !c.is_control()).take_while(fits).collect()
}

/// A cell of exactly this many columns: the text, cut where it is too long, padded with spaces.
pub(crate) fn cell(text: &str, width: usize) -> String {
    let mut cell = fitting(text, width);
    if text.width() > width && width > 0 {
        cell = fitting(&cell, width - 1) + "…";
    }
    let rest = width - cell.width();
    cell + &" ".repeat(rest)
}

/// A bar of `cells` cells, drawn in eighths of a cell.
pub(crate) fn bar(left: Duration, lease: Duration, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let part = (left.as_secs_f64() / lease.as_secs_f64().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let eighths = (part * (cells * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// The text, or the longest suffix that fits: the end of a path says more than its beginning.
pub(crate) fn shortened(text: &str, space: usize) -> String {
    let length = text.chars().count();
    if length <= space {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - space.saturating_sub(3)).collect();
    format!("  …{kept}").chars().take(space).collect()
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
    fn a_cell_is_as_wide_as_it_should_be_whatever_is_in_it() {
        assert_eq!(cell("jobs", 6), "jobs  ");
        assert_eq!(cell("nightly", 6), "night…");
        assert_eq!(cell("nightly", 0), "");
        assert_eq!(cell("選挙の鍵", 6), "選挙… ");
        assert_eq!(cell("a\u{1b}[2Jb", 6), "a[2Jb ");
    }

    #[test]
    fn a_line_is_cut_where_the_screen_ends() {
        let line = Line(vec![(Tone::Plain, "abc".into()), (Tone::Dim, "選挙".into())]);
        let shown = |width| line.cut(width).0.into_iter().map(|(_, text)| text).collect::<String>();
        assert_eq!((shown(2).as_str(), shown(6).as_str(), shown(9).as_str()), ("ab", "abc選", "abc選挙"));
    }
}
