//! Today's loads: what programs read that run on object stores and flash now, as the papers of 2003
//! could not know them. Sizes are small enough for all of them to be simulated in minutes. The
//! proportions are those of published systems; each file names them.

mod arrays;
mod containers;
mod genomes;
mod logs;
mod maps;
mod models;
mod search;
mod stores;
mod tables;
mod training;

use super::parameters::{Kind, Parameter, Value, parameter};

/// All of them.
pub(super) const KINDS: [&[Kind]; 10] = [
    training::KINDS,
    tables::KINDS,
    models::KINDS,
    containers::KINDS,
    arrays::KINDS,
    logs::KINDS,
    genomes::KINDS,
    maps::KINDS,
    stores::KINDS,
    search::KINDS,
];

/// How many tasks there are, unless it is said.
const fn tasks(default: u64, what: &'static str) -> Parameter {
    parameter("tasks", Value::Count(default), what)
}
