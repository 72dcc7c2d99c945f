//! Samples, and the figures made of them.

use std::time::Duration;

use serde::Serialize;

/// One line of the result.
#[derive(Serialize)]
pub(crate) struct Figure {
    figure: String,
    value: f64,
    unit: &'static str,
    goal: Option<String>,
    met: Option<bool>,
    samples: usize,
}

impl Figure {
    pub(crate) fn plain(figure: String, value: f64, unit: &'static str, samples: usize) -> Self {
        Self { figure, value, unit, goal: None, met: None, samples }
    }

    pub(crate) fn at_most(figure: String, value: f64, unit: &'static str, most: f64, samples: usize) -> Self {
        let goal = Some(format!("≤ {most:.1}"));
        Self { goal, met: Some(value <= most), ..Self::plain(figure, value, unit, samples) }
    }
}

/// Durations measured.
#[derive(Default)]
pub(crate) struct Sample(Vec<Duration>);

impl Sample {
    pub(crate) fn add(&mut self, span: Duration) {
        self.0.push(span);
    }

    /// The smallest duration that `percent` of all do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let place = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len());
        sorted[place - 1]
    }
}
