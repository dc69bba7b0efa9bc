//! The workloads of SAC.

use super::*;

/// SAC Table 1: sizes, working sets; and which part of it lies on which disk is asked for as often
/// as any other.
#[test]
fn sac() {
    for (name, requests, mean_kb, mb) in
        [("sac-1", 192_000, 256.0, 400.0), ("sac-2", 750_000, 34.0, 425.0), ("sac-3", 750_000, 34.0, 425.0)]
    {
        let trace = all(name, "", 1);
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
        let trace = all(name, "", 1);
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
    assert!(all("sac-hot", "requests=1000", 1).iter().all(|r| r.offset % 8192 == 0 && r.len == 8192));
}

#[test]
fn what_makes_no_sense_for_sac() {
    let error = |name: &str, given: &str| named(name, given, 1).unwrap_err().to_string();
    assert!(error("sac-1", "stripe=1000").contains("stripe=1000"));
    assert!(error("sac-2", "array=1G").contains("four times"));
    assert!(error("sac-2", "mean=1").contains("a block at least"));
    assert!(error("sac-hot", "hot=17").contains("one of the disks"));
}

/// SAC §4.2: "alternates between large reads of several files, which are most likely the database
/// tables, and small reads and writes"; §4.4: a cache of 10 MB hits "near 50 %".
#[test]
fn sac_web() {
    let trace = all("sac-web", "tasks=1500", 1);
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
    for request in &all("sac-web", "tasks=400,writes=0", 1) {
        assert!(request.offset <= used, "{request:?} with {used} used");
        used = used.max((request.offset + u64::from(request.len)).next_multiple_of(4096));
    }
    assert!(used > 30 << 20);
}

#[test]
fn what_makes_no_sense_for_sac_web() {
    let error = |given: &str| named("sac-web", given, 1).unwrap_err().to_string();
    assert!(error("scanned=25").contains("as many tables"));
    assert!(error("written=4k").contains("room for a write"));
    assert!(error("writes=1000").contains("at most 100"));
    assert!(error("large=1").contains("2^16"));
}
