//! Many runs side by side, on all processors, with their results in the order in which they were
//! asked for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many processors there are.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `run` with each of `items`, on so many threads, and gives the results in the order of the
/// items. Once `stopped` says so no further one is begun; those are `None`.
pub fn sweep<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    stopped: impl Fn() -> bool + Sync,
    run: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while !stopped() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(item), Some(result)) = (items.get(number), results.get(number)) else { return };
                    let value = run(item);
                    *result.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(value);
                }
            });
        }
    });
    results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [0, 1, 3, 500] {
            let squares = sweep(&items, threads, || false, |item| item * item);
            assert_eq!(squares, items.iter().map(|item| Some(item * item)).collect::<Vec<_>>());
        }
        assert!(sweep(&[] as &[u8], 4, || false, |item| *item).is_empty());
    }

    #[test]
    fn nothing_is_begun_after_the_end() {
        let done = AtomicUsize::new(0);
        let count = |_: &u8| done.fetch_add(1, Ordering::Relaxed);
        let results = sweep(&[0; 50], 1, || done.load(Ordering::Relaxed) >= 7, count);
        assert_eq!(results.iter().flatten().count(), 7);
    }
}
