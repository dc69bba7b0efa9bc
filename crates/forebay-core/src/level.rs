//! Levels: a request tells the level below which of its blocks readers want (SCM §4.2).
//!
//! A level fetches the blocks that its readers ask for, and more. To the level below both look
//! alike, and it takes the upper level's caution for the readers' own pattern: the bullwhip effect.
//! So every fetch is labelled with the part that readers wait for
//! ([`Action::Fetch::demand`](crate::Action::Fetch)). The level below moves its streams by the
//! whole request, and may prefetch because of it. It adapts degree, distance and its notion of
//! sequential by the labelled part alone.
//!
//! ```text
//!   readers     ..hits..|demand|
//!   request             |demand|── prefetch ──▶
//!   note        |─hits──|
//! ```
//!
//! Reads that hit in the upper level are invisible below, which the paper names as the drawback of
//! labels. Past the paper a request can bring a note of them: the blocks of its stream read one
//! after another since the request before, as one extent. (If readers have skipped some, the note
//! has only the blocks behind them: a list would be longer.)

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::stream::Stream;
use crate::types::Extent;

/// How much a level is told of the requests of the level above.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Labels {
    /// Nothing: it takes readers to want the whole request.
    #[default]
    Off,
    /// Which part readers wait for (SCM §4.2).
    Demand,
    /// That, and the blocks of the stream that readers found above since the request before. Past
    /// the paper.
    Hits,
}

impl Labels {
    /// Every one.
    pub const ALL: [Labels; 3] = [Labels::Off, Labels::Demand, Labels::Hits];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Labels::Off => "off",
            Labels::Demand => "demand",
            Labels::Hits => "hits",
        }
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An unknown kind of label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownLabels(String);

impl fmt::Display for UnknownLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no labels are called `{}`: off, demand, or hits", self.0)
    }
}

impl core::error::Error for UnknownLabels {}

impl FromStr for Labels {
    type Err = UnknownLabels;

    fn from_str(text: &str) -> Result<Labels, UnknownLabels> {
        Labels::ALL.into_iter().find(|labels| labels.name() == text).ok_or_else(|| UnknownLabels(text.to_owned()))
    }
}

/// The part of a request that readers of the level above want.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The part that its readers wait for.
    pub demand: Extent,
    /// Blocks that they have found in the level above since the request before of the same stream.
    pub hits: Extent,
}

impl Label {
    /// The label of a request that comes from the readers themselves: they want all of it.
    pub fn all(extent: Extent) -> Label {
        Label { demand: extent, hits: Extent::default() }
    }

    /// Whether readers want any block of the request, or have found some above meanwhile.
    pub fn adapts(&self) -> bool {
        !(self.demand.is_empty() && self.hits.is_empty())
    }

    /// Clips the label to a read of `extent`, of a file of `blocks` blocks: the level above may
    /// have asked for more than one read, or say nonsense.
    pub fn of(self, extent: Extent, blocks: u32) -> Label {
        let within = |part: Extent, from: u32, to: u32| {
            let inside = part.within(from, to);
            if part.file == extent.file && !inside.is_empty() { inside } else { Extent { len: 0, ..extent } }
        };
        Label { demand: within(self.demand, extent.start, extent.end()), hits: within(self.hits, 0, blocks) }
    }

    /// The part of `run`, blocks of the request that are fetched together, that readers wait for:
    /// up to the last that they want, since the blocks before it come with it. So labels go through
    /// any number of levels.
    pub fn demanded(&self, run: Extent) -> Extent {
        let none = self.demand.is_empty() || self.demand.start >= run.end();
        Extent::between(run.file, run.start, if none { run.start } else { self.demand.end().min(run.end()) })
    }
}

/// How much of a stream readers were seen to want, here and above.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// The block after the last that was wanted.
    pub end: u32,
    /// How many blocks before that were wanted one after another.
    pub run: u32,
}

impl Wanted {
    /// A stream that begins with this.
    pub fn begun(label: &Label) -> Wanted {
        let first = if label.hits.is_empty() { label.demand } else { label.hits };
        let mut wanted = Wanted { end: first.start, run: 0 };
        wanted.goes_on(label);
        wanted
    }

    /// More is wanted. Returns how many blocks of it were not wanted yet.
    pub fn goes_on(&mut self, label: &Label) -> u32 {
        self.wants(label.hits) + self.wants(label.demand)
    }

    fn wants(&mut self, extent: Extent) -> u32 {
        if extent.is_empty() || extent.end() <= self.end {
            return 0;
        }
        let new = extent.end() - extent.start.max(self.end);
        self.run = if extent.start <= self.end { self.run.saturating_add(new) } else { extent.len };
        self.end = extent.end();
        new
    }
}

/// The note of hits that goes with a fetch of a stream, of which readers wait for `demand`: blocks
/// that they read right before, here and above, and that the level below was not told of. Marks
/// them as told.
pub fn note(stream: &mut Stream, demand: Extent) -> Extent {
    let Wanted { end, run } = stream.wanted;
    let read_to = end.min(if demand.is_empty() { u32::MAX } else { demand.start });
    let from = stream.told.max(end - run.min(end)).min(read_to);
    stream.told = stream.told.max(read_to).max(if demand.is_empty() { 0 } else { demand.end() });
    Extent::between(stream.file, from, read_to)
}
