//! Marks of formats in their first lines, so that a text is not taken for one that it only happens
//! to fit.

use crate::preset::{Times, Told};
use crate::read::csv::Csv;
use crate::read::text::{Fields, number, seconds};
use crate::{Column, Columns, Format, Preset, read};

/// The lines that are not empty.
fn filled(lines: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    lines.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// Whether some line has this text, without which it is not that format; the readers of logs skip
/// much and so fit much.
pub(super) fn particular(format: Format, lines: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(lines, text).is_some();
    match format {
        Format::Biosnoop => has(b"TIME") && has(b"SECTOR") && has(b"BYTES"),
        Format::Ftrace => has(b"block_rq_issue:"),
        Format::S3Log => has(b" REST."),
        Format::AccessLog => has(b"] \""),
        Format::Spc => spc(lines),
        Format::Msr => filled(lines).any(is_msr),
        Format::Strace => has(b") = ") || has(b"<unfinished ...>"),
        _ => true,
    }
}

/// Whether the first line may be the header of a preset.
pub(super) fn header(preset: Preset, lines: &[u8]) -> bool {
    let first = filled(lines).next().unwrap_or_default();
    match preset.told() {
        Told::Header => true,
        Told::Named(name) => first.split(|&byte| byte == b'\t' || byte == b',').any(|field| field == name.as_bytes()),
        _ => false,
    }
}

/// Whether lines look like those of a preset without a header.
pub(super) fn preset(preset: Preset, lines: &[u8]) -> bool {
    let Told::Lines(marks) = preset.told() else { return false };
    let columns = read::preset_columns(preset, &Columns::default(), lines);
    let usual = columns.delimiter == preset.columns().delimiter;
    // Another delimiter than the usual one needs a mark that mere numbers do not have.
    let wordy = columns.reads.iter().any(|word| !word.bytes().all(|byte| byte.is_ascii_digit()));
    let marked = match marks.times {
        Times::Since1970 => columns.operation.as_ref().is_some_and(|operation| *operation != Column::Absent),
        Times::Any => wordy,
        Times::Rising => false,
    };
    // A format without a header is none where there is one.
    let headed = columns.header == Some(false) && Csv::new(&Columns::default(), lines).is_ok_and(|csv| csv.header());
    let Ok(csv) = Csv::new(&columns, lines) else { return false };
    (usual || marked)
        && !headed
        && csv.looks_like(marks, lines)
        && (preset.name() != "libcachesim" || next_requests(&csv, lines))
}

/// Whether the fourth column is the next request's number, which libCacheSim writes.
fn next_requests(csv: &Csv, lines: &[u8]) -> bool {
    const NAME: &[u8] = b"next_access_vtime";
    let first = filled(lines).next().unwrap_or_default();
    if csv.header() { first.ends_with(NAME) } else { csv.names_next_requests(3, lines) }
}

/// Whether a line has MSR's seven columns, of which the fourth is the operation.
fn is_msr(line: &[u8]) -> bool {
    let mut fields = line.split(|&byte| byte == b',');
    let operation = fields.nth(3).unwrap_or_default();
    fields.count() == 3 && [&b"Read"[..], b"Write"].iter().any(|word| operation.eq_ignore_ascii_case(word))
}

/// Whether times of the Storage Performance Council's are times: they hardly ever go back, nor do
/// they stand still while the units rise.
fn spc(lines: &[u8]) -> bool {
    let field = |line: &[u8], place: usize| line.split(|&byte| byte == b',').nth(place).and_then(seconds);
    let times: Vec<Option<u64>> = filled(lines).map(|line| field(line, 4)).collect();
    let units: Vec<Option<u64>> = filled(lines).map(|line| field(line, 0)).collect();
    if units.first().is_none_or(Option::is_none) {
        return false;
    }
    let still = times.len() > 1 && times.windows(2).all(|two| two[0] == two[1]);
    let back = times.windows(2).filter(|two| two[1].is_some() && two[0] > two[1]).count();
    back * 4 < times.len() && !(still && units.windows(2).all(|two| two[0] < two[1]))
}

/// Whether lines look like those of the ARC traces: numbers of requests that rise.
pub(super) fn lis(lines: &[u8]) -> bool {
    let numbers = filled(lines).map(|line| Fields::of(line).nth(3).and_then(number));
    let mut rises = numbers.clone().zip(numbers.clone().skip(1));
    filled(lines).all(|line| Fields::of(line).count() == 4) && rises.all(|(one, next)| one < next)
}

/// Whether lines are numbers of blocks: none begins with a zero, as names such as `0012` do.
pub(super) fn block_numbers(lines: &[u8]) -> bool {
    filled(lines).all(|line| line == b"0" || !line.starts_with(b"0"))
}
