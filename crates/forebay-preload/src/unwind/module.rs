//! The loaded module of an address, its unwind tables, and its build.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use forebay_callers::{Text, mix};
use rustix::fs::{AtFlags, CWD, StatxFlags};

/// A module: the executable, a library, the kernel's page.
#[derive(Clone, Copy)]
pub(crate) struct Module {
    /// Where it is mapped.
    pub start: usize,
    pub end: usize,
    /// The number that was added to its own addresses.
    pub base: usize,
    /// Its `.eh_frame_hdr`; 0: none.
    pub tables: usize,
    /// The path by which it was loaded; empty for the executable.
    pub name: *const c_char,
}

/// The build of a module.
pub(crate) enum Build {
    /// Its NT_GNU_BUILD_ID.
    Id(&'static [u8]),
    /// It has no id: its file's length and time of change.
    File { size: u64, changed: u64 },
}

/// `struct dl_find_object` of glibc 2.35 and later.
#[repr(C)]
struct Found {
    flags: u64,
    start: usize,
    end: usize,
    link_map: *const LinkMap,
    tables: usize,
    reserved: [u64; 7],
}

/// The public part of `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// `_dl_find_object`, which takes no lock and may be called in signal handlers; null where the C
/// library is older.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Looks for the C library's function. Once, from the constructor.
pub(crate) fn prepare() {
    // SAFETY: a plain look-up by name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(found, Ordering::Relaxed);
}

/// The module that `address` lies in.
pub(crate) fn module_of(address: usize) -> Option<Module> {
    let find = FIND_OBJECT.load(Ordering::Relaxed);
    if find.is_null() { by_iteration(address) } else { by_look_up(find, address) }
}

fn by_look_up(find: *mut c_void, address: usize) -> Option<Module> {
    let mut found = Found { flags: 0, start: 0, end: 0, link_map: std::ptr::null(), tables: 0, reserved: [0; 7] };
    // SAFETY: the function of this name has this type.
    let find: FindObject = unsafe { std::mem::transmute(find) };
    // SAFETY: any address may be asked for, and `found` has the C library's layout.
    if unsafe { find(address as *mut c_void, &mut found) } != 0 || found.link_map.is_null() {
        return None;
    }
    // SAFETY: the link map of a module that is loaded: a frame of the running stack lies in it.
    let LinkMap { base, name } = unsafe { found.link_map.read() };
    Some(Module { start: found.start, end: found.end, base, tables: found.tables, name })
}

/// For C libraries before 2.35: asks the loader for all modules.
fn by_iteration(address: usize) -> Option<Module> {
    struct Search {
        address: usize,
        found: Option<Module>,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader's own description, valid during the call; and the search below.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: there are so many program headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let base = info.dlpi_addr as usize;
        let at = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
        let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let start = loads().map(at).min().unwrap_or(0) & !4095;
        let end = loads().map(|header| at(header).wrapping_add(header.p_memsz as usize)).max().unwrap_or(0);
        if !(start..end).contains(&search.address) {
            return 0;
        }
        let tables = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map_or(0, at);
        search.found = Some(Module { start, end, base, tables, name: info.dlpi_name });
        1
    }
    let mut search = Search { address, found: None };
    // SAFETY: `visit` gets the type that it expects, and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

impl Module {
    /// The path by which it was loaded; empty for the executable.
    pub(crate) fn name(&self) -> &CStr {
        if self.name.is_null() {
            return c"";
        }
        // SAFETY: the loader keeps the name as long as the module.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// The bytes from `address` on, as many as `len`, if they lie within the module.
    pub(crate) fn bytes(&self, address: usize, len: usize) -> Option<&'static [u8]> {
        let inside = address >= self.start && address.checked_add(len)? <= self.end;
        // SAFETY: within the module. Its headers, by which these parts were found, say that they
        // are readable; it stays loaded as long as a frame of the stack returns into it.
        inside.then(|| unsafe { std::slice::from_raw_parts(address as *const u8, len) })
    }

    fn word<const N: usize>(&self, address: usize) -> Option<[u8; N]> {
        self.bytes(address, N)?.try_into().ok()
    }

    /// Its build.
    pub(crate) fn build(&self) -> Build {
        self.build_id().map_or_else(|| self.file(), Build::Id)
    }

    /// NT_GNU_BUILD_ID, from its program headers.
    fn build_id(&self) -> Option<&'static [u8]> {
        let header = self.bytes(self.start, 64)?;
        if !header.starts_with(b"\x7fELF\x02") {
            return None;
        }
        let headers = usize::from_le_bytes(header[32..40].try_into().ok()?);
        let count = u16::from_le_bytes(header[56..58].try_into().ok()?);
        (0..usize::from(count)).find_map(|index| {
            let at = self.start.wrapping_add(headers).wrapping_add(index * 56);
            if u32::from_le_bytes(self.word(at)?) != libc::PT_NOTE {
                return None;
            }
            let notes = self.base.wrapping_add(usize::from_le_bytes(self.word(at + 16)?));
            self.note(notes, usize::from_le_bytes(self.word(at + 40)?))
        })
    }

    /// The build id among the notes at `at`.
    fn note(&self, mut at: usize, len: usize) -> Option<&'static [u8]> {
        let end = at.checked_add(len)?;
        while at.checked_add(12)? <= end {
            let [name, content, kind] = [0, 4, 8].map(|field| self.word(at + field).map(u32::from_le_bytes));
            let (name, content) = (name? as usize, content? as usize);
            let body = at + 12 + name.next_multiple_of(4);
            if kind? == 3 && self.bytes(at + 12, 4)? == b"GNU\0" && (1..=64).contains(&content) {
                return self.bytes(body, content);
            }
            at = body.checked_add(content.next_multiple_of(4))?;
        }
        None
    }

    fn file(&self) -> Build {
        let path = if self.name().is_empty() { c"/proc/self/exe" } else { self.name() };
        let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS);
        let known = stat.map(|stat| (stat.stx_size, stat.stx_mtime.tv_sec as u64));
        let (size, changed) = known.unwrap_or_default();
        Build::File { size, changed }
    }

    /// A hash that two loads of one build share, and nothing else: of the build id, else of path,
    /// length and time of change.
    pub(crate) fn hash(&self) -> u64 {
        match self.build() {
            Build::Id(id) => hash(id),
            Build::File { size, changed } => mix(hash(self.name().to_bytes()) ^ mix(size) ^ changed.rotate_left(32)),
        }
    }
}

impl Build {
    /// In the form of [`forebay_callers::Program::build`].
    pub(crate) fn write(&self, text: &mut Text<'_>) {
        match self {
            Build::Id(id) => id.iter().for_each(|byte| text.digits(u64::from(*byte), 16, 2)),
            Build::File { size, changed } => {
                text.byte(b's');
                text.decimal(*size);
                text.bytes(b"-m");
                text.decimal(*changed);
            }
        }
    }
}

/// A hash of bytes.
fn hash(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mix(bytes.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash.rotate_left(23) ^ u64::from_le_bytes(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to find a module agree, also with the file's own headers.
    #[test]
    fn modules_are_found_by_either_way() {
        prepare();
        let find = FIND_OBJECT.load(Ordering::Relaxed);
        for address in [modules_are_found_by_either_way as *const () as usize, libc::getpid as *const () as usize] {
            let listed = by_iteration(address).unwrap();
            if !find.is_null() {
                let found = by_look_up(find, address).unwrap();
                assert_eq!((found.base, found.tables, found.hash()), (listed.base, listed.tables, listed.hash()));
            }
            let at_hand = module_of(address).unwrap();
            assert!(matches!(at_hand.build(), Build::Id(id) if id.len() >= 8), "no build id");
        }
        assert!(by_iteration(16).is_none() && module_of(16).is_none());
    }
}
