//! The preload library in programs: small ones in C, compiled without frame pointers, and real
//! ones. What they do with it must be what they do without, and what it tells of them must be true.

mod identities;
mod program;
mod recorded;
mod unnoticed;
