//! Bytes of a trace file: read in large pieces, decompressed on the way. The first bytes tell the
//! compression, not the name. Several members (gzip), streams (bzip2, xz) or frames (zstd) in a row
//! are one content. A zip holds one file.

mod gzip;
mod zip;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liblzma::stream::{CONCATENATED, Stream};

/// How much is read at once, and the longest record or line that there can be. Larger ones leave
/// the processor's cache.
const WINDOW: usize = 256 << 10;

/// The most memory of a decompressor: the largest window of zstd's ordinary levels, and xz -9 with
/// room to spare. A damaged header cannot ask for more.
const ZSTD_WINDOW_LOG: u32 = 27;
const XZ_MEMORY: u64 = 256 << 20;

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl Seek for Counted {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

/// A file, or bytes in memory. Only a zip is read anywhere but from its beginning on.
pub(crate) trait Raw: Read + Seek + Send {}

impl<R: Read + Seek + Send> Raw for R {}

/// A window that moves over the decompressed content.
pub(crate) struct Input {
    content: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    ended: bool,
    read: Arc<AtomicU64>,
    total: u64,
    compression: Option<&'static str>,
}

impl Input {
    /// Opens a file and fills the first window.
    pub(crate) fn open(path: &Path) -> io::Result<Input> {
        Input::file(File::open(path)?)
    }

    /// The same for a file that is open.
    pub(crate) fn file(file: File) -> io::Result<Input> {
        let total = file.metadata()?.len();
        let read = Arc::new(AtomicU64::new(0));
        let mut input = Input::over(Box::new(Counted { file, read: read.clone() }))?;
        (input.read, input.total) = (read, total);
        Ok(input)
    }

    /// The content of `raw`, which may be compressed.
    pub(crate) fn over(mut raw: Box<dyn Raw>) -> io::Result<Input> {
        let mut first = Vec::with_capacity(6);
        raw.by_ref().take(6).read_to_end(&mut first)?;
        let compression = compression(&first);
        if compression == Some("zip") {
            return Input::of(zip::member(raw)?, compression);
        }
        let whole = io::Cursor::new(first).chain(raw);
        let content: Box<dyn Read + Send> = match compression {
            None => Box::new(whole),
            Some("bzip2") => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(whole))),
            Some("gzip") => Box::new(gzip::Members::new(buffered(whole))),
            Some("xz") => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(buffered(whole), stream))
            }
            Some(_) => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(whole))?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        };
        Input::of(content, compression)
    }

    fn of(content: Box<dyn Read + Send>, compression: Option<&'static str>) -> io::Result<Input> {
        let buffer = vec![0; WINDOW].into_boxed_slice();
        let mut input =
            Input { content, buffer, start: 0, end: 0, ended: false, read: Arc::default(), total: 0, compression };
        input.fill()?;
        Ok(input)
    }

    /// Bytes that were read and not consumed yet.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether nothing follows the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Consumes the first `bytes` of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Reads on until the window is full or the content ends. False if there was no room for a
    /// single byte.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            return Ok(false);
        }
        while !self.ended && self.end < self.buffer.len() {
            match self.content.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The compression.
    pub(crate) fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// How many bytes of the file were read, and how many it has.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let read = self.read.load(Ordering::Relaxed);
        // For a plain file, the bytes in the window are not counted as read yet. For a compressed
        // one their share of the file is unknown.
        let ahead = if self.compression.is_none() { (self.end - self.start) as u64 } else { 0 };
        (read.saturating_sub(ahead), self.total.max(read))
    }
}

fn buffered(raw: impl Read + Send + 'static) -> impl BufRead + Send {
    BufReader::with_capacity(64 << 10, raw)
}

/// The compression of a content that begins like this.
fn compression(first: &[u8]) -> Option<&'static str> {
    match first {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, 0x41 | 0x72] => Some("bzip2"),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some("zip"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        // A skippable frame, which parallel compressors write first.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zstd"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn content(raw: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut input = Input::over(Box::new(io::Cursor::new(raw)))?;
        let mut all = Vec::new();
        loop {
            all.extend_from_slice(input.window());
            input.consume(usize::MAX >> 1);
            if input.ended() {
                return Ok(all);
            }
            input.fill()?;
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_or_not_the_content_is_the_same_also_of_several_members() {
        let bytes: Vec<u8> =
            (0..1_000_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()).collect();
        let (one, two) = bytes.split_at(bytes.len() / 3);
        assert_eq!(content(bytes.clone()).unwrap(), bytes);
        for encode in [gzip, bzip2, xz, zstd] {
            assert_eq!(content(encode(&bytes)).unwrap(), bytes);
            assert_eq!(content([encode(one), encode(two)].concat()).unwrap(), bytes);
            assert!(content(encode(&[])).unwrap().is_empty());
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        for encode in [gzip, bzip2, xz, zstd] {
            let mut raw = encode(&[7; 100_000]);
            raw.truncate(raw.len() - 3);
            assert!(content(raw).is_err());
        }
    }

    #[test]
    fn zeros_behind_gzip_are_no_damage() {
        let members = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(content([members.clone(), vec![0; 100_000]].concat()).unwrap(), b"one two");
        assert!(content([members, vec![0, 0, 7]].concat()).is_err());
    }

    #[test]
    fn a_header_cannot_ask_for_much_memory() {
        // A zstd frame that claims a window of 2^41 bytes.
        assert!(content(vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0]).is_err());
    }
}
