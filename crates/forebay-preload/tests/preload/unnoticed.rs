//! Programs do the same as without the library.

use std::path::Path;
use std::process::Command;

use crate::program::{Program, succeed};

#[test]
fn errno_stays_and_failures_are_the_same() {
    let program = Program::new(
        r#"
        #define KEEPS(call) do { errno = 77; CHECK(call); CHECK(errno == 77); } while (0)
        #define FAILS(call, why) do { errno = 77; CHECK((call) == -1 && errno == why); } while (0)
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            struct iovec part = {bytes, 10};
            for (int turn = 0; turn < 3; turn++) {
                KEEPS(read(fd, bytes, 10) == 10);
                KEEPS(pread(fd, bytes, 10, 3) == 10);
                KEEPS(readv(fd, &part, 1) == 10);
                KEEPS(mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
                KEEPS(open(args[1], O_RDONLY) > 0);
                KEEPS(lseek(fd, 0, SEEK_SET) == 0);
                FILE *file;
                KEEPS(file = fopen(args[1], "r"));
                KEEPS(fgetc(file) >= 0);
                KEEPS(fread(bytes, 1, 50000, file) == 50000);
                KEEPS(fseek(file, 7, SEEK_SET) == 0);
                KEEPS(fclose(file) == 0);
                /* Streams that are no files. */
                KEEPS(file = fmemopen("line\nother", 10, "r"));
                KEEPS(fgets(bytes, 100, file) && !strcmp(bytes, "line\n"));
                KEEPS(fread(bytes, 1, 5, file) == 5);
                fclose(file);
                FAILS(read(-1, bytes, 10), EBADF);
                FAILS(read(999, bytes, 10), EBADF);
                FAILS(pread(fd, bytes, 10, -1), EINVAL);
                FAILS(pread(fd, (void *)16, 10, 0), EFAULT);
                FAILS(open("/nowhere/at/all", O_RDONLY), ENOENT);
                FAILS(sendfile(-1, fd, 0, 10), EBADF);
                CHECK(mmap(0, 0, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EINVAL);
            }
            return 0;
        }"#,
    );
    program.run();
    assert!(program.calls().len() > 20);
    // Where no file can be written, none is, and no program notices.
    let mut command = program.preload(program.plain());
    command.env("FOREBAY_CONTEXTS", "/nowhere/table").env("FOREBAY_RECORDING", "/nowhere");
    succeed(command);
    let mut command = program.preload(program.plain());
    command.env("FOREBAY_CONTEXTS", "/dev/full").env("FOREBAY_RECORDING", program.data());
    succeed(command);
}

#[test]
fn descriptors_environment_and_children_are_as_without() {
    let program = Program::new(
        r#"
        extern char **environ;
        int main(int count, char **args) {
            for (char **variable = environ; *variable; variable++)
                if (strncmp(*variable, "LD_PRELOAD", 10) && strncmp(*variable, "FOREBAY", 7)) puts(*variable);
            fflush(stdout);
            system("ls -l /proc/self/fd | sed 's/.* \\([0-9]* -> \\)/\\1/; s/[0-9][0-9]*//g'; cat data | wc -c");
            char link[300];
            for (int fd = 0; fd < 100; fd++) {
                sprintf(link, "/proc/self/fd/%d", fd);
                if (readlink(link, bytes, 100) > 0) printf("%d\n", fd);
            }
            struct sigaction action;
            for (int signal = 1; signal < 65; signal++)
                if (sigaction(signal, 0, &action) == 0 && action.sa_handler != SIG_DFL) printf("signal %d\n", signal);
            return 0;
        }"#,
    );
    assert_eq!(
        String::from_utf8_lossy(&program.run().stdout),
        String::from_utf8_lossy(&succeed(program.plain()).stdout)
    );
}

#[test]
fn limits_of_the_program_are_not_met_by_the_library() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            for (int turn = 0; turn < 5000; turn++) CHECK(at(fd, turn, 1) == 1);
            puts("done");
            return 0;
        }"#,
    );
    // The length of files, descriptors, addresses: no signal, no failure.
    for limit in ["-f 0", "-f 100", "-n 4", "-v 20000"] {
        program.forget();
        let _ = std::fs::remove_file(program.table_path());
        let mut command = Command::new("sh");
        let line = "ulimit $0; LD_PRELOAD=$1; export LD_PRELOAD; exec $2 $3";
        command
            .args(["-c", line, limit])
            .arg(forebay_testkit::preloaded::library())
            .arg(&program.path)
            .arg(program.data());
        let mut command = program.preload(command);
        command.env_remove("LD_PRELOAD");
        assert_eq!(succeed(command).stdout, b"done\n", "ulimit {limit}");
    }
}

#[test]
fn a_program_under_valgrind_runs_as_ever() {
    let program = Program::new(
        "int main(int count, char **args) { int fd = open(args[1], O_RDONLY); return at(fd, 0, 10) != 10; }",
    );
    let mut command = Command::new("valgrind");
    command.args(["--tool=none", "--quiet"]).arg(&program.path).arg(program.data());
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: there is no valgrind");
        return;
    }
    // It warns of the test whether memory is readable, a call that it does not know.
    let output = program.preload(command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(program.contexts().len(), 1);
}

#[test]
fn a_static_program_is_left_alone() {
    let source = "int main(int count, char **args) { int fd = open(args[1], O_RDONLY); return at(fd, 0, 10) != 10; }";
    let program = Program::with(source, &["-static"]);
    program.run();
    assert!(program.recording().calls().is_empty() && !program.table_path().exists());
}

#[test]
fn signal_handlers_read_whatever_they_interrupt() {
    let program = Program::new(
        r#"
        static int fd, other;
        static volatile long handled, jumps;
        static sigjmp_buf out;
        static void handler(int signal) {
            char four[4];
            CHECK(pread(other, four, 4, 500000) == 4 && !memcmp(four, bytes + 500000, 4));
            handled++;
            if (jumps) siglongjmp(out, 1);
        }
        int main(int count, char **args) {
            fd = open(args[1], O_RDONLY); other = open(args[1], O_RDONLY);
            CHECK(pread(fd, bytes, sizeof bytes, 0) == sizeof bytes);
            static char room[16384];
            stack_t stack = {room, 0, sizeof room};
            struct sigaction action = {0};
            action.sa_handler = handler; action.sa_flags = SA_RESTART;
            struct itimerval fast = {{0, 200}, {0, 200}};
            char seven[7];
            for (int round = 0; round < 3; round++) {
                if (round == 1) { sigaltstack(&stack, 0); action.sa_flags |= SA_ONSTACK; }
                /* Handlers that never return to what they interrupted. */
                if (round == 2) { action.sa_flags = SA_RESTART; jumps = 1; }
                sigaction(SIGALRM, &action, 0);
                setitimer(ITIMER_REAL, &fast, 0);
                long before = handled;
                sigsetjmp(out, 1);
                for (volatile long turn = 0; turn < 100000000 && handled < before + 1000; turn++) {
                    long offset = turn % 1000000;
                    CHECK(pread(fd, seven, 7, offset) == 7 && !memcmp(seven, bytes + offset, 7));
                }
                CHECK(handled >= before + 1000);
            }
            struct itimerval never = {0};
            setitimer(ITIMER_REAL, &never, 0);
            for (volatile int turn = 0; turn < 10; turn++) CHECK(pread(fd, bytes, 11, turn) == 11);
            return 0;
        }"#,
    );
    // Recording a call takes longer than the timer's period on a slow machine: so once with the
    // table alone, once with all.
    let mut command = program.preload(program.plain());
    command.env_remove("FOREBAY_RECORDING");
    succeed(command);
    program.run();
    let calls = program.calls();
    let last: Vec<_> = calls.iter().filter(|call| call.len == 11).collect();
    assert_eq!(last.len(), 10);
    assert!(last.iter().all(|call| call.context == last[0].context && call.context != 0));
    let handlers = calls.iter().filter(|call| call.len == 4).count();
    assert!(handlers > 500, "{handlers} calls of handlers");
    assert_eq!(program.table().get(last[0].tid), None);
}

#[test]
fn programs_with_an_allocator_of_their_own_begin() {
    // An allocator that reads a file, maps memory and locks, before anything else has begun.
    let program = Program::new(
        r#"
        static char *arena; static size_t used;
        void *malloc(size_t size) {
            if (!arena) {
                char some[64];
                int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
                CHECK(read(fd, some, 1) == 1);
                close(fd);
                arena = mmap(0, 1 << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            }
            char *at = arena + used + 16;
            *(size_t *)(at - 8) = size;
            used += (size + 31) & ~15;
            return at;
        }
        void free(void *old) {}
        void *calloc(size_t count, size_t size) { return malloc(count * size); }
        void *realloc(void *old, size_t size) {
            void *made = malloc(size);
            if (old) { size_t was = ((size_t *)old)[-1]; memcpy(made, old, was < size ? was : size); }
            return made;
        }
        __attribute__((constructor)) static void early(void) { free(malloc(10)); }
        int main(int count, char **args) {
            FILE *file = fopen(args[1], "r");
            CHECK(fread(bytes, 1, 100000, file) == 100000);
            return 0;
        }"#,
    );
    program.run();
    assert!(program.calls().iter().map(|call| call.len).sum::<u64>() >= 100_000);
}

/// A command's output, and how it ends.
fn outcome(mut command: Command) -> (Vec<u8>, Vec<u8>, Option<i32>) {
    let output = command.output().unwrap();
    (output.stdout, output.stderr, output.status.code())
}

/// Reads by several ways, and in a child.
const PYTHON: &str = "import hashlib, json, os, mmap\n\
    print(hashlib.sha256(open('data', 'rb').read()).hexdigest(), sum(1 for _ in open('text')))\n\
    with open('data', 'rb') as f:\n    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); print(m[5000:5010], os.pread(f.fileno(), 5, 77))\n\
    pid = os.fork()\n\
    if pid == 0:\n    print(open('text').readlines()[-1], flush=True); os._exit(3)\n\
    print(os.waitpid(pid, 0)[1])";

const PERL: &str = "open F, '<', 'text'; while (<F>) { $n++ if /9\\d*$/ } print \"$n\\n\"; open G, '<', 'data'; sysseek G, 99, 0; sysread G, $b, 9; print unpack('H*', $b), \"\\n\"; print `cat text | wc -l`; exit 5";

/// What is run in a folder with `data` and `text`.
const COMMANDS: [&[&str]; 13] = [
    &["cat", "data", "text", "absent"],
    &["cp", "data", "copy"],
    &["md5sum", "data", "text", "copy"],
    &["grep", "-rn", "9 of some"],
    &["sort", "-k", "6n", "text"],
    &["tail", "-n", "3", "text"],
    &["dd", "if=data", "bs=1000", "skip=3", "count=7", "status=none"],
    &["sh", "-c", "for i in 1 2 3; do read line < text; echo $line; done; cat text | head -c 1000 | md5sum; exit 7"],
    &["tar", "cf", "-", "data", "text"],
    &["gzip", "-c", "text"],
    &["python3", "-c", PYTHON],
    &["perl", "-e", PERL],
    &["cc", "-E", "-P", "program.c"],
];

#[test]
fn real_programs_print_the_same_bytes() {
    let place = Program::new("int main() { return 0; }");
    let folder = place.folder.path();
    let text: String = (0..30_000).map(|line| format!("line {line} of some text {}\n", line * 7919 % 1000)).collect();
    std::fs::write(folder.join("text"), &text).unwrap();
    for line in COMMANDS {
        if !std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .any(|folder| Path::new(&folder).join(line[0]).exists())
        {
            eprintln!("SKIPPED: there is no {}", line[0]);
            continue;
        }
        let command = || {
            let mut command = Command::new(line[0]);
            command.args(&line[1..]).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
            // Its output is not among the files that it reads.
            command
        };
        let without = outcome(command());
        let with = outcome(place.preload(command()));
        assert_eq!(
            (with.2, String::from_utf8_lossy(&with.1)),
            (without.2, String::from_utf8_lossy(&without.1)),
            "{line:?}"
        );
        // The register for frame pointers holds other values here.
        let mut guessed = place.preload(command());
        guessed.env("FOREBAY_UNWIND", "frame-pointers").env_remove("FOREBAY_RECORDING");
        let guessed = outcome(guessed);
        if line[0] != "grep" {
            assert!(
                with.0 == without.0 && guessed.0 == without.0 && guessed.2 == without.2,
                "{line:?} printed something else"
            );
        }
    }
    let recording = place.recording();
    let read = |name: &str| recording.files().iter().any(|file| file.path == folder.join(name));
    assert!(read("data") && read("text") && read("copy"));
    assert!(recording.calls().iter().all(|call| call.context != 0), "a call without a context");
}
