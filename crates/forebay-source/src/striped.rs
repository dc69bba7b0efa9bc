//! A set of sources behind one name: files dealt out over its members, chunk by chunk (RAID-0),
//! each member a device of its own.
//!
//! File `x` of the set lies in the members' files `x`, as [`Stripes`] says. The members' files must
//! fit together:
//!
//! - a name is in all members, of one kind: a folder in all, a file in all, a link to the same
//!   place in all;
//! - the lengths of a file are those that a file of their sum has when it is dealt out; some may be
//!   zero.
//!
//! A folder lists the names that any member has, so that nothing disappears silently. A request for
//! a name that does not fit gets [`Error::Storage`], which names the member and the fault. Size is
//! the sum, times are the latest, the rest (mode, owner, extended attributes) is the first
//! member's. Inode numbers are hashes. A file has several links if it has in all members; a listing
//! alone shows a number of its own for each of them. The version is that of all members together: a
//! changed member makes another version. Opening the file and reading from that member notice it.
//!
//! Known weakness. Only their lengths tell that a file's parts belong together. If a set is written
//! anew member by member, a reader that opens a file meanwhile gets the parts of that moment.

mod deal;
mod gather;
mod object;
mod stripes;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use twox_hash::XxHash64;

use super::identity::inode_number;
use super::{
    Attributes, Entry, Error, Identity, Inode, Kind, Listed, Listing, Name, Object, Result, Source, Space, Then,
    Version,
};
use gather::gather;
use object::{Part, StripedObject};

pub use deal::{DealError, Dealt, deal};
pub use stripes::{Stripes, StripesError};

/// A set of sources behind one name. See the module's head.
pub struct StripedSource {
    set: Arc<Set>,
}

/// The parts that answers are made of.
struct Set {
    stripes: Stripes,
    members: Vec<Arc<dyn Source>>,
    /// The members' descriptions, for messages.
    names: Vec<String>,
    address: Arc<str>,
}

impl StripedSource {
    /// A set of these members, in their order, with chunks of `unit` bytes.
    pub fn new(unit: u64, members: Vec<Arc<dyn Source>>) -> std::result::Result<StripedSource, StripesError> {
        let stripes = Stripes::new(unit, members.len())?;
        let names = members.iter().map(|member| member.describe()).collect();
        let addresses: Vec<&str> = members.iter().map(|member| &**member.address()).collect();
        let address = format!("stripe:{unit}:{}", addresses.join(",")).into();
        Ok(StripedSource { set: Arc::new(Set { stripes, members, names, address }) })
    }
}

impl Set {
    fn describe(&self) -> String {
        let unit = crate::size::Size::of(self.stripes.unit());
        format!("stripe:{unit}:{}", self.names.join(","))
    }

    /// Asks all members the same. The name is missing if it is missing in all of them.
    fn all<T>(&self, path: &Path, ask: impl Fn(&dyn Source) -> Result<T>) -> Result<Vec<T>> {
        self.agreed(path, self.members.iter().map(|member| ask(&**member)).collect())
    }

    /// Asks all members the same at once, and makes one answer of theirs.
    fn all_then<T: Send + 'static, A: 'static>(
        self: &Arc<Set>,
        path: &Path,
        ask: impl Fn(&dyn Source, Then<T>),
        of_all: impl FnOnce(&Set, &Path, Vec<T>) -> Result<A> + Send + 'static,
        then: Then<A>,
    ) {
        let (set, path) = (Arc::clone(self), path.to_path_buf());
        gather(&self.members, ask, move |answers| {
            then(set.agreed(&path, answers).and_then(|answers| of_all(&set, &path, answers)));
        });
    }

    /// The members' answers, if none failed and the name is in all of them.
    fn agreed<T>(&self, path: &Path, answers: Vec<Result<T>>) -> Result<Vec<T>> {
        let missing = |answer: &Result<T>| matches!(answer, Err(Error::NotFound(_)));
        if answers.iter().all(missing) {
            return Err(Error::NotFound(path.display().to_string()));
        }
        if let Some(member) = answers.iter().position(missing) {
            return Err(self.misfit(path, member, "is missing"));
        }
        let named = answers.into_iter().enumerate();
        named.map(|(member, answer)| answer.map_err(|error| of_member(error, &self.names[member]))).collect()
    }

    /// The error for parts that do not fit together.
    fn misfit(&self, path: &Path, member: usize, what: &str) -> Error {
        let name = if path.as_os_str().is_empty() { "." } else { &path.to_string_lossy() };
        let reason = format!("{what} in {}, a member of {}", self.names[member], self.describe());
        Error::Storage { name: name.into(), reason }
    }

    /// The length of the file whose parts have these lengths.
    fn size(&self, path: &Path, lengths: &[u64]) -> Result<u64> {
        let size = self.stripes.size(lengths);
        for (member, &length) in lengths.iter().enumerate() {
            let fits = self.stripes.share(size, member);
            if fits != length {
                let what = format!("has {length} bytes where {fits} fit the other members'");
                return Err(self.misfit(path, member, &what));
            }
        }
        Ok(size)
    }

    /// The attributes of a file, from its parts.
    fn file(&self, path: &Path, parts: &[Attributes]) -> Result<Attributes> {
        let lengths: Vec<u64> = parts.iter().map(|part| part.size).collect();
        let size = self.size(path, &lengths)?;
        let latest = |time: fn(&Attributes) -> std::time::SystemTime| parts.iter().map(time).max();
        let first = &parts[0];
        let identity = together(&self.address, path, size, parts.iter().map(|part| &part.identity));
        let linked = matches!(identity.name, Name::Linked(_));
        Ok(Attributes {
            size,
            allocated: parts.iter().map(|part| part.allocated).fold(0, u64::saturating_add),
            accessed: latest(|part| part.accessed).unwrap_or(first.accessed),
            modified: latest(|part| part.modified).unwrap_or(first.modified),
            changed: latest(|part| part.changed).unwrap_or(first.changed),
            links: if linked { first.links } else { 1 },
            inode: identity.name.number(),
            identity,
            told: parts.iter().filter_map(|part| part.told).min(),
            ..first.clone()
        })
    }

    /// The attributes of a name, from its attributes in the members.
    fn attributes(&self, path: &Path, parts: &[Attributes]) -> Result<Attributes> {
        let kind = parts[0].kind;
        if let Some(member) = parts.iter().position(|part| part.kind != kind) {
            let what = format!("is {} and not, as in {}, {}", a(parts[member].kind), self.names[0], a(kind));
            return Err(self.misfit(path, member, &what));
        }
        match kind {
            Kind::File => self.file(path, parts),
            Kind::Folder | Kind::Link | Kind::Special => {
                let name = Name::path(&self.address, path);
                let identity = Identity { name, version: Version::default() };
                Ok(Attributes { inode: identity.name.number(), identity, ..parts[0].clone() })
            }
        }
    }

    /// Lists the names in order; a name that is of several kinds has the first member's entry.
    fn listing(&self, path: &Path, listings: &[Listing]) -> Listing {
        let mut names = BTreeMap::new();
        for listed in listings.iter().flat_map(Listing::iter) {
            let inode = inode_number(&self.address, &path.join(listed.name));
            let entry = Entry { inode, facts: None, ..Entry::from(listed) };
            names.entry(entry.name.clone()).or_insert(entry);
        }
        let told = listings.iter().map(Listing::told).min().unwrap_or_else(Instant::now);
        Listing::new(names.into_values(), told)
    }

    fn object(&self, path: &Path, objects: Vec<Arc<dyn Object>>) -> Result<Arc<dyn Object>> {
        let lengths: Vec<u64> = objects.iter().map(|object| object.version().size).collect();
        let size = self.size(path, &lengths)?;
        let identity = together(&self.address, path, size, objects.iter().map(|object| object.identity()));
        let named = objects.into_iter().zip(&self.names);
        let parts = named.map(|(object, member)| Part { object, member: member.as_str().into() }).collect();
        Ok(Arc::new(StripedObject::new(identity, self.stripes, parts)))
    }
}

/// The identity of the file of these parts. Hard links have one name if they have in all members.
/// The parts' identities are hashed, 128 bits, since every file that the engine knows keeps its
/// version: two are taken for one with a chance of 2^-128.
fn together<'a>(
    address: &Arc<str>,
    path: &Path,
    size: u64,
    parts: impl Iterator<Item = &'a Identity> + Clone,
) -> Identity {
    let linked = parts.clone().all(|part| matches!(part.name, Name::Linked(_)));
    let name = if linked { Name::Linked(linked_in_all(parts.clone())) } else { Name::path(address, path) };
    let latest = |time: fn(&Version) -> i128| parts.clone().map(|part| time(&part.version)).max();
    let version = Version {
        size,
        modified: latest(|version| version.modified).unwrap_or(0),
        changed: latest(|version| version.changed).unwrap_or(0),
        tag: Some(format!("{:016x}{:016x}", hash(0, parts.clone()), hash(1, parts.clone())).into()),
    };
    Identity { name, version }
}

/// Stands for the inodes of all parts.
fn linked_in_all<'a>(parts: impl Iterator<Item = &'a Identity>) -> Inode {
    let mut hasher = XxHash64::with_seed(0);
    for Inode { device, number, mount } in parts.map(|part| part.name.inode()) {
        [device, number, mount].iter().for_each(|part| hasher.write(&part.to_le_bytes()));
    }
    Inode { device: hasher.finish(), ..Inode::NONE }
}

fn hash(salt: u8, of: impl Iterator<Item = impl Hash>) -> u64 {
    let mut hasher = DefaultHasher::new();
    salt.hash(&mut hasher);
    of.for_each(|part| part.hash(&mut hasher));
    hasher.finish()
}

impl Source for StripedSource {
    fn describe(&self) -> String {
        self.set.describe()
    }

    fn address(&self) -> &Arc<str> {
        &self.set.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        let ask = |member: &dyn Source, then| member.stat_then(path, then);
        self.set.all_then(path, ask, |set, path, parts: Vec<Attributes>| set.attributes(path, &parts), then);
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        let ask = |member: &dyn Source, then| member.list_then(path, then);
        self.set.all_then(path, ask, |set, path, listings: Vec<Listing>| Ok(set.listing(path, &listings)), then);
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let ask = |member: &dyn Source, then| member.open_then(path, then);
        self.set.all_then(path, ask, Set::object, then);
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        let path = folder.join(listed.name);
        let parts = self.set.all(&path, |member| member.listed(folder, listed))?;
        let parts: Option<Vec<Attributes>> = parts.into_iter().collect();
        parts.map(|parts| self.set.attributes(&path, &parts)).transpose()
    }

    fn forget_names(&self, path: &Path) {
        self.set.members.iter().for_each(|member| member.forget_names(path));
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        let mut targets = self.set.all(path, |member| member.read_link(path))?;
        match targets.iter().position(|target| *target != targets[0]) {
            Some(member) => Err(self.set.misfit(path, member, "points elsewhere")),
            None => Ok(targets.swap_remove(0)),
        }
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.set.members[0].xattr(path, name)
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.set.members[0].xattrs(path)
    }

    /// The space for files that are dealt out evenly: that of the fullest member, times the
    /// members. Members without bounds count as empty.
    fn space(&self) -> Result<Space> {
        let spaces = self.set.all(Path::new(""), |member| member.space())?;
        let members = spaces.len() as u64;
        let bounded: Vec<&Space> = spaces.iter().filter(|space| **space != Space::default()).collect();
        let least = |number: fn(&Space) -> u64| bounded.iter().map(|space| number(space)).min().unwrap_or(0);
        Ok(Space {
            bytes: least(|space| space.bytes).saturating_mul(members),
            bytes_free: least(|space| space.bytes_free).saturating_mul(members),
            names: least(|space| space.names),
            names_free: least(|space| space.names_free),
        })
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        &self.set.members
    }
}

/// The same error, about a file in a member.
fn of_member(error: Error, member: &str) -> Error {
    let of = |name: String| format!("{name} in {member}");
    match error {
        Error::NotFound(name) => Error::NotFound(of(name)),
        Error::Denied(name) => Error::Denied(of(name)),
        Error::Barred { name, reason } => Error::Barred { name: of(name), reason },
        Error::Stale(name) => Error::Stale(of(name)),
        Error::Refused { name, errno } => Error::Refused { name: of(name), errno },
        Error::Storage { name, reason } => Error::Storage { name: of(name), reason },
        Error::Setting { name, reason, region } => Error::Setting { name: of(name), reason, region },
        Error::GivenUp { name, reason, after } => Error::GivenUp { name: of(name), reason, after },
        Error::CalledOff => Error::CalledOff,
    }
}

fn a(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Folder => "a folder",
        Kind::Link => "a link",
        Kind::Special => "a pipe, socket or device",
    }
}

#[cfg(test)]
mod tests;
