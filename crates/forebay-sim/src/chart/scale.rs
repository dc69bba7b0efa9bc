//! Axes: from which value to which, where the marks stand, and how they are labelled.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// How many marks are neither too few to read values nor too many to read labels.
const MARKS: usize = 8;

/// An axis that knows its ends and its marks.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    marks: Vec<f64>,
}

impl Scale {
    /// A scale that holds all `values`. A linear one begins at zero unless its values are all far
    /// from it.
    pub(super) fn holding(values: impl Iterator<Item = f64>, logarithmic: bool) -> Scale {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        match (low <= high, logarithmic) {
            (false, _) => Scale::linear(0.0, 1.0),
            (true, false) => Scale::linear(low, high),
            (true, true) => Scale::logarithmic(low, high),
        }
    }

    fn linear(low: f64, high: f64) -> Scale {
        let low = if low >= 0.0 && low < 0.5 * high { 0.0 } else { low };
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        let step = nice(span / MARKS as f64);
        let (first, last) = ((low / step).floor(), (high / step).ceil().max((low / step).floor() + 1.0));
        let marks: Vec<f64> = (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect();
        Scale { low: first * step, high: last * step, logarithmic: false, marks }
    }

    fn logarithmic(low: f64, high: f64) -> Scale {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = (last - first).max(1) as usize;
        let within: &[f64] = if decades <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = decades.div_ceil(MARKS);
        let all = (first..=last).step_by(every).flat_map(|e| within.iter().map(move |w| w * 10f64.powi(e)));
        let all: Vec<f64> = all.collect();
        // From the last mark that is not above the lowest value to the first that is not below the
        // highest.
        let from = all.iter().rposition(|&mark| mark <= low * (1.0 + 1e-12)).unwrap_or(0);
        let to = all.iter().position(|&mark| mark >= high * (1.0 - 1e-12)).unwrap_or(all.len() - 1);
        let marks = if from < to { all[from..=to].to_vec() } else { vec![low / 2.0, low * 2.0] };
        Scale { low: marks[0].min(low), high: marks[marks.len() - 1].max(high), logarithmic: true, marks }
    }

    /// With marks at these places instead, if they are few and far enough apart, so that readers
    /// see measured points.
    pub(super) fn marked_at(mut self, places: &[f64]) -> Scale {
        let apart = |pair: &[f64]| self.share(pair[1]) - self.share(pair[0]) > 0.07;
        if (2..=MARKS + 1).contains(&places.len()) && places.windows(2).all(apart) {
            self.marks = places.to_vec();
        }
        self
    }

    /// Where a value is between the ends, 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let along = |v: f64| if self.logarithmic { v.max(f64::MIN_POSITIVE).log10() } else { v };
        (along(value) - along(self.low)) / (along(self.high) - along(self.low))
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.share(*value).clamp(-0.1, 1.1) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // plotters asks for lines between marks with a lighter weight; there are none.
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        short(*value)
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below `step`.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * power
}

/// A number in few characters: 0.25, 1536, 20k, 1.5M.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        s if s >= 1e15 || (s > 0.0 && s < 1e-4) => return format!("{value:e}"),
        s if s >= 1e12 => (value / 1e12, "T"),
        s if s >= 1e9 => (value / 1e9, "G"),
        s if s >= 1e6 => (value / 1e6, "M"),
        s if s >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = if scaled.abs() >= 100.0 {
        1
    } else if scaled.abs() >= 1.0 {
        2
    } else {
        5
    };
    let text = format!("{scaled:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(values: &[f64], logarithmic: bool) -> (f64, f64) {
        let scale = Scale::holding(values.iter().copied(), logarithmic);
        (scale.low, scale.high)
    }

    #[test]
    fn scales_hold_their_values_and_end_at_marks() {
        assert_eq!(ends(&[0.1, 0.93], false), (0.0, 1.0));
        assert_eq!(ends(&[1000.0, 1010.0], false), (1000.0, 1010.0));
        assert_eq!(ends(&[-3.0, 42.0], false), (-10.0, 50.0));
        assert_eq!(ends(&[1.0, 64.0], true), (1.0, 100.0));
        assert_eq!(ends(&[3.0, 1e6], true), (1.0, 1e6));
        assert_eq!(ends(&[], true), (0.0, 1.0));
        for (value, logarithmic) in [(0.0, false), (7.0, false), (-7.0, false), (7.0, true), (1e-300, true)] {
            let (low, high) = ends(&[value], logarithmic);
            assert!(low <= value && value <= high && low < high, "{value}: {low} to {high}");
        }
    }

    #[test]
    fn measured_places_are_marked_where_they_fit() {
        let scale = |places: &[f64]| Scale::holding(places.iter().copied(), true).marked_at(places).marks;
        assert_eq!(scale(&[1.0, 4.0, 16.0, 64.0]), [1.0, 4.0, 16.0, 64.0]);
        assert_eq!(scale(&[1.0, 1.01, 64.0]), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
    }

    #[test]
    fn labels_are_short() {
        for (value, label) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (1.0, "1"),
            (1536.0, "1536"),
            (20_000.0, "20k"),
            (1.5e6, "1.5M"),
            (3e9, "3G"),
            (-0.5, "-0.5"),
            (0.30000000000000004, "0.3"),
            (1e-9, "1e-9"),
            (1e18, "1e18"),
        ] {
            assert_eq!(short(value), label);
        }
    }
}
