//! The formats, by name.

use std::fmt;
use std::str::FromStr;

use crate::Preset;

/// A format of traces. Compression (gzip, bzip2, xz, zstd, zip) is recognized by content and is not
/// part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// A block number a line; a line with `*` is skipped.
    Lirs,
    /// A key a line: a block number, or any other text, which is then a file of one block.
    Plain,
    /// ARC's: start block, number of blocks of 512 bytes, ignored, request number.
    Lis,
    /// VMware's vscsiStats, records of version 1 (32 bytes) or 2.
    Vscsi,
    /// Object ids of 32 bits, the least byte first.
    U32Le,
    /// Object ids of 32 bits, the greatest byte first.
    U32Be,
    /// Object ids of 64 bits, the least byte first.
    U64Le,
    /// Object ids of 64 bits, the greatest byte first.
    U64Be,
    /// libCacheSim's oracleGeneral: records of 24 bytes with time, object, size, next access.
    OracleGeneral,
    /// Comma-separated values with columns for time, object and size, as libCacheSim takes them.
    Csv,
    /// The Storage Performance Council's: unit, block, bytes, operation, time.
    Spc,
    /// MSR Cambridge's: file time, host, disk, type, offset, size, response time.
    Msr,
    /// The output of `blkparse`.
    Blkparse,
    /// The logs of `fio` (`write_iolog`), versions 2 and 3.
    Fio,
    /// The output of `strace -f`: reads and writes of files by system calls.
    Strace,
    /// The output of `biosnoop` of BCC.
    Biosnoop,
    /// `block_rq_issue` of ftrace, `trace-cmd report` or `perf script`.
    Ftrace,
    /// The access log of nginx or Apache.
    AccessLog,
    /// The access log of a bucket in S3.
    S3Log,
    /// Forebay's own: Parquet, a row a request.
    Parquet,
    /// A public trace whose files are CSV of some kind.
    Preset(Preset),
}

/// The names and descriptions. One definition: parser, display and help come from it.
const NAMES: [(Format, &str, &str); 20] = [
    (Format::Lirs, "lirs", "text, a block number a line, lines with * skipped"),
    (Format::Plain, "plain", "text, a key a line"),
    (Format::Lis, "lis", "text of the ARC traces: start block, 512-byte blocks, ignored, request number"),
    (Format::Vscsi, "vscsi", "binary records of vscsiStats, version 1 or 2"),
    (Format::U32Le, "u32-le", "binary object ids of 32 bits, least byte first"),
    (Format::U32Be, "u32-be", "binary object ids of 32 bits, greatest byte first"),
    (Format::U64Le, "u64-le", "binary object ids of 64 bits, least byte first"),
    (Format::U64Be, "u64-be", "binary object ids of 64 bits, greatest byte first"),
    (Format::OracleGeneral, "oracle-general", "libCacheSim's binary records: time, object, size, next access"),
    (Format::Csv, "csv", "comma-separated values; columns by their names, or as given"),
    (Format::Spc, "spc", "text of the Storage Performance Council: unit, block, bytes, operation, seconds"),
    (Format::Msr, "msr", "text of MSR Cambridge: file time, host, disk, type, offset, size, response time"),
    (Format::Blkparse, "blkparse", "what blkparse prints"),
    (Format::Fio, "fio", "what fio logs (iolog), version 2 or 3"),
    (Format::Strace, "strace", "what strace -f prints of openat, read, pread64, lseek, write, close"),
    (Format::Biosnoop, "biosnoop", "what BCC's biosnoop prints"),
    (Format::Ftrace, "ftrace", "block_rq_issue of ftrace, trace-cmd report or perf script"),
    (Format::AccessLog, "access-log", "access logs of nginx and Apache, common or combined: answers as whole objects"),
    (Format::S3Log, "s3-log", "server access logs of S3: answers as whole objects"),
    (Format::Parquet, "parquet", "Forebay's own: Parquet, a row a request"),
];

impl Format {
    /// All of them, in the order in which they are listed; presets come last.
    pub fn all() -> impl Iterator<Item = Format> {
        NAMES.iter().map(|&(format, ..)| format).chain(Preset::all().map(Format::Preset))
    }

    /// Its name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Preset(preset) => preset.name(),
            other => other.entry().1,
        }
    }

    /// A line that describes it.
    pub fn summary(self) -> &'static str {
        match self {
            Format::Preset(preset) => preset.summary(),
            other => other.entry().2,
        }
    }

    /// The preset, if it is one.
    pub fn preset(self) -> Option<Preset> {
        if let Format::Preset(preset) = self { Some(preset) } else { None }
    }

    fn entry(self) -> &'static (Format, &'static str, &'static str) {
        NAMES.iter().find(|&&(format, ..)| format == self).expect("every format is in the table: a test asks for each")
    }

    /// All names, for messages.
    pub(crate) fn list() -> String {
        let names: Vec<&str> = Format::all().map(Format::name).collect();
        names.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no format has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown format '{0}'; known are {list}", list = Format::list())]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    /// Case, `-`, `_` and spaces make no difference: `oracleGeneral` is `oracle-general`. `u32` and
    /// `u64` alone have the least byte first.
    fn from_str(text: &str) -> Result<Format, UnknownFormat> {
        let plain = |text: &str| -> String {
            text.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
        };
        let wanted = match plain(text).as_str() {
            "u32" => "u32le".to_owned(),
            "u64" => "u64le".to_owned(),
            "txt" | "text" => "plain".to_owned(),
            "iolog" => "fio".to_owned(),
            "nginx" | "apache" => "accesslog".to_owned(),
            "tracecmd" | "blockrqissue" => "ftrace".to_owned(),
            other => other.to_owned(),
        };
        let also = |format: Format| format.preset().map_or(&[][..], Preset::also);
        let mut formats = Format::all();
        let found =
            formats.find(|&format| [format.name()].iter().chain(also(format)).any(|name| plain(name) == wanted));
        found.ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_format_and_others_say_what_there_is() {
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert!(!format.summary().is_empty());
        }
        assert_eq!("oracleGeneral".parse(), Ok(Format::OracleGeneral));
        assert_eq!("U32".parse(), Ok(Format::U32Le));
        assert_eq!("alibaba".parse::<Format>().unwrap().name(), "alibaba-block");
        assert_eq!("nginx".parse(), Ok(Format::AccessLog));
        let error = "tape".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("'tape'") && error.contains("lirs") && error.contains("parquet"), "{error}");
    }
}
