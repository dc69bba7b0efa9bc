//! A curve drawn with characters: points over a frame whose axes begin at zero.

/// How a chart is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chart<'a> {
    /// What the horizontal axis is, with its unit.
    pub(crate) across: &'a str,
    /// What the vertical axis is, with its unit.
    pub(crate) up: &'a str,
    /// Characters across, without the labels.
    pub(crate) width: usize,
    /// Lines, without the labels.
    pub(crate) height: usize,
}

impl Chart<'_> {
    /// Draws the points; nothing if there is none that can be drawn (finite, at or above zero). A cell is two by four dots.
    pub(crate) fn draw(&self, points: &[(f64, f64)]) -> String {
        let drawable = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite() && x >= 0.0 && y >= 0.0;
        let points: Vec<(f64, f64)> = points.iter().filter(drawable).copied().collect();
        if points.is_empty() || self.width == 0 || self.height == 0 {
            return String::new();
        }
        let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
        let (right, top) = (most(|p| p.0), most(|p| p.1));
        let mut cells = vec![vec![0u8; self.width]; self.height];
        for (x, y) in points {
            let column = (x / right * (self.width * 2 - 1) as f64).round() as usize;
            let row = ((1.0 - y / top) * (self.height * 4 - 1) as f64).round() as usize;
            cells[row / 4][column / 2] |= dot(column % 2, row % 4);
        }
        self.frame(&cells, right, top)
    }

    /// The cells as text, with axes and labels.
    fn frame(&self, cells: &[Vec<u8>], right: f64, top: f64) -> String {
        let (top, right) = (number(top), number(right));
        let margin = top.chars().count().max(1);
        let mut text = format!("{:margin$} {}\n", "", self.up);
        for (line, cells) in cells.iter().enumerate() {
            let label = if line == 0 { top.as_str() } else { "" };
            let row: String = cells.iter().map(|&cell| braille(cell)).collect();
            text.push_str(format!("{label:>margin$} ┤{row}").trim_end());
            text.push('\n');
        }
        text.push_str(&format!("{:>margin$} └{}\n", "0", "─".repeat(self.width)));
        let axis =
            format!("0 {:>room$} {right}", self.across, room = self.width.saturating_sub(right.chars().count() + 2));
        text.push_str(&format!("{:margin$}  {axis}\n", ""));
        text
    }
}

/// The bit of a dot in a braille cell; the last row was added to the code later, whence the order.
fn dot(column: usize, row: usize) -> u8 {
    const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    BITS[row][column]
}

fn braille(cell: u8) -> char {
    if cell == 0 { ' ' } else { char::from_u32(0x2800 + u32::from(cell)).unwrap_or('·') }
}

/// A label in about three digits.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHART: Chart<'_> = Chart { across: "GB", up: "ms", width: 10, height: 4 };

    #[test]
    fn a_line_rises_from_the_left_below_to_the_right_above() {
        let points: Vec<(f64, f64)> = (0..=100).map(|i| (f64::from(i), f64::from(i) / 10.0)).collect();
        let text = CHART.draw(&points);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 4 + 2, "{text}");
        assert!(lines[0].ends_with("ms") && lines[1].starts_with("10.0 ┤"), "{text}");
        assert!(lines[6].ends_with("GB 100"), "{text}");
        let at = |line: usize, column: usize| lines[line].chars().skip(6).nth(column).unwrap_or(' ');
        assert!(at(1, 9) != ' ' && at(4, 0) != ' ', "{text}");
        assert!(at(1, 0) == ' ' && at(4, 9) == ' ', "{text}");
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        assert_eq!(CHART.draw(&[]), "");
        assert_eq!(CHART.draw(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, 0.0)]), "");
        assert_ne!(CHART.draw(&[(0.0, 0.0)]), "");
    }
}
