//! Figures of a benchmark, their verdicts, and the samples behind them. A benchmark prints a JSON array of figures on
//! its standard output, and runs several times: [`merged`] makes one list of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The least probability with which the interval of a figure contains the median of all possible runs. Five runs give
/// 93.75 %; four runs are too few.
const CONFIDENCE: f64 = 0.9;
/// The fewest times whose 99th percentile is not one of the three largest.
const FOR_P99: usize = 300;

/// One figure of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the measurement.
    pub figure: String,
    /// The result: the median of all runs, or the largest value if the goal is an invariant. `None` if the measured
    /// operation is impossible.
    pub value: Option<f64>,
    /// The figure's unit: `ms`, `ns`, `ratio`, …
    pub unit: String,
    /// The figure's limit, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// The number of measurements behind the value, in all runs.
    pub samples: u64,
    /// The value of each run, in the order of the runs; empty if the benchmark ran a single time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<f64>,
    /// The measurements in milliseconds, in the order in which they were made, if they are worth keeping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Vec<f64>>,
}

/// The largest acceptable value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The limit, in the figure's unit.
    pub most: f64,
    /// True if the limit follows from the election's rules, as that of a count or a size does. Then it must hold in
    /// each run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invariant: bool,
}

/// The result of a comparison of a figure with its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval is within the limit.
    Met,
    /// The whole interval is beyond the limit.
    Missed,
    /// The interval contains the limit, or there were too few runs for an interval.
    Undecided,
}

impl Figure {
    /// A figure without a goal.
    pub fn plain(figure: impl Into<String>, value: f64, unit: &str, samples: usize) -> Self {
        Self {
            figure: figure.into(),
            value: Some(value),
            unit: unit.into(),
            goal: None,
            samples: samples as u64,
            runs: Vec::new(),
            raw: None,
        }
    }

    /// Returns a figure whose goal is a value of at most `most`.
    pub fn at_most(figure: impl Into<String>, value: f64, unit: &str, most: f64, samples: usize) -> Self {
        Self::plain(figure, value, unit, samples).within(most)
    }

    /// Returns a figure, such as a count or a size, that the rules limit to `most` in each run.
    pub fn bounded(figure: impl Into<String>, value: f64, unit: &str, most: f64, samples: usize) -> Self {
        Self { goal: Some(Goal { most, invariant: true }), ..Self::plain(figure, value, unit, samples) }
    }

    /// Returns the figure of an operation that is impossible.
    pub fn absent(figure: impl Into<String>, unit: &str) -> Self {
        Self { value: None, ..Self::plain(figure, 0.0, unit, 0) }
    }

    /// The median of a sample, with the measurements behind it.
    pub fn median(figure: impl Into<String>, sample: &Sample) -> Self {
        let figure = Self::plain(figure, sample.percentile(50), "ms", sample.len());
        Self { raw: Some(sample.0.clone()), ..figure }
    }

    /// Returns this figure with a goal of at most `most`.
    #[must_use]
    pub fn within(self, most: f64) -> Self {
        Self { goal: Some(Goal { most, invariant: false }), ..self }
    }

    /// The interval of the median of the runs, if there were enough of them.
    pub fn interval(&self) -> Option<(f64, f64)> {
        interval(&self.runs)
    }

    /// The verdict, if there is a goal.
    pub fn verdict(&self) -> Option<Verdict> {
        let Goal { most, invariant } = self.goal?;
        Some(match (self.value, self.interval()) {
            (Some(value), _) if invariant && value <= most => Verdict::Met,
            (Some(_), _) if invariant => Verdict::Missed,
            (Some(_), Some((_, high))) if high <= most => Verdict::Met,
            (Some(_), Some((low, _))) if low > most => Verdict::Missed,
            _ => Verdict::Undecided,
        })
    }
}

/// Prints figures on standard output, as one JSON array.
///
/// # Panics
/// When standard output cannot be written.
pub fn print(figures: &[Figure]) {
    match serde_json::to_string(figures) {
        Ok(json) => println!("{json}"),
        Err(error) => panic!("figures are plain data: {error}"),
    }
}

/// Returns the figures of two sides that a run measured alternately: the median of each, their ratio with a goal of at
/// most `most`, and their difference in microseconds.
pub fn compared(what: &str, ours: &Sample, other: &str, theirs: &Sample, most: f64) -> Vec<Figure> {
    let (our, their) = (ours.percentile(50), theirs.percentile(50));
    let samples = ours.len().min(theirs.len());
    vec![
        Figure::median(format!("{what} p50"), ours),
        Figure::median(format!("{other} {what} p50"), theirs),
        Figure::at_most(format!("{what} p50 / {other}"), our / their, "ratio", most, samples),
        Figure::plain(format!("{what} p50 less {other}"), 1e3 * (our - their), "µs", samples),
    ]
}

/// Merges the figures of several runs. The value of each figure is the median of its runs, or the largest if it is an
/// invariant; the values of the runs are kept.
pub fn merged(runs: Vec<Vec<Figure>>) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for mut figure in runs.into_iter().flatten() {
        figure.runs.extend(figure.value);
        match all.iter_mut().find(|known| known.figure == figure.figure) {
            Some(known) => {
                known.samples += figure.samples;
                known.runs.append(&mut figure.runs);
                known.raw = match (known.raw.take(), figure.raw) {
                    (Some(raw), Some(more)) => Some([raw, more].concat()),
                    (raw, more) => raw.or(more),
                };
            }
            None => all.push(figure),
        }
    }
    for figure in &mut all {
        let percent = if figure.goal.is_some_and(|goal| goal.invariant) { 100 } else { 50 };
        let values: Sample = figure.runs.iter().copied().collect();
        figure.value = (!values.is_empty()).then(|| values.percentile(percent));
    }
    all
}

/// The narrowest interval between two of the sorted values, as far from the first as from the last, that contains the
/// true median with [`CONFIDENCE`]. It assumes nothing about the distribution: each value is below the median or above
/// it with a probability of one half.
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // `exactly` is the probability that exactly `place` values are below the median; `outside` is the probability that
    // the median is outside the interval.
    let mut exactly = 0.5_f64.powi(i32::try_from(sorted.len()).ok()?);
    let mut outside = 2.0 * exactly;
    let mut found = None;
    for place in 0..sorted.len() / 2 {
        if 1.0 - outside < CONFIDENCE {
            break;
        }
        found = Some((sorted[place], sorted[sorted.len() - 1 - place]));
        exactly *= (sorted.len() - place) as f64 / (place + 1) as f64;
        outside += 2.0 * exactly;
    }
    found
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
    /// When the sample is empty.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        assert!(!sorted.is_empty(), "a percentile of nothing");
        sorted.sort_by(f64::total_cmp);
        let place = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len());
        sorted[place - 1]
    }

    /// Returns the percentiles above the median, by name, as far as the sample has enough times for them.
    pub fn tail(&self) -> Vec<(&'static str, f64)> {
        let all = [("p90", 90, 10), ("p99", 99, FOR_P99), ("max", 100, 1)];
        let has = |(_, _, least): &(&str, usize, usize)| self.len() >= *least;
        all.into_iter().filter(has).map(|(name, percent, _)| (name, self.percentile(percent))).collect()
    }

    /// The number of times.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this sample with `span` subtracted from each time.
    #[must_use]
    pub fn less(&self, span: Duration) -> Self {
        self.0.iter().map(|time| time - span.as_secs_f64() * 1e3).collect()
    }
}

impl FromIterator<f64> for Sample {
    /// Collects milliseconds.
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

    /// Returns a figure of these runs, with a goal of at most 1.5.
    fn of(runs: &[f64]) -> Figure {
        let run = |value: &f64| vec![Figure::at_most("hand-over p50 / bare", *value, "ratio", 1.5, 40)];
        merged(runs.iter().map(run).collect()).remove(0)
    }

    #[test]
    fn a_verdict_is_undecided_if_the_interval_contains_the_limit() {
        let verdicts = [
            [1.1, 1.2, 1.3, 1.4, 1.5],
            [1.1, 1.2, 1.3, 1.4, 1.6],
            [1.4, 1.6, 1.7, 1.8, 1.9],
            [1.6, 1.7, 1.8, 1.9, 2.0],
        ]
        .map(|runs| of(&runs).verdict());
        let expected = [Verdict::Met, Verdict::Undecided, Verdict::Undecided, Verdict::Missed];
        assert_eq!(verdicts, expected.map(Some));
    }

    #[test]
    fn fewer_than_five_runs_decide_nothing() {
        let four = of(&[1.1, 1.1, 1.1, 1.1]);
        assert_eq!((four.interval(), four.verdict()), (None, Some(Verdict::Undecided)));
        assert_eq!(of(&[1.1]).verdict(), Some(Verdict::Undecided));
        assert_eq!(Figure::at_most("p50", 1.1, "ms", 1.5, 9).verdict(), Some(Verdict::Undecided));
    }

    #[test]
    fn an_interval_contains_the_median_with_nine_tenths_of_confidence() {
        let of_first = |count: u32| interval(&(1..=count).map(f64::from).collect::<Vec<_>>());
        // 1 - 2 / 2^5 = 0.94, 1 - 2 / 2^7 = 0.98, 1 - 2 * 9 / 2^8 = 0.93, 1 - 2 * 56 / 2^10 = 0.89
        assert_eq!(
            [4, 5, 7, 8, 10].map(of_first),
            [None, Some((1.0, 5.0)), Some((1.0, 7.0)), Some((2.0, 7.0)), Some((2.0, 9.0))]
        );
        assert_eq!(interval(&[3.0, 5.0, 1.0, 4.0, 2.0]), Some((1.0, 5.0)));
    }

    #[test]
    fn runs_are_merged_by_name_with_the_median_of_their_values_and_all_measurements() {
        let run = |times: [f64; 2]| {
            let sample: Sample = times.into_iter().collect();
            vec![Figure::median("hand-over p50", &sample), Figure::plain("writes", times[1], "per T", 3)]
        };
        let all = merged(vec![run([1.0, 5.0]), run([3.0, 4.0]), run([2.0, 9.0])]);
        let expected = Figure {
            runs: vec![1.0, 3.0, 2.0],
            raw: Some(vec![1.0, 5.0, 3.0, 4.0, 2.0, 9.0]),
            ..Figure::plain("hand-over p50", 2.0, "ms", 6)
        };
        let writes = Figure { runs: vec![5.0, 4.0, 9.0], ..Figure::plain("writes", 5.0, "per T", 9) };
        assert_eq!(all, [expected, writes]);
    }

    #[test]
    fn an_invariant_is_the_worst_of_all_runs_and_one_run_suffices() {
        let run = |overlap: f64| vec![Figure::bounded("overlap", overlap, "ms", 0.0, 12)];
        let all = merged(vec![run(0.0), run(3.0), run(0.0)]);
        assert_eq!((all[0].value, all[0].verdict()), (Some(3.0), Some(Verdict::Missed)));
        assert_eq!(merged(vec![run(0.0)])[0].verdict(), Some(Verdict::Met));
    }

    #[test]
    fn a_figure_that_no_run_could_measure_has_no_value() {
        let run = || vec![Figure::absent("hand-over", "ms")];
        assert_eq!(merged(vec![run(), run()]), [Figure::absent("hand-over", "ms")]);
    }

    #[test]
    fn two_sides_are_compared_by_their_ratio_and_their_difference() {
        let (ours, bare): (Sample, Sample) =
            ([0.5, 0.75, 4.0].into_iter().collect(), [0.5, 0.25, 0.75].into_iter().collect());
        let figures = compared("hand-over", &ours, "bare", &bare, 1.25);
        assert_eq!(
            figures,
            [
                Figure::median("hand-over p50", &ours),
                Figure::median("bare hand-over p50", &bare),
                Figure::at_most("hand-over p50 / bare", 1.5, "ratio", 1.25, 3),
                Figure::plain("hand-over p50 less bare", 250.0, "µs", 3),
            ]
        );
    }

    #[test]
    fn a_99th_percentile_needs_three_hundred_times() {
        let tail = |times: u32| (1..=times).map(f64::from).collect::<Sample>().tail();
        assert_eq!(tail(9), [("max", 9.0)]);
        assert_eq!(tail(299), [("p90", 270.0), ("max", 299.0)]);
        assert_eq!(tail(300), [("p90", 270.0), ("p99", 297.0), ("max", 300.0)]);
    }

    #[test]
    fn a_figure_is_printed_without_what_it_lacks() {
        let figure = Figure::at_most("hand-over p50", 1.25, "ratio", 1.5, 100);
        let json =
            r#"{"figure":"hand-over p50","value":1.25,"unit":"ratio","goal":{"most":1.5},"samples":100}"#;
        assert_eq!(serde_json::to_string(&figure).unwrap(), json);
        assert_eq!(serde_json::from_str::<Figure>(json).unwrap(), figure);
        let json =
            r#"{"figure":"bytes","value":9.0,"unit":"kB","goal":{"most":10.0,"invariant":true},"samples":1}"#;
        assert_eq!(
            serde_json::from_str::<Figure>(json).unwrap(),
            Figure::bounded("bytes", 9.0, "kB", 10.0, 1)
        );
    }
}
