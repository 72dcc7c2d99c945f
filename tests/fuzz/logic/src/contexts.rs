//! Contexts as the `nats` tool stores them: any file, and no password is shown.

use incumbent::fuzzing;

use crate::secret::{self, SLOT};

/// The beginnings of the fields with secrets.
const HIDDEN: [&str; 4] = ["\"password\":\"", "\"token\":\"", "\"user_jwt\":\"", "\"user_seed\":\""];
const URL: &str = "\"url\":\"";

/// The fuzz target: a file, in which a byte of value 1 stands for a secret.
///
/// # Panics
/// Where a secret is shown.
pub fn run(bytes: &[u8]) {
    let show = |bytes: &[u8]| secret::seen(&fuzzing::context(bytes));
    match std::str::from_utf8(bytes) {
        Ok(text) if is_hidden(text) => secret::check(text, |text| show(text.as_bytes())),
        _ => drop(show(bytes)),
    }
}

/// Whether the only slot is in the text of a secret field, or in a password in a URL.
fn is_hidden(text: &str) -> bool {
    let Some((before, after)) = secret::around(text) else { return false };
    let Some(quote) = before.rfind('"') else { return false };
    let (field, start) = before.split_at(quote + 1);
    let end = after.split('"').next().unwrap_or_default();
    if start.contains('\\') || end.contains('\\') {
        return false;
    }
    let is_secret = HIDDEN.iter().any(|name| field.ends_with(name));
    is_secret || (field.ends_with(URL) && secret::is_in_user_info(&format!("{start}{SLOT}{end}")))
}
