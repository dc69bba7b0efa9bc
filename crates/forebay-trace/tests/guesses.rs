//! Traces that a rule for their shape alone would misread: they are refused, asked about, or read
//! with a doubt, but never silently taken for something else.

use std::path::Path;

use forebay_trace::{Operation, Options, Reading, Request, Shape, open_bytes};

struct Read {
    requests: Vec<Request>,
    shape: Shape,
    reading: Reading,
}

impl Read {
    fn format(&self) -> &'static str {
        self.reading.format.expect("a file has a format").name()
    }

    fn doubts(&self) -> String {
        self.reading.doubts.join("; ")
    }

    /// The lines that are no requests, each reason with its count.
    fn left_out(&self) -> Vec<String> {
        self.reading.left_out.iter().map(|left| format!("{} × {}", left.lines, left.reason)).collect()
    }

    fn files(&self) -> Vec<u64> {
        self.requests.iter().map(|request| request.file).collect()
    }

    fn writes(&self) -> usize {
        self.requests.iter().filter(|request| request.operation == Operation::Write).count()
    }
}

fn options(format: &str, columns: &str) -> Options {
    let format = (!format.is_empty()).then(|| format.parse().expect("a format"));
    Options { format, columns: columns.parse().expect("columns"), ..Options::default() }
}

fn tried(content: &[u8], options: &Options) -> Result<Read, String> {
    let mut source = open_bytes(Path::new("trace"), content.to_vec(), options).map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while source.read(&mut requests).map_err(|error| error.to_string())? > 0 {}
    Ok(Read { requests, shape: source.shape(), reading: source.reading().expect("a reading") })
}

/// The reading of a content without options.
fn guess(content: &str) -> Result<Read, String> {
    tried(content.as_bytes(), &Options::default())
}

fn read(content: &str) -> Read {
    told(content, "", "")
}

fn told(content: &str, format: &str, columns: &str) -> Read {
    tried(content.as_bytes(), &options(format, columns)).unwrap_or_else(|error| panic!("{content}: {error}"))
}

fn refusal(content: &str) -> String {
    match tried(content.as_bytes(), &Options::default()) {
        Ok(read) => panic!("{content} is read as {}", read.format()),
        Err(error) => error,
    }
}

fn wrong(content: &str, format: &str, columns: &str) -> String {
    tried(content.as_bytes(), &options(format, columns)).err().expect("it is refused")
}

#[test]
fn words_of_operations_are_no_objects() {
    for content in [
        "0,read,4096,8192\n1,write,8192,8192\n",
        "0,R,100,8\n1,W,200,8\n",
        "0\tR\t100\t8\n1\tR\t200\t8\n",
        "0;GET;100\n1;PUT;200\n",
    ] {
        let text = refusal(content);
        assert!(text.contains("column 2 would be the object, but has only words of operations"), "{text}");
    }
    // With blanks, neither webcachesim's nor IBM's, whose words are its own.
    assert!(refusal("1 read 8192 8192\n2 write 4096 8192\n").contains("fit no format"));
    // An object may be called so.
    assert_eq!(read("0,read,100,get\n1,a,100,get\n").shape, Shape::Objects);
}

#[test]
fn a_format_alone_names_no_columns() {
    for (content, format) in
        [("0,read,4096,8192\n", "csv"), ("1 read 8192 8192\n", "webcachesim"), ("1,R,8192,9\n", "libcachesim")]
    {
        assert!(wrong(content, format, "").contains("has only words of operations"), "{format}");
    }
    let codes = told("1,100,8,0\n2,200,8,1\n", "csv", "");
    assert!(codes.doubts().contains("every line counts as a read"), "{}", codes.doubts());
    // The reason of the likely format is told, not the names of all.
    let text = refusal("1577808144360 5 100\n1577808144361 6 100\n");
    assert!(text.contains("as webcachesim: line 1: column 1: `1577808144360` is no time"), "{text}");
    assert!(!text.contains("oracle-general"), "{text}");
    assert_eq!(read("time key size\n1 a 100\n").requests[0].len, 100);
}

#[test]
fn a_column_of_codes_is_not_passed_over() {
    for content in ["1,100,8,0\n2,200,8,1\n", "1,100,8,0\n2,200,8,0\n", "1,100,8,1\n2,200,8,2\n3,100,8,1\n"] {
        let found = read(content);
        assert_eq!(found.format(), "csv");
        assert!(found.doubts().contains("every line counts as a read"), "{}", found.doubts());
    }
    for content in ["1 100 8 0\n2 200 8 1\n3 100 8 0\n", "1,100,8,3\n2,200,8,4\n", "1 100 8 R\n2 200 8 W\n"] {
        let found = read(content);
        let doubts = found.doubts();
        assert!(doubts.contains("column 4 is not read, but may be that of the operation"), "{doubts}");
    }
    // Next requests lie ahead, each of one line only.
    let found = read("1,100,8,20\n2,200,8,30\n3,100,8,-1\n");
    assert_eq!((found.format(), found.doubts().as_str()), ("libcachesim", ""));
    let found = read("1,0,4096,700\n2,1,8192,800\n");
    assert!(found.doubts().contains("column 2 is taken for the object, but is 0 or 1"), "{}", found.doubts());
}

#[test]
fn ranges_that_look_like_objects_are_doubted() {
    for content in ["0.5,4096,8192,R\n1,65536,4096,W\n", "1 4096 8192\n2 65536 4096\n"] {
        let found = read(content);
        assert!(found.doubts().contains("if they are offset and length"), "{}", found.doubts());
    }
    assert!(!read("1 4097 8192\n2 65536 4096\n").doubts().contains("offset"));
    let found = read("9,1,100\n3,2,100\n8,3,100\n2,4,100\n");
    assert!(found.doubts().contains("times in column 1 go back 2 times"), "{}", found.doubts());
}

#[test]
fn times_of_traces_with_dates_are_dates() {
    assert!(refusal("0.5,R,4096,8192,1\n1.5,W,0,8192,1\n").contains("5 columns and no header"));
    assert!(refusal("0,R,4096,8192,1\n1,W,0,8192,1\n").contains("5 columns and no header"));
    let alibaba = "3,R,4096,8192,1577808144360767\n4,W,0,8192,1577808144360768\n";
    assert_eq!(read(alibaba).format(), "alibaba-block");
    // Of the Storage Performance Council, or time, offset, size, operation, disk.
    assert_eq!(read("0,8,8192,W,0.5\n0,16,4096,R,0.6\n").format(), "spc");
    assert!(refusal("1,4096,8192,R,5\n2,8192,4096,W,5\n").contains("5 columns and no header"));
}

#[test]
fn another_delimiter_or_a_header_makes_no_other_trace() {
    let text = refusal("1538323200 12910952 128 0 1063\n1538323201 12910953 128 1 1064\n");
    assert!(text.contains("--format webcachesim or --format tencent-block"), "{text}");
    let lines = "1538323200,12910952,128,0,1063\n1538323201,8,16,1,1064\n";
    let header = format!("Timestamp,Offset,Size,IOType,VolumeID\n{lines}");
    let copies = [lines.to_owned(), lines.replace(',', "\t"), lines.replace(',', ";"), header];
    for content in copies {
        let found = read(&content);
        assert_eq!(found.format(), "tencent-block", "{content}");
        assert_eq!((found.requests[0].offset, found.requests[0].len), (12_910_952 * 512, 65_536));
        assert_eq!((found.requests.len(), found.writes(), found.files()), (2, 1, vec![1063, 1064]));
    }
    let blanks = told(&lines.replace(',', " "), "tencent-block", "");
    assert_eq!(blanks.requests[0].len, 65_536);
    // A header in another order is not Tencent's.
    let text = "Timestamp,VolumeID,IOType,Offset,Size\n1538323200,5,0,4096,512\n";
    assert_eq!(read(text).format(), "csv");
    let alibaba = "device_id,opcode,offset,length,timestamp\n3,R,4096,8192,1577808144360767\n";
    assert_eq!(read(alibaba).format(), "alibaba-block");
}

#[test]
fn the_order_of_lines_decides_nothing() {
    let found = read("time,key,size,op\n1,a,100,HEAD\n2,b,100,GET\n3,a,100,PUT\n");
    assert_eq!((found.requests.len(), found.writes()), (2, 1));
    assert_eq!(found.left_out(), ["1 × operation `HEAD`"]);
    for content in ["2,F,0,8\n3,R,5,8\n4,W,5,8\n", "3,R,5,8\n4,W,5,8\n2,F,0,8\n"] {
        let found = told(content, "", "time-col=1,op-col=2,offset-col=3,obj-size-col=4");
        assert_eq!((found.requests.len(), found.left_out()), (2, vec!["1 × operation `F`".to_owned()]));
    }
    for content in ["1,7,100\n2,apple,100\n3,7,100\n", "1,apple,100\n2,7,100\n3,apple,100\n"] {
        assert_eq!(read(content).files(), [0, 1, 0]);
    }
}

#[test]
fn zeros_before_a_number_make_it_a_name() {
    assert_eq!(read("1,0012,100\n2,12,100\n3,0012,100\n").files(), [0, 1, 0]);
    let found = read("0012\n12\n0012\n");
    assert_eq!(found.format(), "plain");
    assert!(found.requests[0].file != found.requests[1].file, "{:?}", found.requests);
    // Found too late, it is an error, unless it was said that they are numbers.
    let late = format!("{}1,0012,100\n", "1,12,100\n".repeat(100));
    assert!(wrong(&late, "csv", "").contains("record 101: column 2: `0012` is no number"), "{late}");
    assert_eq!(told(&late, "csv", "obj-id-is-num=1").files()[100], 12);
}

#[test]
fn what_the_user_says_comes_before_a_preset() {
    let alibaba = "3,R,4096,8192,1577808144360767\n4,W,0,8192,1577808144360768\n";
    let found = told(alibaba, "alibaba", "ignored=W");
    assert_eq!((found.requests.len(), found.left_out()), (1, vec!["1 × operation `W`".to_owned()]));
    // Words alone add to the preset that the content tells.
    let twitter = "0,app:a,3,97,5,get,0\n1,app:b,3,97,5,gat,0\n2,app:a,3,97,5,add,0\n";
    let found = told(twitter, "", "ignored=add");
    assert_eq!((found.format(), found.requests.len(), found.requests[0].len), ("twitter", 1, 100));
    assert_eq!(told(twitter, "", "reads=gat,time-unit=ms").requests[1].at.0, 1_000_000);
    // One column of keys is no table until it is said to be one.
    assert_eq!(told("1\n2\n1\n", "", "obj-id-is-num=0").format(), "csv");
}

#[test]
fn columns_are_known_by_many_names_and_their_units() {
    for (header, line, len) in [
        ("timestamp_ms,uri,size_bytes", "1500,a,700", 700),
        ("ts_ns,item,response_bytes", "1500000000,a,700", 700),
        ("unix_time,video_id,bytes_sent", "1.5,a,700", 700),
        ("t,page_id,content_length", "1.5,a,700", 700),
        ("Date,url,size_kb", "2026-11-28T10:00:01.5Z,a,3", 3072),
        ("time (ms),key,size_b", "1500,a,700", 700),
    ] {
        let first = if line.starts_with("2026") { "2026-11-28T10:00:00Z,b,1" } else { "0,b,1" };
        let found = read(&format!("{header}\n{first}\n{line}\n"));
        assert_eq!((found.requests[1].len, found.requests[1].at.0), (len, 1_500_000_000), "{header}");
        assert!(found.shape == Shape::Objects && !found.reading.without_sizes, "{header}");
    }
    let found = read("time,size_kb,key\n1,3,a\n");
    assert!(found.doubts().contains("`size_kb` is taken for units of 1024 bytes"), "{}", found.doubts());
    for header in ["time,lba,sectors,op", "time,sector,size_sectors,op"] {
        let found = read(&format!("{header}\n1,100,8,R\n2,108,8,W\n"));
        assert_eq!((found.requests[1].offset, found.requests[1].len), (108 * 512, 4096), "{header}");
        assert!(found.doubts().contains("units of 512 bytes"), "{}", found.doubts());
    }
    let found = read("time,lba,size,op\n1,100,8,R\n2,0x6c,8,W\n");
    assert_eq!((found.requests[1].offset, found.requests[1].len), (108 * 512, 8));
    assert!(found.doubts().contains("sizes are below 512: if they are sectors"), "{}", found.doubts());
}

#[test]
fn without_sizes_every_object_is_one_byte_and_that_is_said() {
    for found in [read("time,key\n1,a\n2,b\n"), told("1 a 500\n2 b 700\n", "", "obj-id-col=2")] {
        assert!(found.reading.without_sizes && found.requests.iter().all(|request| request.len == 1));
        assert!(found.doubts().contains("no column of sizes: each object counts as one byte"), "{}", found.doubts());
    }
    assert!(told("1234", "u32", "").reading.without_sizes);
}

#[test]
fn requests_of_no_bytes_are_left_out_of_every_format() {
    for (content, format) in [
        ("time,key,size\n1,a,0\n2,b,5\n", "csv"),
        ("time,file,offset,size\n1,a,0,0\n2,b,0,5\n", "csv"),
        ("1 7 0\n2 8 5\n", "webcachesim"),
    ] {
        let found = told(content, format, "");
        assert_eq!((found.requests.len(), found.left_out()), (1, vec!["1 × of no bytes".to_owned()]), "{content}");
    }
    let record = |bytes: u8| [&[0; 12][..], &[bytes, 0, 0, 0], &[0xff; 8]].concat();
    let found = tried(&[record(0), record(5)].concat(), &options("oracle-general", "")).unwrap();
    assert_eq!((found.requests.len(), found.left_out()), (1, vec!["1 × of no bytes".to_owned()]));
}

#[test]
fn contradictions_are_refused() {
    for (columns, expected) in [
        ("reads=1,writes=1", "the operation `1` is said to be two of reads, writes and ignored"),
        ("reads=get,ignored=GET", "`GET` is said to be two"),
        ("time-col=1,time-col=2", "`time-col` is said twice"),
        ("obj-id-col=1,file-col=2", "`obj-id-col` is said twice"),
    ] {
        let text = columns.parse::<forebay_trace::Columns>().unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    assert!(wrong("1,2,3\n", "", "time-col=1,obj-id-col=1").contains("column 1 is said to be two things"));
    assert!(wrong("time,id\n1,2\n", "", "time-col=time,obj-id-col=1").contains("column 1 is said to be two things"));
}

#[test]
fn deletes_are_no_requests() {
    let twitter = "0,a,3,97,5,get,0\n1,a,3,97,5,delete,0\n";
    let meta = "key,op,size,op_count,key_size\n9,GET,83,1,17\n9,DELETE,0,3,17\n";
    let csv = "time,key,size,op\n0,a,100,get\n1,a,100,DELETE\n";
    let ibm = "0 REST.GET.OBJECT 8d4f 100 0 99\n5 REST.DELETE.OBJECT 8d4f\n";
    for (content, format, word) in [
        (twitter, "twitter", "delete"),
        (meta, "meta-kv-2022", "DELETE"),
        (csv, "csv", "DELETE"),
        (ibm, "ibm-object", ""),
    ] {
        let found = read(content);
        assert_eq!((found.format(), found.requests.len(), found.requests[0].len), (format, 1, 100));
        let left_out = found.left_out().join("; ");
        assert!(left_out.starts_with("1 × operation") && left_out.contains(word), "{left_out}");
        assert_eq!(found.doubts().contains("`op_count` is not read"), format == "meta-kv-2022");
    }
}

#[test]
fn times_that_are_none_say_the_remedy() {
    for (time, unit) in [("1577808144360", "ms"), ("1577808144360767", "us"), ("1577808144360767123", "ns")] {
        let text = refusal(&format!("time,key,size\n{time},a,100\n"));
        assert!(text.contains(&format!("in which unit is it? say so, as in --columns time-unit={unit}")), "{text}");
        assert_eq!(told(&format!("time,key,size\n{time},a,100\n"), "", &format!("time-unit={unit}")).requests.len(), 1);
    }
    for time in ["1.6e9", "2/03/2016 10:00:00"] {
        let text = wrong(&format!("time,key,size\n{time},a,100\n"), "csv", "");
        assert!(text.contains("numbers without an exponent") && text.contains("time-col=none"), "{text}");
    }
}

/// DiskSim's five columns are separated by blanks and have no header.
#[test]
fn five_columns_with_a_header_or_commas_are_not_disksims() {
    for content in [
        "time,key,size,ttl,op\n1,7,200,60,0\n2,8,300,60,1\n",
        "timestamp,obj_id,obj_size,ttl,op\n1,7,200,60,0\n2,8,300,60,1\n",
        "time key size ttl op\n1 7 200 60 0\n2 8 300 60 1\n",
    ] {
        assert_eq!(read(content).format(), "csv", "{content}");
    }
    assert!(guess("1700000000,1,71334,17,1\n1700000001,1,71336,17,1\n").is_err());
    assert_eq!(read("0.0 0 1000 8 1\n5.5 0 2000 8 0\n").format(), "disksim");
}

#[test]
fn columns_with_other_delimiters_are_no_plain_keys() {
    for delimiter in [";", "|"] {
        let lines = "1,R,4096,512,99\n2,W,8192,512,3\n".replace(',', delimiter);
        assert!(guess(&lines).is_err(), "{lines}");
    }
    assert_eq!(read("user:1\nuser:2\n").format(), "plain");
}

#[test]
fn an_unread_column_of_operations_is_a_doubt_with_a_header_too() {
    let doubts = |content: &str| read(content).reading.doubts.join("; ");
    assert!(doubts("time,id,size,request\n1,a,10,GET\n2,b,20,PUT\n").contains("column 4 is not read"));
    assert_eq!(doubts("time,id,size,hit\n1,a,10,1\n2,b,20,0\n"), "");
    assert_eq!(doubts("timestamp,sector,nr_sectors,rwbs\n1,8,8,R\n2,16,8,WS\n").find("not read"), None);
}

#[test]
fn formats_by_columns_are_not_guessed_from_headers_or_strict_times() {
    assert_eq!(read("id,offset,size,type,time\n1,4096,4096,R,1\n1,8192,4096,W,2\n").format(), "csv");
    assert_eq!(read("0,hm,1,Read,383496192,32768,413\n9,hm,1,Write,0,4096,5\n").format(), "msr");
    let spc = "0,8,8192,W,0.5\n0,16,8192,R,0.6\n0,24,8192,R,0.55\n0,32,8192,R,0.7\n0,40,8192,R,0.8\n";
    assert_eq!(read(spc).format(), "spc");
    let long = "x".repeat(40_000);
    assert_ne!(guess(&long).map(|found| found.format()).unwrap_or_default(), "fio");
}
