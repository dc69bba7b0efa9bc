//! The options of presets: what can be chosen of a policy beyond its name, a line each.

use alloc::string::{String, ToString};

use super::Policy;
use crate::prefetch::Prefetch;
use crate::reclaim::{Reclaim, Settings, StreamCount, Unit};

/// An option, written `name=value` behind a preset's name and a colon.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What it does, in a line.
    pub line: &'static str,
    /// Its value in a policy; `None` if a policy has no such option.
    pub get: fn(&Policy) -> Option<String>,
    /// Sets it; `None`, and nothing changes, if the policy has no such option or the value makes no sense.
    pub set: fn(&mut Policy, &str) -> Option<()>,
}

impl Choice {
    /// The options of a preset of prefetching, by its name.
    pub fn of(preset: &str) -> impl Iterator<Item = &'static Choice> {
        let preset = Policy::of_preset(preset);
        CHOICES.iter().filter(move |choice| preset.is_some_and(|preset| (choice.get)(&preset).is_some()))
    }
}

/// A switch of competitive prefetching, called as its field is.
macro_rules! of_competitive {
    ($name:ident, $line:literal) => {
        Choice {
            name: stringify!($name),
            values: "on|off",
            line: $line,
            get: |policy| match policy.prefetch {
                Prefetch::Competitive { $name, .. } => Some(on_off($name)),
                _ => None,
            },
            set: |policy, value| match &mut policy.prefetch {
                Prefetch::Competitive { $name, .. } => put($name, switch(value)),
                _ => None,
            },
        }
    };
}

/// All options.
pub const CHOICES: &[Choice] = &[
    of_competitive!(channels, "fetch over all connections of a store or disks of an array (CP §4: larger depths)"),
    of_competitive!(whole, "fetch up to where files are usually read to, instead of slow start (past the papers)"),
    of_competitive!(lengths, "pieces as large as the mean length of streams so far makes them best (past the papers)"),
    of_competitive!(
        shares,
        "a stream keeps to its part of memory (CPEM §4.2); off: CP as in its paper, which minds no memory"
    ),
    Choice {
        name: "start",
        values: "1..100",
        line: "where the ceiling of the prefetch cache begins, in per cent of memory (CPEM §4.1)",
        get: |policy| Some(settings(policy)?.start.to_string()),
        set: |policy, value| {
            put(&mut settings_mut(policy)?.start, value.parse().ok().filter(|start| (1..=100).contains(start)))
        },
    },
    Choice {
        name: "epoch",
        values: "MILLISECONDS",
        line: "how often the ceiling moves; 0: never (CPEM §4.1)",
        get: |policy| Some(settings(policy)?.epoch_ms.to_string()),
        set: |policy, value| put(&mut settings_mut(policy)?.epoch_ms, value.parse().ok()),
    },
    Choice {
        name: "unit",
        values: "fixed|adaptive",
        line: "by how much the ceiling moves: the paper's unit, or one that grows and shrinks (past the paper)",
        get: |policy| Some(name_of(&UNITS, settings(policy)?.unit)),
        set: |policy, value| put(&mut settings_mut(policy)?.unit, named(&UNITS, value)),
    },
    Choice {
        name: "streams",
        values: "files|active",
        line: "what shares the ceiling: open files as in CPEM §4.2, or streams that go on (past the paper)",
        get: |policy| Some(name_of(&COUNTS, settings(policy)?.streams)),
        set: |policy, value| put(&mut settings_mut(policy)?.streams, named(&COUNTS, value)),
    },
    Choice {
        name: "opportunity",
        values: "MILLISECONDS",
        line: "how long after a prefetch its handler must have run to have passed it over (CPEM §4.1)",
        get: |policy| Some(settings(policy)?.opportunity_ms.to_string()),
        set: |policy, value| {
            // The paper's timestamps go round; half of their range tells before from after.
            let opportunity = value.parse().ok().filter(|&ms| ms <= i32::MAX as u32);
            put(&mut settings_mut(policy)?.opportunity_ms, opportunity)
        },
    },
    Choice {
        name: "seed",
        values: "NUMBER",
        line: "fixes the direction in which the ceiling first moves (CPEM §4.1: randomly)",
        get: |policy| Some(settings(policy)?.seed.to_string()),
        set: |policy, value| put(&mut settings_mut(policy)?.seed, value.parse().ok()),
    },
];

const UNITS: [(&str, Unit); 2] = [("fixed", Unit::Fixed), ("adaptive", Unit::Adaptive)];
const COUNTS: [(&str, StreamCount); 2] = [("files", StreamCount::OpenFiles), ("active", StreamCount::Active)];

fn settings(policy: &Policy) -> Option<&Settings> {
    match &policy.reclaim {
        Reclaim::WithTheRest => None,
        Reclaim::PrefetchCache(settings) => Some(settings),
    }
}

fn settings_mut(policy: &mut Policy) -> Option<&mut Settings> {
    match &mut policy.reclaim {
        Reclaim::WithTheRest => None,
        Reclaim::PrefetchCache(settings) => Some(settings),
    }
}

fn put<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn switch(value: &str) -> Option<bool> {
    named(&[("on", true), ("off", false)], value)
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}

fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

fn name_of<T: PartialEq>(names: &[(&str, T)], value: T) -> String {
    names.iter().find(|(_, known)| *known == value).map_or("?", |(name, _)| name).to_string()
}
