//! The importer on a small disk that uses every parameter, and on damaged files.

use forebay_core::Instant;
use proptest::prelude::*;

use super::*;
use crate::Request;
use crate::curve::Point;
use crate::layout::{Mapping, Sparing};
use crate::overheads::After;
use crate::rotation::Rotation;
use crate::segment_cache::ReadAhead;

const SPECS: &str = "# A disk that says everything.
disksim_disk SMALL_DISK_validate {
   Model = source small.model,
   Per-request overhead time = 0.1,
   Time scale for overheads = 2.0,
   Bulk sector transfer time = 0.128,
   Never disconnect = 0,
   Max queue length = 4,
   Scheduler = disksim_ioqueue { Scheduling policy = 1, Timeout time/weight = 0 },
   Number of buffer segments = 3,
   Segment size (in blks) = 64,
   Enable caching in buffer = 1,
   Buffer continuous read = 4,
   Maximum read-ahead (blks) = 32,
   Read-ahead over requested = -1,
   Read-ahead on idle hit = 1,
   Fast write level = 2,
   High (read) water mark = 0.5,
   Set watermark by reqsize = 1,
   Read hit over. after read = 0.1,
   Read miss over. after write = 0.3,
   Write hit over. after read = 0.4,
   Read completion overhead = 0.05,
   Extra write disconnect = 1,
   Extradisc command overhead = 0.6,
   Minimum seek delay = 0.25
} # end\n";

const MODEL: &str = "dm_disk SMALL_DISK_model {
   Number of data surfaces = 2,
   Number of cylinders = 30,
   Block count = 4321,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 1,
      Sparing scheme used = 9,
      Rangesize for sparing = 1,
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0, Last cylinder number = 9,
            Blocks per track = 100, Offset of first block = 3.0,
            Empty space at zone front = 20,
            Skew for track switch = 17.0, Skew for cylinder switch = 34.0,
            Number of spares = 10, slips = [ 30, 31 ], defects = [ 50, 1995 ]
         },
         dm_layout_g1_zone {
            First cylinder number = 11, Last cylinder number = 29, Blocks per track = 50,
            Offset of first block = 0.5, Skew units = revolutions,
            Empty space at zone front = 0, Number of spares = 0, slips = [], defects = []
         }
      ]
   },
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation,
      Seek type = extracted, Full seek curve = small.seek,
      Add. write settling delay = -0.4,
      Head switch time = 0.7, Rotation speed (in rpms) = 6000
   }
}\n";

const SEEK: &str = "Seek distances measured: 3\n1,\t1.5\n10, 3.5, 0.01\n29, 6.0\n";

fn files<'a>(model: &'a [u8], seek: &'a [u8]) -> impl FnMut(&str) -> io::Result<Vec<u8>> + use<'a> {
    move |name| match name {
        "small.model" => Ok(model.to_vec()),
        "small.seek" => Ok(seek.to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

fn import_small(specs: &str, model: &str) -> Result<Description, ImportError> {
    read(specs.as_bytes(), Path::new("d/small.diskspecs"), &mut files(model.as_bytes(), SEEK.as_bytes()))
}

fn disk(specs: &str, model: &str) -> crate::disk::Description {
    match import_small(specs, model).expect("it is a disk").model {
        ModelDescription::Disk(disk) => disk,
        other => panic!("no disk: {other:?}"),
    }
}

#[test]
fn what_the_files_say_is_taken() {
    let description = import_small(SPECS, MODEL).expect("it is a disk");
    assert_eq!(description.name, "small-disk");
    let text = toml::to_string(&description).expect("TOML");
    assert_eq!(Description::parse(&text, "again").expect("the same"), description);

    let disk = disk(SPECS, MODEL);
    assert_eq!((disk.rpm, disk.heads, disk.commands, disk.rotation), (6000.0, 2, 4, Rotation::Exact));
    assert_eq!((disk.head_switch_ms, disk.write_settle_ms, disk.overhead_ms), (0.7, -0.4, 0.2));
    assert!((disk.bus_mb_s - 4.0).abs() < 1e-9);
    let overheads = disk.overheads.expect("they are given");
    assert_eq!(overheads.read_hit_ms, After { read: 0.2, write: 0.0 });
    assert_eq!(overheads.read_miss_ms, After { read: 0.0, write: 0.6 });
    assert_eq!(overheads.write_hit_ms, After { read: 0.8, write: 0.0 });
    assert_eq!((overheads.end_ms, overheads.least_write_seek_ms), ((0.1, 0.0), 0.25));
    assert_eq!(overheads.least_read_seek_ms, 0.75, "half of the shortest seek");
    assert_eq!(overheads.early_disconnect.map(|early| early.command_ms), Some(1.2));
    let cache = disk.cache;
    assert_eq!((cache.segments, cache.segment_kib, cache.most_read_ahead_kib), (3, 32.0, None));
    assert_eq!((cache.read_ahead, cache.watermark), (ReadAhead::NextTrack, 0.5));
    assert!(cache.read_ahead_on_hit && cache.write_back && !cache.keeps_read && !cache.joins_sweep);
    assert_eq!(disk.seek.points, [[1.0, 1.5], [10.0, 3.5], [29.0, 6.0]].map(Point::from));
    let layout = disk.layout.expect("it is given");
    assert_eq!((layout.mapping, layout.sparing), (Mapping::Serpentine, Sparing::Zone));
    let (first, second) = (&layout.zone[0], &layout.zone[1]);
    assert_eq!((first.front, first.spares, first.track_skew, first.offset), (20, 10, 17.0, 3.0));
    assert_eq!((first.slips.as_slice(), first.defects.as_slice()), ([30, 31].as_slice(), [(50, 1995)].as_slice()));
    assert_eq!((second.first_cylinder, second.offset, second.cylinders()), (11, 25.0, 19));
}

/// Every kind of read-ahead is bounded, but for that to the end of the next track.
#[test]
fn read_ahead_has_the_bound_that_disksim_has() {
    for (kind, read_ahead, most) in [
        (1, ReadAhead::Track, Some(16.0)),
        (2, ReadAhead::Cylinder, Some(16.0)),
        (3, ReadAhead::Segment, Some(16.0)),
        (4, ReadAhead::NextTrack, None),
    ] {
        let specs = SPECS.replace("continuous read = 4", &format!("continuous read = {kind}"));
        let cache = disk(&specs, MODEL).cache;
        assert_eq!((cache.read_ahead, cache.most_read_ahead_kib), (read_ahead, most));
    }
}

/// Half of a mean would be more than a short seek takes.
#[test]
fn a_constant_seek_says_nothing_of_the_shortest() {
    let seeks = |words: &str| {
        let model = MODEL.replace("Seek type = extracted, Full seek curve = small.seek,", words);
        disk(SPECS, &model).overheads.expect("they are given").least_read_seek_ms
    };
    assert_eq!(seeks("Seek type = constant, Constant seek time = 4.0,"), 0.0);
    let three = "Single cylinder seek time = 1.0, Average seek time = 4.0, Full strobe seek time = 8.0,";
    assert_eq!(seeks(&format!("Seek type = curve, {three}")), 0.5);
}

/// Sector 0 lies behind the 20 of the zone's front, sector 10 behind the two bad ones, sector 28
/// where 50 was replaced, and the second cylinder is filled from the last surface.
#[test]
fn sectors_lie_where_the_layout_puts_them() {
    let disk = crate::disk::Disk::new(&disk(SPECS, MODEL)).expect("a disk");
    let at = |sector| {
        let place = disk.geometry().locate(sector);
        (place.cylinder, place.head, (place.angle * place.sectors as f64).round())
    };
    assert_eq!((at(0), at(9), at(10)), ((0, 0, 23.0), (0, 0, 32.0), (0, 0, 35.0)));
    // Place 1995 is on cylinder 9, whose second track in order is surface 0: 9 · 51 + 17 + 3 + 95 =
    // 574.
    assert_eq!(at(28), (9, 0, 74.0));
    assert_eq!(at(178), (1, 1, 54.0));
    // 2000 places, 20 at the front, 10 spare: sector 1970 is the first of the next zone, half a
    // revolution on.
    assert_eq!(at(1970), (11, 0, 25.0));
    assert_eq!(disk.geometry().track(100), (78, 178));
    assert_eq!(disk.geometry().sectors(), 1970 + 19 * 100);
}

#[test]
fn every_kind_of_seek_is_read() {
    let seeks = |words: &str| {
        let model = MODEL.replace("Seek type = extracted, Full seek curve = small.seek,", words);
        let seek = disk(SPECS, &model).seek;
        [1, 2, 10, 29].map(|distance| (seek.nanos(distance, 30) / 1e4).round() / 100.0)
    };
    assert_eq!(seeks("Seek type = constant, Constant seek time = 4.0,"), [4.0; 4]);
    let three = "Single cylinder seek time = 1.0, Average seek time = 4.0, Full strobe seek time = 8.0,";
    assert_eq!(seeks(&format!("Seek type = linear, {three}")), [1.0, 1.33, 4.0, 7.8]);
    // a = (15·4 − 10·1 − 5·8) / (3 √30) = 0.609, b = (7·1 − 15·4 + 8·8) / 90 = 0.122.
    assert_eq!(seeks(&format!("Seek type = curve, {three}")), [1.0, 1.73, 3.93, 7.64]);
    let hpl = "HPL seek equation values = [ 9, 3.0, 0.5, 6.0, 0.1, 2.0 ],";
    assert_eq!(seeks(&format!("Seek type = hpl, {hpl}")), [2.0, 3.71, 7.0, 8.9]);
    let ten = "First ten seek times = [ 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0 ],";
    assert_eq!(seeks(&format!("Seek type = hplplus10, {hpl} {ten}")), [1.1, 1.2, 2.0, 8.9]);
}

#[test]
fn mistakes_are_named_with_file_and_line() {
    let at = |specs: &str, model: &str| import_small(specs, model).expect_err("a mistake").to_string();
    for (from, to, said) in [
        ("Blocks per track = 100", "Blocks per track = many", "d/small.model:12: `Blocks per track` must be a number"),
        ("Rotation speed (in rpms) = 6000", "Rpm = 6000", "d/small.model:24: `dm_mech_g1` has no parameter `Rotation"),
        ("scheme used = 9", "scheme used = 11", "d/small.model:7: no sparing scheme 11"),
        ("= dm_layout_g1 {", "= dm_layout_g4 {", "d/small.model:5: `dm_layout_g4` is not read"),
        ("= trackSwitchPlusRotation", "= constant", "d/small.model:25: `constant` accesses are not modelled"),
        ("small.seek", "none.seek", "d/none.seek: "),
        ("defects = [ 50, 1995 ]", "defects = [ 50 ]", "d/small.model:15: `defects` must be pairs"),
    ] {
        assert!(MODEL.contains(from), "{from}");
        let error = at(SPECS, &MODEL.replace(from, to));
        assert!(error.starts_with(said), "{error}");
    }
    assert!(at("nothing { }", MODEL).starts_with("d/small.diskspecs:1: there is no block `disksim_disk`"));
    // A disk that is its own model never ends.
    let own = at(SPECS, "dm_disk x { Mechanical Model = source small.model }");
    assert!(own.starts_with("d/small.model:1: "), "{own}");
    let mut seek = files(MODEL.as_bytes(), b"1, 2.0\n1, 3.0\n");
    let error =
        read(SPECS.as_bytes(), Path::new("small.diskspecs"), &mut seek).expect_err("points go back").to_string();
    assert_eq!(error, "small.seek:2: distances must ascend");
}

/// The bus comes from the system's file, if it is beside; the slower one of bus and disk counts.
#[test]
fn a_bus_that_the_disk_leaves_open() {
    let open = SPECS.replace("transfer time = 0.128", "transfer time = 0.0");
    let usual = disk(&open, MODEL).bus_mb_s;
    assert!((usual - 0.512 / 0.1455).abs() < 1e-9, "{usual}");
    let system = b"disksim_bus B { Read block transfer time = 0.2, Write block transfer time = 0.312 }\n\
                   source small.diskspecs\ninstantiate [ b ] as B\n";
    let (model, seek) = (MODEL.as_bytes(), SEEK.as_bytes());
    let mut with = |name: &str| match name {
        "small.parv" => Ok(system.to_vec()),
        _ => files(model, seek)(name),
    };
    for specs in [open.as_str(), SPECS] {
        let description = read(specs.as_bytes(), Path::new("small.diskspecs"), &mut with).expect("a disk");
        let ModelDescription::Disk(disk) = description.model else { panic!("a disk") };
        assert!((disk.bus_mb_s - 2.0).abs() < 1e-9);
    }
}

/// Damaged files are refused, or give a disk that serves.
fn survives(specs: &[u8], model: &[u8], seek: &[u8]) {
    let Ok(description) = read(specs, Path::new("small.diskspecs"), &mut files(model, seek)) else { return };
    let mut disk = description.build(1).expect("it was built to be checked");
    let mut now = Instant(0);
    for sector in [0, 77, 999_999_999, 78, 5] {
        for request in [Request::read(sector * 512, 40_000), Request::write(sector * 512, 9_000)] {
            let end = disk.serve(now, request);
            assert!(end >= now);
            now = end.plus(1_000_000);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_serve(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives(&bytes, MODEL.as_bytes(), SEEK.as_bytes());
        survives(SPECS.as_bytes(), &bytes, SEEK.as_bytes());
        survives(SPECS.as_bytes(), MODEL.as_bytes(), &bytes);
        // A file that names itself.
        let _ = read(&bytes, Path::new("x"), &mut |_| Ok(bytes.clone()));
    }

    #[test]
    fn damaged_files_are_refused_or_serve(
        which in 0usize..3,
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0u8..4), 1..8),
    ) {
        let mut texts = [SPECS, MODEL, SEEK].map(|text| text.as_bytes().to_vec());
        for (at, byte, how) in damage {
            let text = &mut texts[which];
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text[at] = b'0' + byte % 10,
                2 => text.insert(at, b'0' + byte % 10),
                _ => {
                    text.remove(at);
                }
            }
        }
        survives(&texts[0], &texts[1], &texts[2]);
    }
}
