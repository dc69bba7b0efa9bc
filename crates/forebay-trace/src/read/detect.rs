//! Recognizes the format of a file, by its name and by its first bytes.

mod likely;

use crate::preset::Told;
use crate::read::{decoder, oracle_general, vscsi};
use crate::{Format, Options, Preset, Request};

/// How much of the content is examined, and how many of its lines.
const LOOKED_AT: usize = 16 << 10;
const LINES: usize = 64;

/// Texts that no other format looks like.
const PARTICULAR: [Format; 9] = [
    Format::Fio,
    Format::Msr,
    Format::Spc,
    Format::Blkparse,
    Format::Biosnoop,
    Format::Ftrace,
    Format::S3Log,
    Format::AccessLog,
    Format::Strace,
];

/// The format that a name tells, without its endings for compression.
pub(crate) fn by_name(name: &str) -> Option<Format> {
    let name = name.to_ascii_lowercase();
    if name.contains("oraclegeneral") {
        return Some(Format::OracleGeneral);
    }
    match ending(&name)? {
        "lis" => Some(Format::Lis),
        "vscsi" => Some(Format::Vscsi),
        "spc" => Some(Format::Spc),
        "msr" => Some(Format::Msr),
        "lirs" => Some(Format::Lirs),
        "blkparse" => Some(Format::Blkparse),
        "iolog" | "fio" => Some(Format::Fio),
        "strace" => Some(Format::Strace),
        "biosnoop" => Some(Format::Biosnoop),
        "parquet" => Some(Format::Parquet),
        ids @ ("u32" | "u32le" | "u32be" | "u32-le" | "u32-be") => ids.parse().ok(),
        ids @ ("u64" | "u64le" | "u64be" | "u64-le" | "u64-be") => ids.parse().ok(),
        _ => None,
    }
}

/// The ending of a name in small letters, before any ending of compression.
pub(crate) fn ending(name: &str) -> Option<&str> {
    let name = [".gz", ".bz2", ".xz", ".zst", ".zstd", ".zip"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    Some(name.rsplit_once('.')?.1)
}

/// The format of a content that begins like this; `whole` if it also ends there. An error names the
/// formats that were tried.
pub(crate) fn by_content(name: &str, first: &[u8], whole: bool) -> Result<Format, String> {
    if first.is_empty() {
        return Err("it is empty, so that its format cannot be told; give the format".to_owned());
    }
    if first.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    let looked_at = &first[..first.len().min(LOOKED_AT)];
    let known = format!("give the format, one of {}", Format::list());
    if !is_text(looked_at) {
        if first.len() >= 64 && vscsi::Vscsi::of(first).is_some() {
            return Ok(Format::Vscsi);
        }
        if first.len() >= oracle_general::RECORD && oracle_general::looks_like(first) {
            return Ok(Format::OracleGeneral);
        }
        return Err(format!("it is binary, but neither parquet nor vscsi nor oracle-general; {known}"));
    }
    let lines = some_lines(looked_at, whole && looked_at.len() == first.len());
    let refused = |Refused { reason, chosen }: Refused| if chosen { reason } else { format!("{reason}; {known}") };
    text(name, lines).map_err(refused)
}

/// Why a text has no format.
struct Refused {
    reason: String,
    /// Whether the reason names the formats to choose from.
    chosen: bool,
}

/// The format of a text with these lines.
fn text(name: &str, lines: &[u8]) -> Result<Format, Refused> {
    let fits = |format: Format| requests(format, lines).is_ok();
    if let Some(format) = PARTICULAR.into_iter().find(|&format| likely::particular(format, lines) && fits(format)) {
        return Ok(format);
    }
    let by_header = |preset: &Preset| preset.told() == Told::Header && fits(Format::Preset(*preset));
    if let Some(preset) = Preset::all().find(by_header) {
        return Ok(Format::Preset(preset));
    }
    let mut readings: Vec<Format> =
        Preset::all().filter(|&preset| likely::preset(preset, lines)).map(Format::Preset).collect();
    if likely::lis(lines) {
        readings.push(Format::Lis);
    }
    readings.retain(|&format| fits(format));
    match readings[..] {
        [] => {}
        [format] => return Ok(format),
        _ => {
            let names: Vec<&str> = readings.iter().map(|format| format.name()).collect();
            let choices: Vec<String> = names.iter().map(|name| format!("--format {name}")).collect();
            let (names, choices) = (names.join(" or "), choices.join(" or "));
            let reason = format!("its first lines can be read as {names}: say which, {choices}");
            return Err(Refused { reason, chosen: true });
        }
    }
    if fits(Format::Lirs) {
        return Ok(Format::Lirs);
    }
    generic(name, lines)
}

/// CSV and plain text would fit most texts.
fn generic(name: &str, lines: &[u8]) -> Result<Format, Refused> {
    let name = name.to_ascii_lowercase();
    let called = name.contains(".csv") || name.contains(".tsv");
    let mut refusal = String::new();
    if called || [b',', b'\t', b';'].into_iter().any(|delimiter| columns(lines, delimiter)) {
        match requests(Format::Csv, lines) {
            Ok(_) => return Ok(Format::Csv),
            Err(reason) => refusal = format!("; as csv: {reason}"),
        }
    }
    let has = |byte: u8| lines.contains(&byte);
    let one_a_line = lines.split(|&byte| byte == b'\n').all(|line| !line.trim_ascii().contains(&b' '));
    if one_a_line && !has(b',') && !has(b'\t') && requests(Format::Plain, lines).is_ok() {
        return Ok(Format::Plain);
    }
    let reason = format!("it is text, but its first lines fit no format{refusal}");
    Err(Refused { reason, chosen: called && !refusal.is_empty() })
}

/// Whether all characters are those of texts.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| !byte.is_ascii_control() || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// The first whole lines; all that there is, if there is no whole one.
fn some_lines(bytes: &[u8], whole: bool) -> &[u8] {
    let ends = memchr::memchr_iter(b'\n', bytes).take(LINES);
    match ends.last() {
        _ if whole && memchr::memchr_iter(b'\n', bytes).count() < LINES => bytes,
        Some(end) => &bytes[..=end],
        None => bytes,
    }
}

/// Whether every line has the same number of a delimiter, and some at all.
fn columns(lines: &[u8], delimiter: u8) -> bool {
    let lines = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let mut counts = lines.map(|line| line.iter().filter(|&&byte| byte == delimiter).count());
    let first = counts.next().unwrap_or(0);
    first > 0 && counts.all(|count| count == first)
}

/// The requests of these lines in a format, or why they cannot be read. A format of columns needs
/// one request at least.
fn requests(format: Format, lines: &[u8]) -> Result<Vec<Request>, String> {
    let mut requests: Vec<Request> = Vec::new();
    let mut decoder = decoder(format, &Options::default(), lines)?;
    let mut rest = lines;
    while !rest.is_empty() {
        let used = decoder.decode(rest, true, &mut requests);
        let used = used.map_err(|reason| format!("line {}: {reason}", decoder.records() + 1))?;
        rest = &rest[used..];
        if used == 0 {
            break;
        }
    }
    if requests.is_empty() && matches!(format, Format::Preset(_)) {
        return Err("no line of it is a request".to_owned());
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_formats() {
        for (name, format) in [
            ("P3.lis.zst", Some(Format::Lis)),
            ("cluster52.oracleGeneral.sample10.zst", Some(Format::OracleGeneral)),
            ("a.u32be.xz", Some(Format::U32Be)),
            ("a.u64", Some(Format::U64Le)),
            ("WebSearch1.SPC.gz", Some(Format::Spc)),
            ("x.csv", None),
            ("cs.trace.gz", None),
            ("lis", None),
            ("Financial1.spc.bz2", Some(Format::Spc)),
            ("a.lirs.zip", Some(Format::Lirs)),
        ] {
            assert_eq!(by_name(name), format, "{name}");
        }
    }

    #[test]
    fn contents_say_formats() {
        for (content, format) in [
            ("0\n1\n*\n2\n", Format::Lirs),
            ("0\r\n1\r\n", Format::Lirs),
            ("apple\n7\n", Format::Plain),
            ("1 1 0 0\n2 4 0 1\n", Format::Lis),
            ("0,20941264,8192,W,0.551706\n", Format::Spc),
            ("128166372003061629,hm,1,Read,383496192,32768,413\n", Format::Msr),
            ("  8,0    3       11     0.009507758   697  Q   W 223490 + 8 [kjournald]\n", Format::Blkparse),
            ("fio version 2 iolog\n/x add\n", Format::Fio),
            ("time,object,size\n1,7,100\n", Format::Csv),
            ("1,7,100\n2,8,100\n", Format::Csv),
            ("1\t7\n2\t8\n", Format::Csv),
        ] {
            assert_eq!(by_content("x", content.as_bytes(), true), Ok(format), "{content}");
        }
    }

    #[test]
    fn what_nobody_knows_says_what_was_tried() {
        let text = by_content("x", b"R Hit 123 8 0.5 0.1\n", true).unwrap_err();
        assert!(text.contains("fit no format") && text.contains("webcachesim"), "{text}");
        let binary = by_content("x", &[0xf0, 0, 0, 1, 0x88, 0, 2, 0], true).unwrap_err();
        assert!(binary.contains("binary") && binary.contains("u32-be"), "{binary}");
        assert!(by_content("x", b"", true).unwrap_err().contains("empty"));
    }
}
