//! Texts with figures in them: `{mean(gain):+0%} in the mean`.
//!
//! Between braces stands a formula, and behind a colon how its number, or each of its line, is
//! written: digits after the point, then `%` for a share, `×` for a multiple; with `+` before them
//! a ratio is a change.
//!
//! | of 1.234 | `:1` | `:2×` | `:0%` | `:+0%` |
//! | --- | --- | --- | --- | --- |
//! | is | 1.2 | 1.23 × | 123 % | +23 % |

use super::Wrong;
use super::value::Value;

/// A text, each of its formulas worked out by `of`.
pub(crate) fn filled(text: &str, of: impl Fn(&str) -> Result<Value, Wrong>) -> Result<String, Wrong> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('{') {
        let unclosed = || Wrong::Text { text: text.to_owned() };
        let (inside, after) = behind.split_once('}').ok_or_else(unclosed)?;
        let (formula, format) = inside.rsplit_once(':').unwrap_or((inside, ""));
        filled.push_str(before);
        filled.push_str(&Format::read(format).ok_or_else(unclosed)?.of(&of(formula)?));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// How a number is written.
#[derive(Clone, Copy)]
struct Format {
    /// Whether it is a ratio that is written as a change.
    change: bool,
    /// After the point; as many as there are if none is said.
    digits: Option<usize>,
    unit: Unit,
}

#[derive(Clone, Copy)]
enum Unit {
    None,
    Share,
    Times,
}

impl Format {
    fn read(text: &str) -> Option<Format> {
        let (change, text) = text.strip_prefix('+').map_or((false, text), |text| (true, text));
        let (unit, digits) = match (text.strip_suffix('%'), text.strip_suffix('×')) {
            (Some(digits), _) => (Unit::Share, digits),
            (_, Some(digits)) => (Unit::Times, digits),
            _ => (Unit::None, text),
        };
        let digits = if digits.is_empty() { None } else { Some(digits.parse().ok().filter(|&digits| digits < 10)?) };
        Some(Format { change, digits, unit })
    }

    fn of(self, value: &Value) -> String {
        match value {
            Value::Name(name) => name.clone(),
            Value::Number(number) => self.number(*number),
            Value::Line(line) => line.listed(|number| self.number(number)),
        }
    }

    fn number(self, number: f64) -> String {
        let number =
            if let Unit::Share = self.unit { (number - f64::from(u8::from(self.change))) * 100.0 } else { number };
        let text = match (self.digits, self.change) {
            (None, _) => number.to_string(),
            (Some(digits), true) => format!("{number:+.digits$}"),
            (Some(digits), false) => format!("{number:.digits$}"),
        };
        match self.unit {
            Unit::None => text,
            Unit::Share => text + " %",
            Unit::Times => text + " ×",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Point;

    fn of(formula: &str) -> Result<Value, Wrong> {
        match formula {
            "ratio" => Ok(Value::Number(1.234)),
            "line" => {
                Ok(Value::Line([(2.0, 0.5), (8.0, 1.0)].map(|(at, value)| Point { at, value }).into_iter().collect()))
            }
            "who" => Ok(Value::Name("somebody".to_owned())),
            other => Err(Wrong::Unknown { name: other.to_owned() }),
        }
    }

    #[test]
    fn figures_are_written_as_it_is_said() {
        for (text, expected) in [
            ("{ratio:1} {ratio:2×} {ratio:0%} {ratio:+0%} {ratio:+1%}", "1.2 1.23 × 123 % +23 % +23.4 %"),
            ("{who} at {line:+0%}; {ratio}", "somebody at 2: -50 %, 8: +0 %; 1.234"),
            ("as it stands", "as it stands"),
        ] {
            assert_eq!(filled(text, of), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn a_text_that_makes_no_sense_is_refused() {
        for text in ["{ratio", "{ratio:x}", "{ratio:1.5}", "{ratio:99}"] {
            assert_eq!(filled(text, of), Err(Wrong::Text { text: text.to_owned() }));
        }
        assert_eq!(filled("{rato:1}", of), Err(Wrong::Unknown { name: "rato".to_owned() }));
    }
}
