//! The options of presets: the settings of a policy beyond its name, a line each.

mod words;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::{Policy, Prefetch, parts};
use crate::papers::amp::Detection;
use crate::papers::amp::recency::{Mean, ONE, Sampling};
use crate::papers::sac::Weights;
use crate::papers::scm::{Degree, Total};
use crate::seams::MOST_PARTITIONS;

use words::*;

/// An option, written `name=value` behind a preset's name and a colon.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// Which part of a policy it belongs to: `prefetch`, `partition` or `context`.
    pub axis: &'static str,
    /// Its possible values.
    pub values: &'static str,
    /// Its effect, in a line.
    pub line: &'static str,
    /// Its value in a policy; `None` if a policy has no such option.
    pub get: fn(&Policy) -> Option<String>,
    /// Sets it; `None`, and nothing changes, if the policy has no such option or the value makes no
    /// sense.
    pub set: fn(&mut Policy, &str) -> Option<()>,
}

impl Choice {
    /// The options of a preset, by its name.
    pub fn of(preset: &str) -> impl Iterator<Item = &'static Choice> {
        let named = |axis, (policy, _): (Policy, bool)| (axis, policy);
        let partition = || Policy::of_partition(preset).map(|found| named("partition", found));
        let context = || Policy::of_context(preset).map(|found| named("context", found));
        let found = Policy::of_preset(preset).map(|policy| ("prefetch", policy));
        let found = found.or_else(partition).or_else(context);
        found
            .into_iter()
            .flat_map(|(axis, policy)| Choice::on(axis).filter(move |choice| (choice.get)(&policy).is_some()))
    }

    /// Says more of its values, where their list leaves it open: the names of parts, or where
    /// numbers begin.
    pub(super) fn explain(&self, preset: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.values == parts::NAMES {
            write!(f, " (the parts are")?;
            for (i, part) in parts::PARTS.iter().enumerate() {
                write!(f, "{} {}", if i == 0 { "" } else { "," }, part.name)?;
            }
            return write!(f, ")");
        }
        let Some(policy) = Choice::policy(preset) else { return Ok(()) };
        let allowed = |number: &u32| (self.set)(&mut { policy }, &number.to_string()).is_some();
        match (0..=16).find(allowed) {
            Some(least) if least > 0 => write!(f, " ({} is at least {least})", self.name),
            _ => Ok(()),
        }
    }

    /// A preset of any part of a policy, by its name.
    fn policy(preset: &str) -> Option<Policy> {
        let of_others =
            || Policy::of_partition(preset).or_else(|| Policy::of_context(preset)).map(|(policy, _)| policy);
        Policy::of_preset(preset).or_else(of_others)
    }

    /// The options of a part of a policy.
    pub(super) fn on(axis: &str) -> impl Iterator<Item = &'static Choice> {
        CHOICES.iter().filter(move |choice| choice.axis == axis)
    }
}

/// A switch of competitive prefetching, called as its field is.
macro_rules! of_competitive {
    ($name:ident, $line:literal) => {
        Choice {
            name: stringify!($name),
            axis: "prefetch",
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

/// A number of blocks of SARC's, at least this many.
macro_rules! of_sarc {
    ($name:literal, $field:ident, $least:literal, $line:literal) => {
        Choice {
            name: $name,
            axis: "prefetch",
            values: "BLOCKS",
            line: $line,
            get: |policy| match policy.prefetch {
                Prefetch::Sarc { $field, .. } => Some($field.to_string()),
                _ => None,
            },
            set: |policy, value| match &mut policy.prefetch {
                Prefetch::Sarc { $field, .. } => {
                    put($field, value.parse().ok().filter(|blocks| ($least..).contains(blocks)))
                }
                _ => None,
            },
        }
    };
}

/// All options.
pub const CHOICES: &[Choice] = &[
    Choice {
        name: "without",
        axis: "prefetch",
        values: parts::NAMES,
        line: "leaves out parts, to see what they are worth",
        get: parts::lacking,
        set: parts::leave_out,
    },
    of_competitive!(channels, "fetch over all connections of a store or disks of an array (CP §4: larger depths)"),
    of_competitive!(
        shares,
        "a stream keeps to its part of memory (CPEM §4.2); off: CP as in its paper, which minds no memory"
    ),
    Choice {
        name: "start",
        axis: "prefetch",
        values: "1..100",
        line: "where the ceiling of the prefetch cache begins, in per cent of memory (CPEM §4.1)",
        get: |policy| Some(settings(policy)?.start.to_string()),
        set: |policy, value| {
            put(&mut settings_mut(policy)?.start, value.parse().ok().filter(|start| (1..=100).contains(start)))
        },
    },
    Choice {
        name: "epoch",
        axis: "prefetch",
        values: "MILLISECONDS",
        line: "how often the ceiling moves; 0: never (CPEM §4.1)",
        get: |policy| Some(settings(policy)?.epoch_ms.to_string()),
        set: |policy, value| put(&mut settings_mut(policy)?.epoch_ms, value.parse().ok()),
    },
    Choice {
        name: "opportunity",
        axis: "prefetch",
        values: "MILLISECONDS",
        line: "how long after a prefetch its handler must have run to have passed it over (CPEM §4.1)",
        get: |policy| Some(of_paper(policy)?.opportunity_ms.to_string()),
        set: |policy, value| {
            // The paper's timestamps go round; half of their range tells before from after.
            let opportunity = value.parse().ok().filter(|&ms| ms <= i32::MAX as u32);
            put(&mut of_paper_mut(policy)?.opportunity_ms, opportunity)
        },
    },
    Choice {
        name: "seed",
        axis: "prefetch",
        values: "NUMBER",
        line: "fixes the direction in which the ceiling first moves (CPEM §4.1: randomly)",
        get: |policy| Some(of_paper(policy)?.seed.to_string()),
        set: |policy, value| put(&mut of_paper_mut(policy)?.seed, value.parse().ok()),
    },
    Choice {
        name: "degree",
        axis: "prefetch",
        values: "BLOCKS",
        line: "P: what is fetched at a time (SCM §4.1.4)",
        get: |policy| match policy.prefetch {
            Prefetch::Supply { degree: Degree::Fixed(blocks), .. } => Some(blocks.to_string()),
            _ => None,
        },
        set: |policy, value| match &mut policy.prefetch {
            Prefetch::Supply { degree: Degree::Fixed(blocks), .. } => {
                put(blocks, value.parse().ok().filter(|&blocks| blocks > 0))
            }
            _ => None,
        },
    },
    Choice {
        name: "distance",
        axis: "prefetch",
        values: "BLOCKS|memory",
        line: "what trigger distances add up to: so much for each stream (SCM §4.1.4), or what memory allows",
        get: |policy| match policy.prefetch {
            Prefetch::Supply { total: Total::PerStream(blocks), .. } => Some(blocks.to_string()),
            Prefetch::Supply { total: Total::Memory, .. } => Some(MEMORY.to_string()),
            _ => None,
        },
        set: |policy, value| match &mut policy.prefetch {
            Prefetch::Supply { total, .. } if value == MEMORY => put(total, Some(Total::Memory)),
            Prefetch::Supply { total, .. } => put(total, value.parse().ok().map(Total::PerStream)),
            _ => None,
        },
    },
    Choice {
        name: "slot",
        axis: "prefetch",
        values: "MILLISECONDS",
        line: "the slots of time in which demand is counted (SCM §5.2.1)",
        get: |policy| match policy.prefetch {
            Prefetch::Supply { slot_ms, .. } => Some(slot_ms.to_string()),
            _ => None,
        },
        set: |policy, value| match &mut policy.prefetch {
            Prefetch::Supply { slot_ms, .. } => put(slot_ms, value.parse().ok().filter(|&slot| slot > 0)),
            _ => None,
        },
    },
    of_sarc!(
        "threshold",
        threshold,
        1,
        "from how many blocks on that were wanted one after another a stream is sequential (SCM §5.3)"
    ),
    of_sarc!("degree", degree, 1, "m: what is prefetched at a time"),
    of_sarc!("distance", distance, 0, "g: how many blocks are unread of a group when the next one is prefetched"),
    Choice {
        name: "window",
        axis: "partition",
        values: "REQUESTS",
        line: "W: how often sizes are looked at (SAC §3.1)",
        get: |policy| Some(sized(policy)?.window.to_string()),
        set: |policy, value| put(&mut sized_mut(policy)?.window, value.parse().ok().filter(|&window| window > 0)),
    },
    Choice {
        name: "threshold",
        axis: "partition",
        values: "PERCENT",
        line: "T: how much longer than the mean readers wait for a device that gets more (SAC §3.1)",
        get: |policy| Some(sized(policy)?.threshold.to_string()),
        set: |policy, value| put(&mut sized_mut(policy)?.threshold, value.parse().ok()),
    },
    Choice {
        name: "increment",
        axis: "partition",
        values: "PERMILLE",
        line: "I: what of the cache a device gets at first that waits too long (SAC §3.1)",
        get: |policy| Some(sized(policy)?.increment.to_string()),
        set: |policy, value| {
            let parts = value.parse().ok().filter(|parts| (1..=1000).contains(parts));
            put(&mut sized_mut(policy)?.increment, parts)
        },
    },
    Choice {
        name: "weights",
        axis: "partition",
        values: "equal|N/N/…|BYTES",
        line: "the proportion of sizes at first, by device, the last one for all others; or by the service time of so many bytes",
        get: |policy| {
            let weights = sized(policy)?.weights;
            let given = weights.as_given().map(|given| {
                let words: Vec<String> = given.iter().map(u16::to_string).collect();
                words.join("/")
            });
            Some(match weights {
                // A lone number is bytes.
                Weights::Given { len: 1, .. } => EQUAL.to_string(),
                Weights::Given { .. } => given.unwrap_or_default(),
                Weights::Service(bytes) => bytes.to_string(),
            })
        },
        set: |policy, value| {
            let list = || value.split('/').map(|word| word.parse().ok()).collect::<Option<Vec<u16>>>();
            let weights = match value {
                EQUAL => Some(Weights::EQUAL),
                _ if value.contains('/') => list().and_then(|list| Weights::given(&list)),
                _ => value.parse().ok().map(Weights::Service),
            };
            put(&mut sized_mut(policy)?.weights, weights)
        },
    },
    Choice {
        name: "seed",
        axis: "partition",
        values: "NUMBER",
        line: "fixes the draws of the lottery (SAC §2.3)",
        get: |policy| Some(sized(policy)?.seed.to_string()),
        set: |policy, value| put(&mut sized_mut(policy)?.seed, value.parse().ok()),
    },
    Choice {
        name: "threshold",
        axis: "context",
        values: "0..1",
        line: "T: below it, in thousandths, the mean reference recency of a loop (AMP §3.1)",
        get: |policy| match policy.context?.settings.detection {
            Detection::Recency { threshold, .. } => Some(fraction(threshold)),
            _ => None,
        },
        set: |policy, value| match &mut policy.context.as_mut()?.settings.detection {
            Detection::Recency { threshold, .. } => put(threshold, thousandths(value).map(|parts| ONE * parts / 1000)),
            _ => None,
        },
    },
    Choice {
        name: "sampling",
        axis: "context",
        values: "off|1/N|adaptive|BLOCKS",
        line: "which blocks are looked at: all, one in N, or as many as keep the list at so many blocks (AMP §3.1)",
        get: |policy| match policy.context?.settings.detection {
            Detection::Recency { sampling, .. } => Some(match sampling {
                Sampling::Off => OFF.to_string(),
                Sampling::Fixed(one_in) => part_of(one_in),
                Sampling::Adaptive(LIST) => ADAPTIVE.to_string(),
                Sampling::Adaptive(blocks) => blocks.to_string(),
            }),
            _ => None,
        },
        set: |policy, value| match &mut policy.context.as_mut()?.settings.detection {
            Detection::Recency { sampling, .. } => {
                let list = || value.parse().ok().filter(|&blocks| blocks > 1).map(Sampling::Adaptive);
                let chosen = match value {
                    OFF => Some(Sampling::Off),
                    ADAPTIVE => Some(Sampling::Adaptive(LIST)),
                    _ => one_in(value).map(Sampling::Fixed).or_else(list),
                };
                put(sampling, chosen)
            }
            _ => None,
        },
    },
    Choice {
        name: "mean",
        axis: "context",
        values: "periodic|continuous|1/N",
        line: "of what the mean recency is one: of a period, or the latest counts for 1/N, 1/64 (AMP §3.1)",
        get: |policy| match policy.context?.settings.detection {
            Detection::Recency { mean, .. } => Some(match mean {
                Mean::Periodic => PERIODIC.to_string(),
                Mean::Continuous(WEIGHT) => CONTINUOUS.to_string(),
                Mean::Continuous(weight) => part_of(ONE / weight.max(1)),
            }),
            _ => None,
        },
        set: |policy, value| match &mut policy.context.as_mut()?.settings.detection {
            Detection::Recency { mean, .. } => {
                let weight = |n: u32| (n <= ONE).then(|| Mean::Continuous(ONE / n));
                let chosen = match value {
                    PERIODIC => Some(Mean::Periodic),
                    CONTINUOUS => Some(Mean::Continuous(WEIGHT)),
                    _ => one_in(value).and_then(weight),
                };
                put(mean, chosen)
            }
            _ => None,
        },
    },
    Choice {
        name: "by",
        axis: "context",
        values: "context|file|handler",
        line: "by what accesses are told apart (AMP §2.2): the place in the program, the file (UBM), the process (DEAR)",
        get: |policy| Some(name_of(&BYS, policy.context?.settings.by)),
        set: |policy, value| put(&mut policy.context.as_mut()?.settings.by, named(&BYS, value)),
    },
    Choice {
        name: "partitions",
        axis: "context",
        values: "0..10",
        line: "how many loops have a partition, the most popular ones (AMP §3.3)",
        get: |policy| Some(policy.context?.settings.partitions.to_string()),
        set: |policy, value| {
            let partitions = value.parse().ok().filter(|&partitions| partitions <= MOST_PARTITIONS);
            put(&mut policy.context.as_mut()?.settings.partitions, partitions)
        },
    },
    Choice {
        name: "review",
        axis: "context",
        values: "ACCESSES",
        line: "how often patterns and popularity are looked at (AMP §3)",
        get: |policy| Some(policy.context?.settings.review.to_string()),
        set: |policy, value| {
            put(&mut policy.context.as_mut()?.settings.review, value.parse().ok().filter(|&review| review > 0))
        },
    },
    Choice {
        name: "seed",
        axis: "context",
        values: "NUMBER",
        line: "fixes the draws of who gives a block (AMP Fig. 4)",
        get: |policy| Some(policy.context?.settings.seed.to_string()),
        set: |policy, value| put(&mut policy.context.as_mut()?.settings.seed, value.parse().ok()),
    },
];
