//! Settings as plain maps, and the errors about them.
//!
//! A language hands over names and values as its users wrote them. The error for an unknown name suggests the name that
//! was probably meant; the error for a value of the wrong kind lists what the field accepts. The crate `incumbent`
//! checks whether the values fit together and fit the store, for all languages.

mod campaign;
mod dialect;
mod fields;
mod given;
mod init;
mod names;
#[rustfmt::skip]
mod refusals;
mod store;

use std::time::Duration;

pub use campaign::{Campaign, LoopWatch, campaign, loop_watch};
pub use dialect::{Dialect, Unit};
pub(crate) use given::Given;
pub use init::{Init, init};
pub use names::CAMPAIGN;
pub use store::{Opening, opening};

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
    /// A length of time, if the language has a type for it.
    Time(Duration),
    /// A list of values.
    List(Vec<Value>),
    /// A map of named values.
    Map(Map),
    /// A value of any other kind, as the language prints it.
    Other(String),
}

/// Named values, in the caller's order.
pub type Map = Vec<(String, Value)>;
