//! Stores by URL, and lists of servers: any text may be written there, and no password is shown.

use incumbent::ErrorKind;
use incumbent::store::StoreSettings;
use incumbent::store::nats::NatsSettings;

use crate::secret;

/// The fuzz target: a text, in which a byte of value 1 stands for a secret.
///
/// # Panics
/// Where a secret is shown, or an error is of another kind than a URL's.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let of_url = |text: &str| {
        let result = text.parse::<StoreSettings>();
        check_kind(result.as_ref().err().map(incumbent::Error::kind));
        secret::seen(&result)
    };
    let of_list = |text: &str| {
        let result = NatsSettings::new(text, "b");
        check_kind(result.as_ref().err().map(incumbent::Error::kind));
        secret::seen(&result)
    };
    if is_hidden_in_url(text) {
        secret::check(text, of_url);
    } else {
        of_url(text);
    }
    if secret::is_in_user_info(text) {
        secret::check(text, of_list);
    } else {
        of_list(text);
    }
}

fn check_kind(kind: Option<ErrorKind>) {
    // A URL may name a context, and none exists here.
    let known = [ErrorKind::InvalidUrl, ErrorKind::InvalidName, ErrorKind::Authentication];
    assert!(kind.is_none_or(|kind| known.contains(&kind)), "{kind:?}");
}

/// Whether the only slot is where the URL of a server has a password or a token.
fn is_hidden_in_url(text: &str) -> bool {
    let shown_as_they_are = ["sqlite:", "memory:"].iter().any(|scheme| text.starts_with(scheme));
    !shown_as_they_are && (secret::is_in_user_info(text) || is_token(text))
}

/// Whether the slot is the value of the parameter `token`.
fn is_token(text: &str) -> bool {
    let Some((before, _)) = secret::around(text) else { return false };
    let Some((place, query)) = before.split_once('?') else { return false };
    query.rsplit('&').next() == Some("token=") && !place.contains('#')
}
