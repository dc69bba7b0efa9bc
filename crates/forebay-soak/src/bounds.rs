//! Bounds of scenarios: how large they may be, and which faults there may be.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A kind of fault or of odd behaviour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A request fails, and may succeed when it is repeated.
    Transient,
    /// A request fails for good.
    Permanent,
    /// A request brings less than it was asked for.
    Short,
    /// A request hangs, for minutes.
    Hang,
    /// All requests to a device fail, for seconds.
    Outage,
    /// A file changes while it is open.
    Change,
    /// A reader closes a file while it reads, or goes away.
    Away,
    /// A request is answered while it is made.
    Inline,
    /// A reader tells what it will read.
    Told,
    /// A reader holds on to what it was given.
    Lease,
    /// A reader has a level above, which labels its requests.
    Label,
    /// A disk tier brings a request.
    Near,
    /// There is a disk tier, which is closed and opened again.
    Tier,
    /// An operation of the tier's disk fails, or is not done though the disk says so.
    Disk,
    /// A bit of the tier's disk flips.
    Flip,
    /// The file system of the tier gets full.
    Full,
    /// The tier's process is killed, or its machine stops: what was not synced is lost or torn.
    Crash,
    /// The clock jumps ahead.
    Jump,
    /// Files are dealt out over all devices.
    Set,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 19] = [
        Fault::Transient,
        Fault::Permanent,
        Fault::Short,
        Fault::Hang,
        Fault::Outage,
        Fault::Change,
        Fault::Away,
        Fault::Inline,
        Fault::Told,
        Fault::Lease,
        Fault::Label,
        Fault::Near,
        Fault::Tier,
        Fault::Disk,
        Fault::Flip,
        Fault::Full,
        Fault::Crash,
        Fault::Jump,
        Fault::Set,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Transient => "transient",
            Fault::Permanent => "permanent",
            Fault::Short => "short",
            Fault::Hang => "hang",
            Fault::Outage => "outage",
            Fault::Change => "change",
            Fault::Away => "away",
            Fault::Inline => "inline",
            Fault::Told => "told",
            Fault::Lease => "lease",
            Fault::Label => "label",
            Fault::Near => "near",
            Fault::Tier => "tier",
            Fault::Disk => "disk",
            Fault::Flip => "flip",
            Fault::Full => "full",
            Fault::Crash => "crash",
            Fault::Jump => "jump",
            Fault::Set => "set",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault that there is not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFault(String);

impl fmt::Display for UnknownFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Fault::ALL.map(Fault::name).join(", ");
        write!(f, "unknown fault '{}'; known are {known}", self.0)
    }
}

impl std::error::Error for UnknownFault {}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Fault, UnknownFault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == text).ok_or_else(|| UnknownFault(text.to_owned()))
    }
}

/// How large a scenario may be. Within them its seed decides.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bounds {
    /// Jobs of the agenda until readers go away.
    pub events: u64,
    /// Readers, at most.
    pub readers: u32,
    /// Files, at most.
    pub files: u32,
    /// Faults that there are not.
    pub without: Vec<Fault>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { events: 2000, readers: 12, files: 24, without: Vec::new() }
    }
}
