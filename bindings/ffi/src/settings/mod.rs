//! Settings as plain maps, and what is refused about them.
//!
//! A language hands over names and values as its users wrote them. A name that does not exist is refused
//! with the one that was probably meant, a value of the wrong kind with what the field accepts. Whether the
//! values fit together, and to the store, is decided further down, where it is for everybody.

mod campaign;
mod fields;
mod store;

use std::time::Duration;

pub use campaign::{CAMPAIGN, Campaign, LoopWatch, campaign, loop_watch};
pub use store::{Opening, opening, parameters};

/// A value as a language gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: the default is meant.
    Nothing,
    /// True or false.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A length of time, where the language has a type for it.
    Time(Duration),
    /// Several values.
    List(Vec<Value>),
    /// Named values.
    Map(Map),
    /// Something else, as the language shows it.
    Other(String),
}

/// Named values, in the order in which they were given.
pub type Map = Vec<(String, Value)>;

/// How a language speaks of lengths of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What a bare number counts.
    pub unit: Unit,
    /// What is accepted as a length of time, for messages: `a number of seconds or a timedelta`.
    pub lengths: &'static str,
}

/// What a bare number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}
