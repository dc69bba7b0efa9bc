//! `forebay sim` with its results as records.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_sim::untimed::{Capacity, Guest, GuestError, GuestRun, replay_guest};
use serde_json::{Map, Value};

use super::{MemoryTrace, Refusal};
use crate::command::sim;
use crate::failure::Failure;
use crate::options::{Command, Sim};
use crate::progress::Progress;
use crate::traces;

/// Runs `forebay sim` with these arguments, and returns its records in the order of the command.
/// `given` is the trace, if it is no file; its place among the arguments then is its name. `stop`
/// ends it.
pub fn simulate(
    args: &[OsString],
    given: Option<MemoryTrace>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Map<String, Value>>, Refusal> {
    traces::forget_pipes();
    let sim = parsed(args, given)?;
    // Once before, for a typed error.
    drop(sim::open(&sim)?);
    let progress = Progress::silent(Arc::clone(stop));
    let records = sim::records(&sim, &progress)?;
    if progress.stopped() { Err(Refusal::Stopped) } else { Ok(records) }
}

/// A policy of the caller's own: its name, and what makes it for a cache of so many blocks.
pub struct Policy<'a, G: Guest> {
    /// The name in the records.
    pub name: &'a str,
    /// Makes one.
    pub make: &'a mut dyn FnMut(u64) -> Result<G, G::Error>,
}

/// Why a simulation of a policy of the caller's own has no result.
#[derive(Debug, thiserror::Error)]
pub enum OwnRefusal<E> {
    /// For the reasons of any simulation.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// The policy failed.
    #[error("the policy failed")]
    Policy(E),
}

impl<E> From<Failure> for OwnRefusal<E> {
    fn from(failure: Failure) -> OwnRefusal<E> {
        OwnRefusal::Refusal(failure.into())
    }
}

/// [`simulate`] of a policy of the caller's own, at each size. Runs on this thread.
pub fn simulate_guest<G: Guest>(
    args: &[OsString],
    given: Option<MemoryTrace>,
    policy: &mut Policy<'_, G>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Map<String, Value>>, OwnRefusal<G::Error>> {
    traces::forget_pipes();
    let sim = parsed(args, given)?;
    drop(sim::open(&sim).map_err(Refusal::from)?);
    let options = sim::untimed(&sim)?;
    let progress = Progress::silent(Arc::clone(stop));
    let mut outcomes = Vec::new();
    for capacity in sim::memory(&sim) {
        let run = GuestRun { name: policy.name, capacity };
        let outcome = replay_guest(&|| sim::open(&sim), &options, run, &mut policy.make, &progress.run());
        match outcome {
            Ok(Some(outcome)) => outcomes.push(outcome),
            Ok(None) => return Err(Refusal::Stopped.into()),
            Err(GuestError::Policy(error)) => return Err(OwnRefusal::Policy(error)),
            Err(GuestError::Replay(error)) => return Err(Failure::input(error).into()),
            Err(error @ GuestError::NotHeld { .. }) => return Err(unfit(policy.name, capacity, &error).into()),
        }
    }
    Ok(sim::of_outcomes(&sim, outcomes)?)
}

fn unfit<E>(name: &str, capacity: Capacity, error: &GuestError<E>) -> Failure {
    let reason = match error {
        GuestError::NotHeld { block } => format!("evict() chose block {block}, which the cache does not hold"),
        _ => "it failed".to_owned(),
    };
    Failure::input(format!(
        "policy {name} in a cache of {capacity}: {reason}; it may choose blocks that were inserted and not removed since"
    ))
}

fn parsed(args: &[OsString], given: Option<MemoryTrace>) -> Result<Sim, Failure> {
    let args: Vec<OsString> = std::iter::once("sim".into()).chain(args.iter().cloned()).collect();
    match super::parse(&args)?.command {
        Command::Sim(sim) => Ok(Sim { given, ..*sim }),
        _ => Err(Failure::input("these are no arguments of `forebay sim`")),
    }
}
