//! The part of a thread's stack that may be read.

use std::cell::Cell;

const PAGE: usize = 4096;
/// How far a stack is followed, upwards from the thread's place: larger frames than this are not
/// stepped over.
const FARTHEST: usize = 16 << 20;
/// How far below its known part the stack may have grown without being taken for another one.
const GROWTH: usize = 1 << 20;

/// The readable pages in a row around the thread's last place.
///
/// Known weakness: a stack that was unmapped, and another one made in its place that the thread
/// runs on next, are taken for one. Tables lead no further than to frames that are there; only
/// frame pointers may hold anything.
#[derive(Default)]
pub(crate) struct Bounds {
    low: Cell<usize>,
    high: Cell<usize>,
}

impl Bounds {
    pub(crate) const fn new() -> Bounds {
        Bounds { low: Cell::new(0), high: Cell::new(0) }
    }

    /// The thread's stack pointer is `sp` now: in the known stack, just below it, or in another
    /// one.
    #[inline(always)]
    pub(crate) fn enter(&self, sp: usize) {
        if sp < self.low.get() || sp >= self.high.get() {
            self.move_to(sp & !(PAGE - 1));
        }
    }

    #[cold]
    fn move_to(&self, page: usize) {
        let low = self.low.get();
        let grown = page < low && low - page <= GROWTH && (page..low).step_by(PAGE).all(readable);
        if !grown {
            // The page of the stack pointer itself is in use.
            self.high.set(page + PAGE);
        }
        self.low.set(page);
    }

    /// The word at `address`, if it is aligned and in this stack.
    #[inline(always)]
    pub(crate) fn load(&self, address: usize) -> Option<usize> {
        if address < self.low.get() || !address.is_multiple_of(8) || address >= self.high.get() && !self.extend(address)
        {
            return None;
        }
        // SAFETY: between the thread's stack pointer's page and the highest page that the kernel
        // could read in one row with it. Only this thread takes its frames down, and it is here.
        Some(unsafe { (address as *const usize).read_volatile() })
    }

    /// The two words at `address`, as [`Bounds::load`].
    #[inline(always)]
    pub(crate) fn pair(&self, address: usize) -> Option<[usize; 2]> {
        let second = address.wrapping_add(8);
        let below = address < self.low.get() || !address.is_multiple_of(8) || second < address;
        if below || second >= self.high.get() && !self.extend(second) {
            return None;
        }
        // SAFETY: as in `load`, both of them.
        Some(unsafe { (address as *const [usize; 2]).read_volatile() })
    }

    /// Finds out whether the stack reaches to `address`.
    #[cold]
    fn extend(&self, address: usize) -> bool {
        let mut high = self.high.get();
        if address - self.low.get() > FARTHEST {
            return false;
        }
        while address >= high && readable(high) {
            high += PAGE;
        }
        self.high.set(high);
        address < high
    }
}

/// Whether the page at `page` can be read: the kernel reads a signal set there before it finds that
/// the order is none. (`rt_sigprocmask`, which no sandbox refuses; not through the C library, whose
/// `errno` is the program's.)
fn readable(page: usize) -> bool {
    let answer: isize;
    // SAFETY: the kernel knows no such `how`, so that nothing is changed, with any bytes at `page`.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask as isize => answer,
            in("rdi") -1isize,
            in("rsi") page,
            in("rdx") 0usize,
            in("r10") 8usize,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer == -(libc::EINVAL as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_readable() {
        let here = 0usize;
        assert!(readable(&raw const here as usize & !(PAGE - 1)));
        assert!(!readable(0) && !readable(PAGE));
        // SAFETY: a fresh mapping that nobody may read.
        let closed = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        assert!(!readable(closed as usize));
        // SAFETY: the mapping of just now.
        unsafe { libc::munmap(closed, PAGE) };
    }

    #[test]
    fn bounds_follow_the_thread_from_stack_to_stack() {
        let mut other = vec![7usize; 8192];
        let bounds = Bounds::new();
        let local = [41usize, 42];
        bounds.enter(&raw const local as usize);
        assert_eq!(bounds.load(&raw const local[1] as usize), Some(42));
        assert_eq!(bounds.load(&raw const local[1] as usize + 1), None);
        bounds.enter(&raw mut other[0] as usize);
        assert_eq!(bounds.load(&raw const other[8000] as usize), Some(7));
        // Beyond the farthest, and the first stack again.
        assert_eq!(bounds.load((&raw const other[0] as usize & !7) + FARTHEST + 2 * PAGE), None);
        bounds.enter(&raw const local as usize);
        assert_eq!(bounds.load(&raw const local[0] as usize), Some(41));
    }
}
