//! Traces: each format, compressed or not, and what says how columns lie.

use std::path::Path;

use forebay_trace::{Columns, Error, Format, Options, open_bytes};

use crate::{Outcome, Target};

/// A target for each format, as its name's reader is the one that is asked for.
macro_rules! formats {
    ($($name:literal $format:ident,)*) => {
        &[
            $(Target {
                name: concat!("trace-", $name),
                about: concat!("a trace of the format ", $name),
                run: |bytes| read(&Options { format: Some(Format::$format), ..Options::default() }, bytes),
            },)*
            Target {
                name: "trace-guessed",
                about: "a trace of the format that it looks like, by gzip, xz or zstd or as it is",
                run: |bytes| read(&Options::default(), bytes),
            },
            Target { name: "trace-named", about: "the name of a format, a line; then a trace", run: named },
            Target { name: "trace-columns", about: "the columns of a table, a line; then the table", run: columns },
        ]
    };
}

pub(super) const TARGETS: &[Target] = formats! {
    "lirs" Lirs, "plain" Plain, "lis" Lis, "vscsi" Vscsi, "u32-le" U32Le, "u32-be" U32Be, "u64-le" U64Le,
    "u64-be" U64Be, "oracle-general" OracleGeneral, "csv" Csv, "spc" Spc, "msr" Msr, "blkparse" Blkparse,
    "fio" Fio, "strace" Strace, "biosnoop" Biosnoop, "ftrace" Ftrace, "access-log" AccessLog, "s3-log" S3Log,
    "parquet" Parquet,
};

/// A trace is read to its end or its first error, and no request may come of it that makes no
/// sense.
fn read(options: &Options, bytes: &[u8]) -> Outcome {
    let name = Path::new("fuzzed");
    let mut source = match open_bytes(name, bytes.to_vec(), options) {
        Ok(source) => source,
        Err(error) => return Outcome::of_result(Err(error)),
    };
    let (mut batch, mut count, mut last) = (Vec::new(), 0, 0);
    loop {
        batch.clear();
        match source.read(&mut batch) {
            Ok(0) => return Outcome::of_count(count),
            Ok(read) => assert_eq!(read, batch.len()),
            Err(error @ Error::Record { record, .. }) => {
                assert!(record > 0, "records are counted from one");
                return Outcome::of_result(Err(error));
            }
            Err(error) => panic!("a trace in memory cannot fail like this: {error}"),
        }
        count += batch.len();
        for request in &batch {
            assert!(request.len > 0 && request.offset.checked_add(request.len.into()).is_some(), "{request:?}");
            assert!(request.at.0 >= last, "time goes back: {request:?}");
            last = request.at.0;
        }
    }
}

/// Presets have no targets of their own, since one reader takes the columns of all.
fn named(bytes: &[u8]) -> Outcome {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let format = match String::from_utf8_lossy(&bytes[..end]).parse::<Format>() {
        Ok(format) => format,
        Err(error) => return Outcome::of_result(Err(error)),
    };
    let options = Options { format: Some(format), ..Options::default() };
    read(&options, bytes.get(end + 1..).unwrap_or_default())
}

fn columns(bytes: &[u8]) -> Outcome {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let columns = match String::from_utf8_lossy(&bytes[..end]).parse::<Columns>() {
        Ok(columns) => columns,
        Err(error) => return Outcome::of_result(Err(error)),
    };
    let options = Options { format: Some(Format::Csv), columns, ..Options::default() };
    read(&options, bytes.get(end + 1..).unwrap_or_default())
}
