//! Writers. A trace appears under its name only when it is whole: until then it has another name
//! beside it, which disappears with the writer.

mod compressed;
mod csv;
mod ids;
mod lost;
mod oracle_general;
mod plain;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::write::compressed::Compressed;
use crate::{Error, Format, Request, Shape, Source, parquet};

/// Takes requests and makes bytes of them.
trait Encode: Send {
    fn encode(&mut self, requests: &[Request]) -> Result<(), Refused>;

    /// Writes the rest.
    fn finish(self: Box<Self>, about: &dyn Source) -> Result<Output, Refused>;
}

/// Where the bytes go.
type Output = Compressed<BufWriter<NamedTempFile>>;

/// Why a part was not written.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Parquet(#[from] ::parquet::errors::ParquetError),
    #[error("{0}")]
    Unfit(String),
}

/// Writes a trace file.
pub struct Writer {
    path: PathBuf,
    encoder: Box<dyn Encode>,
    written: u64,
    look: lost::Look,
}

impl Writer {
    /// The format that the name of a file to be written tells.
    pub fn format_of(path: &Path) -> Result<Format, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        crate::read::by_name(&name).filter(|format| WRITTEN.contains(format)).ok_or_else(|| {
            let known: Vec<&str> = WRITTEN.iter().map(|format| format.name()).collect();
            let reason = format!("its name says no format that can be written; give one of {}", known.join(", "));
            Error::Format { path: path.to_owned(), reason }
        })
    }

    /// Begins a file of `format` for requests of a shape. A name that ends in `.gz`, `.xz` or
    /// `.zst` is compressed, except Parquet, which is so by itself.
    pub fn create(path: &Path, format: Format, shape: Shape) -> Result<Writer, Error> {
        let fail = |error: Refused| failed(path, 0, error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(".forebay-").suffix(".part").tempfile_in(folder);
        let file = BufWriter::with_capacity(1 << 20, file.map_err(|error| fail(error.into()))?);
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        if format == Format::Parquet {
            let output = Compressed::new(file, "").map_err(|error| fail(error.into()))?;
            let rows = parquet::Writer::new(output, shape).map_err(|error| fail(error.into()))?;
            let look = lost::Look::new(format, shape);
            return Ok(Writer { path: path.to_owned(), encoder: Box::new(rows), written: 0, look });
        }
        let output = Compressed::new(file, &ending).map_err(|error| fail(error.into()))?;
        let encoder: Box<dyn Encode> = match format {
            Format::Lirs | Format::Plain => Box::new(plain::Plain::new(output, shape)),
            Format::U32Le => Box::new(ids::Ids::new(output, shape, |id| u32::try_from(id).ok().map(u32::to_le_bytes))),
            Format::U32Be => Box::new(ids::Ids::new(output, shape, |id| u32::try_from(id).ok().map(u32::to_be_bytes))),
            Format::U64Le => Box::new(ids::Ids::new(output, shape, |id| Some(id.to_le_bytes()))),
            Format::U64Be => Box::new(ids::Ids::new(output, shape, |id| Some(id.to_be_bytes()))),
            Format::OracleGeneral => {
                Box::new(oracle_general::OracleGeneral::new(output, folder, shape).map_err(|error| fail(error.into()))?)
            }
            Format::Csv => Box::new(csv::Csv::new(output, shape).map_err(|error| fail(error.into()))?),
            other => {
                let known: Vec<&str> = WRITTEN.iter().map(|format| format.name()).collect();
                let reason = format!("{other} can be read, not written; written are {}", known.join(", "));
                return Err(Error::Format { path: path.to_owned(), reason });
            }
        };
        Ok(Writer { path: path.to_owned(), encoder, written: 0, look: lost::Look::new(format, shape) })
    }

    /// Writes some requests.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), Error> {
        self.encoder.encode(requests).map_err(|error| failed(&self.path, self.written, error))?;
        self.written += requests.len() as u64;
        self.look.at(requests);
        Ok(())
    }

    /// The parts of what was written that the format cannot hold, besides operations, in a few
    /// words each. `about` is as for [`finish`](Self::finish), before which this is asked.
    pub fn lost(&self, about: &dyn Source) -> Vec<String> {
        self.look.lost(about)
    }

    /// Writes the rest, and gives the file its name. Returns how many requests it has. `about` has
    /// the trace's properties besides its requests.
    pub fn finish(self, about: &dyn Source) -> Result<u64, Error> {
        let Writer { path, encoder, written, .. } = self;
        let named = || -> Result<(), Refused> {
            let mut file = encoder.finish(about)?.finish()?;
            file.flush()?;
            let file = file.into_inner().map_err(|error| error.into_error())?;
            // Temporary files are private; a trace is as readable as any file that a program makes.
            readable(file.as_file())?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        named().map_err(|error| failed(&path, written, error))?;
        Ok(written)
    }
}

/// The formats that can be written, Forebay's own first.
pub const WRITTEN: [Format; 9] = [
    Format::Parquet,
    Format::OracleGeneral,
    Format::Csv,
    Format::Plain,
    Format::Lirs,
    Format::U32Le,
    Format::U32Be,
    Format::U64Le,
    Format::U64Be,
];

#[cfg(unix)]
fn readable(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &std::fs::File) -> io::Result<()> {
    Ok(())
}

fn failed(path: &Path, written: u64, error: Refused) -> Error {
    let path = path.to_owned();
    match error {
        Refused::Io(source) => Error::Io { path, source },
        Refused::Parquet(error) => Error::Io { path, source: io::Error::other(error) },
        Refused::Unfit(reason) => Error::Record { path, record: written + 1, reason },
    }
}

/// The objects of requests, as one number each, for formats with nothing else: an object is its
/// file, and a range is split into its blocks. A block of file 0 is its own number. A block of
/// another file has the file's number in its upper bits.
#[derive(Clone, Copy)]
struct Blocks {
    shape: Shape,
}

/// The bits of such a number that hold the block.
const BLOCK_BITS: u32 = 40;

impl Blocks {
    /// Calls `each` with every object of a request, and its bytes.
    fn each(self, request: &Request, mut each: impl FnMut(u64, u32) -> Result<(), Refused>) -> Result<(), Refused> {
        let Shape::Ranges { block_bytes } = self.shape else { return each(request.file, request.len) };
        let last = request.offset.saturating_add(u64::from(request.len.max(1)) - 1) / u64::from(block_bytes);
        for block in request.offset / u64::from(block_bytes)..=last {
            let number = match request.file {
                0 => block,
                file if file < 1 << (64 - BLOCK_BITS) && block < 1 << BLOCK_BITS => file << BLOCK_BITS | block,
                file => return Err(Refused::Unfit(format!("block {block} of file {file} has no number of 64 bits"))),
            };
            each(number, block_bytes)?;
        }
        Ok(())
    }
}

impl Encode for parquet::Writer<Output> {
    fn encode(&mut self, requests: &[Request]) -> Result<(), Refused> {
        Ok(self.write(requests)?)
    }

    fn finish(self: Box<Self>, about: &dyn Source) -> Result<Output, Refused> {
        Ok((*self).finish(about)?)
    }
}
