//! The refusals that several stores have in common.

#[cfg(any(feature = "etcd", feature = "nats"))]
use incumbent_core::campaign::InvalidSettings;

use crate::text::Text;
use crate::{Error, ErrorKind};

/// A time limit that is zero.
#[cfg(any(feature = "etcd", feature = "nats"))]
pub(in crate::store) fn zero(setting: &'static str) -> Error {
    Error::from(InvalidSettings {
        setting,
        value: "0s".into(),
        limit: "longer than nothing".into(),
        remedy: "2s is usual".into(),
    })
}

/// Parameters of a URL that do not fit each other, from a template of a [`Text`].
pub(in crate::store) fn unfit(template: &'static str) -> Error {
    Error::named(ErrorKind::InvalidUrl, Text::fill(template, &[]))
}
