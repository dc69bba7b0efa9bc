//! Any bytes as a parameter file of DiskSim's; the files that it names have the same bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut file = |_: &str| Ok(bytes.to_vec());
    let _ = forebay_device::diskspecs::read(bytes, std::path::Path::new("fuzzed"), &mut file);
});
