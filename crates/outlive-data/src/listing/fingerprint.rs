//! A number that stands for everything it was fed, the same in every run: FNV-1a of 128 bits.

const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Tells one listing from another. It guards against mistakes, not against an enemy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(START)
    }
}

impl Fingerprint {
    /// Takes in bytes, and where they end.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes
            .iter()
            .copied()
            .chain((bytes.len() as u64).to_le_bytes())
        {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }

    /// The number.
    pub fn value(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn it_is_the_same_in_every_run_and_knows_where_pieces_end() {
        let of = |pieces: &[&str]| {
            let mut fingerprint = Fingerprint::default();
            for piece in pieces {
                fingerprint.add(piece.as_bytes());
            }
            fingerprint.value()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["a"]), of(&["a"]));
        assert_eq!(
            format!("{:032x}", of(&["a"])),
            "19c3dbf8e5061a5c61631051cd9ca0c5"
        );
    }
}
