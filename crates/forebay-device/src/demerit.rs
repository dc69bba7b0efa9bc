//! How far a model is from a real disk: the demerit figure of Ruemmler and Wilkes ("An introduction to disk drive
//! modeling", 1994), the root mean square horizontal distance between the distributions of modelled and measured times.

use crate::validation::Measured;
use crate::{Description, Error};

/// The figures of one disk and one trace.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Demerit {
    /// Requests compared.
    pub requests: u64,
    /// Root mean square distance of the sorted times, milliseconds.
    pub demerit_ms: f64,
    /// The same as a share of the measured mean.
    pub demerit_share: f64,
    /// Mean measured service time, milliseconds.
    pub mean_ms: f64,
    /// Mean modelled service time, milliseconds.
    pub modelled_mean_ms: f64,
}

/// Replays `requests` on the disk of `description` and compares the times.
pub fn check(description: &Description, requests: &[Measured]) -> Result<Demerit, Error> {
    let _ = requests;
    Err(Error::Invalid { name: description.name.clone(), reason: "not there yet" })
}
