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

    /// Mixes two words in with one multiplication.
    #[inline]
    #[must_use]
    pub const fn with_pair(self, one: u64, other: u64) -> Self {
        Self(fold(self.0 ^ one, other))
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

/// Two words as one: the halves of their product, with marks that keep zeros from being lost.
#[inline]
pub const fn fold(one: u64, other: u64) -> u64 {
    let product = (one ^ 0x2D35_8DCC_AA6C_78A5) as u128 * (other ^ 0x8BB8_4B93_962E_ACC9) as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn small_differences_make_different_hashes() {
        let mut seen = HashSet::new();
        for one in 0..300_u64 {
            for other in 0..300_u64 {
                let address = 0x7F00_1234_5000 + one * 16;
                assert!(seen.insert(Hash::new(1).with_pair(address, other * 2).finish()));
            }
        }
    }

    #[test]
    fn the_order_of_words_matters() {
        assert_ne!(fold(1, 2), fold(2, 1));
        let pairs = |first: u64, second: u64| {
            Hash::new(1)
                .with_pair(first, 7)
                .with_pair(second, 7)
                .finish()
        };
        assert_ne!(pairs(1, 2), pairs(2, 1));
    }
}
