//! The values that a caller gave, so that an error can show them as they were written.

use std::fmt;

use incumbent::text::{Part, Text};

use super::Value;
use super::fields::shown;
use super::names::Kind;
use crate::Error;

/// The settings that a caller gave.
#[derive(Clone, Default)]
pub(crate) struct Given {
    pub(super) values: Vec<(&'static str, Value)>,
    /// The parameters in the URL, by the names that the URL uses.
    pub(super) in_url: Vec<&'static str>,
}

impl Given {
    /// The given settings, with the names of the parameters in `url`.
    pub(super) fn with_url(self, url: &str, kinds: &[(&'static str, Kind)]) -> Self {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let held = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
        let in_url = kinds.iter().map(|(name, _)| *name).filter(|name| held(name)).collect();
        Self { in_url, ..self }
    }

    /// The error as its caller should read it: it shows the refused value as the caller wrote it, and names from the
    /// URL as the URL spells them.
    pub(crate) fn shown_in(&self, error: incumbent::Error) -> Error {
        let as_given = error.refusal().and_then(|refusal| {
            let (_, value) = self.values.iter().find(|(name, _)| *name == refusal.setting)?;
            Some(refusal.text(&as_given(value, &refusal.value)?))
        });
        let error = Error::from(error);
        let text = as_given.unwrap_or(error.text);
        Error { text: self.with_names_of_the_url(text), ..error }
    }

    fn with_names_of_the_url(&self, text: Text) -> Text {
        if self.in_url.is_empty() {
            return text;
        }
        text.parts().fold(Text::default(), |text, part| match part {
            Part::Setting(name) if !self.in_url.contains(&name) => text.and(Text::setting(name)),
            Part::Init(with) => text.and(Text::init(with)),
            Part::Setting(words) | Part::Words(words) => text.and(words),
        })
    }
}

/// A value as the caller wrote it, if that is clearer than the parsed value, unlike a bare number without a unit.
fn as_given(value: &Value, read: &str) -> Option<String> {
    match value {
        Value::Text(_) => Some(shown(value)),
        Value::Number(_) => {
            Some(shown(value)).filter(|given| given != read).map(|given| format!("{given} ({read})"))
        }
        _ => None,
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A value may be a secret.
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}
