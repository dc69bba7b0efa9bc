//! Logs as the preload library would write them, made by hand.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use forebay_callers::{Chunk, FileName, LogFile, Subject};

use super::*;
use crate::options::{Command, parse};

/// A folder with files, and a folder to record into.
struct Scene {
    files: tempfile::TempDir,
    logs: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let files = tempfile::tempdir().unwrap();
        for (name, bytes) in [("in/a", 10_000), ("in/b", 300_000), ("out", 5)] {
            let path = files.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![0; bytes]).unwrap();
        }
        std::os::unix::fs::symlink(files.path().join("in"), files.path().join("link")).unwrap();
        Scene { files, logs: tempfile::tempdir().unwrap() }
    }

    fn log(&self, pid: u32) -> Chunk {
        let (_, chunk) = LogFile::begin(self.logs.path().as_os_str().as_bytes(), pid, 1, b"/bin/p\tb1").unwrap();
        chunk
    }

    fn name(&self, chunk: &mut Chunk, number: u32, name: &str) {
        let path = if name.starts_with('/') { PathBuf::from(name) } else { self.files.path().join(name) };
        let size = std::fs::metadata(&path).map_or(0, |about| about.len());
        let inode = std::fs::metadata(&path).map_or(u64::from(number) + 1_000_000_000, |about| about.ino());
        assert!(chunk.file(FileName { number, device: 1, inode, size, born: 0 }));
        assert!(chunk.text(Subject::File, number.into(), path.as_os_str().as_bytes()));
    }

    /// The trace of the logged calls: requests, and the facts besides them.
    fn trace(&self, options: &[&str]) -> (Vec<Request>, Told, Recorded) {
        let args =
            ["forebay", "--config", "/dev/null", "record", "-o", "t.parquet"].iter().chain(options).chain(&["p", "-x"]);
        let Command::Record(options) = parse(args.map(Into::into)).unwrap().command else { unreachable!() };
        let folders = Folders::new(&options.only).unwrap();
        let recording = Recording::open(self.logs.path()).unwrap();
        let mut conversion = Conversion::new(&recording, &folders, self.logs.path(), &options, "made".into());
        let mut requests = Vec::new();
        let mut batch = Vec::new();
        while conversion.next(&mut batch) {
            requests.append(&mut batch);
        }
        (requests, conversion.told(), conversion.recorded())
    }
}

fn call(at: u64, tid: u32, context: u64, file: usize, kind: Kind, offset: u64, len: u64) -> Call {
    Call { at, pid: 0, tid, context, file, offset, len, kind }
}

/// The main fields of requests: time, file, range, handler, context.
fn short(requests: &[Request]) -> Vec<(u64, u64, u64, u32, u32, u32)> {
    requests.iter().map(|r| (r.at.0, r.file, r.offset, r.len, r.handler, r.context)).collect()
}

#[test]
fn things_are_numbered_in_order_of_first_appearance_across_processes() {
    let scene = Scene::new();
    let (mut one, mut two) = (scene.log(50), scene.log(60));
    scene.name(&mut one, 9, "in/a");
    scene.name(&mut one, 2, "in/b");
    scene.name(&mut two, 9, "in/b");
    assert!(one.text(Subject::Context, 77, b"4d\t/bin/p\tb1\t@b1+1a /lib/libc.so.6@c+ff"));
    for each in [
        call(1000, 50, 77, 2, Kind::Read, 0, 4096),
        call(1500, 50, 0, 9, Kind::Open, 0, 0),
        call(2000, 51, 88, 9, Kind::Pread, 8192, 1808),
        call(2500, 50, 77, 2, Kind::Read, 300_000, 0),
        call(4000, 50, 0, 9, Kind::Write, 0, 3),
    ] {
        assert!(one.call(&each));
    }
    // The same thread number in another process is another thread.
    assert!(two.call(&call(3000, 51, 77, 9, Kind::Stdio, 4096, 4096)));
    let (requests, told, recorded) = scene.trace(&[]);
    assert_eq!(
        short(&requests),
        [(0, 0, 0, 4096, 1, 1), (1000, 1, 8192, 1808, 2, 2), (2000, 0, 4096, 4096, 3, 1), (3000, 1, 0, 3, 1, 0)]
    );
    assert_eq!(requests[3].operation, Operation::Write);
    let path = |name: &str| Some(scene.files.path().join(name).display().to_string());
    let files: Vec<_> = told.files().into_iter().map(|file| (file.file, file.name, file.bytes)).collect();
    assert_eq!(files, [(0, path("in/b"), Some(300_000)), (1, path("in/a"), Some(10_000))]);
    let contexts = told.contexts();
    assert_eq!((contexts[0].context, contexts[0].id, contexts[0].program.as_str()), (1, 77, "/bin/p"));
    assert_eq!(contexts[0].frames, ["p+0x1a", "libc.so.6+0xff"]);
    assert_eq!((contexts[1].id, contexts[1].program.as_str()), (88, ""), "nothing is known of it");
    assert_eq!((recorded.reads, recorded.writes, recorded.read_bytes), (3, 1, 4096 + 1808 + 4096));
    assert_eq!((recorded.files, recorded.contexts, recorded.handlers), (2, 2, 3));
    let (reads, _, recorded) = scene.trace(&["--reads"]);
    assert_eq!((reads.len(), recorded.writes), (3, 0));
}

#[test]
fn only_regular_files_are_kept_and_only_those_below_the_folders_named() {
    let scene = Scene::new();
    let mut log = scene.log(5);
    for (number, name) in [(1, "/proc/self/maps"), (2, "/dev/null"), (3, "in"), (4, "gone"), (5, "out"), (6, "in/a")] {
        scene.name(&mut log, number, name);
        assert!(log.call(&call(u64::from(number), 5, 1, number as usize, Kind::Read, 0, 4)));
    }
    scene.name(&mut log, 7, &scene.logs.path().join("x").display().to_string());
    assert!(log.call(&call(7, 5, 1, 7, Kind::Read, 0, 4)));
    let names = |options: &[&str]| {
        let (requests, told, _) = scene.trace(options);
        assert_eq!(requests.len(), told.files().len());
        told.files().into_iter().map(|file| file.name.unwrap()).collect::<Vec<_>>()
    };
    let path = |name: &str| scene.files.path().join(name).display().to_string();
    assert_eq!(names(&[]), [path("gone"), path("out"), path("in/a")]);
    assert_eq!(names(&["--only", &path("in")]), ["in/a"]);
    assert_eq!(names(&["--only", &path("link")]), ["in/a"], "links are followed");
    let missing = Folders::new(&[scene.files.path().join("missing")]).unwrap_err();
    assert!(missing.contains("missing"), "{missing}");
    assert!(Folders::new(&[scene.files.path().join("out")]).unwrap_err().contains("not a folder"));
}

#[test]
fn a_mapping_stands_for_one_pass_if_asked() {
    let scene = Scene::new();
    let mut log = scene.log(5);
    scene.name(&mut log, 1, "in/b");
    // Mapped beyond its end, as loaders do.
    assert!(log.call(&call(10, 5, 3, 1, Kind::Mmap, 4096, 1 << 20)));
    assert_eq!(scene.trace(&[]).0, []);
    let (requests, _, recorded) = scene.trace(&["--mapped", "whole"]);
    let ranges: Vec<(u64, u32)> = requests.iter().map(|request| (request.offset, request.len)).collect();
    assert_eq!(ranges, [(4096, 131_072), (135_168, 131_072), (266_240, 33_760)]);
    assert_eq!((recorded.mapped, recorded.read_bytes), (1, 300_000 - 4096));
}

#[test]
fn what_is_longer_than_a_request_becomes_several() {
    let scene = Scene::new();
    let mut log = scene.log(5);
    scene.name(&mut log, 1, "in/b");
    assert!(log.call(&call(10, 5, 3, 1, Kind::Sendfile, 5, (2 << 30) + 7)));
    let (requests, told, _) = scene.trace(&[]);
    let ranges: Vec<(u64, u32)> = requests.iter().map(|request| (request.offset, request.len)).collect();
    assert_eq!(ranges, [(5, 1 << 30), (5 + (1 << 30), 1 << 30), (5 + (2 << 30), 7)]);
    assert_eq!(told.files()[0].bytes, Some((2 << 30) + 12));
}
