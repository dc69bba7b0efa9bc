//! The tests of the core, in one program: a module each. `cargo test -p forebay-core --test all
//! lru` runs those that have `lru` in their name.

// Shared by several: a core without a driver (`bench`), a replacement policy alone (`cycle`), cores
// of several devices (`divided`), AMP's cache by a script.
mod bench;
mod cycle;
mod divided;
#[path = "context_parts/script.rs"]
mod script;

mod auto_cache;
mod call_off;
mod ceiling;
mod competitive_bound;
mod context_parts;
mod context_parts_laws;
mod context_parts_traces;
mod detection;
mod detector;
mod division;
mod duel;
mod elsewhere;
mod engine;
mod explain;
mod flights;
mod gill;
mod golden;
mod habits;
mod handed_on;
mod hints;
mod joined;
mod knowledge;
mod landlord;
mod level;
mod logs;
mod model;
mod near;
mod papers;
mod partition_laws;
mod partitioned_clock;
mod partitions;
mod peers;
mod policies;
mod prefetch_cache;
mod recency;
mod resize;
mod sarc;
mod second_chance;
mod sequence;
mod shares;
mod short_cut;
mod slab;
mod streams;
mod supply;
mod tier;
mod told;
