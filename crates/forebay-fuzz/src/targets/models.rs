//! Descriptions of devices, experiments and policies.

use std::path::Path;

use forebay_core::{Instant, Policy};
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, Profile, Request, Slowdown, diskspecs, validation};
use forebay_sim::untimed::{Algorithm, Capacity};

use crate::{Outcome, Target};

pub(super) const TARGETS: &[Target] = &[
    Target { name: "device", about: "the description of a device, TOML; it serves what it can", run: device },
    Target { name: "diskspecs", about: "a disk of DiskSim: parameters, model, seek curve", run: diskspecs },
    Target { name: "validation", about: "a measured trace of a disk", run: validation },
    Target { name: "profile", about: "a measured profile, JSON", run: profile },
    Target { name: "slowdown", about: "when a device is slow", run: slowdown },
    Target { name: "scheduler", about: "a scheduler and its parameters", run: scheduler },
    Target { name: "experiment", about: "the description of an experiment, TOML", run: experiment },
    Target { name: "policy", about: "a policy and its options", run: policy },
    Target { name: "algorithm", about: "a replacement algorithm and a capacity", run: algorithm },
];

/// Serves a few requests, at ends and in the middle.
fn serve(description: &Description) -> usize {
    let Ok(mut queue) = description.queue(1, &SchedulerKind::None) else { return 0 };
    let capacity = queue.capacity();
    let places = [0, capacity / 2, capacity.saturating_sub(4096), capacity / 3, 0];
    let mut at = Instant(0);
    let mut served = 0;
    for (id, start) in (0..).zip(places) {
        queue.submit(at, id, Request::read(start, 4096));
        // A device may be described to take years; what counts is that it goes on.
        for _ in 0..64 {
            let Some(next) = queue.next_completion() else { break };
            at = next.max(at);
            served += usize::from(queue.complete(at).is_some());
        }
    }
    served
}

fn device(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    Outcome::of_result(Description::parse(&text, "fuzzed").map(|description| serve(&description)))
}

/// The file itself, its model and its seek curve, with a zero byte between them.
fn diskspecs(bytes: &[u8]) -> Outcome {
    let mut parts = bytes.splitn(3, |&byte| byte == 0);
    let [specs, model, seek] = std::array::from_fn(|_| parts.next().unwrap_or(bytes));
    let mut file = |name: &str| Ok(if name.ends_with("seek") { seek } else { model }.to_vec());
    let read = diskspecs::read(specs, Path::new("fuzzed"), &mut file);
    Outcome::of_result(read.map(|description| serve(&description)))
}

fn validation(bytes: &[u8]) -> Outcome {
    Outcome::of_result(validation::parse(bytes).map(|measured| measured.len()))
}

fn profile(bytes: &[u8]) -> Outcome {
    let Ok(profile) = serde_json::from_slice::<Profile>(bytes) else { return Outcome::of_count(0) };
    if let Err(reason) = profile.check() {
        return Outcome::of_result(Err(reason));
    }
    let cost = profile.cost();
    Outcome::of_count(cost.channels as usize)
}

/// One that is read comes back from its own text.
fn slowdown(bytes: &[u8]) -> Outcome {
    let read = String::from_utf8_lossy(bytes).parse::<Slowdown>();
    if let Ok(slowdown) = &read {
        assert!(slowdown.to_string().parse::<Slowdown>().is_ok(), "{slowdown}");
    }
    Outcome::of_result(read.map(|_| 1))
}

fn scheduler(bytes: &[u8]) -> Outcome {
    let read = String::from_utf8_lossy(bytes).parse::<SchedulerKind>();
    if let Ok(kind) = &read {
        assert_eq!(kind.to_string().parse::<SchedulerKind>().ok().as_ref(), Some(kind));
        drop(kind.build());
    }
    Outcome::of_result(read.map(|_| 1))
}

fn experiment(bytes: &[u8]) -> Outcome {
    Outcome::of_result(forebay_repro::described(&String::from_utf8_lossy(bytes)).map(|_| 1))
}

fn policy(bytes: &[u8]) -> Outcome {
    let read = String::from_utf8_lossy(bytes).parse::<Policy>();
    if let Ok(policy) = &read {
        assert_eq!(policy.to_string().parse().as_ref(), Ok(policy));
    }
    Outcome::of_result(read.map(|_| 1))
}

fn algorithm(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    let (name, capacity) = text.split_once(' ').unwrap_or((&text, ""));
    let read = (name.parse::<Algorithm>().is_ok(), capacity.parse::<Capacity>().is_ok());
    Outcome::of_number(u64::from(read.0) * 2 + u64::from(read.1))
}
