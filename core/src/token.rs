//! Fencing tokens.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::text::write_hex;

/// Identifies one creation of a store. Revisions are compared only within one incarnation.
///
/// A store that is deleted and recreated numbers its revisions from the start. The incarnation tells the two stores
/// apart, and later incarnations are larger. On NATS it is the creation time of the bucket's stream, in nanoseconds
/// since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Incarnation(pub u64);

/// The number a store gives to one applied write; it grows with every write to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

/// A fencing token: constant for one term, strictly larger for every later term of the election.
///
/// Send it with every request that the leader makes, and let the resource refuse a token smaller than the largest it
/// has seen. Then even a leader that was paused in the middle of a request does no harm (M. Kleppmann, "How to do
/// distributed locking", 2016).
///
/// As text it is 33 characters long, `incarnation-sequence` in hexadecimal, and sorts as the pair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The incarnation of the store in which the term was won.
    pub incarnation: Incarnation,
    /// The revision of the write that won the term.
    pub sequence: Revision,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.incarnation.0)?;
        f.write_str("-")?;
        write_hex(f, self.sequence.0)
    }
}

/// A text that is not a fencing token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTokenError(pub String);

impl fmt::Display for ParseTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a fencing token: expected 16 hexadecimal digits, '-', 16 more", self.0)
    }
}

impl core::error::Error for ParseTokenError {}

impl FromStr for Token {
    type Err = ParseTokenError;

    fn from_str(text: &str) -> Result<Self, ParseTokenError> {
        let part = |digits: &str| {
            let plain = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
        };
        text.split_once('-')
            .and_then(|(incarnation, sequence)| Some((part(incarnation)?, part(sequence)?)))
            .map(|(incarnation, sequence)| Self {
                incarnation: Incarnation(incarnation),
                sequence: Revision(sequence),
            })
            .ok_or_else(|| ParseTokenError(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn token(incarnation: u64, sequence: u64) -> Token {
        Token { incarnation: Incarnation(incarnation), sequence: Revision(sequence) }
    }

    #[test]
    fn text_sorts_as_the_pair_does() {
        let mut tokens = [token(2, 1), token(1, u64::MAX), token(1, 9), token(1, 10), token(u64::MAX, 0)];
        tokens.sort();
        let mut texts = tokens.map(|t| t.to_string());
        texts.sort();
        assert_eq!(texts, tokens.map(|t| t.to_string()));
    }

    #[test]
    fn text_is_of_fixed_width_and_reads_back() {
        for t in [token(0, 0), token(7, 42), token(u64::MAX, u64::MAX)] {
            assert_eq!(t.to_string().len(), 33);
            assert_eq!(t.to_string().parse(), Ok(t));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "-", "1-2", "+000000000000001-0000000000000002", "000000000000000100000000000000002"]
        {
            assert_eq!(text.parse::<Token>(), Err(ParseTokenError(text.into())));
        }
    }
}
