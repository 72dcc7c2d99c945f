//! How a language writes settings: their names, and lengths of time.

use std::borrow::Cow;

use super::names;

/// How a language writes settings. Every name of a setting in a message is spelled here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The unit of a bare number.
    pub unit: Unit,
    /// The accepted lengths of time, for messages: `a number of seconds or a timedelta`.
    pub lengths: &'static str,
    /// How the names of settings are written.
    pub names: Names,
    /// The settings of a campaign that only this language has.
    pub own: &'static [&'static str],
}

/// The unit of a bare number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// How a language writes the names of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// As the schema does: `win_delay`.
    Schema,
    /// In camel case, and settings come under these names: `winDelay`.
    Camel,
    /// Properties in camel case, which come under the schema's names. The parameters of a URL keep the names that they have
    /// in the URL.
    Properties,
}

impl Dialect {
    /// Python's.
    pub const PYTHON: Self = Self {
        unit: Unit::Seconds,
        lengths: "a number of seconds or a timedelta",
        names: Names::Schema,
        own: &[DRAIN_TIME],
    };
    /// Node's. It reads some settings of a campaign in JavaScript.
    pub const NODE: Self = Self {
        unit: Unit::Milliseconds,
        lengths: "a number of milliseconds",
        names: Names::Camel,
        own: &[DRAIN_TIME, "error_ends_term", "watch_loop", "signal", "timeout"],
    };
    /// That of Kotlin, Java and Swift. Times come as values with a unit, so no bare number is read.
    pub const KOTLIN_AND_SWIFT: Self =
        Self { unit: Unit::Seconds, lengths: "a length of time", names: Names::Properties, own: &[] };

    /// The name of a setting as this language writes it.
    pub fn spell(&self, name: &'static str) -> Cow<'static, str> {
        match self.names {
            Names::Schema => name.into(),
            Names::Camel => camel(name),
            Names::Properties if name == "watch_loop" => "watchLimit".into(),
            Names::Properties if names::is_parameter(name) => name.into(),
            Names::Properties => camel(name),
        }
    }

    /// The name under which a setting comes from this language.
    pub(super) fn key(&self, name: &'static str) -> Cow<'static, str> {
        match self.names {
            Names::Schema | Names::Properties => name.into(),
            Names::Camel => camel(name),
        }
    }
}

/// The time of `drain`, in a language where that may also be a function.
pub(super) const DRAIN_TIME: &str = "drain_time";

fn camel(name: &'static str) -> Cow<'static, str> {
    let mut words = name.split('_');
    let mut spelled = Cow::from(words.next().unwrap_or_default());
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        spelled.to_mut().push_str(&first.to_ascii_uppercase());
        spelled.to_mut().push_str(rest);
    }
    spelled
}
