//! Real traces, read to their ends, against counts and figures from elsewhere.
//!
//! The traces are others' and not in this repository: they are looked for in the folder that
//! `FOREBAY_TRACES` names, else in `../shared/traces` beside the repository. Without them nothing
//! is checked, and the tests say so.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};

use forebay_trace::{Format, Operation, Options, Request, Shape, open};

/// The folder of traces, if it is there.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = env::var_os("FOREBAY_TRACES").map_or_else(beside, PathBuf::from);
    if !folder.join("lirs").is_dir() {
        println!("SKIPPED: no traces in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn all(path: &Path, options: &Options) -> (Shape, Vec<Request>) {
    let mut source = open(path, options).unwrap();
    let (shape, mut requests) = (source.shape(), Vec::new());
    while source.read(&mut requests).unwrap() > 0 {}
    let (read, total) = source.progress();
    assert_eq!(read, total, "{} is read to its end", path.display());
    (shape, requests)
}

fn distinct(requests: &[Request]) -> usize {
    requests.iter().map(|request| (request.file, request.offset)).collect::<BTreeSet<_>>().len()
}

#[test]
fn lirs_traces_have_the_requests_that_two_simulators_counted() {
    let Some(folder) = folder() else { return };
    let golden = std::fs::read_to_string(folder.join("golden-libcachesim.tsv")).unwrap();
    let counts: BTreeMap<&str, usize> = golden
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|fields| (fields[0], fields[3].parse().unwrap()))
        .collect();
    assert_eq!(counts.len(), 6);
    for (name, count) in counts {
        let (shape, requests) = all(&folder.join(format!("lirs/{name}.trace.gz")), &Options::default());
        assert_eq!(shape, Shape::Ranges { block_bytes: 4096 });
        // libCacheSim passes over one line of this file; it has 133,996, each a number.
        let passed_over = usize::from(name == "sprite");
        assert_eq!(requests.len(), count + passed_over, "{name}");
        assert!(requests.iter().all(|request| request.len == 4096 && request.offset % 4096 == 0 && request.file == 0));
    }
}

#[test]
fn lines_with_a_star_are_no_requests() {
    let Some(folder) = folder() else { return };
    let (_, requests) = all(&folder.join("lirs/cs.trace.gz"), &Options::default());
    // 6,783 lines, two of them with a star; the paper counts 1,409 blocks.
    assert_eq!(requests.len(), 6781);
    assert_eq!(distinct(&requests), 1409);
}

#[test]
fn arc_traces_have_the_requests_and_blocks_of_their_texts() {
    let Some(folder) = folder() else { return };
    for (name, lines, blocks) in [("OLTP", 914_145, 914_145u64), ("P3", 238_578, 0)] {
        let (shape, requests) = all(&folder.join(format!("arc/{name}.lis.zst")), &Options::default());
        assert_eq!(shape, Shape::Ranges { block_bytes: 512 });
        assert_eq!(requests.len(), lines, "{name}");
        let sectors: u64 = requests.iter().map(|request| u64::from(request.len) / 512).sum();
        if blocks > 0 {
            assert_eq!(sectors, blocks, "{name}");
        } else {
            // "94–98 % of requests span several blocks"
            let several = requests.iter().filter(|request| request.len > 512).count() as f64 / lines as f64;
            assert!((0.94..=0.98).contains(&several), "{several}");
        }
    }
}

#[test]
fn a_virtual_disk_of_cloudphysics() {
    let Some(folder) = folder() else { return };
    let path = folder.join("cloudphysics/cloudPhysicsIO.vscsi.zst");
    let (shape, requests) = all(&path, &Options::default());
    assert_eq!(shape, Shape::Ranges { block_bytes: 4096 });
    let of = |operation| requests.iter().filter(|request| request.operation == operation).count();
    assert_eq!((of(Operation::Read), of(Operation::Write)), (46_974, 66_898));
    assert_eq!(requests[0].at.0, 0);
    let seconds = requests.last().unwrap().at.0 as f64 / 1e9;
    assert_eq!(seconds.round(), 7200.0);
    assert!(requests.is_sorted_by_key(|request| request.at));
    // The first record, by its bytes: block 0x028f1a09, 512 bytes, written.
    let first = Request { offset: 0x028f_1a09 * 512, len: 512, operation: Operation::Write, ..Request::default() };
    assert_eq!(requests[0], first);
    // The name does not matter: the content says it as well.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("unnamed");
    std::fs::copy(&path, &other).unwrap();
    assert_eq!(all(&other, &Options::default()).1, requests);
}

#[test]
fn ids_of_an_object_store() {
    let Some(folder) = folder() else { return };
    let path = folder.join("cache2k/orm-busy.trace.xz");
    let error = open(&path, &Options::default()).err().unwrap().to_string();
    assert!(error.contains("orm-busy") && error.contains("u32-be"), "{error}");
    let (shape, requests) = all(&path, &Options { format: Some(Format::U32Be), ..Options::default() });
    assert_eq!(shape, Shape::Objects);
    assert_eq!(requests.len(), 5_000_000);
    assert_eq!(
        requests[..3].iter().map(|request| request.file).collect::<Vec<_>>(),
        [0xf000_0001, 0x8800_0200, 0x8800_0400]
    );
}
