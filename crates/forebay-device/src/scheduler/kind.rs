//! Schedulers by name, with their parameters: `anticipatory`,
//! `anticipatory:wait_ms=10,corrected=false`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Anticipation, Anticipatory, Cfq, Deadline, Elevator, Expiry, Noop, Scheduler, Turns};

/// A scheduler with its parameters. In text: a name, then a colon and the parameters that differ
/// from the defaults.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SchedulerKind {
    /// First come, first served: `none`, or `noop`.
    None,
    /// Cyclic SCAN.
    #[default]
    Elevator,
    /// The device is kept idle for the process that is likely to go on nearby.
    Anticipatory(Anticipation),
    /// Sorted batches; no request waits for ever.
    Deadline(Expiry),
    /// Processes take turns.
    Cfq(Turns),
}

/// The scheduler of that name, new; `None` if there is none.
pub fn named(name: &str) -> Option<Box<dyn Scheduler>> {
    name.parse().ok().map(|kind: SchedulerKind| kind.build())
}

impl SchedulerKind {
    /// Every name, with a line that explains it.
    pub const KNOWN: [(&str, &str); 5] = [
        ("none", "first come, first served"),
        ("elevator", "upwards from place to place, then from the lowest again (cyclic SCAN)"),
        ("anticipatory", "waits for the reader that it served last, if that one usually goes on soon and nearby"),
        ("deadline", "batches in the order of places, reads before writes, the oldest when it is due"),
        ("cfq", "processes take turns in slices of time, and whoever reads on soon is waited for"),
    ];

    /// A new one.
    pub fn build(&self) -> Box<dyn Scheduler> {
        match *self {
            SchedulerKind::None => Box::<Noop>::default(),
            SchedulerKind::Elevator => Box::<Elevator>::default(),
            SchedulerKind::Anticipatory(parameters) => Box::new(Anticipatory::new(parameters)),
            SchedulerKind::Deadline(expiry) => Box::new(Deadline::new(expiry)),
            SchedulerKind::Cfq(turns) => Box::new(Cfq::new(turns)),
        }
    }

    /// Its name, without parameters.
    pub fn name(&self) -> &'static str {
        match self {
            SchedulerKind::None => "none",
            SchedulerKind::Elevator => "elevator",
            SchedulerKind::Anticipatory(_) => "anticipatory",
            SchedulerKind::Deadline(_) => "deadline",
            SchedulerKind::Cfq(_) => "cfq",
        }
    }

    /// All of its parameters, as they may follow its name and a colon.
    pub fn parameters(&self) -> String {
        match self {
            SchedulerKind::None | SchedulerKind::Elevator => String::new(),
            SchedulerKind::Anticipatory(parameters) => fields(parameters, |_, _| true),
            SchedulerKind::Deadline(expiry) => fields(expiry, |_, _| true),
            SchedulerKind::Cfq(turns) => fields(turns, |_, _| true),
        }
    }

    /// Whether its times are possible.
    fn possible(&self) -> bool {
        let fine = |times: &[f64]| times.iter().all(|ms| (0.0..=1e9).contains(ms));
        match self {
            SchedulerKind::None | SchedulerKind::Elevator => true,
            SchedulerKind::Anticipatory(p) => {
                fine(&[p.wait_ms, p.read_expire_ms, p.write_expire_ms, p.read_batch_ms, p.write_batch_ms])
                    && p.piece_kib > 0
            }
            SchedulerKind::Cfq(p) => {
                fine(&[p.slice_ms, p.idle_ms, p.read_expire_ms, p.write_expire_ms]) && p.quantum > 0
            }
            SchedulerKind::Deadline(p) => fine(&[p.read_expire_ms, p.write_expire_ms]) && p.fifo_batch > 0,
        }
    }
}

/// A text that names no scheduler.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct UnknownScheduler {
    text: String,
    reason: String,
}

impl FromStr for SchedulerKind {
    type Err = UnknownScheduler;

    fn from_str(text: &str) -> Result<SchedulerKind, UnknownScheduler> {
        let refuse = |reason: String| UnknownScheduler { text: text.to_owned(), reason };
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let wrong = |error: toml::de::Error| refuse(error.message().replace('\n', "; "));
        let lines = parameters.replace(',', "\n");
        let kind = match name {
            "none" | "noop" if lines.is_empty() => SchedulerKind::None,
            "elevator" if lines.is_empty() => SchedulerKind::Elevator,
            "anticipatory" => SchedulerKind::Anticipatory(toml::from_str(&lines).map_err(wrong)?),
            "deadline" => SchedulerKind::Deadline(toml::from_str(&lines).map_err(wrong)?),
            "cfq" => SchedulerKind::Cfq(toml::from_str(&lines).map_err(wrong)?),
            "none" | "noop" | "elevator" => return Err(refuse(format!("`{name}` has no parameters"))),
            _ => {
                let known = SchedulerKind::KNOWN.map(|(name, _)| name).join(", ");
                return Err(refuse(format!("no scheduler is called so; known are {known}")));
            }
        };
        if !kind.possible() {
            return Err(refuse("times must be 0 to 1,000,000,000 ms, sizes and batches positive".to_owned()));
        }
        Ok(kind)
    }
}

impl TryFrom<String> for SchedulerKind {
    type Error = UnknownScheduler;

    fn try_from(text: String) -> Result<SchedulerKind, UnknownScheduler> {
        text.parse()
    }
}

impl From<SchedulerKind> for String {
    fn from(kind: SchedulerKind) -> String {
        kind.to_string()
    }
}

/// The parameters that `wanted` selects, as `key=value`.
fn fields<T: Serialize>(parameters: &T, wanted: impl Fn(&str, &toml::Value) -> bool) -> String {
    let table = toml::Table::try_from(parameters).unwrap_or_default();
    let wanted = table.iter().filter(|(key, value)| wanted(key, value));
    wanted.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The parameters that differ from the defaults.
fn differing<T: Serialize + Default>(parameters: &T) -> String {
    let default = toml::Table::try_from(T::default()).unwrap_or_default();
    fields(parameters, |key, value| default.get(key) != Some(value))
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = match self {
            SchedulerKind::None | SchedulerKind::Elevator => String::new(),
            SchedulerKind::Anticipatory(parameters) => differing(parameters),
            SchedulerKind::Deadline(expiry) => differing(expiry),
            SchedulerKind::Cfq(turns) => differing(turns),
        };
        f.write_str(self.name())?;
        if parameters.is_empty() { Ok(()) } else { write!(f, ":{parameters}") }
    }
}
