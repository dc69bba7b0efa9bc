//! `forebay contexts`: the hints about program contexts that mounts have kept for later mounts.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use forebay_core::Pattern;
use forebay_live::contexts::hints::{Hints, HintsError, Known};
use forebay_source::printable;
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::options::{Contexts, ContextsClear, ContextsCommand, ContextsExport, ContextsShow, Exported, Kept};
use crate::output;
use crate::size::count;

/// Runs the command.
pub(crate) fn run(contexts: &Contexts) -> Result<(), Failure> {
    match &contexts.command {
        None => show(&contexts.show),
        Some(ContextsCommand::Show(options)) => show(options),
        Some(ContextsCommand::Export(export)) => self::export(export),
        Some(ContextsCommand::Clear(clear)) => self::clear(clear),
    }
}

/// A context as a record.
#[derive(Serialize)]
struct Record {
    /// Its number, in hexadecimal: JSON's numbers end at 2^53.
    context: String,
    executable: String,
    build: String,
    /// The call stack, innermost first; empty if the context is a program and a file.
    frames: Vec<String>,
    file: Option<String>,
    pattern: &'static str,
    loop_blocks: u32,
    loop_accesses: u64,
    loop_deviation: u64,
    /// How many streams these figures come from; zero if nothing is known of them.
    streams: u8,
    /// How many of them went beyond their first read.
    streams_go_on: u8,
    /// Whether they read files from beginning to end.
    streams_whole: bool,
    /// Blocks of the streams that went beyond their first read. About half of them have no more
    /// than `stream_blocks`; five eighths of them are between the other two.
    stream_blocks: u32,
    stream_blocks_from: u32,
    stream_blocks_to: u32,
    /// Seconds since 1970.
    seen: u64,
}

impl Record {
    fn of(id: u64, known: Known) -> Record {
        let Known { origin, hint, seen } = known;
        let usual = hint.usual;
        Record {
            context: format!("{id:016x}"),
            executable: origin.executable,
            build: origin.build,
            frames: origin.frames,
            file: origin.file,
            pattern: pattern_name(hint.pattern),
            loop_blocks: hint.rhythm.size,
            loop_accesses: hint.rhythm.time,
            loop_deviation: hint.rhythm.deviation,
            streams: usual.streams,
            streams_go_on: usual.go_on,
            streams_whole: usual.whole,
            stream_blocks: usual.octiles[3],
            stream_blocks_from: usual.octiles[1],
            stream_blocks_to: usual.octiles[6],
            seen,
        }
    }

    /// Two lines: the context's behaviour, and its place in the program.
    fn text(&self, now: u64) -> String {
        let rhythm = match self.loop_blocks {
            0 => String::new(),
            blocks => format!(
                ", {} blocks every {} accesses ± {}",
                count(blocks.into()),
                count(self.loop_accesses),
                count(self.loop_deviation)
            ),
        };
        let place = match &self.file {
            Some(file) => format!("file {file}"),
            None if self.frames.is_empty() => "call stack unknown".to_owned(),
            None => self.frames.join(" < "),
        };
        let seen = age(now.saturating_sub(self.seen));
        let (context, pattern) = (&self.context, self.pattern);
        format!("  {context}  {pattern}{rhythm}{}, seen {seen}\n      {}\n", self.streams(), printable(&place))
    }

    /// The usual length of its streams.
    fn streams(&self) -> String {
        let (from, to) = (self.stream_blocks_from, self.stream_blocks_to);
        match self.streams {
            0 => String::new(),
            // The engine fetches nothing ahead for such a share.
            all if self.streams_go_on * 8 < all => ", at random".to_owned(),
            _ if self.streams_whole => ", whole files".to_owned(),
            _ if from == to => format!(", streams of {} blocks", count(to.into())),
            _ => format!(", streams of {} to {} blocks", count(from.into()), count(to.into())),
        }
    }
}

/// The name of a pattern.
pub(super) fn pattern_name(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::OneShot => "one-shot",
        Pattern::Looping => "looping",
        Pattern::Clustered => "clustered",
        Pattern::Other => "other",
    }
}

fn age(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} {unit}{} ago", count(number), if number == 1 { "" } else { "s" })
}

fn database(kept: &Kept) -> Result<Hints, Failure> {
    kept.database().ok_or_else(|| {
        Failure::input("there is no file to keep hints in: give --hints FILE, or set HOME or XDG_CACHE_HOME")
    })
}

fn refusal(error: HintsError) -> Failure {
    match error {
        HintsError::File { .. } => Failure::input(error),
        error => Failure::run(error),
    }
}

/// All contexts, by program, those seen last first.
fn records(hints: &Hints) -> Result<Vec<Record>, Failure> {
    let known = hints.load().map_err(refusal)?;
    let mut records: Vec<Record> = known.into_iter().map(|(id, known)| Record::of(id, known)).collect();
    records.sort_by(|one, other| {
        let key = |record: &Record| (std::cmp::Reverse(record.seen), record.context.clone());
        (&one.executable, &one.build, key(one)).cmp(&(&other.executable, &other.build, key(other)))
    });
    Ok(records)
}

fn show(options: &ContextsShow) -> Result<(), Failure> {
    let hints = database(&options.kept)?;
    let records = records(&hints)?;
    if options.json {
        return output::json(&records);
    }
    if records.is_empty() {
        let path = hints.path().display();
        return output::print(&format!(
            "nothing is known of program contexts ({path}): mount with a policy that tells them apart, as amp\n"
        ));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    output::print(&text(&records, now))
}

/// Programs, and below each its contexts.
fn text(records: &[Record], now: u64) -> String {
    let mut programs: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
    for record in records {
        programs.entry((&record.executable, &record.build)).or_default().push(record);
    }
    let mut text = String::new();
    for ((executable, build), records) in programs {
        let executable = if executable.is_empty() { "unknown program" } else { executable };
        text.push_str(&format!("{}  {}\n", printable(executable), printable(build)));
        records.into_iter().for_each(|record| text.push_str(&record.text(now)));
    }
    text
}

fn export(export: &ContextsExport) -> Result<(), Failure> {
    let records = records(&database(&export.kept)?)?;
    let ending = export.output.as_deref().and_then(Path::extension);
    let by_name = || if ending.is_some_and(|ending| ending == "csv") { Exported::Csv } else { Exported::Json };
    let text = match export.format.unwrap_or_else(by_name) {
        Exported::Json => serde_json::to_string(&records).map(|text| text + "\n").map_err(|error| error.to_string()),
        Exported::Csv => csv(&records).map_err(|error| error.to_string()),
    };
    let text = text.map_err(|error| Failure::run(format!("cannot export contexts: {error}")))?;
    match &export.output {
        None => output::print(&text),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display()))),
    }
}

/// A line a context; its call stack is one field.
fn csv(records: &[Record]) -> Result<String, Box<dyn std::error::Error>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "context",
        "executable",
        "build",
        "frames",
        "file",
        "pattern",
        "loop_blocks",
        "loop_accesses",
        "loop_deviation",
        "streams",
        "streams_go_on",
        "streams_whole",
        "stream_blocks",
        "stream_blocks_from",
        "stream_blocks_to",
        "seen",
    ])?;
    for record in records {
        writer.write_record([
            &record.context,
            &record.executable,
            &record.build,
            &record.frames.join(" < "),
            record.file.as_deref().unwrap_or_default(),
            record.pattern,
            &record.loop_blocks.to_string(),
            &record.loop_accesses.to_string(),
            &record.loop_deviation.to_string(),
            &record.streams.to_string(),
            &record.streams_go_on.to_string(),
            &record.streams_whole.to_string(),
            &record.stream_blocks.to_string(),
            &record.stream_blocks_from.to_string(),
            &record.stream_blocks_to.to_string(),
            &record.seen.to_string(),
        ])?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn clear(clear: &ContextsClear) -> Result<(), Failure> {
    let hints = database(&clear.kept)?;
    let cleared = hints.clear(clear.executable.as_deref()).map_err(refusal)?;
    if clear.json {
        return output::json(&json!({ "cleared": cleared }));
    }
    let of = clear.executable.as_ref().map(|program| format!(" of {}", printable(program))).unwrap_or_default();
    let plural = if cleared == 1 { "" } else { "s" };
    output::print(&format!("{} context{plural}{of} forgotten\n", count(cleared as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Usual;
    use forebay_core::{Hint, Rhythm};
    use forebay_live::contexts::hints::Origin;

    fn record(id: u64, executable: &str, file: Option<&str>, pattern: Pattern) -> Record {
        let origin = Origin {
            executable: executable.into(),
            build: "b1".into(),
            frames: if file.is_some() { vec![] } else { vec!["libc.so.6+0x12".into(), "a,\"b\"+0x3".into()] },
            file: file.map(Into::into),
        };
        let size = if pattern == Pattern::Looping { 1234 } else { 0 };
        let rhythm = Rhythm { size, time: 5678, deviation: 9 };
        Record::of(id, Known { origin, hint: Hint::of(pattern, rhythm), seen: 1000 })
    }

    #[test]
    fn contexts_stand_below_their_programs() {
        let records = [
            record(1, "/bin/a", None, Pattern::Looping),
            record(u64::MAX, "/bin/a", None, Pattern::OneShot),
            record(2, "/bin/b\n", Some("data/x"), Pattern::Clustered),
        ];
        let expected = "\
/bin/a  b1
  0000000000000001  looping, 1,234 blocks every 5,678 accesses ± 9, seen 2 hours ago
      libc.so.6+0x12 < a,\"b\"+0x3
  ffffffffffffffff  one-shot, seen 2 hours ago
      libc.so.6+0x12 < a,\"b\"+0x3
/bin/b\\n  b1
  0000000000000002  clustered, seen 2 hours ago
      file data/x
";
        assert_eq!(text(&records, 1000 + 2 * 3600 + 5), expected);
    }

    #[test]
    fn streams_at_a_glance() {
        let said = |streams, go_on, whole, octiles| {
            let usual = Usual { streams, go_on, whole, octiles };
            let hint = Hint { usual, ..Hint::NOTHING };
            Record::of(1, Known { origin: Origin::default(), hint, seen: 0 }).streams()
        };
        assert_eq!(said(0, 0, false, [0; 8]), "");
        assert_eq!(said(16, 1, false, [4; 8]), ", at random");
        assert_eq!(said(16, 16, true, [9; 8]), ", whole files");
        assert_eq!(said(16, 16, false, [100; 8]), ", streams of 100 blocks");
        assert_eq!(said(16, 12, false, [1, 2, 3, 4, 5, 6, 7000, 8000]), ", streams of 2 to 7,000 blocks");
    }

    #[test]
    fn ages_at_a_glance() {
        let ages = [59, 60, 7199, 86_400 * 3].map(age);
        assert_eq!(ages, ["just now", "1 minute ago", "1 hour ago", "3 days ago"]);
    }

    #[test]
    fn csv_has_a_line_a_context() {
        let csv = csv(&[record(1, "/bin/a", None, Pattern::Looping)]).unwrap();
        let line =
            "0000000000000001,/bin/a,b1,\"libc.so.6+0x12 < a,\"\"b\"\"+0x3\",,looping,1234,5678,9,0,0,false,0,0,0,1000";
        assert_eq!(csv.lines().nth(1), Some(line));
    }
}
