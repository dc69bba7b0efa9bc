//! Calls that have the same context, and calls that have not.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use crate::program::{Program, becomes, compile, wait_for};

/// How many different ones there are.
fn different(ids: &[u64]) -> usize {
    ids.iter().collect::<BTreeSet<_>>().len()
}

#[test]
fn a_place_has_one_id_in_every_run_and_another_than_other_places() {
    let program = Program::new(
        r#"
        PLACE static void one(int fd) { at(fd, 0, 10); at(fd, 10, 10); __asm__ volatile(""); }
        PLACE static void other(int fd) { one(fd); __asm__ volatile(""); }
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            for (volatile int turn = 0; turn < 3; turn++) one(fd);
            other(fd);
            read(fd, bytes, 10);
            printf("%p", (void *)main);
        }"#,
    );
    let first = program.run();
    let ids = program.contexts();
    assert_eq!(ids.len(), 9);
    assert!(ids[..6].chunks(2).all(|pair| pair == &ids[..2]), "{ids:x?}");
    let places = [ids[0], ids[1], ids[6], ids[7], ids[8]];
    assert!(different(&places) == 5 && !places.contains(&0), "{ids:x?}");
    program.forget();
    let second = program.run();
    assert_eq!(program.contexts(), ids);
    let moved = std::fs::read_to_string("/proc/sys/kernel/randomize_va_space").is_ok_and(|how| how.trim() == "2");
    assert!(!moved || first.stdout != second.stdout, "the program was loaded at the same address twice");
    // Another build of the program is another program.
    let other = Program::new("int main(int count, char **args) { int fd = open(args[1], O_RDONLY); at(fd, 0, 10); }");
    other.run();
    assert!(!ids.contains(&other.contexts()[0]));
}

#[test]
fn an_id_is_named_by_its_program_and_its_frames() {
    let program = Program::new(
        r#"
        PLACE static void inner(int fd) { at(fd, 0, 10); __asm__ volatile(""); }
        int main(int count, char **args) { inner(open(args[1], O_RDONLY)); inner(open(args[1], O_RDONLY)); return 0; }"#,
    );
    program.run();
    let (recording, names, ids) = (program.recording(), program.names(), program.contexts());
    assert_eq!(different(&ids), 2);
    for id in ids {
        let context = names.context(id).expect("it has a name");
        assert_eq!(recording.context(id), Some(context));
        assert_eq!(context.program.path, program.path.to_str().unwrap());
        // at, inner, main; the C library's; _start
        let own: Vec<_> = context.frames.iter().filter(|frame| frame.module.is_empty()).collect();
        assert_eq!(own.len(), 4, "{context:?}");
        assert!(own.iter().all(|frame| frame.build == context.program.build && frame.build.len() >= 16));
        assert!(context.frames.iter().all(|frame| !frame.module.contains("forebay")));
    }
}

#[test]
fn without_a_build_id_the_file_tells_builds_apart() {
    let source = "int main(int count, char **args) { at(open(args[1], O_RDONLY), 0, 10); return 0; }";
    let program = Program::with(source, &["-Wl,--build-id=none"]);
    program.run();
    let ids = program.contexts();
    program.run();
    assert_eq!(program.contexts(), [ids[0], ids[0]]);
    let build = program.names().context(ids[0]).unwrap().program.build.clone();
    assert!(build.starts_with('s') && build.contains("-m"), "{build}");
    // As if it had been built a day earlier.
    let file = std::fs::File::options().append(true).open(&program.path).unwrap();
    let day = std::time::Duration::from_secs(86_400);
    file.set_modified(file.metadata().unwrap().modified().unwrap() - day).unwrap();
    drop(file);
    program.run();
    assert_eq!(different(&program.contexts()), 2);
}

#[test]
fn a_recursion_has_one_id_at_any_depth_and_a_deep_one_another() {
    let program = Program::new(
        r#"
        PLACE static int down(int fd, int depth) {
            if (depth) { int below = down(fd, depth - 1); __asm__ volatile(""); return below + 1; }
            return at(fd, 0, 10);
        }
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY), depths[] = {1, 2, 7, 30, 70, 71, 72, 1000, 10000};
            for (volatile int turn = 0; turn < 9; turn++) down(fd, depths[turn]);
            return 0;
        }"#,
    );
    program.run();
    let ids = program.contexts();
    assert!(ids.len() == 9 && different(&ids[..4]) == 1 && different(&ids[4..]) == 1, "{ids:x?}");
    let names = program.names();
    assert!(names.context(ids[8]).unwrap().frames.len() < names.context(ids[0]).unwrap().frames.len());
}

#[test]
fn frame_pointers_give_the_ids_that_tables_give() {
    let source = r#"
        PLACE static void one(int fd) { at(fd, 0, 10); __asm__ volatile(""); }
        PLACE static void two(int fd) { char room[200]; memset(room, fd, 200); __asm__ volatile("" :: "r"(room) : "memory"); one(fd); one(fd); __asm__ volatile(""); }
        int main(int count, char **args) { two(open(args[1], O_RDONLY)); _exit(0); }"#;
    let program = Program::with(source, &["-fno-omit-frame-pointer"]);
    program.run();
    let own = |program: &Program| {
        let names = program.names();
        let frames = |id: u64| names.context(id).unwrap().frames.clone();
        let ids = program.contexts();
        ids.into_iter().map(|id| frames(id)[..4].to_vec()).collect::<Vec<_>>()
    };
    let tables = own(&program);
    program.forget();
    let mut command = program.preload(program.plain());
    command.env("FOREBAY_UNWIND", "frame-pointers");
    crate::program::succeed(command);
    // The C library has none, so only the program's own frames can be compared.
    let (first, second) = (&own(&program)[0], &own(&program)[1]);
    assert_eq!((&first[..3], &second[..3]), (&tables[0][..3], &tables[1][..3]));
}

#[test]
fn plugins_are_told_apart_also_where_one_lies_in_the_place_of_another() {
    let program = Program::new(
        r#"
        int main(int count, char **args) {
            int fd = open(args[1], O_RDONLY);
            for (int turn = 0; turn < 6; turn++) {
                void *plugin = dlopen(turn % 2 ? "./second.so" : "./first.so", RTLD_NOW);
                CHECK(plugin);
                ((void (*)(int))dlsym(plugin, "work"))(fd);
                CHECK(dlclose(plugin) == 0);
            }
            return 0;
        }"#,
    );
    let plugin = |name: &str, source| compile(&program.folder.path().join(name), source, &["-shared", "-fPIC"]);
    plugin("first.so", "void work(int fd) { at(fd, 0, 10); __asm__ volatile(\"\"); }");
    plugin(
        "second.so",
        "void work(int fd) { char room[300]; memset(room, fd, 300); at(fd, room[9], 10); __asm__ volatile(\"\" :: \"r\"(room)); }",
    );
    program.run();
    let ids = program.contexts();
    assert_eq!(ids.len(), 6);
    assert!(different(&ids) == 2 && ids[0] != ids[1] && ids[..2] == ids[2..4], "{ids:x?}");
    let names = program.names();
    for (id, module) in ids.into_iter().zip(["first.so", "second.so"]) {
        let frames = &names.context(id).unwrap().frames;
        assert!(frames[0].module.ends_with(module) && frames.len() >= 4, "{frames:?}");
    }
}

#[test]
fn coroutines_and_realigned_frames_are_walked_like_any_other() {
    let program = Program::new(
        r#"
        static ucontext_t home, away;
        static int fd;
        PLACE static void work(void) { at(fd, 0, 10); swapcontext(&away, &home); at(fd, 10, 10); __asm__ volatile(""); }
        static void begin(void) { work(); __asm__ volatile(""); }
        /* A frame of a size known at run time, aligned beyond the stack. */
        PLACE static void wide(int size) {
            char __attribute__((aligned(64))) room[64]; char other[size];
            memset(room, size, 64); memset(other, 1, size);
            __asm__ volatile("" :: "r"(room), "r"(other) : "memory");
            at(fd, 0, 10);
            __asm__ volatile("");
        }
        int main(int count, char **args) {
            fd = open(args[1], O_RDONLY);
            for (volatile int turn = 0; turn < 3; turn++) {
                char *stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                getcontext(&away);
                away.uc_stack.ss_sp = stack; away.uc_stack.ss_size = 65536; away.uc_link = &home;
                makecontext(&away, begin, 0);
                swapcontext(&home, &away);
                at(fd, 20, 10);
                swapcontext(&home, &away);
                munmap(stack, 65536);
            }
            wide(1000 + count);
            wide(100000 + count);
            return 0;
        }"#,
    );
    program.run();
    let ids = program.contexts();
    assert_eq!(ids.len(), 11);
    assert!(ids[..9].chunks(3).all(|turn| turn == &ids[..3]) && different(&ids) == 5, "{ids:x?}");
    let names = program.names();
    // at, work, begin, the C library's; then at, wide, main, the C library's two, _start.
    assert!(names.context(ids[0]).unwrap().frames.len() >= 3);
    assert_eq!(names.context(ids[9]).unwrap().frames.len(), 6, "{:?}", names.context(ids[9]));
}

#[test]
fn the_table_tells_of_a_thread_while_it_waits_and_no_longer() {
    let program = Program::new(
        r#"
        static void *wait_for_byte(void *pipe) { char byte; read(*(int *)pipe, &byte, 1); __asm__ volatile(""); return 0; }
        int main(int count, char **args) {
            char byte;
            int never[2]; pthread_t thread;
            CHECK(pipe(never) == 0);
            read(0, &byte, 1);
            pthread_create(&thread, 0, wait_for_byte, never);
            read(0, &byte, 1);
            pthread_cancel(thread);
            pthread_join(thread, 0);
            write(1, "x", 1);
            read(0, &byte, 1);
            return 0;
        }"#,
    );
    let mut command = program.preload(program.plain());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    assert!(becomes(|| program.table_path().exists()
        && forebay_callers::Table::open(&program.table_path(), rustix::process::geteuid().as_raw()).is_ok()));
    let table = program.table();
    assert!(becomes(|| table.get(child.id()).is_some()), "nothing is known of the thread that waits");
    let first = table.get(child.id()).unwrap();
    stdin.write_all(b"x").unwrap();
    assert!(becomes(|| table.get(child.id()).is_some_and(|id| id != first)));
    let threads = || {
        let entries = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|tid| *tid != child.id())
            .collect::<Vec<u32>>()
    };
    assert!(becomes(|| threads().iter().any(|tid| table.get(*tid).is_some())));
    let thread = threads()[0];
    stdin.write_all(b"x").unwrap();
    wait_for(child.stdout.as_ref().unwrap());
    // The thread was cancelled within its call.
    assert_eq!(table.get(thread), None);
    assert!(becomes(|| table.get(child.id()).is_some()));
    stdin.write_all(b"x").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(table.get(child.id()), None);
}
