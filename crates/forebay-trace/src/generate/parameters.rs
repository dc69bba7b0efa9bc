//! The workloads and their parameters: one definition for parsing, help and the record of a run.

use std::fmt;

use super::Workload;

/// A kind of workload.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// A line that describes it, and its origin.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    pub(super) make: fn(&Values) -> Result<Box<dyn Workload>, WrongWorkload>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind").field("name", &self.name).field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

/// A parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// A line that describes it.
    pub what: &'static str,
    /// Its value if none is given.
    pub default: Value,
}

/// The value of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// How many; at least one.
    Count(u64),
    /// Bytes, at least one; may be written with k, M, G (binary).
    Bytes(u64),
    /// Milliseconds.
    Millis(u64),
    /// Any number from zero on.
    Real(f64),
}

impl Value {
    /// A value of the same kind from a text.
    fn parse(self, text: &str) -> Option<Value> {
        match self {
            Value::Count(_) => text.parse().ok().filter(|&count| count > 0).map(Value::Count),
            Value::Bytes(_) => bytes(text).filter(|&bytes| bytes > 0).map(Value::Bytes),
            Value::Millis(_) => text.parse().ok().map(Value::Millis),
            Value::Real(_) => text.parse().ok().filter(|real: &f64| real.is_finite() && *real >= 0.0).map(Value::Real),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Value::Count(_) => "a number from one on",
            Value::Bytes(_) => "a number of bytes as 65536 or 64k",
            Value::Millis(_) => "a number of milliseconds",
            Value::Real(_) => "a number from zero on",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) | Value::Bytes(count) | Value::Millis(count) => count.fmt(f),
            Value::Real(real) => real.fmt(f),
        }
    }
}

fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A parameter that is given to a workload, as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Given<'a> {
    /// The parameter's name.
    pub name: &'a str,
    /// Its value.
    pub value: &'a str,
}

impl<'a> Given<'a> {
    /// The parameters of a text such as `objects=1000,alpha=0.9`; an empty text has none.
    pub fn list(text: &'a str) -> Result<Vec<Given<'a>>, WrongWorkload> {
        let given = |part: &'a str| match part.split_once('=') {
            Some((name, value)) => Ok(Given { name, value }),
            None => Err(WrongWorkload::Text { text: part.to_owned() }),
        };
        text.split(',').filter(|part| !part.is_empty()).map(given).collect()
    }
}

/// The fault in a description of a workload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WrongWorkload {
    /// There is no such workload.
    #[error("unknown workload '{name}'; known are {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names of workloads.
        known: String,
    },
    /// A text gives no parameter.
    #[error("`{text}` is no parameter; they look like objects=1000")]
    Text {
        /// The text.
        text: String,
    },
    /// It has no such parameter.
    #[error("{kind} has no parameter '{name}'; it has {known}")]
    Parameter {
        /// The workload.
        kind: &'static str,
        /// The parameter that was given.
        name: String,
        /// The parameters that it has.
        known: String,
    },
    /// A parameter makes no sense.
    #[error("{name}={value} makes no sense for {kind}: {expected}")]
    Value {
        /// The workload.
        kind: &'static str,
        /// The parameter.
        name: String,
        /// Its value.
        value: String,
        /// The values that are possible.
        expected: String,
    },
}

/// The values of all parameters of a workload.
pub(super) struct Values {
    kind: &'static Kind,
    values: Vec<Value>,
}

impl Values {
    pub(super) fn of(kind: &'static Kind, given: &[Given<'_>]) -> Result<Values, WrongWorkload> {
        let mut values: Vec<Value> = kind.parameters.iter().map(|parameter| parameter.default).collect();
        for &Given { name, value } in given {
            let at = kind.parameters.iter().position(|parameter| parameter.name == name);
            let at = at.ok_or_else(|| WrongWorkload::Parameter {
                kind: kind.name,
                name: name.to_owned(),
                known: kind.known(),
            })?;
            values[at] = values[at].parse(value).ok_or_else(|| WrongWorkload::Value {
                kind: kind.name,
                name: name.to_owned(),
                value: value.to_owned(),
                expected: format!("it is {}", values[at].expected()),
            })?;
        }
        Ok(Values { kind, values })
    }

    fn get(&self, name: &str) -> Option<Value> {
        let at = self.kind.parameters.iter().position(|parameter| parameter.name == name)?;
        Some(self.values[at])
    }

    /// A count, if there is such a parameter.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    /// A whole number that the workload's table is known to have: counts, bytes, and milliseconds
    /// as nanoseconds.
    pub(super) fn whole(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Count(number) | Value::Bytes(number)) => number,
            Some(Value::Millis(millis)) => millis.saturating_mul(1_000_000),
            Some(Value::Real(_)) | None => unreachable!("a test makes every workload: {name} is in its table"),
        }
    }

    /// A real number that the workload's table is known to have.
    pub(super) fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Real(real)) => real,
            _ => unreachable!("a test makes every workload: {name} is in its table"),
        }
    }

    /// The bytes of one request: they must fit into one.
    pub(super) fn request(&self, name: &str) -> Result<u32, WrongWorkload> {
        let bytes = self.whole(name);
        u32::try_from(bytes).map_err(|_| self.wrong(name, "a request has less than 4 GiB"))
    }

    /// A parameter makes no sense together with the others.
    pub(super) fn wrong(&self, name: &str, expected: &str) -> WrongWorkload {
        let value = self.get(name).map(|value| value.to_string()).unwrap_or_default();
        WrongWorkload::Value { kind: self.kind.name, name: name.to_owned(), value, expected: expected.to_owned() }
    }
}

/// `objects=1000000 alpha=0.9 `: with a blank at the end.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind
            .parameters
            .iter()
            .zip(&self.values)
            .try_for_each(|(parameter, value)| write!(f, "{}={value} ", parameter.name))
    }
}

impl Kind {
    fn known(&self) -> String {
        self.parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ")
    }
}

/// A line of a table of parameters.
pub(super) const fn parameter(name: &'static str, default: Value, what: &'static str) -> Parameter {
    Parameter { name, what, default }
}
