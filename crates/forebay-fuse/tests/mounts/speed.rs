//! How long names take, against the folder itself.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_fuse::MountOptions;
use forebay_live::engine::Referenced;
use forebay_source::local::LocalSource;
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::need;

use crate::tree_of;

const NAMES: usize = 100_000;

fn timed(find: &Path, folder: &Path) -> Duration {
    let mut command = Command::new(find);
    command.arg(folder).args(["-printf", "%s\n"]).stdout(Stdio::null());
    let began = Instant::now();
    assert!(command.status().unwrap().success());
    began.elapsed()
}

/// The memory that this process has allocated, in bytes.
fn allocated() -> usize {
    // SAFETY: it has no conditions.
    unsafe { libc::mallinfo2() }.uordblks
}

/// A measurement, not a test: `cargo test -p forebay-fuse --release -- --ignored --nocapture
/// names_with`.
#[test]
#[ignore = "a measurement: no test depends on speed"]
fn names_with_attributes() {
    if !mounts::possible() {
        return;
    }
    let find = need!("find");
    let (source, point) = (tempfile::tempdir().unwrap(), MountPoint::new().unwrap());
    for number in 0..NAMES {
        std::fs::write(source.path().join(format!("file number {number}")), "").unwrap();
    }
    let local = Arc::new(LocalSource::new(source.path()).unwrap());
    let tree = tree_of(local, Referenced::HandedOn);
    let _mounted = forebay_fuse::mount(Arc::clone(&tree), point.path(), MountOptions::default()).unwrap();
    let native = (0..3).map(|_| timed(&find, source.path())).min().unwrap();
    let before = allocated();
    let first = timed(&find, point.path());
    // The folder is closed some time after the program.
    std::thread::sleep(Duration::from_millis(200));
    let grown = allocated().saturating_sub(before) / tree.nodes_held().max(1);
    println!("{} nodes are held, {grown} bytes each", tree.nodes_held());
    let again = (0..3).map(|_| timed(&find, point.path())).min().unwrap();
    let ratio = first.as_secs_f64() / native.as_secs_f64();
    println!("native {native:?}, mount {first:?} ({ratio:.1} ×), again {again:?}");
}
