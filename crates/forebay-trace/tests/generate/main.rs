//! Generated workloads: the same for the same seed, and as the papers describe them.

use std::collections::{BTreeMap, BTreeSet};

use forebay_trace::generate::{kinds, named};
use forebay_trace::{Operation, Request, Shape, Source};

fn all(name: &str, parameters: &[(&str, &str)], seed: u64) -> Vec<Request> {
    let mut source = named(name, parameters, seed).unwrap();
    let mut requests = Vec::new();
    while source.read(&mut requests).unwrap() > 0 {}
    requests
}

/// The requests of each task, in order.
fn tasks(requests: &[Request]) -> Vec<&[Request]> {
    requests.chunk_by(|one, other| one.handler == other.handler).collect()
}

/// A few steps of every kind.
fn few(name: &str) -> Vec<(&'static str, &'static str)> {
    let kind = kinds().find(|kind| kind.name == name).unwrap();
    let steps = ["requests", "tasks", "streams"];
    let step = kind.parameters.iter().find(|parameter| steps.contains(&parameter.name)).unwrap();
    let mut few = vec![(step.name, "7")];
    if name == "blast" {
        few.push(("bytes", "10M"));
    }
    few
}

#[test]
fn every_kind_is_made_of_its_defaults_and_the_same_for_the_same_seed() {
    let mut names = BTreeSet::new();
    for kind in kinds() {
        assert!(names.insert(kind.name), "{} is there twice", kind.name);
        let parameters = few(kind.name);
        let requests = all(kind.name, &parameters, 1);
        assert!(requests.len() >= 7, "{}", kind.name);
        assert_eq!(requests, all(kind.name, &parameters, 1), "{}", kind.name);
        assert!(requests.is_sorted_by_key(|request| request.at), "{}", kind.name);
        let source = named(kind.name, &parameters, 1).unwrap();
        let sizes: BTreeMap<u64, u64> = source.files().iter().map(|file| (file.file, file.bytes.unwrap())).collect();
        for request in &requests {
            assert!(request.len > 0);
            if let Some(bytes) = sizes.get(&request.file) {
                assert!(request.offset + u64::from(request.len) <= *bytes, "{} {request:?}", kind.name);
            } else {
                assert!(sizes.is_empty(), "{} {request:?}", kind.name);
            }
        }
        let origin = source.origin().unwrap();
        assert!(origin.starts_with(kind.name) && origin.ends_with("seed=1"), "{origin}");
        // A task's number is its own: it never comes again.
        let repeating = kind.name == "rates" || ["sac", "mul"].contains(&&kind.name[..3]);
        if requests.iter().all(|request| request.handler > 0) && !repeating {
            let handlers: Vec<u32> = tasks(&requests).iter().map(|task| task[0].handler).collect();
            assert_eq!(handlers, (1..=7).collect::<Vec<_>>(), "{}", kind.name);
        }
    }
    let random = ["zipf", "uniform", "mix", "scan-zipf", "one-whole-0", "sac-1", "index-search", "media-clips"];
    for name in random {
        assert_ne!(all(name, &few(name), 1), all(name, &few(name), 2), "{name}");
    }
}

#[test]
fn what_makes_no_sense_says_what_does() {
    let error = |name: &str, parameters: &[(&str, &str)]| named(name, parameters, 1).unwrap_err().to_string();
    assert!(error("ziff", &[]).contains("unknown workload 'ziff'; known are zipf, "));
    assert!(error("zipf", &[("skew", "1")]).contains("no parameter 'skew'; it has requests, objects, alpha, bytes"));
    assert!(error("zipf", &[("objects", "0")]).contains("objects=0"));
    assert!(error("zipf", &[("alpha", "-1")]).contains("zero"));
    assert!(error("zipf", &[("alpha", "NaN")]).contains("zero"));
    assert!(error("one-whole-0", &[("request", "8M")]).contains("request=8388608"));
    let weights = [("zipf", "0"), ("uniform", "0"), ("loop", "0"), ("scan", "0")];
    assert!(error("mix", &weights).contains("weight"));
}

#[test]
fn zipf_has_the_shape_of_objects_and_the_requests_that_were_asked_for() {
    let source = named("zipf", &[], 1).unwrap();
    assert_eq!(source.shape(), Shape::Objects);
    let requests = all("zipf", &[("requests", "100000"), ("objects", "1000"), ("alpha", "1")], 3);
    assert_eq!(requests.len(), 100_000);
    // The most popular of 1000 at alpha 1 has 1 / H(1000) = 13.36 % of the requests.
    let share = requests.iter().filter(|request| request.file == 0).count() as f64 / 100_000.0;
    assert!((share - 0.1336).abs() < 0.005, "{share}");
}

#[test]
fn a_loop_loops_and_a_scan_never_comes_back() {
    let requests = all("loop", &[("requests", "10"), ("blocks", "4")], 1);
    let blocks: Vec<u64> = requests.iter().map(|request| request.offset / 4096).collect();
    assert_eq!(blocks, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
    let requests = all("scan-zipf", &[("requests", "3000"), ("every", "100"), ("scan", "50"), ("blocks", "10")], 1);
    let scanned: Vec<u64> =
        requests.iter().filter(|request| request.file == 1).map(|request| request.offset / 4096).collect();
    assert_eq!(scanned, (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_mixture_follows_its_weights() {
    let requests = all("mix", &[("requests", "70000")], 5);
    let of = |file| requests.iter().filter(|request| request.file == file).count() as f64 / 10_000.0;
    for (file, weight) in [(0, 4.0), (1, 1.0), (2, 1.0), (3, 1.0)] {
        assert!((of(file) - weight).abs() < 0.1, "{file}: {}", of(file));
    }
}

/// CP §3.1: "Each request handler randomly chooses a file and it repeatedly reads 64 KB data blocks
/// until the whole file is accessed", 6000 files of 4 MB.
#[test]
fn one_whole_0() {
    assert_eq!(named("one-whole-0", &[], 1).unwrap().files().len(), 6000);
    for task in tasks(&all("one-whole-0", &[("tasks", "20")], 1)) {
        let offsets: Vec<u64> = task.iter().map(|request| request.offset).collect();
        assert_eq!(offsets, (0..64).map(|n| n << 16).collect::<Vec<_>>());
        assert!(
            task.iter()
                .all(|request| request.len == 65_536 && request.file == task[0].file && request.at == task[0].at)
        );
    }
}

/// CP §3.1: "up to a random total size (evenly distributed between 64 KB and 4 MB). Additionally,
/// we add a 10 ms think time at four random points".
#[test]
fn one_rand_10() {
    let requests = all("one-rand-10", &[("tasks", "2000")], 1);
    let mut sizes = Vec::new();
    let tasks = tasks(&requests);
    for (task, next) in tasks.iter().zip(&tasks[1..]) {
        let bytes: u64 = task.iter().map(|request| u64::from(request.len)).sum();
        assert!((65_536..=4 << 20).contains(&bytes));
        sizes.push(bytes as f64);
        // The task ends when its last think time has passed, which is when the next one begins.
        assert_eq!(next[0].at.0 - task[0].at.0, 4 * 10_000_000);
        assert!(task.windows(2).all(|two| (two[1].at.0 - two[0].at.0) % 10_000_000 == 0));
    }
    // CPEM Table 1: 2 MB in the mean.
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64 / f64::from(1 << 20);
    assert!((mean - 2.03).abs() < 0.1, "{mean}");
}

/// The name's last part is the think time; any microbenchmark may be given another.
#[test]
fn every_microbenchmark_can_think() {
    for name in ["one-whole-0", "one-rand-10", "two-rand-0", "four-64kb-0"] {
        let requests = all(name, &[("tasks", "50"), ("think", "3")], 1);
        let tasks = tasks(&requests);
        assert!(tasks.windows(2).all(|two| two[1][0].at.0 - two[0][0].at.0 == 4 * 3_000_000), "{name}");
        let silent = all(name, &[("tasks", "50"), ("think", "0")], 1);
        assert!(silent.iter().all(|request| request.at.0 == 0), "{name}");
    }
}

/// CP §3.1: "alternates reading 64 KB data blocks sequentially from two randomly chosen files".
#[test]
fn two_rand_0() {
    for task in tasks(&all("two-rand-0", &[("tasks", "50")], 1)) {
        let files: Vec<u64> = task.iter().map(|request| request.file).collect();
        let distinct: BTreeSet<u64> = files.iter().copied().collect();
        assert_eq!(distinct.len(), 2);
        let shorter = distinct.iter().map(|file| files.iter().filter(|other| *other == file).count()).min().unwrap();
        assert!(files[..2 * shorter].windows(2).all(|two| two[0] != two[1]));
        for file in distinct {
            let offsets: Vec<u64> =
                task.iter().filter(|request| request.file == file).map(|request| request.offset).collect();
            assert_eq!(offsets, (0..offsets.len() as u64).map(|n| n << 16).collect::<Vec<_>>());
        }
    }
}

/// CP §3.1: "randomly chooses four files and reads a 64 KB random data block from each file".
#[test]
fn four_64kb_0() {
    let requests = all("four-64kb-0", &[("tasks", "500")], 1);
    for task in tasks(&requests) {
        assert_eq!(task.len(), 4);
        assert_eq!(task.iter().map(|request| request.file).collect::<BTreeSet<_>>().len(), 4);
        assert!(task.iter().all(|request| request.len == 65_536 && request.offset % 65_536 == 0));
    }
    assert!(requests.iter().map(|request| request.offset).collect::<BTreeSet<_>>().len() > 60);
}

/// CPEM §5.1: 24 to 1418 KB, 152 KB in the mean, 9 % large, 20.4 GB in all; each read whole.
#[test]
fn media_clips() {
    let sizes: Vec<u64> =
        named("media-clips", &[], 1).unwrap().files().iter().map(|file| file.bytes.unwrap()).collect();
    let sum = sizes.iter().sum::<u64>() as f64;
    assert!((sum / 20.4e9 - 1.0).abs() < 0.02, "{sum}");
    assert!((sum / sizes.len() as f64 / 152e3 - 1.0).abs() < 0.02);
    assert!(sizes.iter().all(|size| (24_000..=1_418_000).contains(size)));
    let large = sizes.iter().filter(|&&size| size > 400_000).count() as f64 / sizes.len() as f64;
    assert!((large - 0.09).abs() < 0.005, "{large}");
    for task in tasks(&all("media-clips", &[("tasks", "100")], 1)) {
        let bytes: u64 = task.iter().map(|request| u64::from(request.len)).sum();
        assert_eq!(bytes, sizes[task[0].file as usize]);
    }
}

/// Of queries that run already the first scan is a part of one, up to its end; those that come
/// later are as ever.
#[test]
fn blast_may_be_under_way() {
    let cold = [("tasks", "6"), ("volumes", "5"), ("bytes", "10000000"), ("scan", "1")];
    let warm = all("blast", &[&cold[..], &[("running", "4")]].concat(), 1);
    let cold = all("blast", &cold, 1);
    let scans = |requests: &[Request]| -> Vec<u64> {
        tasks(requests)
            .iter()
            .map(|task| task.iter().filter(|read| read.file % 3 == 1).map(|read| u64::from(read.len)).sum())
            .collect()
    };
    assert_eq!(scans(&cold), [10_000_000; 6]);
    let scanned = scans(&warm);
    assert!(scanned[..4].iter().all(|&bytes| bytes < 10_000_000) && scanned[4..] == [10_000_000; 2], "{scanned:?}");
    let begins = tasks(&warm).iter().map(|task| task[0].file % 3).collect::<Vec<_>>();
    assert_eq!(begins, [1, 1, 1, 1, 0, 0], "an index is read first, once");
}

/// CPEM §5.1: a binary search on the mapping file for each keyword, then the index, 8 partitions,
/// in several streams.
#[test]
fn index_search() {
    let requests = all("index-search", &[("tasks", "300")], 1);
    let files = named("index-search", &[], 1).unwrap().files();
    assert_eq!(files.len(), 9);
    assert_eq!(files[0].bytes, Some(522_000_000));
    let mut streams = 0.0;
    for task in tasks(&requests) {
        let probes = task.iter().filter(|request| request.file == 0).count();
        let sequences = task.iter().filter(|request| request.file > 0);
        let mut ends: BTreeSet<(u64, u64)> = BTreeSet::new();
        let mut begun = 0;
        for request in sequences {
            begun += usize::from(!ends.remove(&(request.file, request.offset)));
            ends.insert((request.file, request.offset + u64::from(request.len)));
        }
        // 21.75 million entries are halved 25 times at most, the last few within one page.
        assert!(probes <= 25 * begun.max(1) && probes > 0, "{probes} probes, {begun} streams");
        streams += begun as f64;
    }
    assert!((1.9..2.7).contains(&(streams / 300.0)), "{streams}");
}

/// Lists that together are as long as the index, of which a part is read: 27 MB · Σ r^-0.65 / Σ
/// r^-0.4 is a list in the mean, and half of it is read.
#[test]
fn index_search_in_part() {
    let with = |part| {
        let lists = [("keywords", "4096"), ("alpha", "0.4"), ("longest", "27000000"), ("decay", "0.25")];
        all("index-search", &[&lists[..], &[("tasks", "1500"), ("part", part)]].concat(), 1)
    };
    let sums = [0.25, 0.65, 0.4].map(|power| (1..=4096).map(|rank| f64::from(rank).powf(-power)).sum::<f64>());
    assert!((27e6 * sums[0] / 18.5e9 - 1.0).abs() < 0.02, "as long as the index");
    let mean = 27e6 * sums[1] / sums[2];
    for (part, share) in [("1", 1.0), ("0", 0.5)] {
        let requests = with(part);
        let bytes: f64 = requests.iter().filter(|r| r.file > 0).map(|r| f64::from(r.len)).sum();
        let words = 2.3 * 1500.0;
        assert!((bytes / words / (mean * share) - 1.0).abs() < 0.1, "{part}: {} of {mean}", bytes / words);
    }
}

/// SAC Table 1: sizes, working sets; and which part of it lies on which disk is asked for as often
/// as any other.
#[test]
fn sac() {
    for (name, requests, mean_kb, mb) in
        [("sac-1", 192_000, 256.0, 400.0), ("sac-2", 750_000, 34.0, 425.0), ("sac-3", 750_000, 34.0, 425.0)]
    {
        let trace = all(name, &[], 1);
        assert_eq!(trace.len(), requests);
        let mean = trace.iter().map(|request| f64::from(request.len)).sum::<f64>() / requests as f64 / 1024.0;
        assert!((mean / mean_kb - 1.0).abs() < 0.02, "{name}: {mean}");
        let extents: BTreeSet<(u64, u32)> = trace.iter().map(|request| (request.offset, request.len)).collect();
        let set = extents.iter().map(|extent| f64::from(extent.1)).sum::<f64>() / f64::from(1 << 20);
        assert!((set / mb - 1.0).abs() < 0.01, "{name}: {set}");
        let last = extents.last().unwrap();
        assert!(last.0 + u64::from(last.1) <= 16 * 9_000_000_000 && last.0 > 15 * 9_000_000_000, "over whole disks");
    }
}

/// The disk that a request begins on: each as often as any other, around disk 7, or one ten times
/// as often as another.
#[test]
fn sac_disks() {
    let disks = |name| {
        let trace = all(name, &[], 1);
        (trace.len() as f64, trace.into_iter().map(|request| (request.offset / 8192 % 16) as f64).collect::<Vec<_>>())
    };
    let (_, uniform) = disks("sac-2");
    assert!((0..16).all(|disk| uniform.iter().filter(|&&at| at == f64::from(disk)).count().abs_diff(46_875) < 5_000));
    let (count, gaussian) = disks("sac-3");
    let mean = gaussian.iter().sum::<f64>() / count;
    let deviation = (gaussian.iter().map(|disk| (disk - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert!((mean - 7.0).abs() < 0.1 && (deviation - 3.0).abs() < 0.1, "{mean} {deviation}");
    let (count, hot) = disks("sac-hot");
    let of = |disk: f64| hot.iter().filter(|&&at| at == disk).count() as f64 / count;
    assert!((of(6.0) - 0.4).abs() < 0.01 && (of(5.0) - 0.04).abs() < 0.004 && (of(15.0) - 0.04).abs() < 0.004);
    assert!(all("sac-hot", &[("requests", "1000")], 1).iter().all(|r| r.offset % 8192 == 0 && r.len == 8192));
}

#[test]
fn what_makes_no_sense_for_sac() {
    let error = |name: &str, given: (&str, &str)| named(name, &[given], 1).unwrap_err().to_string();
    assert!(error("sac-1", ("stripe", "1000")).contains("stripe=1000"));
    assert!(error("sac-2", ("array", "1G")).contains("four times"));
    assert!(error("sac-2", ("mean", "1")).contains("a block at least"));
    assert!(error("sac-hot", ("hot", "17")).contains("one of the disks"));
}

/// SAC §4.2: "alternates between large reads of several files, which are most likely the database
/// tables, and small reads and writes"; §4.4: a cache of 10 MB hits "near 50 %".
#[test]
fn sac_web() {
    let trace = all("sac-web", &[("tasks", "1500")], 1);
    let (writes, reads): (Vec<Request>, Vec<Request>) =
        trace.iter().partition(|request| request.operation == Operation::Write);
    let (large, small): (Vec<Request>, Vec<Request>) = reads.iter().partition(|request| request.len > 8192);
    // Five images of 12 KiB, exponentially distributed, in pieces of 8 KiB: 5 / (1 - e^(-8/12)).
    let pages = 1500.0;
    assert!((small.len() as f64 / pages - 10.28).abs() < 1.0, "{} small reads", small.len());
    assert!((writes.len() as f64 / small.len() as f64 - 0.2).abs() < 0.02, "{} writes", writes.len());
    let scanned = large.iter().map(|request| f64::from(request.len)).sum::<f64>() / pages / f64::from(1 << 20);
    assert!((2.4..3.6).contains(&scanned), "three tables of 1 MiB in the mean, a page: {scanned}");
    // They take turns: large ones come in runs of one page's tables.
    let runs = reads.chunk_by(|one, other| (one.len > 8192) == (other.len > 8192)).count() as f64;
    assert!(runs > 1.9 * pages, "{runs}");
    let rate = hit_rate(&trace, 10 * 256);
    assert!((rate - 0.5).abs() < 0.05, "{rate}");
}

/// How often a cache of so many blocks has what is read: LRU as its name says, by the time of the
/// last use.
fn hit_rate(trace: &[Request], frames: usize) -> f64 {
    let (mut last, mut by_time) = (BTreeMap::new(), BTreeMap::new());
    let (mut hits, mut now) = (0u64, 0u64);
    for request in trace.iter().filter(|request| request.operation == Operation::Read) {
        for block in request.offset / 4096..(request.offset + u64::from(request.len)).div_ceil(4096) {
            now += 1;
            if let Some(before) = last.insert(block, now) {
                hits += 1;
                by_time.remove(&before);
            } else if last.len() > frames
                && let Some((_, oldest)) = by_time.pop_first()
            {
                last.remove(&oldest);
            }
            by_time.insert(now, block);
        }
    }
    hits as f64 / now as f64
}

/// SAC §4.4: "the policy lays out blocks in the order of first access".
#[test]
fn sac_web_is_laid_out_in_the_order_of_first_access() {
    let mut used = 0;
    // (The log begins behind the image in hand.)
    for request in &all("sac-web", &[("tasks", "400"), ("writes", "0")], 1) {
        assert!(request.offset <= used, "{request:?} with {used} used");
        used = used.max((request.offset + u64::from(request.len)).next_multiple_of(4096));
    }
    assert!(used > 30 << 20);
}

#[test]
fn what_makes_no_sense_for_sac_web() {
    let error = |given: (&str, &str)| named("sac-web", &[given], 1).unwrap_err().to_string();
    assert!(error(("scanned", "25")).contains("as many tables"));
    assert!(error(("written", "4k")).contains("room for a write"));
    assert!(error(("writes", "1000")).contains("at most 100"));
    assert!(error(("large", "1")).contains("2^16"));
}

/// SCM §5.2.4: 16 to 128 KB, a request every 33 ms, each stream a file of its own; where in its
/// beat a stream begins is random.
#[test]
fn video() {
    let requests = all("vod", &[("streams", "40"), ("length", "50")], 1);
    let (mut sizes, mut phases) = (BTreeSet::new(), BTreeSet::new());
    for task in tasks(&requests) {
        assert_eq!(task.len(), 50);
        sizes.insert(task[0].len);
        phases.insert(task[1].at.0 - task[0].at.0);
        for (number, two) in task.windows(2).enumerate() {
            let pause = two[1].at.0 - two[0].at.0;
            assert!(if number == 0 { pause <= 33_000_000 } else { pause == 33_000_000 });
            assert_eq!((two[1].file, two[1].offset), (two[0].file, two[0].offset + u64::from(two[0].len)));
        }
    }
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [16 << 10, 32 << 10, 64 << 10, 128 << 10]);
    assert!(phases.len() > 30, "{phases:?}");
}

/// Read page by page, as a kernel does it, a request is the same bytes at the same moment.
#[test]
fn video_page_by_page() {
    let whole = all("vod", &[("streams", "5"), ("length", "9")], 4);
    let pages = all("vod", &[("streams", "5"), ("length", "9"), ("part", "4k")], 4);
    let mut pages = pages.into_iter();
    for request in whole {
        for offset in (request.offset..request.offset + u64::from(request.len)).step_by(4096) {
            assert_eq!(pages.next(), Some(Request { offset, len: 4096, ..request }));
        }
    }
    assert_eq!(pages.next(), None);
}

/// SCM §5.2.1: 1000 and 3000 requests a second of 4 KB, each from a file of 1 GB.
#[test]
fn regular_rates() {
    let requests = all("rates", &[("requests", "40000")], 1);
    let of = |handler| requests.iter().filter(move |request| request.handler == handler);
    assert_eq!((of(1).count(), of(2).count()), (10_000, 30_000));
    for (number, request) in of(2).enumerate() {
        assert_eq!((request.offset, request.len), (number as u64 * 4096, 4096));
        assert!(request.at.0.abs_diff(number as u64 * 1_000_000 / 3) <= 1, "{request:?}");
    }
    let sizes: Vec<_> = named("rates", &[], 1).unwrap().files().iter().map(|file| file.bytes).collect();
    assert_eq!(sizes, [Some(1 << 30); 2]);
    // Who comes to the end of the file begins anew.
    let again = all("rates", &[("requests", "10"), ("streams", "1"), ("bytes", "20k"), ("request", "8k")], 1);
    let offsets: Vec<u64> = again.iter().map(|request| request.offset / 8192).collect();
    assert_eq!(offsets, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}

/// The mean and the deviation of requests in a slot are those that were asked for, below the mean
/// and far above it.
#[test]
fn irregular_rates() {
    for (rate, deviation, slot_ms) in [("1000", "1", 1), ("1000", "7", 1), ("2000", "4.5", 10), ("2000", "60", 10)] {
        let slot = slot_ms.to_string();
        let others = [("others", rate), ("deviations", deviation), ("slot", &slot)];
        let requests = all("rates", &[&[("requests", "600000"), ("rate", rate)], &others[..]].concat(), 2);
        let irregular: Vec<u64> = requests
            .iter()
            .filter(|request| request.handler == 2)
            .map(|request| request.at.0 / 1_000_000 / slot_ms)
            .collect();
        // The last slot is cut off.
        let mut counts = vec![0.0; *irregular.last().unwrap() as usize];
        irregular.iter().for_each(|&slot| {
            if let Some(count) = counts.get_mut(slot as usize) {
                *count += 1.0
            }
        });
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / counts.len() as f64;
        let wanted = rate.parse::<f64>().unwrap() / 1000.0 * slot_ms as f64;
        assert!((mean / wanted - 1.0).abs() < 0.05, "{rate}, {deviation}: {mean} in a slot");
        // To be a whole number adds up to a quarter.
        let wanted = deviation.parse::<f64>().unwrap();
        assert!((variance.sqrt() / wanted - 1.0).abs() < 0.15, "{rate}, {deviation}: deviation {}", variance.sqrt());
    }
}

/// SCM §5.2.2: files of 128 MB, one after the other; who waits for nothing has its bandwidth.
#[test]
fn copies() {
    let parameters = [("fast", "60000000"), ("slow", "4000000"), ("slowest", "250000"), ("seconds", "4")];
    let requests = all("copies", &parameters, 1);
    let tasks = tasks(&requests);
    assert_eq!(tasks.len(), 8);
    let rate = |task: &[Request]| {
        let bytes: u64 = task.iter().map(|request| u64::from(request.len)).sum();
        bytes as f64 / (task.last().unwrap().at.0 - task[0].at.0) as f64 * 1e9
    };
    let rates: Vec<f64> = tasks.iter().map(|task| rate(task)).collect();
    assert!((rates[0] / 6e7 - 1.0).abs() < 0.01 && (rates[1] / 4e6 - 1.0).abs() < 0.01, "{rates:?}");
    assert!((rates[7] / 250e3 - 1.0).abs() < 0.01 && rates.is_sorted_by(|one, next| one > next), "{rates:?}");
    let files: BTreeSet<u64> = tasks[0].iter().map(|request| request.file).collect();
    assert_eq!(files.len(), 2, "240 MB");
    assert!(tasks[0].windows(2).all(|two| two[1].offset == 0 || two[1].offset == two[0].offset + 4096));
    assert!(named("copies", &parameters, 1).unwrap().files().iter().all(|file| file.bytes == Some(128 << 20)));
}

/// SCM §5.2.3: twenty downloads from five sites, four each; "faster clients download larger files,
/// so that all download requests have close execution time".
#[test]
fn downloads() {
    let requests = all("downloads", &[("seconds", "2")], 1);
    let tasks = tasks(&requests);
    assert_eq!(tasks.len(), 20);
    let bytes = |task: &[Request]| task.iter().map(|request| u64::from(request.len)).sum::<u64>();
    for (number, task) in tasks.iter().enumerate() {
        assert!(task.iter().all(|request| request.file == number as u64));
        let seconds = (task.last().unwrap().at.0 - task[0].at.0) as f64 / 1e9;
        assert!((seconds - 2.0).abs() < 0.02, "{seconds}");
        assert_eq!(bytes(task), bytes(tasks[number % 5]), "client {number}");
    }
    assert_eq!((bytes(tasks[0]), bytes(tasks[2]), bytes(tasks[4])), (16_000_000, 4_000_000, 1_000_000));
}

/// SCM §5.2.4: "composed of mostly random accesses".
#[test]
fn queries() {
    let requests = all("tpch", &[("tasks", "3"), ("length", "4000"), ("bytes", "1G")], 1);
    assert_eq!(tasks(&requests).iter().map(|task| task.len()).collect::<Vec<_>>(), [4000; 3]);
    let goes_on = |two: &[Request]| two[1].file == two[0].file && two[1].offset == two[0].offset + 8192;
    let share = requests.windows(2).filter(|two| goes_on(two)).count() as f64 / requests.len() as f64;
    assert!((share - 0.1).abs() < 0.015, "{share}");
}

#[test]
fn what_makes_no_sense_for_scm() {
    let error = |name: &str, given: (&str, &str)| named(name, &[given], 1).unwrap_err().to_string();
    assert!(error("rates", ("others", "0")).contains("requests a second"));
    assert!(error("rates", ("slot", "0")).contains("a millisecond at least"));
    assert!(error("rates", ("deviations", "1e9")).contains("1000 times the mean"));
    assert!(error("rates", ("request", "2G")).contains("no more than a file"));
    assert!(error("rates", ("streams", "9999999")).contains("at most 2^20"));
    assert!(error("copies", ("bytes", "1")).contains("at most 2^24 files"));
    assert!(error("tpch", ("files", "4000000000")).contains("has a page"));
}

/// The blocks that a request touches.
fn blocks(request: &Request) -> u64 {
    (request.offset + u64::from(request.len) - 1) / 4096 - request.offset / 4096 + 1
}

#[test]
fn applications_run_at_the_same_time_in_the_proportions_of_how_they_compute() {
    let share = |requests: &[Request], handler: u32| {
        requests.iter().filter(|request| request.handler == handler).count() as f64 / requests.len() as f64
    };
    let three = all("multi-3", &[("requests", "50000")], 1);
    assert!((share(&three, 1) - 0.2).abs() < 0.01 && (share(&three, 2) - 0.8).abs() < 0.01);
    let two = all("multi-2", &[("requests", "50000")], 1);
    // 100 µs, 1 ms and 400 µs: 10 : 1 : 2.5.
    assert!((share(&two, 1) - 0.74).abs() < 0.01 && (share(&two, 2) - 0.074).abs() < 0.005);
    assert_eq!(share(&all("multi-1", &[("requests", "5000")], 1), 3), 0.0);
    // They take turns: no tenth of the trace lacks one of them.
    assert!(two.chunks(5000).all(|part| (1..=3).all(|handler| share(part, handler) > 0.05)));
}

#[test]
fn a_database_is_mostly_random_and_some_records_cross_a_border() {
    let requests = all("multi-3", &[("requests", "100000")], 3);
    let database: Vec<&Request> = requests.iter().filter(|request| request.handler == 2).collect();
    let goes_on =
        |pair: &&[&Request]| pair[0].file == pair[1].file && pair[0].offset + u64::from(pair[0].len) == pair[1].offset;
    let sequential = database.windows(2).filter(goes_on).count() as f64 / database.len() as f64;
    assert!((0.05..0.2).contains(&sequential), "{sequential}");
    let records: Vec<u64> =
        database.iter().filter(|request| request.len < 4096).map(|request| blocks(request)).collect();
    let two = records.iter().filter(|&&blocks| blocks == 2).count() as f64 / records.len() as f64;
    // 512 · (1 to 8) bytes at any sector: (n − 1) / 8 of those of n sectors, of which all but n = 8
    // are counted here.
    assert!((two - 3.0 / 8.0).abs() < 0.02 && records.iter().all(|&blocks| blocks <= 2), "{two}");
}

#[test]
fn cscope_reads_its_index_again_and_again_and_gcc_favours_some_headers() {
    let requests = all("multi-1", &[("requests", "20000"), ("scale", "0.02")], 1);
    let begins = requests.iter().filter(|request| request.file == 0 && request.offset == 0).count();
    assert!(begins > 10, "{begins}");
    let mut often: BTreeMap<u64, u32> = BTreeMap::new();
    requests
        .iter()
        .filter(|request| request.handler == 2)
        .for_each(|request| *often.entry(request.file).or_default() += 1);
    let most = often.values().max().copied().unwrap_or(0);
    let all: u32 = often.values().sum();
    assert!(most * 10 > all && often.len() > 20, "{most} of {all} for {} files", often.len());
}
