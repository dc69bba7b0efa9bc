//! Names for what the engine numbers: files by the nodes that the kernel holds, devices by their sources, contexts by their programs.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::{ContextId, FileId};

use super::nodes::Identity;
use super::{Tree, XATTR_SIZE_MAX};

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
        let versions: Vec<u64> = known.iter().map(|(.., version)| Identity::file(version).version).collect();
        let places = self.nodes.lock().of_versions(&versions.iter().copied().collect());
        let mut names = BTreeMap::new();
        for ((file, device, name, _), version) in known.into_iter().zip(versions) {
            let same = places
                .iter()
                .filter(|(known, place)| *known == version && self.branches[place.branch].device == device);
            let shown = same.map(|(_, place)| {
                let path = place.path.display();
                self.branches[place.branch]
                    .name
                    .as_ref()
                    .map_or_else(|| path.to_string(), |name| format!("{}/{path}", name.display()))
            });
            names.insert(file, shown.min().unwrap_or(name));
        }
        names
    }
}
