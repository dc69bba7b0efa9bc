//! The value of a formula, and the functions that it may have.

use super::Wrong;
use super::formula::Operator;
use crate::line::{Line, Point};

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Number(f64),
    Line(Line),
    /// Of a policy, a benchmark, a sweep.
    Name(String),
}

impl Value {
    /// As a number.
    pub(crate) fn number(&self, whence: &str) -> Result<f64, Wrong> {
        match self {
            Value::Number(number) => Ok(*number),
            _ => Err(Wrong::Kind { whence: whence.to_owned(), wanted: "a number" }),
        }
    }

    /// As a line.
    pub(crate) fn line(&self, whence: &str) -> Result<Line, Wrong> {
        match self {
            Value::Line(line) => Ok(line.clone()),
            _ => Err(Wrong::Kind { whence: whence.to_owned(), wanted: "a line" }),
        }
    }
}

/// Two values, of lines place by place.
pub(crate) fn both(left: &Value, operator: Operator, right: &Value) -> Result<Value, Wrong> {
    let of = |left, right| operator.apply(left, right);
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Ok(Value::Number(of(*left, *right))),
        (Value::Line(left), Value::Number(right)) => Ok(Value::Line(left.map(|left| of(left, *right)))),
        (Value::Number(left), Value::Line(right)) => Ok(Value::Line(right.map(|right| of(*left, right)))),
        (Value::Line(left), Value::Line(right)) => {
            let places = |line: &Line| line.iter().map(|point| point.at).collect::<Vec<_>>();
            if places(left) == places(right) { Ok(Value::Line(left.with(right, of))) } else { Err(Wrong::Places) }
        }
        (Value::Name(name), _) | (_, Value::Name(name)) => Err(Wrong::Unknown { name: name.clone() }),
    }
}

/// A function of any sheet; nothing if there is none of that name.
pub(crate) fn function(name: &str, values: &[Value]) -> Option<Result<Value, Wrong>> {
    let of_number: fn(f64) -> f64 = match name {
        "abs" => f64::abs,
        "sqrt" => f64::sqrt,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "round" => f64::round,
        _ => return numbers(name, values).map(|number| Ok(Value::Number(number?))).or_else(|| lines(name, values)),
    };
    Some(match values {
        [Value::Number(number)] => Ok(Value::Number(of_number(*number))),
        [Value::Line(line)] => Ok(Value::Line(line.map(of_number))),
        _ => Err(wrong(name)),
    })
}

/// Functions that come to a number.
fn numbers(name: &str, values: &[Value]) -> Option<Result<f64, Wrong>> {
    let of_all: fn(&Line) -> f64 = match name {
        "highest" => |line| line.highest().value,
        "lowest" => |line| line.lowest().value,
        "where_highest" => |line| line.highest().at,
        "mean" => Line::mean,
        "first" => |line| line.first().value,
        "last" => |line| line.last().value,
        "where_first" => |line| line.first().at,
        "where_last" => |line| line.last().at,
        "count" => |line| line.len() as f64,
        "finite" => |line| f64::from(u8::from(line.values().all(f64::is_finite))),
        "farthest" => farthest,
        "excess" => excess,
        "at" => return Some(at(values)),
        _ => return None,
    };
    Some(joined(name, values).map(|line| of_all(&line)))
}

/// Functions that come to a line.
fn lines(name: &str, values: &[Value]) -> Option<Result<Value, Wrong>> {
    let keeps: fn(f64, f64) -> bool = match name {
        "join" => return Some(joined(name, values).map(Value::Line)),
        "upto" => |at, place| at <= place,
        "above" => |at, place| at > place,
        _ => return None,
    };
    Some(match values {
        [Value::Line(line), Value::Number(place)] => {
            Ok(Value::Line(line.iter().filter(|point| keeps(point.at, *place)).collect()))
        }
        _ => Err(wrong(name)),
    })
}

fn wrong(name: &str) -> Wrong {
    Wrong::Arguments { function: name.to_owned() }
}

/// Lines one after the other; numbers stand at their place among the values, from 1 on.
fn joined(name: &str, values: &[Value]) -> Result<Line, Wrong> {
    let mut points = Vec::new();
    for (number, value) in (1u32..).zip(values) {
        match value {
            Value::Number(value) => points.push(Point { at: number.into(), value: *value }),
            Value::Line(line) => points.extend(line.iter()),
            Value::Name(_) => return Err(wrong(name)),
        }
    }
    Ok(points.into_iter().collect())
}

/// The value of a line at a place.
fn at(values: &[Value]) -> Result<f64, Wrong> {
    match values {
        [Value::Line(line), Value::Number(place)] => Ok(line.at(*place)),
        _ => Err(wrong("at")),
    }
}

/// The value that is farthest from 1.
fn farthest(line: &Line) -> f64 {
    let (low, high) = (line.lowest().value, line.highest().value);
    if high - 1.0 > 1.0 - low { high } else { low }
}

/// By how much a line falls more, at worst, than in proportion to its axis: 0 if it falls in
/// proportion, near 1 if it falls at once.
fn excess(line: &Line) -> f64 {
    let (first, last) = (line.first(), line.last());
    let share = |point: Point| {
        (first.value - point.value) / (first.value - last.value) - (point.at - first.at) / (last.at - first.at)
    };
    line.iter().map(share).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Value {
        Value::Line(points.iter().map(|&(at, value)| Point { at, value }).collect())
    }

    fn number(name: &str, values: &[Value]) -> f64 {
        function(name, values).unwrap().unwrap().number("").unwrap()
    }

    #[test]
    fn functions_take_lines_and_numbers_alike() {
        let values = [line(&[(2.0, 3.0), (8.0, 0.5)]), Value::Number(4.0)];
        let numbers = ["highest", "lowest", "where_highest", "first", "last", "count", "mean"];
        assert_eq!(numbers.map(|name| number(name, &values)), [4.0, 0.5, 2.0, 3.0, 4.0, 3.0, 2.5]);
        assert_eq!(number("finite", &values), 1.0);
        assert_eq!(number("finite", &[line(&[(2.0, f64::NAN)])]), 0.0);
        assert_eq!(number("at", &[values[0].clone(), Value::Number(8.0)]), 0.5);
        assert_eq!(function("upto", &[values[0].clone(), Value::Number(2.0)]), Some(Ok(line(&[(2.0, 3.0)]))));
        assert_eq!(function("above", &[values[0].clone(), Value::Number(2.0)]), Some(Ok(line(&[(8.0, 0.5)]))));
        assert_eq!(function("join", &values), Some(Ok(line(&[(2.0, 3.0), (8.0, 0.5), (2.0, 4.0)]))));
        assert_eq!(function("abs", &[Value::Number(-2.0)]), Some(Ok(Value::Number(2.0))));
        assert!(function("colour", &values).is_none());
    }

    #[test]
    fn lines_of_different_places_have_no_ratio() {
        let (ours, theirs) = (line(&[(2.0, 3.0)]), line(&[(4.0, 3.0)]));
        assert_eq!(both(&ours, Operator::Over, &theirs), Err(Wrong::Places));
        assert_eq!(both(&ours, Operator::Over, &line(&[(2.0, 2.0)])), Ok(line(&[(2.0, 1.5)])));
        assert_eq!(both(&Value::Number(1.0), Operator::Minus, &ours), Ok(line(&[(2.0, -2.0)])));
        let name = Value::Name("lur".to_owned());
        assert!(matches!(both(&ours, Operator::Plus, &name), Err(Wrong::Unknown { .. })));
    }

    #[test]
    fn how_much_more_a_line_falls_than_in_proportion() {
        let of = |points: &[(f64, f64)]| number("excess", &[line(points)]);
        assert_eq!(of(&[(0.0, 20.0), (4.0, 17.5), (8.0, 15.0), (16.0, 10.0)]), 0.0);
        assert_eq!(of(&[(0.0, 20.0), (4.0, 10.0), (16.0, 10.0)]), 0.75);
        assert_eq!(of(&[(0.0, 20.0), (8.0, 19.0), (16.0, 10.0)]), 0.0, "it falls late");
        assert_eq!(number("farthest", &[line(&[(1.0, 0.7), (2.0, 1.2)])]), 0.7);
    }
}
