//! Any target of `forebay-fuzz` under libFuzzer: the variable `FOREBAY_FUZZ` names it.
#![no_main]

use std::sync::OnceLock;

use forebay_fuzz::{Target, targets};

fn target() -> &'static Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("FOREBAY_FUZZ").expect("FOREBAY_FUZZ names a target; `cargo xtask fuzz --list` has all");
        let target = targets::all().into_iter().find(|target| target.name == name);
        target.unwrap_or_else(|| panic!("no target is called {name}"))
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    (target().run)(bytes);
});
