//! Walking the stack of the calling thread, by the modules' unwind tables or along frame pointers.
//!
//! Compilers leave frame pointers out, so tables are the rule: for each return address a rule is derived once
//! (`cfi`), kept in a cache that threads share without locks (`rule`), and a step is then a look-up, an addition and a load.
//!
//! Nothing outside the stack is read. What is the stack is asked of the kernel page by page the first time that a thread
//! gets there (`stack`), so the main thread's, other threads', signal handlers' and coroutines' stacks are all alike. Whatever does not fit
//! (no tables, code made at run time, a signal's frame, an address out of bounds) ends the walk there.

pub(crate) mod cfi;
pub(crate) mod module;
pub(crate) mod rule;
pub(crate) mod stack;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use forebay_callers::mix;

use rule::{Base, RULES, Rule, Saved};
use stack::Bounds;

/// The most return addresses that are looked at, from the innermost.
pub(crate) const DEEPEST: usize = 64;

/// Whether frame pointers are followed instead of tables.
pub(crate) static FRAME_POINTERS: AtomicBool = AtomicBool::new(false);

/// Counts libraries that were unloaded: what caches know of addresses is worth nothing afterwards.
pub(crate) static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// Where a thread is.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    pub pc: usize,
    pub sp: usize,
    pub bp: usize,
}

/// Where the function is that this becomes a part of.
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

/// The return addresses of a stack, innermost first.
pub(crate) struct Trace {
    pub addresses: [usize; DEEPEST],
    pub count: usize,
    /// Tells this sequence of addresses from others, as long as no library is unloaded.
    pub key: u64,
}

impl Trace {
    /// Walks up from `registers`, which [`here`] read in one of our own functions that the program called.
    #[inline(always)]
    pub(crate) fn take(registers: Registers, bounds: &Bounds) -> Trace {
        let salt = UNLOADED.load(Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut trace = Trace { addresses: [0; DEEPEST], count: 0, key: salt };
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
        if let Some(place) = self.addresses.get_mut(self.count) {
            *place = address;
            self.count += 1;
            self.key = (self.key.rotate_left(5) ^ address as u64).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

struct Walk<'a> {
    registers: Registers,
    bounds: &'a Bounds,
    salt: u64,
}

impl Walk<'_> {
    /// One frame up by the rule of its address; whether that was possible.
    #[inline(always)]
    fn by_tables(&mut self) -> bool {
        let Registers { pc, sp, bp } = self.registers;
        let key = pc as u64 ^ self.salt;
        let rule = match RULES.get(key) {
            Some(word) => Rule::kept(word),
            None => match derive(pc, key) {
                Some(rule) => rule,
                None => return false,
            },
        };
        let frame = match rule.base() {
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
        // Upwards, or round and round.
        let (Some(bp), true) = (saved, frame > sp) else { return false };
        let Some(pc) = self.load(frame.wrapping_sub(8)) else { return false };
        self.registers = Registers { pc, sp: frame, bp };
        pc != 0
    }

    /// One frame up along frame pointers; whether that was possible.
    #[inline(always)]
    fn by_frame_pointer(&mut self) -> bool {
        let Registers { sp, bp, .. } = self.registers;
        if bp < sp {
            return false;
        }
        let (Some(next), Some(pc)) = (self.load(bp), self.load(bp.wrapping_add(8))) else { return false };
        self.registers = Registers { pc, sp: bp.wrapping_add(16), bp: next };
        pc != 0
    }

    /// The word at `address` of the stack.
    #[inline(always)]
    fn load(&self, address: usize) -> Option<usize> {
        self.bounds.load(address)
    }
}

/// Derives the rule for `pc` from its module's tables and keeps it. What has none is not remembered: code may yet be loaded there.
#[cold]
#[inline(never)]
fn derive(pc: usize, key: u64) -> Option<Rule> {
    // A return address may be that of the next function, if the call never returns.
    let rule = cfi::rule_for(&module::module_of(pc.wrapping_sub(1))?, pc.wrapping_sub(1))?;
    RULES.put(key, rule.word());
    Some(rule)
}
