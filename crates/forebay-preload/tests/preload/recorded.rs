//! Recorded calls, against reads that are known.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use forebay_callers::{Call, Kind};

use crate::program::{Program, succeed, wait_for};

/// Kind, offset and length of calls.
fn ranges(calls: &[Call]) -> Vec<(Kind, u64, u64)> {
    calls.iter().map(|call| (call.kind, call.offset, call.len)).collect()
}

#[test]
fn every_way_to_read_is_recorded_as_what_it_read() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY), out = open("out", O_RDWR | O_CREAT, 0644);
            struct iovec parts[2] = {{bytes, 100}, {bytes + 5000, 200}};
            long place = 60000, into = 0;
            CHECK(read(fd, bytes, 1000) == 1000);
            CHECK(read(fd, bytes, 500) == 500);
            CHECK(pread(fd, bytes, 70, 4000) == 70);
            CHECK(readv(fd, parts, 2) == 300);
            CHECK(preadv(fd, parts, 2, 9000) == 300);
            CHECK(preadv2(fd, parts, 1, 9900, 0) == 100);
            CHECK(preadv2(fd, parts, 1, -1, 0) == 100);
            CHECK(pread(fd, bytes, 5000, (1 << 20) - 40) == 40);
            CHECK(pread(fd, bytes, 5000, 1 << 20) == 0);
            CHECK(pread(fd, bytes, 5000, -5) == -1);
            CHECK(mmap(0, 8192, PROT_READ, MAP_PRIVATE, fd, 16384) != MAP_FAILED);
            CHECK(sendfile(out, fd, &place, 3000) == 3000 && place == 63000);
            CHECK(sendfile(out, fd, 0, 4000) == 4000);
            place = 70000;
            CHECK(copy_file_range(fd, &place, out, &into, 1234, 0) == 1234);
            int pipes[2];
            CHECK(pipe(pipes) == 0);
            place = 80000;
            CHECK(splice(fd, &place, pipes[1], 0, 999, 0) == 999);
            CHECK(read(pipes[0], bytes, 999) == 999);
            return 0;
        }"#,
    );
    program.run();
    let wanted = [
        (Kind::Read, 0, 1000),
        (Kind::Read, 1000, 500),
        (Kind::Pread, 4000, 70),
        (Kind::Readv, 1500, 300),
        (Kind::Preadv, 9000, 300),
        (Kind::Preadv, 9900, 100),
        (Kind::Preadv, 1800, 100),
        (Kind::Pread, (1 << 20) - 40, 40),
        (Kind::Mmap, 16384, 8192),
        (Kind::Sendfile, 60000, 3000),
        (Kind::Sendfile, 1900, 4000),
        (Kind::CopyFileRange, 70000, 1234),
        (Kind::Splice, 80000, 999),
    ];
    let calls = program.calls();
    assert_eq!(ranges(&calls), wanted);
    assert!(calls.windows(2).all(|pair| pair[0].at <= pair[1].at) && calls[0].pid == calls[0].tid);
    let recording = program.recording();
    let data = &recording.files()[calls[0].file];
    assert_eq!((data.size, data.path.as_path()), (1 << 20, program.data().as_path()));
    let metadata = std::fs::metadata(program.data()).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!((data.dev, data.ino), (metadata.dev(), metadata.ino()));
    let opened = recording.calls().iter().filter(|call| call.kind == Kind::Open).count();
    assert!(opened >= 2, "{opened} files were opened");
}

#[test]
fn writes_are_recorded_of_descriptors_and_of_streams() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            int fd = open(args[1], O_RDWR);
            struct iovec part = {bytes, 300};
            CHECK(write(fd, bytes, 100) == 100);
            CHECK(pwrite(fd, bytes, 200, 5000) == 200);
            CHECK(writev(fd, &part, 1) == 300);
            CHECK(pwritev(fd, &part, 1, 7000) == 300);
            FILE *file = fopen(args[1], "r+");
            setvbuf(file, 0, _IOFBF, 4096);
            CHECK(fwrite(bytes, 1, 5000, file) == 5000);
            CHECK(fprintf(file, "%d %s %5.2f %s %s %g\n", 7, "seven", 7.0, "many", "arguments", 1.5) == 33);
            CHECK(fflush(file) == 0);
            CHECK(fputs("the end", file) > 0);
            CHECK(fclose(file) == 0);
            return 0;
        }"#,
    );
    program.run();
    let calls = program.calls();
    assert!(calls.iter().all(|call| call.kind == Kind::Write));
    let wanted = [(0, 100), (5000, 200), (100, 300), (7000, 300)];
    let got: Vec<_> = calls.iter().map(|call| (call.offset, call.len)).collect();
    assert_eq!(got[..4], wanted);
    // The stream: all of it in a row, in pieces of any size.
    let end = got[4..].iter().fold(0, |end, (offset, len)| {
        assert_eq!(*offset, end);
        end + len
    });
    assert_eq!(end, 5040);
    let text = std::fs::read(program.data()).unwrap();
    assert_eq!(&text[5000 + 33..5040], b"the end");
}

/// The reads of `command` from `data` by the C library's streams, as `strace` saw them: pieces in a
/// row made one.
fn traced(command: Command, data: &Path, folder: &Path) -> Option<Vec<(u64, u64)>> {
    let log = folder.join("strace");
    let mut strace = Command::new("strace");
    strace.args(["-e", "trace=openat,read,lseek,close", "-s", "0", "-o"]).arg(&log);
    strace.arg(command.get_program()).args(command.get_args()).current_dir(folder);
    if !strace.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let (mut places, mut ranges) = (BTreeMap::new(), Vec::new());
    let text = std::fs::read_to_string(&log).unwrap();
    for line in text.lines() {
        let Some((call, result)) = line.rsplit_once(" = ") else { continue };
        let Some(Ok(result)) = result.split(' ').next().map(str::parse::<u64>) else { continue };
        let number = || call.split(['(', ',', ')']).nth(1).and_then(|fd| fd.parse::<u64>().ok());
        if call.starts_with("openat") && call.contains(data.to_str().unwrap()) {
            places.insert(result, 0);
        } else if let Some(place) = number().and_then(|fd| places.get_mut(&fd)) {
            match call.split('(').next().unwrap() {
                "read" if result > 0 => {
                    ranges.push((*place, result));
                    *place += result;
                }
                "lseek" => *place = result,
                _ => {}
            }
        }
    }
    Some(ranges)
}

/// Ranges that follow each other made one.
fn joined(ranges: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (offset, len) in ranges {
        match joined.last_mut() {
            Some(last) if last.0 + last.1 == offset => last.1 += len,
            _ => joined.push((offset, len)),
        }
    }
    joined
}

#[test]
fn streams_are_recorded_as_the_system_saw_them() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            FILE *file = fopen(args[1], "r");
            char *line = 0; size_t room = 0; int number;
            CHECK(fgetc(file) >= 0 && getc(file) >= 0 && getc_unlocked(file) >= 0);
            for (int turn = 0; turn < 5000; turn++) CHECK(fgetc(file) >= 0);
            CHECK(fread(bytes, 1, 20000, file) == 20000);
            CHECK(fread(bytes, 3, 7, file) == 7);
            CHECK(fseek(file, 100000, SEEK_SET) == 0);
            CHECK(fgetc(file) >= 0);
            CHECK(fseek(file, 300, SEEK_CUR) == 0);
            CHECK(fgets(bytes, 9000, file));
            for (int turn = 0; turn < 300; turn++) CHECK(getline(&line, &room, file) > 0);
            CHECK(getdelim(&line, &room, 'x', file) > 0);
            CHECK(fseeko(file, 500000, SEEK_SET) == 0);
            fscanf(file, "%d", &number);
            for (int turn = 0; turn < 200000; turn++) CHECK(getc_unlocked(file) >= 0);
            rewind(file);
            CHECK(fread(bytes, 1, 100, file) == 100);
            CHECK(fseek(file, -100, SEEK_END) == 0);
            CHECK(fread(bytes, 1, 1000, file) == 100);
            CHECK(fclose(file) == 0);
            return 0;
        }"#,
    );
    program.run();
    let calls = program.calls();
    assert!(calls.iter().all(|call| call.kind == Kind::Stdio && call.context != 0), "{calls:?}");
    let Some(seen) = traced(program.plain(), &program.data(), program.folder.path()) else {
        eprintln!("SKIPPED: streams against what strace sees: there is no strace, or it may not trace");
        return;
    };
    let recorded = calls.iter().map(|call| (call.offset, call.len));
    assert_eq!(joined(recorded), joined(seen));
}

#[test]
fn scanning_and_printing_take_any_arguments() {
    let source = r#"
        int main(int count, char **args) {
            FILE *file = fopen("text", "w+");
            double a, b; float c; int d, e, f, g; char word[20], other[20]; long long big;
            fprintf(file, "%d %d %d %d %s %f %g %Lf %lld %c%c %d %s\n", 1, 2, 3, 4, "five", 6.5, 7.25, 8.125L, 9LL, 'a', 'b', 12, "end");
            rewind(file);
            CHECK(fscanf(file, "%d %d %d %d %s %lf %lf %f %lld %s %d", &d, &e, &f, &g, word, &a, &b, &c, &big, other, &count) == 11);
            fprintf(stdout, "%d %d %d %d %s %g %g %g %lld %s %d\n", d, e, f, g, word, a, b, c, big, other, count);
            CHECK(fscanf(file, "%s", word) == 1 && fscanf(file, "%s", word) == EOF);
            return 0;
        }"#;
    for options in [&[][..], &["-D_FORTIFY_SOURCE=2"], &["-std=c2x"]] {
        let program = Program::with(source, options);
        assert_eq!(String::from_utf8_lossy(&program.run().stdout), "1 2 3 4 five 6.5 7.25 8.125 9 ab 12\n");
    }
}

#[test]
fn threads_are_recorded_apart_and_lose_nothing() {
    let program = Program::new(
        r#"
        static int fd;
        static void *work(void *which) {
            for (long turn = 0; turn < 5000; turn++) CHECK(at(fd, (long)which * 50000 + turn, 1) == 1);
            return 0;
        }
        int main(int count, char **args) {
            fd = open(args[1], O_RDONLY);
            for (volatile int round = 0; round < 2; round++) {
                pthread_t threads[8];
                for (long which = 0; which < 8; which++) pthread_create(&threads[which], 0, work, (void *)which);
                for (long which = 0; which < 8; which++) pthread_join(threads[which], 0);
            }
            return 0;
        }"#,
    );
    program.run();
    let calls = program.calls();
    assert_eq!(calls.len(), 2 * 8 * 5000);
    let mut of = BTreeMap::<(u32, u64), Vec<u64>>::new();
    calls.iter().for_each(|call| of.entry((call.tid, call.offset / 50_000)).or_default().push(call.offset));
    assert_eq!(of.len(), 16, "two rounds of eight threads");
    assert!(of.values().all(|offsets| offsets.len() == 5000 && offsets.is_sorted()));
    assert!(calls.iter().all(|call| call.context == calls[0].context));
}

#[test]
fn a_killed_program_loses_nothing() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            for (int turn = 0; turn < 3000; turn++) CHECK(pread(fd, bytes, 7, turn) == 7);
            write(1, "x", 1);
            pause();
        }"#,
    );
    let mut child = program.preload(program.plain()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for(child.stdout.as_ref().unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    let calls = program.calls();
    assert_eq!(calls.len(), 3000);
    assert!(calls.iter().enumerate().all(|(turn, call)| call.offset == turn as u64));
}

#[test]
fn processes_that_are_forked_and_executed_have_logs_of_their_own() {
    let program = Program::new(
        r#"
        PLACE static void reap(void) { int status; CHECK(wait(&status) > 0 && status == 0); }
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            if (count > 2) { at(fd, 900, 1); return 0; }
            at(fd, 0, 1);
            if (!fork()) { at(fd, 100, 1); if (!fork()) { at(fd, 200, 1); _exit(0); } reap(); _exit(0); }
            reap();
            /* Past the C library, which runs nothing on the way. */
            if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) { at(fd, 300, 1); _exit(0); }
            reap();
            if (!vfork()) { read(fd, bytes, 1); _exit(0); }
            reap();
            char *arguments[] = {args[0], args[1], "more", 0};
            pid_t spawned;
            CHECK(posix_spawn(&spawned, args[0], 0, 0, arguments, environ) == 0);
            reap();
            at(fd, 400, 1);
            execv(args[0], arguments);
            return 1;
        }"#,
    );
    program.run();
    let calls = program.calls();
    let pids = |offset: u64| calls.iter().filter(|call| call.offset == offset).map(|call| call.pid).collect::<Vec<_>>();
    let [parent, child, grandchild, raw] = [400, 100, 200, 300].map(|offset| {
        let [pid] = pids(offset)[..] else { panic!("{offset}: {calls:?}") };
        pid
    });
    // The child of vfork is the parent, as far as memory goes.
    assert_eq!(pids(0), [parent, parent]);
    assert!(calls.iter().all(|call| call.pid == call.tid && call.context != 0));
    let executed = pids(900);
    assert!(executed.len() == 2 && executed[1] == parent && executed[0] != parent, "{calls:?}");
    assert!([parent, child, grandchild, raw, executed[0]].iter().collect::<std::collections::BTreeSet<_>>().len() == 5);
    assert_eq!(program.recording().programs().len(), 6, "logs");
}

#[test]
fn a_program_that_closes_every_descriptor_is_recorded_still() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            for (int turn = 0; turn < 2000; turn++) at(fd, turn, 1);
            close_range(3, ~0u, 0);
            for (int other = 3; other < 1024; other++) close(other);
            CHECK(open("/dev/null", O_RDONLY) == 3);
            fd = open(args[1], O_RDONLY);
            CHECK(fd == 4);
            /* More than fits into the first stretch of the log. */
            for (int turn = 0; turn < 20000; turn++) at(fd, turn, 2);
            CHECK(open("/dev/null", O_RDONLY) == 5);
            return 0;
        }"#,
    );
    program.run();
    assert_eq!(program.calls().len(), 22_000);
}

#[test]
fn a_file_in_the_place_of_another_is_another() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            for (int turn = 0; turn < 3; turn++) {
                char name[20];
                sprintf(name, "file%d", turn);
                int fd = open(name, O_RDWR | O_CREAT, 0644);
                CHECK(write(fd, bytes, 100 + turn) == 100 + turn && at(fd, 0, 50) == 50);
                close(fd);
                unlink(name);
                usleep(20000);
            }
            return 0;
        }"#,
    );
    succeed(program.preload(program.plain()));
    let recording = program.recording();
    let made =
        recording.files().iter().filter(|file| file.path.to_str().unwrap().contains("/file")).collect::<Vec<_>>();
    let sizes = made.iter().map(|file| file.size).collect::<Vec<_>>();
    assert_eq!(sizes, [100, 101, 102], "{made:?}");
}
