//! The model against four real disks, from their parameter files, nothing fitted to the traces.

use std::path::{Path, PathBuf};

use forebay_device::{demerit, diskspecs, validation};

/// The disk, and DiskSim's own demerit on the trace, ms.
const DISKS: [(&str, f64); 4] = [("cheetah9LP", 0.107), ("ibm18es", 0.135), ("barracuda", 0.349), ("hp_c3323a", 0.306)];

/// Where the traces are, if they are there.
fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("FOREBAY_TRACES").map_or(beside, PathBuf::from).join("disks");
    let there = folder.is_dir();
    if !there {
        println!("SKIPPED: no disks in {}; set FOREBAY_TRACES to the folder of traces", folder.display());
    }
    there.then_some(folder)
}

fn trace(folder: &Path, disk: &str) -> Vec<validation::Measured> {
    let path = folder.join(format!("{disk}.trace.zst"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    validation::parse(&zstd::decode_all(file).expect("zstd")).expect("a validation trace")
}

#[test]
fn disks_are_as_close_as_disksim() {
    let Some(folder) = folder() else { return };
    for (disk, disksim) in DISKS {
        let requests = trace(&folder, disk);
        let path = folder.join(format!("{disk}.diskspecs"));
        let full = demerit::check(&diskspecs::import(&path).expect("imports"), &requests).expect("a disk");
        let simple = demerit::check(&diskspecs::import_simple(&path).expect("imports"), &requests).expect("a disk");
        println!("{disk}: full {full:?}\n  {:.3} of DiskSim's {disksim}", full.demerit_ms / disksim);
        println!("  simple {simple:?}");
    }
}
