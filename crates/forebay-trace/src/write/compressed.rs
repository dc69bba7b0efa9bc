//! Output that is compressed by the ending of its name.

use std::io::{self, Write};

/// Output, compressed or not.
pub(super) enum Compressed<W: Write> {
    Plain(W),
    Gzip(flate2::write::GzEncoder<W>),
    Xz(liblzma::write::XzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Compressed<W> {
    /// Compressed by the ending of a name.
    pub(super) fn new(output: W, ending: &str) -> io::Result<Compressed<W>> {
        Ok(match ending.to_ascii_lowercase().as_str() {
            "gz" => Compressed::Gzip(flate2::write::GzEncoder::new(output, flate2::Compression::default())),
            "xz" => Compressed::Xz(liblzma::write::XzEncoder::new(output, 6)),
            "zst" | "zstd" => Compressed::Zstd(zstd::Encoder::new(output, 3)?),
            _ => Compressed::Plain(output),
        })
    }

    /// Ends the compression.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Compressed::Plain(output) => Ok(output),
            Compressed::Gzip(encoder) => encoder.finish(),
            Compressed::Xz(encoder) => encoder.finish(),
            Compressed::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressed::Plain(output) => output.write(bytes),
            Compressed::Gzip(encoder) => encoder.write(bytes),
            Compressed::Xz(encoder) => encoder.write(bytes),
            Compressed::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressed::Plain(output) => output.flush(),
            Compressed::Gzip(encoder) => encoder.flush(),
            Compressed::Xz(encoder) => encoder.flush(),
            Compressed::Zstd(encoder) => encoder.flush(),
        }
    }
}
