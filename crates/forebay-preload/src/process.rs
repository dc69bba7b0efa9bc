//! The facts about this process: found when the library is loaded, and again in a forked child.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use forebay_callers::{CONTEXTS, Chunk, LogFile, RECORD, TableWriter, Text, UNWIND};
use rustix::fs::CWD;

use crate::memory;
use crate::unwind::{self, module};

/// How many files a process can number; one number a slot.
pub(crate) const FILES: usize = 1 << 16;

/// A process. It lies in pages of its own, and stays until the process ends.
pub(crate) struct Process {
    pub table: Option<TableWriter>,
    /// The file for names of contexts, if there is a table.
    names: [u8; PATH],
    /// The folder of the recording; empty: none.
    folder: [u8; PATH],
    /// A hash of the program's build.
    pub program: u64,
    /// The addresses of this library: its own frames belong to no context.
    pub own: (usize, usize),
    /// `path TAB build`, as lines of contexts begin.
    line: [u8; PATH],
    line_len: usize,
    /// Calls the destructor of a thread's storage when the thread ends.
    key: Option<libc::pthread_key_t>,
    log: std::cell::UnsafeCell<Option<LogFile>>,
    young: *const Young,
}

/// The longest path that is written.
const PATH: usize = 1024;

/// Memory that a forked child finds zero.
#[repr(C)]
pub(crate) struct Young {
    /// The number of this process among those that descend from each other by forks; 0 not begun, 1
    /// being begun.
    life: AtomicU64,
    /// How many files have a number from beyond the slots.
    pub unslotted: AtomicU32,
    /// Contexts whose names are in the log.
    pub contexts: [AtomicU64; FILES],
    /// Files whose names are in the log, by a hash of device, inode and time of birth.
    pub files: [AtomicU64; FILES],
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Counts processes from the first that loaded the library. Not wiped: a child goes on from its
/// parent's count.
static LIVES: AtomicU64 = AtomicU64::new(1);

/// This process; `None` before the library has begun, and if it can do nothing.
#[inline(always)]
pub(crate) fn process() -> Option<&'static Process> {
    // SAFETY: null, or a process that was made whole before it was stored here, and stays.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

/// Whether calls are recorded.
#[inline(always)]
pub(crate) fn recording() -> bool {
    process().is_some_and(|process| process.folder[0] != 0)
}

/// Begins, from the constructor. The library does nothing in a program with more rights than its
/// user, or if neither table nor recording is wanted.
pub(crate) fn begin(thread_ends: unsafe extern "C" fn(*mut c_void)) {
    // SAFETY: asks for a number.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    module::prepare();
    let size = size_of::<Process>();
    let (Some(place), Some(young)) = (memory::pages(size), memory::wiped_by_fork(size_of::<Young>())) else { return };
    let place = place.cast::<Process>();
    let mut process = Process {
        table: None,
        names: [0; PATH],
        folder: [0; PATH],
        program: 0,
        own: module::module_of(begin as *const () as usize).map_or((0, 0), |own| (own.start, own.end)),
        line: [0; PATH],
        line_len: 0,
        key: None,
        log: None.into(),
        young: young.cast(),
    };
    process.describe();
    process.find_table();
    process.find_folder();
    if process.table.is_none() && process.folder[0] == 0 {
        return;
    }
    unwind::FRAME_POINTERS.store(variable(UNWIND) == Some(c"frame-pointers"), Ordering::Relaxed);
    let mut key = 0;
    // SAFETY: `key` is there, and the destructor fits every thread.
    process.key = (unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) } == 0).then_some(key);
    // SAFETY: fresh pages, large enough and aligned.
    unsafe { place.write(process) };
    PROCESS.store(place, Ordering::Release);
}

/// A variable of the environment.
fn variable(name: &str) -> Option<&'static CStr> {
    let mut memory = [0; 32];
    memory.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    let name = CStr::from_bytes_until_nul(&memory).ok()?;
    // SAFETY: a look-up by name, while the program has not begun.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a value of the environment; it is used at once, or only as long as the constructor
    // runs.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

impl Process {
    /// Finds the running program's path and build.
    fn describe(&mut self) {
        let mut path = [0; PATH];
        let known = rustix::fs::readlinkat_raw(CWD, c"/proc/self/exe", &mut path[..]).unwrap_or(0);
        // SAFETY: asks for a number.
        let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
        let module = module::module_of(headers);
        self.program = module.map_or(0, |module| module.hash());
        let mut line = Text::new(&mut self.line);
        line.name(&path[..known]);
        line.byte(b'\t');
        module.into_iter().for_each(|module| module.build().write(&mut line));
        self.line_len = line.len();
    }

    /// The table, at the path of the variable or at the usual one.
    fn find_table(&mut self) {
        let mut path = [0; PATH];
        let mut text = Text::new(&mut path[..PATH - 1]);
        match variable(CONTEXTS) {
            Some(said) => text.bytes(said.to_bytes()),
            None => {
                text.bytes(b"/dev/shm/forebay-contexts-");
                text.decimal(u64::from(rustix::process::geteuid().as_raw()));
            }
        }
        if text.is_empty() || text.is_full() {
            return;
        }
        let mut names = Text::new(&mut self.names[..PATH - 1]);
        names.bytes(text.written());
        names.bytes(b".names");
        if !names.is_full() {
            self.table = CStr::from_bytes_until_nul(&path).ok().and_then(TableWriter::create);
        }
    }

    /// The folder of the recording. A relative path counts from the folder where the program
    /// begins, since the program may change its folder.
    fn find_folder(&mut self) {
        let Some(said) = variable(RECORD).map(CStr::to_bytes).filter(|said| !said.is_empty()) else { return };
        let mut folder = Text::new(&mut self.folder[..PATH - 1]);
        if said[0] != b'/' {
            let mut path = [0; PATH];
            let known = rustix::fs::readlinkat_raw(CWD, c"/proc/self/cwd", &mut path[..]).unwrap_or(0);
            folder.bytes(&path[..known]);
            folder.byte(b'/');
        }
        folder.bytes(said);
        if folder.is_full() {
            self.folder = [0; PATH];
        }
    }

    /// `path TAB build` of the program.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line[..self.line_len]
    }

    /// The file for names of contexts.
    pub(crate) fn names(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.names).ok()
    }

    /// Memory that a forked child finds zero.
    pub(crate) fn young(&self) -> &Young {
        // SAFETY: pages that stay, all atomic.
        unsafe { &*self.young }
    }

    /// The number of this process among those that descend from each other by forks. Begins the
    /// process if it is new, and gives the thread that does so the first stretch of its log. `None`
    /// if another thread begins it and does not finish.
    #[inline(always)]
    pub(crate) fn life(&self) -> (Option<u64>, Option<Chunk>) {
        let life = self.young().life.load(Ordering::Acquire);
        if life > 1 { (Some(life), None) } else { self.begin_life() }
    }

    #[cold]
    #[inline(never)]
    fn begin_life(&self) -> (Option<u64>, Option<Chunk>) {
        let life = &self.young().life;
        if life.compare_exchange(0, 1, Ordering::Acquire, Ordering::Acquire).is_err() {
            // This takes some microseconds, unless the other thread is kept from running.
            let done = (0..10_000).find(|_| {
                rustix::thread::sched_yield();
                life.load(Ordering::Acquire) > 1
            });
            return (done.map(|_| life.load(Ordering::Acquire)), None);
        }
        let mut chunk = None;
        let folder = self.folder.split(|byte| *byte == 0).next().unwrap_or_default();
        if !folder.is_empty() {
            let pid = rustix::process::getpid().as_raw_nonzero().get() as u32;
            let parent = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32);
            let begun = LogFile::begin(folder, pid, parent, self.line());
            // SAFETY: `life` is 1, set by this thread, so that no other looks at the log.
            unsafe { *self.log.get() = None };
            if let Some((log, first)) = begun {
                // SAFETY: as above.
                unsafe { *self.log.get() = Some(log) };
                chunk = Some(first);
            }
        }
        let number = LIVES.fetch_add(1, Ordering::Relaxed) + 1;
        life.store(number, Ordering::Release);
        (Some(number), chunk)
    }

    /// The log; `None` if nothing is or can be recorded.
    pub(crate) fn log(&self) -> Option<&LogFile> {
        let begun = self.young().life.load(Ordering::Acquire) > 1;
        // SAFETY: written before `life` was set beyond 1, and not after.
        if begun { unsafe { (*self.log.get()).as_ref() } } else { None }
    }

    /// Has the destructor called when this thread ends.
    pub(crate) fn attend_thread(&self) {
        if let Some(key) = self.key {
            // SAFETY: our own key. It was made so early that its value lies in the thread itself
            // and nothing is allocated.
            unsafe { libc::pthread_setspecific(key, std::ptr::dangling()) };
        }
    }
}
