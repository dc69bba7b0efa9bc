//! Any bytes as a trace of the format `oracle-general`, compressed or not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forebay_fuzz::read(Some(forebay_trace::Format::OracleGeneral), bytes));
