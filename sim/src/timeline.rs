//! A run as a picture.

use incumbent_core::Instant;

use crate::moment::{Moment, View};
use crate::plan::Plan;

#[derive(Debug)]
pub(crate) struct Timeline;

impl Timeline {
    pub(crate) fn new(_: &Plan) -> Self {
        Self
    }

    pub(crate) fn see(&mut self, _: &View<'_>, _: &Moment<'_>) {}

    pub(crate) fn draw(&self, _: Instant) -> String {
        String::new()
    }
}
