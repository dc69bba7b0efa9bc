//! A small trace of every format, written out by hand, and its requests.

use std::path::Path;

use forebay_trace::{FileInfo, Format, Operation, Options, Request, Shape, Source, open_bytes};

/// A request: µs, file, offset, length, handler, `w` if written.
fn request(micros: u64, file: u64, offset: u64, len: u32, handler: u32, operation: char) -> Request {
    let operation = if operation == 'w' { Operation::Write } else { Operation::Read };
    Request { at: forebay_core::Instant(micros * 1000), file, offset, len, handler, context: 0, operation }
}

fn source(name: &str, content: &[u8], options: &Options) -> Box<dyn Source> {
    open_bytes(Path::new(name), content.to_vec(), options).unwrap()
}

fn read(name: &str, content: &[u8], options: &Options) -> Vec<Request> {
    let mut source = source(name, content, options);
    let mut requests = Vec::new();
    while source.read(&mut requests).unwrap() > 0 {}
    assert_eq!(source.read(&mut requests).unwrap(), 0, "the end is the end");
    requests
}

fn error(name: &str, content: &[u8], options: &Options) -> String {
    let mut source = match open_bytes(Path::new(name), content.to_vec(), options) {
        Ok(source) => source,
        Err(error) => return error.to_string(),
    };
    loop {
        match source.read(&mut Vec::new()) {
            Ok(0) => panic!("{name} is read without an error"),
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    }
}

fn of(format: Format) -> Options {
    Options { format: Some(format), ..Options::default() }
}

fn names(source: &dyn Source) -> Vec<(u64, String)> {
    source.files().into_iter().map(|FileInfo { file, name, .. }| (file, name.unwrap())).collect()
}

#[test]
fn lirs_skips_stars_and_empty_lines() {
    let block = |number: u64| request(0, 0, number * 4096, 4096, 0, 'r');
    assert_eq!(read("x", b"7\n*\n\n8\r\n 9 \n7\n", &Options::default()), [block(7), block(8), block(9), block(7)]);
    let error = error("x", b"7\n8\nnine\n", &of(Format::Lirs));
    assert_eq!(error, "x: record 3: `nine` is no block number");
}

#[test]
fn plain_text_takes_names() {
    let content = b"7\nindex.html\n18446744073709551615\nindex.html\n";
    let expected = [
        request(0, 0, 7 * 4096, 4096, 0, 'r'),
        request(0, 1, 0, 4096, 0, 'r'),
        request(0, 2, 0, 4096, 0, 'r'),
        request(0, 1, 0, 4096, 0, 'r'),
    ];
    assert_eq!(read("x", content, &Options::default()), expected);
    let mut source = source("x", content, &Options::default());
    source.read(&mut Vec::new()).unwrap();
    assert_eq!(names(&*source), [(1, "index.html".to_owned()), (2, "18446744073709551615".to_owned())]);
}

#[test]
fn lis_has_blocks_of_512_bytes() {
    let content = b"230027 8 0 0\n1842745 64 0 1\n5 0 0 2\n";
    let expected = [request(0, 0, 230_027 * 512, 4096, 0, 'r'), request(0, 0, 1_842_745 * 512, 32_768, 0, 'r')];
    assert_eq!(read("x", content, &Options::default()), expected);
    assert_eq!(source("x", content, &Options::default()).shape(), Shape::Ranges { block_bytes: 512 });
    assert!(error("x.lis", b"1 1 0 0\n1 1 0\n", &Options::default()).contains("record 2"));
    assert!(error("x.lis", b"1 99999999 0 0\n", &Options::default()).contains("number of blocks"));
}

fn vscsi(version: u8, command: u16, block: u64, len: u32, micros: u64) -> Vec<u8> {
    let command = command.to_le_bytes();
    let version_field = (u16::from(version) << 8).to_le_bytes();
    let (serial, segments) = (1u32.to_le_bytes(), 1u32.to_le_bytes());
    let (len, block, micros) = (len.to_le_bytes(), block.to_le_bytes(), micros.to_le_bytes());
    match version {
        1 => [&serial[..], &len, &segments, &command, &version_field, &block, &micros].concat(),
        _ => [&command[..], &version_field, &serial, &len, &segments, &block, &micros, &[9; 8]].concat(),
    }
}

#[test]
fn vscsi_of_both_versions() {
    for version in [1, 2] {
        let content = [
            vscsi(version, 0x28, 100, 8192, 1_000_000),
            vscsi(version, 0x2a, 8, 512, 1_000_250),
            vscsi(version, 0x00, 0, 0, 1_000_300), // TEST UNIT READY
            vscsi(version, 0x88, 1 << 33, 4096, 1_000_400),
        ]
        .concat();
        let expected = [
            request(0, 0, 51_200, 8192, 0, 'r'),
            request(250, 0, 4096, 512, 0, 'w'),
            request(400, 0, 1 << 42, 4096, 0, 'r'),
        ];
        assert_eq!(read("unnamed", &content, &Options::default()), expected, "version {version}");
        let cut = error("x", &content[..content.len() - 1], &of(Format::Vscsi));
        assert_eq!(cut, "x: record 4: the file ends within it");
    }
    let mixed: Vec<u8> = (0..9).flat_map(|_| vscsi(1, 0x28, 1, 512, 0)).chain(vscsi(2, 0x28, 1, 512, 0)).collect();
    assert!(error("x.vscsi", &mixed, &Options::default()).contains("record 10: it is not of version 1"));
}

#[test]
fn ids_of_either_order() {
    let ids = [1u64, 0x0102_0304, 7];
    let object = |id: &u64| request(0, *id, 0, 1, 0, 'r');
    let expected: Vec<Request> = ids.iter().map(object).collect();
    let bytes = |each: fn(u64) -> Vec<u8>| ids.iter().flat_map(|&id| each(id)).collect::<Vec<u8>>();
    for (format, content) in [
        (Format::U32Le, bytes(|id| (id as u32).to_le_bytes().to_vec())),
        (Format::U32Be, bytes(|id| (id as u32).to_be_bytes().to_vec())),
        (Format::U64Le, bytes(|id| id.to_le_bytes().to_vec())),
        (Format::U64Be, bytes(|id| id.to_be_bytes().to_vec())),
    ] {
        assert_eq!(read("x", &content, &of(format)), expected, "{format}");
        assert_eq!(read(&format!("x.{format}"), &content, &Options::default()), expected, "{format}");
        assert!(error("x", &content[1..], &of(format)).contains("record 3: the file ends within it"), "{format}");
    }
}

fn oracle(seconds: u32, object: u64, bytes: u32, next: i64) -> Vec<u8> {
    [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &bytes.to_le_bytes(), &next.to_le_bytes()].concat()
}

#[test]
fn oracle_general_by_name_or_content() {
    let records = [(1000, 5, 100, 3), (1000, 6, 0, -1), (1002, 5, 100, -1)];
    let content: Vec<u8> =
        records.iter().flat_map(|&(seconds, object, bytes, next)| oracle(seconds, object, bytes, next)).collect();
    let expected = [request(0, 5, 0, 100, 0, 'r'), request(2_000_000, 5, 0, 100, 0, 'r')];
    assert_eq!(read("a.oracleGeneral.bin", &content, &Options::default()), expected);
    assert_eq!(read("unnamed", &content, &Options::default()), expected);
    assert_eq!(source("unnamed", &content, &Options::default()).shape(), Shape::Objects);
    assert!(
        error("x.oracleGeneral", &content[..50], &Options::default()).contains("record 3: the file ends within it")
    );
}

#[test]
fn csv_by_header_by_order_and_as_told() {
    let objects = [request(0, 7, 0, 100, 0, 'r'), request(1_500_000, 8, 0, 50, 0, 'w')];
    let none = Options::default();
    assert_eq!(read("x", b"time, obj_id, obj_size, op\n10,7,100,get\n11.5,8,50,set\n", &none), objects);
    assert_eq!(read("x", b"10\t7\t100\tR\n11.5\t8\t50\tW\n", &none), objects);
    let told = Options {
        columns: "time-col=4,obj-id-col=1,obj-size-col=3,op-col=2,delimiter=;,time-unit=ms".parse().unwrap(),
        format: Some(Format::Csv),
        ..Options::default()
    };
    assert_eq!(read("x", b"7;read;100;10000\n8;write;50;11500\n", &told), objects);
    // Names for objects, one with the delimiter in it.
    let named = b"timestamp,key\n1,\"/a,b\"\n1,/c\n1,\"/a,b\"\n";
    let files: Vec<u64> = read("x.csv", named, &none).iter().map(|request| request.file).collect();
    assert_eq!(files, [0, 1, 0]);
    let mut source = source("x.csv", named, &none);
    source.read(&mut Vec::new()).unwrap();
    assert_eq!(names(&*source), [(0, "/a,b".to_owned()), (1, "/c".to_owned())]);
    // With offsets, ranges.
    let ranges =
        b"time_ns,file,offset,length,operation,handler,context\n5000,1,4096,512,write,3,9\n6000,1,0,0,read,3,9\n";
    let expected = [Request { context: 9, ..request(0, 1, 4096, 512, 3, 'w') }];
    assert_eq!(read("x", ranges, &none), expected);
}

#[test]
fn csv_that_makes_no_sense_says_where() {
    let csv = of(Format::Csv);
    assert!(error("x", b"1,7,100\n2,8\n", &csv).contains("record 2: it has no column 3 for the size"));
    let late = "1,7,100\n".repeat(100) + "2,eight,100\n";
    assert!(error("x", late.as_bytes(), &csv).contains("obj-id-is-num=false"));
    assert!(error("x", b"weight,colour\n1,2\n", &csv).contains("obj-id-col"));
    assert!(error("x", b"1,2,3,4,5\n", &csv).contains("5 columns and no header"));
    let said = Options { columns: "op-col=3".parse().unwrap(), ..csv };
    assert!(error("x", b"time,id,op\n1,2,look\n", &said).contains("record 2: column 3: `look` is no operation"));
}

#[test]
fn spc_units_are_files() {
    let content = b"0,20941264,8192,W,0.551706\n1,100,4096,r,0.554041,extra\n";
    let expected = [request(0, 0, 20_941_264 * 512, 8192, 0, 'w'), request(2335, 1, 51_200, 4096, 0, 'r')];
    assert_eq!(read("x", content, &Options::default()), expected);
    assert!(error("x.spc", b"0,1,512,X,0.5\n", &Options::default()).contains("record 1: `X` is no operation"));
}

#[test]
fn msr_disks_are_files_and_times_are_kept_in_order() {
    let content = b"128166372003061629,hm,1,Read,383496192,32768,413\n\
        128166372016382155,hm,0,Write,2822144,4096,1\n128166372010000000,hm,1,Read,0,512,1\n";
    let expected = [
        request(0, 0, 383_496_192, 32_768, 0, 'r'),
        Request { at: forebay_core::Instant(1_332_052_600), ..request(0, 1, 2_822_144, 4096, 0, 'w') },
        Request { at: forebay_core::Instant(1_332_052_600), ..request(0, 0, 0, 512, 0, 'r') },
    ];
    assert_eq!(read("x", content, &Options::default()), expected);
    let mut source = source("x", content, &Options::default());
    source.read(&mut Vec::new()).unwrap();
    assert_eq!(names(&*source), [(0, "hm.1".to_owned()), (1, "hm.0".to_owned())]);
}

const BLKPARSE: &[u8] = b"Input file sda.blktrace.0 added
  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  P   N [kjournald]
  8,0    3        3     0.000002197   697  Q   W 223490 + 8 [kjournald]
  8,0    1        4     0.000052197   700  Q  RA 1000 + 256 [cat]
  8,0    1        5     0.000060000   700  D  RA 1000 + 256 [cat]
  8,0    1        6     0.000062000     0  m   N cfq700 completed
  8,0    1        7     0.000070000   700  Q   D 5000 + 256 [fstrim]
  8,0    1        8     0.000080000   700  Q FWS [sync]
CPU1 (8,0):
 Reads Queued:           1,      128KiB\t Writes Queued:           1,        4KiB
";

#[test]
fn blkparse_counts_one_action() {
    let queued = [request(0, 0, 223_490 * 512, 4096, 697, 'w'), request(50, 0, 512_000, 131_072, 700, 'r')];
    assert_eq!(read("x", BLKPARSE, &Options::default()), queued);
    let issued = Options { action: Some('D'), ..Options::default() };
    assert_eq!(read("x", BLKPARSE, &issued), [request(0, 0, 512_000, 131_072, 700, 'r')]);
    let damaged =
        b"  8,0    3       11     0.009507758   697  Q   W 223490 + 8 [k]\n  8,0   3  12 0.01 697 Q W x + 8 [k]\n";
    assert!(error("x.blkparse", damaged, &Options::default()).contains("record 2: `x` is no sector"));
}

#[test]
fn fio_logs_of_both_versions() {
    let two = b"fio version 2 iolog\n/a add\n/a open\n/a write 0 4096\n/a wait 300 0\n/b read 8192 512\n/b sync 0 0\n/a close\n";
    assert_eq!(
        read("x", two, &Options::default()),
        [request(0, 0, 0, 4096, 0, 'w'), request(300, 1, 8192, 512, 0, 'r')]
    );
    let three = b"fio version 3 iolog\n23 /a add\n122 /a open\n126 /a read 12288 4096\n416 /a trim 0 4096\n564 /a write 0 512\n";
    assert_eq!(
        read("x", three, &Options::default()),
        [request(126, 0, 12_288, 4096, 0, 'r'), request(564, 0, 0, 512, 0, 'w')]
    );
    assert!(error("x", b"fio version 4 iolog\n", &of(Format::Fio)).contains("version 4"));
    assert!(error("x", b"fio version 3 iolog\n1 /a wait 5 0\n", &of(Format::Fio)).contains("record 2"));
}

#[test]
fn a_wrong_guess_says_that_it_was_one() {
    let mut content = b"1\n2\n3\n".repeat(100);
    content.extend_from_slice(b"four\n");
    let error = error("x", &content, &Options::default());
    assert!(error.starts_with("x: record 301: `four` is no block number"), "{error}");
    assert!(error.contains("taken for lirs by its content"), "{error}");
}

#[test]
fn a_line_without_end_is_an_error_and_not_a_gigabyte() {
    let content = vec![b'7'; 10 << 20];
    assert!(error("x", &content, &of(Format::Lirs)).contains("longer than any record can be"));
}

#[test]
fn ranges_beyond_all_files_are_refused() {
    for (format, content) in [
        (Format::Spc, &b"0,36028797018963967,4096,R,0\n"[..]),
        (Format::Fio, b"fio version 3 iolog\n1 /a read 18446744073709551615 1\n"),
        (Format::Lis, b"36028797018963967 1 0 0\n"),
        (Format::Lirs, b"4503599627370495\n"),
    ] {
        assert!(error("x", content, &of(format)).contains("record"), "{format}");
    }
}
