//! I4.

use incumbent_core::Token;
use incumbent_core::campaign::Term;

pub(super) const STATES: &str = "Every term's token is larger than that of every term told before.";

pub(super) fn won(told: Option<Token>, term: Term) -> Result<(), String> {
    match told {
        Some(told) if term.token <= told => Err(format!("won {} after {told}", term.token)),
        _ => Ok(()),
    }
}
