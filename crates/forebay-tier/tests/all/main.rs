//! The disk tier, with real files.

mod damage;
mod failing;
mod kills;
mod known;
mod limits;
mod line;
mod model;
mod owners;
mod rounds;
mod sharing;
