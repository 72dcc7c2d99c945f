//! Samples, and the figures computed from them.

use std::time::Duration;

use serde_json::{Value, json};

/// One line of the result.
pub(crate) type Line = Value;

/// Makes lines.
pub(crate) struct Figure;

impl Figure {
    /// Returns the line for a value that has to be below a goal.
    pub(crate) fn below(figure: &str, value: f64, unit: &str, most: f64, samples: usize) -> Line {
        json!({
            "figure": figure, "value": value, "unit": unit,
            "goal": format!("< {most}"), "met": value < most, "samples": samples,
        })
    }
}

/// Measured durations.
#[derive(Default)]
pub(crate) struct Sample(Vec<Duration>);

impl Sample {
    pub(crate) fn add(&mut self, span: Duration) {
        self.0.push(span);
    }

    /// Returns the smallest duration that `percent` of all do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let place = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len());
        sorted[place - 1]
    }
}
