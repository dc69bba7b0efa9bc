//! The live engine in a simulated world: every seed is a life, with faults, of the code that mounts
//! run.
//!
//! ```text
//!   seed ─▶ scenario ─▶ readers ── open, read, seek, tell, close ──▶ forebay-live: tree, engine, core
//!                          ▲                                             │          ▲
//!                          └── every byte, every error: `reference` ◀────┘   fetch  │ late, wrong, out of order
//!              `agenda`: one thread, virtual time, order by seed               witness
//!                                                                                   │
//!                                                                    forebay-tier, on a local disk with faults
//!                                                                                   │
//!                                                                          storage with faults
//! ```
//!
//! Some lives have a disk tier. It is closed, or its process is killed, or its machine stops; then
//! it is opened again on the same disk, with a new engine.
//!
//! After every event the engine is audited ([`forebay_live::engine::Engine::audit`]), and once
//! everybody has gone away nothing may be left. A run depends on nothing but its scenario. A
//! failure is made smaller ([`shrink`]) and names the command that repeats it.

mod agenda;
mod bounds;
mod dice;
mod disk;
mod life;
mod memory;
mod reader;
mod reference;
mod scenario;
mod shrink;
mod storage;
mod tier;
mod watch;
mod witness;

pub use bounds::{Bounds, Fault, UnknownFault};
pub use scenario::Scenario;
pub use shrink::shrink;
pub use watch::{Failure, Lived, live};
