//! The times that a disk's controller takes, in milliseconds, by the request and by the one before
//! it. The names of these times are DiskSim's.

use serde::{Deserialize, Serialize};

use crate::disk::LONGEST_MS;

/// The controller's times as they are written in a description.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overheads {
    /// A read of data on board, until they go over the bus.
    pub read_hit_ms: After,
    /// A read of data that are not on board, until the arm starts.
    pub read_miss_ms: After,
    /// A write that is done once its data are on board, until they go over the bus and the arm
    /// starts.
    pub write_hit_ms: After,
    /// A write that is done once its data are on the media, likewise.
    pub write_miss_ms: After,
    /// To end a read, to end a write.
    pub end_ms: (f64, f64),
    /// To prepare data for the bus.
    pub data_ms: f64,
    /// To let go of the bus during a read; of a read that has to wait for the media.
    pub read_disconnect_ms: After,
    /// To let go of the bus during a write.
    pub write_disconnect_ms: f64,
    /// To take the bus again: the first time in a request, and later.
    pub reselect_ms: (f64, f64),
    /// The least time that the arm takes to a read that does not continue a sweep, even to one on
    /// the track under the head.
    pub least_read_seek_ms: f64,
    /// The least time that the arm takes to a write that does not continue the one before.
    pub least_write_seek_ms: f64,
    /// For a write after a write elsewhere, if the disk lets go of the bus before it takes the
    /// data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_disconnect: Option<EarlyDisconnect>,
}

/// A time by the request before, which is written as a pair.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct After {
    /// Milliseconds after a read.
    pub read: f64,
    /// Milliseconds after a write.
    pub write: f64,
}

/// A write that lets go of the bus between its command and its data; instead of the times above.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyDisconnect {
    /// The command.
    pub command_ms: f64,
    /// To let go of the bus.
    pub disconnect_ms: f64,
    /// Until the disk takes the bus again.
    pub between_ms: f64,
    /// To let go of it a second time, after the data.
    pub second_ms: f64,
    /// From the command until the arm starts.
    pub seek_ms: f64,
}

impl Overheads {
    /// The fault in these times, if any.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let early = self.early_disconnect.unwrap_or_default();
        let by_before =
            [self.read_hit_ms, self.read_miss_ms, self.write_hit_ms, self.write_miss_ms, self.read_disconnect_ms];
        let others = [
            self.end_ms.0,
            self.end_ms.1,
            self.reselect_ms.0,
            self.reselect_ms.1,
            self.data_ms,
            self.write_disconnect_ms,
            self.least_read_seek_ms,
            self.least_write_seek_ms,
            early.command_ms,
            early.disconnect_ms,
            early.between_ms,
            early.second_ms,
            early.seek_ms,
        ];
        let times = 0.0..=LONGEST_MS;
        match by_before.into_iter().flat_map(<[f64; 2]>::from).chain(others).all(|ms| times.contains(&ms)) {
            true => Ok(()),
            false => Err("`overheads` must be 0 to 1,000,000 ms"),
        }
    }
}

impl After {
    /// The time after a write, or a read, in nanoseconds.
    pub(crate) fn nanos(self, was_write: bool) -> f64 {
        1e6 * if was_write { self.write } else { self.read }
    }
}

impl From<[f64; 2]> for After {
    fn from([read, write]: [f64; 2]) -> After {
        After { read, write }
    }
}

impl From<After> for [f64; 2] {
    fn from(after: After) -> [f64; 2] {
        [after.read, after.write]
    }
}
