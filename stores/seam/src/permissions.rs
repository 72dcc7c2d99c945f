//! The permissions that a user of a store needs.

use serde_json::Value;

/// A user's part in the elections of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Takes part in elections.
    Candidate,
    /// Reads only: `status`, `observe`, `doctor`.
    Observer,
    /// Prepares the store, asks leaders to hand over, evicts them, accepts that tokens start again.
    Operator,
}

/// The permissions of a user, in the form that the store's own tools accept.
#[derive(Clone, Debug, PartialEq)]
pub struct Permissions {
    /// A part of the server's configuration, or the commands that give the permissions.
    pub lines: Vec<String>,
    /// The same for programs.
    pub json: Value,
}
