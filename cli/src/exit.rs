//! Exit codes: part of the interface, and listed in `--help`.

use incumbent::ErrorKind;
use serde::{Deserialize, Serialize};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done = 0,
    /// It did not; for `demo`, there were two leaders at once, or none ever; for `sim`, an invariant does not
    /// hold.
    Failure = 1,
    /// The command line, a URL or a name cannot be.
    Usage = 2,
    /// The store does not answer.
    Unreachable = 3,
    /// A setting is refused, or the store is set up so that an election would be unsafe.
    Refused = 4,
    /// The bucket or file does not exist.
    NotFound = 5,
    /// The store does not let us in, or the credentials cannot be read.
    Denied = 6,
    /// The store is there and cannot serve.
    Broken = 7,
    /// The candidate was not elected in the time it was given.
    NotElected = 8,
    /// The work of a leader could not be ended: nobody knows what goes on.
    Inconsistent = 9,
}

/// The end of `--help`: where settings come from, and what the exit codes mean.
pub(crate) const HELP: &str = "\
Settings:
  Every option that is no act is a setting. --lease 5s is the variable INCUMBENT_LEASE=5s, and the
  line lease = \"5s\" of incumbent.toml: for every command that has such an option, or for one
  command in a table of its name, [run]. A flag counts before the environment, and that before the
  file. INCUMBENT_CONFIG or --config names another file, INCUMBENT_LOG says what to log.

Exit codes:
  0  done
  1  failed; for demo: two leaders at once, or nobody ever led; for sim: an invariant does not hold;
     for hand-over: the successor does not hold the seat
  2  the command line, a URL, a key or a name cannot be
  3  the store does not answer (with --fail-fast)
  4  a setting is refused, or the store is not safe for an election, or not as asked for
  5  the bucket or file does not exist; `incumbent init` makes it
  6  not allowed, or the credentials cannot be read
  7  the store is there and cannot serve: full, locked or damaged
  8  not elected in time (run --wait)
  9  a leader's work could not be ended (run --on-lost): look before you start it again
`run` passes on the exit code of its command.";

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidUrl | ErrorKind::InvalidName => Self::Usage,
            ErrorKind::Unreachable => Self::Unreachable,
            ErrorKind::InvalidSetting | ErrorKind::UnsafeStore | ErrorKind::Unsupported => Self::Refused,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Denied | ErrorKind::Credentials => Self::Denied,
            ErrorKind::Broken => Self::Broken,
            ErrorKind::Closed | ErrorKind::Forked | ErrorKind::NotLeader => Self::Failure,
        }
    }
}
