//! How a program read in an earlier run, and how it reads now: now outweighs then.

use forebay_core::{ContextId, DeviceCost, EventKind, Hint};

use crate::bench::Bench;

/// Pages of a file.
const FILE: u32 = 100_000;
/// Pages in the time of a switch.
const SWITCH: u32 = 439;

/// A core before a store: 20 ms to the first byte, 90 MB/s on each of eight connections.
fn bench(hints: &[(ContextId, Hint)]) -> Bench {
    let mut bench = Bench::over("auto", DeviceCost::flat(20_000_000, 90_000_000, 8));
    hints.iter().for_each(|&(context, hint)| drop(bench.tell(EventKind::Hinted { context, hint })));
    bench.context = ContextId(1);
    bench
}

/// Reads of this many pages of a file, each from one of `pages` on. Returns how many of them had
/// something fetched, and the pages that were.
fn read(bench: &mut Bench, file: u32, len: u32, pages: impl Iterator<Item = u32>) -> (u32, u32) {
    bench.open(file, FILE.into());
    let (mut fetches, mut fetched) = (0, 0);
    for page in pages {
        let brought = bench.read(file, page.into(), len.into());
        fetches += u32::from(!brought.is_empty());
        fetched += brought.iter().map(|fetch| fetch.extent.len).sum::<u32>();
    }
    bench.core.check();
    (fetches, fetched)
}

fn random() -> impl Iterator<Item = u32> {
    (0..100u32).map(|nth| nth * 61_781 % (FILE - 64))
}

/// The hints that a run of random reads, or of whole scans, leaves.
fn learnt(reads: impl FnOnce(&mut Bench)) -> Vec<(ContextId, Hint)> {
    let mut bench = bench(&[]);
    reads(&mut bench);
    let hints = bench.core.hints();
    assert_eq!(hints.len(), 1, "{hints:?}");
    hints
}

fn learnt_at_random() -> Vec<(ContextId, Hint)> {
    learnt(|bench| _ = read(bench, 0, 64, random()))
}

/// 64 pages are read and 32 skipped: less than is read, and than a switch is worth. Such a reader
/// went from 277 to 51 MB/s once its program was known to read at random, since nothing was fetched
/// for it, and its skips made each of its reads a stream of its own.
#[test]
fn who_read_at_random_and_takes_steps_is_one_stream() {
    for (len, gap) in [(64, 32), (256, 64), (64, 0), (1, 0), (4, 8)] {
        let steps = || (0..FILE / (len + gap)).map(move |nth| nth * (len + gap));
        let (fresh, known) =
            (read(&mut bench(&[]), 0, len, steps()), read(&mut bench(&learnt_at_random()), 0, len, steps()));
        assert!(
            known.0 <= fresh.0 * 11 / 10 + 8,
            "{len} read, {gap} skipped: {known:?} fetches and pages, {fresh:?} without hints"
        );
        assert!(known.1 <= fresh.1 * 11 / 10);
    }
}

/// A reader that still reads at random has no stream: only the blocks read are fetched.
#[test]
fn who_reads_at_random_still_is_known_to() {
    let (_, fetched) = read(&mut bench(&learnt_at_random()), 0, 64, random());
    assert!(fetched <= 100 * 64 + 64, "{fetched} pages for 100 reads of 64");
}

/// The other way round: all of a file was wanted before, and single reads are now. The first ones
/// are believed to go on for as much as a switch is worth, and no more; soon none is.
#[test]
fn who_read_whole_files_and_now_does_not_wastes_little() {
    let whole = |bench: &mut Bench| {
        (0..20).for_each(|file| {
            read(bench, file, 64, (0..FILE / 64 / 10).map(|nth| nth * 64));
            bench.close(file);
        });
    };
    let hints = learnt(whole);
    assert!(hints[0].1.usual.go_on > 14, "{hints:?}");
    let mut bench = bench(&hints);
    let first = read(&mut bench, 100, 64, random().take(1)).1;
    // In equal pieces, rounded up.
    assert!((65..=64 + SWITCH + 8).contains(&first), "{first} pages for the first read");
    let more = read(&mut bench, 101, 64, random().skip(1)).1;
    assert!(more <= 99 * 64 + 8 * SWITCH, "{more} pages for 99 reads of 64");
}

/// A hint counts as the fewest streams that say anything.
#[test]
fn two_streams_refute_a_hint() {
    let mut bench = bench(&learnt_at_random());
    let first = |bench: &mut Bench, file| read(bench, file, 1, core::iter::once(0)).1;
    assert_eq!(first(&mut bench, 0), 1, "nothing is fetched ahead of a program that reads at random");
    for file in 1..3 {
        read(&mut bench, file, 1, 0..100);
        bench.close(file);
    }
    assert_eq!(first(&mut bench, 3), 16, "the first window, as of any other");
}
