//! The names and formats of this crate's headers.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::time::Duration;

use super::fields::{TermInfo, WriteId};
use crate::token::Incarnation;

/// Header of every write: the campaign's nonce and the number of the attempt, `<nonce>.<attempt>`.
pub const NONCE: &str = "Incumbent-Nonce";
/// Header of a live record: the holder's lease time in milliseconds, or what is left of its win delay if that is
/// longer. Other candidates wait for this time from their first observation of the record. In a store without a maximum
/// age, this is also the header of an operator's deletion: the lease of the deleted record.
pub const LEASE: &str = "Incumbent-Lease";
/// Header of a live record: the fencing token of the holder's term, and for how many milliseconds the holder had led
/// when it wrote the record. It is for observers; no decision depends on it.
pub const TERM: &str = "Incumbent-Term";
/// Header of a release: the win delay still owed in milliseconds, and the store's incarnation.
pub const RELEASE: &str = "Incumbent-Release";
/// Header of a release that hands over: the name of the successor.
pub const SUCCESSOR: &str = "Incumbent-Successor";
/// The prefix of the headers of a leader's metadata.
pub const METADATA: &str = "Incumbent-Meta-";

/// Headers as a store carries them: pairs of a name and a value. The names that this crate defines are borrowed, not
/// copied.
pub type Headers = Vec<Header>;

/// One of them.
pub type Header = (Cow<'static, str>, String);

/// A leader's metadata: pairs of a key and a text.
pub type Metadata = Vec<(String, String)>;

/// The value of a header. Case is ignored when names are compared, so a header may appear twice, in any order.
pub(crate) enum HeaderValue<'a> {
    Missing,
    Once(&'a str),
    Ambiguous,
}

impl<'a> HeaderValue<'a> {
    pub(crate) fn add(&mut self, text: &'a str) {
        *self = match self {
            Self::Missing => Self::Once(text),
            Self::Once(before) if *before == text => return,
            _ => Self::Ambiguous,
        };
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match self {
            Self::Once(text) => Some(text),
            Self::Missing | Self::Ambiguous => None,
        }
    }
}

pub(super) fn parse_release(text: &str) -> Option<(Duration, Incarnation)> {
    let (owed, incarnation) = text.split_once(' ')?;
    Some((Duration::from_millis(owed.parse().ok()?), Incarnation(incarnation.parse().ok()?)))
}

pub(crate) fn metadata_key(name: &str) -> Option<&str> {
    let (prefix, key) = name.split_at_checked(METADATA.len())?;
    (prefix.eq_ignore_ascii_case(METADATA) && !key.is_empty()).then_some(key)
}

/// The headers of a live record. Its lease is rounded up to whole milliseconds, since other candidates wait for the
/// lease that the header states.
pub(crate) fn live_headers(
    write_id: WriteId,
    lease: Duration,
    term_info: TermInfo,
    metadata: &[(String, String)],
) -> Headers {
    let mut headers = Headers::with_capacity(3 + metadata.len());
    headers.extend(nonce_header(Some(write_id)));
    headers.push(lease_header(lease));
    headers.push(term_header(term_info));
    headers.extend(metadata.iter().map(metadata_header));
    headers
}

/// The headers of a release. The wait that it owes is rounded up to whole milliseconds.
pub(crate) fn release_headers(
    write_id: WriteId,
    owed: Duration,
    incarnation: Incarnation,
    successor: Option<&str>,
) -> Headers {
    let mut headers = Headers::with_capacity(3);
    headers.extend(nonce_header(Some(write_id)));
    headers.push(release_header(owed, incarnation));
    headers.extend(successor.map(successor_header));
    headers
}

/// The headers of an operator's deletion in a store without a maximum age. `lease` is the deleted record's lease. It is
/// rounded up to whole milliseconds, since the successor waits for it.
pub fn deletion_headers(lease: Duration) -> Headers {
    Headers::from([lease_header(lease)])
}

pub(super) fn nonce_header(write_id: Option<WriteId>) -> Option<Header> {
    write_id.map(|write_id| (NONCE.into(), text::<43>(&write_id)))
}

pub(super) fn lease_header(lease: Duration) -> Header {
    (LEASE.into(), millis(lease).to_string())
}

pub(super) fn term_header(term_info: TermInfo) -> Header {
    (TERM.into(), text::<47>(&term_info))
}

/// Formats a value into a string with this capacity. Padding zeros are written one at a time, so a string without that
/// capacity would grow repeatedly.
fn text<const LENGTH: usize>(value: &dyn fmt::Display) -> String {
    let mut text = String::with_capacity(LENGTH);
    // Writing to a string cannot fail.
    let _ = write!(text, "{value}");
    text
}

pub(super) fn metadata_header((key, text): &(String, String)) -> Header {
    (format!("{METADATA}{key}").into(), text.clone())
}

pub(super) fn release_header(owed: Duration, incarnation: Incarnation) -> Header {
    (RELEASE.into(), format!("{} {}", millis(owed), incarnation.0))
}

pub(super) fn successor_header(name: &str) -> Header {
    (SUCCESSOR.into(), name.to_string())
}

/// Whole milliseconds, rounded up.
fn millis(span: Duration) -> u128 {
    span.as_nanos().div_ceil(1_000_000)
}
