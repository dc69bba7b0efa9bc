//! The prefetch cache and its reclamation (CPEM §4.1): the paper's order by worked examples, and a
//! naive twin, a queue that knows neither slab nor marks.

use std::collections::{BTreeMap, VecDeque};

use forebay_core::auto::cache::{Cache, CacheParts};
use forebay_core::frames::{FREE, Frames, Slot, UNREAD};
use forebay_core::papers::cpem::{Fate, Marks, PrefetchCache, Settings};
use forebay_core::seams::{Limits, Reclaimer};
use forebay_core::{FrameId, HandlerId, Instant};
use proptest::prelude::*;

/// After so long a page is abandoned, whatever its handler does, milliseconds.
const LIFETIME: u64 = 120_000;
const FRAMES: u32 = 100;

fn millis(at: u64) -> Instant {
    Instant(at * 1_000_000)
}

/// A prefetch cache over frames of its own; pages that leave are free.
struct Bench {
    cache: PrefetchCache,
    frames: Frames,
    at: u64,
    /// Pages passed over that were prefetched before this are stale.
    stale: Option<Instant>,
}

impl Bench {
    /// With a ceiling of this many pages, of a hundred.
    fn new(ceiling: u8) -> Bench {
        Bench::with(Settings { start: ceiling, epoch_ms: 0, ..Settings::PAPER })
    }

    fn with(settings: Settings) -> Bench {
        Bench { cache: PrefetchCache::new(FRAMES, settings), frames: Frames::new(4, FRAMES, 0), at: 1_000, stale: None }
    }

    /// The next free frame is prefetched for `handler`, now.
    fn enter(&mut self, handler: u32) -> Option<u32> {
        let slot = self.frames.front(FREE)?;
        let place = self.cache.marks.enlist(HandlerId(handler), millis(self.at));
        self.cache.enter(&mut self.frames, slot, place, millis(self.at));
        Some(self.frames.frame(slot).0)
    }

    fn reference(&mut self, frame: u32) {
        let slot = self.frames.slot(FrameId(frame));
        self.cache.leave(&self.frames, slot);
        self.frames.move_to_back(slot, FREE);
    }

    /// The pages that have to go, in order.
    fn reclaim(&mut self) -> Vec<u32> {
        let mut gone = Vec::new();
        while let Some(slot) =
            self.cache.reclaim(&mut self.frames, self.cache.ceiling.blocks(), self.stale, millis(self.at))
        {
            self.frames.move_to_back(slot, FREE);
            gone.push(self.frames.frame(slot).0);
        }
        gone
    }

    fn ran(&mut self, handler: u32) {
        self.cache.marks.ran(HandlerId(handler), millis(self.at));
    }

    fn exited(&mut self, handler: u32) {
        self.cache.marks.exited(HandlerId(handler));
    }

    /// The queue from its head.
    fn queue(&self) -> Vec<u32> {
        let towards_tail = |&slot: &Slot| self.frames.towards_front(slot);
        std::iter::successors(self.frames.back(UNREAD), towards_tail).map(|slot| self.frames.frame(slot).0).collect()
    }
}

/// If the cache is all prefetched and under its ceiling, a page must go all the same. Pages of
/// handlers that have exited go before those whose readers are still to come, and each of the
/// latter has its second chance.
#[test]
fn what_nobody_will_read_goes_before_what_somebody_will() {
    let mut bench = Bench::new(100);
    let first = [1, 2, 1, 2].map(|handler| bench.enter(handler).unwrap());
    bench.exited(2);
    let evict = |bench: &mut Bench| {
        let slot = bench.cache.evict(&mut bench.frames, millis(bench.at))?;
        bench.frames.move_to_back(slot, FREE);
        Some(bench.frames.frame(slot).0)
    };
    assert_eq!(evict(&mut bench), Some(first[1]), "the head had a second chance");
    assert_eq!(bench.queue(), [first[2], first[3], first[0]]);
    let held = bench.frames.slot(FrameId(first[2]));
    bench.frames.set_pins(held, 1);
    assert_eq!(evict(&mut bench), Some(first[3]), "who is held stays");
    assert_eq!(evict(&mut bench), Some(first[0]));
    assert_eq!(evict(&mut bench), None);
    bench.frames.set_pins(held, 0);
    assert_eq!(evict(&mut bench), Some(first[2]));
    assert_eq!((bench.queue(), bench.cache.marks.marked()), (vec![], 0));
}

/// "Pages that were prefetched by a currently inactive process", those that were under way when it
/// exited among them.
#[test]
fn what_comes_after_its_handler_has_exited_is_abandoned() {
    let mut bench = Bench::new(100);
    bench.cache.marks.awaits(HandlerId(1), millis(bench.at));
    bench.cache.marks.awaits(HandlerId(1), millis(bench.at));
    bench.exited(1);
    let page = bench.enter(1).unwrap();
    bench.cache.marks.awaits_no_longer(HandlerId(1));
    assert_eq!(bench.reclaim(), [page]);
    let late = bench.enter(1).unwrap();
    bench.cache.marks.awaits_no_longer(HandlerId(1));
    assert_eq!(bench.reclaim(), [late], "the other fetch");
    // The handler is forgotten with its last fetch: its number may be used again.
    bench.enter(1);
    assert_eq!((bench.reclaim(), bench.cache.marks.marked()), (vec![], 1));
}

/// "Prefetched pages are initially attached to the tail of the queue"; "when a page is referenced,
/// it is moved".
#[test]
fn pages_enter_at_the_tail_and_leave_when_referenced() {
    let mut bench = Bench::new(25);
    let pages: Vec<u32> = (0..5).filter_map(|_| bench.enter(1)).collect();
    assert_eq!(bench.queue(), pages);
    bench.reference(pages[2]);
    assert_eq!(bench.queue(), [pages[0], pages[1], pages[3], pages[4]]);
    assert_eq!(bench.cache.marks.marked(), 4);
}

/// "Pages that were prefetched by a currently inactive process are immediately moved": below the
/// ceiling, too.
#[test]
fn below_the_ceiling_nothing_but_abandoned_pages_go() {
    let mut bench = Bench::new(25);
    let dead = [bench.enter(1), bench.enter(1)].map(Option::unwrap);
    let alive = bench.enter(2).unwrap();
    bench.exited(1);
    bench.at += 60_000;
    bench.ran(2);
    assert_eq!(bench.reclaim(), dead);
    assert_eq!(bench.queue(), [alive], "it had its opportunity, but nothing has to go");
    bench.at += 60_000;
    assert_eq!(bench.reclaim(), []);
    bench.at += 1;
    assert_eq!(bench.reclaim(), [alive], "two minutes are the most");
}

/// A page that was passed over would have gone from any other queue by then. Memory has been filled
/// anew since the page came once it was filled twice from some moment on.
#[test]
fn what_was_passed_over_goes_once_memory_was_filled_anew() {
    let parts = CacheParts { rent: false, order: false, active: false, turnover: true };
    let mut cache = Cache::new(FRAMES, Settings { start: 25, epoch_ms: 0, ..Settings::PAPER }, parts);
    let (mut frames, mut at) = (Frames::new(4, FRAMES, 0), 1_000);
    let enter = |cache: &mut Cache, frames: &mut Frames, handler: u32, at: u64| {
        let slot = frames.front(FREE).expect("a frame is free");
        cache.enters(frames, slot, HandlerId(handler), millis(at));
        slot
    };
    // After a second handler `runs` runs, and memory is filled anew: the pages that have to go by
    // then.
    let mut gone = |cache: &mut Cache, frames: &mut Frames, runs: u32| {
        at += 1_000;
        cache.ran(HandlerId(runs), millis(at));
        for _ in 0..FRAMES {
            at += 10;
            cache.wanted(frames, millis(at));
        }
        let next = |cache: &mut Cache, frames: &mut Frames| {
            let slot = cache.gives_up(frames, Limits { sharers: 1, spare: 0 }, millis(at))?;
            frames.move_to_back(slot, FREE);
            Some(slot)
        };
        let slots: Vec<Slot> = std::iter::from_fn(|| next(cache, frames)).collect();
        (slots, at)
    };
    let [passed_over, sleeps] = [1, 2].map(|handler| enter(&mut cache, &mut frames, handler, 1_000));
    let (slots, now) = gone(&mut cache, &mut frames, 1);
    assert_eq!(slots, [], "it may have come during that");
    let later = enter(&mut cache, &mut frames, 1, now);
    assert_eq!(gone(&mut cache, &mut frames, 1).0, [passed_over], "whose handler sleeps is not passed over");
    assert_eq!(gone(&mut cache, &mut frames, 2).0, [sleeps, later]);
}

/// The paper's order: of an inactive process; of one that has had significant opportunity;
/// otherwise "its pid and timestamp fields are invalidated and it is re-attached to the tail", and
/// "when it moves again to the queue head for reclamation, it will be immediately moved".
#[test]
fn above_the_ceiling_pages_go_in_the_papers_order() {
    let mut bench = Bench::new(2);
    let [sleeps, dead, ran, sleeps_too] = [1, 2, 3, 1].map(|handler| bench.enter(handler).unwrap());
    bench.exited(2);
    bench.at += 101;
    bench.ran(3);
    assert_eq!(bench.reclaim(), [dead, ran]);
    assert_eq!(bench.queue(), [sleeps_too, sleeps], "a second chance at the tail, and then there was room");
    let more = [4, 4].map(|handler| bench.enter(handler).unwrap());
    // The one without a mark goes, once those before it have had their second chance.
    assert_eq!(bench.reclaim(), [sleeps, sleeps_too]);
    assert_eq!(bench.queue(), more);
}

/// The opportunity is that between the prefetch and the handler's last execution: significant from
/// a tenth of a second on.
#[test]
fn a_handler_that_ran_for_a_moment_had_no_opportunity() {
    for (ran_after, gone) in [(0, false), (100, false), (101, true)] {
        let mut bench = Bench::new(1);
        let [first, second] = [1, 2].map(|handler| bench.enter(handler).unwrap());
        bench.at += ran_after;
        bench.ran(1);
        bench.at += 1_000;
        // A handler that ran lost its page, else the other one did, after both had a second chance.
        assert_eq!(bench.reclaim(), [first]);
        assert_eq!(bench.cache.marks.marked(), u32::from(gone));
        assert_eq!(bench.queue(), [second]);
    }
}

/// A mark is a page's, and a handler lasts as long as its marks: the knowledge forgotten with the
/// last page does not come back with the next one.
#[test]
fn a_handler_without_pages_is_nobody() {
    let mut marks = Marks::new(4, 100);
    let dead = HandlerId(7);
    let place = marks.enlist(dead, millis(0));
    marks.mark(0, place, millis(0));
    marks.exited(dead);
    assert_eq!(marks.judge(0, millis(1)), Fate::Abandoned);
    marks.invalidate(0);
    assert_eq!(marks.marked(), 0);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    marks.in_question(HandlerId(0), 9, &mut before);
    // A thread number is used again.
    let place = marks.enlist(dead, millis(10));
    marks.mark(1, place, millis(10));
    assert_eq!(marks.judge(1, millis(11)), Fate::SecondChance);
    marks.in_question(HandlerId(0), 9, &mut after);
    assert_eq!((before, after), (vec![], vec![dead]));
}

/// A handler that has exited is not asked about for as long as its pages are there, and is again
/// when it turns out to be alive.
#[test]
fn an_exit_is_news_once() {
    let mut marks = Marks::new(4, 100);
    for (frame, handler) in [7, 8].into_iter().enumerate() {
        let place = marks.enlist(HandlerId(handler), millis(0));
        marks.mark(frame, place, millis(0));
    }
    let asked = |marks: &Marks| {
        let mut out = Vec::new();
        // There is room for one: an exited handler does not take it from those behind it.
        marks.in_question(HandlerId(0), 1, &mut out);
        out
    };
    assert_eq!(asked(&marks), [HandlerId(7)]);
    marks.exited(HandlerId(7));
    assert_eq!(asked(&marks), [HandlerId(8)]);
    marks.ran(HandlerId(7), millis(1));
    assert_eq!(asked(&marks), [HandlerId(7)]);
}

/// The twin: a queue of pages with their marks, and the handlers.
#[derive(Default)]
struct Twin {
    queue: VecDeque<Page>,
    /// When each handler that a mark names ran last, and whether it has exited.
    handlers: BTreeMap<u32, (u64, bool)>,
    ceiling: usize,
    /// Pages looked at.
    looks: usize,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    frame: u32,
    /// "The pid of the prefetching process"; none once it is invalidated.
    pid: Option<u32>,
    prefetched: u64,
}

impl Twin {
    fn enter(&mut self, frame: u32, handler: u32, at: u64) {
        self.handlers.entry(handler).or_insert((at, false));
        self.queue.push_back(Page { frame, pid: Some(handler), prefetched: at });
    }

    fn forget_handlers(&mut self) {
        let queue = &self.queue;
        self.handlers.retain(|handler, _| queue.iter().any(|page| page.pid == Some(*handler)));
    }

    fn reference(&mut self, frame: u32) {
        self.queue.retain(|page| page.frame != frame);
        self.forget_handlers();
    }

    fn reclaim(&mut self, now: u64) -> Vec<u32> {
        let mut gone = Vec::new();
        while let Some(&page) = self.queue.front() {
            self.looks += 1;
            let over = self.queue.len() > self.ceiling;
            let handler = page.pid.map(|pid| self.handlers[&pid]);
            let abandoned = now - page.prefetched > LIFETIME || handler.is_some_and(|(_, exited)| exited);
            let passed_over = handler.is_none_or(|(ran, _)| ran > page.prefetched + 100);
            if abandoned || (passed_over && over) {
                self.queue.pop_front();
                gone.push(page.frame);
            } else if over {
                self.queue.pop_front();
                self.queue.push_back(Page { pid: None, ..page });
            } else {
                break;
            }
            self.forget_handlers();
        }
        gone
    }
}

#[derive(Clone, Debug)]
enum Step {
    Enter { handler: u32, pages: u8 },
    Reference { which: u8 },
    Ran { handler: u32 },
    Exited { handler: u32 },
    Wait { millis: u64 },
    Reclaim,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..5u32, 1..9u8).prop_map(|(handler, pages)| Step::Enter { handler, pages }),
        4 => any::<u8>().prop_map(|which| Step::Reference { which }),
        2 => (0..5u32).prop_map(|handler| Step::Ran { handler }),
        1 => (0..5u32).prop_map(|handler| Step::Exited { handler }),
        3 => (0..300u64).prop_map(|millis| Step::Wait { millis }),
        1 => (0..60_000u64).prop_map(|millis| Step::Wait { millis }),
        6 => Just(Step::Reclaim),
    ];
    proptest::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// The same pages in the same order, the same ones given up, the same handlers in question. No
    /// page is looked at more than twice, but for one look a reclamation at a page that stays.
    #[test]
    fn the_prefetch_cache_is_its_twin(ceiling in 1..=100u8, steps in steps()) {
        let mut bench = Bench::new(ceiling);
        let mut twin = Twin { ceiling: ceiling.into(), ..Twin::default() };
        let (mut entered, mut reclaimed) = (0, 0);
        for step in steps {
            match step {
                Step::Enter { handler, pages } => {
                    for _ in 0..pages {
                        if let Some(frame) = bench.enter(handler) {
                            twin.enter(frame, handler, bench.at);
                            entered += 1;
                        }
                    }
                }
                Step::Reference { which } => {
                    let queue = bench.queue();
                    if let Some(&frame) = queue.get(usize::from(which) % queue.len().max(1)) {
                        bench.reference(frame);
                        twin.reference(frame);
                    }
                }
                Step::Ran { handler } => {
                    bench.ran(handler);
                    let now = bench.at;
                    twin.handlers.entry(handler).and_modify(|known| *known = (now, false));
                }
                Step::Exited { handler } => {
                    bench.exited(handler);
                    twin.handlers.entry(handler).and_modify(|known| known.1 = true);
                }
                Step::Wait { millis } => bench.at += millis,
                Step::Reclaim => {
                    reclaimed += 1;
                    prop_assert_eq!(bench.reclaim(), twin.reclaim(bench.at));
                }
            }
            bench.frames.check_links();
            prop_assert_eq!(bench.queue(), twin.queue.iter().map(|page| page.frame).collect::<Vec<_>>());
            let mut known = Vec::new();
            bench.cache.marks.in_question(HandlerId(u32::MAX), 100, &mut known);
            prop_assert!(known.is_empty());
            bench.cache.marks.in_question(HandlerId(0), 100, &mut known);
            let alive = twin.handlers.iter().filter(|&(&id, &(_, exited))| id > 0 && !exited);
            let expected: Vec<HandlerId> = alive.map(|(&id, _)| HandlerId(id)).collect();
            prop_assert_eq!(known, expected);
        }
        prop_assert!(twin.looks <= 2 * entered + reclaimed, "{} looks at {entered} pages", twin.looks);
    }

    /// Under pressure no page stays for ever, whatever its handler does: not for longer than two
    /// lifetimes, one before its second chance and one after.
    #[test]
    fn no_page_stays_for_ever(ceiling in 1..=100u8, steps in steps()) {
        let mut bench = Bench::new(ceiling);
        let mut since = BTreeMap::new();
        for step in steps {
            match step {
                Step::Enter { handler, pages } => {
                    for _ in 0..pages {
                        let at = bench.at;
                        bench.enter(handler).map(|frame| since.insert(frame, at));
                    }
                }
                Step::Ran { handler } => bench.ran(handler),
                Step::Exited { handler } => bench.exited(handler),
                Step::Wait { millis } => bench.at += millis,
                Step::Reference { .. } | Step::Reclaim => {}
            }
            bench.reclaim();
            let oldest = bench.queue().iter().map(|frame| bench.at - since[frame]).max().unwrap_or(0);
            prop_assert!(oldest <= 2 * LIFETIME, "a page is here for {oldest} ms");
            prop_assert!(bench.queue().len() <= usize::from(ceiling));
        }
    }
}
