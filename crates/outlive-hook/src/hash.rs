//! Mixing of words into 64-bit hashes: fast, well spread, not cryptographic.

/// A hash under construction.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u64);

impl Hash {
    /// Starts with a seed that tells the users of hashes apart.
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// Mixes a word in.
    #[inline]
    #[must_use]
    pub const fn with(self, word: u64) -> Self {
        let mixed = (self.0 ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Self(mixed ^ (mixed >> 32))
    }

    /// Mixes bytes in.
    #[must_use]
    pub fn with_bytes(self, bytes: &[u8]) -> Self {
        let mut hash = self.with(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = 0_u64;
            for &byte in chunk {
                word = (word << 8) | u64::from(byte);
            }
            hash = hash.with(word);
        }
        hash
    }

    /// The value.
    #[inline]
    pub const fn finish(self) -> u64 {
        let mixed = self.0.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ (mixed >> 29)
    }
}
