//! The only file of a zip. The crate `zip` finds it, `flate2` inflates it, and its checksum is
//! compared at its end.

use std::io::{self, BufReader, Read, SeekFrom};

use zip::{CompressionMethod, ZipArchive};

use super::Raw;

/// Names that a message lists, at most.
const LISTED: usize = 4;

/// The content of the only file in a zip. Folders don't count, nor the notes of a Mac.
pub(super) fn member(raw: Box<dyn Raw>) -> io::Result<Box<dyn Read + Send>> {
    let mut archive = ZipArchive::new(raw).map_err(damaged)?;
    let mut found = None;
    let mut names = Vec::new();
    for number in 0..archive.len() {
        let file = archive.by_index_raw(number).map_err(damaged)?;
        if file.is_dir() || file.name().starts_with("__MACOSX/") {
            continue;
        }
        names.push(file.name().to_owned());
        let start = file.data_start().ok_or_else(|| damaged("its file has no beginning"))?;
        found = Some(Member {
            start,
            bytes: file.compressed_size(),
            method: file.compression(),
            checksum: file.crc32(),
            encrypted: file.encrypted(),
        });
    }
    let (Some(member), 1) = (found, names.len()) else {
        let listed = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let files = names.len();
        return Err(unsupported(format!("it is a zip of {files} files ({listed}), not of one; take out the trace")));
    };
    member.content(archive.into_inner())
}

/// Where a file of a zip is, and how.
struct Member {
    start: u64,
    bytes: u64,
    method: CompressionMethod,
    checksum: u32,
    encrypted: bool,
}

impl Member {
    fn content(self, mut raw: Box<dyn Raw>) -> io::Result<Box<dyn Read + Send>> {
        if self.encrypted {
            return Err(unsupported("the file in the zip is encrypted; decrypt it first".to_owned()));
        }
        raw.seek(SeekFrom::Start(self.start))?;
        let bytes = BufReader::with_capacity(64 << 10, raw.take(self.bytes));
        let hasher = crc32fast::Hasher::new();
        match self.method {
            CompressionMethod::Stored => Ok(Box::new(Checked { content: bytes, hasher, expected: self.checksum })),
            CompressionMethod::Deflated => {
                let content = flate2::bufread::DeflateDecoder::new(bytes);
                Ok(Box::new(Checked { content, hasher, expected: self.checksum }))
            }
            other => Err(unsupported(format!("the file in the zip is compressed by {other}; only deflate is known"))),
        }
    }
}

/// A content with its checksum.
struct Checked<R> {
    content: R,
    hasher: crc32fast::Hasher,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.content.read(buffer)?;
        self.hasher.update(&buffer[..bytes]);
        if bytes == 0 && !buffer.is_empty() && self.hasher.clone().finalize() != self.expected {
            return Err(damaged("its checksum is another"));
        }
        Ok(bytes)
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn unsupported(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, reason)
}
