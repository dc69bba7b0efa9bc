//! A failure, made smaller: fewer events, readers, files and kinds of faults, as long as it still
//! fails.

use crate::bounds::{Bounds, Fault};
use crate::watch::{Failure, live};

/// Lives that are tried at most.
const TRIES: u32 = 150;

/// The smallest failure that is found. `tried` hears of every life that is tried.
pub fn shrink(failure: Failure, mut tried: impl FnMut()) -> Failure {
    let mut least = failure;
    let mut tries = 0;
    while !least.endless {
        let smaller = smaller(&least).into_iter().find_map(|bounds| {
            tries += 1;
            tried();
            (tries <= TRIES).then(|| live(least.seed, &bounds).err()).flatten()
        });
        match smaller {
            Some(smaller) => least = smaller,
            None => break,
        }
    }
    least
}

/// Bounds that are smaller in one way, the largest steps first.
fn smaller(failure: &Failure) -> Vec<Bounds> {
    let now = &failure.bounds;
    let mut all = Vec::new();
    let events = [failure.event.min(now.events), now.events / 2, now.events * 9 / 10];
    all.extend(events.into_iter().filter(|&events| events < now.events).map(|events| Bounds { events, ..now.clone() }));
    let less =
        |count: u32| [1, count / 2, count.saturating_sub(1)].into_iter().filter(move |&less| 0 < less && less < count);
    all.extend(less(now.readers).map(|readers| Bounds { readers, ..now.clone() }));
    all.extend(less(now.files).map(|files| Bounds { files, ..now.clone() }));
    for fault in Fault::ALL.into_iter().filter(|fault| !now.without.contains(fault)) {
        let mut without = now.without.clone();
        without.push(fault);
        all.push(Bounds { without, ..now.clone() });
    }
    all
}
