//! The facts that a record states in addition to its candidate: the campaign and the attempt that wrote it, and the
//! holder's term.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::text::{write_decimal, write_hex};
use crate::token::{Incarnation, Revision, Token};

/// A number [made](crate::campaign::draw) for one campaign from the operating system's random numbers. No two campaigns
/// share a nonce, not even in one process and election. If two share one after all, a campaign still recognises its own
/// records by its name and its attempts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u128);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, (self.0 >> 64) as u64)?;
        write_hex(f, self.0 as u64)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of one write of a campaign. It grows, and is never reused under one nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attempt(pub u64);

/// The campaign and the attempt that wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WriteId {
    /// The campaign.
    pub nonce: Nonce,
    /// The attempt.
    pub attempt: Attempt,
}

/// The text of a write id in a header. Its width is constant up to ten thousand million attempts, so no renewal is
/// longer than the record that it replaces; a full store would refuse a longer one.
impl fmt::Display for WriteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.nonce)?;
        write_decimal(f, self.attempt.0, 10)
    }
}

impl FromStr for WriteId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (nonce, attempt) = text.split_once('.').ok_or(())?;
        if nonce.len() != 32 {
            return Err(());
        }
        // In halves, because numbers of 128 bits are multiplied slowly.
        let (high, low) = nonce.split_at_checked(16).ok_or(())?;
        if !low.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        let half = |digits| u64::from_str_radix(digits, 16).map(u128::from).map_err(drop);
        Ok(Self {
            nonce: Nonce(half(high)? << 64 | half(low)?),
            attempt: Attempt(attempt.parse().map_err(drop)?),
        })
    }
}

/// What a holder states about its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TermInfo {
    /// The term's fencing token.
    pub token: Token,
    /// How long the holder had led when it sent this record; `None` if its win had not been reported yet.
    pub led_for: Option<Duration>,
}

impl TermInfo {
    /// The term information of an acquire. Its sequence is zero, which is no revision, because the acquire's own
    /// revision will be the token's sequence.
    pub(crate) fn of_acquire(incarnation: Incarnation) -> Self {
        Self { token: Token { incarnation, sequence: Revision(0) }, led_for: None }
    }

    /// Fills in the record's revision if the record is the acquire itself.
    pub(super) fn made_at(self, revision: Revision) -> Self {
        let sequence = if self.token.sequence == Revision(0) { revision } else { self.token.sequence };
        Self { token: Token { sequence, ..self.token }, ..self }
    }
}

/// The text of term information in a header. It has a constant width, like the [`WriteId`](super::WriteId).
impl fmt::Display for TermInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.token)?;
        match self.led_for {
            Some(led_for) => write_decimal(f, u64::try_from(led_for.as_millis()).unwrap_or(u64::MAX), 13),
            None => f.write_str("-------------"),
        }
    }
}

impl FromStr for TermInfo {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (token, led_for) = text.split_once(' ').ok_or(())?;
        let is_told = !led_for.bytes().all(|byte| byte == b'-');
        let led_for = is_told.then(|| led_for.parse().map(Duration::from_millis)).transpose();
        Ok(Self { token: token.parse().map_err(drop)?, led_for: led_for.map_err(drop)? })
    }
}
