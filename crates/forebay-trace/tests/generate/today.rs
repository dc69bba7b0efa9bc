//! Today's loads are as they are described: orders, parts, steps, and what comes again.

use std::collections::{BTreeMap, BTreeSet};

use forebay_trace::{Request, Source};

use super::{all, named, tasks};

/// The bytes of a request.
fn place(request: &Request) -> (u64, u64, u32) {
    (request.file, request.offset, request.len)
}

fn bytes(name: &str, parameters: &str) -> u64 {
    named(name, parameters, 1).unwrap().files().iter().map(|file| file.bytes.unwrap()).sum()
}

#[test]
fn each_epoch_has_every_sample_once_in_an_order_of_its_own() {
    let given = "tasks=300,samples=100";
    let requests = all("epochs", given, 1);
    let epochs: Vec<Vec<u64>> =
        requests.chunks(100).map(|epoch| epoch.iter().map(|request| request.file).collect()).collect();
    for epoch in &epochs {
        assert_eq!(epoch.iter().collect::<BTreeSet<_>>().len(), 100);
    }
    assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2]);
    // Packed, the same samples lie side by side in four files.
    let packed = all("epochs-packed", given, 1);
    assert!(requests.iter().zip(&packed).all(|(one, other)| {
        let sample = other.file * 25 + other.offset / u64::from(other.len);
        (one.file, one.len) == (sample, other.len)
    }));
    assert_eq!(bytes("epochs", ""), 2000 * (112 << 10));
    assert_eq!(bytes("epochs-packed", "samples=7,files=3"), 7 * (112 << 10));
}

#[test]
fn shards_are_read_from_front_to_back() {
    let requests = all("shards", "tasks=6,shards=3", 1);
    for shard in tasks(&requests) {
        let offsets: Vec<u64> = shard.iter().map(|request| request.offset).collect();
        assert_eq!(offsets, (0..64).map(|piece| piece << 16).collect::<Vec<_>>());
    }
}

#[test]
fn a_query_reads_a_footer_and_columns_of_each_row_group() {
    let requests = all("parquet", "", 1);
    let mut known = BTreeSet::new();
    for query in tasks(&requests) {
        assert_eq!((query[0].len, query[1].len), (8, 48 << 10));
        assert_eq!(query[1].offset + u64::from(query[1].len), query[0].offset, "the footer is before the tail");
        let chunks = &query[2..];
        assert!(chunks.len() % 8 == 0 && (2..=5).contains(&(chunks.len() / 8)), "{} chunks", chunks.len());
        assert!(chunks.is_sorted_by_key(|chunk| chunk.offset));
        assert!(chunks.iter().all(|chunk| (16 << 10..=640 << 10).contains(&chunk.len)));
        known.insert(query.iter().map(place).collect::<Vec<_>>());
    }
    assert!(known.len() < 150, "{} different ones of 400 queries", known.len());
}

#[test]
fn ranks_share_large_tensors_and_read_small_ones_whole() {
    let requests = all("checkpoint", "tasks=8,shards=1", 1);
    let mut read: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for rank in tasks(&requests) {
        assert!(rank.iter().all(|request| request.len <= 128 << 10));
        rank.iter().for_each(|request| read.entry(request.offset).or_default().push(request.len.into()));
    }
    let (mut at, mut whole) = (0, 0);
    for (offset, lens) in &read {
        assert_eq!(*offset, at, "no byte is left out");
        assert!(lens.len() == 1 || lens.len() == 8 && lens.iter().all(|len| *len == lens[0]), "{lens:?}");
        whole += u64::from(lens.len() == 8);
        at = offset + lens[0];
    }
    assert_eq!(at, 96 << 20);
    assert!(whole > 5, "{whole} small tensors");
}

#[test]
fn a_second_start_reads_nearly_the_same_in_nearly_the_same_order() {
    let requests = all("container-starts", "images=1,tasks=40", 1);
    let starts: Vec<Vec<_>> = tasks(&requests).iter().map(|start| start.iter().map(place).collect()).collect();
    let mut all: Vec<_> = starts.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 90);
    let mut left_out = 0;
    for pair in starts.windows(2) {
        left_out += 90 - pair[1].len();
        let before: BTreeMap<_, _> = pair[0].iter().zip(0i64..).collect();
        let at: Vec<i64> = pair[1].iter().filter_map(|place| before.get(place).copied()).collect();
        let ascending = at.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(ascending * 10 > at.len() * 7, "{ascending} of {}", at.len());
    }
    assert!((39 * 90 / 40..39 * 90 / 13).contains(&left_out), "{left_out} of {}, a twentieth", 39 * 90);
}

#[test]
fn neighbours_share_their_headers() {
    let requests = all("build", "", 1);
    let headers: Vec<BTreeSet<u64>> =
        tasks(&requests).iter().map(|source| source[1..].iter().map(|request| request.file).collect()).collect();
    let shared = |one: usize, other: usize| headers[one].intersection(&headers[other]).count();
    assert_eq!(shared(0, 1), headers[0].len());
    assert!(shared(0, 25) >= 30 && shared(0, 25) < headers[0].len(), "{}", shared(0, 25));
}

#[test]
fn points_and_steps_are_equally_far_apart() {
    let requests = all("points", "", 1);
    let (mut points, mut planes) = (0, 0);
    for task in tasks(&requests) {
        let apart: BTreeSet<u64> = task.windows(2).map(|pair| pair[1].offset - pair[0].offset).collect();
        match apart.into_iter().collect::<Vec<_>>()[..] {
            [apart] if apart == 8 << 20 => points += 1,
            [apart] if apart == 128 << 10 => planes += 1,
            ref other => panic!("{other:?}"),
        }
    }
    assert!((280..=380).contains(&points) && points + planes == 400, "{points} and {planes}");
    let steps = all("steps", "stride=8M,steps=100", 1);
    let offsets: Vec<u64> = steps.iter().map(|request| request.offset).collect();
    assert_eq!(offsets, (0..100).map(|step| step * (8 << 20)).collect::<Vec<_>>());
    assert!(steps.iter().all(|request| request.len == 32 << 10));
}

#[test]
fn a_window_slides_by_a_segment_after_so_many_scans() {
    let requests = all("log-windows", "tasks=6,window=3,every=2", 1);
    let scans: Vec<(u64, u64)> =
        tasks(&requests).iter().map(|scan| (scan[0].file, scan[scan.len() - 1].file)).collect();
    assert_eq!(scans, [(0, 2), (0, 2), (1, 3), (1, 3), (2, 4), (2, 4)]);
    assert_eq!(bytes("log-windows", "tasks=6,window=3,every=2"), 5 * (4 << 20));
}

#[test]
fn popular_lists_are_read_more_often() {
    let requests = all("vector-lists", "", 1);
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    requests.iter().for_each(|request| *counts.entry(request.offset).or_default() += 1);
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let (all, top): (u32, u32) = (counts.iter().sum(), counts[..100].iter().sum());
    assert_eq!(all, 32_000);
    assert!(top * 4 > all && top * 2 < all, "a hundred lists have {top} of {all}");
}

#[test]
fn a_gene_lies_at_about_the_same_place_in_each_sample() {
    let requests = all("regions", "genes=1,tasks=20", 1);
    let mut starts = BTreeSet::new();
    for task in tasks(&requests) {
        let indexes: BTreeSet<u64> = task.iter().map(|request| request.file).filter(|file| file % 2 == 1).collect();
        assert_eq!(indexes.len(), 3, "a family");
        for index in indexes {
            let read: u64 = task.iter().filter(|request| request.file == index).map(|r| u64::from(r.len)).sum();
            assert_eq!(read, 512 << 10, "an index is read whole");
            let of_gene = |request: &&Request| request.file == index - 1 && request.offset > 0;
            starts.insert(task.iter().find(of_gene).expect("a region").offset);
        }
    }
    let (first, last) = (starts.first().expect("some"), starts.last().expect("some"));
    assert!(starts.len() <= 12 && last - first <= 1 << 20, "{starts:?}");
}

#[test]
fn a_view_is_a_square_of_tiles_that_lie_one_after_another() {
    let requests = all("tiles", "tasks=30", 1);
    for user in tasks(&requests) {
        assert_eq!(place(&user[0]), (user[0].file, 0, 16 << 10), "the header first");
        assert!(user[1..].iter().all(|tile| (24 << 10..96 << 10).contains(&tile.len)));
        // The coarsest overview has four tiles, side by side behind the header.
        let mut at = 16 << 10;
        for tile in &user[1..5] {
            assert_eq!((tile.file, tile.offset), (user[0].file, at));
            at += u64::from(tile.len);
        }
    }
}

#[test]
fn compactions_read_tables_whole_and_nobody_reads_those_again() {
    let requests = all("merge-tree", "tasks=800", 1);
    let mut gone = BTreeSet::new();
    let (mut lookups, mut compactions) = (0, 0);
    for task in tasks(&requests) {
        assert!(task.iter().all(|request| !gone.contains(&request.file)), "a merged table is not in use");
        if task[0].len == 8 << 10 {
            lookups += task.len();
            continue;
        }
        compactions += 1;
        let (merged, made) = task.split_at(4 * 32);
        assert!(made.iter().all(|index| (index.offset, index.len) == (4 << 20, 64 << 10)));
        gone.extend(merged.iter().map(|request| request.file));
    }
    assert!((5..25).contains(&compactions), "{compactions} of 800 tasks, one in 64");
    assert!((16..=18).contains(&(lookups / (800 - compactions))), "{lookups} blocks");
}

#[test]
fn a_conversation_begins_with_its_prompt_and_grows() {
    let requests = all("prefixes", "tasks=60,open=1,applications=4", 1);
    let blocks = |task: &[Request]| {
        let mut blocks: Vec<u64> = task.iter().map(|request| request.file).collect();
        blocks.dedup();
        blocks
    };
    let turns: Vec<Vec<u64>> = tasks(&requests).iter().map(|task| blocks(task)).collect();
    let mut grown = 0;
    for pair in turns.windows(2) {
        let prompt = pair[1][0];
        assert!(prompt % 8 == 0 && prompt < 32 && pair[1][..8].is_sorted(), "{pair:?}");
        match pair[1].starts_with(&pair[0]) && pair[1].len() > pair[0].len() {
            true => grown += 1,
            false => assert_eq!(pair[1].len(), 8, "a new one has no more than its prompt"),
        }
    }
    assert!((30..60).contains(&grown), "{grown} of 59 turns go on");
}

#[test]
fn frequent_terms_have_long_postings() {
    let requests = all("search", "tasks=200", 1);
    let mut read: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for query in tasks(&requests) {
        let documents = query.iter().filter(|request| request.file % 3 == 2).count();
        assert_eq!(documents, 10);
        let mut start = None;
        for request in query.iter().filter(|request| request.file == 1) {
            let run = start.filter(|&(_, end)| end == request.offset).map_or(request.offset, |(start, _)| start);
            start = Some((run, request.offset + u64::from(request.len)));
            read.insert((request.file, run), request.offset + u64::from(request.len) - run);
        }
    }
    let longest = read.values().max().expect("postings");
    assert_eq!(*longest, 512 << 10, "those of the most frequent term");
    let short = read.values().filter(|&&bytes| bytes == 4 << 10).count();
    assert!(short * 2 > read.len(), "{short} of {} terms have a block", read.len());
}

/// The footprint of each load is that of a small machine's memory, a few times.
#[test]
fn all_are_small_enough_to_be_simulated_in_minutes() {
    for name in ["epochs", "epochs-packed", "shards", "parquet", "vector-lists", "checkpoint", "container-starts"]
        .into_iter()
        .chain(["build", "points", "steps", "log-windows"])
        .chain(["regions", "tiles", "merge-tree", "prefixes", "search"])
    {
        let (requests, bytes) = (all(name, "", 1).len(), bytes(name, ""));
        println!("{name}: {requests} requests, {} MiB", bytes >> 20);
        assert!((1000..100_000).contains(&requests), "{name}: {requests} requests");
        assert!((10 << 20..1 << 30).contains(&bytes), "{name}: {bytes} bytes");
    }
}
