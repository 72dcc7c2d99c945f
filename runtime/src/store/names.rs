//! Which keys and candidate names the stores of this crate's own making hold.

use crate::{Error, ErrorKind, Result};

/// The longest key or name, in bytes. NATS and etcd take less or more; these stores need only
/// some bound.
const LONGEST: usize = 1024;

/// Refuses what could not be told from nothing, or would garble a log: `what` is empty, longer than
/// 1024 bytes, or holds control characters.
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
