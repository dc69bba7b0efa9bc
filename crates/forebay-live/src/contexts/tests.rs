//! Readers of made-up programs, and an engine that is told of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::DeviceCost;
use forebay_core::{Pattern, Rhythm};
use forebay_source::Source;
use forebay_source::memory::MemorySource;

use super::*;
use crate::engine::Config;

/// Contexts by thread; threads from 1000 on run `/bin/THREAD`.
#[derive(Default)]
struct Fake {
    contexts: Mutex<HashMap<u32, u64>>,
    looks: AtomicUsize,
}

impl Programs for Arc<Fake> {
    fn context(&self, reader: Reader) -> Option<u64> {
        self.contexts.lock().get(&reader.thread).copied()
    }

    fn executable(&self, thread: u32) -> Option<Executable> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        (thread >= 1000).then(|| Executable { path: format!("/bin/{thread}"), build: "b".into() })
    }

    fn origins(&self, user: u32, wanted: &[u64]) -> BTreeMap<u64, Origin> {
        let origin =
            |id| Origin { executable: format!("/bin/of-{user}"), frames: vec![format!("x+{id}")], ..Origin::default() };
        wanted.iter().map(|&id| (id, origin(id))).collect()
    }
}

/// An engine under a policy that tells contexts apart.
fn engine(policy: &str) -> Arc<Engine> {
    Engine::start(Config::new(32 << 20, policy.parse().unwrap()), vec![DeviceCost::flat(1, 1 << 30, 1)]).unwrap()
}

fn callers(fake: &Arc<Fake>) -> Arc<Callers> {
    Callers::start(&engine("amp"), Arc::clone(fake), None).unwrap().unwrap()
}

fn reader(thread: u32) -> Reader {
    Reader { thread, user: 7 }
}

fn file(name: &str) -> FileName {
    FileName::new(name.into())
}

#[test]
fn contexts_are_numbered_in_order_of_first_appearance() {
    let fake = Arc::new(Fake::default());
    let callers = callers(&fake);
    // The first three share a slot of the front.
    for (thread, id) in [(1, 5 << 32), (2, 6 << 32), (3, 7 << 32), (4, u64::MAX)] {
        fake.contexts.lock().insert(thread, id);
    }
    let numbers = [3, 1, 3, 2, 4, 1, 2, 3].map(|thread| callers.caller(reader(thread), &file("a")).context.0);
    assert_eq!(numbers, [1, 2, 1, 3, 4, 2, 3, 1]);
    assert_eq!(callers.caller(reader(4), &file("b")), Caller { handler: HandlerId(4), context: ContextId(4) });
    let origins = callers.origins(&[ContextId(4), ContextId(0), ContextId(1), ContextId(9)]);
    assert_eq!(origins.keys().copied().collect::<Vec<_>>(), [ContextId(1), ContextId(4)]);
    assert_eq!(origins[&ContextId(4)].0, u64::MAX);
    assert_eq!(origins[&ContextId(4)].1.executable, "/bin/of-7");
}

#[test]
fn a_program_that_says_nothing_is_known_by_its_executable_and_file() {
    let fake = Arc::new(Fake::default());
    let callers = callers(&fake);
    let of = |thread, name| callers.caller(reader(thread), &file(name)).context.0;
    assert_eq!([of(1000, "a"), of(1000, "b"), of(1001, "a"), of(1000, "a"), of(1001, "a")], [1, 2, 3, 1, 3]);
    assert_eq!(fake.looks.load(Ordering::Relaxed), 2, "once for each thread");
    assert_eq!(of(5, "a"), 0, "nothing can be said of it");
    let origins = callers.origins(&[ContextId(2)]);
    let (_, origin) = &origins[&ContextId(2)];
    assert_eq!((origin.executable.as_str(), origin.file.as_deref()), ("/bin/1000", Some("b")));
    // Another thread that runs the same program is in the same contexts, and a slot is for one
    // thread at a time.
    assert_eq!(of(1000 + 1024, "a"), 4, "it runs something else");
    assert_eq!(of(1000, "a"), 1);
}

#[test]
fn there_are_so_many_numbers_and_files_do_not_take_them_all() {
    let fake = Arc::new(Fake::default());
    let callers = callers(&fake);
    for number in 0..interned::MOST / 2 {
        assert_eq!(callers.caller(reader(1000), &file(&number.to_string())).context.0, number as u32 + 1);
    }
    let whole = callers.caller(reader(1000), &file("one more")).context;
    assert_eq!(whole.0 as usize, interned::MOST / 2 + 1, "the executable alone");
    assert_eq!(callers.caller(reader(1000), &file("and more")).context, whole);
    assert_eq!(callers.caller(reader(1000), &file("0")).context, ContextId(1));
    for number in 0..interned::MOST {
        fake.contexts.lock().insert(1, 1 << 40 | number as u64);
        let context = callers.caller(reader(1), &file("x")).context.index();
        let left = number + interned::MOST / 2 + 2;
        assert_eq!(context, if left <= interned::MOST { left } else { 0 });
    }
}

#[test]
fn without_contexts_in_the_policy_nobody_is_asked() {
    let fake = Arc::new(Fake::default());
    assert!(Callers::start(&engine("linux+arc"), Arc::clone(&fake), None).unwrap().is_none());
}

/// Reads a file of `blocks` blocks through the callers by a thread, `rounds` times over.
fn read(callers: &Callers, engine: &Arc<Engine>, thread: u32, blocks: u64, rounds: usize) {
    let object = MemorySource::of(&["x"], blocks * 4096).open("x".as_ref()).unwrap();
    let open = engine.open(object, forebay_core::DeviceId(0));
    for _ in 0..rounds {
        for block in 0..blocks {
            let (sender, receiver) = std::sync::mpsc::channel();
            let caller = callers.caller(reader(thread), &file("x"));
            open.read_by_then(caller, block * 4096, 4096, move |lease| sender.send(lease.is_ok()).unwrap());
            assert!(receiver.recv().unwrap());
        }
    }
}

#[test]
fn a_loop_is_learnt_kept_and_known_from_its_first_access_on_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Hints::at(folder.path().join("contexts.redb"));
    let fake = Arc::new(Fake::default());
    fake.contexts.lock().insert(1, 77);
    let shown = |callers: &Callers, engine: &Arc<Engine>| {
        let mut contexts = engine.stats(&[]).contexts;
        callers.name(&mut contexts);
        contexts
    };
    {
        let engine = engine("amp:review=100");
        let callers = Callers::start(&engine, Arc::clone(&fake), Some(store.clone())).unwrap().unwrap();
        read(&callers, &engine, 1, 9000, 3);
        let contexts = shown(&callers, &engine);
        assert_eq!((contexts.len(), contexts[0].pattern, contexts[0].accesses), (1, Pattern::Looping, 27_000));
        assert_eq!(
            (contexts[0].id.as_str(), contexts[0].origin.frames.as_slice()),
            ("000000000000004d", &["x+77".to_owned()][..])
        );
        assert_eq!(callers.keep().unwrap(), 1);
        assert_eq!(callers.keep().unwrap(), 0, "nothing is new");
    }
    let kept = store.load().unwrap();
    assert_eq!((kept[&77].hint.pattern, kept[&77].origin.executable.as_str()), (Pattern::Looping, "/bin/of-7"));
    let engine = engine("amp:review=100");
    let callers = Callers::start(&engine, Arc::clone(&fake), Some(store.clone())).unwrap().unwrap();
    read(&callers, &engine, 1, 1, 1);
    let contexts = shown(&callers, &engine);
    assert_eq!((contexts[0].accesses, contexts[0].pattern), (1, Pattern::Looping), "after one access");
    assert!(contexts[0].partition.is_some());
    assert_eq!(contexts[0].loop_blocks, kept[&77].hint.rhythm.size);
}

#[test]
fn origins_and_hints_survive_as_they_are() {
    let hint = Hint::of(Pattern::Looping, Rhythm { size: 3, time: 9, deviation: 0 });
    let known = Known { origin: Origin::default(), hint, seen: now() };
    let text = serde_json::to_string(&known).unwrap();
    assert_eq!(serde_json::from_str::<Known>(&text).unwrap(), known);
}

#[test]
fn a_flight_says_contexts_and_hints_and_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, flight) = (Hints::at(folder.path().join("contexts.redb")), folder.path().join("flight"));
    let rhythm = Rhythm { size: 9000, time: 9000, deviation: 10 };
    let hint = Hint::of(Pattern::Looping, rhythm);
    store.merge(&BTreeMap::from([(77, Known { origin: Origin::default(), hint, seen: now() })])).unwrap();
    let fake = Arc::new(Fake::default());
    fake.contexts.lock().extend([(1, 77), (2, 78)]);
    {
        let policy = "competitive+amp+arc".parse().unwrap();
        let config = Config { record: Some(flight.clone()), ..Config::new(32 << 20, policy) };
        let engine = Engine::start(config, vec![DeviceCost::flat(1, 1 << 30, 1)]).unwrap();
        let callers = Callers::start(&engine, Arc::clone(&fake), Some(store)).unwrap().unwrap();
        read(&callers, &engine, 1, 300, 2);
        read(&callers, &engine, 2, 300, 2);
    }
    let text = std::fs::read_to_string(&flight).unwrap();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is not in the flight"));
    assert!(at("\"Hinted\"") < at("\"Read\""), "before its first read");
    assert!(at("\"context\":1,") < at("\"context\":2,"));
    let replayed = crate::flight::replay(&flight).unwrap();
    assert_eq!(replayed.differs_at, None, "{replayed:?}");
    assert!(replayed.events > 1200, "{replayed:?}");
}

#[test]
fn a_table_is_found_when_it_comes_and_when_it_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    let threads = Threads::new(Some(&path)).unwrap();
    let reader = Reader { thread: 4242, user: rustix::process::geteuid().as_raw() };
    assert_eq!(threads.context(reader), None);
    forebay_callers::TableWriter::create(&name).unwrap().set(4242, 7);
    assert_eq!(threads.context(reader), Some(7));
    assert_eq!(threads.context(Reader { thread: 4242 + (1 << 16), ..reader }), None, "another's word");
    assert_eq!(threads.context(Reader { user: 4_000_000_000, ..reader }), None);
    std::fs::remove_file(&path).unwrap();
    let writer = forebay_callers::TableWriter::create(&name).unwrap();
    writer.set(4243, 9);
    let began = std::time::Instant::now();
    while threads.context(Reader { thread: 4243, ..reader }) != Some(9) {
        assert!(began.elapsed().as_secs() < 60, "never seen");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let us = threads.executable(std::process::id()).expect("we are there");
    assert_eq!(us.path, std::env::current_exe().unwrap().display().to_string());
    assert_eq!(threads.executable(0), None);
}

/// The time that contexts add to a read before the engine has it.
#[test]
fn cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    let threads = Threads::new(Some(&path)).unwrap();
    let writer = forebay_callers::TableWriter::create(&name).unwrap();
    writer.set(4242, 7);
    let callers = Callers::start(&engine("amp"), threads, None).unwrap().unwrap();
    let file = file("x");
    let user = rustix::process::geteuid().as_raw();
    for (what, thread) in [("of a preloaded program", 4242), ("of another program", std::process::id())] {
        let reader = Reader { thread, user };
        let first = callers.caller(reader, &file);
        assert_ne!(first.context, ContextId(0));
        let began = std::time::Instant::now();
        for _ in 0..100_000 {
            assert_eq!(callers.caller(std::hint::black_box(reader), &file), first);
        }
        println!("the context of a read {what} takes {:?}", began.elapsed() / 100_000);
    }
}
