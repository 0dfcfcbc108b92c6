//! A look at the calling thread's stack, for addresses of code.

#![expect(unsafe_code, reason = "reads the words of the calling thread's stack")]

/// How many words are looked at: some ten calls of C++ code.
const WORDS: usize = 512;

/// Whether any of the nearest words on the stack is an address of code that `is_it` knows.
///
/// Words that are left over from earlier calls are seen too. So this is good for a question whose
/// false "yes" costs little.
pub fn any_caller(mut is_it: impl FnMut(usize) -> bool) -> bool {
    let marker = 0_usize;
    let here = core::hint::black_box(&raw const marker);
    (0..WORDS).any(|index| {
        // SAFETY: the stack grows downwards, and the main loop of an interpreter or of a thread
        // needs far more than these words, so all of them belong to it.
        let word = unsafe { here.wrapping_add(index).read_volatile() };
        // Neither null nor small numbers are code.
        word > 1 << 20 && is_it(word)
    })
}
