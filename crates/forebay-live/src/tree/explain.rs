//! A mount's account of itself: counters and reasons, with names for the things that the engine
//! numbers. Files are named by the nodes that the kernel holds, devices by their sources, contexts
//! by their programs.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::{ContextId, FileId};
use forebay_source::{Name, TierFigures};

use super::nodes::Place;
use super::sameness::file_hash;
use super::xattrs::XATTR_SIZE_MAX;
use super::{Branch, Tree};
use crate::engine::Identified;
use crate::explain::Explained;
use crate::figures::Figures;

impl Tree {
    /// The engine's counters as JSON ([`Stats`](crate::stats::Stats)), its devices named after
    /// their branches and its streams after their files, as much as an extended attribute takes.
    pub fn stats(&self) -> String {
        let mut stats = self.engine.stats(&self.device_names());
        if let Some(callers) = &self.callers {
            callers.name(&mut stats.contexts);
        }
        let files = self.names_of(stats.streams.iter().map(|stream| FileId(stream.file)).collect());
        for stream in &mut stats.streams {
            stream.path = files.get(&FileId(stream.file)).cloned().unwrap_or_default();
        }
        stats.tiers = self.tiers();
        stats.to_json_within(XATTR_SIZE_MAX)
    }

    /// The devices' names, in order.
    fn device_names(&self) -> Vec<String> {
        self.names_by(Branch::devices)
    }

    /// The engine's figures, its devices named after their branches; with `paths`, a device of a
    /// branch without a name after its source.
    pub fn figures(&self, paths: bool) -> Figures {
        let names = self.names_by(if paths { Branch::devices } else { Branch::labels });
        Figures { tiers: self.tiers(), ..self.engine.figures(&names) }
    }

    /// The disk tiers, which all branches share.
    fn tiers(&self) -> Vec<TierFigures> {
        self.branches.first().map(|branch| branch.source.tiers()).unwrap_or_default()
    }

    fn names_by(&self, devices: fn(&Branch) -> Vec<String>) -> Vec<String> {
        let mut names = Vec::new();
        for branch in &self.branches {
            let of_branch = devices(branch);
            let first = branch.device.index();
            names.resize(names.len().max(first + of_branch.len()), String::new());
            names[first..first + of_branch.len()].clone_from_slice(&of_branch);
        }
        names
    }

    /// Why the cache does what it does, as JSON ([`Explained`]), as much as an extended attribute
    /// takes.
    pub fn explain(&self) -> String {
        let mut explained = Explained { given_bytes: self.given, ..self.engine.explain() };
        explained.name_devices(&self.device_names());
        let files = self.names_of(explained.streams.iter().map(|stream| FileId(stream.of.file)).collect());
        explained.name_files(|file| files.get(&file).cloned());
        if let Some(callers) = &self.callers {
            let numbers: Vec<ContextId> =
                explained.contexts.iter().map(|context| ContextId(context.of.context)).collect();
            let origins = callers.origins(&numbers);
            for context in &mut explained.contexts {
                let origin = origins.get(&ContextId(context.of.context));
                context.name = origin.map(|(_, origin)| origin.line()).unwrap_or_default();
            }
        }
        explained.to_json_within(XATTR_SIZE_MAX)
    }

    /// The names of files that the engine knows by number, as far as they are open or the kernel
    /// holds them. For several hard links, it is the first by name.
    fn names_of(&self, files: BTreeSet<FileId>) -> BTreeMap<FileId, String> {
        let mut names = BTreeMap::new();
        let mut others = Vec::new();
        for Identified { file, device, fingerprint, name } in self.engine.identified(files.into_iter()) {
            let branch = self.branches.iter().position(|branch| branch.device == device);
            match (name, branch) {
                (Some(Name::Path { path, .. }), Some(branch)) => {
                    names.insert(file, self.path_of(&Place { branch, path }));
                }
                (_, Some(branch)) => others.push((file, file_hash(branch, fingerprint))),
                (name, None) => names.extend(name.map(|name| (file, name.to_string()))),
            }
        }
        let places = self.nodes.lock().of_identities(&others.iter().map(|&(_, identity)| identity).collect());
        for (file, identity) in others {
            let same = places.iter().filter(|(known, _)| *known == identity);
            if let Some(shown) = same.map(|(_, place)| self.path_of(place)).min() {
                names.insert(file, shown);
            }
        }
        names
    }

    /// The path in the tree.
    fn path_of(&self, place: &Place) -> String {
        let path = place.path.display();
        let name = &self.branches[place.branch].name;
        name.as_ref().map_or_else(|| path.to_string(), |name| format!("{}/{path}", name.display()))
    }
}
