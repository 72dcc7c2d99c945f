//! Plots of figures, as SVG.

use std::ops::Range;

use anyhow::Result;
use incumbent_testkit::figure::Sample;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::page::number;

const WIDTH: u32 = 860;
const OURS: RGBColor = RGBColor(0x1f, 0x5f, 0xbf);
const THEIRS: RGBColor = RGBColor(0xb8, 0x62, 0x1b);
/// The colours: as many as a drawing has lines, because a colour that occurs twice identifies neither line.
const LINES: [RGBColor; 6] = [
    OURS,
    THEIRS,
    RGBColor(0x3c, 0x8c, 0x4a),
    RGBColor(0x7a, 0x4f, 0xa3),
    RGBColor(0xc2, 0x3b, 0x6e),
    RGBColor(0x0f, 0x86, 0x8c),
];
const PALE: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// The font size of all text.
const TEXT: u32 = 14;

/// A row of a distribution: its name, true if the side is incumbent's, and its times in milliseconds.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) ours: bool,
    pub(super) times: Vec<f64>,
}

/// Draws each time as a dot on a logarithmic axis, a row for each name, and a bar at each median.
pub(super) fn distribution(axis: &str, rows: &[Row]) -> Result<String> {
    const ROW: u32 = 34;
    const NAMES: u32 = 300;
    let all = || rows.iter().flat_map(|row| row.times.iter().copied()).filter(|time| *time > 0.0);
    let (low, high) = bounds(all());
    let mut svg = String::new();
    {
        let size = (WIDTH, ROW * rows.len() as u32 + 60);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let x = Logarithmic { low, high };
        let mut chart = ChartBuilder::on(&root)
            .margin_top(8)
            .margin_right(24)
            .x_label_area_size(46)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(x, 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_desc(axis)
            .label_style(("sans-serif", TEXT))
            .draw()?;
        let right = Pos::new(HPos::Right, VPos::Center);
        for (place, row) in rows.iter().enumerate() {
            let colour = if row.ours { OURS } else { THEIRS };
            // The first row is at the top.
            let y = rows.len() as f64 - place as f64 - 0.5;
            let dots = row.times.iter().filter(|time| **time > 0.0);
            chart.draw_series(dots.map(|time| Circle::new((*time, y), 4, colour.mix(0.35).filled())))?;
            let median: Sample = row.times.iter().copied().collect();
            let median = median.percentile(50).max(low);
            chart.draw_series([PathElement::new(
                vec![(median, y - 0.36), (median, y + 0.36)],
                BLACK.stroke_width(2),
            )])?;
            let (_, middle) = chart.backend_coord(&(low, y));
            let style = ("sans-serif", TEXT).into_font().color(&colour).pos(right);
            root.draw(&Text::new(row.name.clone(), (NAMES as i32 - 10, middle), style))?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// A line of a growth curve: its name, and its points.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Draws lines over logarithmic axes.
pub(super) fn growth(across: &str, up: &str, lines: &[Line]) -> Result<String> {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let (left, right) = bounds(points().map(|(x, _)| x));
    let (low, high) = bounds(points().map(|(_, y)| y));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, 420)).into_drawing_area();
        root.fill(&WHITE)?;
        let x = Logarithmic { low: left, high: right };
        let y = Logarithmic { low, high };
        let mut chart = ChartBuilder::on(&root)
            .margin_top(12)
            .margin_right(24)
            .x_label_area_size(46)
            .y_label_area_size(70)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_desc(across)
            .y_desc(up)
            .label_style(("sans-serif", TEXT))
            .draw()?;
        for (line, colour) in lines.iter().zip(LINES.into_iter().cycle()) {
            let points = line.points.clone();
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, colour.filled())))?;
            chart
                .draw_series([PathElement::new(points, colour.stroke_width(2))])?
                .label(line.name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.9))
            .border_style(PALE)
            .label_font(("sans-serif", TEXT))
            .position(SeriesLabelPosition::UpperLeft)
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}

/// Returns the ends of an axis for these values, with some space around them.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if low > high { (1.0, 10.0) } else { (low / 1.3, high * 1.3) }
}

/// A logarithmic axis with ticks at round numbers. The library's own axis has ticks only at the powers of ten.
struct Logarithmic {
    low: f64,
    high: f64,
}

impl Ranged for Logarithmic {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        ticks(self.low, self.high)
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Logarithmic {
    fn format(value: &f64) -> String {
        number(*value)
    }
}

/// Returns the numbers between two values that are 1, 2 or 5 times a power of ten. If there are many, returns only the
/// powers of ten.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let steps: &[f64] = if high / low > 2000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let values = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    values.filter(|value| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> Vec<String> {
        ticks(low, high).into_iter().map(number).collect()
    }

    #[test]
    fn an_axis_has_round_numbers() {
        assert_eq!(labels(0.4, 30.0), ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(1400.0, 5500.0), ["2,000", "5,000"]);
        assert_eq!(labels(0.7, 5000.0), ["1", "10", "100", "1,000"]);
    }

    #[test]
    fn a_distribution_has_a_dot_for_each_time_and_the_name_of_each_row() {
        let row = |name: &str, times: &[f64]| Row { name: name.into(), ours: true, times: times.into() };
        let svg = distribution("ms", &[row("ours", &[1.0, 2.0, 3.0]), row("a & b", &[10.0])]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(svg.contains("ours") && svg.contains("a &amp; b"), "{svg}");
    }

    #[test]
    fn a_growth_curve_has_a_point_for_each_size() {
        let line = Line { name: "memory".into(), points: vec![(1e3, 1e6), (1e4, 1e7), (1e5, 1e8)] };
        let svg = growth("elections", "bytes", &[line]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
    }
}
