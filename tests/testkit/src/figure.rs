//! Figures of a benchmark, and the samples that they are made of. A benchmark prints a JSON array of figures on its
//! standard output.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One figure of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the measurement.
    pub figure: String,
    /// The result; none where what was to be measured cannot be done.
    pub value: Option<f64>,
    /// Its unit: `ms`, `ns`, `ratio`, …
    pub unit: String,
    /// The goal, as a number or a text such as `≤ 1.5`; null where there is none.
    pub goal: Value,
    /// True if the goal is met; null where there is none.
    pub met: Option<bool>,
    /// The number of measurements behind the value.
    pub samples: u64,
    /// These measurements in milliseconds, in the order in which they were made, where they are worth keeping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Vec<f64>>,
}

impl Figure {
    /// A figure without a goal.
    pub fn plain(figure: impl Into<String>, value: f64, unit: &str, samples: usize) -> Self {
        Self {
            figure: figure.into(),
            value: Some(value),
            unit: unit.into(),
            goal: Value::Null,
            met: None,
            samples: samples as u64,
            raw: None,
        }
    }

    /// A figure whose goal is a value of at most `most`.
    pub fn at_most(figure: impl Into<String>, value: f64, unit: &str, most: f64, samples: usize) -> Self {
        let goal = format!("≤ {most:.1}").into();
        Self { goal, met: Some(value <= most), ..Self::plain(figure, value, unit, samples) }
    }

    /// A figure of what cannot be done.
    pub fn absent(figure: impl Into<String>, unit: &str) -> Self {
        Self { value: None, ..Self::plain(figure, 0.0, unit, 0) }
    }

    /// The same figure, with the measurements behind it.
    #[must_use]
    pub fn of(mut self, sample: &Sample) -> Self {
        self.raw = Some(sample.0.clone());
        self
    }
}

/// Measured times, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds a time.
    pub fn add(&mut self, span: Duration) {
        self.0.push(span.as_secs_f64() * 1e3);
    }

    /// The smallest time that `percent` of all do not exceed.
    ///
    /// # Panics
    /// When there is none.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        assert!(!sorted.is_empty(), "a percentile of nothing");
        sorted.sort_by(f64::total_cmp);
        let place = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len());
        sorted[place - 1]
    }

    /// The number of times.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same times, each less `span`.
    #[must_use]
    pub fn less(&self, span: Duration) -> Self {
        self.0.iter().map(|time| time - span.as_secs_f64() * 1e3).collect()
    }
}

impl FromIterator<f64> for Sample {
    /// Of milliseconds.
    fn from_iter<I: IntoIterator<Item = f64>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

impl Extend<Duration> for Sample {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, spans: I) {
        spans.into_iter().for_each(|span| self.add(span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_time_that_so_many_do_not_exceed() {
        let sample: Sample = [4.0, 1.0, 3.0, 2.0].into_iter().collect();
        let percentiles = [1, 25, 26, 50, 75, 90, 100].map(|percent| sample.percentile(percent));
        assert_eq!(percentiles, [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0]);
    }

    #[test]
    fn times_less_a_lease_may_be_negative() {
        let sample: Sample = [1500.0, 2250.0].into_iter().collect();
        assert_eq!(sample.less(Duration::from_secs(2)), [-500.0, 250.0].into_iter().collect());
    }

    #[test]
    fn a_figure_without_raw_measurements_is_printed_as_it_always_was() {
        let figure = Figure::at_most("hand-over p50", 1.25, "ratio", 1.5, 100);
        let json = r#"{"figure":"hand-over p50","value":1.25,"unit":"ratio","goal":"≤ 1.5","met":true,"samples":100}"#;
        assert_eq!(serde_json::to_string(&figure).unwrap(), json);
        assert_eq!(serde_json::from_str::<Figure>(json).unwrap(), figure);
    }
}
