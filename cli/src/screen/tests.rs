//! Pictures on ratatui's test back end, and their expected content.

use std::ops::Range;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, CellWidth as _};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

/// Draws the picture on a terminal of this size.
pub(crate) fn drawn(picture: impl Widget, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| frame.render_widget(picture, frame.area())).unwrap();
    terminal.backend().buffer().clone()
}

/// The lines of a picture, without the spaces at their ends.
pub(crate) fn text(drawn: &Buffer) -> Vec<String> {
    let line = |row: Rect| {
        let mut line = String::new();
        let mut left = 0;
        for cell in row.columns().map(|cell| &drawn[(cell.x, cell.y)]) {
            // A wide character also takes the next cell.
            if left == 0 {
                line.push_str(cell.symbol());
                left = cell.cell_width();
            }
            left = left.saturating_sub(1);
        }
        line.trim_end().to_owned()
    };
    drawn.area.rows().map(line).collect()
}

/// A picture of these lines, in these styles.
pub(crate) fn picture<const N: usize>(
    lines: [&str; N],
    width: u16,
    styles: &[(u16, Range<u16>, Style)],
) -> Buffer {
    let mut picture = Buffer::empty(Rect::new(0, 0, width, N.try_into().unwrap()));
    for (y, line) in (0..).zip(lines) {
        picture.set_string(0, y, line, Style::new());
    }
    for (y, columns, style) in styles {
        picture.set_style(Rect::new(columns.start, *y, columns.end - columns.start, 1), *style);
    }
    picture
}
