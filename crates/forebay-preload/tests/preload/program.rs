//! A program in C, a file that it reads, and the files of the library about it.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use forebay_callers::{Call, Dictionary, Kind, Recording, Table};

/// The beginning of all programs.
const HEAD: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, strerror(errno)); exit(99); } } while (0)
static char bytes[1 << 20];
/* A call that is not the last deed of its function. */
PLACE static long at(int fd, long offset, long len) { long got = pread(fd, bytes, len, offset); __asm__ volatile(""); return got; }
"#;

/// A program that was compiled, in a folder of its own with all that it makes.
pub(crate) struct Program {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

/// Compiles `source` into `output`, with optimisation and without frame pointers.
pub(crate) fn compile(output: &Path, source: &str, options: &[&str]) {
    let text = output.with_extension("c");
    std::fs::write(&text, format!("{HEAD}{source}")).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-fomit-frame-pointer", "-w", "-o"])
        .arg(output)
        .arg(&text)
        .args(options)
        .args(["-lpthread", "-ldl"]);
    let built = compiler.output().expect("cc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

impl Program {
    /// Compiles `source`, and makes a file `data` of 1 MiB beside it, which differs at each byte.
    pub(crate) fn new(source: &str) -> Program {
        Program::with(source, &[])
    }

    /// As [`Program::new`], with options for the compiler.
    pub(crate) fn with(source: &str, options: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        compile(&path, source, options);
        let data: Vec<u8> = (0..1u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(folder.path().join("data"), data).unwrap();
        std::fs::create_dir(folder.path().join("record")).unwrap();
        Program { folder, path }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The program, with the path of its data as its first argument; without the library.
    pub(crate) fn plain(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg(self.data()).current_dir(self.folder.path());
        command
    }

    /// Preloads `command`.
    pub(crate) fn preload(&self, mut command: Command) -> Command {
        command.env("LD_PRELOAD", forebay_testkit::preloaded::library());
        command.env("FOREBAY_CONTEXTS", self.table_path()).env("FOREBAY_RECORDING", self.folder.path().join("record"));
        command
    }

    /// Runs it preloaded; it must succeed.
    pub(crate) fn run(&self) -> Output {
        succeed(self.preload(self.plain()))
    }

    pub(crate) fn table_path(&self) -> PathBuf {
        self.folder.path().join("table")
    }

    pub(crate) fn table(&self) -> Table {
        Table::open(&self.table_path(), rustix::process::geteuid().as_raw()).unwrap()
    }

    pub(crate) fn names(&self) -> Dictionary {
        Dictionary::open(&forebay_callers::names_path(&self.table_path()), rustix::process::geteuid().as_raw()).unwrap()
    }

    pub(crate) fn recording(&self) -> Recording {
        Recording::open(&self.folder.path().join("record")).unwrap()
    }

    /// Forgets the recording.
    pub(crate) fn forget(&self) {
        let record = self.folder.path().join("record");
        std::fs::remove_dir_all(&record).unwrap();
        std::fs::create_dir(&record).unwrap();
    }

    /// The calls for the data, except opening it.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let (recording, data) = (self.recording(), self.data());
        let file = recording.files().iter().position(|file| file.path == data).expect("the data is among the files");
        let calls = recording.calls().iter().copied();
        calls.filter(|call| call.file == file && call.kind != Kind::Open).collect()
    }

    /// The contexts of the calls for the data.
    pub(crate) fn contexts(&self) -> Vec<u64> {
        self.calls().iter().map(|call| call.context).collect()
    }
}

/// Runs `command`, which must succeed.
pub(crate) fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}{}", output.status, String::from_utf8_lossy(&output.stdout));
    assert_eq!(said, "", "something was said");
    output
}

/// Whether `yes` becomes true within some seconds.
pub(crate) fn becomes(yes: impl Fn() -> bool) -> bool {
    (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        yes()
    })
}

/// Waits until `pipe` can be read or its other end is closed.
pub(crate) fn wait_for(pipe: impl AsFd) {
    let mut byte = [0];
    rustix::io::read(pipe, &mut byte).unwrap();
}
