//! The parameters of a store's URL.

use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::error::{Error, ErrorKind, Result};
use crate::refusals;
use incumbent_core::text::Text;

/// The parameters of a URL. Each parameter is [taken](Query::take) by name, which also registers the name as known.
/// [`finish`](Query::finish) refuses parameters that were not taken.
pub struct Query {
    scheme: &'static str,
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Query {
    /// Reads the part after the `?` in a URL of this scheme.
    ///
    /// # Errors
    /// `InvalidUrl`.
    pub fn read(scheme: &'static str, text: &str) -> Result<Self> {
        let mut pairs = Vec::<(String, String)>::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(scheme, name)?, decode(scheme, value)?);
            if pairs.iter().any(|(other, _)| *other == name) {
                let name = if is_word(&name) { &name } else { "a parameter" };
                return Err(unfit(refusals::twice_in_url(scheme, name)));
            }
            pairs.push((name, value));
        }
        Ok(Self { scheme, pairs, known: Vec::new() })
    }

    /// Takes the text of a parameter, whose name counts as known from now on.
    pub fn take(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let index = self.pairs.iter().position(|(other, _)| other == name)?;
        Some(self.pairs.swap_remove(index).1)
    }

    /// Takes the parameters with a `.` in their name.
    pub fn take_dotted(&mut self) -> Vec<(String, String)> {
        self.pairs.extract_if(.., |(name, _)| name.contains('.')).collect()
    }

    /// Takes a parameter whose text must not be empty.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.take(name) {
            Some(value) if value.is_empty() => Err(unfit(refusals::empty_parameter(name, self.scheme))),
            value => Ok(value),
        }
    }

    /// Takes a parameter that is `true` or `false`.
    ///
    /// # Errors
    /// `InvalidUrl` for another text.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(unfit(refusals::flag_in_url(name, &value, self.scheme))),
        }
    }

    /// Takes a parameter that is a duration.
    ///
    /// # Errors
    /// `InvalidUrl` for another text.
    pub fn duration(&mut self, name: &'static str) -> Result<Option<Duration>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match duration(&value) {
            Some(duration) => Ok(Some(duration)),
            None => Err(unfit(refusals::length_in_url(name, &value, self.scheme))),
        }
    }

    /// Refuses parameters that are not known.
    ///
    /// # Errors
    /// `InvalidUrl`.
    pub fn finish(self) -> Result<()> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let known = self.known.join(", ");
        let name = if is_word(name) { format!(" {name:?}") } else { " of the name it gives".into() };
        Err(unfit(refusals::unknown_in_url(self.scheme, &name, &known)))
    }
}

/// Splits a URL without a host into the decoded part before its `?`, and the parameters after it.
///
/// # Errors
/// `InvalidUrl`.
pub fn split(scheme: &'static str, rest: &str) -> Result<(String, Query)> {
    if rest.contains('#') {
        return Err(invalid(format!("a {scheme}: URL has no part after #; write %23 for a # in it")));
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    Ok((decode(scheme, place)?, Query::read(scheme, query)?))
}

/// Returns true if a message can show this text as a misspelt scheme or parameter. Any other text may be part of a
/// password that was not percent-encoded.
pub fn is_word(text: &str) -> bool {
    text.len() <= 32 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+.".contains(&b))
}

/// Parses a duration in a URL: a whole number and its unit, `ms`, `s`, `m` or `h`. `None` for anything else.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(millis)?))
}

/// Decodes percent-encoding.
pub fn decode(scheme: &str, text: &str) -> Result<String> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|cause| {
        invalid(format!("the {scheme}: URL is not UTF-8 once its %XX are decoded")).caused_by(cause)
    })
}

/// The error for a refused parameter.
pub fn unfit(refused: Text) -> Error {
    Error::named(ErrorKind::InvalidUrl, refused)
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidUrl, message)
}
