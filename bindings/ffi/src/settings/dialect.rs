//! How a language writes settings: their names, and lengths of time.

use std::borrow::Cow;

use incumbent::text::Names;

/// How a language writes settings. Every message uses its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The unit of a number without one.
    pub unit: Unit,
    /// The accepted lengths of time, for messages: `a number of seconds or a timedelta`.
    pub lengths: &'static str,
    /// The form of the names of settings.
    pub names: Names,
    /// The settings of a campaign that only this language has.
    pub own: &'static [&'static str],
}

/// The unit of a number without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

impl Dialect {
    /// Python's.
    pub const PYTHON: Self = Self {
        unit: Unit::Seconds,
        lengths: "a number of seconds or a timedelta",
        names: Names::Python,
        own: &[DRAIN_TIME],
    };
    /// Node's spelling. JavaScript itself reads some settings of a campaign.
    pub const NODE: Self = Self {
        unit: Unit::Milliseconds,
        lengths: "a number of milliseconds",
        names: Names::Node,
        own: &[DRAIN_TIME, "error_ends_term", "watch_loop", "signal", "timeout"],
    };
    /// Kotlin's and Java's. Times come as values with a unit, so no bare number is read.
    pub const KOTLIN: Self =
        Self { unit: Unit::Seconds, lengths: "a duration", names: Names::Kotlin, own: &[] };
    /// Swift's, which reads what Kotlin's does.
    pub const SWIFT: Self = Self { names: Names::Swift, ..Self::KOTLIN };

    /// The name of a setting as this language writes it.
    pub fn spell(&self, name: &'static str) -> Cow<'static, str> {
        self.names.spell(name)
    }

    /// The name under which a setting comes from this language.
    pub(super) fn key(&self, name: &'static str) -> Cow<'static, str> {
        match self.names {
            Names::Node => self.names.spell(name),
            _ => name.into(),
        }
    }
}

/// The time of a drain, in a language whose `drain` may also be a function.
pub(super) const DRAIN_TIME: &str = "drain_time";
