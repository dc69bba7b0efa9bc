//! Devices by name. A description is a TOML file: a few are shipped with the crate, and users add
//! their own anywhere.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::array::{Array, ArrayDescription};
use crate::attached::{Attached, AttachedDescription};
use crate::disk::Disk;
use crate::network::Network;
use crate::object_store::ObjectStore;
use crate::scheduler::SchedulerKind;
use crate::slowdown::{Slowed, SlowedDescription};
use crate::ssd::Ssd;
use crate::{DeviceQueue, Model, Queue, disk, object_store, ssd};

/// How deep devices may be made of devices: enough for an array of slow disks behind a network. The
/// limit stops a file that names itself.
const NESTED: u32 = 8;

/// The files that are shipped.
const SHIPPED: [&str; 12] = [
    include_str!("../devices/barracuda.toml"),
    include_str!("../devices/cheetah-9lp.toml"),
    include_str!("../devices/hp-c3323a.toml"),
    include_str!("../devices/ibm-10k.toml"),
    include_str!("../devices/ibm-18es.toml"),
    include_str!("../devices/ibm-9lzx.toml"),
    include_str!("../devices/micron-7600.toml"),
    include_str!("../devices/object-store.toml"),
    include_str!("../devices/s3-standard.toml"),
    include_str!("../devices/sas-15k.toml"),
    include_str!("../devices/seagate-10k.toml"),
    include_str!("../devices/ssd.toml"),
];

/// Why a device could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No shipped device has that name.
    #[error("no device is called `{name}`; known are {}; a file is given by its path, ending in .toml", .known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names of shipped devices.
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
    /// The file is not a description.
    #[error("{origin}: {source}")]
    Syntax {
        /// The file.
        origin: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// The description is of an impossible device.
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
    /// A line that describes it.
    pub about: String,
    /// Its mechanics.
    pub model: ModelDescription,
}

/// The kinds of mechanics.
// A value is read now and then, and never many at a time.
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
    /// Devices side by side, RAID-0.
    Array(ArrayDescription),
    /// A device behind a network.
    Attached(AttachedDescription),
    /// A device that takes longer at times.
    Slowed(SlowedDescription),
}

impl ModelDescription {
    /// The kind of device, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            ModelDescription::Disk(_) => "disk",
            ModelDescription::ObjectStore(_) => "object-store",
            ModelDescription::Ssd(_) => "ssd",
            ModelDescription::Array(_) => "array",
            ModelDescription::Attached(_) => "attached",
            ModelDescription::Slowed(_) => "slowed",
        }
    }

    /// Names of other files are relative to this folder.
    fn relative_to(&mut self, folder: &Path) {
        let names = match self {
            ModelDescription::Array(array) => array.members.as_mut_slice(),
            ModelDescription::Attached(attached) => std::slice::from_mut(&mut attached.device),
            ModelDescription::Slowed(slowed) => std::slice::from_mut(&mut slowed.device),
            _ => return,
        };
        let is_file = |name: &str| {
            name.ends_with(".toml") || name.rsplit_once('@').is_some_and(|(young, _)| young.ends_with(".toml"))
        };
        for name in names.iter_mut().filter(|name| is_file(name)) {
            *name = folder.join(&*name).to_string_lossy().into_owned();
        }
    }
}

impl Description {
    /// Reads a description; `origin` names it in errors. Files that it names are relative to the
    /// working folder.
    pub fn parse(text: &str, origin: &str) -> Result<Description, Error> {
        let description = Description::syntax(text, origin)?;
        description.queue(0, &SchedulerKind::None)?;
        Ok(description)
    }

    fn syntax(text: &str, origin: &str) -> Result<Description, Error> {
        let syntax = |source| Error::Syntax { origin: origin.to_owned(), source: Box::new(source) };
        toml::from_str(text).map_err(syntax)
    }

    /// The device, new; `seed` fixes all that is random in it. Only a single device has a model. An
    /// array, or a device behind a network, has a [`Description::queue`] only.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Model>, Error> {
        self.model(seed, NESTED)
    }

    /// The device, new, behind a scheduler; an array has one for each of its members.
    pub fn queue(&self, seed: u64, scheduler: &SchedulerKind) -> Result<Box<dyn Queue>, Error> {
        self.nested(seed, scheduler, NESTED)
    }

    fn invalid(&self, reason: &'static str) -> Error {
        Error::Invalid { name: self.name.clone(), reason }
    }

    fn model(&self, seed: u64, depth: u32) -> Result<Box<dyn Model>, Error> {
        let built: Result<Box<dyn Model>, _> = match &self.model {
            ModelDescription::Disk(disk) => Disk::new(disk).map(|m| Box::new(m.seeded(seed)) as _),
            ModelDescription::ObjectStore(store) => ObjectStore::new(store, seed).map(|m| Box::new(m) as _),
            ModelDescription::Ssd(ssd) => Ssd::new(ssd, seed).map(|m| Box::new(m) as _),
            ModelDescription::Slowed(slowed) => {
                let model = self.part(&slowed.device, depth)?.model(seed, depth - 1)?;
                Slowed::new(model, &slowed.slowdowns).map(|m| Box::new(m) as _).map_err(|error| error.reason())
            }
            ModelDescription::Array(_) | ModelDescription::Attached(_) => {
                Err("is not a single device; where one is needed, name a member of the array or what is attached")
            }
        };
        built.map_err(|reason| self.invalid(reason))
    }

    fn nested(&self, seed: u64, scheduler: &SchedulerKind, depth: u32) -> Result<Box<dyn Queue>, Error> {
        match &self.model {
            ModelDescription::Array(array) => {
                let member = |(number, name): (u64, &String)| {
                    self.part(name, depth)?.nested(seed.wrapping_add(number), scheduler, depth - 1)
                };
                let members = (0..).zip(&array.members).map(member).collect::<Result<_, _>>()?;
                let array = Array::new(members, array.stripe_kib.saturating_mul(1024));
                Ok(Box::new(array.map_err(|reason| self.invalid(reason))?))
            }
            ModelDescription::Attached(attached) => {
                let queue = self.part(&attached.device, depth)?.nested(seed, scheduler, depth - 1)?;
                let network = Network::new(&attached.network).map_err(|reason| self.invalid(reason))?;
                Ok(Box::new(Attached::new(queue, Arc::new(Mutex::new(network)), 0, 1)))
            }
            _ => Ok(Box::new(DeviceQueue::new(self.model(seed, depth)?, scheduler.build()))),
        }
    }

    /// A device that this one is made of.
    fn part(&self, name: &str, depth: u32) -> Result<Description, Error> {
        if depth == 0 {
            return Err(self.invalid("it is made of devices that are made of devices, more than eight deep"));
        }
        load(name)
    }
}

/// The devices that are shipped, by name.
pub fn devices() -> Vec<Description> {
    let parse = |text| toml::from_str(text).expect("shipped descriptions are read by a test");
    SHIPPED.into_iter().map(parse).collect()
}

/// A shipped device by its name, or a user's own by the path of its file, which ends in `.toml`. A
/// disk's name may end in `@` and years: the same disk, so much older ([`Description::aged`]).
pub fn device(name: &str) -> Result<Description, Error> {
    let description = load(name)?;
    description.queue(0, &SchedulerKind::None)?;
    Ok(description)
}

/// A device that is not checked yet.
fn load(name: &str) -> Result<Description, Error> {
    if let Some((young, years)) = disk::split_age(name)? {
        return load(young)?.aged(years);
    }
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let read = |source| Error::Read { path: path.to_owned(), source };
        let mut description = Description::syntax(&std::fs::read_to_string(path).map_err(read)?, name)?;
        description.model.relative_to(path.parent().unwrap_or(Path::new("")));
        return Ok(description);
    }
    let all = devices();
    let known = all.iter().map(|device| device.name.clone()).collect();
    let found = all.into_iter().find(|device| device.name == name);
    found.ok_or(Error::Unknown { name: name.to_owned(), known })
}
