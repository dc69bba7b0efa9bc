//! What a level is told by the one above (SCM §4.2), and how long that makes messages.

use std::fmt;
use std::str::FromStr;

use forebay_core::level::Label;
use serde::{Deserialize, Serialize};

/// What a level is told of the requests of the level above.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// Nothing: it takes all of a request for what readers want.
    #[default]
    Off,
    /// Which part readers wait for (SCM §4.2).
    Demand,
    /// That, and what of the stream they read above without asking, since the request before. Past the paper.
    #[serde(rename = "hits")]
    DemandAndHits,
}

/// An extent in a message: its first block and how many, four bytes each. Which file, the request says.
const EXTENT: u64 = 8;

impl Labels {
    /// Every one.
    pub const ALL: [Labels; 3] = [Labels::Off, Labels::Demand, Labels::DemandAndHits];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Labels::Off => "off",
            Labels::Demand => "demand",
            Labels::DemandAndHits => "hits",
        }
    }

    /// What is told of a request about which all is known.
    pub(super) fn of(self, label: Label) -> Option<Label> {
        match self {
            Labels::Off => None,
            Labels::Demand => Some(Label { hits: Default::default(), ..label }),
            Labels::DemandAndHits => Some(label),
        }
    }

    /// By how many bytes that makes a request longer. An empty note of hits is left out; a pure prefetch must say so.
    pub(super) fn bytes(self, label: &Label) -> u64 {
        match self {
            Labels::Off => 0,
            Labels::DemandAndHits if !label.hits.is_empty() => 2 * EXTENT,
            Labels::Demand | Labels::DemandAndHits => EXTENT,
        }
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is no kind of label.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no labels are called `{0}`: off, demand, or hits")]
pub struct NoLabels(String);

impl FromStr for Labels {
    type Err = NoLabels;

    fn from_str(text: &str) -> Result<Labels, NoLabels> {
        Labels::ALL.into_iter().find(|labels| labels.name() == text).ok_or_else(|| NoLabels(text.to_owned()))
    }
}
