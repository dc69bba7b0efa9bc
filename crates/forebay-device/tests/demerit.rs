//! The model against five real disks, from their parameter files, with nothing fitted to the
//! traces.

use std::path::{Path, PathBuf};

use forebay_device::{ModelDescription, demerit, device, diskspecs, validation};

/// The disk, and DiskSim's own demerit on the trace, ms.
const DISKS: [(&str, f64); 5] =
    [("cheetah9LP", 0.107), ("ibm18es", 0.135), ("barracuda", 0.349), ("hp_c3323a", 0.306), ("atlas_III", 0.378)];

/// The folder of the traces, if they are there.
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

/// The largest demerit of a disk by seek curve, speed, surfaces and zones, as a share of the
/// measured mean.
const SIMPLE: f64 = 0.10;

#[test]
fn disks_are_as_close_as_disksim() {
    let Some(folder) = folder() else { return };
    for (disk, disksim) in DISKS {
        let description = diskspecs::import(&folder.join(format!("{disk}.diskspecs"))).expect("it imports");
        let figures = demerit::check(&description, &trace(&folder, disk)).expect("a disk");
        let times = figures.demerit_ms / disksim;
        println!("{disk}: {:.3} ms, {times:.2} of DiskSim's, {figures:?}", figures.demerit_ms);
        assert!(times <= 1.0, "{disk}: {figures:?}, DiskSim {disksim} ms");
    }
}

#[test]
fn simple_disks_are_within_a_tenth_of_the_mean() {
    let Some(folder) = folder() else { return };
    for (disk, _) in DISKS {
        let description = diskspecs::import_simple(&folder.join(format!("{disk}.diskspecs"))).expect("it imports");
        let figures = demerit::check(&description, &trace(&folder, disk)).expect("a disk");
        println!("{disk}, simple: {:.3} of the mean, {figures:?}", figures.demerit_share);
        assert!(figures.demerit_share <= SIMPLE, "{disk}: {figures:?}");
    }
}

/// The disks that are shipped are those of the files, without the time that DiskSim does not have:
/// results of earlier versions hold for them.
#[test]
fn shipped_disks_are_the_imported_ones() {
    let Some(folder) = folder() else { return };
    for ((file, _), name) in DISKS.iter().zip(["cheetah-9lp", "ibm-18es", "barracuda", "hp-c3323a"]) {
        let imported = diskspecs::import(&folder.join(format!("{file}.diskspecs"))).expect("it imports");
        let ModelDescription::Disk(mut disk) = imported.model else { panic!("{file} is a disk") };
        let overheads = disk.overheads.as_mut().expect("they are given");
        assert!(std::mem::take(&mut overheads.least_read_seek_ms) > 0.0, "{file}");
        assert_eq!(ModelDescription::Disk(disk), device(name).expect("it is shipped").model, "{name}");
    }
}
