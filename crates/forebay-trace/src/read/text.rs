//! What texts have in common: lines, fields, numbers; all from bytes, without an allocation a line.

use memchr::memchr;

use crate::read::Decode;
use crate::{BATCH, Request, Shape};

/// A format of a request a line.
pub(crate) trait Line: Send {
    /// The request of a line (without its end), or none if the line has none.
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String>;

    /// What the requests are about.
    fn shape(&self) -> Shape;

    /// The names behind file numbers, as far as they are known by now.
    fn names(&self) -> &[String] {
        &[]
    }
}

/// Lines, each handed to a format.
pub(crate) struct Text<L> {
    format: L,
    lines: u64,
}

impl<L: Line> Text<L> {
    pub(crate) fn new(format: L) -> Text<L> {
        Text { format, lines: 0 }
    }
}

impl<L: Line> Decode for Text<L> {
    fn decode(&mut self, bytes: &[u8], last: bool, batch: &mut Vec<Request>) -> Result<usize, String> {
        batch.reserve(BATCH);
        let full = batch.len() + BATCH;
        let mut rest = bytes;
        while batch.len() < full {
            let (line, next) = match memchr(b'\n', rest) {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None if last && !rest.is_empty() => (rest, &rest[rest.len()..]),
                None => break,
            };
            if let Some(request) = self.format.line(line.trim_ascii())? {
                batch.push(request);
            }
            self.lines += 1;
            rest = next;
        }
        Ok(bytes.len() - rest.len())
    }

    fn shape(&self) -> Shape {
        self.format.shape()
    }

    fn records(&self) -> u64 {
        self.lines
    }

    fn names(&self) -> &[String] {
        self.format.names()
    }
}

/// A whole number of digits only.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let digits = |value: u64, &digit: &u8| match digit.wrapping_sub(b'0') {
        digit @ 0..=9 => value.checked_mul(10)?.checked_add(digit.into()),
        _ => None,
    };
    // Nineteen digits always fit.
    if text.is_empty() {
        return None;
    }
    if text.len() > 19 {
        return text.iter().try_fold(0, digits);
    }
    let mut value = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// A text of a message, short and printable whatever it was.
pub(crate) fn quoted(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let more = if text.len() > LONGEST { "…" } else { "" };
    format!("`{}{more}`", text[..text.len().min(LONGEST)].escape_ascii())
}
