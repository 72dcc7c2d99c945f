//! The steps that a win needs.

use core::fmt;

/// A step of a proof, or any other step that a win needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The store is inspected, to learn its incarnation or topic.
    Inspect,
    /// The claim is read.
    Read,
    /// A lease is kept alive, by the server that answers the read.
    KeepAlive,
    /// A record is appended.
    Append,
    /// An appended record is read back.
    ReadBack,
    /// An offset is committed. Only a member can commit, so this step cannot be probed.
    Commit,
}

impl Step {
    const ALL: [Self; 6] =
        [Self::Inspect, Self::Read, Self::KeepAlive, Self::Append, Self::ReadBack, Self::Commit];
}

/// Worded to follow "cannot".
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inspect => "inspect the store",
            Self::Read => "read its claim",
            Self::KeepAlive => "keep its lease alive",
            Self::Append => "append a record",
            Self::ReadBack => "read its own record back",
            Self::Commit => "commit an offset",
        })
    }
}

/// A set of steps.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Steps(u8);

impl Steps {
    /// Whether no step is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `step` is in the set.
    pub const fn contains(self, step: Step) -> bool {
        self.0 & Self::bit(step) != 0
    }

    /// The steps of the set, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Step> {
        Step::ALL.into_iter().filter(move |step| self.contains(*step))
    }

    const fn bit(step: Step) -> u8 {
        1 << step as u8
    }

    pub(super) fn insert(&mut self, step: Step) {
        self.0 |= Self::bit(step);
    }

    pub(super) fn remove(&mut self, step: Step) {
        self.0 &= !Self::bit(step);
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        let mut set = Self::default();
        steps.into_iter().for_each(|step| set.insert(step));
        set
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { " or " })?;
            write!(f, "{step}")?;
        }
        Ok(())
    }
}
