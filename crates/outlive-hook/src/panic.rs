//! The panic handler that must never be linked in.
//!
//! It calls a function that exists nowhere. If the optimiser can prove that no panic is reachable,
//! the handler is dropped and the library links; otherwise the linker names the missing symbol
//! (`-z defs` is set in `build.rs`). The absence of panics is thus shown by the build itself.

#![expect(unsafe_code, reason = "declares the symbol whose absence is the point")]

unsafe extern "C" {
    /// Defined nowhere.
    fn outlive_hook_contains_a_panic() -> !;
}

#[panic_handler]
fn on_panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never linked, so never called.
    unsafe { outlive_hook_contains_a_panic() }
}
