//! Bars of numbers, drawn with characters, each beside a mark for the best possible value.

/// Fractions of a character, by eighths.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The mark of the best possible.
const MARK: char = '│';

/// A bar of `value` on a scale that ends at `most`, `width` characters long, with a mark at `best`.
/// A value that is negative, not a number or beyond the scale is drawn at the scale's end.
pub(crate) fn bar(value: f64, best: f64, most: f64, width: usize) -> String {
    let eighths = eighths(value, most, width);
    let mut cells: Vec<char> = (0..width).map(|cell| EIGHTHS[eighths.saturating_sub(cell * 8).min(8)]).collect();
    let mark = self::eighths(best, most, width) / 8;
    if best > 0.0 && width > 0 && cells[mark.min(width - 1)] == ' ' {
        cells[mark.min(width - 1)] = MARK;
    }
    let bar: String = cells.into_iter().collect();
    bar.trim_end().to_owned()
}

/// How many eighths of a character a value is long.
fn eighths(value: f64, most: f64, width: usize) -> usize {
    let share = if most > 0.0 && value.is_finite() { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    (share * (width * 8) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_long_as_the_value_with_the_best_marked() {
        assert_eq!(bar(0.0, 0.0, 10.0, 4), "");
        assert_eq!(bar(5.0, 0.0, 10.0, 4), "██");
        assert_eq!(bar(5.0, 8.0, 10.0, 4), "██ │");
        assert_eq!(bar(5.0, 10.0, 10.0, 4), "██ │");
        assert_eq!(bar(10.0, 10.0, 10.0, 4), "████");
        assert_eq!(bar(1.0, 0.0, 8.0, 1), "▏");
        assert_eq!(bar(5.0, 0.0, 16.0, 2), "▋");
    }

    #[test]
    fn odd_values_stay_inside() {
        for value in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(bar(value, value, 10.0, 4).chars().count() <= 4, "{value}");
        }
        assert_eq!(bar(1.0, 1.0, 0.0, 4), "│");
        assert_eq!(bar(1.0, 1.0, 1.0, 0), "");
    }
}
