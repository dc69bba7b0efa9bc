//! Readers, a file each. A reader is a [`Decode`]: it turns the bytes of a window into requests,
//! whole records at a time, and describes the fault of a damaged record. Everything else (files,
//! compression, errors with names) is here.

mod access_log;
mod biosnoop;
mod blkparse;
mod calendar;
mod clock;
mod csv;
mod detect;
mod fio;
mod ftrace;
mod ids;
mod left_out;
mod lirs;
mod lis;
mod msr;
mod names;
mod oracle_general;
mod plain;
mod s3_log;
mod spc;
mod strace;
mod text;
mod vscsi;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::input::Input;
use crate::read::csv::Csv;
use crate::read::text::Text;
use crate::{Columns, Error, FileInfo, Format, Options, Preset, Reading, Request, Shape, Source, parquet};

/// Turns bytes into requests.
pub(crate) trait Decode: Send {
    /// Decodes whole records from the beginning of `bytes`, until about a batch is full or no whole
    /// record is left, and returns how many bytes they had. `last`: nothing follows `bytes`, so
    /// that a part of a record is damage.
    fn decode(&mut self, bytes: &[u8], last: bool, batch: &mut Vec<Request>) -> Result<usize, String>;

    /// Whether requests are ranges or objects.
    fn shape(&self) -> Shape;

    /// How many records (of texts, lines) are done with. After an error the next one is the damaged
    /// one.
    fn records(&self) -> u64;

    /// The files known by now.
    fn files(&self) -> Vec<FileInfo> {
        Vec::new()
    }

    /// How records are understood.
    fn reading(&self) -> Reading {
        Reading::default()
    }
}

/// A trace file.
struct TraceFile {
    path: PathBuf,
    format: Format,
    input: Input,
    decoder: Box<dyn Decode>,
    /// The advice if a record is damaged and the format was not given but guessed.
    guess: String,
    /// How many requests were read, and whether there are no more.
    requests: u64,
    ended: bool,
}

/// Opens a trace file with a decoder.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    open_file(path, File::open(path).map_err(|error| failed(path, 0, error))?, options)
}

/// The same for a file that is open already.
pub(crate) fn open_file(path: &Path, file: File, options: &Options) -> Result<Box<dyn Source>, Error> {
    let io = |error| failed(path, 0, error);
    let again = file.try_clone().map_err(io)?;
    begin(path, Input::file(file).map_err(io)?, options, || parquet::open(path, again))
}

/// The same for a content in memory.
pub(crate) fn open_bytes(path: &Path, bytes: Vec<u8>, options: &Options) -> Result<Box<dyn Source>, Error> {
    let bytes = Bytes::from(bytes);
    let input = Input::over(Box::new(io::Cursor::new(bytes.clone()))).map_err(|error| failed(path, 0, error))?;
    begin(path, input, options, || parquet::open(path, bytes))
}

/// Tells the format of an input and makes its source; `parquet` opens the same content as Parquet.
fn begin(
    path: &Path,
    mut input: Input,
    options: &Options,
    parquet: impl FnOnce() -> Result<Box<dyn Source>, Error>,
) -> Result<Box<dyn Source>, Error> {
    // Programs of Windows write a mark before text in Unicode.
    if input.window().starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    let unknown = |reason: String| Error::Format { path: path.to_owned(), reason };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let said = said(options).map_err(unknown)?;
    let (format, guess) = match (said, detect::by_name(&name)) {
        (Some(format), _) => (format, String::new()),
        (None, Some(format)) => (format, told(format, "name")),
        (None, None) => {
            let found = detect::by_content(&name, input.window(), &options.columns);
            let format = found.map_err(unknown)?;
            (format, told(format, "content"))
        }
    };
    // Columns, even if they only say the unit of time, are those of a table.
    let table = matches!(format, Format::Csv | Format::Preset(_)) || options.columns == Columns::default();
    let format = if table { format } else { Format::Csv };
    if format == Format::Parquet && input.compression().is_none() {
        return parquet();
    }
    let decoder =
        decoder(format, options, input.window(), said.is_none()).map_err(|reason| unknown(reason + &guess))?;
    Ok(Box::new(TraceFile { path: path.to_owned(), format, input, decoder, guess, requests: 0, ended: false }))
}

/// The format that the options say: an option that only one format has chooses it. Columns that
/// name no place, but units or words, add to those of a preset that is told by the content.
fn said(options: &Options) -> Result<Option<Format>, String> {
    let columns = options.columns != Columns::default();
    match options.format {
        None if columns && options.action.is_some() => {
            Err("columns are for csv and an action is for blkparse: give one of them".to_owned())
        }
        None if options.columns.name_places() => Ok(Some(Format::Csv)),
        None if options.action.is_some() => Ok(Some(Format::Blkparse)),
        Some(format) if columns && !matches!(format, Format::Csv | Format::Preset(_)) => {
            Err(format!("columns are for csv and its presets, not for {format}"))
        }
        Some(format) if options.action.is_some() && format != Format::Blkparse => {
            Err(format!("an action is for blkparse, not for {format}"))
        }
        said => Ok(said),
    }
}

/// The format that a file's name tells, even where its content could tell more.
pub(crate) fn by_name(name: &str) -> Option<Format> {
    detect::by_name(name).or_else(|| match detect::ending(&name.to_ascii_lowercase())? {
        "csv" => Some(Format::Csv),
        "txt" | "trace" => Some(Format::Plain),
        _ => None,
    })
}

fn told(format: Format, by: &str) -> String {
    format!(" (taken for {format} by its {by}; give the format if it is another)")
}

/// The columns of a preset with those of the user, for lines that begin so. Copies of public traces
/// often have another delimiter.
fn preset_columns(preset: Preset, said: &Columns, lines: &[u8]) -> Columns {
    let line = &lines[..memchr::memchr(b'\n', lines).unwrap_or(lines.len())];
    let mut columns = said.clone().or(preset.columns());
    let missing = columns.delimiter.is_some_and(|delimiter| !line.trim_ascii().contains(&delimiter));
    if said.delimiter.is_none() && missing {
        columns.delimiter = Some(csv::likely_delimiter(line.trim_ascii()));
    }
    columns
}

/// A decoder of a format for a content that begins like this. A guess has doubts.
fn decoder(format: Format, options: &Options, first: &[u8], guess: bool) -> Result<Box<dyn Decode>, String> {
    let table = |columns: &Columns| {
        // Columns that the user did not name are guessed, whatever the format.
        let guess = guess || format == Format::Csv && !columns.name_places();
        let csv = if guess { Csv::guessed(columns, first)? } else { Csv::new(columns, first)? };
        match csv.implausible(first).filter(|_| options.columns.object.is_none()) {
            Some(reason) => Err(reason),
            None => Ok(csv),
        }
    };
    Ok(match format {
        Format::Lirs => Box::new(Text::new(lirs::Lirs)),
        Format::Plain => Box::new(Text::new(plain::Plain::default())),
        Format::Lis => Box::new(Text::new(lis::Lis::default())),
        Format::Vscsi => {
            Box::new(vscsi::Vscsi::of(first).ok_or("its first records are of no version of vscsi, 1 or 2")?)
        }
        Format::U32Le => Box::new(ids::Ids::<ids::U32Le>::new()),
        Format::U32Be => Box::new(ids::Ids::<ids::U32Be>::new()),
        Format::U64Le => Box::new(ids::Ids::<ids::U64Le>::new()),
        Format::U64Be => Box::new(ids::Ids::<ids::U64Be>::new()),
        Format::OracleGeneral => Box::new(oracle_general::OracleGeneral::default()),
        Format::Csv => Box::new(Text::new(table(&options.columns)?)),
        Format::Spc => Box::new(Text::new(spc::Spc::default())),
        Format::Msr => Box::new(Text::new(msr::Msr::default())),
        Format::Blkparse => {
            let action = options.action.unwrap_or('Q');
            let byte = u8::try_from(action).ok().filter(u8::is_ascii_alphabetic);
            Box::new(Text::new(blkparse::Blkparse::new(
                byte.ok_or_else(|| format!("{action:?} is no action of blkparse"))?,
            )))
        }
        Format::Fio => Box::new(Text::new(fio::Fio::default())),
        Format::Strace => Box::new(Text::new(strace::Strace::default())),
        Format::Biosnoop => Box::new(Text::new(biosnoop::Biosnoop::default())),
        Format::Ftrace => Box::new(Text::new(ftrace::Ftrace::default())),
        Format::AccessLog => Box::new(Text::new(access_log::AccessLog::default())),
        Format::S3Log => Box::new(Text::new(s3_log::S3Log::default())),
        Format::Preset(preset) => Box::new(Text::new(table(&preset_columns(preset, &options.columns, first))?)),
        // Its footer is at its end, so that it is not read through a window.
        Format::Parquet => return Err("a compressed Parquet file cannot be read; decompress it first".to_owned()),
    })
}

/// An error of the operating system has its number; any other is a decompressor's, which cannot go
/// on.
fn failed(path: &Path, records: u64, source: io::Error) -> Error {
    let path = path.to_owned();
    if source.raw_os_error().is_some() {
        return Error::Io { path, source };
    }
    if source.kind() == io::ErrorKind::Unsupported {
        return Error::Format { path, reason: source.to_string() };
    }
    Error::Record { path, record: records + 1, reason: format!("the compressed data are damaged here: {source}") }
}

impl TraceFile {
    fn damaged(&self, reason: String) -> Error {
        let reason = reason + &self.guess;
        Error::Record { path: self.path.clone(), record: self.decoder.records() + 1, reason }
    }
}

impl Source for TraceFile {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        let before = batch.len();
        loop {
            let (bytes, last) = (self.input.window(), self.input.ended());
            let used = match self.decoder.decode(bytes, last, batch) {
                Ok(used) => used,
                Err(reason) => return Err(self.damaged(reason)),
            };
            self.input.consume(used);
            if batch.len() > before {
                self.requests += (batch.len() - before) as u64;
                return Ok(batch.len() - before);
            }
            if last {
                return match self.input.window() {
                    [] => {
                        self.ended = true;
                        Ok(0)
                    }
                    _ if used > 0 => continue,
                    _ => Err(self.damaged("the file ends within it".to_owned())),
                };
            }
            let room = self.input.fill().map_err(|error| failed(&self.path, self.decoder.records(), error))?;
            if used == 0 && !room {
                return Err(self.damaged("it is longer than any record can be".to_owned()));
            }
        }
    }

    fn shape(&self) -> Shape {
        self.decoder.shape()
    }

    fn files(&self) -> Vec<FileInfo> {
        self.decoder.files()
    }

    fn reading(&self) -> Option<Reading> {
        let mut reading = Reading { format: Some(self.format), ..self.decoder.reading() };
        if self.ended && self.requests == 0 {
            reading.doubts.push("nothing in it is a request".to_owned());
        }
        Some(reading)
    }

    fn progress(&self) -> (u64, u64) {
        self.input.progress()
    }
}

/// Some bytes of a record that is known to have them.
#[inline]
pub(crate) fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut own = [0; N];
    own.copy_from_slice(&record[at..at + N]);
    own
}
