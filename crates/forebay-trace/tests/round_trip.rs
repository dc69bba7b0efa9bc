//! A written trace is read back: whole in our own format, and as far as the others can hold it. A
//! name appears only when its trace is whole.

use std::collections::HashMap;
use std::path::Path;

use forebay_core::Instant;
use forebay_trace::{
    ContextInfo, Error, FileInfo, Format, Memory, Operation, Options, Request, Shape, Source, WRITTEN, Writer, open,
    open_bytes,
};
use proptest::prelude::*;

fn any_request() -> impl Strategy<Value = Request> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), 1..=u32::MAX, any::<u32>(), any::<u32>(), any::<bool>());
    numbers.prop_map(|(at, file, offset, len, handler, context, write)| {
        let operation = if write { Operation::Write } else { Operation::Read };
        let offset = offset.min(u64::MAX - u64::from(len));
        Request { at: Instant(at), file, offset, len, handler, context, operation }
    })
}

/// A trace with names, sizes and an origin.
struct Told(Memory);

impl Source for Told {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, Error> {
        self.0.read(batch)
    }

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn progress(&self) -> (u64, u64) {
        self.0.progress()
    }

    fn files(&self) -> Vec<FileInfo> {
        vec![
            FileInfo { file: 0, name: Some("a \"b\"\n".to_owned()), bytes: None },
            FileInfo { file: u64::MAX, name: None, bytes: Some(7) },
        ]
    }

    fn contexts(&self) -> Vec<ContextInfo> {
        let frames = vec!["libc.so.6+0x1".to_owned(), "a\tb+0xff".to_owned()];
        vec![
            ContextInfo { context: 1, id: u64::MAX, program: "/bin/a".to_owned(), build: "b".to_owned(), frames },
            ContextInfo { context: 7, id: 1, ..ContextInfo::default() },
        ]
    }

    fn origin(&self) -> Option<String> {
        Some("by hand, seed=3".to_owned())
    }
}

fn write(path: &Path, format: Format, requests: &[Request], shape: Shape) -> Result<u64, Error> {
    let mut writer = Writer::create(path, format, shape)?;
    for some in requests.chunks(1000) {
        writer.write(some)?;
    }
    writer.finish(&Told(Memory::new(Vec::new(), shape)))
}

fn all(mut source: Box<dyn Source>) -> Result<Vec<Request>, Error> {
    let mut requests = Vec::new();
    while source.read(&mut requests)? > 0 {}
    Ok(requests)
}

/// Requests in order of time, as every reader gives them.
fn some_requests(count: u64) -> Vec<Request> {
    (0..count)
        .map(|n| Request {
            at: Instant(n * 1_000_000_000),
            file: n % 5,
            offset: n % 17 * 4096,
            len: 4096,
            handler: (n % 3) as u32,
            context: (n % 2) as u32,
            operation: if n % 4 == 0 { Operation::Write } else { Operation::Read },
        })
        .collect()
}

const RANGES: Shape = Shape::Ranges { block_bytes: 4096 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_own_format_keeps_everything(
        requests in prop::collection::vec(any_request(), 0..300),
        block_bytes in prop::option::of(1..u32::MAX),
    ) {
        let shape = block_bytes.map_or(Shape::Objects, |block_bytes| Shape::Ranges { block_bytes });
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one.parquet"), folder.path().join("two"));
        prop_assert_eq!(write(&one, Format::Parquet, &requests, shape).unwrap(), requests.len() as u64);
        let source = open(&one, &Options::default()).unwrap();
        prop_assert_eq!(source.shape(), shape);
        prop_assert_eq!(source.files(), Told(Memory::new(Vec::new(), shape)).files());
        prop_assert_eq!(source.contexts(), Told(Memory::new(Vec::new(), shape)).contexts());
        prop_assert_eq!(source.origin().unwrap(), "by hand, seed=3");
        prop_assert_eq!(&all(source).unwrap(), &requests);
        // Written again, the same bytes.
        write(&two, Format::Parquet, &requests, shape).unwrap();
        prop_assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    }
}

#[test]
fn several_row_groups_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.parquet");
    let requests = some_requests(600_000);
    write(&path, Format::Parquet, &requests, RANGES).unwrap();
    assert!(all(open(&path, &Options::default()).unwrap()).unwrap() == requests);
    // Flip one byte in the middle of the pages: some record is named, or the checksum does not fit.
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let error = all(open_bytes(Path::new("flipped.parquet"), bytes, &Options::default()).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Record { record: 1.., .. }), "{error}");
}

#[test]
fn another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.parquet");
    write(&path, Format::Parquet, &some_requests(3), RANGES).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(15).position(|some| some == b"forebay.version").unwrap();
    // The value follows its key: a byte for the field, one for the length, the text.
    let mut other = bytes.clone();
    assert_eq!(other[at + 17], b'1');
    other[at + 17] = b'2';
    let error = open_bytes(Path::new("v.parquet"), other, &Options::default()).err().unwrap().to_string();
    assert!(error.contains("version 2") && error.contains("known is 1"), "{error}");
}

#[test]
fn csv_keeps_ranges_and_objects() {
    let folder = tempfile::tempdir().unwrap();
    for (name, ending) in [("a", "csv"), ("b", "csv.gz"), ("c", "csv.xz"), ("d", "csv.zst")] {
        let path = folder.path().join(format!("{name}.{ending}"));
        let mut requests = some_requests(5000);
        write(&path, Format::Csv, &requests, RANGES).unwrap();
        let source = open(&path, &Options::default()).unwrap();
        assert_eq!(source.shape(), RANGES);
        assert_eq!(all(source).unwrap(), requests);
        requests.iter_mut().for_each(|request| request.offset = 0);
        write(&path, Format::Csv, &requests, Shape::Objects).unwrap();
        let source = open(&path, &Options::default()).unwrap();
        assert_eq!(source.shape(), Shape::Objects);
        assert_eq!(all(source).unwrap(), requests);
    }
}

#[test]
fn oracle_general_says_when_an_object_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.oracleGeneral");
    // More than the chunks that are gone through at once, with objects that come again across them.
    let requests: Vec<Request> = (0..100_000u64)
        .map(|n| Request { at: Instant(n * 1_000_000), file: n * n % 7919, len: 10, ..Request::default() })
        .collect();
    write(&path, Format::OracleGeneral, &requests, Shape::Objects).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut next = vec![-1i64; requests.len()];
    for (number, request) in requests.iter().enumerate() {
        if let Some(before) = last.insert(request.file, number) {
            next[before] = number as i64 + 1;
        }
    }
    let written: Vec<i64> =
        bytes.chunks(24).map(|record| i64::from_le_bytes(record[16..].try_into().unwrap())).collect();
    assert!(written == next);
    let back = all(open(&path, &Options::default()).unwrap()).unwrap();
    assert_eq!(back.len(), requests.len());
    assert!(back.iter().zip(&requests).all(|(back, request)| back.file == request.file
        && back.len == request.len
        && back.at.0 == request.at.0 / 1_000_000_000 * 1_000_000_000));
}

#[test]
fn ranges_become_blocks_in_formats_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let range = |file, offset, len| Request { file, offset, len, ..Request::default() };
    let requests = [range(0, 4095, 2), range(0, 8192, 4096), range(3, 0, 1)];
    let expected = [0, 1, 2, 3 << 40];
    for format in [Format::U64Le, Format::U64Be] {
        let path = folder.path().join(format!("a.{format}"));
        write(&path, format, &requests, RANGES).unwrap();
        let files: Vec<u64> = all(open(&path, &Options::default()).unwrap()).unwrap().iter().map(|r| r.file).collect();
        assert_eq!(files, expected);
    }
    let text = folder.path().join("a.txt");
    write(&text, Format::Plain, &requests, RANGES).unwrap();
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "0\n1\n2\n3298534883328\n");
    let error = write(&folder.path().join("a.u32"), Format::U32Le, &requests, RANGES).unwrap_err().to_string();
    assert!(error.contains("3298534883328 has more than 32 bits"), "{error}");
}

#[test]
fn a_name_appears_only_when_its_trace_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    for format in WRITTEN {
        let path = folder.path().join("trace");
        std::fs::write(&path, "what was there").unwrap();
        let mut writer = Writer::create(&path, format, RANGES).unwrap();
        writer.write(&some_requests(1)).unwrap();
        drop(writer);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there", "{format}");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "{format} leaves nothing");
        std::fs::remove_file(&path).unwrap();
    }
    let error = Writer::create(&folder.path().join("x"), Format::Msr, RANGES).err().unwrap().to_string();
    assert!(error.contains("msr can be read, not written"), "{error}");
}

/// The parts that a format does not hold are named, and no others: a trace without them comes back
/// as it was.
#[test]
fn the_parts_that_are_lost_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let lost = |format: Format, requests: &[Request], shape, about: &dyn Source| {
        let path = folder.path().join("x");
        let mut writer = Writer::create(&path, format, shape).unwrap();
        writer.write(requests).unwrap();
        let lost = writer.lost(about).join("; ");
        writer.finish(about).unwrap();
        let options = Options { format: Some(format), ..Options::default() };
        (lost, all(open(&path, &options).unwrap()).unwrap())
    };
    let told = Told(Memory::new(Vec::new(), RANGES));
    let plain = Memory::new(Vec::new(), RANGES);
    let requests: Vec<Request> = some_requests(40)
        .into_iter()
        .map(|it| Request { operation: Operation::Read, offset: it.offset + 1, ..it })
        .collect();
    assert_eq!(lost(Format::Parquet, &requests, RANGES, &told), (String::new(), requests.clone()));
    assert_eq!(lost(Format::Csv, &requests, RANGES, &plain), (String::new(), requests.clone()));
    let (of_csv, back) = lost(Format::Csv, &requests, RANGES, &told);
    assert_eq!(of_csv, "the sizes of 1 files; the names of 1 files; the call stacks of program contexts");
    assert_eq!(back, requests);
    let blocks = Shape::Ranges { block_bytes: 512 };
    assert_eq!(lost(Format::Csv, &requests, blocks, &plain).0, "the size of its blocks, 512 bytes");
    let common = "handlers; program contexts; where a request begins and ends within blocks; which file a block is of";
    assert_eq!(lost(Format::OracleGeneral, &requests, RANGES, &plain).0, common);
    let later: Vec<Request> = requests.iter().map(|it| Request { at: Instant(it.at.0 + 1), ..*it }).collect();
    assert_eq!(lost(Format::OracleGeneral, &later, RANGES, &plain).0, format!("the fractions of seconds; {common}"));
    for format in [Format::U64Le, Format::U64Be, Format::Plain, Format::Lirs] {
        assert_eq!(lost(format, &requests, RANGES, &plain).0, format!("the times of requests; {common}"), "{format}");
    }
    // Objects: a number, a size, a time in seconds.
    let object = |n: u64| Request { at: Instant(n * 1_000_000_000), file: n % 7, len: 9, ..Request::default() };
    let objects: Vec<Request> = (0..30).map(object).collect();
    let plain = Memory::new(Vec::new(), Shape::Objects);
    assert_eq!(lost(Format::OracleGeneral, &objects, Shape::Objects, &plain), (String::new(), objects.clone()));
    let all_lost = "the times of requests; the sizes of objects";
    assert_eq!(lost(Format::U32Le, &objects, Shape::Objects, &plain).0, all_lost);
    let bare: Vec<Request> = objects.iter().map(|it| Request { at: Instant(0), len: 1, ..*it }).collect();
    assert_eq!(lost(Format::U32Le, &bare, Shape::Objects, &plain), (String::new(), bare.clone()));
}
