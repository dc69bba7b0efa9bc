//! The C library's functions behind ours, found when they are first needed.
//!
//! All of them are looked up when the library is loaded. Other libraries' constructors and an
//! allocator of the program's own may call before that: then one function is looked up on its own.
//! The look-up may end here again (the loader allocates, the allocator reads a file): then there is
//! no function yet.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the C library by its name.
pub(crate) struct Symbol {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

thread_local! {
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

impl Symbol {
    pub(crate) const fn new(name: &'static CStr) -> Symbol {
        Symbol { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address; null if there is none, or none yet.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.look_up() } else { address }
    }

    /// Looks for it behind this library. Not inlined, and not a tail call of `dlsym`: `RTLD_NEXT`
    /// counts from the address that `dlsym` returns to, and that must be in this library.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_up(&self) -> *mut c_void {
        LOOKING.with(|looking| {
            if looking.replace(true) {
                return std::ptr::null_mut();
            }
            // SAFETY: a look-up by name.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.address.store(found, Ordering::Relaxed);
            looking.set(false);
            found
        })
    }
}

/// Defines functions that take the place of the C library's. `here` is the program's place, `real`
/// calls the C library's function, and `or` is the answer if that isn't found.
macro_rules! interpose {
    ($($(#[$attribute:meta])* $name:ident($($arg:ident: $type:ty),*) -> $ret:ty, or $otherwise:expr, |$here:ident, $real:ident| $body:expr;)*) => {
        mod symbols {
            $(#[allow(non_upper_case_globals)]
            pub(super) static $name: $crate::real::Symbol = $crate::real::Symbol::new(
                match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
            );)*
        }

        /// Looks all of them up.
        pub(crate) fn prepare() {
            $(symbols::$name.look_up();)*
        }

        $($(#[$attribute])*
        /// # Safety
        /// Has the name of the C library's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub(crate) unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            let $here = $crate::unwind::here();
            let address = symbols::$name.address();
            if address.is_null() {
                return $otherwise;
            }
            // SAFETY: the C library's function of this name has this type.
            let function = unsafe {
                ::std::mem::transmute::<*mut ::std::ffi::c_void, unsafe extern "C-unwind" fn($($type),*) -> $ret>(address)
            };
            // SAFETY: called as the program called us.
            let $real = || unsafe { function($($arg),*) };
            $body
        })*
    };
}
pub(crate) use interpose;
