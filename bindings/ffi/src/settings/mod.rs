//! Settings as plain maps, and the errors about them.
//!
//! A language hands over names and values as its users wrote them. An unknown name is refused with the one that was
//! probably meant, and a value of the wrong kind with what the field accepts. The crate `incumbent` checks whether the
//! values fit together and fit the store, for all languages.

mod campaign;
mod fields;
mod init;
mod names;
mod store;

use std::time::Duration;

pub use campaign::{Campaign, LoopWatch, campaign, loop_watch};
pub use init::{Init, init};
pub use names::{CAMPAIGN, INIT};
pub use store::{Opening, opening, parameters};

/// A value as a language passes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, for the default.
    Nothing,
    /// True or false.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A length of time, where the language has a type for it.
    Time(Duration),
    /// A list of values.
    List(Vec<Value>),
    /// A map of named values.
    Map(Map),
    /// Another kind, as the language prints it.
    Other(String),
}

/// Named values, in the caller's order.
pub type Map = Vec<(String, Value)>;

/// The way in which a language writes lengths of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The unit of a bare number.
    pub unit: Unit,
    /// The accepted lengths of time, for messages: `a number of seconds or a timedelta`.
    pub lengths: &'static str,
}

/// The unit of a bare number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}
