//! Recognizes the format of a file, by its name and by its first bytes.

mod likely;

use crate::read::csv::Csv;
use crate::read::{decoder, oracle_general, vscsi};
use crate::{Columns, Format, Options, Preset, Request};

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

/// The format of a content that begins like this. An error names the formats that were tried.
pub(crate) fn by_content(name: &str, first: &[u8], columns: &Columns) -> Result<Format, String> {
    if first.is_empty() {
        return Err("it is empty, so that its format cannot be told; give the format".to_owned());
    }
    if first.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    let looked_at = &first[..first.len().min(LOOKED_AT)];
    if !is_text(looked_at) {
        if first.len() >= 64 && vscsi::Vscsi::of(first).is_some() {
            return Ok(Format::Vscsi);
        }
        if first.len() >= oracle_general::RECORD && oracle_general::looks_like(first) {
            return Ok(Format::OracleGeneral);
        }
        let known = format!("give the format, one of {}", Format::list());
        return Err(format!("it is binary, but neither parquet nor vscsi nor oracle-general; {known}"));
    }
    let lines = some_lines(looked_at);
    let text = Lines { name: name.to_ascii_lowercase(), columns };
    match text.format(&lines) {
        Err(refused) if !refused.chosen => {
            let most = alike(&lines);
            let format = if most.len() < lines.len() { text.format(&most).ok() } else { None };
            format.ok_or(refused.reason)
        }
        found => found.map_err(|refused| refused.reason),
    }
}

/// Why a text has no format.
struct Refused {
    reason: String,
    /// Whether the reason names the choice.
    chosen: bool,
}

/// How lines fit a format.
#[derive(Default)]
struct Fit {
    requests: usize,
    lines: usize,
    faults: usize,
    /// Why the first line that does not fit doesn't.
    fault: Option<String>,
}

impl Fit {
    fn all(&self) -> bool {
        self.faults == 0
    }

    /// Damaged lines do not make another format of a text.
    fn most(&self) -> bool {
        self.faults * 2 < self.lines
    }
}

/// A text, whose lines come from different places.
struct Lines<'a> {
    /// In small letters.
    name: String,
    /// The user's columns, which name no place.
    columns: &'a Columns,
}

impl Lines<'_> {
    /// The format of these lines.
    fn format(&self, lines: &[u8]) -> Result<Format, Refused> {
        let most = |format: &Format| self.fit(*format, lines).most();
        let particular = |format: &Format| likely::particular(*format, lines) && most(format);
        if let Some(format) = PARTICULAR.into_iter().find(particular) {
            return Ok(format);
        }
        let by_header = |preset: &Preset| {
            let fit = self.fit(Format::Preset(*preset), lines);
            fit.most() && fit.requests > 0
        };
        if let Some(preset) = Preset::all().filter(|&preset| likely::header(preset, lines)).find(by_header) {
            return Ok(Format::Preset(preset));
        }
        let mut readings: Vec<Format> =
            Preset::all().filter(|&preset| likely::preset(preset, lines)).map(Format::Preset).collect();
        let mut refusal = None;
        readings.retain(|&format| {
            let fit = self.fit(format, lines);
            refusal = refusal.take().or(fit.fault.as_ref().map(|reason| format!("as {format}: {reason}")));
            fit.all() && fit.requests > 0
        });
        if likely::lis(lines) && self.fit(Format::Lis, lines).all() {
            readings.push(Format::Lis);
        }
        match readings[..] {
            [] => self.generic(lines, refusal),
            [format] => Ok(format),
            _ => {
                let names: Vec<&str> = readings.iter().map(|format| format.name()).collect();
                let choices: Vec<String> = names.iter().map(|name| format!("--format {name}")).collect();
                let (names, choices) = (names.join(" or "), choices.join(" or "));
                let reason = format!("its first lines can be read as {names}: say which, {choices}");
                Err(Refused { reason, chosen: true })
            }
        }
    }

    /// Plain text and CSV would fit most texts. `refusal` says why a more likely format does not.
    fn generic(&self, lines: &[u8], mut refusal: Option<String>) -> Result<Format, Refused> {
        if likely::block_numbers(lines) && self.fit(Format::Lirs, lines).all() {
            return Ok(Format::Lirs);
        }
        let called = self.name.contains(".csv") || self.name.contains(".tsv");
        let blanks = || columns(lines, b' ') && Csv::new(self.columns, lines).is_ok_and(|csv| csv.header());
        let delimited = [b',', b'\t', b';', b'|'].into_iter().any(|delimiter| columns(lines, delimiter));
        if called || delimited || blanks() {
            let implausible = Csv::new(self.columns, lines).ok().and_then(|csv| csv.implausible(lines));
            if let Some(reason) = implausible.filter(|_| self.columns.object.is_none()) {
                return Err(Refused { reason, chosen: true });
            }
            match self.fit(Format::Csv, lines).fault {
                None => return Ok(Format::Csv),
                Some(reason) => refusal = Some(format!("as csv: {reason}")),
            }
        }
        let has = |byte: u8| lines.contains(&byte);
        let one_a_line = lines.split(|&byte| byte == b'\n').all(|line| !line.trim_ascii().contains(&b' '));
        if one_a_line && !delimited && !has(b',') && !has(b'\t') && self.fit(Format::Plain, lines).all() {
            return Ok(Format::Plain);
        }
        let chosen = refusal.is_some();
        let rest = match refusal {
            Some(reason) => format!("{reason}; say the columns or the format"),
            None => format!("give the format, one of {}", Format::list()),
        };
        Err(Refused { reason: format!("it is text, but its first lines fit no format; {rest}"), chosen })
    }

    /// How lines fit a format, each by itself.
    fn fit(&self, format: Format, lines: &[u8]) -> Fit {
        let columns = if format == Format::Csv { self.columns.clone() } else { Columns::default() };
        let options = Options { columns, ..Options::default() };
        let mut fit = Fit::default();
        let mut decoder = match decoder(format, &options, lines, false) {
            Ok(decoder) => decoder,
            Err(reason) => return Fit { lines: 1, faults: 1, fault: Some(reason), ..fit },
        };
        let mut requests: Vec<Request> = Vec::new();
        for (number, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
            if let Err(reason) = decoder.decode(line, true, &mut requests) {
                fit.faults += 1;
                fit.fault.get_or_insert(format!("line {}: {reason}", number + 1));
            }
            fit.lines += usize::from(!line.trim_ascii().is_empty());
        }
        fit.requests = requests.len();
        fit
    }
}

/// The lines that have as many delimiters as most of them.
fn alike(lines: &[u8]) -> Vec<u8> {
    let width = |line: &&[u8]| line.iter().filter(|byte| matches!(byte, b',' | b'\t' | b';' | b' ' | b'|')).count();
    let all = || lines.split_inclusive(|&byte| byte == b'\n');
    let mut widths: Vec<usize> = all().map(|line| width(&line)).collect();
    widths.sort_unstable();
    let most = widths.get(widths.len() / 2).copied().unwrap_or(0);
    all().filter(|line| width(line) == most).flatten().copied().collect()
}

/// Whether all characters are those of texts.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| !byte.is_ascii_control() || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// The first lines. A last one without an end may be cut, and counts only if there is no other.
fn some_lines(bytes: &[u8]) -> Vec<u8> {
    match memchr::memchr_iter(b'\n', bytes).take(LINES).last() {
        Some(end) => bytes[..=end].to_vec(),
        None => [bytes, b"\n"].concat(),
    }
}

/// Whether every line has the same number of a delimiter, and some at all.
fn columns(lines: &[u8], delimiter: u8) -> bool {
    let lines = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let mut counts = lines.map(|line| line.iter().filter(|&&byte| byte == delimiter).count());
    let first = counts.next().unwrap_or(0);
    first > 0 && counts.all(|count| count == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, content: &[u8]) -> Result<Format, String> {
        by_content(name, content, &Columns::default())
    }

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
            assert_eq!(of("x", content.as_bytes()), Ok(format), "{content}");
        }
    }

    #[test]
    fn what_nobody_knows_says_what_was_tried() {
        let text = of("x", b"R Hit 123 8 0.5 0.1\n").unwrap_err();
        assert!(text.contains("fit no format") && text.contains("webcachesim"), "{text}");
        let binary = of("x", &[0xf0, 0, 0, 1, 0x88, 0, 2, 0]).unwrap_err();
        assert!(binary.contains("binary") && binary.contains("u32-be"), "{binary}");
        assert!(of("x", b"").unwrap_err().contains("empty"));
    }
}
