//! The preload library in programs: small ones in C, compiled without frame pointers, and real
//! ones. They must do the same with it as without, and its files must be true.

mod identities;
mod program;
mod recorded;
mod unnoticed;
