//! The parts of `auto`. Each can be left out, to measure its worth: `auto:without=near/sequel`.

use alloc::string::String;

use super::{Contexts, Partition, Policy, Prefetch, Reclaim};
use crate::auto::Parts;
use crate::auto::cache::CacheParts;
use crate::auto::duel::Views;
use crate::papers::amp::Detection;

/// A part of `auto`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name behind `without=`.
    pub name: &'static str,
    /// Its effect, in a line.
    pub line: &'static str,
    /// Whether a policy lacks it.
    lacks: fn(&Policy) -> bool,
    /// Leaves it out.
    leave_out: fn(&mut Policy),
}

/// A part of prefetching, called as its field is.
macro_rules! of_prefetching {
    ($name:ident, $line:literal) => {
        Part {
            name: stringify!($name),
            line: $line,
            lacks: |policy| matches!(policy.prefetch, Prefetch::Auto(Parts { $name: false, .. })),
            leave_out: |policy| {
                if let Prefetch::Auto(parts) = &mut policy.prefetch {
                    parts.$name = false;
                }
            },
        }
    };
}

/// A part of the prefetch cache, called as its field is.
macro_rules! of_cache {
    ($name:ident, $line:literal) => {
        Part {
            name: stringify!($name),
            line: $line,
            lacks: |policy| matches!(policy.reclaim, Reclaim::Auto(_, CacheParts { $name: false, .. })),
            leave_out: |policy| {
                if let Reclaim::Auto(_, parts) = &mut policy.reclaim {
                    parts.$name = false;
                }
            },
        }
    };
}

/// All parts. If a part is left out, parts of that part are not listed as left out.
pub const PARTS: &[Part] = &[
    of_prefetching!(whole, "fetches up to where files are usually read to, instead of slow start"),
    of_prefetching!(lengths, "pieces as large as the mean length of streams so far makes them best"),
    of_prefetching!(habits, "goes by how long streams of a program context are, and whether they are random"),
    of_prefetching!(company, "smaller pieces for a stream that has its device to itself and pays for no switch"),
    of_prefetching!(near, "loads what lies near misses of a file that has room in free memory"),
    of_prefetching!(steps, "fetches the next steps of a reader that moves in mostly equal ones (Leap)"),
    of_prefetching!(sequel, "fetches what followed a place last time"),
    of_prefetching!(floor, "fetches nothing ahead on devices where that brings no hits"),
    Part {
        name: "cache",
        line: "a prefetch cache (CPEM §4)",
        lacks: |policy| policy.reclaim == Reclaim::WithTheRest,
        leave_out: |policy| policy.reclaim = Reclaim::WithTheRest,
    },
    of_cache!(rent, "counts the memory that takes what is fetched ahead in vain"),
    of_cache!(order, "has as much ahead as makes switches and misses fewest"),
    of_cache!(turnover, "keeps what was passed over until memory was filled anew, no longer"),
    of_cache!(active, "shares among streams that go on, not among open files"),
    Part {
        name: "devices",
        line: "partitions of devices (SAC)",
        lacks: |policy| policy.partition == Partition::Whole,
        leave_out: |policy| policy.partition = Partition::Whole,
    },
    Part {
        name: "contexts",
        line: "partitions for program contexts that loop (AMP)",
        lacks: |policy| policy.context.is_none(),
        leave_out: |policy| policy.context = None,
    },
    Part {
        name: "duel",
        line: "has those only where a sample of references says that they pay",
        lacks: |policy| policy.context.is_some_and(|contexts| is_amp(&contexts) && contexts.views.is_none()),
        leave_out: |policy| {
            if let Some(contexts) = &mut policy.context {
                contexts.views = None;
            }
        },
    },
    Part {
        name: "bimodal",
        line: "keeps few of the new blocks where that misses less than partitions do",
        lacks: |policy| views(policy).is_some_and(|views| !views.bimodal),
        leave_out: |policy| {
            if let Some(Contexts { views: Some(views), .. }) = &mut policy.context {
                *views = Views::TWO;
            }
        },
    },
];

/// The names of all parts, as the values of an option.
pub(super) const NAMES: &str = "PART/PART/…";

/// Whether patterns are told as AMP tells them.
fn is_amp(contexts: &Contexts) -> bool {
    matches!(contexts.settings.detection, Detection::Recency { .. })
}

fn views(policy: &Policy) -> Option<Views> {
    policy.context?.views
}

fn is_auto(policy: &Policy) -> bool {
    matches!(policy.prefetch, Prefetch::Auto(_))
}

/// The parts that a policy lacks, as they are written; `None` if it is not `auto`.
pub(super) fn lacking(policy: &Policy) -> Option<String> {
    is_auto(policy).then_some(())?;
    let mut names = String::new();
    for part in PARTS.iter().filter(|part| (part.lacks)(policy)) {
        if !names.is_empty() {
            names.push('/');
        }
        names.push_str(part.name);
    }
    Some(names)
}

/// Leaves out the parts that are named. `None`, and nothing changes, if one is unknown or the
/// policy is not `auto`.
pub(super) fn leave_out(policy: &mut Policy, names: &str) -> Option<()> {
    is_auto(policy).then_some(())?;
    let mut changed = *policy;
    for name in names.split('/') {
        let part = PARTS.iter().find(|part| part.name == name)?;
        (part.leave_out)(&mut changed);
    }
    *policy = changed;
    Some(())
}

/// The same policy without the parts that `other` lacks.
pub(super) fn without_what_lacks(policy: Policy, other: &Policy) -> Policy {
    let mut changed = policy;
    PARTS.iter().filter(|part| (part.lacks)(other)).for_each(|part| (part.leave_out)(&mut changed));
    changed
}
