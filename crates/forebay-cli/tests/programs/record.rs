//! `forebay record` and `forebay run` on unmodified programs: the trace has the programs' reads,
//! and the programs notice nothing.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use forebay_testkit::{need, preloaded};
use tempfile::TempDir;

use super::{forebay, text};

/// The command with the preload library and a table of contexts of its own.
pub(super) fn preloading(args: &[&str], table: &Path) -> Command {
    let mut command = forebay(args);
    command.env("FOREBAY_CONTEXT_LIBRARY", preloaded::library()).env("FOREBAY_CONTEXTS", table);
    command
}

/// A folder `data` with files, and a place for traces.
struct Scene(TempDir);

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("data")).expect("a folder");
        for (name, lines) in [("a", 30_000), ("b", 5_000)] {
            let content: String = (0..lines).map(|line| format!("{name} line {line}\n")).collect();
            std::fs::write(folder.path().join("data").join(name), content).expect("a file");
        }
        Scene(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `forebay record` of a program in the folder, only for files in `data`.
    fn record(&self, options: &[&str], program: &[&str]) -> Output {
        let mut args = vec!["record", "-o", "t.parquet", "--only", "data", "--json"];
        args.extend(options);
        args.push("--");
        args.extend(program);
        preloading(&args, &self.path("table")).current_dir(self.0.path()).output().expect("the command starts")
    }

    /// The rows of the trace, by column.
    fn trace(&self) -> Vec<BTreeMap<String, String>> {
        let (from, to) = (self.path("t.parquet"), self.path("t.csv"));
        let done = forebay(&["trace", "convert", text(&from), text(&to)]).output().expect("the command starts");
        assert!(done.status.success(), "{done:?}");
        let csv = std::fs::read_to_string(to).expect("readable");
        let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let columns = lines.next().expect("a heading");
        lines.map(|line| columns.iter().cloned().zip(line).collect()).collect()
    }

    /// The read ranges of each file, joined where they touch, in order of offset.
    fn ranges(&self) -> BTreeMap<u64, Vec<(u64, u64)>> {
        let mut ranges: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for row in self.trace().iter().filter(|row| row["operation"] == "read") {
            let offset: u64 = number(row, "offset");
            ranges.entry(number(row, "file")).or_default().push((offset, offset + number(row, "length")));
        }
        for of_file in ranges.values_mut() {
            of_file.sort_unstable();
            let joined = of_file.drain(..).fold(Vec::<(u64, u64)>::new(), |mut joined, (from, to)| {
                match joined.last_mut() {
                    Some(last) if from <= last.1 => last.1 = last.1.max(to),
                    _ => joined.push((from, to)),
                }
                joined
            });
            *of_file = joined;
        }
        ranges
    }

    fn size(&self, name: &str) -> u64 {
        std::fs::metadata(self.path(name)).expect("there").len()
    }
}

fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} in {row:?}"))
}

/// The last line of the output, which is the summary.
fn summary(output: &Output) -> serde_json::Value {
    let line = String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn whole_files_are_read_whole() {
    let scene = Scene::new();
    let whole = |name: &str| vec![(0, scene.size(name))];
    let output = scene.record(&["--reads"], &["cp", "data/a", "copy"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(std::fs::read(scene.path("copy")).unwrap(), std::fs::read(scene.path("data/a")).unwrap());
    assert_eq!(scene.ranges(), BTreeMap::from([(0, whole("data/a"))]));
    assert_eq!(summary(&output)["files"], 1);

    let output = scene.record(&[], &["grep", "-c", "line 77", "data/b", "data/a"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("data/b:"), "what it prints stays: {output:?}");
    assert_eq!(scene.ranges(), BTreeMap::from([(0, whole("data/b")), (1, whole("data/a"))]));
}

/// Reads ranges of `data/a` in every way that C has, in a thread as well.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>
static int fd;
static char buffer[70000];
__attribute__((noinline)) static void one(void) { if (pread(fd, buffer, 100, 5000) != 100) _exit(9); }
__attribute__((noinline)) static void other(void) { if (pread(fd, buffer, 7, 9000) != 7) _exit(9); }
static void *thread(void *nothing) { other(); return nothing; }
int main(void) {
    fd = open("data/a", O_RDONLY);
    if (read(fd, buffer, 10) != 10) return 9;
    if (lseek(fd, 20000, SEEK_SET) != 20000 || read(fd, buffer, 30) != 30) return 9;
    struct iovec parts[2] = { { buffer, 4 }, { buffer + 100, 6 } };
    if (preadv(fd, parts, 2, 40000) != 10) return 9;
    one(); one(); other();
    pthread_t id;
    pthread_create(&id, 0, thread, 0);
    pthread_join(id, 0);
    if (pread(fd, buffer, 5, 100000000) != 0) return 9;
    return 0;
}
"#;

#[test]
fn every_call_is_there_with_its_range_thread_and_context() {
    let cc = need!("cc");
    let scene = Scene::new();
    std::fs::write(scene.path("p.c"), PROGRAM).unwrap();
    let built = Command::new(cc).args(["-O1", "-pthread", "-o", "p", "p.c"]).current_dir(scene.0.path()).status();
    assert!(built.unwrap().success());
    let output = scene.record(&[], &["./p"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows = scene.trace();
    let ranges: Vec<(u64, u64)> = rows.iter().map(|row| (number(row, "offset"), number(row, "length"))).collect();
    let expected = [(0, 10), (20_000, 30), (40_000, 10), (5000, 100), (5000, 100), (9000, 7), (9000, 7)];
    assert_eq!(ranges, expected);
    let column = |name: &str| rows.iter().map(|row| number(row, name)).collect::<Vec<_>>();
    assert_eq!(column("handler"), [1, 1, 1, 1, 1, 1, 2]);
    let contexts = column("context");
    assert!(contexts.iter().all(|&context| context > 0), "{contexts:?}");
    assert_ne!(contexts[0], contexts[1], "two calls in one function are two places");
    assert_ne!(contexts[3], contexts[5], "two functions");
    assert_ne!(contexts[5], contexts[6], "called from main, and by a thread");
    assert!(column("time_ns").is_sorted());
    // Another run of the program, at other addresses, is in the same contexts: the trace contains
    // their meanings.
    let ids = || {
        let trace = std::fs::read(scene.path("t.parquet")).unwrap();
        let begin = trace.windows(16).position(|bytes| bytes == b"forebay.contexts").expect("contexts are said");
        let json = String::from_utf8_lossy(&trace[begin..]).into_owned();
        let json = json[json.find('[').unwrap()..].split("]}]").next().unwrap().to_owned() + "]}]";
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON")
    };
    let first = ids();
    assert_eq!(scene.record(&[], &["./p"]).status.code(), Some(0));
    assert_eq!(ids(), first);
    assert!(first[0]["program"].as_str().unwrap().ends_with("/p"), "{first}");
    assert!(first[0]["frames"].as_array().unwrap().iter().any(|frame| frame.as_str().unwrap().starts_with("p+0x")));
}

#[test]
fn children_are_recorded_and_the_exit_code_is_the_programs() {
    let scene = Scene::new();
    let output = scene.record(&["--reads"], &["sh", "-c", "cat data/b > /dev/null; (cat data/a | wc -l); exit 3"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = summary(&output);
    assert_eq!((&said["status"], &said["files"]), (&3.into(), &2.into()), "{said}");
    assert_eq!(scene.ranges()[&0], [(0, scene.size("data/b"))]);
    assert_eq!(scene.ranges()[&1], [(0, scene.size("data/a"))]);
    let output = scene.record(&[], &["sh", "-c", "cat data/b > /dev/null; kill -TERM $$"]);
    assert_eq!(output.status.code(), Some(128 + 15));
    assert_eq!(scene.ranges().len(), 1);
    let output = scene.record(&[], &["nosuchprogram"]);
    assert_eq!(output.status.code(), Some(127), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: nosuchprogram: No such file"), "{output:?}");
}

#[test]
fn an_interrupted_program_has_its_trace() {
    let setsid = need!("setsid");
    let scene = Scene::new();
    // In a session of its own: otherwise the terminal of this test would send the signal to both
    // processes.
    let script = "cat data/b > /dev/null; kill -INT $PPID; exec sleep 60";
    let mut command = Command::new(setsid);
    let forebay = preloading(&[], &scene.path("table"));
    command.arg("--wait").arg(forebay.get_program());
    command.args(["record", "-o", "t.parquet", "--only", "data", "--", "sh", "-c", script]);
    forebay.get_envs().for_each(|(name, value)| match value {
        Some(value) => drop(command.env(name, value)),
        None => drop(command.env_remove(name)),
    });
    let output = command.current_dir(scene.0.path()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(128 + 2), "{output:?}");
    assert_eq!(scene.ranges(), BTreeMap::from([(0, vec![(0, scene.size("data/b"))])]));
}

#[test]
fn what_is_to_be_written_is_known_before_anything_runs() {
    let scene = Scene::new();
    let refused = |args: &[&str], expected: &str| {
        let mut command = preloading(args, &scene.path("table"));
        let output = command.current_dir(scene.0.path()).output().expect("the command starts");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), line.matches('\n').count()), (Some(2), 1), "{line}");
        assert!(line.contains(expected), "{line}");
        assert!(!scene.path("ran").exists());
    };
    refused(&["record", "-o", "t.nonsense", "--", "touch", "ran"], "t.nonsense");
    refused(&["record", "-o", "t.parquet", "--only", "nowhere", "--", "touch", "ran"], "--only nowhere");
    refused(&["record", "-o", "t.parquet", "--contexts", "/proc/x", "--", "touch", "ran"], "--contexts off");
    refused(&["record", "--", "touch", "ran"], "--output");
    refused(&["run"], "PROGRAM");
    let mut command = preloading(&["run", "--", "touch", "ran"], &scene.path("table"));
    let output = command.env("FOREBAY_CONTEXT_LIBRARY", "/nowhere.so").output().expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("FOREBAY_CONTEXT_LIBRARY says /nowhere.so"));
}

#[test]
fn a_program_that_is_run_notices_nothing() {
    let scene = Scene::new();
    let table = scene.path("table");
    let run = |program: &[&str]| preloading(&[&["run", "--"], program].concat(), &table);
    let output = run(&["sh", "-c", "cat; echo said >&2; exit 7"])
        .stdin(std::fs::File::open(scene.path("data/b")).unwrap())
        .output();
    let output = output.expect("the command starts");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, std::fs::read(scene.path("data/b")).unwrap());
    assert_eq!(output.stderr, b"said\n");
    // The command becomes the program, so a parent sees the program's own end.
    assert_eq!(run(&["sh", "-c", "kill -KILL $$"]).output().unwrap().status.signal(), Some(9));
    assert_eq!(run(&["nosuchprogram"]).output().unwrap().status.code(), Some(127));
    assert_eq!(run(&["/"]).output().unwrap().status.code(), Some(126));
    // Libraries that were preloaded before still are.
    let output = run(&["sh", "-c", "echo $LD_PRELOAD"]).env("LD_PRELOAD", preloaded::library()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.trim_end(), format!("{0}:{0}", text(&preloaded::library())));
    let output = run(&["sh", "-c", "cat data/a > /dev/null"]).current_dir(scene.0.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let names = std::fs::read_to_string(scene.path("table.names")).expect("contexts are named");
    assert!(names.contains("/cat\t"), "{names}");
}
