//! Readers that open, read, seek and close, and compare every byte.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Soak;
use super::files::{Dice, FILES, name};

/// The largest read.
const MOST: usize = 128 << 10;

/// How many readers tell the mount their order.
pub(super) const TOLD: usize = 8;

/// Figures of all readers.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) opens: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) hints: AtomicU64,
}

fn add(to: &AtomicU64, more: u64) {
    to.fetch_add(more, Ordering::Relaxed);
}

/// A file that a reader has open.
struct Open {
    file: usize,
    handle: File,
    opened: Instant,
    /// The versions that all reads agree with so far.
    versions: Option<Vec<usize>>,
}

impl Soak {
    /// Reads until the soak is over.
    pub(super) fn read_on(&self, reader: usize, pause: Duration) {
        let (mut dice, mut buffer) = (Dice(self.seed ^ (reader as u64) << 32), vec![0; MOST]);
        while !self.is_over() {
            let files: Vec<usize> = if reader < TOLD {
                (0..12).map(|_| dice.below(FILES)).collect()
            } else if dice.below(2) == 0 {
                // Files that memory and tier are for.
                vec![dice.below(FILES / 8)]
            } else {
                vec![dice.below(FILES)]
            };
            if reader < TOLD {
                self.tell(reader, &files);
            }
            for file in files {
                self.visit(file, &mut dice, &mut buffer, pause);
            }
        }
    }

    /// Tells the mount an order.
    fn tell(&self, reader: usize, files: &[usize]) {
        let begun = Instant::now();
        let lines: String = files.iter().map(|&file| format!("{{\"path\":\"{}\"}}\n", name(file))).collect();
        match self.ask("POST", &format!("/.well-known/forebay/hint?list=epoch-{reader}&mode=replace"), &lines) {
            Ok(answer) if answer.starts_with("HTTP/1.1 202") => add(&self.done.hints, 1),
            Ok(answer) if self.spells.met(begun).is_none() => self.fail(&format!("a hint got {answer:?}")),
            Err(error) => self.fail(&format!("a hint: {error}")),
            Ok(_) => {}
        }
    }

    /// Opens a file, reads some of it in some way, and closes it.
    fn visit(&self, file: usize, dice: &mut Dice, buffer: &mut [u8], pause: Duration) {
        let opened = Instant::now();
        let handle = match File::open(self.mount.path().join(name(file))) {
            Ok(handle) => handle,
            Err(error) => {
                self.judge("open", file, opened, opened, &error);
                return std::thread::sleep(pause);
            }
        };
        add(&self.done.opens, 1);
        let mut open = Open { file, handle, opened, versions: None };
        let in_sequence = dice.below(2) == 0;
        let mut at = if dice.below(3) == 0 { 0 } else { dice.below(3 << 20) };
        for _ in 0..1 + dice.below(12) {
            if self.is_over() {
                return;
            }
            let asked = 1 + if in_sequence { MOST - 1 } else { dice.below(MOST) };
            let Some(got) = self.read(&mut open, at, &mut buffer[..asked]) else { return };
            at = if in_sequence && got > 0 { at + got } else { dice.below(3 << 20) };
            std::thread::sleep(pause);
        }
    }

    /// One read, compared; `None` after an error.
    fn read(&self, open: &mut Open, at: usize, buffer: &mut [u8]) -> Option<usize> {
        let begun = Instant::now();
        let read = open.handle.seek(SeekFrom::Start(at as u64)).and_then(|_| open.handle.read(buffer));
        let got = read.inspect_err(|error| self.judge("read", open.file, open.opened, begun, error)).ok()?;
        let before = open.versions.take();
        let possible = self.versions.possible(open.file, open.opened);
        let among: Vec<usize> = before.clone().unwrap_or_else(|| possible.clone().collect());
        let right = |&version: &usize| self.bytes.are(open.file, version, at, buffer.len(), &buffer[..got]);
        let still: Vec<usize> = among.into_iter().filter(right).collect();
        if still.is_empty() {
            let any: Vec<usize> = (0..possible.end).filter(right).collect();
            self.fail(&format!(
                "{}: {got} of {} bytes at {at} are of versions {any:?}, not of {before:?} among {possible:?}; fault {:?}",
                name(open.file),
                buffer.len(),
                self.spells.met(begun)
            ));
            return None;
        }
        open.versions = Some(still);
        add(&self.done.reads, 1);
        add(&self.done.bytes, got as u64);
        Some(got)
    }

    /// An error is right if the store had a fault meanwhile, or if the file has changed.
    fn judge(&self, what: &str, file: usize, opened: Instant, begun: Instant, error: &io::Error) {
        let changed = self.versions.changed(file, opened);
        let cause = match error.raw_os_error() {
            Some(libc::ESTALE) if changed => Some("a new version".to_owned()),
            Some(libc::EIO | libc::EACCES | libc::ENOENT | libc::ESTALE) => self.spells.met(begun),
            _ => None,
        };
        match cause {
            Some(cause) => self.count_error(&format!("{what}: {error} ({cause})")),
            None => self.fail(&format!(
                "{what} of {}: {error}, {:?} after its open, and neither a fault nor a new version ({changed})",
                name(file),
                opened.elapsed()
            )),
        }
    }
}
