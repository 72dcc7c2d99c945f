//! The texts of a store's settings that select its elections. Two candidates whose texts differ are in different
//! elections.
//!
//! Each store lists its texts. This module checks them, wherever the settings came from.

use std::borrow::Cow;

use incumbent_core::selector;

use crate::error::{Error, ErrorKind, Result};

/// A text, and the name of its setting.
pub type Selector<'a> = (&'static str, Cow<'a, str>);

/// Refuses a text that looks like another: a text with a control character or with surrounding white space.
pub fn check<'a>(kind: ErrorKind, texts: impl IntoIterator<Item = Selector<'a>>) -> Result<()> {
    texts.into_iter().try_for_each(|(setting, text)| {
        selector::check(setting, &text).map_err(|refused| Error::refused(kind, refused))
    })
}

/// Refuses a URL with a control character, or with white space or quotes around it. The URL may hold a password, so the
/// message quotes only that character.
pub fn check_url(url: &str) -> Result<()> {
    let invalid = |message: String| Err(Error::new(ErrorKind::InvalidUrl, message));
    if let Some(unseen) = selector::unseen(url) {
        let place = match (url.starts_with(unseen), url.ends_with(unseen)) {
            (_, true) => "ends in",
            (true, false) => "begins with",
            (false, false) => "has",
        };
        let advice = selector::remedy(unseen);
        return invalid(format!("the store's URL {place} the character {unseen:?}: {advice}"));
    }
    if selector::unquoted(url).is_some() {
        return invalid(
            "the store's URL is in quotes, which were kept as a part of it; remove them (`docker --env-file` keeps quotes)"
                .into(),
        );
    }
    Ok(())
}

/// Returns nothing for an empty text, which selects the default.
pub fn named<'a>(setting: &'static str, text: impl Into<Cow<'a, str>>) -> impl Iterator<Item = Selector<'a>> {
    Some((setting, text.into())).filter(|(_, text)| !text.is_empty()).into_iter()
}
