//! Files that Forebay or a preloaded program wrote, and messages between the two.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use forebay_callers::{Context, Dictionary, Recording, Table};
use forebay_live::contexts::hints::Hints;
use forebay_live::{flight, told};
use forebay_tier::Key;
use forebay_tier::id::Id;
use forebay_tier::layout::TABLE;
use forebay_tier::table::{self, MAGIC};

use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target { name: "hint", about: "a told list, as an ioctl brings it", run: hint },
    Target { name: "hint-line", about: "a name of a told list, JSON", run: hint_line },
    Target { name: "flight", about: "a recorded flight, line by line", run: flight },
    Target { name: "hints-file", about: "a database of hints, where five bytes set one", run: hints_file },
    Target { name: "context", about: "a line of a dictionary of contexts", run: context },
    Target { name: "dictionary", about: "a dictionary of contexts", run: dictionary },
    Target { name: "context-table", about: "the head of a table of contexts, and its slots", run: context_table },
    Target { name: "recording", about: "a log of calls", run: recording },
    Target { name: "tier-id", about: "the id of a tier's folder", run: tier_id },
    Target { name: "tier-table", about: "the table of a tier's segment", run: tier_table },
    Target { name: "tier-sealed", about: "such a table, with the right checksum", run: tier_sealed },
    Target { name: "tier-folder", about: "the first segment of a tier's folder", run: tier_folder },
];

/// A hint that is right.
const KNOWN: &str = r#"{
    "executable": "/bin/cat", "build": "1", "pattern": "Looping",
    "rhythm": {"size": 4, "time": 10, "deviation": 1}, "seen": 1700000000
}"#;

/// A folder of this process, which its parent removes.
fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder").keep())
}

/// A file with these bytes.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch().join(name);
    std::fs::write(&path, bytes).expect("a file is written");
    path
}

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn hint(bytes: &[u8]) -> Outcome {
    Outcome::of_result(told::hint(bytes).map(|hint| hint.names.len()))
}

fn hint_line(bytes: &[u8]) -> Outcome {
    let read = told::line(bytes);
    if let Ok(Some(named)) = &read {
        assert!(named.path.is_relative() && told::inner(&named.path).as_ref() == Some(&named.path), "{named:?}");
        assert!(named.range.as_ref().is_none_or(|range| range.start < range.end), "{named:?}");
    }
    Outcome::of_result(read.map(|named| usize::from(named.is_some())))
}

fn flight(bytes: &[u8]) -> Outcome {
    Outcome::of_result(flight::read(BufReader::new(bytes)).map(|(_, lines)| lines.count()))
}

/// A database with two hints. Records of five bytes say where it has another byte.
fn hints_file(bytes: &[u8]) -> Outcome {
    static DATABASE: OnceLock<Vec<u8>> = OnceLock::new();
    let database = DATABASE.get_or_init(|| {
        let hints = Hints::at(scratch().join("right.redb"));
        let known = serde_json::from_str(KNOWN).expect("a hint");
        hints.merge(&[(1, known)].into()).expect("hints are kept");
        std::fs::read(hints.path()).expect("a file is read")
    });
    let mut damaged = database.clone();
    for [at @ .., value] in bytes.as_chunks::<5>().0 {
        let at = u32::from_le_bytes(*at) as usize % damaged.len();
        damaged[at] ^= value;
    }
    let hints = Hints::at(file("contexts.redb", &damaged));
    Outcome::of_result(hints.load().map(|known| known.len()))
}

fn context(bytes: &[u8]) -> Outcome {
    let read = Context::parse(&String::from_utf8_lossy(bytes));
    Outcome::of_count(read.map_or(0, |context| 1 + context.frames.len()))
}

fn dictionary(bytes: &[u8]) -> Outcome {
    let read = Dictionary::open(&file("table.names", bytes), own());
    Outcome::of_result(read.map(|dictionary| dictionary.contexts().count()))
}

fn context_table(bytes: &[u8]) -> Outcome {
    let path = file("table", bytes);
    // Tables have one size, `SIZE` in forebay-callers; what is beyond the bytes is zero.
    let whole = std::fs::File::options().write(true).open(&path).and_then(|file| file.set_len(4096 + (24 << 16)));
    whole.expect("a file is made longer");
    let read = Table::open(&path, own());
    Outcome::of_result(read.map(|table| (0..64).filter(|&tid| table.get(tid).is_some()).count()))
}

fn recording(bytes: &[u8]) -> Outcome {
    let folder = scratch().join("recording");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("1.calls"), bytes).expect("a file is written");
    let read = Recording::open(&folder);
    if let Ok(recording) = &read {
        assert!(recording.calls().iter().all(|call| call.file < recording.files().len()));
    }
    Outcome::of_result(read.map(|recording| recording.calls().len()))
}

/// One that is accepted is written again byte for byte.
fn tier_id(bytes: &[u8]) -> Outcome {
    let read = Id::decode(bytes);
    if let Ok(id) = &read {
        assert_eq!(id.encode(), bytes);
    }
    Outcome::of_flag(read.is_ok())
}

fn tier_table(bytes: &[u8]) -> Outcome {
    decode(bytes, &Key([7; 16]))
}

/// As far as the checksum, which chance does not find: with it, and a head that is right.
fn tier_sealed(bytes: &[u8]) -> Outcome {
    let key = Key([7; 16]);
    let mut table = table::Table::default().encode(&key, 3);
    table.truncate(40);
    table.extend(bytes);
    table.extend(crc32fast::hash(&table).to_le_bytes());
    assert!(table.starts_with(&MAGIC));
    decode(&table, &key)
}

fn decode(bytes: &[u8], key: &Key) -> Outcome {
    let read = table::Table::decode(bytes, key, 3);
    if let Ok(table) = &read {
        assert!(bytes.starts_with(&table.encode(key, 3)));
    }
    Outcome::of_result(read.map(|_| 1).map_err(|damage| format!("{damage:?}")))
}

/// A folder that is right but for the sealed table of its first segment, and some data.
fn tier_folder(bytes: &[u8]) -> Outcome {
    let key = Key([7; 16]);
    let segments = scratch().join("tier/forebay-1/segments");
    std::fs::create_dir_all(&segments).expect("a folder");
    std::fs::write(scratch().join("tier/forebay-1/id"), Id { key }.encode()).expect("a file is written");
    let mut segment = table::Table::default().encode(&key, 0);
    segment.truncate(40);
    segment.extend(bytes);
    segment.extend(crc32fast::hash(&segment).to_le_bytes());
    segment.resize(TABLE as usize + 8 * 4096, 0);
    std::fs::write(segments.join("00000000"), segment).expect("a file is written");
    let folder = scratch().join("tier");
    let checked = forebay_tier::info(&folder).and_then(|_| forebay_tier::check(&folder, |_| ()));
    Outcome::of_result(checked.map(|report| {
        // No piece was ever written, so none can be right unless it is of zeros.
        assert!(report.right_bytes <= 8 * 4096 * 16, "{report:?}");
        report.damaged.len() + report.lost_segments as usize * 100
    }))
}
