//! Nothing panics on any bytes: arbitrary ones, real ones cut off, and real ones with a few bytes
//! changed, for every reader. An error names the file and, once it is open, the record.

use std::path::Path;
use std::sync::OnceLock;

use forebay_trace::{Error, Format, Memory, Options, Request, Shape, Writer, open_bytes};
use proptest::prelude::*;

/// Reads to the end or the first error; how many requests there were.
fn read(bytes: Vec<u8>, options: &Options) -> usize {
    let name = Path::new("damaged");
    let mut source = match open_bytes(name, bytes, options) {
        Ok(source) => source,
        Err(error) => {
            assert!(error.to_string().starts_with("damaged: "), "{error}");
            return 0;
        }
    };
    let mut requests: Vec<Request> = Vec::new();
    loop {
        match source.read(&mut requests) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                assert!(matches!(error, Error::Record { record: 1.., .. }), "{error:?}");
                // Asked again, it still does not panic.
                let _ = source.read(&mut requests);
                break;
            }
        }
    }
    assert!(requests.iter().all(|request| request.len > 0 && request.offset.checked_add(request.len.into()).is_some()));
    assert!(requests.is_sorted_by_key(|request| request.at) || options.format == Some(Format::Parquet));
    requests.len()
}

fn binary(each: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    (0..200).flat_map(each).collect()
}

/// A good content of every format.
fn good() -> &'static [(Format, Vec<u8>)] {
    static GOOD: OnceLock<Vec<(Format, Vec<u8>)>> = OnceLock::new();
    GOOD.get_or_init(|| Format::all().map(|format| (format, content(format))).collect())
}

fn content(format: Format) -> Vec<u8> {
    let lines = |line: &dyn Fn(u64) -> String| (0..200).map(|n| line(n) + "\n").collect::<String>().into_bytes();
    match format {
        Format::Lirs => lines(&|n| if n % 9 == 0 { "*".into() } else { (n * n).to_string() }),
        Format::Plain => lines(&|n| if n % 2 == 0 { format!("/file/{n}") } else { n.to_string() }),
        Format::Lis => lines(&|n| format!("{} {} 0 {n}", n * 64, n % 8 + 1)),
        Format::Vscsi => binary(|n| {
            let len = ((n as u32 + 1) * 512).to_le_bytes();
            [&[0; 4][..], &len, &[1, 0, 0, 0, 0x2a, 0, 0, 1], &(n * 8).to_le_bytes(), &(n * 100).to_le_bytes()].concat()
        }),
        Format::U32Le | Format::U32Be => binary(|n| (n as u32 * 7).to_le_bytes().to_vec()),
        Format::U64Le | Format::U64Be => binary(|n| (n << 33).to_le_bytes().to_vec()),
        Format::OracleGeneral => binary(|n| {
            [&(n as u32 / 10).to_le_bytes()[..], &(n % 9).to_le_bytes(), &[9, 0, 0, 0], &(-1i64).to_le_bytes()].concat()
        }),
        Format::Csv => {
            [b"time,object,size,op\n".to_vec(), lines(&|n| format!("{n}.5,{},{},get", n % 9, n + 1))].concat()
        }
        Format::Spc => lines(&|n| format!("{},{},4096,{},{n}.25", n % 3, n * 8, if n % 2 == 0 { 'r' } else { 'W' })),
        Format::Msr => {
            lines(&|n| format!("{},hm,{},Read,{},4096,9", 128_166_372_003_061_629 + n * 10, n % 2, n * 4096))
        }
        Format::Blkparse => lines(&|n| format!("  8,0    3  {n}     {n}.000000001   697  Q   W {} + 8 [k]", n * 8)),
        Format::Fio => {
            [b"fio version 3 iolog\n1 /a add\n".to_vec(), lines(&|n| format!("{n} /a read {} 512", n * 512))].concat()
        }
        Format::Strace | Format::Biosnoop | Format::Ftrace | Format::AccessLog | Format::S3Log | Format::Preset(_) => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format.name());
            std::fs::read(path).unwrap()
        }
        Format::Parquet => {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("good");
            let mut writer = Writer::create(&path, Format::Parquet, Shape::Objects).unwrap();
            let request = |n: u64| Request { file: n % 7, len: 5, ..Request::default() };
            writer.write(&(0..200).map(request).collect::<Vec<_>>()).unwrap();
            writer.finish(&Memory::new(Vec::new(), Shape::Objects)).unwrap();
            std::fs::read(&path).unwrap()
        }
    }
}

fn of(format: Format) -> Options {
    Options { format: Some(format), ..Options::default() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_good_contents_are_good() {
    for (format, content) in good() {
        let fixture = matches!(
            format,
            Format::Strace | Format::Biosnoop | Format::Ftrace | Format::AccessLog | Format::S3Log | Format::Preset(_)
        );
        let expected = match format {
            Format::Lirs => 177,
            _ if fixture => 24,
            _ => 200,
        };
        assert_eq!(read(content.clone(), &of(*format)), expected, "{format}");
        // None of them needs its name, save the bare ids, which nothing distinguishes; public
        // formats have a test of their own.
        if !fixture && !matches!(format, Format::U32Le | Format::U32Be | Format::U64Le | Format::U64Be) {
            assert_eq!(read(content.clone(), &Options::default()), expected, "{format}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(bytes.clone(), &Options::default());
        for format in Format::all() {
            read(bytes.clone(), &of(format));
        }
    }

    #[test]
    fn arbitrary_lines(text in "([0-9]{1,22}|[a-zA-Z*+.,\" \t-]|\n){0,120}") {
        read(text.clone().into_bytes(), &Options::default());
        for format in Format::all() {
            read(text.clone().into_bytes(), &of(format));
        }
    }

    #[test]
    fn good_contents_cut_off(share in 0.0..1.0f64, compressed in any::<bool>()) {
        for (format, content) in good() {
            let mut content = if compressed { gzip(content) } else { content.clone() };
            content.truncate((content.len() as f64 * share) as usize);
            read(content.clone(), &of(*format));
            read(content, &Options::default());
        }
    }

    #[test]
    fn good_contents_with_bytes_changed(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        compressed in any::<bool>(),
    ) {
        for (format, content) in good() {
            let mut content = if compressed { gzip(content) } else { content.clone() };
            for (at, byte) in &changes {
                let at = at.index(content.len());
                content[at] = *byte;
            }
            read(content.clone(), &of(*format));
            read(content, &Options::default());
        }
    }
}
