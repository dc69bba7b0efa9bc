//! A disk that fails, or stops, at each operation of a scripted run.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_source::Segments;
use forebay_testkit::loop_disk::image_folder;
use forebay_tier::disk::{Disk, Local, Room};
use forebay_tier::{Figures, Tiers, check};
use parking_lot::{Condvar, Mutex};

use crate::damage::copied;
use crate::known::{Known, MIB, check_all, eager, fill, tiered};

/// The fate of an operation that changes the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// It fails once, with this error.
    Fails(i32),
    /// Neither it nor anything later reaches the disk, as if the machine had stopped.
    Stops,
    /// The same, but half of a write is done.
    Tears,
}

/// A disk that counts the operations that change it, and fails at one of them.
#[derive(Debug)]
struct Failing {
    at: u64,
    fault: Fault,
    done: AtomicU64,
}

impl Failing {
    fn new(at: u64, fault: Fault) -> Failing {
        Failing { at, fault, done: AtomicU64::new(0) }
    }

    /// Whether this operation happens.
    fn passes(&self) -> io::Result<bool> {
        let now = self.done.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Fails(errno) if now == self.at => Err(io::Error::from_raw_os_error(errno)),
            Fault::Fails(_) => Ok(true),
            Fault::Stops | Fault::Tears => Ok(now < self.at),
        }
    }
}

impl Disk for Failing {
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        Local.open(path)
    }

    fn create(&self, path: &Path, bytes: u64) -> io::Result<OwnedFd> {
        match self.passes()? {
            true => Local.create(path, bytes),
            false => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }

    fn read(&self, file: &OwnedFd, offset: u64, into: &mut Segments) -> io::Result<()> {
        Local.read(file, offset, into)
    }

    fn write(&self, file: &OwnedFd, offset: u64, from: &Segments, len: usize) -> io::Result<()> {
        match (self.passes()?, self.fault) {
            (true, _) => Local.write(file, offset, from, len),
            // The last one that does anything.
            (false, Fault::Tears) if self.done.load(Ordering::SeqCst) == self.at + 1 => {
                Local.write(file, offset, from, len / 8192 * 4096)
            }
            (false, _) => Ok(()),
        }
    }

    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        self.passes()?;
        Local.sync(file)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.passes()? { Local.remove(path) } else { Ok(()) }
    }

    fn room(&self, folder: &Path) -> io::Result<Room> {
        Local.room(folder)
    }
}

/// Two files that fill a little more than a segment.
fn known() -> Known {
    let known = Known::new("a source");
    known.put("a", 5 * MIB + 7, 1);
    known.put("b", 4 * MIB, 1);
    known
}

#[test]
fn at_every_operation() {
    let mut hits = Vec::new();
    for at in 0.. {
        let mut reached = false;
        // A file that cannot be made is no reason not to write to others: so `EIO` comes first.
        for fault in [Fault::Stops, Fault::Tears, Fault::Fails([libc::EIO, libc::ENOSPC][at as usize % 2])] {
            let dir = tempfile::tempdir().unwrap();
            let disk = Arc::new(Failing::new(at, fault));
            let figures = read(dir.path(), &known(), Arc::clone(&disk) as Arc<dyn Disk>, &["a", "b", "a"]);
            // How many pieces go to a write is a matter of time, and with it the number of writes.
            reached = disk.done.load(Ordering::SeqCst) > at;
            if let Fault::Fails(_) = fault {
                assert_eq!(figures.write_errors, u64::from(reached), "{fault:?} at {at}: {figures:?}");
            }
            let found = read(dir.path(), &known(), Arc::new(Local), &["a", "b"]);
            assert_eq!(found.damaged, 0, "{fault:?} at {at}: no table speaks of bytes that were not written");
            hits.push(found.hit_bytes);
        }
        if !reached {
            break;
        }
    }
    let kept = hits.iter().filter(|&&hits| hits > 0).count();
    assert!(hits.len() > 45 && hits.contains(&0) && kept >= 6, "{hits:?}");
}

/// A tier that has no free segment left, whose process stops at every operation of the next turns:
/// what is written over is lost or right.
#[test]
fn at_every_operation_of_a_full_tier() {
    let (full, known) = (image_folder("forebay-tier-").unwrap(), Known::new("a source"));
    [("often", 3), ("old", 60), ("new", 9)].iter().for_each(|&(name, size)| known.put(name, size * MIB, 1));
    read(full.path(), &known, Arc::new(Local), &["often", "old"]);
    let mut hits = Vec::new();
    for at in 0.. {
        let mut reached = false;
        for fault in [Fault::Stops, Fault::Tears] {
            let dir = copied(full.path());
            let disk = Arc::new(Failing::new(at, fault));
            read(dir.path(), &known, Arc::clone(&disk) as Arc<dyn Disk>, &["often", "new"]);
            reached |= disk.done.load(Ordering::SeqCst) > at;
            assert_eq!(check(dir.path(), |_| ()).unwrap().damaged, [], "{fault:?} at {at}");
            let found = read(dir.path(), &known, Arc::new(Local), &["often", "new"]);
            assert_eq!(found.damaged, 0, "{fault:?} at {at}");
            hits.push(found.hit_bytes);
        }
        if !reached {
            break;
        }
    }
    assert!(hits.len() > 30 && hits.iter().all(|&hits| hits >= 3 * MIB) && hits.contains(&(12 * MIB)), "{hits:?}");
}

/// Reads files through a tier.
fn read(dir: &Path, known: &Known, disk: Arc<dyn Disk>, names: &[&str]) -> Figures {
    let tiers = Tiers::on(vec![eager(dir, 1)], disk).unwrap();
    tiers.settle();
    let source = tiered(known, &tiers);
    names.iter().for_each(|name| fill(&source, &tiers, name, 1));
    tiers.close();
    tiers.figures().remove(0)
}

/// A disk whose files cannot be read.
#[derive(Debug)]
struct Unreadable;

impl Disk for Unreadable {
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        Local.open(path)
    }

    fn create(&self, path: &Path, bytes: u64) -> io::Result<OwnedFd> {
        drop(Local.create(path, bytes)?);
        Ok(std::fs::File::options().write(true).open(path)?.into())
    }

    fn read(&self, file: &OwnedFd, offset: u64, into: &mut Segments) -> io::Result<()> {
        Local.read(file, offset, into)
    }

    fn write(&self, file: &OwnedFd, offset: u64, from: &Segments, len: usize) -> io::Result<()> {
        Local.write(file, offset, from, len)
    }

    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        Local.sync(file)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Local.remove(path)
    }

    fn room(&self, folder: &Path) -> io::Result<Room> {
        Local.room(folder)
    }
}

/// The source stands in for a disk that cannot be read, which is left alone at last.
#[test]
fn a_disk_that_cannot_be_read() {
    let (dir, known) = (tempfile::tempdir().unwrap(), Known::new("a source"));
    known.put("a", 20 * MIB, 1);
    let tiers = Tiers::on(vec![eager(dir.path(), 1)], Arc::new(Unreadable)).unwrap();
    let source = tiered(&known, &tiers);
    for _ in 0..2 {
        check_all(&source, "a", 1);
        tiers.settle();
    }
    let figures = &tiers.figures()[0];
    assert_eq!((figures.read_errors, figures.hit_bytes, figures.damaged), (16, 0, 0), "{figures:?}");
    assert!(figures.no_reads.as_ref().is_some_and(|reason| reason.contains("16 reads failed")), "{figures:?}");
    known.asked();
    check_all(&source, "a", 1);
    assert_eq!(known.asked(), 20 * MIB);
}

/// A disk whose files open when the test says so.
#[derive(Debug, Default)]
struct Slow {
    opens: Mutex<bool>,
    changed: Condvar,
    opened: AtomicU64,
}

impl Disk for Slow {
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut opens = self.opens.lock();
        self.changed.wait_while(&mut opens, |opens| !*opens);
        self.opened.fetch_add(1, Ordering::SeqCst);
        Local.open(path)
    }

    fn create(&self, path: &Path, bytes: u64) -> io::Result<OwnedFd> {
        Local.create(path, bytes)
    }

    fn read(&self, file: &OwnedFd, offset: u64, into: &mut Segments) -> io::Result<()> {
        Local.read(file, offset, into)
    }

    fn write(&self, file: &OwnedFd, offset: u64, from: &Segments, len: usize) -> io::Result<()> {
        Local.write(file, offset, from, len)
    }

    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        Local.sync(file)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Local.remove(path)
    }

    fn room(&self, _folder: &Path) -> io::Result<Room> {
        Ok(Room { bytes: 1 << 40, free: 1 << 40 })
    }
}

/// A tier with 100 GiB from before, of which nothing can be read yet: it is open, and its readers
/// get their bytes.
#[test]
fn opening_waits_for_no_segment() {
    const FILES: u64 = 1600;
    let dir = tempfile::tempdir().unwrap();
    read(dir.path(), &known(), Arc::new(Local), &["a", "b"]);
    for number in 1..FILES {
        let path = crate::damage::segments(dir.path(), number as u32);
        std::fs::File::create(path).unwrap().set_len(64 * MIB).unwrap();
    }
    let (disk, known) = (Arc::new(Slow::default()), known());
    let begun = std::time::Instant::now();
    let tiers = Tiers::on(vec![eager(dir.path(), FILES)], Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    println!("open after {:?}, {} bytes of memory", begun.elapsed(), tiers.footprint());
    let source = tiered(&known, &tiers);
    check_all(&source, "a", 1);
    let figures = &tiers.figures()[0];
    assert_eq!(
        (disk.opened.load(Ordering::SeqCst), figures.recovered_segments, figures.segments_before),
        (0, 0, FILES as u32 * 8)
    );
    assert_eq!(known.asked(), 5 * MIB + 7);
    *disk.opens.lock() = true;
    disk.changed.notify_all();
    tiers.settle();
    println!("recovered after {:?}", begun.elapsed());
    check_all(&source, "a", 1);
    check_all(&source, "b", 1);
    assert_eq!((known.asked(), disk.opened.load(Ordering::SeqCst)), (0, FILES));
}
