//! Comma-separated values with columns for time, object and size, as libCacheSim takes them, in any
//! order and with any delimiter. With a column of offsets the requests are ranges and the object is
//! the file.

use std::ops::Range;

use crate::read::clock::Clock;
use crate::read::names::Names;
use crate::read::text::{Line, decimal, number, quoted};
use crate::{Columns, FileInfo, Operation, Request, Shape};

/// Names of columns in headers, in lower case, without blanks, `-` and `_`.
const TIMES: [&str; 7] = ["time", "timestamp", "ts", "clocktime", "timens", "timeus", "timems"];
const OBJECTS: [&str; 7] = ["object", "objid", "objectid", "id", "key", "file", "obj"];
const SIZES: [&str; 7] = ["size", "objsize", "objectsize", "length", "len", "bytes", "valuesize"];
const OFFSETS: [&str; 3] = ["offset", "start", "position"];
const OPERATIONS: [&str; 4] = ["operation", "op", "type", "rw"];
const HANDLERS: [&str; 5] = ["handler", "thread", "tid", "pid", "process"];
const CONTEXTS: [&str; 2] = ["context", "pc"];

pub(crate) struct Csv {
    columns: Columns,
    delimiter: u8,
    clock: Clock,
    /// Decimal places between the unit of time and nanoseconds.
    places: u32,
    names: Names,
    /// Whether the layout is final.
    begun: bool,
    /// Where the fields of a line are; kept for its memory.
    fields: Vec<Range<usize>>,
}

impl Csv {
    /// A decoder for lines of which `first` is the first. Its shape is known from then on.
    pub(crate) fn new(columns: &Columns, first: &[u8]) -> Result<Csv, String> {
        let first = first.trim_ascii();
        let delimiter = columns.delimiter.unwrap_or_else(|| likely_delimiter(first));
        let mut csv = Csv {
            columns: columns.clone(),
            delimiter,
            clock: Clock::new(1),
            places: 9,
            names: Names::default(),
            begun: false,
            fields: Vec::new(),
        };
        let mut fields = Vec::new();
        split(first, delimiter, &mut fields);
        let texts: Vec<&[u8]> = fields.iter().map(|field| &first[field.clone()]).collect();
        let header = columns.header.unwrap_or_else(|| texts.iter().all(|text| decimal(text, 9).is_none()));
        csv.columns.header = Some(header);
        if header {
            csv.by_header(&texts)
        } else {
            csv.by_order(&texts)?
        }
        if csv.columns.object.is_none() && csv.columns.offset.is_none() {
            return Err(format!(
                "no column of {} is called like an object or an offset; say which is which, as in time-col=1,obj-id-col=2",
                quoted(first)
            ));
        }
        let unit = *csv.columns.unit.get_or_insert(1_000_000_000);
        csv.places = unit.checked_ilog10().unwrap_or(0);
        Ok(csv)
    }

    fn by_header(&mut self, names: &[&[u8]]) {
        let plain = |name: &[u8]| -> String {
            let letters = name.iter().filter(|byte| !matches!(byte, b'-' | b'_' | b' ' | b'#'));
            letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
        };
        let names: Vec<String> = names.iter().map(|name| plain(name)).collect();
        let columns = &mut self.columns;
        if columns.unit.is_none() {
            let time = names.iter().find(|name| TIMES.contains(&name.as_str()));
            columns.unit = time.and_then(|name| match name.as_str() {
                "timens" => Some(1),
                "timeus" => Some(1_000),
                "timems" => Some(1_000_000),
                _ => None,
            });
        }
        let find = |column: &mut Option<usize>, known: &[&str]| {
            // The name that stands first in the list of known ones wins, not the column that comes
            // first.
            let found = || known.iter().find_map(|known| names.iter().position(|name| name == known));
            *column = column.or_else(found);
        };
        find(&mut columns.time, &TIMES);
        find(&mut columns.object, &OBJECTS);
        find(&mut columns.size, &SIZES);
        find(&mut columns.offset, &OFFSETS);
        find(&mut columns.operation, &OPERATIONS);
        find(&mut columns.handler, &HANDLERS);
        find(&mut columns.context, &CONTEXTS);
    }

    /// Without a header and without the user's columns: libCacheSim's order.
    fn by_order(&mut self, fields: &[&[u8]]) -> Result<(), String> {
        let columns = &mut self.columns;
        if columns.object.is_some() || columns.offset.is_some() {
            return Ok(());
        }
        match fields.len() {
            1 => columns.object = Some(0),
            2..=4 => {
                columns.time = columns.time.or(Some(0));
                columns.object = Some(1);
                columns.size = columns.size.or((fields.len() > 2).then_some(2));
                columns.operation = columns.operation.or((fields.len() > 3).then_some(3));
            }
            many => {
                let reason = "columns and no header; say which is which, as in time-col=1,obj-id-col=2,obj-size-col=3";
                return Err(format!("it has {many} {reason}"));
            }
        }
        Ok(())
    }

    fn field<'a>(&self, line: &'a [u8], column: Option<usize>, what: &str) -> Result<Option<&'a [u8]>, String> {
        let Some(column) = column else { return Ok(None) };
        let field = self.fields.get(column).ok_or_else(|| format!("it has no column {} for the {what}", column + 1))?;
        Ok(Some(&line[field.clone()]))
    }

    fn number(&self, line: &[u8], column: Option<usize>, what: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.field(line, column, what)? else { return Ok(None) };
        number(text).map(Some).ok_or_else(|| format!("{} is no {what}", quoted(text)))
    }

    fn small(&self, line: &[u8], column: Option<usize>, what: &str) -> Result<Option<u32>, String> {
        let Some(value) = self.number(line, column, what)? else { return Ok(None) };
        value.try_into().map(Some).map_err(|_| format!("{value} is too large for a {what}"))
    }

    /// The number of an object: its own, or that of its name. The first line decides which, if the
    /// user does not.
    fn object(&mut self, line: &[u8]) -> Result<Option<u64>, String> {
        let Some(text) = self.field(line, self.columns.object, "object")? else { return Ok(None) };
        let own = number(text);
        match (*self.columns.numbers.get_or_insert(own.is_some()), own) {
            (false, _) => Ok(Some(self.names.number(text))),
            (true, Some(own)) => Ok(Some(own)),
            (true, None) => {
                Err(format!("{} is no number as the objects before; obj-id-is-num=false takes names", quoted(text)))
            }
        }
    }

    fn request(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let mut fields = std::mem::take(&mut self.fields);
        split(line, self.delimiter, &mut fields);
        self.fields = fields;
        let columns = &self.columns;
        let mut request = Request::default();
        if let Some(text) = self.field(line, columns.time, "time")? {
            let time = decimal(text, self.places).ok_or_else(|| format!("{} is no time", quoted(text)))?;
            request.at = self.clock.at(time);
        }
        let columns = &self.columns;
        let size = self.small(line, columns.size, "size")?;
        if size == Some(0) && columns.offset.is_some() {
            return Ok(None);
        }
        request.len = size.unwrap_or(1).max(1);
        request.offset = self.number(line, columns.offset, "offset")?.unwrap_or(0);
        request.handler = self.small(line, columns.handler, "handler")?.unwrap_or(0);
        request.context = self.small(line, columns.context, "context")?.unwrap_or(0);
        if let Some(text) = self.field(line, columns.operation, "operation")? {
            request.operation = operation(text).ok_or_else(|| format!("{} is no operation", quoted(text)))?;
        }
        request.file = self.object(line)?.unwrap_or(0);
        Ok(Some(request))
    }
}

impl Line for Csv {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        if !std::mem::replace(&mut self.begun, true) && self.columns.header == Some(true)
            || line.trim_ascii().is_empty()
        {
            return Ok(None);
        }
        self.request(line)
    }

    fn shape(&self) -> Shape {
        match self.columns.offset {
            Some(_) => Shape::Ranges { block_bytes: 4096 },
            None => Shape::Objects,
        }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.names.files(0)
    }
}

/// The delimiter that a line has most of.
fn likely_delimiter(line: &[u8]) -> u8 {
    let count = |delimiter: u8| line.iter().filter(|&&byte| byte == delimiter).count();
    // Of equals the last one wins, so the comma stands last.
    [b' ', b'|', b';', b'\t', b','].into_iter().max_by_key(|&delimiter| count(delimiter)).unwrap_or(b',')
}

/// Where the fields of a line begin and end. One in quotes may have delimiters in it; a doubled
/// quote within stays doubled.
fn split(line: &[u8], delimiter: u8, fields: &mut Vec<Range<usize>>) {
    fields.clear();
    let mut at = 0;
    loop {
        let quoted = line.get(at) == Some(&b'"');
        let mut end = at;
        let mut inside = false;
        while let Some(&byte) = line.get(end) {
            inside ^= quoted && byte == b'"';
            if byte == delimiter && !inside {
                break;
            }
            end += 1;
        }
        let field = line[at..end].trim_ascii();
        // Where the trimmed part begins: the blanks before it are the only ones that
        // `trim_ascii_start` takes.
        let from = at + (end - at - line[at..end].trim_ascii_start().len());
        let (mut from, mut to) = (from, from + field.len());
        if quoted && field.len() >= 2 && field.ends_with(b"\"") {
            (from, to) = (from + 1, to - 1);
        }
        fields.push(from..to);
        if end >= line.len() {
            return;
        }
        at = end + 1;
    }
}

/// The effect of an operation of a file system, a block device or a key-value store on the bytes:
/// reads them, or changes them.
fn operation(text: &[u8]) -> Option<Operation> {
    const READS: [&str; 5] = ["r", "read", "get", "gets", "rs"];
    const WRITES: [&str; 14] = [
        "w", "write", "set", "add", "put", "cas", "replace", "append", "prepend", "delete", "incr", "decr", "update",
        "ws",
    ];
    let is = |name: &&str| text.eq_ignore_ascii_case(name.as_bytes());
    match () {
        () if READS.iter().any(is) => Some(Operation::Read),
        () if WRITES.iter().any(is) => Some(Operation::Write),
        () => None,
    }
}
