//! Any bytes as a trace of whatever format they look like.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forebay_fuzz::read(None, bytes));
