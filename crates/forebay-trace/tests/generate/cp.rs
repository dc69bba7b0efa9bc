//! The workloads of CP and CPEM.

use super::*;

/// CP §3.1: "Each request handler randomly chooses a file and it repeatedly reads 64 KB data blocks
/// until the whole file is accessed", 6000 files of 4 MB.
#[test]
fn one_whole_0() {
    assert_eq!(named("one-whole-0", "", 1).unwrap().files().len(), 6000);
    for task in tasks(&all("one-whole-0", "tasks=20", 1)) {
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
    let requests = all("one-rand-10", "tasks=2000", 1);
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
        let requests = all(name, "tasks=50,think=3", 1);
        let tasks = tasks(&requests);
        assert!(tasks.windows(2).all(|two| two[1][0].at.0 - two[0][0].at.0 == 4 * 3_000_000), "{name}");
        let silent = all(name, "tasks=50,think=0", 1);
        assert!(silent.iter().all(|request| request.at.0 == 0), "{name}");
    }
}

/// CP §3.1: "alternates reading 64 KB data blocks sequentially from two randomly chosen files".
#[test]
fn two_rand_0() {
    for task in tasks(&all("two-rand-0", "tasks=50", 1)) {
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
    let requests = all("four-64kb-0", "tasks=500", 1);
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
    let sizes: Vec<u64> = named("media-clips", "", 1).unwrap().files().iter().map(|file| file.bytes.unwrap()).collect();
    let sum = sizes.iter().sum::<u64>() as f64;
    assert!((sum / 20.4e9 - 1.0).abs() < 0.02, "{sum}");
    assert!((sum / sizes.len() as f64 / 152e3 - 1.0).abs() < 0.02);
    assert!(sizes.iter().all(|size| (24_000..=1_418_000).contains(size)));
    let large = sizes.iter().filter(|&&size| size > 400_000).count() as f64 / sizes.len() as f64;
    assert!((large - 0.09).abs() < 0.005, "{large}");
    for task in tasks(&all("media-clips", "tasks=100", 1)) {
        let bytes: u64 = task.iter().map(|request| u64::from(request.len)).sum();
        assert_eq!(bytes, sizes[task[0].file as usize]);
    }
}

/// Of queries that run already the first scan is a part of one, up to its end; those that come
/// later are as ever.
#[test]
fn blast_may_be_under_way() {
    let cold = "tasks=6,volumes=5,bytes=10000000,scan=1";
    let warm = all("blast", &format!("{cold},running=4"), 1);
    let cold = all("blast", cold, 1);
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
    let requests = all("index-search", "tasks=300", 1);
    let files = named("index-search", "", 1).unwrap().files();
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
        let lists = "keywords=4096,alpha=0.4,longest=27000000,decay=0.25";
        all("index-search", &format!("{lists},tasks=1500,part={part}"), 1)
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
