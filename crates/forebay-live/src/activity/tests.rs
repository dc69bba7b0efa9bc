//! Watching threads: fakes of the operating system, and real ones.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

/// An operating system whose threads do as they are told.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<BTreeMap<u32, Sight>>>, Arc<Mutex<Vec<u32>>>);

impl Threads for Fake {
    fn look(&mut self, thread: u32) -> Sight {
        self.1.lock().push(thread);
        self.0.lock().get(&thread).copied().unwrap_or(Sight::Gone)
    }
}

impl Fake {
    fn set(&self, thread: u32, sight: Sight) {
        self.0.lock().insert(thread, sight);
    }
}

fn handlers(numbers: impl IntoIterator<Item = u32>) -> Vec<HandlerId> {
    numbers.into_iter().map(HandlerId).collect()
}

/// An asker with a fixed list of handlers that notes the answers.
#[derive(Clone)]
struct Curious {
    questions: Vec<HandlerId>,
    told: Arc<Mutex<Vec<EventKind>>>,
}

impl Asker for Curious {
    fn questions(&self, after: HandlerId, most: usize) -> Option<Vec<HandlerId>> {
        Some(self.questions.iter().copied().filter(|&handler| handler > after).take(most).collect())
    }

    fn tell(&self, seen: EventKind) {
        self.told.lock().push(seen);
    }
}

impl Curious {
    fn about(mut questions: Vec<HandlerId>) -> Curious {
        questions.sort_unstable();
        Curious { questions, told: Arc::default() }
    }

    /// Waits until it is told; the limit is for a test that hangs.
    fn hears(&self, what: EventKind) {
        let began = Instant::now();
        while !self.told.lock().contains(&what) {
            assert!(began.elapsed() < Duration::from_secs(60), "{what:?} is not told; {:?}", self.told.lock());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The events that one round tells.
fn round(watch: &mut Watch, fake: &mut Fake, questions: &[HandlerId]) -> Vec<EventKind> {
    let asker = Curious::about(questions.to_vec());
    assert_eq!(watch.round(&asker, fake), Some(!questions.is_empty()));
    asker.told.lock().clone()
}

#[test]
fn a_handler_ran_if_it_has_run_for_longer_than_when_it_was_seen_last() {
    let (mut watch, mut fake, one) = (Watch::default(), Fake::default(), handlers([7]));
    let ran = [EventKind::Ran { handler: HandlerId(7) }];
    fake.set(7, Sight::Alive(100));
    assert_eq!(round(&mut watch, &mut fake, &one), [], "it may have run before anything was fetched for it");
    assert_eq!(round(&mut watch, &mut fake, &one), [], "it sleeps");
    fake.set(7, Sight::Alive(101));
    assert_eq!(round(&mut watch, &mut fake, &one), ran);
    fake.set(7, Sight::Unknown);
    assert_eq!(round(&mut watch, &mut fake, &one), [], "what is not known is not told");
    fake.set(7, Sight::Alive(5));
    assert_eq!(round(&mut watch, &mut fake, &one), ran, "another thread of this number");
    fake.set(7, Sight::Gone);
    assert_eq!(round(&mut watch, &mut fake, &one), [EventKind::Exited { handler: HandlerId(7) }]);
    fake.set(7, Sight::Alive(900));
    assert_eq!(round(&mut watch, &mut fake, &one), [], "a number that is used again is somebody new");
}

#[test]
fn who_was_out_of_question_meanwhile_is_seen_for_the_first_time_again() {
    let (mut watch, mut fake) = (Watch::default(), Fake::default());
    fake.set(1, Sight::Alive(1));
    round(&mut watch, &mut fake, &handlers([1]));
    round(&mut watch, &mut fake, &[]);
    fake.set(1, Sight::Alive(2));
    assert_eq!(round(&mut watch, &mut fake, &handlers([1])), []);
    assert!(watch.run.len() == 1);
}

proptest! {
    /// A round looks at no more handlers than it may, however many are in question. All have their
    /// turn before any has a second, and handlers that are in question no longer are forgotten.
    #[test]
    fn every_handler_has_its_turn(numbers in proptest::collection::btree_set(1..5000u32, 1..400), kept in 0..400usize) {
        let (mut watch, mut fake) = (Watch::default(), Fake::default());
        numbers.iter().for_each(|&number| fake.set(number, Sight::Alive(1)));
        let all = Curious::about(handlers(numbers.iter().copied()));
        for _ in 0..numbers.len() / LOOKS + 1 {
            let before = fake.1.lock().len();
            watch.round(&all, &mut fake);
            prop_assert!(fake.1.lock().len() - before <= LOOKS);
        }
        prop_assert_eq!(&*fake.1.lock(), &numbers.iter().copied().collect::<Vec<_>>());
        let rest = Curious::about(handlers(numbers.iter().copied().take(kept)));
        for _ in 0..numbers.len() / LOOKS + 1 {
            watch.round(&rest, &mut fake);
        }
        prop_assert_eq!(watch.run.into_keys().collect::<Vec<_>>(), rest.questions);
    }
}

fn own_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Three threads of this process: one sleeps, one works, one ends.
#[test]
fn real_threads_that_sleep_work_and_end() {
    let over = Arc::new(AtomicBool::new(false));
    let (ids, known) = channel();
    let (end, ends) = channel::<()>();
    let (wake, sleeps) = channel::<()>();
    let start = |work: Box<dyn FnOnce() + Send>| {
        let ids = ids.clone();
        let thread = std::thread::spawn(move || {
            ids.send(own_id()).unwrap();
            work();
        });
        (HandlerId(known.recv().unwrap()), thread)
    };
    let (sleeper, sleeping) = start(Box::new(move || sleeps.recv().unwrap_or_default()));
    let working_until = Arc::clone(&over);
    let (worker, working) = start(Box::new(move || {
        while !working_until.load(Ordering::Relaxed) {
            std::hint::spin_loop();
            std::thread::yield_now();
        }
    }));
    let (mortal, dying) = start(Box::new(move || ends.recv().unwrap_or_default()));
    let asker = Curious::about(vec![sleeper, worker, mortal]);
    let watcher = Watcher::of(asker.clone(), Proc::default()).unwrap();
    asker.hears(EventKind::Ran { handler: worker });
    assert!(!asker.told.lock().contains(&EventKind::Exited { handler: mortal }));
    drop(end);
    dying.join().unwrap();
    asker.hears(EventKind::Exited { handler: mortal });
    assert!(!asker.told.lock().contains(&EventKind::Exited { handler: sleeper }), "it sleeps");
    drop(watcher);
    let told = asker.told.lock().len();
    over.store(true, Ordering::Relaxed);
    drop(wake);
    sleeping.join().unwrap();
    working.join().unwrap();
    assert_eq!(asker.told.lock().len(), told, "nobody watches any more");
}

#[test]
fn a_sleeping_thread_has_not_run_and_a_dead_process_is_gone_before_it_is_asked_for() {
    let mut proc = Proc::default();
    let mut sleeper = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    // Until it has begun to sleep it runs, and before that it may wait for a processor.
    let began = Instant::now();
    let asleep = |proc: &mut Proc| match [proc.look(sleeper.id()), proc.look(sleeper.id())] {
        [Sight::Alive(before), Sight::Alive(after)] => before > 0 && before == after,
        looks => panic!("{looks:?}"),
    };
    while !asleep(&mut proc) {
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    sleeper.kill().unwrap();
    let began = Instant::now();
    // Its parent has not waited for it: it is a zombie.
    while proc.look(sleeper.id()) != Sight::Gone {
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    sleeper.wait().unwrap();
    assert_eq!(proc.look(sleeper.id()), Sight::Gone);
    assert_eq!(proc.look(0), Sight::Unknown, "a reader of another namespace");
}

#[test]
fn a_policy_that_does_not_ask_has_no_thread() {
    use crate::engine::Config;
    let config = Config::new(64 << 20, "linux".parse().unwrap());
    let engine = Engine::start(config, vec![forebay_core::DeviceCost::flat(1, 1 << 30, 1)]).unwrap();
    assert!(Watcher::start(&engine, Fake::default()).unwrap().is_none());
}

/// Not a test of speed but the figure that the module's head leaves out: run it with `--nocapture`.
#[test]
fn cost() {
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let ends = Arc::new(Mutex::new(ends));
    let (ids, known) = channel();
    let sleepers: Vec<_> = (0..LOOKS)
        .map(|_| {
            let (ids, ends) = (ids.clone(), Arc::clone(&ends));
            std::thread::spawn(move || {
                ids.send(HandlerId(own_id())).unwrap();
                let _ = ends.lock().recv();
            })
        })
        .collect();
    let asker = Curious::about(known.iter().take(LOOKS).collect());
    let (mut watch, mut proc) = (Watch::default(), Proc::default());
    watch.round(&asker, &mut proc);
    let began = Instant::now();
    for _ in 0..40 {
        watch.round(&asker, &mut proc);
    }
    println!("a round of {LOOKS} looks takes {:?}, and there is one every {PERIOD:?}", began.elapsed() / 20);
    assert!(!asker.told.lock().iter().any(|seen| matches!(seen, EventKind::Exited { .. })));
    drop(end);
    sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
}
