//! Timed simulations: closed forms, laws, and the order that the papers found.

mod closed_forms;
mod floor;
mod laws;
mod levels;
mod load;
mod papers;
mod store;
mod striping;
mod told;
mod units;
