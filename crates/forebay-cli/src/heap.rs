//! What the C library's allocator keeps of freed memory: little, since all of it counts against the
//! budget.

/// Has large buffers (of HTTP connections, of measurements) go back to the system once they are
/// freed. By itself glibc takes the first such free as a sign that more will come and from then on
/// keeps up to 64 MiB of them: a mount of an object store was 20 MiB over its budget. To be called
/// before threads are started.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        /// From this size on a buffer is a mapping of its own: glibc's initial value, which setting
        /// it keeps.
        const LARGE: libc::c_int = 128 << 10;
        /// Each of glibc's arenas keeps freed pieces for itself, and by itself there are eight a
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
