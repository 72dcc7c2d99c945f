//! The claim of a holder: its term.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::token::{Incarnation, Revision, Token};

/// The statement of a holder about its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The term's fencing token.
    pub token: Token,
    /// How long it had led when it sent this record; `None` where its win was not reported yet.
    pub led_for: Option<Duration>,
}

impl Claim {
    /// The claim of an acquire: its own revision is to be the token's sequence, and no revision is zero.
    pub(crate) fn of_acquire(incarnation: Incarnation) -> Self {
        Self { token: Token { incarnation, sequence: Revision(0) }, led_for: None }
    }

    /// With the revision it was made at, where it is that of the acquire.
    pub(super) fn made_at(self, revision: Revision) -> Self {
        let sequence = if self.token.sequence == Revision(0) { revision } else { self.token.sequence };
        Self { token: Token { sequence, ..self.token }, ..self }
    }
}

/// As a header has it; of one width, as the [`Stamp`](super::Stamp) is.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.led_for {
            Some(led_for) => write!(f, "{} {:013}", self.token, led_for.as_millis()),
            None => write!(f, "{} {:->13}", self.token, ""),
        }
    }
}

impl FromStr for Claim {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (token, led_for) = text.split_once(' ').ok_or(())?;
        let is_told = !led_for.bytes().all(|byte| byte == b'-');
        let led_for = is_told.then(|| led_for.parse().map(Duration::from_millis)).transpose();
        Ok(Self { token: token.parse().map_err(drop)?, led_for: led_for.map_err(drop)? })
    }
}
