//! The time that the preload library adds to a call, in processor time. A C program calls `pread`
//! at a depth of 14 return addresses, with and without the library. Runs alternate, and the figure
//! is the median of the differences between neighbours. Also the table on its own: a program's
//! write to it for a call, and a mount's look-up for a request.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use forebay_callers::{CONTEXTS, RECORD, Table, TableWriter, UNWIND};

use crate::report::{Row, median};

/// Return addresses of the call. In a program with frame pointers all are the program's own, since
/// the C library has no frame pointers.
const DEPTH: usize = 14;
/// The frames outside of `main` that unwind tables show: two functions of the C library, and
/// `_start`.
const OUTSIDE: usize = 3;

/// A way to make the call.
struct Way {
    what: &'static str,
    /// The number of stacks that the calls come from in turn, as a power of two.
    stacks: u32,
    frame_pointers: bool,
    record: bool,
    wanted: Option<f64>,
}

const WAYS: [Way; 6] = [
    Way { what: "tables, one stack", stacks: 0, frame_pointers: false, record: false, wanted: Some(300.0) },
    Way { what: "tables, 256 stacks in turn", stacks: 8, frame_pointers: false, record: false, wanted: Some(300.0) },
    Way { what: "frame pointers, one stack", stacks: 0, frame_pointers: true, record: false, wanted: Some(60.0) },
    Way {
        what: "frame pointers, 256 stacks in turn",
        stacks: 8,
        frame_pointers: true,
        record: false,
        wanted: Some(60.0),
    },
    Way { what: "tables, recorded", stacks: 0, frame_pointers: false, record: true, wanted: None },
    Way { what: "frame pointers, recorded", stacks: 0, frame_pointers: true, record: true, wanted: None },
];

/// Compiles the programs, and measures all ways.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (turns, rounds) = if smoke { (1_000, 1) } else { (20_000, 101) };
    let folder = tempfile::tempdir()?;
    let library = forebay_testkit::preloaded::library();
    let program = |frame_pointers: bool| folder.path().join(if frame_pointers { "framed" } else { "frameless" });
    for frame_pointers in [false, true] {
        compile(&program(frame_pointers), frame_pointers)?;
    }
    let mut rows = Vec::new();
    for Way { what, stacks, frame_pointers, record, wanted } in WAYS {
        let base = || {
            let mut command = Command::new(program(frame_pointers));
            // A short call, whose own time varies little. The library records calls on files only.
            command.args([turns.to_string(), stacks.to_string()]).arg(if record {
                "/proc/self/exe"
            } else {
                "/dev/null"
            });
            command
        };
        let (mut plain, mut added) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut command = base();
            command.env("LD_PRELOAD", &library).env(CONTEXTS, folder.path().join("table"));
            command.env(UNWIND, if frame_pointers { "frame-pointers" } else { "tables" });
            let record_to = folder.path().join("record");
            if record {
                std::fs::create_dir(&record_to)?;
                command.env(RECORD, &record_to);
            }
            let (without, with) = (nanoseconds(base())?, nanoseconds(command)?);
            if record {
                std::fs::remove_dir_all(&record_to)?;
            }
            plain.push(without);
            added.push(with - without);
        }
        added.sort_by(f64::total_cmp);
        let (low, high) = (added[rounds as usize / 4], added[rounds as usize * 3 / 4]);
        rows.push(Row {
            bench: "context-id",
            what: format!("ns a call, {what}"),
            against: "the call without the library".into(),
            ratio: median(added),
            wanted,
            detail: format!("{:.0} without; half of {rounds} runs from {low:.0} to {high:.0}", median(plain)),
            point: None,
        });
    }
    rows.extend(table(folder.path(), turns, rounds)?);
    Ok(rows)
}

/// A program whose `main` calls through a chain of functions, each of which has two places to call
/// the next.
fn compile(path: &Path, frame_pointers: bool) -> anyhow::Result<()> {
    let links = if frame_pointers { DEPTH - 1 } else { DEPTH - 1 - OUTSIDE };
    let mut text = String::from(
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n\
         static int fd;\n\
         __attribute__((noinline)) static long f0(long which) { char b; long r = pread(fd, &b, 1, which & 7); __asm__ volatile(\"\"); return r; }\n",
    );
    for link in 1..links {
        let below = link - 1;
        text += &format!(
            "__attribute__((noinline)) static long f{link}(long which) {{ long r;\n\
             if (which >> {below} & 1) {{ r = f{below}(which); __asm__ volatile(\"nop\"); }}\n\
             else {{ r = f{below}(which); __asm__ volatile(\"\"); }} return r; }}\n"
        );
    }
    text += &format!(
        "int main(int count, char **args) {{ long turns = atol(args[1]), stacks = atol(args[2]), sum = 0;\n\
         struct timespec from, to; fd = open(args[3], O_RDONLY);\n\
         for (long turn = 0; turn < (1 << stacks); turn++) sum += f{last}(turn);\n\
         clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);\n\
         for (long turn = 0; turn < turns; turn++) sum += f{last}(turn & ((1 << stacks) - 1));\n\
         clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);\n\
         printf(\"%f\\n\", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / turns);\n\
         return fd < 0 || sum < 0; }}\n",
        last = links - 1
    );
    let source = path.with_extension("c");
    std::fs::write(&source, text)?;
    let frames = if frame_pointers { "-fno-omit-frame-pointer" } else { "-fomit-frame-pointer" };
    let built = Command::new("cc").args(["-O2", frames, "-o"]).arg(path).arg(&source).output();
    let built = built.context("cc compiles the program that calls, and is not there")?;
    ensure!(built.status.success(), "cc: {}", String::from_utf8_lossy(&built.stderr));
    Ok(())
}

/// The nanoseconds that the program prints.
fn nanoseconds(mut command: Command) -> anyhow::Result<f64> {
    let output = command.output()?;
    ensure!(output.status.success(), "the program that calls failed: {:?}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// The table alone: set and cleared by a program, and looked up by a mount.
fn table(folder: &Path, turns: u32, rounds: u32) -> anyhow::Result<Vec<Row>> {
    let path = folder.join("alone");
    let table = Table::create(&path)?;
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    let writer = TableWriter::create(&name).context("the table that was just made cannot be written")?;
    let tid = std::process::id();
    let each = |work: &dyn Fn(u64)| {
        let of = |_| {
            let from = Instant::now();
            (0..u64::from(turns)).for_each(work);
            from.elapsed().as_secs_f64() * 1e9 / f64::from(turns)
        };
        median((0..rounds).map(of).collect())
    };
    let set = each(&|turn| {
        writer.set(tid, turn + 1);
        writer.clear(tid);
    });
    writer.set(tid, 7);
    let asked = each(&|_| assert_eq!(std::hint::black_box(table.get(tid)), Some(7)));
    let row = |what: &str, ns| Row {
        bench: "context-id",
        what: what.into(),
        against: "nothing".into(),
        ratio: ns,
        wanted: None,
        detail: "ns, wall time".into(),
        point: None,
    };
    Ok(vec![row("the table: set and cleared", set), row("the table: asked by a mount", asked)])
}
