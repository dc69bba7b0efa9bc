//! The open files of processes, and where each stands.

use std::collections::HashMap;

use super::call::Call;
use crate::FileInfo;
use crate::read::names::Names;

/// A descriptor of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Descriptor {
    process: u32,
    number: u64,
}

/// A file as it is open; duplicates of a descriptor share it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) file: u64,
    pub(super) position: u64,
    /// Whether it is a file of the kernel: a terminal, a counter, a random source.
    pub(super) special: bool,
}

/// Whether a path is one of the kernel's that no disk is behind. Disks have too many names to list.
fn is_special(path: &[u8]) -> bool {
    const OTHERS: [&[u8]; 20] = [
        b"null", b"zero", b"full", b"random", b"urandom", b"tty", b"pts/", b"ptmx", b"console", b"fuse", b"kmsg",
        b"log", b"fd/", b"std", b"net/", b"dri/", b"input/", b"snd/", b"nvidia", b"kvm",
    ];
    match path.strip_prefix(b"/dev/") {
        Some(name) => OTHERS.iter().any(|other| name.starts_with(other)),
        None => path.starts_with(b"/proc/") || path.starts_with(b"/sys/"),
    }
}

#[derive(Default)]
pub(super) struct Descriptors {
    names: Names,
    places: Vec<Place>,
    open: HashMap<Descriptor, usize>,
    /// The latest process that opened a descriptor of this number.
    latest: HashMap<u64, usize>,
    /// The process whose descriptors a thread shares.
    owners: HashMap<u32, u32>,
}

impl Descriptors {
    fn key(&self, process: u32, number: u64) -> Descriptor {
        Descriptor { process: self.owners.get(&process).copied().unwrap_or(process), number }
    }

    fn find(&self, process: u32, number: u64) -> Option<usize> {
        self.open.get(&self.key(process, number)).or_else(|| self.latest.get(&number)).copied()
    }

    pub(super) fn open(&mut self, process: u32, number: u64, path: &[u8]) {
        let file = self.names.number(path);
        self.places.push(Place { file, position: 0, special: is_special(path) });
        self.put(process, number, self.places.len() - 1);
    }

    fn put(&mut self, process: u32, number: u64, place: usize) {
        let key = self.key(process, number);
        self.open.insert(key, place);
        self.latest.insert(number, place);
    }

    pub(super) fn close(&mut self, process: u32, number: Option<u64>) {
        let Some(number) = number else { return };
        let key = self.key(process, number);
        let place = self.open.remove(&key);
        if place.is_none() || self.latest.get(&number).copied() == place {
            self.latest.remove(&number);
        }
    }

    /// Another descriptor of the same open file.
    pub(super) fn same(&mut self, process: u32, number: Option<u64>, other: u64) {
        if let Some(place) = number.and_then(|number| self.find(process, number)) {
            self.put(process, other, place);
        }
    }

    /// A process has a child, which shares its descriptors or has copies of them.
    pub(super) fn fork(&mut self, process: u32, child: u64, shares: bool) {
        let Ok(child) = u32::try_from(child) else { return };
        let owner = self.owners.get(&process).copied().unwrap_or(process);
        if shares {
            self.owners.insert(child, owner);
            return;
        }
        let own = self.open.iter().filter(|(descriptor, _)| descriptor.process == owner);
        let copies: Vec<(u64, usize)> = own.map(|(descriptor, &place)| (descriptor.number, place)).collect();
        for (number, place) in copies {
            self.open.insert(Descriptor { process: child, number }, place);
        }
    }

    pub(super) fn seek(&mut self, process: u32, call: &Call<'_>, position: u64) {
        if self.place(process, call).is_some() {
            self.move_to(process, call, position);
        }
    }

    /// The open file that a call is about. One that `-y` names counts as opened.
    pub(super) fn place(&mut self, process: u32, call: &Call<'_>) -> Option<Place> {
        let number = call.descriptor()?;
        if let Some(name) = call.named() {
            let file = self.names.number(name);
            let known = self.find(process, number).is_some_and(|place| self.places[place].file == file);
            if !known {
                self.open(process, number, name);
            }
        }
        self.find(process, number).map(|place| self.places[place])
    }

    pub(super) fn move_to(&mut self, process: u32, call: &Call<'_>, position: u64) {
        if let Some(place) = call.descriptor().and_then(|number| self.find(process, number)) {
            self.places[place].position = position;
        }
    }

    pub(super) fn files(&self) -> Vec<FileInfo> {
        self.names.files(0)
    }
}
