//! The styles used for drawing. With `NO_COLOR`, the screen leaves out their colours.

use ratatui::style::{Color, Modifier, Style};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(crate) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const GOOD: Style = Style::new().fg(Color::LightGreen);
pub(crate) const WARN: Style = Style::new().fg(Color::LightYellow);
pub(crate) const BAD: Style = Style::new().fg(Color::LightRed).add_modifier(Modifier::BOLD);
/// The selected row.
pub(crate) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
