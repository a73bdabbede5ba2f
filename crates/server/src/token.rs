//! The token without which nobody reads results.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::problem::{Error, MIN_TOKEN, Result};

/// A secret that the aggregator has.
#[derive(Clone)]
pub struct Token {
    text: String,
    /// A key of this process, so that how long a comparison takes says nothing about the token.
    key: [u8; 32],
}

impl Token {
    /// A new one: 128 random bits.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn random() -> Result<Self> {
        let text = random::<16>()?.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        Token::of(text)
    }

    /// The one in a file, for services that share a token.
    ///
    /// # Errors
    /// The file cannot be read, or its token could be guessed.
    pub fn read(file: &Path) -> Result<Self> {
        let name = || file.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).map_err(|error| Error::File { file: name(), error })?;
        let text = text.trim();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        match text.len() >= MIN_TOKEN && text.chars().all(allowed) {
            true => Token::of(text.to_owned()),
            false => Err(Error::Token { file: name() }),
        }
    }

    fn of(text: String) -> Result<Self> {
        Ok(Token { text, key: random()? })
    }

    /// The token itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether somebody has the token. The time that this takes does not depend on how much of it is right: hashes are compared, under a key that nobody knows,
    /// and all of their bytes.
    pub fn is(&self, given: &str) -> bool {
        let hash = |text: &str| Sha256::new().chain_update(self.key).chain_update(text).finalize();
        let differences = hash(&self.text).iter().zip(hash(given)).fold(0, |all, (l, r)| all | (l ^ r));
        std::hint::black_box(differences) == 0
    }
}

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(|error| Error::System(error.into()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        assert_eq!(text.len(), 32);
        assert!(token.is(&text) && token.clone().is(&text));
        for wrong in ["", &text[..31], &format!("{text}0"), &text.to_uppercase().replace('0', "O")] {
            assert!(!token.is(wrong) || wrong == text);
        }
        assert_ne!(Token::random().unwrap().text(), text);
    }

    #[test]
    fn a_token_that_could_be_guessed_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        for (text, good) in [
            ("secret", false),
            ("", false),
            ("0123456789abcdef 0123456789", false),
            ("0123456789abcdef-0123\n", true),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(Token::read(&file).is_ok(), good, "{text}");
        }
    }
}
