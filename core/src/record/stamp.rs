//! The stamp of a record: the campaign and the attempt that wrote it.

use core::fmt;
use core::str::FromStr;

/// A number [made](crate::campaign::draw) for one campaign of random numbers of the operating system; no two campaigns
/// share one, not even two of one process in one election. Where two do all the same, a campaign knows its own records by
/// its name and its attempts as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u128);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of one write of a campaign; it grows and is never used again under one nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attempt(pub u64);

/// The campaign and the attempt that wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The campaign.
    pub nonce: Nonce,
    /// Its attempt.
    pub attempt: Attempt,
}

/// As a header has it. Of one width up to ten thousand million attempts, so that no renewal is longer than the record it
/// replaces: a store that is full would refuse it.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:010}", self.nonce, self.attempt.0)
    }
}

impl FromStr for Stamp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (nonce, attempt) = text.split_once('.').ok_or(())?;
        if nonce.len() != 32 {
            return Err(());
        }
        Ok(Self {
            nonce: Nonce(u128::from_str_radix(nonce, 16).map_err(drop)?),
            attempt: Attempt(attempt.parse().map_err(drop)?),
        })
    }
}
