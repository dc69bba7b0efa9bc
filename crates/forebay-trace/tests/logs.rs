//! Logs as people have them: cut, damaged, with lines that are no requests. Whatever is not read is
//! named with its count.

use std::path::Path;

use forebay_trace::{Format, Options, Reading, Request, open_bytes};

struct Read {
    requests: Vec<Request>,
    reading: Reading,
}

impl Read {
    fn format(&self) -> &'static str {
        self.reading.format.expect("a file has a format").name()
    }

    fn left_out(&self) -> String {
        let left_out = self.reading.left_out.iter().map(|left| format!("{} × {}", left.lines, left.reason));
        left_out.collect::<Vec<_>>().join("; ")
    }

    fn doubts(&self) -> String {
        self.reading.doubts.join("; ")
    }

    fn sizes(&self) -> Vec<u32> {
        self.requests.iter().map(|request| request.len).collect()
    }
}

fn tried(content: &str, options: &Options) -> Result<Read, String> {
    let source = open_bytes(Path::new("trace"), content.as_bytes().to_vec(), options);
    let mut source = source.map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while source.read(&mut requests).map_err(|error| error.to_string())? > 0 {}
    Ok(Read { requests, reading: source.reading().expect("a reading") })
}

fn read(content: &str) -> Read {
    tried(content, &Options::default()).unwrap_or_else(|error| panic!("{content}: {error}"))
}

fn access(second: u32, rest: &str) -> String {
    format!("192.0.2.1 - - [10/Oct/2026:13:55:{second:02} +0200] {rest}\n")
}

#[test]
fn a_last_line_that_is_cut_is_left_out_and_named() {
    let read_of = |content: &str, format: &str, requests: usize| {
        let found = read(content);
        assert_eq!((found.format(), found.requests.len()), (format, requests), "{content}");
        found.left_out().contains("1 × last line, which is cut")
    };
    assert!(read_of("time,key,size\n1,a,100\n2,b", "csv", 1));
    assert!(read_of("0,8,8192,W,0.5\n0,16,40", "spc", 1));
    let log = access(1, "\"GET /a HTTP/1.1\" 200 5") + &access(2, "\"GET /b HTTP/1.1\" 200 7");
    assert!(read_of(&log[..log.len() - 9], "access-log", 1));
    // A line that is whole but for its end is one.
    assert!(!read_of("time,key,size\n1,a,100\n2,b,10", "csv", 2));
    assert!(!read_of("1\n2\n12", "lirs", 3));
    assert!(!read_of(&log, "access-log", 2));
    assert!(!read_of(log.trim_end(), "access-log", 2));
}

#[test]
fn a_damaged_line_does_not_hide_what_the_others_are() {
    let lines = |one: &str, damaged: &str| format!("{one}{damaged}{one}{one}");
    let good = access(1, "\"GET /a HTTP/1.1\" 200 5");
    for (content, format, reason) in [
        (lines(&good, "-- rotated --\n"), "access-log", "record 2: "),
        (lines("0,8,8192,W,0.5\n", "0,8,x,W,0.5\n"), "spc", "record 2: `x` is no size"),
        (lines("1,R,0,8192,1577808144360767\n", "1,R,0\n"), "alibaba-block", "record 2: "),
        (lines("0,app:a,3,97,5,get,0\n", "0,app:a\n"), "twitter", "record 2: "),
    ] {
        let text = tried(&content, &Options::default()).err().expect("a line is damaged");
        assert!(text.contains(reason) && text.contains(&format!("taken for {format}")), "{text}");
        assert!(!text.contains("fits no format") && !text.contains("oracle-general"), "{text}");
    }
}

#[test]
fn logs_say_what_of_them_is_no_request() {
    let blkparse = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [a]
  8,0    3        2     0.000001829   697  P   N [a]
  8,0    1        3     0.000062000     0  m   N cfq700 completed
  8,0    1        4     0.000070000   700  Q   D 5000 + 256 [fstrim]
  8,0    1        5     0.000080000   700  Q  FN [sync]
  8,0    1        6     0.000080000   700  Q FWS [sync]
";
    let found = read(blkparse);
    assert_eq!(found.requests.len(), 1);
    let named = "1 × action `P`; 1 × action `m`; 1 × kind `D`; 1 × kind `FN`; 1 × kind `FWS`";
    assert_eq!(found.left_out(), named);
    let found = tried(blkparse, &Options { action: Some('X'), ..Options::default() }).unwrap();
    assert_eq!((found.requests.len(), found.doubts().as_str()), (0, "nothing in it is a request"));
    assert!(found.left_out().contains("4 × action `Q`"), "{}", found.left_out());

    let found = read(
        "Tracing block I/O... Hit Ctrl-C to end.\nTIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
        0.5 dd 700 vda R 8 512 0.1\n0.6 dd 700 vda D 8 512 0.1\n0.7 dd 700 vda W 8 0 0.1\n",
    );
    assert_eq!((found.format(), found.requests.len()), ("biosnoop", 1));
    assert_eq!(found.left_out(), "1 × kind `D`; 1 × of no bytes");

    let found = read("fio version 3 iolog\n1 /a add\n2 /a read 0 512\n3 /a trim 0 512\n4 /a sync 0 0\n5 /a read 0 0\n");
    assert_eq!(found.left_out(), "1 × action `sync`; 1 × action `trim`; 1 × of no bytes");
    assert_eq!(read("0,8,8192,W,0.5\n0,8,0,W,0.5\n").left_out(), "1 × of no bytes");
    assert_eq!(
        read("128166372003061629,hm,1,Read,3,0,4\n128166372003061629,hm,1,Read,3,5,4\n").left_out(),
        "1 × of no bytes"
    );
    assert_eq!(read("1 0 0 0\n2 4 0 1\n").left_out(), "1 × of no bytes");
}

#[test]
fn strace_leaves_out_failures_and_what_no_disk_is_behind() {
    let found = read(
        "openat(AT_FDCWD, \"/data/a\", O_RDONLY) = 3
openat(AT_FDCWD, \"/proc/self/maps\", O_RDONLY) = 4
openat(AT_FDCWD, \"/dev/urandom\", O_RDONLY) = 5
openat(AT_FDCWD, \"/dev/sda\", O_RDONLY) = 6
openat(AT_FDCWD, \"/none\", O_RDONLY) = -1 ENOENT (No such file or directory)
read(3, \"\", 512) = 512
read(3, 0x7ffe, 512) = -1 EIO (Input/output error)
read(3, \"\", 512) = 0
read(4, \"\", 512) = 512
read(5, \"\", 16) = 16
read(6, \"\", 512) = 512
mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000000000
mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000
",
    );
    assert_eq!(found.requests.len(), 2, "{:?}", found.requests);
    for expected in [
        "1 × failed call `openat`",
        "1 × failed call `read`",
        "2 × file of /dev, /proc or /sys: `read`",
        "1 × of no bytes",
        "1 × file that is mapped: reads by memory are not in the log",
    ] {
        assert!(found.left_out().contains(expected), "{}", found.left_out());
    }
}

#[test]
fn parts_of_objects_are_doubted_unless_the_log_has_the_size() {
    let found = read(&(access(1, "\"GET /a HTTP/1.1\" 206 5") + &access(2, "\"GET /a HTTP/1.1\" 200 700")));
    assert_eq!(found.sizes(), [5, 700]);
    assert!(found.doubts().contains("1 answers of status 206 are parts of objects"), "{}", found.doubts());
    let s3 = |status: u32, size: &str| {
        format!(
            "79a5 b [10/Oct/2026:13:55:00 +0200] 192.0.2.0 r ID REST.GET.OBJECT k \"GET /k HTTP/1.1\" {status} - 100 {size} 7 1\n"
        )
    };
    let found = read(&(s3(206, "900") + &s3(200, "900")));
    assert_eq!((found.sizes(), found.doubts().as_str()), (vec![900, 900], ""));
    let found = read(&s3(206, "-"));
    assert_eq!(found.sizes(), [100]);
    assert!(found.doubts().contains("parts of objects"), "{}", found.doubts());
}

#[test]
fn a_log_of_several_servers_names_them() {
    let line = |host: &str| format!("{host} {}", access(1, "\"GET /a HTTP/1.1\" 200 5 \"-\" \"curl/8.0\""));
    let found = read(&(line("one:443") + &line("two:443") + &line("one:443")));
    let files: Vec<u64> = found.requests.iter().map(|request| request.file).collect();
    assert_eq!((found.format(), files), ("access-log", vec![0, 1, 0]));
    assert!(found.requests.iter().all(|request| request.handler == 0));
}

#[test]
fn headers_of_wikimedia_are_told() {
    let upload = "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n0\t-8\tjpeg\t100\t0.1\n";
    assert_eq!((read(upload).format(), read(upload).sizes()), ("wikimedia-upload", vec![100]));
    let text = "relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n0\t-8\t100\t0.1\n";
    assert_eq!((read(text).format(), read(text).sizes()), ("wikimedia-text", vec![100]));
    let bare = Options { format: Some("wikimedia-text".parse::<Format>().unwrap()), ..Options::default() };
    assert_eq!(tried("0\t-8\t100\t0.1\n", &bare).unwrap().requests.len(), 1);
}

#[test]
fn strace_counts_from_the_line_before_or_over_midnight() {
    let log = |times: [&str; 4]| {
        let [open, one, two, three] = times;
        let call = "read(3, \"\"..., 4096) = 4096";
        format!("{open} openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n{one} {call}\n{two} {call}\n{three} {call}\n")
    };
    let times = |content: &str| -> Vec<u64> { read(content).requests.iter().map(|request| request.at.0).collect() };
    assert_eq!(times(&log(["0.000000", "0.000100", "1.000100", "0.500000"])), [0, 1_000_100_000, 1_500_100_000]);
    assert_eq!(
        times(&log(["23:59:59.0", "23:59:59.500000", "00:00:00.500000", "00:00:05.500000"])),
        [0, 1_000_000_000, 6_000_000_000]
    );
}

#[test]
fn trace_cmd_tells_of_processors_that_no_line_is_of() {
    let event = "  fio-700 [001] 12.5: block_rq_issue: 8,0 R 4096 () 2048 + 8 [fio]\n";
    let notes = "CPU 2 is empty\nCPU:1 [EVENTS DROPPED]\nCPU:1 [131 EVENTS DROPPED]\nCPU:3 [LOST 12 EVENTS]\n";
    let found = read(&format!("{notes}{event}{notes}{event}"));
    assert_eq!((found.format(), found.requests.len()), ("ftrace", 2));
}
