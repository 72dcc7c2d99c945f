//! The stages of a campaign.

use super::entering::Entering;
use super::racing::Racing;

pub(super) enum Stage {
    /// The store has not answered yet.
    Entering(Box<Entering>),
    Racing(Box<Racing>),
    /// Closed before it began.
    Over,
}
