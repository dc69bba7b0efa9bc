//! Why an engine does what it does, as `forebay explain` shows it: the core's account of itself
//! ([`forebay_core::explain`]), with names for the things that it numbers.

use forebay_core::explain::{Ahead, Cache, Context, Device, Explanation, Partition, Stream};
use forebay_core::{FileId, Referenced};
use serde::{Deserialize, Serialize};

use crate::contexts::hints::Origin;
use crate::engine::Engine;

/// Streams that are listed, the most active ones: about as many as an extended attribute holds.
pub const STREAMS: usize = 120;
/// Contexts that are listed, those with the most accesses.
const CONTEXTS: usize = 40;

/// A cache, explained. A mount of another version may say less.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Explained {
    /// The policy's name.
    pub policy: String,
    /// The fate of blocks that were read.
    pub referenced: Referenced,
    /// The budget of the engine.
    pub memory_bytes: u64,
    /// The bytes that it is a part of, if that is known; the others are for program contexts,
    /// connections and disk tiers.
    pub given_bytes: u64,
    /// Since it started, in real or simulated time.
    pub seconds: f64,
    /// Bytes in a block; sizes without a unit in their name count blocks.
    pub block_bytes: u32,
    /// Frames in all.
    pub frames: u32,
    /// Free frames.
    pub frames_free: u32,
    /// The bounds on blocks ahead, over all streams.
    pub ahead: Ahead,
    /// How many streams there are; more than are listed, if they are many.
    pub stream_count: u64,
    /// The streams, the most active first, by the names of their files.
    pub streams: Vec<Named<Stream>>,
    /// How many devices there are; more than are listed, if they are many.
    pub device_count: u64,
    /// The devices.
    pub devices: Vec<Named<Device>>,
    /// Their partitions, or the one that they share.
    pub partitions: Vec<Partition>,
    /// How many epochs of the division are over, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// The prefetch cache, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch_cache: Option<Cache>,
    /// The contexts with the most accesses, by what they stand for.
    pub contexts: Vec<Named<Context>>,
}

/// Something with a name, which is empty if the name is not known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Named<T> {
    /// The name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The thing with this name.
    #[serde(flatten)]
    pub of: T,
}

impl<T> Named<T> {
    fn nameless(of: T) -> Named<T> {
        Named { name: String::new(), of }
    }
}

impl Explained {
    /// A core's account of itself under a policy, `nanoseconds` after it began, without names.
    pub fn new(policy: String, memory_bytes: u64, nanoseconds: u64, core: Explanation) -> Explained {
        let mut contexts = core.contexts;
        contexts.sort_by_key(|context| (std::cmp::Reverse(context.accesses), context.context));
        Explained {
            policy,
            referenced: Referenced::Kept,
            memory_bytes,
            given_bytes: 0,
            seconds: nanoseconds as f64 / 1e9,
            block_bytes: core.block_bytes,
            frames: core.frames,
            frames_free: core.free,
            ahead: core.ahead,
            stream_count: core.stream_count.into(),
            streams: core.streams.into_iter().map(Named::nameless).collect(),
            device_count: core.devices.len() as u64,
            devices: core.devices.into_iter().map(Named::nameless).collect(),
            partitions: core.partitions,
            epochs: core.epochs,
            prefetch_cache: core.prefetch_cache,
            contexts: contexts.into_iter().take(CONTEXTS).map(Named::nameless).collect(),
        }
    }

    /// Names the devices, in order.
    pub fn name_devices(&mut self, names: &[String]) {
        for (device, name) in self.devices.iter_mut().zip(names) {
            device.name.clone_from(name);
        }
    }

    /// Names the files of streams.
    pub fn name_files(&mut self, name: impl Fn(FileId) -> Option<String>) {
        for stream in &mut self.streams {
            stream.name = name(FileId(stream.of.file)).unwrap_or_default();
        }
    }

    /// As JSON in at most this many bytes. Surplus streams are left out, the idlest first, then
    /// contexts, those with the fewest accesses first, then devices and their partitions, the last
    /// first.
    pub fn to_json_within(mut self, bytes: usize) -> String {
        loop {
            // Numbers, strings and lists alone: all have a form in JSON.
            let json = serde_json::to_string(&self).unwrap_or_default();
            let three_quarters = |len: usize| len * 3 / 4;
            if json.len() <= bytes {
                return json;
            } else if !self.streams.is_empty() {
                self.streams.truncate(three_quarters(self.streams.len()));
            } else if !self.contexts.is_empty() {
                self.contexts.truncate(three_quarters(self.contexts.len()));
            } else if !self.devices.is_empty() {
                self.devices.truncate(three_quarters(self.devices.len()));
                self.partitions.truncate(self.devices.len());
            } else {
                return json;
            }
        }
    }
}

impl Origin {
    /// In a line: the program, and the file or the innermost of its own functions.
    pub fn line(&self) -> String {
        let program = self.executable.rsplit('/').next().unwrap_or_default();
        let own = || self.frames.iter().find(|frame| frame.starts_with(&format!("{program}+"))).or(self.frames.first());
        match self.file.as_ref().or_else(own) {
            Some(place) => format!("{program} {place}"),
            None => program.to_owned(),
        }
    }
}

impl Engine {
    /// The core's account of itself.
    pub fn explain(&self) -> Explained {
        let explained = self
            .with_core(|policy, memory, now, core| Explained::new(policy, memory, now.0, core.explain(now, STREAMS)));
        Explained { referenced: self.referenced(), ..explained }
    }
}
