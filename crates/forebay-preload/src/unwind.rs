//! Walking the stack of the calling thread, by the modules' unwind tables or along frame pointers.
//!
//! Compilers leave frame pointers out, so tables are the rule: for each return address a rule is
//! derived once (`cfi`), kept in a cache that threads share without locks (`rule`), and a step is
//! then a look-up, an addition and a load.
//!
//! Nothing outside the stack is read. The first time that a thread gets to a page, the kernel is
//! asked whether it belongs to the stack (`stack`). So the stacks of the main thread, other
//! threads, signal handlers and coroutines are all alike. The walk ends at the first thing that
//! does not fit: no tables, code made at run time, a signal's frame, an address out of bounds.

pub(crate) mod cfi;
pub(crate) mod module;
#[cfg(test)]
mod oracle;
pub(crate) mod rule;
pub(crate) mod stack;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use forebay_callers::mix;

use rule::{Base, RULES, Rule, Saved};
use stack::Bounds;

/// The most return addresses that are looked at, from the innermost.
pub(crate) const DEEPEST: usize = 64;

/// Whether frame pointers are followed instead of tables.
pub(crate) static FRAME_POINTERS: AtomicBool = AtomicBool::new(false);

/// Counts libraries that were unloaded: then the addresses in caches are worth nothing.
pub(crate) static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// A thread's place.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    pub pc: usize,
    pub sp: usize,
    pub bp: usize,
}

/// The place in the function that this is inlined into.
#[inline(always)]
pub(crate) fn here() -> Registers {
    let (pc, sp, bp);
    // SAFETY: copies three registers, touches no memory.
    unsafe {
        std::arch::asm!(
            "lea {pc}, [rip]",
            "mov {sp}, rsp",
            "mov {bp}, rbp",
            pc = out(reg) pc,
            sp = out(reg) sp,
            bp = out(reg) bp,
            options(nomem, nostack, preserves_flags),
        );
    }
    Registers { pc, sp, bp }
}

/// The golden ratio's bits.
const SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random odd number for each place of a trace.
static WEIGHTS: [u64; DEEPEST] = {
    let mut weights = [0; DEEPEST];
    let mut at = 0;
    while at < DEEPEST {
        weights[at] = mix(SALT.wrapping_mul(at as u64 + 1)) | 1;
        at += 1;
    }
    weights
};

/// Room for the return addresses of a stack. It is a part of each thread's storage: a signal
/// handler's stack may be small.
pub(crate) type Addresses = [Cell<usize>; DEEPEST];

/// The return addresses of a stack, innermost first.
pub(crate) struct Trace<'a> {
    pub addresses: &'a Addresses,
    pub count: usize,
    /// Tells this sequence of addresses from others, as long as no library is unloaded.
    pub key: u64,
}

impl<'a> Trace<'a> {
    /// Walks up from `registers`, which [`here`] read in one of our own functions that the program
    /// called.
    #[inline(always)]
    pub(crate) fn take(registers: Registers, bounds: &Bounds, addresses: &'a Addresses) -> Trace<'a> {
        let salt = UNLOADED.load(Ordering::Relaxed).wrapping_mul(SALT);
        let mut trace = Trace { addresses, count: 0, key: salt };
        let mut walk = Walk { registers, bounds, salt };
        bounds.enter(registers.sp);
        // Our own frame has no frame pointer.
        if !walk.by_tables() {
            return trace;
        }
        trace.add(walk.registers.pc);
        if FRAME_POINTERS.load(Ordering::Relaxed) {
            while trace.count < DEEPEST && walk.by_frame_pointer() {
                trace.add(walk.registers.pc);
            }
        } else {
            while trace.count < DEEPEST && walk.by_tables() {
                trace.add(walk.registers.pc);
            }
        }
        trace.key = mix(trace.key) | 1;
        trace
    }

    #[inline(always)]
    fn add(&mut self, address: usize) {
        // Never full here: the walk ends at that length.
        if let Some(place) = self.addresses.get(self.count) {
            place.set(address);
            // A sum, so that no step waits for the one before.
            self.key = self.key.wrapping_add((address as u64).wrapping_mul(WEIGHTS[self.count]));
            self.count += 1;
        }
    }
}

/// Whether the stack leads from `registers` to beyond `address` without a signal's frame in
/// between, at which walks end.
#[cold]
#[inline(never)]
pub(crate) fn reaches(registers: Registers, address: usize) -> bool {
    let bounds = Bounds::new();
    let salt = UNLOADED.load(Ordering::Relaxed).wrapping_mul(SALT);
    let mut walk = Walk { registers, bounds: &bounds, salt };
    bounds.enter(registers.sp);
    (0..DEEPEST).any(|_| !walk.by_tables() || walk.registers.sp > address) && walk.registers.sp > address
}

struct Walk<'a> {
    registers: Registers,
    bounds: &'a Bounds,
    salt: u64,
}

impl Walk<'_> {
    /// One frame up by the rule of its address; returns whether that was possible.
    #[inline(always)]
    fn by_tables(&mut self) -> bool {
        let Registers { pc, sp, bp } = self.registers;
        let key = pc as u64 ^ self.salt;
        let rule = match RULES.get(key) {
            Some(word) => Rule::kept(word),
            None => derive(pc, key),
        };
        let frame = match rule.base() {
            Base::End => return false,
            Base::Stack => sp.wrapping_add_signed(rule.offset()),
            Base::Frame => bp.wrapping_add_signed(rule.offset()),
            Base::Deref => match self.load(bp.wrapping_add_signed(rule.offset())) {
                Some(frame) => frame,
                None => return false,
            },
        };
        let saved = match rule.saved() {
            Saved::Same => Some(bp),
            Saved::Frame => self.load(frame.wrapping_add_signed(rule.at())),
            Saved::Base => self.load(bp.wrapping_add_signed(rule.at())),
        };
        // The walk goes upwards only, so that it ends.
        let (Some(bp), true) = (saved, frame > sp) else { return false };
        let Some(pc) = self.load(frame.wrapping_sub(8)) else { return false };
        self.registers = Registers { pc, sp: frame, bp };
        pc != 0
    }

    /// One frame up along frame pointers; returns whether that was possible.
    #[inline(always)]
    fn by_frame_pointer(&mut self) -> bool {
        let Registers { sp, bp, .. } = self.registers;
        if bp < sp {
            return false;
        }
        let Some([next, pc]) = self.bounds.pair(bp) else { return false };
        self.registers = Registers { pc, sp: bp.wrapping_add(16), bp: next };
        pc != 0
    }

    /// The word at `address` of the stack.
    #[inline(always)]
    fn load(&self, address: usize) -> Option<usize> {
        self.bounds.load(address)
    }
}

/// Derives the rule for `pc` from its module's tables and keeps it. Without a module it keeps
/// nothing: one may yet be loaded there.
#[cold]
#[inline(never)]
fn derive(pc: usize, key: u64) -> Rule {
    // A return address may be that of the next function, if the call never returns.
    let call = pc.wrapping_sub(1);
    let Some(module) = module::module_of(call) else { return Rule::END };
    let rule = cfi::rule_for(&module, call).unwrap_or(Rule::END);
    RULES.put(key, rule.word());
    rule
}
