//! The keys and candidate names that this crate's own stores can hold.

use crate::{Error, ErrorKind, Result};

/// The longest key or name, in bytes: an arbitrary bound. NATS and etcd take less or more.
const LONGEST: usize = 1024;

/// Refuses a text that is empty, longer than 1024 bytes, or holds control characters, which would
/// garble a log. `what` names it in the error.
pub(crate) fn check(what: &str, text: &str) -> Result<()> {
    let fault = if text.is_empty() {
        "is empty; give it at least one character".to_owned()
    } else if text.len() > LONGEST {
        format!("is {} bytes long; the limit is {LONGEST}", text.len())
    } else if let Some(control) = text.chars().find(|c| c.is_control()) {
        format!("{text:?} holds the control character {control:?}; leave it out")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidName, format!("the {what} {fault}")))
}
