//! Tells the C library to give memory back. By itself it keeps large blocks for the thread that
//! freed them, and every thread that decodes would keep what the largest image so far took: beyond
//! the budget, and times the number of threads.
#![expect(unsafe_code, reason = "the C library alone can be told")]

/// Blocks of this many bytes and more go back to the system when they are freed. Smaller ones cost
/// more time to ask for than they take room.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 256 << 10;
/// What each thread may keep of the smaller ones: enough for one image after another of the usual
/// size. Giving that back after each took a twentieth of the time of a sheet of thumbnails.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 512 << 10;

/// From here on large blocks are given back when they are freed.
pub(crate) fn give_large_blocks_back() {
    // SAFETY: `mallopt` takes two numbers by value and changes a setting of the allocator under the
    // allocator's own lock. A number that it does not take is answered with 0, and nothing changes.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}
