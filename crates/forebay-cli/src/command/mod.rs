//! The commands, a file each.

mod cache;
mod completions;
mod contexts;
mod demo;
mod device;
mod disk;
mod doctor;
mod explain;
mod manual;
mod mount;
mod policies;
mod profile;
mod record;
#[cfg(feature = "repro")]
mod repro;
#[cfg(not(feature = "repro"))]
#[path = "repro/left_out.rs"]
mod repro;
mod run;
mod serve;
pub(crate) mod sim;
mod soak;
mod stats;
mod stripe;
mod top;
pub(crate) mod trace;
mod warm;

use crate::failure::Failure;
use crate::options::Command;
use crate::reference;

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Mount(mount) => self::mount::run(&mount),
        Command::Serve(serve) => self::serve::run(&serve),
        Command::Profile(profile) => self::profile::run(&profile),
        Command::Stats(stats) => self::stats::run(&stats),
        Command::Top(top) => self::top::run(&top),
        Command::Warm(warm) => self::warm::run(&warm),
        Command::Explain(explain) => self::explain::run(*explain),
        Command::Run(run) => self::run::run(&run),
        Command::Record(record) => self::record::run(&record),
        Command::Contexts(contexts) => self::contexts::run(&contexts),
        Command::Stripe(stripe) => self::stripe::run(&stripe),
        Command::Policies(policies) => self::policies::run(&policies),
        Command::Demo(demo) => self::demo::run(&demo),
        Command::Trace(trace) => self::trace::run(&trace),
        Command::Sim(sim) => self::sim::run(&sim),
        Command::Device(device) => self::device::run(&device),
        Command::Cache(cache) => self::cache::run(&cache),
        Command::Doctor(doctor) => self::doctor::run(&doctor),
        Command::Disk(disk) => self::disk::run(&disk),
        Command::Repro(repro) => self::repro::run(&repro),
        Command::Soak(soak) => self::soak::run(&soak),
        Command::Completions(completions) => self::completions::run(&completions),
        Command::Manual(manual) => self::manual::run(&manual),
        Command::Reference { page } => reference::run(page),
    }
}
