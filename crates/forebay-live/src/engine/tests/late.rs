//! Readers that join a fetch late, under a clock and a storage that the test moves.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::world::{Bell, Job, Rounds, World};

/// Time stands still but for the test, and work for later is never done.
#[derive(Default)]
struct Still(AtomicU64);

impl World for Still {
    fn now(&self) -> Instant {
        Instant(self.0.load(Ordering::Relaxed))
    }

    fn after(&self, _delay: Duration, _job: Job) {}

    fn spawn(&self, _name: &str, _rounds: Rounds) -> std::io::Result<Bell> {
        Ok(Arc::new(|| {}))
    }
}

/// A file of one block, each fetch of which waits for the test.
struct Held {
    identity: Identity,
    fetches: Mutex<Vec<Fetch>>,
}

impl Object for Held {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, fetch: Fetch) {
        self.fetches.lock().push(fetch);
    }

    fn call_off(&self, _fetch: FetchId) {}
}

struct Scene {
    world: Arc<Still>,
    object: Arc<Held>,
    file: OpenFile,
    answers: Arc<Mutex<Vec<Answer>>>,
}

/// A reader, and the errno that it got; none for bytes.
type Answer = (u32, Option<i32>);

impl Scene {
    fn new() -> Scene {
        let world = Arc::new(Still::default());
        let policy = "none+lru".parse().unwrap();
        let (budget, config) = (Budget::divide(MEMORY, policy).unwrap(), Config::new(MEMORY, policy));
        let engine = Engine::start_in(Arc::clone(&world) as Arc<dyn World>, budget, config, costs(1)).unwrap();
        let object = Arc::new(Held { identity: small(0), fetches: Mutex::default() });
        let file = engine.open(Arc::clone(&object) as Arc<dyn Object>, DeviceId(0));
        Scene { world, object, file, answers: Arc::default() }
    }

    fn read(&self, reader: u32, second: u64) {
        self.at(second);
        let answers = Arc::clone(&self.answers);
        let told =
            move |outcome: Result<Lease>| answers.lock().push((reader, outcome.err().map(|error| error.errno())));
        self.file.read_then(reader, 0, BLOCK, told);
    }

    /// The fetch under way is over.
    fn answer(&self, second: u64, outcome: Result<()>) {
        self.at(second);
        let fetch = self.object.fetches.lock().pop().expect("one is under way");
        fetch.finish(outcome);
    }

    fn at(&self, second: u64) {
        self.world.0.store(second * 1_000_000_000, Ordering::Relaxed);
    }

    fn answers(&self) -> Vec<Answer> {
        std::mem::take(&mut self.answers.lock())
    }

    fn under_way(&self) -> usize {
        self.object.fetches.lock().len()
    }
}

fn given_up() -> Result<()> {
    Err(Error::GivenUp { name: "x".into(), reason: "no answer".into(), after: Duration::from_secs(30) })
}

/// It would have got an error after a few seconds, since the fetch that it joined was old.
#[test]
fn a_reader_that_came_late_has_the_patience_of_a_fetch_of_its_own() {
    let scene = Scene::new();
    scene.read(1, 0);
    scene.read(2, 5);
    scene.read(3, 20);
    assert_eq!(scene.under_way(), 1, "the later ones join");
    scene.answer(30, given_up());
    assert_eq!((scene.answers(), scene.under_way()), (vec![(1, Some(libc::EIO)), (2, Some(libc::EIO))], 1));
    scene.read(4, 35);
    scene.answer(40, Ok(()));
    let mut answers = scene.answers();
    answers.sort_unstable();
    assert_eq!((answers, scene.under_way()), (vec![(3, None), (4, None)], 0));
}

#[test]
fn nobody_waits_for_more_than_two_fetches() {
    let scene = Scene::new();
    scene.read(1, 0);
    scene.read(2, 29);
    scene.answer(30, given_up());
    assert_eq!(scene.answers(), [(1, Some(libc::EIO))]);
    scene.answer(60, given_up());
    assert_eq!((scene.answers(), scene.under_way()), (vec![(2, Some(libc::EIO))], 0));
}

#[test]
fn other_errors_are_for_all_who_wait() {
    let scene = Scene::new();
    scene.read(1, 0);
    scene.read(2, 29);
    scene.answer(30, Err(Error::Stale("x".into())));
    assert_eq!(scene.answers(), [1, 2].map(|reader| (reader, Some(libc::ESTALE))));
    assert_eq!(scene.under_way(), 0);
}
