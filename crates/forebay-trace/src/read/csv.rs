//! Comma-separated values with columns for time, object and size, as libCacheSim takes them, in any
//! order and with any delimiter. With a column of offsets the requests are ranges and the object is
//! the file. The presets of public traces are read by this.
//!
//! A line whose operation is not understood is left out and counted, if that of another line is
//! understood. If none of the first lines is, the column is probably none of operations: it is not
//! read, every line counts as a read, and the reading has a doubt. A column that was said to be the
//! operation's is not doubted: then it is an error.
//!
//! Objects are numbers if they are in all of the first lines, and none begins with a zero.

mod layout;
mod names;
mod operation;
mod plausible;
mod sample;

use std::ops::Range;

use memchr::memchr;

use crate::read::calendar::timestamp;
use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Line, decimal, hexadecimal, number, own_number, quoted};
use crate::{Columns, FileInfo, Operation, Reading, Request, Shape};
pub(crate) use layout::likely_delimiter;
use layout::{Layout, split};
use operation::{Meaning, Words};
use sample::Sample;

pub(crate) struct Csv {
    layout: Layout,
    delimiter: u8,
    offset_unit: u64,
    size_unit: u64,
    clock: Clock,
    /// Decimal places between the unit of time and nanoseconds.
    places: u32,
    names: Names,
    name: Vec<u8>,
    /// Whether objects are numbers, once it is known.
    numbers: Option<bool>,
    /// Whether that was said: then zeros before a number mean nothing.
    numbers_said: bool,
    words: Words,
    left_out: LeftOut,
    /// Whether the header is behind.
    begun: bool,
    /// Whether an operation was understood.
    understood: bool,
    /// Whether the column of the operation was said, not found.
    said: bool,
    doubts: Vec<String>,
    /// Where the fields of a line are; kept for its memory.
    fields: Vec<Range<usize>>,
}

impl Csv {
    /// A decoder for a content that begins with `lines`. Its shape is known from then on.
    pub(crate) fn new(columns: &Columns, lines: &[u8]) -> Result<Csv, String> {
        let first = lines[..memchr(b'\n', lines).unwrap_or(lines.len())].trim_ascii();
        let delimiter = columns.delimiter.unwrap_or_else(|| likely_delimiter(first));
        let layout = Layout::new(columns, first, delimiter)?;
        let mut csv = Csv {
            places: layout.unit.checked_ilog10().unwrap_or(0),
            delimiter,
            offset_unit: layout.offset_unit,
            size_unit: layout.size_unit,
            layout,
            clock: Clock::new(1),
            names: Names::default(),
            name: Vec::new(),
            numbers: columns.numbers,
            numbers_said: columns.numbers.is_some(),
            words: Words::new(columns),
            left_out: LeftOut::default(),
            begun: false,
            understood: false,
            said: columns.operation.is_some(),
            doubts: Vec::new(),
            fields: Vec::new(),
        };
        csv.decide(&Sample::of(lines, delimiter, csv.layout.header));
        csv.doubts = csv.weak_points(columns, lines);
        Ok(csv)
    }

    /// The same for columns that were guessed: it has the doubts about them.
    pub(crate) fn guessed(columns: &Columns, lines: &[u8]) -> Result<Csv, String> {
        let mut csv = Csv::new(columns, lines)?;
        csv.doubts.extend(csv.judged(lines));
        Ok(csv)
    }

    /// Whether the first line names the columns.
    pub(crate) fn header(&self) -> bool {
        self.layout.header
    }

    /// Decides by the first lines what one line alone cannot tell.
    fn decide(&mut self, sample: &Sample<'_>) {
        let known = |text: &[u8]| self.words.meaning(text) != Meaning::Unknown;
        self.understood = self.layout.operation.is_some_and(|place| sample.column(place).any(known));
        if let (None, None, Some(place)) = (self.numbers, self.layout.part, self.layout.object) {
            self.numbers = (sample.len() > 0).then(|| sample.all(place, |text| own_number(text).is_some()));
        }
    }

    fn field<'a>(&self, line: &'a [u8], column: Option<usize>, what: &str) -> Result<Option<&'a [u8]>, String> {
        let Some(column) = column else { return Ok(None) };
        let field = self.fields.get(column).ok_or_else(|| format!("it has no column {} for the {what}", column + 1))?;
        Ok(Some(&line[field.clone()]))
    }

    fn number(&self, line: &[u8], column: Option<usize>, what: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.field(line, column, what)? else { return Ok(None) };
        let value = number(text).or_else(|| hexadecimal(text));
        value.map(Some).ok_or_else(|| wrong(column, what, text))
    }

    fn small(&self, line: &[u8], column: Option<usize>, what: &str) -> Result<Option<u32>, String> {
        let Some(value) = self.number(line, column, what)? else { return Ok(None) };
        let too_large = || format!("column {}: {value} is too large for a {what}", column.unwrap_or(0) + 1);
        value.try_into().map(Some).map_err(|_| too_large())
    }

    /// The number of an object: its own, or that of its name. The first lines decide which, if the
    /// user does not.
    fn object(&mut self, line: &[u8]) -> Result<Option<u64>, String> {
        let Some(text) = self.field(line, self.layout.object, "object")? else { return Ok(None) };
        if let Some(part) = self.field(line, self.layout.part, "name's second part")? {
            self.name.clear();
            self.name.extend_from_slice(text);
            self.name.push(b'.');
            self.name.extend_from_slice(part);
            return Ok(Some(self.names.number(&self.name)));
        }
        let own = if self.numbers_said { number(text) } else { own_number(text) };
        match (*self.numbers.get_or_insert(own.is_some()), own) {
            (false, _) => Ok(Some(self.names.number(text))),
            (true, Some(own)) => Ok(Some(own)),
            (true, None) => {
                let column = self.layout.object.unwrap_or(0) + 1;
                let text = quoted(text);
                Err(format!(
                    "column {column}: {text} is no number as the objects before; obj-id-is-num=false takes names"
                ))
            }
        }
    }

    /// The operation; none if the line is left out.
    fn operation(&mut self, line: &[u8]) -> Result<Option<Operation>, String> {
        let Some(text) = self.field(line, self.layout.operation, "operation")? else {
            return Ok(Some(Operation::Read));
        };
        let operation = match self.words.meaning(text) {
            Meaning::Reads => Some(Operation::Read),
            Meaning::Writes => Some(Operation::Write),
            Meaning::Unknown if !self.understood => {
                let unknown = format!(
                    "column {}: {} is no operation that is known; the columns reads=…, writes=… or ignored=… say what \
                     it is, op-col=none that there is none",
                    self.layout.operation.unwrap_or(0) + 1,
                    quoted(text)
                );
                if self.said {
                    return Err(unknown);
                }
                self.doubts.push(format!("every line counts as a read, since in {unknown}"));
                self.layout.operation = None;
                Some(Operation::Read)
            }
            Meaning::Ignored | Meaning::Unknown => None,
        };
        if operation.is_none() {
            self.left_out.add("operation", text);
        }
        Ok(operation)
    }

    /// The size in bytes; none if the line is left out, since no request is so large.
    fn size(&mut self, line: &[u8]) -> Result<Option<u64>, String> {
        let layout = &self.layout;
        let Some(size) = self.number(line, layout.size, "size")? else { return Ok(Some(1)) };
        let added = self.number(line, layout.added, "added size")?.unwrap_or(0);
        let bytes = size.checked_mul(self.size_unit).and_then(|size| size.checked_add(added)).unwrap_or(u64::MAX);
        if bytes > u32::MAX.into() {
            self.left_out.add("of 4 GiB or more", b"");
            return Ok(None);
        }
        Ok(Some(bytes))
    }

    fn request(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let mut fields = std::mem::take(&mut self.fields);
        split(line, self.delimiter, &mut fields);
        self.fields = fields;
        let Some(operation) = self.operation(line)? else { return Ok(None) };
        let Some(size) = self.size(line)? else { return Ok(None) };
        let mut request = Request { operation, ..Request::default() };
        let time = self.layout.time;
        if let Some(text) = self.field(line, time, "time")? {
            let nanos = decimal(text, self.places).or_else(|| timestamp(text));
            request.at = self.clock.at(nanos.ok_or_else(|| no_time(time, text))?);
        }
        if size == 0 {
            self.left_out.add("of no bytes", b"");
            return Ok(None);
        }
        request.len = u32::try_from(size).unwrap_or(u32::MAX);
        let layout = &self.layout;
        if let Some(offset) = self.number(line, layout.offset, "offset")? {
            let beyond = || format!("column {}: no file has a byte there", layout.offset.unwrap_or(0) + 1);
            request.offset = offset.checked_mul(self.offset_unit).ok_or_else(beyond)?;
        }
        request.handler = self.small(line, layout.handler, "handler")?.unwrap_or(0);
        request.context = self.small(line, layout.context, "context")?.unwrap_or(0);
        request.file = self.object(line)?.unwrap_or(0);
        Ok(Some(request))
    }
}

/// Why a text is no time, and the remedy.
fn no_time(column: Option<usize>, text: &[u8]) -> String {
    let wrong = wrong(column, "time", text);
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let unit = match digits {
        18.. => "ns",
        15.. => "us",
        _ => "ms",
    };
    match decimal(text, 0) {
        Some(_) => format!("{wrong} in this unit; in which unit is it? say so, as in --columns time-unit={unit}"),
        None => format!(
            "{wrong}: numbers without an exponent, such as 1.5, and dates such as 2026-11-28T10:00:00Z are; \
             time-col=none reads the trace without times"
        ),
    }
}

fn wrong(column: Option<usize>, what: &str, text: &[u8]) -> String {
    format!("column {}: {} is no {what}", column.unwrap_or(0) + 1, quoted(text))
}

impl Line for Csv {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let header = !std::mem::replace(&mut self.begun, true) && self.layout.header;
        if header || line.trim_ascii().is_empty() || line.starts_with(b"#") {
            return Ok(None);
        }
        self.request(line)
    }

    fn shape(&self) -> Shape {
        match self.layout.offset {
            Some(_) => Shape::Ranges { block_bytes: 4096 },
            None => Shape::Objects,
        }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.names.files(0)
    }

    fn reading(&self) -> Reading {
        let (columns, unused) = (self.layout.read(), self.layout.unused());
        Reading {
            columns,
            unused,
            left_out: self.left_out.all(),
            doubts: self.doubts.clone(),
            without_sizes: self.without_sizes(),
            ..Reading::default()
        }
    }
}
