//! Any bytes as a measured trace of a disk.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = forebay_device::validation::parse(bytes);
});
