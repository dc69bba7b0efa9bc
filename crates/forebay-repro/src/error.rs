//! Why a claim was not checked.

use forebay_sim::{timed, untimed};

use crate::claims::names;

/// Why a claim was not checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No claim has this name.
    #[error("no claim is called `{id}`; there are {}", names().join(", "))]
    Unknown {
        /// The name asked for.
        id: String,
    },
    /// It is a claim of the papers about real time.
    #[error("`{id}` is about real time: `{bench}` measures it; here are {}", names().join(", "))]
    Live {
        /// The name asked for.
        id: String,
        /// Which bench measures it.
        bench: &'static str,
    },
    /// A description makes no sense.
    #[error("experiment `{id}`: {reason}")]
    Description {
        /// Of which experiment.
        id: String,
        /// Why.
        reason: String,
    },
    /// A device is not there.
    #[error(transparent)]
    Device(#[from] forebay_device::Error),
    /// A simulation gave nothing.
    #[error(transparent)]
    Timed(#[from] timed::Error),
    /// A recorded workload cannot be read.
    #[error(transparent)]
    Trace(#[from] forebay_trace::Error),
    /// A replay gave nothing.
    #[error(transparent)]
    Untimed(#[from] untimed::Error),
    /// A trace is no workload.
    #[error(transparent)]
    Workload(#[from] forebay_trace::WorkloadError),
    /// The onlooker wants it to stop.
    #[error("stopped before the end")]
    Stopped,
}
