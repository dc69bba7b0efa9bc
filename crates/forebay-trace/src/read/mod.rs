//! Readers, a file each. A reader is a [`Decode`]: it turns the bytes of a window into requests, whole records at a time,
//! and says what is wrong with one that it cannot take. Everything else (files, compression, errors with names) is here.

mod lirs;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use crate::input::Input;
use crate::{Error, Format, Options, Request, Shape, Source};

/// Turns bytes into requests.
pub(crate) trait Decode: Send {
    /// Decodes whole records from the beginning of `bytes`, until about a batch is full or no whole record is left, and
    /// returns how many bytes they had. `last`: nothing follows `bytes`, so that a part of a record is damage.
    fn decode(&mut self, bytes: &[u8], last: bool, batch: &mut Vec<Request>) -> Result<usize, String>;

    /// What the requests are about.
    fn shape(&self) -> Shape;

    /// How many records (of texts, lines) are done with. After an error the next one is the damaged one.
    fn records(&self) -> u64;

    /// The names behind file numbers, as far as they are known by now.
    fn names(&self) -> &[String] {
        &[]
    }
}

/// A trace file.
struct TraceFile {
    path: PathBuf,
    input: Input,
    decoder: Box<dyn Decode>,
}

/// Opens a trace file with a decoder.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    let input = Input::open(path).map_err(|error| failed(path, 0, error))?;
    let format = options.format.unwrap_or(Format::Lirs);
    let decoder: Box<dyn Decode> = match format {
        Format::Lirs => Box::new(text::Text::new(lirs::Lirs)),
        _ => return Err(Error::Format { path: path.to_owned(), reason: format!("{format} is not there yet") }),
    };
    Ok(Box::new(TraceFile { path: path.to_owned(), input, decoder }))
}

/// What the operating system says has its number; anything else is a decompressor that cannot go on.
fn failed(path: &Path, records: u64, source: io::Error) -> Error {
    let path = path.to_owned();
    if source.raw_os_error().is_some() {
        return Error::Io { path, source };
    }
    Error::Record { path, record: records + 1, reason: format!("the compressed data are damaged here: {source}") }
}

impl TraceFile {
    fn damaged(&self, reason: String) -> Error {
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
                return Ok(batch.len() - before);
            }
            if last {
                return match self.input.window() {
                    [] => Ok(0),
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

    fn progress(&self) -> (u64, u64) {
        self.input.progress()
    }
}
