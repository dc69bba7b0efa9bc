//! The common parts of texts: lines, fields, numbers; all from bytes, without an allocation a line.

use memchr::memchr;

use crate::read::Decode;
use crate::{BATCH, FileInfo, LeftOut, Reading, Request, Shape};

/// A format of a request a line.
pub(crate) trait Line: Send {
    /// The request of a line (without its end; not trimmed), or none if the line has none.
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String>;

    /// Whether requests are ranges or objects.
    fn shape(&self) -> Shape;

    /// The files known by now.
    fn files(&self) -> Vec<FileInfo> {
        Vec::new()
    }

    /// How lines are understood.
    fn reading(&self) -> Reading {
        Reading::default()
    }
}

/// Lines, each handed to a format.
pub(crate) struct Text<L> {
    format: L,
    lines: u64,
    /// Whether the last line had no end and made no sense.
    cut: bool,
}

impl<L: Line> Text<L> {
    pub(crate) fn new(format: L) -> Text<L> {
        Text { format, lines: 0, cut: false }
    }

    /// The request of a line, if it is one.
    fn request(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let request = self.format.line(line.strip_suffix(b"\r").unwrap_or(line))?;
        match request {
            Some(request) if request.offset.checked_add(request.len.into()).is_none() => {
                Err(format!("it goes beyond what a file can have, {} bytes", u64::MAX))
            }
            request => Ok(request),
        }
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
                None if last && !rest.is_empty() => (rest, &[][..]),
                None => break,
            };
            match self.request(line) {
                Ok(request) => batch.extend(request),
                // It lacks its end: the file was cut there, as logs are that are still written.
                Err(_) if next.is_empty() && line.len() == rest.len() => self.cut = true,
                Err(reason) => return Err(reason),
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

    fn files(&self) -> Vec<FileInfo> {
        self.format.files()
    }

    fn reading(&self) -> Reading {
        let mut reading = self.format.reading();
        if self.cut {
            reading.left_out.push(LeftOut { reason: "last line, which is cut".to_owned(), lines: 1 });
        }
        reading
    }
}

/// Fields with blanks between them.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Fields<'a> {
        Fields { rest: line }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.rest = rest;
        (!field.is_empty()).then_some(field)
    }
}

/// A whole number: digits only, and not too many.
#[inline]
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    /// So many digits always fit.
    const SAFE: usize = 19;
    let mut value = 0u64;
    for &byte in text.get(..SAFE).unwrap_or(text) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    match text.get(SAFE..) {
        _ if text.is_empty() => None,
        None => Some(value),
        Some(more) => more.iter().try_fold(value, |value, byte| {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
        }),
    }
}

/// A whole number as in `0x1000`.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, 16).ok()
}

/// The number of an object that is one: with a zero before it, as in `0012`, it is a name.
pub(crate) fn own_number(text: &[u8]) -> Option<u64> {
    number(text).filter(|_| text == b"0" || !text.starts_with(b"0"))
}

/// Seconds with or without a fraction, in nanoseconds; smaller digits are cut off.
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    decimal(text, 9)
}

/// A decimal number times 10^`places`, cut off below that.
pub(crate) fn decimal(text: &[u8], places: u32) -> Option<u64> {
    let (whole, fraction) = match memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(places as usize)];
    let below = if fraction.is_empty() { 0 } else { number(fraction)? * 10u64.pow(places - fraction.len() as u32) };
    number(whole)?.checked_mul(10u64.pow(places))?.checked_add(below)
}

/// A text for a message, cut short and made printable.
pub(crate) fn quoted(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let more = if text.len() > LONGEST { "…" } else { "" };
    format!("`{}{more}`", printable(&text[..text.len().min(LONGEST)]))
}

/// A text without characters that would act on a terminal.
pub(crate) fn printable(text: &[u8]) -> String {
    let mut shown = String::new();
    for letter in String::from_utf8_lossy(text).chars() {
        if letter.is_control() { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_and_fit() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"000000000000000000000001"), Some(1));
        for wrong in ["", "-1", "+1", "1 ", "18446744073709551616", "99999999999999999999999", "1a"] {
            assert_eq!(number(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn seconds_have_fractions() {
        assert_eq!(seconds(b"0.551706"), Some(551_706_000));
        assert_eq!(seconds(b"12"), Some(12_000_000_000));
        assert_eq!(seconds(b"1.0000000019"), Some(1_000_000_001));
        assert_eq!(seconds(b"3."), Some(3_000_000_000));
        for wrong in ["", ".", ".5", "1.5.5", "1.-5", "1e9", "99999999999"] {
            assert_eq!(seconds(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn fields_are_between_blanks() {
        assert_eq!(Fields::of(b"  a\t bc  d ").collect::<Vec<_>>(), [&b"a"[..], b"bc", b"d"]);
        assert_eq!(Fields::of(b" ").next(), None);
    }
}
