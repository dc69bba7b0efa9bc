//! Readers of made-up programs, and an engine that is told of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::DeviceCost;
use forebay_core::context::{Pattern, Rhythm};

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
    Arc::new(Callers {
        engine: Weak::new(),
        programs: Box::new(Arc::clone(fake)),
        plain: Plain::new(),
        interned: Interned::new(),
        known: BTreeMap::new(),
        store: None,
        kept: Mutex::default(),
    })
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
    // Another thread that runs the same is in the same contexts, and a slot is for one thread at a time.
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

#[test]
fn origins_and_hints_survive_as_they_are() {
    let hint = Hint { pattern: Pattern::Looping, rhythm: Rhythm { size: 3, time: 9, deviation: 0 } };
    let known = Known { origin: Origin::default(), hint, seen: 1 };
    let text = serde_json::to_string(&known).unwrap();
    assert_eq!(serde_json::from_str::<Known>(&text).unwrap(), known);
}
