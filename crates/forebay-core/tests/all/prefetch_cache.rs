//! Worked examples of CPEM §4 through the whole engine, by the paper's own words, and laws: of a
//! handler that dies, of a thousand that sleep.

use forebay_core::history::{EvictionHistory, Was};
use forebay_core::{BlockKey, CALLED_OFF, EventKind, FileId, HandlerId, Setup};

use crate::bench::{Bench, MS, PAGE, Pace, ibm, setup};

fn bench(policy: &str, frames: u32) -> Bench {
    Bench::on(policy, Setup { streams: 4096, ..setup(frames, vec![ibm()]) }, Pace::READS)
}

/// Fills memory with single pages of files that are not read again.
fn fill(bench: &mut Bench, from: u32, pages: u32) {
    for file in from..from + pages {
        bench.open(file, 1);
        bench.read_by(9, file, 0);
        bench.close(file);
    }
}

#[test]
fn a_prefetched_page_is_in_the_prefetch_cache_until_its_first_reference() {
    let mut bench = bench("competitive-em", 1000);
    bench.open(0, 16);
    bench.held = true;
    bench.read_by(1, 0, 0);
    assert_eq!((bench.core.unread(), bench.core.reclaimer().unwrap().under_way()), (15, 15), "under way");
    bench.arrive();
    assert_eq!((bench.core.unread(), bench.core.reclaimer().unwrap().under_way()), (15, 0), "arrived");
    for page in 1..16 {
        bench.read_by(1, 0, page);
        assert_eq!(bench.core.unread(), 15 - page as u32);
        bench.read_by(1, 0, page);
        assert_eq!(bench.core.unread(), 15 - page as u32, "it moves once");
    }
    assert_eq!(bench.core.counters().used, 15);
}

/// "We initialize the prefetch cache size ceiling, x, to be 25% of the total physical memory"; "the
/// additional maximum per-stream prefetching depth Ŝp = P_mem / N_stream": 512 MB, 512 open files:
/// 64 pages.
#[test]
fn open_files_share_the_ceiling() {
    const FRAMES: u32 = (512 << 20) / PAGE as u32;
    let sizes = |handles: &[u32], policy: &str| {
        let mut bench = bench(policy, FRAMES);
        for (file, &handles) in handles.iter().enumerate() {
            bench.open(file as u32, 100_000);
            bench.tell(EventKind::Handles { file: FileId(file as u32), handles });
        }
        (0..800).for_each(|page| bench.read_by(1, 0, page));
        assert_eq!(bench.core.prefetch_cache().unwrap().ceiling, FRAMES / 4);
        bench.sizes()
    };
    let em = "competitive-em";
    assert_eq!(sizes(&[1], em)[..6], [16, 32, 64, 128, 131, 131], "one stream has its competitive depth");
    assert_eq!(sizes(&[1; 512], em)[..5], [16, 32, 64, 64, 64]);
    assert_eq!(sizes(&[1, 511], em)[..5], [16, 32, 64, 64, 64], "a file that 511 have open is 511 open files");
    assert_eq!(sizes(&[1; 4096], em)[..3], [8, 8, 8], "nor is the first window larger");
    // `auto` with nothing but the cache: by streams that go on (`active`), or as in the paper.
    let bare = "auto:without=whole/lengths/habits/company/near/rent/order/turnover/devices/contexts";
    let active = sizes(&[1; 512], bare);
    assert_eq!(active[..6], [16, 32, 64, 128, 131, 131], "of 512 files one is read");
    assert_eq!(sizes(&[1; 512], &format!("{bare}/active"))[..5], [16, 32, 64, 64, 64]);
}

/// A page that is referenced while it is under way is late, and never in the prefetch cache again.
#[test]
fn a_late_page_goes_to_the_replacement_policy() {
    let mut bench = bench("competitive-em", 1000);
    bench.open(0, 16);
    bench.held = true;
    bench.read_by(1, 0, 0);
    bench.read_by(2, 0, 5);
    let counters = bench.core.counters();
    assert_eq!((counters.late, bench.core.unread()), (1, 14));
    bench.arrive();
    assert_eq!(bench.core.unread(), 14);
    bench.core.check();
}

/// A page that is called off was one of the prefetch cache while it was under way, and is not
/// wasted.
#[test]
fn what_is_called_off_leaves_the_prefetch_cache() {
    let mut bench = bench("competitive-em", 1000);
    bench.open(0, 1000);
    bench.read_by(1, 0, 0);
    bench.held = true;
    bench.read_by(1, 0, 1);
    assert_eq!(bench.core.unread(), 14 + 32);
    bench.close(0);
    let io = bench.called_off[0];
    bench.under_way.clear();
    bench.tell(EventKind::Failed { io, valid: 0, error: CALLED_OFF });
    assert_eq!((bench.core.unread(), bench.core.reclaimer().unwrap().under_way()), (14, 0));
    let counters = bench.core.counters();
    assert_eq!((counters.called_off, counters.wasted), (32, 0));
    bench.core.check();
}

/// "The eviction history is checked to identify its status": a page that was given up unread and is
/// missed has thrashed, and it alone. The paper limits "the eviction history size to 20% of the
/// total number of physical pages".
#[test]
fn the_eviction_history_tells_thrashing_from_lru_misses() {
    let mut bench = bench("competitive-em:start=5,epoch=0", 100);
    bench.open(0, 16);
    bench.read_by(1, 0, 0);
    assert_eq!(bench.core.unread(), 4, "a first window within the ceiling");
    bench.tell(EventKind::Exited { handler: HandlerId(1) });
    // Pages 1 to 4 are handed to the replacement policy as soon as memory is full, and leave when
    // it is their turn.
    let filled = (10..1000).find(|&file| {
        fill(&mut bench, file, 1);
        bench.core.counters().wasted == 4
    });
    assert_eq!((filled, bench.core.unread()), (Some(10 + 95 + 99), 0));
    bench.read_by(2, 0, 4);
    assert_eq!(bench.core.counters().thrashed, 1, "it went a moment ago, and nobody had read it");
    // The page that page 4 has pushed out had been read: an LRU miss.
    bench.read_by(2, filled.unwrap() - 95, 0);
    assert_eq!(bench.core.counters().thrashed, 1);

    let mut history = EvictionHistory::new(1000);
    let key = |block| BlockKey::new(FileId(3), block);
    (0..10_000)
        .for_each(|block| history.evicted(key(block), if block % 2 == 0 { Was::Unread } else { Was::Referenced }));
    let known: Vec<(u32, Was)> = (0..10_000).filter_map(|block| Some((block, history.missed(key(block))?))).collect();
    assert!((200..=256).contains(&known.len()), "a fifth, or the next power of two: {}", known.len());
    assert!(known.iter().all(|&(block, was)| (was == Was::Unread) == (block % 2 == 0)));
}

/// Most of a hundred read blocks are remembered, though thousands of unread ones went after them,
/// where either kind has its own history.
#[test]
fn what_nobody_read_does_not_drive_out_what_was_read() {
    let key = |block| BlockKey::new(FileId(3), block);
    let remembered = |mut history: EvictionHistory| {
        (0..100).for_each(|block| history.evicted(key(block), Was::Referenced));
        (1000..9000).for_each(|block| history.evicted(key(block), Was::Unread));
        (0..100).filter(|&block| history.missed(key(block)) == Some(Was::Referenced)).count()
    };
    let (one, apart) = (remembered(EvictionHistory::new(1000)), remembered(EvictionHistory::apart(1000)));
    // Some map to the same place.
    assert!(one < 10 && apart > 70, "{one}, {apart}");
}

/// A thousand handlers read the first page of a file each, and close it: 15,000 pages that will not
/// be read.
fn a_thousand(bench: &mut Bench) {
    for who in 0..1000 {
        bench.open(1 + who, 1000);
        bench.read_by(10 + who, 1 + who, 0);
        bench.close(1 + who);
    }
    assert_eq!(bench.core.unread(), 15_000);
}

/// How much the stream of file 0 has ahead.
fn ahead(bench: &Bench) -> u32 {
    bench.core.streams().iter().find(|(_, stream)| stream.file == FileId(0)).unwrap().1.remaining()
}

/// "Pages that were prefetched by a currently inactive process are immediately moved": those of a
/// thousand that exited go before any of the one that is alive, also where the ceiling has room for
/// all of them.
#[test]
fn pages_of_the_dead_go_first() {
    for start in [5, 25, 90] {
        let mut bench = bench(&format!("competitive-em:epoch=0,start={start}"), 32_768);
        a_thousand(&mut bench);
        (0..1000).for_each(|who| drop(bench.tell(EventKind::Exited { handler: HandlerId(10 + who) })));
        bench.open(0, 100_000);
        (0..60_000).for_each(|page| bench.read_by(1, 0, page));
        assert_eq!(bench.core.unread(), ahead(&bench), "all that is left is the reader's own");
        let counters = bench.core.counters();
        assert_eq!((counters.wasted, counters.thrashed), (15_000, 0), "all of theirs, and no other");
        bench.core.check();
    }
}

/// Handlers that sleep have had no opportunity: their pages stay while the ceiling has room for
/// them. They leave within two minutes of pressure, and the reader that is awake loses none of its
/// own meanwhile.
#[test]
fn sleepers_keep_their_pages_for_a_while() {
    let mut bench = bench("competitive-em:epoch=0,start=60", 32_768);
    a_thousand(&mut bench);
    let slept = bench.at;
    bench.open(0, 100_000);
    let mut page = 0;
    let mut until = |bench: &mut Bench, at: u64| {
        while bench.at < at {
            bench.at += 2 * MS;
            bench.read_by(1, 0, page);
            page += 1;
        }
    };
    until(&mut bench, slept + 119_000 * MS);
    assert_eq!(bench.core.frames().1, 0, "there is pressure");
    assert_eq!(bench.core.unread(), 15_000 + ahead(&bench));
    until(&mut bench, slept + 121_000 * MS);
    assert_eq!(bench.core.unread(), ahead(&bench), "two minutes are the most");
    until(&mut bench, slept + 205_000 * MS);
    assert_eq!((bench.core.counters().wasted, bench.core.counters().thrashed), (15_000, 0));
}

/// More than the ceiling has room for: every sleeper's page has its second chance, the oldest go,
/// and the reader that is awake still gets all of its pages.
#[test]
fn sleepers_leave_under_pressure() {
    let mut bench = bench("competitive-em:epoch=0,start=25", 32_768);
    a_thousand(&mut bench);
    bench.open(0, 100_000);
    let ceiling = bench.core.prefetch_cache().unwrap().ceiling;
    let mut most = 0;
    for page in 0..60_000 {
        bench.read_by(1, 0, page);
        if bench.core.frames().1 == 0 {
            most = most.max(bench.core.unread());
        }
    }
    assert!((ceiling / 2..=ceiling + 2 * 131).contains(&most), "{most} unread under a ceiling of {ceiling}");
    let counters = bench.core.counters();
    assert_eq!(counters.thrashed, 0);
    assert!(counters.wasted >= 15_000 - u64::from(ceiling), "{counters:?}");
    let known = bench.core.reclaimer().unwrap().marked();
    assert!(known <= ahead(&bench), "who was given a second chance is marked no longer: {known}");
}

/// Fifty readers in turn, in memory for forty pages of each: with the prefetch cache none of them
/// loses a page before it reads it. With windows of 32 pages and one list for all, many do
/// ("prefetching-incurred page thrashing", CPEM §2.3).
#[test]
fn readers_that_take_turns_lose_nothing() {
    let thrashed = |policy: &str| {
        let mut bench = bench(policy, 2_000);
        (0..50).for_each(|file| bench.open(file, 10_000));
        for page in 0..1_000 {
            (0..50).for_each(|file| bench.read_by(1 + file, file, page));
        }
        bench.core.check();
        bench.core.counters().thrashed
    };
    assert_eq!(thrashed("competitive-em"), 0);
    assert!(thrashed("linux") > 1_000, "{}", thrashed("linux"));
}

/// With any device a piece is Ŝp at the most: 300 readers of 4,096 frames share 1,024.
#[test]
fn no_piece_is_longer_than_its_share() {
    let mut bench = bench("competitive-em:epoch=0", 4_096);
    (0..300).for_each(|file| bench.open(file, 10_000));
    (0..300).for_each(|file| drop(bench.tell(EventKind::Handles { file: FileId(file), handles: 1 })));
    for page in 0..50 {
        (0..300).for_each(|file| bench.read_by(1 + file, file, page));
    }
    assert_eq!(bench.sizes().into_iter().max(), Some(1_024 / 300));
}
