//! The formats of public traces and of the logs that are at hand. `fixtures/` has a small file of
//! each, made for this test: line `n` of 24 is the request `n` of [`block`] or [`object`], in the
//! words and units of the format. Lines that are no requests come between and after them.

use std::collections::BTreeMap;
use std::path::Path;

use forebay_trace::{Format, LeftOut, Operation, Options, Preset, Reading, Request, Shape, Source, open, open_bytes};

const REQUESTS: u64 = 24;

/// Request `n` of a block trace: three files, a request a second.
fn block(n: u64) -> Request {
    let operation = if n % 4 == 3 { Operation::Write } else { Operation::Read };
    Request {
        at: forebay_core::Instant(n * 1_000_000_000),
        file: n % 3,
        offset: n * 7 % 10 * 16_384,
        len: 8192 * (1 + n as u32 % 2),
        operation,
        ..Request::default()
    }
}

/// Request `n` of a trace of objects: ten of them.
fn object(n: u64) -> Request {
    let id = n * 7 % 10;
    Request { file: id, offset: 0, len: 100 * (id as u32 + 1), ..block(n) }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

struct Read {
    requests: Vec<Request>,
    shape: Shape,
    reading: Reading,
}

fn read(content: Vec<u8>, options: &Options) -> Read {
    let mut source = open_bytes(Path::new("trace"), content, options).unwrap();
    let mut requests = Vec::new();
    while source.read(&mut requests).unwrap() > 0 {}
    Read { requests, shape: source.shape(), reading: source.reading().unwrap() }
}

fn error(name: &str, content: &[u8], options: &Options) -> String {
    let all = |mut source: Box<dyn Source>| loop {
        match source.read(&mut Vec::new()) {
            Ok(0) => panic!("{name} is read without an error"),
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    };
    open_bytes(Path::new(name), content.to_vec(), options).map_or_else(|error| error.to_string(), all)
}

fn of(format: Format) -> Options {
    Options { format: Some(format), ..Options::default() }
}

/// Files by the order of their appearance, and handlers not compared: formats number them in their
/// own ways.
fn compared(requests: &[Request], timed: bool, writes: bool) -> Vec<Request> {
    let mut numbers = BTreeMap::new();
    let mut plain = |request: &Request| {
        let next = numbers.len() as u64;
        let file = *numbers.entry(request.file).or_insert(next);
        let at = if timed { request.at } else { forebay_core::Instant(0) };
        let operation = if writes { request.operation } else { Operation::Read };
        Request { file, at, operation, handler: 0, context: 0, ..*request }
    };
    requests.iter().map(&mut plain).collect()
}

/// Formats that do not have everything.
fn lacks(format: &str) -> (bool, bool, bool, bool) {
    let timed = !matches!(format, "meta-kv-2022" | "tencent-photo");
    let writes = !matches!(
        format,
        "meta-cdn"
            | "wikimedia-upload"
            | "wikimedia-text"
            | "wikibench"
            | "tencent-photo"
            | "webcachesim"
            | "libcachesim"
            | "access-log"
    );
    let sizes = format != "wikibench";
    let files = !matches!(format, "cloudphysics" | "fio-lat");
    (timed, writes, sizes, files)
}

const LOGS: [Format; 5] = [Format::Strace, Format::Biosnoop, Format::Ftrace, Format::AccessLog, Format::S3Log];

#[test]
fn every_public_format_has_a_fixture_with_the_requests_that_were_written() {
    for format in Preset::all().map(Format::Preset).chain(LOGS) {
        let name = format.name();
        let found = read(fixture(name), &of(format));
        let (timed, writes, sizes, files) = lacks(name);
        let one = if found.shape == Shape::Objects { object } else { block };
        let expected = |n: u64| {
            let request = one(n);
            let len = if sizes { request.len } else { 1 };
            Request { len, file: if files { request.file } else { 0 }, ..request }
        };
        let expected: Vec<Request> = (0..REQUESTS).map(expected).collect();
        assert_eq!(compared(&found.requests, timed, writes), compared(&expected, timed, writes), "{name}");
        assert_eq!(found.reading.format, Some(format));
    }
}

#[test]
fn a_fixture_is_recognized_or_asks_but_is_never_taken_for_another() {
    for format in Preset::all().map(Format::Preset).chain(LOGS) {
        let name = format.name();
        match open_bytes(Path::new("trace"), fixture(name), &Options::default()) {
            Ok(source) => {
                let found = source.reading().and_then(|reading| reading.format);
                // A header in plain words is generic CSV, which reads the same columns.
                let plain = matches!(name, "wikimedia-upload" | "wikimedia-text");
                assert!(found == Some(format) || plain && found == Some(Format::Csv), "{name} is taken for {found:?}");
            }
            Err(error) => {
                assert!(
                    matches!(name, "wikibench" | "tencent-photo" | "fio-lat" | "wikimedia-upload" | "wikimedia-text"),
                    "{error}"
                );
            }
        }
    }
}

fn left_out(format: Format) -> Vec<LeftOut> {
    read(fixture(format.name()), &of(format)).reading.left_out
}

#[test]
fn lines_that_are_no_requests_are_counted_by_their_reason() {
    let one = |reason: &str, lines| LeftOut { reason: reason.to_owned(), lines };
    let preset = |name: &str| name.parse::<Format>().unwrap();
    assert_eq!(left_out(preset("twitter")), [one("operation `touch`", 1)]);
    assert_eq!(
        left_out(preset("ibm-object")),
        [one("operation `REST.DELETE.OBJECT`", 1), one("operation `REST.HEAD.OBJECT`", 1)]
    );
    assert_eq!(left_out(Format::Ftrace), [one("event `block_rq_complete`", 24), one("kind `FF`", 1)]);
    assert_eq!(left_out(Format::AccessLog), [one("method `HEAD`", 1), one("status `304`", 1), one("status `404`", 1)]);
    assert_eq!(left_out(Format::S3Log), [one("operation `REST.GET.VERSIONING`", 1), one("status `404`", 1)]);
    let strace = left_out(Format::Strace);
    assert!(strace.contains(&one("descriptor that was not opened: `read`", 1)), "{strace:?}");
    assert!(strace.contains(&one("call `futex`", 12)), "{strace:?}");
}

#[test]
fn columns_are_named_read_or_not() {
    let reading = read(fixture("meta-kv"), &of("meta-kv".parse().unwrap())).reading;
    assert!(reading.columns.contains(&"added size: `key_size`".to_owned()), "{:?}", reading.columns);
    assert_eq!(reading.unused, ["`op_count`", "`cache_hits`", "`ttl`", "`usecase`", "`sub_usecase`"]);
    let reading = read(fixture("twitter"), &of("twitter".parse().unwrap())).reading;
    assert_eq!(reading.unused, ["column 7"]);
}

#[test]
fn columns_choose_csv_and_an_action_chooses_blkparse() {
    let columns = Options { columns: "time-col=2,obj-id-col=1,obj-size-col=3".parse().unwrap(), ..Options::default() };
    // Four numbers with blanks would be ARC's.
    let found = read(b"7 0 100 0\n8 1 200 1\n".to_vec(), &columns);
    assert_eq!((found.shape, found.requests[1].file, found.requests[1].len), (Shape::Objects, 8, 200));
    let wrong = Options { format: Some(Format::Lirs), ..columns.clone() };
    assert!(error("x", b"1\n", &wrong).contains("columns are for csv and its presets, not for lirs"));
    let both = Options { action: Some('Q'), ..columns };
    assert!(error("x", b"1\n", &both).contains("give one of them"));
    let action = Options { action: Some('D'), ..Options::default() };
    assert!(error("x", b"1\n", &action).contains("is no line of blkparse"));
}

#[test]
fn two_readings_that_fit_are_asked_about() {
    // ARC's, or webcachesim's with a feature that counts.
    let text = error("x", b"1 6 657 3\n2 3 357 4\n5 7 757 9\n", &Options::default());
    assert!(
        text.contains("can be read as webcachesim or lis: say which, --format webcachesim or --format lis"),
        "{text}"
    );
    // DiskSim's in whole milliseconds, or webcachesim's with two features.
    let text = error("x", b"1 0 657 3 1\n2 0 357 4 0\n", &Options::default());
    assert!(text.contains("--format webcachesim or --format disksim"), "{text}");
    // A line that cannot be one of the two is the other.
    let found = |content: &[u8]| read(content.to_vec(), &Options::default()).reading.format.unwrap().name();
    assert_eq!(found(b"0 6 657 3\n1 3 357 3\n"), "webcachesim");
    assert_eq!(found(b"9 6 0 3\n1 3 0 4\n"), "lis");
    assert_eq!(found(b"1.5 0 657 3 1\n2.5 0 357 4 0\n"), "disksim");
    assert_eq!(found(b"1,7,100,9\n2,8,100,-1\n"), "libcachesim");
    assert_eq!(found(b"1,7,100,get\n2,8,100,set\n"), "csv");
    assert_eq!(found(b"time,id,size,op\n1,7,100,get\n"), "csv");
    assert_eq!(found(b"time (ms), object id, size\n1,7,100\n"), "csv");
}

#[test]
fn a_refused_csv_says_why() {
    for (content, expected) in [
        (&b"time,id,size\n1,2,-5\n"[..], "line 2: column 3: `-5` is no size"),
        (b"time,id,size\n1,2,3\nnow,2,3\n", "line 3: column 1: `now` is no time"),
        (b"weight,colour\n1,2\n", "no column of `weight,colour` is called like an object"),
        (b"1,2,3,4,5,6\n", "6 columns and no header"),
    ] {
        let text = error("x.csv", content, &Options::default());
        assert!(text.contains("fit no format; as csv: ") && text.contains(expected), "{text}");
    }
}

#[test]
fn operations_and_columns_can_be_ignored() {
    let content =
        b"# timestamp (ms), op type, object id, object size\n0,1,o6,600\n100,2,o3,300\n# a note\n300,1,o6,600\n";
    let told = |columns: &str| Options { columns: columns.parse().unwrap(), ..Options::default() };
    let gets = read(content.to_vec(), &told("reads=1"));
    assert_eq!(gets.requests.iter().map(|request| request.at.0 / 1_000_000).collect::<Vec<_>>(), [0, 300]);
    assert_eq!(gets.reading.left_out, [LeftOut { reason: "operation `2`".to_owned(), lines: 1 }]);
    assert_eq!(read(content.to_vec(), &told("op-col=none")).requests.len(), 3);
    // A code alone says nothing: its column is not read, and that is said.
    let guessed = read(content.to_vec(), &Options::default());
    assert_eq!((guessed.requests.len(), guessed.reading.unused), (3, vec!["`op type`".to_owned()]));
    let doubt = guessed.reading.doubts.join("; ");
    assert!(doubt.contains("every line counts as a read") && doubt.contains("column 2: `1`"), "{doubt}");
    assert!(error("x", content, &told("op-col=2")).contains("column 2: `1` is no operation that is known"));
    assert_eq!(read(content.to_vec(), &told("reads=1,writes=2")).requests[1].operation, Operation::Write);
}

#[test]
fn times_may_be_dates() {
    let content = b"timestamp,key,size\n2026-11-26T23:59:59.125Z,6,100\n2026-11-27T00:00:01Z,3,100\n";
    let found = read(content.to_vec(), &Options::default());
    assert_eq!(found.requests[1].at.0, 1_875_000_000);
}

#[test]
fn objects_of_four_gib_are_left_out_and_counted() {
    let content = b"time,id,size\n1,2,4294967296\n2,3,4294967295\n";
    let found = read(content.to_vec(), &Options::default());
    assert_eq!((found.requests.len(), found.requests[0].len), (1, u32::MAX));
    assert_eq!(found.reading.left_out, [LeftOut { reason: "of 4 GiB or more".to_owned(), lines: 1 }]);
}

#[test]
fn damaged_logs_say_which_line() {
    for (format, content, expected) in [
        (Format::Strace, &b"712 1.5 read(3, \"\", 4) = 4\nread me\n"[..], "record 2: `read me` is no line of strace"),
        (
            Format::Biosnoop,
            b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1 a b vda R 8 512 1\n",
            "record 2: `b` is no process",
        ),
        (Format::Biosnoop, b"TIME(ms) DISK COMM PID LAT(ms)\n", "record 1: its header has no BYTES"),
        (
            Format::Ftrace,
            b" dd-1 [000] 1.5: block_rq_issue: 8,0 R 512 () 8 [dd]\n",
            "record 1: ` 8,0 R 512 () 8 [dd]` has no sector",
        ),
        (Format::Ftrace, b" dd-1 [000] x: block_rq_issue: 8,0 R 512 () 8 + 1 [dd]\n", "is no process with a time"),
        (Format::AccessLog, b"h - - [10/Oct/2026] \"GET / HTTP/1.1\" 200 5\n", "record 1: `10/Oct/2026` is no time"),
        (
            Format::AccessLog,
            b"h - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200\n",
            "it has no number of bytes",
        ),
        (Format::S3Log, b"a b c\n", "record 1: it has 3 fields, not 13 or more"),
    ] {
        let text = error("x", content, &of(format));
        assert!(text.contains(expected), "{format}: {text}");
    }
}

#[test]
fn zips_of_one_file_and_bzip2_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let spc: String = (0..50).map(|n| format!("0,{},4096,r,{n}.5\n", n * 8)).collect();
    let write = |name: &str, files: &[&str]| {
        let path = folder.path().join(name);
        std::fs::write(&path, stored_zip(files, spc.as_bytes())).unwrap();
        path
    };
    let path = write("a.spc.zip", &["folder/", "folder/a.spc"]);
    let mut source = open(&path, &Options::default()).unwrap();
    let mut requests = Vec::new();
    while source.read(&mut requests).unwrap() > 0 {}
    assert_eq!((requests.len(), requests[49].offset), (50, 49 * 4096));
    let error = open(&write("two.zip", &["a", "b"]), &Options::default()).err().unwrap().to_string();
    assert!(error.contains("a zip of 2 files (a, b), not of one"), "{error}");
    let mut damaged = std::fs::read(&path).unwrap();
    let at = damaged.iter().rposition(|&byte| byte == b'r').unwrap().min(400);
    damaged[at] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let read = open(&path, &Options::default()).and_then(|mut source| {
        while source.read(&mut Vec::new())? > 0 {}
        Ok(())
    });
    assert!(read.is_err(), "a changed byte is found by the checksum, if by nothing before it");
}

/// A zip whose members are not compressed, each with this content; a folder has none.
fn stored_zip(names: &[&str], content: &[u8]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        let content = if name.ends_with('/') { &[][..] } else { content };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(content);
        let (checksum, len) = (hasher.finalize().to_le_bytes(), (content.len() as u32).to_le_bytes());
        let name_len = (name.len() as u16).to_le_bytes();
        let about = [&[10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &checksum, &len, &len, &name_len, &[0, 0]].concat();
        let at = (zip.len() as u32).to_le_bytes();
        directory.extend([&b"PK\x01\x02\x0a\0"[..], &about, &[0; 10], &at, name.as_bytes()].concat());
        zip.extend([&b"PK\x03\x04"[..], &about, name.as_bytes(), content].concat());
    }
    let count = (names.len() as u16).to_le_bytes();
    let (len, at) = ((directory.len() as u32).to_le_bytes(), (zip.len() as u32).to_le_bytes());
    zip.extend(directory);
    zip.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &len, &at, &[0, 0]].concat());
    zip
}
