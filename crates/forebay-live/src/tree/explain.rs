//! Names for what the engine numbers: files by the nodes that the kernel holds, devices by their sources, contexts by their programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forebay_core::{ContextId, FileId};

use super::nodes::{Fingerprint, Place};
use super::{Tree, XATTR_SIZE_MAX};
use crate::source::Name;

impl Tree {
    /// Why the cache does what it does, as JSON ([`Explained`](crate::explain::Explained)), as much as an extended attribute takes.
    pub fn explain(&self) -> String {
        let mut explained = self.engine.explain();
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

    /// What files are called that the engine knows by number: of several hard links, the first by name.
    fn names_of(&self, files: BTreeSet<FileId>) -> BTreeMap<FileId, String> {
        let known = self.engine.identities(files.into_iter());
        let mut names = BTreeMap::new();
        let mut linked = Vec::new();
        for (file, device, identity) in known {
            let branch = self.branches.iter().position(|branch| branch.device == device);
            let shown = match (&identity.name, branch) {
                (Name::Path { path, .. }, Some(branch)) => self.path_of(&Place { branch, path: Arc::clone(path) }),
                (Name::Linked(_), Some(branch)) => {
                    linked.push((file, Fingerprint::file(branch, &identity).identity));
                    identity.name.to_string()
                }
                (_, None) => identity.name.to_string(),
            };
            names.insert(file, shown);
        }
        let places = self.nodes.lock().of_identities(&linked.iter().map(|&(_, identity)| identity).collect());
        for (file, identity) in linked {
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
