//! `forebay trace formats`: the formats that can be read, also as `docs/traces.md`.

use forebay_trace::{Format, WRITTEN};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::TraceFormats;
use crate::table::{Column, Table};
use crate::{output, report};

/// A format.
#[derive(Serialize)]
struct Listed {
    format: &'static str,
    /// Other names of it.
    also: String,
    summary: &'static str,
    /// Where a public format is described.
    source: &'static str,
    /// Its columns, as `--columns` takes them.
    columns: &'static str,
    written: bool,
}

pub(super) fn run(formats: &TraceFormats) -> Result<(), Failure> {
    let listed: Vec<Listed> = Format::all().map(listed).collect();
    if formats.report.json || formats.report.csv {
        return report::show(&listed, &formats.report, || None);
    }
    let mut table = Table::new(["format", "what it is", "described by"].map(Column::left));
    for format in &listed {
        table.row([format.format, format.summary, format.source].map(str::to_owned));
    }
    output::print(&table.to_string())
}

fn listed(format: Format) -> Listed {
    let preset = format.preset();
    Listed {
        format: format.name(),
        also: preset.map_or(String::new(), |preset| preset.also().join(" ")),
        summary: format.summary(),
        source: preset.map_or("", |preset| preset.source()),
        columns: preset.map_or("", |preset| preset.described()),
        written: WRITTEN.contains(&format),
    }
}

const PAGE: &str = "\
<!-- Written by `cargo xtask docs`. -->

# Traces

A trace is a file with the requests of programs. Name and content tell its format, its first bytes
the compression: gzip, bzip2, xz, zstd, or a zip of one file. `--format` says the format where they
cannot.

```sh
forebay trace info day.csv                                       # how it is read, and what of it is left out
forebay trace info day.csv --columns time-col=1,obj-id-col=3,obj-size-col=4,op-col=2,reads=1,writes=2
forebay trace info cluster052.zst --format twitter
forebay trace convert app.strace app.parquet                     # of: strace -f -ttt -y -o app.strace program
forebay sim cluster052.zst --format twitter --sizes --memory 1GiB --policy lru,sieve,gdsf
```

- `forebay trace info` names the format, the columns that are read and those that are not, and
  counts the lines that are no requests by their reasons.
- If two formats fit the first lines, the command asks which (exit code 2) and reads nothing.
- A guess is judged by the values of its columns. If another meaning is plausible, the reading has a
  doubt. `trace info` shows it, `sim` and `convert` warn of it.
- A line that cannot be, such as one with a negative size, ends the reading. The message has the
  line and the column.
- A last line without an end that makes no sense is cut. It is left out and named.
- `-` is standard input. A pipe is read once and kept in a temporary file for further passes.
- A trace of ranges has a file, an offset and a length; it is split into blocks. A trace of objects
  has whole objects of any size.

## Columns

`--columns` says what stands where in CSV, and adds to a preset or overrides it. A column is a
number counted from one, a name of the header, or `none`.

| part | says |
| --- | --- |
| `time-col` `obj-id-col` `obj-size-col` `op-col` | time, object, bytes, operation |
| `file-col` `offset-col` | the file and the offset of ranges |
| `part-col` | a second part of the object's name |
| `added-size-col` | bytes that are added to the size, such as those of the key |
| `handler-col` `context-col` | the thread that asks, and its program context |
| `time-unit=s` `ms` `us` `100ns` `ns` | the unit of times; dates as in 2026-11-28T10:00:00Z need none |
| `offset-unit=512` `size-unit=512` | bytes in a unit of offsets, of sizes |
| `reads=R\\|0` `writes=W\\|1` `ignored=F` | words and codes of operations |
| `delimiter` `has-header` `obj-id-is-num` | as in libCacheSim; yes is `true` or `1` |

If `--columns` says only units, words or a delimiter, the content still tells the format. Words of
`--columns` come before those of a preset.

Words such as `get`, `read`, `set` and `write` are known. Codes are not: 1 is a read to libCacheSim
and a write in many block traces.

A header's names are known in many forms, with the unit at the end: `size_kb` (1024 bytes),
`timestamp_ms`, `content_length`. `lba`, `sector` and `sectors` count 512 bytes. The reading names
each unit above one byte that it takes from a name.

## Lines that are no requests

These rules hold for all formats. The lines are left out, counted and named.

- A request of no bytes moves nothing. This holds for ranges and for whole objects, as in
  libCacheSim.
- A delete, discard, trim, flush or HEAD moves no bytes. A deleted object stays in simulated caches
  until it is replaced.
- In CSV and access logs, a request of 4 GiB or more. Elsewhere it ends the reading.

A line is one request. The `op_count` of Meta's traces is not read, and the reading says so.

## Bytes

`forebay sim --sizes` counts caches in bytes. An object takes as much room as it has bytes, and
misses are counted of requests and of bytes. A trace without sizes is refused. An object has the
size of the request that brought it, until it is given up. `--admit-below 64KiB` takes in smaller
objects only. LRU, FIFO, Clock, SIEVE and GDSF have the miss ratios of libCacheSim, digit by digit.
S3-FIFO, ARC and 2Q keep to their papers where libCacheSim adds rules for sizes
([which ones](notes/2026-11-28-sized-ghosts.md)).

The log of S3 has the object's size, which is read. A web server's log has the bytes of the answer.
Its answers of status 206 are parts of objects, and the reading has a doubt about them.

## Formats
";

/// `docs/traces.md`.
pub(crate) fn page() -> String {
    let mut page = PAGE.to_owned();
    page.push_str("\n| format | what it is |\n| --- | --- |\n");
    let (presets, formats): (Vec<Format>, Vec<Format>) = Format::all().partition(|format| format.preset().is_some());
    for format in formats {
        page.push_str(&format!("| `{}` | {} |\n", format.name(), format.summary()));
    }
    page.push_str(
        "\n## Public traces\n\nEach is CSV of some kind. `forebay trace formats --json` has their columns.\n",
    );
    page.push_str("\n| format | what it is | described by |\n| --- | --- | --- |\n");
    for format in presets {
        let source = format.preset().map_or("", |preset| preset.source());
        page.push_str(&format!("| `{}` | {} | {source} |\n", format.name(), format.summary()));
    }
    page
}
