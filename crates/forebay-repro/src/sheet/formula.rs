//! Formulas of a sheet: `mean(throughput(cp) / throughput(linux))`.
//!
//! ```text
//! sum      product (+|- product)…
//! product  factor (*|/ factor)…
//! factor   -factor | number | name | name(sum, …) | (sum)
//! ```

use super::Wrong;

/// A formula, read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Formula {
    Number(f64),
    Name(String),
    Call(String, Vec<Formula>),
    Both(Box<Formula>, Operator, Box<Formula>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    pub(crate) fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Plus => left + right,
            Operator::Minus => left - right,
            Operator::Times => left * right,
            Operator::Over => left / right,
        }
    }
}

/// Brackets in brackets, and bytes, at most: a description may be a user's own, and to read a
/// formula and to work it out recurs.
const DEEPEST: u32 = 40;
const LONGEST: usize = 1000;

impl Formula {
    /// Reads a formula.
    pub(crate) fn read(text: &str) -> Result<Formula, Wrong> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        if text.len() > LONGEST {
            return Err(reader.wrong());
        }
        let formula = reader.sum()?;
        match reader.next() {
            None => Ok(formula),
            Some(_) => Err(reader.wrong()),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes that are read.
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character, blanks apart.
    fn next(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    /// Reads one of these, if it comes next.
    fn one_of(&mut self, marks: &str) -> Option<char> {
        let found = self.next().filter(|&mark| marks.contains(mark))?;
        self.at += found.len_utf8();
        Some(found)
    }

    /// Reads as long as letters are as they should be.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let word = &rest[..rest.find(|letter| !belongs(letter)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn wrong(&self) -> Wrong {
        Wrong::Formula { formula: self.text.to_owned(), rest: self.rest().to_owned() }
    }

    fn sum(&mut self) -> Result<Formula, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong());
        }
        let mut left = self.product()?;
        while let Some(mark) = self.one_of("+-") {
            let operator = if mark == '+' { Operator::Plus } else { Operator::Minus };
            left = Formula::Both(Box::new(left), operator, Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Formula, Wrong> {
        let mut left = self.factor()?;
        while let Some(mark) = self.one_of("*/") {
            let operator = if mark == '*' { Operator::Times } else { Operator::Over };
            left = Formula::Both(Box::new(left), operator, Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Formula, Wrong> {
        let mut signs = 0;
        while self.one_of("-").is_some() {
            signs += 1;
        }
        let factor = match self.next() {
            Some('(') => self.arguments()?.pop().ok_or_else(|| self.wrong())?,
            Some(first) if first.is_ascii_digit() => {
                let number = self.word(|letter| letter.is_ascii_digit() || letter == '.');
                Formula::Number(number.parse().map_err(|_| self.wrong())?)
            }
            Some(first) if first.is_ascii_lowercase() => {
                let name = self.word(|letter| letter.is_ascii_alphanumeric() || letter == '_').to_owned();
                if self.next() == Some('(') { Formula::Call(name, self.arguments()?) } else { Formula::Name(name) }
            }
            _ => return Err(self.wrong()),
        };
        let minus = |factor| Formula::Both(Box::new(Formula::Number(-1.0)), Operator::Times, Box::new(factor));
        Ok(if signs % 2 == 1 { minus(factor) } else { factor })
    }

    /// `(a, b)`
    fn arguments(&mut self) -> Result<Vec<Formula>, Wrong> {
        let mut arguments = Vec::new();
        while self.one_of(if arguments.is_empty() { "(" } else { "," }).is_some() {
            arguments.push(self.sum()?);
        }
        self.one_of(")").map(|_| arguments).ok_or_else(|| self.wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A formula of numbers alone, worked out.
    fn value(text: &str) -> f64 {
        fn of(formula: &Formula) -> f64 {
            match formula {
                Formula::Number(number) => *number,
                Formula::Both(left, operator, right) => operator.apply(of(left), of(right)),
                Formula::Name(_) | Formula::Call(..) => f64::NAN,
            }
        }
        of(&Formula::read(text).unwrap())
    }

    #[test]
    fn products_come_before_sums_and_the_left_before_the_right() {
        let texts = ["1 + 2 * 3", "(1 + 2) * 3", "8 / 4 / 2", "1 - 2 - 3", "-2 * -(3)", "--1.5", " 7 "];
        assert_eq!(texts.map(value), [7.0, 9.0, 1.0, -4.0, 6.0, 1.5, 7.0]);
    }

    #[test]
    fn calls_have_arguments() {
        let name = |name: &str| Formula::Name(name.to_owned());
        let call = Formula::Call("rate".to_owned(), vec![name("linux"), Formula::Number(2.0)]);
        assert_eq!(Formula::read("rate( linux, 2 )"), Ok(call));
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        let deep = "(".repeat(100_000);
        let nested = format!("{}1{}", "(".repeat(50), ")".repeat(50));
        let long = "1+".repeat(5000) + "1";
        let wrong = ["", "1 +", "(1", "1)", "f(", "f()", "f(1,)", "1 2", "a:b", "A", "1.2.3", "()", "ä"];
        for text in wrong.into_iter().chain([&deep[..], &nested, &long]) {
            assert!(matches!(Formula::read(text), Err(Wrong::Formula { .. })), "{text}");
        }
    }
}
