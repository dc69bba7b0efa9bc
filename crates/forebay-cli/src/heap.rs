//! Limits the freed memory that the C library's allocator keeps, since all of it counts against the
//! budget.

/// Makes the allocator return large buffers (of HTTP connections, of measurements) to the system
/// once they are freed. By itself glibc takes the first such free as a sign of more, and from then
/// on keeps up to 64 MiB of them: a mount of an object store was 20 MiB over its budget. Call it
/// before threads are started.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        /// A buffer of this size or larger is a mapping of its own. This is glibc's initial value;
        /// setting it keeps glibc from raising it.
        const LARGE: libc::c_int = 128 << 10;
        /// Each of glibc's arenas keeps freed pieces for itself, and by default there are eight a
        /// processor.
        const ARENAS: libc::c_int = 2;
        // SAFETY: sets parameters of the allocator, which takes its own lock for that; refusal
        // changes nothing.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
            libc::mallopt(libc::M_ARENA_MAX, ARENAS);
        }
    }
}
