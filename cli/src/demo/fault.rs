//! The faults the demo makes.

use clap::ValueEnum;

/// A fault made while a candidate leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fault {
    Kill,
    Stop,
    Restart,
    HandOver,
    Delete,
    Overwrite,
}

impl Fault {
    pub(super) const ALL: [Self; 6] =
        [Self::Kill, Self::Stop, Self::Restart, Self::HandOver, Self::Delete, Self::Overwrite];

    /// Its name on the command line and in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::HandOver => "hand-over",
            Self::Delete => "delete",
            Self::Overwrite => "overwrite",
        }
    }

    /// Whether the successor observes it at once; after the other faults a lease passes first.
    pub(super) const fn is_quick(self) -> bool {
        matches!(self, Self::Restart | Self::HandOver)
    }

    /// Whether it can be made only to a process.
    pub(super) const fn needs_process(self) -> bool {
        matches!(self, Self::Kill | Self::Stop)
    }
}

/// What `--faults` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Choice {
    /// Every fault that can be made
    All,
    /// No fault
    None,
    /// Kill the leader's process (SIGKILL), and start it again
    Kill,
    /// Stop the leader's process for longer than its lease (SIGSTOP), and let it go on
    Stop,
    /// Let the leader leave in good order, and start it again
    Restart,
    /// Let the leader hand over to a candidate that is named
    HandOver,
    /// Delete the election's key, as an operator might
    Delete,
    /// Overwrite the election's key, as other software might
    Overwrite,
}

impl Choice {
    /// The fault of that name; none for `all` and `none`.
    pub(super) const fn fault(self) -> Option<Fault> {
        match self {
            Self::All | Self::None => None,
            Self::Kill => Some(Fault::Kill),
            Self::Stop => Some(Fault::Stop),
            Self::Restart => Some(Fault::Restart),
            Self::HandOver => Some(Fault::HandOver),
            Self::Delete => Some(Fault::Delete),
            Self::Overwrite => Some(Fault::Overwrite),
        }
    }
}
