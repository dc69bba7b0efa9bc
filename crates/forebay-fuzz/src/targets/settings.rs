//! Settings as people write them: configuration, command lines, tables of mounts.

use forebay_cli::fuzzing;

use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target { name: "configuration", about: "the configuration file, TOML", run: configuration },
    Target { name: "fstab", about: "the options of a line of fstab", run: fstab },
    Target { name: "arguments", about: "a command line, a word a line", run: arguments },
    Target { name: "period", about: "a span of time", run: |bytes| Outcome::of_flag(fuzzing::period(bytes)) },
    Target {
        name: "channel",
        about: "the address of a channel",
        run: |bytes| Outcome::of_flag(fuzzing::control(bytes)),
    },
];

fn configuration(bytes: &[u8]) -> Outcome {
    Outcome::of_result(fuzzing::configuration(bytes))
}

fn fstab(bytes: &[u8]) -> Outcome {
    Outcome::of_result(fuzzing::line_of_fstab(bytes))
}

fn arguments(bytes: &[u8]) -> Outcome {
    Outcome::of_result(fuzzing::arguments(bytes))
}
