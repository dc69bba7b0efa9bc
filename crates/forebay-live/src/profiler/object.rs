//! Reading the objects of a source to measure it: range gets of the largest ones.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use forebay_device::Profile;
use forebay_source::{
    Attributes, Error, Fetch, FetchId, Kind, Label, Object, Result as SourceResult, Segments, Source,
};

use super::measure::{self, Plan};
use super::{Probe, ProfileError};

/// Files whose size is asked for, at most: over a network each is a request.
const LOOKS: usize = 64;
/// Folders that are listed, at most.
const FOLDERS: usize = 16;
/// Objects that are read, at most.
const OBJECTS: usize = 8;
/// Names that are asked for at once.
const ABREAST: usize = 8;

/// Measures `source` as a store without places.
pub fn profile(source: &Arc<dyn Source>, plan: Plan, progress: &mut dyn FnMut(f64)) -> Result<Profile, ProfileError> {
    let what = source.describe();
    let mut probe = SourceProbe::of_largest(&**source)?;
    if probe.objects.is_empty() {
        return Err(ProfileError::TooSmall { what, bytes: 0 });
    }
    measure::flat(&what, &mut probe, plan, progress)
}

/// Reads objects of about the same size, one after the other in place.
pub(super) struct SourceProbe {
    objects: Vec<Arc<dyn Object>>,
    /// The size of the smallest of them, a multiple of the block size: each counts with this many
    /// bytes.
    each: u64,
    /// Memory that was read into. New memory takes time when it is first written, and that time is
    /// not the storage's.
    buffers: Vec<Segments>,
    /// If readers come before it, how to learn that they do.
    disturbed: Option<Box<dyn Fn() -> bool>>,
}

/// A read that is over.
struct Read {
    buffer: Segments,
    /// Nanoseconds.
    took: SourceResult<u64>,
}

impl SourceProbe {
    /// The largest objects among the first that are found, none smaller than a quarter of the
    /// largest.
    fn of_largest(source: &dyn Source) -> SourceResult<SourceProbe> {
        let mut files = files(source)?;
        files.sort_by_key(|&(_, size)| std::cmp::Reverse(size));
        let least = files.first().map_or(0, |&(_, size)| size / 4);
        files.retain(|&(_, size)| size >= least.max(1));
        files.truncate(OBJECTS);
        let each = files.last().map_or(0, |&(_, size)| if size < 4096 { 0 } else { size / 4096 * 4096 });
        let objects = files.iter().map(|(path, _)| source.open(path)).collect::<SourceResult<_>>()?;
        Ok(SourceProbe { objects, each, buffers: Vec::new(), disturbed: None })
    }

    /// One object, read as long as `disturbed` does not say that readers come.
    pub(super) fn of_object(object: Arc<dyn Object>, disturbed: impl Fn() -> bool + 'static) -> SourceProbe {
        let each = object.version().size / 4096 * 4096;
        SourceProbe { objects: vec![object], each, buffers: Vec::new(), disturbed: Some(Box::new(disturbed)) }
    }

    /// Memory for a read, that of an earlier one of the same length if there is one.
    fn buffer(&mut self, len: usize) -> Segments {
        let known = self.buffers.iter().position(|buffer| buffer.len() == len);
        known.map_or_else(|| Segments::own(len), |at| self.buffers.swap_remove(at))
    }

    /// The time of the next read that is over.
    fn over(&mut self, outcomes: &Receiver<Read>) -> Result<u64, ProfileError> {
        // A source that drops a fetch without reporting its outcome has failed.
        let lost = |_| Error::Storage { name: "a range".into(), reason: "its outcome was lost".into() };
        let Read { buffer, took } = outcomes.recv().map_err(lost)?;
        self.buffers.push(buffer);
        if self.disturbed.as_ref().is_some_and(|disturbed| disturbed()) {
            return Err(ProfileError::Disturbed);
        }
        Ok(took?)
    }

    /// Starts a read, which goes to `sender` when it is over.
    fn start(&mut self, place: u64, len: u64, sender: &Sender<Read>) {
        let each = self.each.max(1);
        // A read does not go over the end of its object: it begins earlier instead.
        let len = len.min(each);
        let offset = (place % each).min(each - len) / 4096 * 4096;
        let sender = sender.clone();
        let (buffer, len) = (self.buffer(len as usize), len as usize);
        let number = (place / each) as usize % self.objects.len();
        let begin = Instant::now();
        let done = Box::new(move |buffer, outcome: SourceResult<()>| {
            let took = outcome.map(|()| begin.elapsed().as_nanos() as u64);
            // The receiver is gone if another read failed.
            let _ = sender.send(Read { buffer, took });
        });
        let label = Label::all(offset..offset + len as u64);
        let urgent = self.disturbed.is_none();
        self.objects[number].fetch(Fetch { id: FetchId::unique(), offset, buffer, len, urgent, label, done });
    }
}

/// Some files of a source with their sizes, folders nearest the root first.
fn files(source: &dyn Source) -> SourceResult<Vec<(PathBuf, u64)>> {
    let mut folders = std::collections::VecDeque::from([PathBuf::new()]);
    let mut files = Vec::new();
    for _ in 0..FOLDERS {
        let Some(folder) = folders.pop_front() else { break };
        // The names are taken from the listing as it is: taken apart, a large folder takes several
        // times as much memory.
        let listing = source.listing(&folder)?;
        let mut here = Vec::new();
        for listed in listing.iter() {
            let path = folder.join(listed.name);
            match listed.kind {
                Kind::Folder if folders.len() < FOLDERS => folders.push_back(path),
                Kind::File if files.len() + here.len() < LOOKS => here.push(path),
                _ => {}
            }
        }
        files.extend(sizes(source, &here)?);
    }
    Ok(files)
}

/// The sizes of files.
fn sizes(source: &dyn Source, paths: &[PathBuf]) -> SourceResult<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for paths in paths.chunks(ABREAST) {
        let (sender, answers) = channel();
        for path in paths {
            let (sender, name) = (sender.clone(), path.clone());
            let then = move |found: SourceResult<Attributes>| drop(sender.send((name, found)));
            source.stat_then(path, Box::new(then));
        }
        drop(sender);
        while let Ok((path, found)) = answers.recv() {
            match found {
                Ok(attributes) => files.push((path, attributes.size)),
                Err(Error::NotFound(_) | Error::Denied(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

impl Probe for SourceProbe {
    fn capacity(&self) -> u64 {
        self.each * self.objects.len() as u64
    }

    fn longest(&self) -> u64 {
        self.each
    }

    fn read(&mut self, place: u64, len: u64) -> Result<u64, ProfileError> {
        let (sender, outcome) = channel();
        self.start(place, len, &sender);
        drop(sender);
        self.over(&outcome)
    }

    fn read_all(&mut self, places: &[u64], len: u64, at_once: usize) -> Result<Vec<u64>, ProfileError> {
        let (sender, outcomes) = channel();
        // A mount's buffers for measuring must not exceed its memory.
        self.buffers.retain(|buffer| buffer.len() as u64 == len);
        let mut waiting = places.iter();
        for &place in waiting.by_ref().take(at_once) {
            self.start(place, len, &sender);
        }
        // Dropped once no more reads are to be started, so that a lost outcome is noticed.
        let mut sender = Some(sender);
        let mut times = Vec::with_capacity(places.len());
        for _ in places {
            if waiting.len() == 0 {
                sender = None;
            }
            times.push(self.over(&outcomes)?);
            if let (Some(&place), Some(sender)) = (waiting.next(), &sender) {
                self.start(place, len, sender);
            }
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::profiler::{Target, profile};
    use forebay_source::memory::MemorySource;

    const QUICK: Duration = Duration::from_millis(50);

    fn target(source: MemorySource) -> Target {
        Target::Source(Arc::new(source))
    }

    #[test]
    fn a_source_is_measured() {
        let profile = profile(&target(MemorySource::of(&["a", "b"], 1 << 22)), QUICK, &mut |_| ()).unwrap();
        profile.check().unwrap();
        assert_eq!((profile.device.as_str(), profile.kind), ("memory", forebay_device::Kind::Flat));
        assert!(profile.rate > 1_000_000, "{profile:?}");
    }

    #[test]
    fn empty_small_and_failing_sources_are_told_apart() {
        let said = |source| profile(&target(source), QUICK, &mut |_| ()).unwrap_err();
        assert!(matches!(said(MemorySource::of(&[], 0)), ProfileError::TooSmall { bytes: 0, .. }));
        assert!(matches!(said(MemorySource::of(&["a"], 5000)), ProfileError::TooSmall { bytes: 4096, .. }));
        assert!(matches!(said(MemorySource::of(&["a"], 1 << 20).failing()), ProfileError::Source(_)));
    }

    #[test]
    fn reads_stay_inside_objects() {
        let source = MemorySource::of(&["a", "b", "c"], 10_000);
        let mut probe = SourceProbe::of_largest(&source).unwrap();
        assert_eq!((probe.capacity(), probe.longest()), (3 * 8192, 8192));
        let places: Vec<u64> = (0..6).map(|i| i * 4096).collect();
        for (at_once, len) in [(1, 4096), (3, 8192), (50, 4096), (50, 8192)] {
            probe.read_all(&places, len, at_once).unwrap();
        }
    }
}
