//! Programs that know nothing of Forebay, over a folder and over an object store. Each must find
//! the same as in the source.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::nginx::Nginx;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use tempfile::TempDir;

use crate::{Mount, run, text};

/// A folder, a mount of it, and a mount of the same files in an object store. Both mounts' memory
/// is smaller than all files.
struct Both {
    source: TempDir,
    mounts: [(&'static str, Mount); 2],
    _server: S3,
}

impl Both {
    /// Fills a folder, copies it to the store, and mounts the two.
    fn new(versitygw: &Path, policy: &str, fill: impl FnOnce(&Path)) -> Both {
        let source = tempfile::tempdir().expect("a folder");
        fill(source.path());
        let server = S3::start(versitygw).expect("a server");
        for file in files(source.path()) {
            let bytes = fs::read(source.path().join(&file)).expect("readable");
            server.put(text(&file), &bytes).expect("stored");
        }
        let (bucket, endpoint) = (format!("s3://{BUCKET}"), server.endpoint());
        let small = ["--memory", "32MiB", "--policy", policy];
        let local = Mount::start(&[&[text(source.path())], &small[..]].concat());
        let store = [&bucket, "--endpoint", &endpoint, "--region", "us-east-1"];
        let store = Mount::start(&[&store[..], &small[..]].concat());
        Both { source, mounts: [("local", local), ("s3", store)], _server: server }
    }

    /// Runs a program in the source and in both mounts: the same output everywhere.
    fn same(&self, program: &Path, args: &[&str]) {
        self.same_at(&self.mounts, program, args);
    }

    fn same_locally(&self, program: &Path, args: &[&str]) {
        self.same_at(&self.mounts[..1], program, args);
    }

    fn same_at(&self, mounts: &[(&str, Mount)], program: &Path, args: &[&str]) {
        let expected = run(program, args, self.source.path());
        assert!(!expected.is_empty(), "{program:?} {args:?} finds nothing: this shows nothing");
        for (what, mount) in mounts {
            let got = run(program, args, mount.path());
            let (got, expected) = (String::from_utf8_lossy(&got), String::from_utf8_lossy(&expected));
            assert!(got == expected, "{program:?} {args:?}, {what}:\n{got:.2000}\nis not\n{expected:.2000}");
        }
    }
}

/// All files below a folder, by their names in it.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![PathBuf::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a folder").flatten() {
            let to = if entry.path().is_dir() { &mut folders } else { &mut files };
            to.push(folder.join(entry.file_name()));
        }
    }
    files.sort();
    files
}

/// Some folders of texts and of noise, 50 MiB in all: more than the mounts' memory.
fn mixed(root: &Path) {
    for folder in ["texts", "noise", "noise/deeper"] {
        fs::create_dir(root.join(folder)).expect("a folder");
    }
    for file in 0..200 {
        let line = |line| format!("line {line} of text {file}, number {}\n", (line * 7919 + file * 104_729) % 10_007);
        let text: String = (0..50 + file * 7).map(line).collect();
        fs::write(root.join(format!("texts/{file}.txt")), text).expect("written");
    }
    for file in 0..14 {
        let folder = if file % 2 == 0 { "noise" } else { "noise/deeper" };
        let noise = content(file, 2_000_003 + 300_007 * file as usize);
        fs::write(root.join(folder).join(format!("{file}.bin")), noise).expect("written");
    }
}

#[test]
fn grep_sha256sum_tar_and_diff() {
    if !mounts::possible() {
        return;
    }
    let (versitygw, shell, diff, cmp) = (need!("versitygw"), need!("sh"), need!("diff"), need!("cmp"));
    let both = Both::new(&versitygw, "competitive", mixed);
    // grep goes in the order of the folder's list, which differs between file systems.
    both.same(&shell, &["-c", "grep -r 'number 77[0-9]*$' . | LC_ALL=C sort"]);
    both.same(
        &shell,
        &["-c", "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -n 4 -P 8 sha256sum | LC_ALL=C sort"],
    );
    both.same(&shell, &["-c", "tar --sort=name --mtime=@0 --mode=0 --owner=0 --group=0 -cf - noise texts | sha256sum"]);
    both.same(&shell, &["-c", "cat texts/*.txt | wc"]);
    for (what, mount) in &both.mounts {
        let (there, here) = (text(both.source.path()), text(mount.path()));
        assert_eq!(run(&diff, &["-r", there, here], Path::new("/")), b"", "{what}");
        run(&cmp, &[&format!("{there}/noise/12.bin"), &format!("{here}/noise/12.bin")], Path::new("/"));
    }
}

#[test]
fn sqlite3() {
    if !mounts::possible() {
        return;
    }
    let (versitygw, sqlite3) = (need!("versitygw"), need!("sqlite3"));
    // About 50 MB, with an index that leads all over it.
    let make = "PRAGMA journal_mode = delete;
        CREATE TABLE t (id INTEGER PRIMARY KEY, key INTEGER, name TEXT, value BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO t SELECT i, (i * 7919) % 100003, printf('name %d', (i * 104729) % 65537), randomblob(400) FROM n;
        CREATE INDEX by_key ON t (key);";
    let both = Both::new(&versitygw, "linux+arc", |source| drop(run(&sqlite3, &["data.db", make], source)));
    let size = fs::metadata(both.source.path().join("data.db")).expect("there").len();
    assert!(size > 40 << 20, "{size} bytes: not more than the mounts hold");
    let ask = "SELECT count(*), sum(length(value)), sum(key), max(name) FROM t;
        SELECT id, name, hex(value) FROM t WHERE key BETWEEN 500 AND 700 ORDER BY key;
        SELECT name, count(*) FROM t WHERE key % 1009 = 3 GROUP BY name ORDER BY name;";
    both.same(&sqlite3, &["file:data.db?immutable=1", "PRAGMA integrity_check;"]);
    both.same(&sqlite3, &["file:data.db?immutable=1", ask]);
    // With locks, and with its pages mapped.
    both.same_locally(&sqlite3, &["file:data.db?mode=ro", ask]);
    both.same_locally(&sqlite3, &["file:data.db?immutable=1", &format!("PRAGMA mmap_size = 1000000000; {ask}")]);
}

#[test]
fn fio_verifies_what_it_laid_out() {
    if !mounts::possible() {
        return;
    }
    let (versitygw, fio) = (need!("versitygw"), need!("fio"));
    let job = ["--name=job", "--filename=laid-out", "--bs=16k", "--size=40m", "--verify=crc32c"];
    let write = ["--rw=randwrite", "--do_verify=0", "--verify_state_save=0", "--ioengine=psync", "--end_fsync=1"];
    let both = Both::new(&versitygw, "aggressive+s3-fifo", |source| {
        drop(run(&fio, &[&job[..], &write[..]].concat(), source));
    });
    let read = ["--readonly", "--do_verify=1", "--verify_fatal=1", "--verify_state_save=0", "--numjobs=4", "--thread"];
    let [(_, local), (_, store)] = &both.mounts;
    let engines =
        [("read", "psync"), ("randread", "psync"), ("randread", "libaio"), ("read", "mmap"), ("randread", "mmap")];
    let jobs =
        engines.map(|how| (local, how)).into_iter().chain([(store, ("read", "mmap")), (store, ("randread", "psync"))]);
    for (mount, (order, engine)) in jobs {
        let how = [format!("--rw={order}"), format!("--ioengine={engine}"), "--iodepth=16".into()];
        let how: Vec<&str> = how.iter().map(String::as_str).collect();
        let said = run(&fio, &[&job[..], &read[..], &how[..]].concat(), mount.path());
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("err= 0") && !said.contains("verify failed"), "{said}");
    }
}

/// The requests of `wrk`: the files, one after the other.
pub(crate) fn script(files: &[PathBuf]) -> String {
    let paths: Vec<String> = files.iter().map(|file| format!("{:?}", format!("/{}", text(file)))).collect();
    format!(
        "local paths, at = {{ {} }}, 0
         function request() at = at % #paths + 1; return wrk.format('GET', paths[at]) end",
        paths.join(", ")
    )
}

/// The body of an answer to GET.
pub(crate) fn get(server: SocketAddr, path: &str) -> std::io::Result<Vec<u8>> {
    let mut connection = TcpStream::connect(server)?;
    write!(connection, "GET /{path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    assert!(
        answer.starts_with(b"HTTP/1.1 200 OK\r\n"),
        "{path}: {}",
        String::from_utf8_lossy(&answer[..60.min(answer.len())])
    );
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("an end of the headers");
    Ok(answer.split_off(end + 4))
}

#[test]
fn nginx_under_wrk() {
    if !mounts::possible() {
        return;
    }
    let (versitygw, nginx, wrk) = (need!("versitygw"), need!("nginx"), need!("wrk"));
    let both = Both::new(&versitygw, "competitive", mixed);
    let names = files(both.source.path());
    let lua = tempfile::NamedTempFile::new().expect("a file");
    fs::write(lua.path(), script(&names)).expect("written");
    let expected: BTreeMap<&Path, Vec<u8>> =
        names.iter().map(|name| (name.as_path(), fs::read(both.source.path().join(name)).expect("there"))).collect();
    for ((what, mount), sendfile) in both.mounts.iter().flat_map(|mount| [(mount, true), (mount, false)]) {
        let server = Nginx::start(&nginx, mount.path(), sendfile).expect("a server");
        let url = format!("http://{}/", server.address());
        // Its own time-out would count as an error on a slow machine.
        let args = ["-t2", "-c64", "-d3s", "--timeout", "60s", "-s", text(lua.path()), &url];
        let said = std::thread::scope(|scope| {
            let load = scope.spawn(|| String::from_utf8_lossy(&run(&wrk, &args, Path::new("/"))).into_owned());
            for (name, bytes) in &expected {
                let got = get(server.address(), text(name)).unwrap_or_else(|error| panic!("{name:?}: {error}"));
                assert!(got == *bytes, "{what}, sendfile {sendfile}: {name:?} differs");
            }
            load.join().expect("wrk succeeds")
        });
        assert!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "{what}, sendfile {sendfile}: {said}");
        assert!(!said.contains(" 0 requests in"), "{said}");
    }
}
