//! Tables, dictionaries and recordings, from the writers' half to the readers'; and files that
//! readers refuse.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use forebay_callers::{
    Call, Context, Dictionary, Error, FileName, Kind, LogFile, Recording, Subject, Table, TableWriter, Text,
    dictionary, now,
};

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn name(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

#[test]
fn a_context_is_seen_while_it_is_set_and_by_its_thread_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let table = Table::create(&path).unwrap();
    let writer = TableWriter::create(&name(&path)).unwrap();
    assert_eq!(table.get(7), None);
    writer.set(7, 0xfeed);
    assert_eq!(table.get(7), Some(0xfeed));
    // The same slot, but another id.
    assert_eq!(table.get(7 + 65_536), None);
    writer.set(7 + 65_536, 0xbeef);
    assert_eq!((table.get(7), table.get(7 + 65_536)), (None, Some(0xbeef)));
    writer.clear(7 + 65_536);
    assert_eq!((table.get(7), table.get(7 + 65_536)), (None, None));
    assert!(writer.names(5) && !writer.names(5) && writer.names(5 + 65_536) && writer.names(5));
}

#[test]
fn a_table_of_somebody_else_or_of_another_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("table"), folder.path().join("link"));
    Table::create(&path).unwrap();
    assert!(matches!(Table::open(&path, own() + 1), Err(Error::Owner { .. })));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(Table::open(&link, own()), Err(Error::System { .. })));
    assert!(TableWriter::create(&name(&link)).is_none());
    assert!(matches!(Table::open(folder.path(), own()), Err(Error::Form { .. })));
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(100).unwrap();
    assert!(matches!(Table::open(&path, own()), Err(Error::Form { .. })));
    // A reader that has it open sees nothing, and does not fault.
    let table = Table::create(&path).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(table.get(1), None);
}

#[test]
fn a_dictionary_is_read_as_it_grows_but_for_a_torn_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names");
    let mut read = Dictionary::open(&path, own()).unwrap();
    assert_eq!(read.contexts().count(), 0);
    let mut memory = [0; 200];
    let mut line = Text::new(&mut memory);
    line.bytes(b"2a\t");
    line.name(b"/a b\tc%@+\n");
    line.bytes(b"\tbeef\t@beef+1f ");
    line.name(b"/lib x");
    line.bytes(b"@s1-m2+0\n");
    dictionary::append(&name(&path), line.written());
    dictionary::append(&name(&path), b"nonsense\n0\t/a\tb\t\n2b\t/torn\tbee");
    assert_eq!(read.refresh().unwrap(), 1);
    let Context { program, frames, .. } = read.context(0x2a).unwrap();
    assert_eq!((program.path.as_str(), program.build.as_str()), ("/a b\tc%@+\n", "beef"));
    assert_eq!((frames[0].module.as_str(), frames[0].offset), ("", 0x1f));
    assert_eq!((frames[1].module.as_str(), frames[1].build.as_str()), ("/lib x", "s1-m2"));
    dictionary::append(&name(&path), b"f\t\n");
    assert_eq!(read.refresh().unwrap(), 1);
    assert_eq!(read.context(0x2b).unwrap().program.build, "beef");
    assert!(Dictionary::open(&path, own() + 1).is_err());
}

#[test]
fn calls_of_several_processes_come_by_time_with_files_made_one() {
    let folder = tempfile::tempdir().unwrap();
    let record = |pid: u32, number: u32, at: u64| {
        let (log, mut chunk) = LogFile::begin(folder.path().as_os_str().as_bytes(), pid, 1, b"/bin/x\tbeef").unwrap();
        let path = format!("/{}/file", "long".repeat(30));
        chunk.file(FileName { number, device: 1, inode: 2, size: 10, born: 3 });
        chunk.text(Subject::File, u64::from(number), path.as_bytes());
        chunk.text(Subject::Context, 9, b"9\t/bin/x\tbeef\t@beef+1\n");
        let call = |at, offset| Call {
            at,
            pid,
            tid: pid,
            context: 9,
            file: number as usize,
            offset,
            len: 4,
            kind: Kind::Read,
        };
        assert!(chunk.call(&call(at, 0)));
        // A second stretch, as another thread or a full one would have it.
        let mut second = log.chunk(chunk.bytes()).unwrap();
        assert!(second.call(&call(at + 10, 96)));
        chunk.unmap();
        second.unmap();
        path
    };
    let begin = now();
    let path = record(100, 5, begin);
    record(200, 1, begin + 5);
    let recording = Recording::open(folder.path()).unwrap();
    let order: Vec<_> =
        recording.calls().iter().map(|call| (call.at - begin, call.pid, call.file, call.offset)).collect();
    assert_eq!(order, [(0, 100, 0, 0), (5, 200, 0, 0), (10, 100, 0, 96), (15, 200, 0, 96)]);
    let [file] = recording.files() else { panic!("{:?}", recording.files()) };
    assert_eq!((file.path.to_str().unwrap(), file.dev, file.ino, file.size), (path.as_str(), 1, 2, 100));
    assert_eq!(recording.context(9).unwrap().frames[0].offset, 1);
    assert_eq!(recording.programs()[0].1.path, "/bin/x");
}

#[test]
fn a_full_stretch_says_so_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (log, mut chunk) = LogFile::begin(folder.path().as_os_str().as_bytes(), 1, 1, b"").unwrap();
    chunk.file(FileName { number: 0, ..FileName::default() });
    let mut written = 0;
    for at in 0..100_000 {
        let call = Call { at, pid: 1, tid: 1, context: 0, file: 0, offset: at, len: 1, kind: Kind::Pread };
        if !chunk.call(&call) {
            assert_eq!(chunk.left(), 0);
            let next = log.chunk(chunk.bytes()).unwrap();
            std::mem::replace(&mut chunk, next).unmap();
            assert!(chunk.call(&call));
        }
        written += 1;
    }
    chunk.unmap();
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.calls().len(), written);
    assert!(recording.calls().iter().enumerate().all(|(at, call)| call.offset == at as u64));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Any bytes in the files are an error or are read; readers never panic.
    #[test]
    fn readers_survive_any_bytes(bytes: Vec<u8>, magic: bool, small in proptest::collection::vec(0u8..70, 0..480)) {
        let folder = tempfile::tempdir().unwrap();
        let head = if magic { b"fbcalls1\x07\0\0\0\0\0\0\0".as_slice() } else { b"" };
        std::fs::write(folder.path().join("1.calls"), [head, &[0; 32], &small, &bytes].concat()).unwrap();
        let _ = Recording::open(folder.path());
        std::fs::write(folder.path().join("names"), &bytes).unwrap();
        Dictionary::open(&folder.path().join("names"), own()).unwrap();
    }
}
