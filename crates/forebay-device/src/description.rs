//! Devices by name. A description is a TOML file; a few are shipped with the crate, others are loaded from wherever the user
//! keeps them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::object_store::ObjectStore;
use crate::ssd::Ssd;
use crate::{Model, disk, object_store, ssd};

/// The files that are shipped.
const SHIPPED: [&str; 9] = [
    include_str!("../devices/barracuda.toml"),
    include_str!("../devices/cheetah-9lp.toml"),
    include_str!("../devices/hp-c3323a.toml"),
    include_str!("../devices/ibm-10k.toml"),
    include_str!("../devices/ibm-18es.toml"),
    include_str!("../devices/ibm-9lzx.toml"),
    include_str!("../devices/object-store.toml"),
    include_str!("../devices/seagate-10k.toml"),
    include_str!("../devices/ssd.toml"),
];

/// Why there is no such device.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No shipped device has that name.
    #[error("no device is called `{name}`; known are {}; a file is given by its path, ending in .toml", .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a description.
    #[error("{origin}: {source}")]
    Syntax {
        /// The file.
        origin: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// It describes nothing possible.
    #[error("device `{name}`: {reason}")]
    Invalid {
        /// The device.
        name: String,
        /// Why.
        reason: &'static str,
    },
}

/// A device as its file describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its name: lower case, hyphens.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Its mechanics.
    pub model: ModelDescription,
}

/// The mechanics that there are.
// One is read now and then, and never many at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelDescription {
    /// An arm and platters.
    Disk(disk::Description),
    /// Range gets over a network.
    ObjectStore(object_store::Description),
    /// Flash.
    Ssd(ssd::Description),
}

impl Description {
    /// Reads a description; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Description, Error> {
        let syntax = |source| Error::Syntax { origin: origin.to_owned(), source: Box::new(source) };
        let description: Description = toml::from_str(text).map_err(syntax)?;
        description.build(0)?;
        Ok(description)
    }

    /// The device, new, with everything random in it fixed by `seed`.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Model>, Error> {
        let built: Result<Box<dyn Model>, _> = match &self.model {
            ModelDescription::Disk(disk) => Disk::new(disk).map(|m| Box::new(m.seeded(seed)) as _),
            ModelDescription::ObjectStore(store) => ObjectStore::new(store, seed).map(|m| Box::new(m) as _),
            ModelDescription::Ssd(ssd) => Ssd::new(ssd).map(|m| Box::new(m) as _),
        };
        built.map_err(|reason| Error::Invalid { name: self.name.clone(), reason })
    }
}

/// The devices that are shipped, by name.
pub fn devices() -> Vec<Description> {
    let parse = |text| toml::from_str(text).expect("shipped descriptions are read by a test");
    SHIPPED.into_iter().map(parse).collect()
}

/// A shipped device by its name, or one's own by the path of its file, which ends in `.toml`. A disk's name may end in `@` and
/// years: the same disk, so much older ([`Description::aged`]).
pub fn device(name: &str) -> Result<Description, Error> {
    if let Some((young, years)) = disk::split_age(name)? {
        return device(young)?.aged(years);
    }
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let read = |source| Error::Read { path: path.to_owned(), source };
        return Description::parse(&std::fs::read_to_string(path).map_err(read)?, name);
    }
    let all = devices();
    let known = all.iter().map(|device| device.name.clone()).collect();
    let found = all.into_iter().find(|device| device.name == name);
    found.ok_or(Error::Unknown { name: name.to_owned(), known })
}
