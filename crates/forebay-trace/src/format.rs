//! The formats, by name.

use std::fmt;
use std::str::FromStr;

/// A format of traces. Compression (gzip, xz, zstd) is recognized by content and is not part of it.
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
    /// Forebay's own: Parquet, a row a request.
    Parquet,
}

/// The names and descriptions. One definition: parser, display and help come from it.
const NAMES: [(Format, &str, &str); 15] = [
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
    (Format::Parquet, "parquet", "Forebay's own: Parquet, a row a request"),
];

impl Format {
    /// All of them, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Format> {
        NAMES.iter().map(|&(format, ..)| format)
    }

    /// Its name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// A line that describes it.
    pub fn summary(self) -> &'static str {
        self.entry().2
    }

    fn entry(self) -> &'static (Format, &'static str, &'static str) {
        NAMES.iter().find(|&&(format, ..)| format == self).expect("every format is in the table: a test asks for each")
    }

    /// All names, for messages.
    pub(crate) fn list() -> String {
        let names: Vec<&str> = NAMES.iter().map(|&(_, name, _)| name).collect();
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
            other => other.to_owned(),
        };
        let found = NAMES.iter().find(|(_, name, _)| plain(name) == wanted);
        found.map(|&(format, ..)| format).ok_or_else(|| UnknownFormat(text.to_owned()))
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
        let error = "tape".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("'tape'") && error.contains("lirs") && error.contains("parquet"), "{error}");
    }
}
