//! The secret in the address. Other users of the machine can reach the port, and pages of other
//! sites can make a browser ask it; neither knows these 128 bits.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Letters of a token.
pub(super) const LENGTH: usize = 32;

/// A secret, as it stands in addresses.
#[derive(Clone)]
pub(super) struct Token([u8; LENGTH]);

impl Token {
    /// A new one, from the system.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; LENGTH / 2];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += getrandom(rest, GetRandomFlags::empty())?;
        }
        let mut letters = [0; LENGTH];
        for (pair, byte) in letters.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        Ok(Self(letters))
    }

    /// Whether a text is the token. How long it takes says nothing about how much of it is right.
    pub(super) fn is(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let difference = |all: u8, (one, other): (&u8, &u8)| all | (one ^ other);
        let different = self.0.iter().zip(text).fold(0, difference);
        text.len() == LENGTH && std::hint::black_box(different) == 0
    }

    /// As it is written.
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A token is not for logs.
impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

fn digit(value: u8) -> u8 {
    match value {
        0..=9 => b'0' + value,
        _ => b'a' + value - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        assert!(text.len() == LENGTH && text.bytes().all(|letter| letter.is_ascii_hexdigit()));
        assert!(token.is(&text));
        assert!(!token.is(&text[1..]) && !token.is("") && !token.is(&format!("{text}0")));
        assert!(!token.is(Token::random().unwrap().text()));
    }
}
