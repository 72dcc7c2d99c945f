//! The settings of a store.

use std::time::Duration;

use incumbent::store::StoreSettings;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::fields::{Fields, invalid, shown};
use super::names::{COMMON, ETCD, KAFKA, Kind, MEMORY, NATS, SQLITE};
use super::{Dialect, Given, Map, Value, refusals};
use crate::Result;

/// The settings of a store, parsed.
#[derive(Clone)]
pub struct Opening {
    pub(crate) url: String,
    pub(crate) fail_fast: bool,
    pub(crate) expected_lease: Option<Duration>,
    pub(crate) given: Given,
}

pub(super) fn of_scheme(url: &str) -> (&'static str, &'static [(&'static str, Kind)]) {
    match url.split_once(':').map_or("", |(scheme, _)| scheme) {
        "memory" => ("a memory: store", &MEMORY),
        "sqlite" => ("a sqlite: store", &SQLITE),
        "nats" | "tls" | "ws" | "wss" => ("a nats: store", &NATS),
        "etcd" | "etcds" => ("an etcd: store", &ETCD),
        "kafka" | "kafkas" => ("a kafka: store", &KAFKA),
        // Opening the store refuses an unknown parameter.
        _ => ("the store", &[]),
    }
}

/// Reads the settings for opening the store at `url`: `fail_fast`, `expected_lease`, and everything that the URL could
/// hold as a parameter.
///
/// # Errors
/// `InvalidSetting`, with the field and the accepted values.
pub fn opening(url: &str, map: Map, dialect: Dialect) -> Result<Opening> {
    let (what, kinds) = of_scheme(url);
    let known: Vec<&'static str> = kinds.iter().map(|(name, _)| *name).chain(COMMON).collect();
    let mut fields = Fields::new(what, &known, map, dialect)?;
    let given = fields.given().with_url(url, kinds);
    let mut opening = Opening {
        url: url.to_owned(),
        fail_fast: fields.flag("fail_fast")?.unwrap_or(false),
        expected_lease: fields.length("expected_lease")?,
        given,
    };
    opening.add_parameters(&mut fields, kinds)?;
    Ok(opening)
}

/// Formats a duration as a URL writes it.
fn millis(name: &'static str, length: Duration) -> Result<String> {
    if length.subsec_nanos().is_multiple_of(1_000_000) {
        return Ok(format!("{}ms", length.as_millis()));
    }
    Err(invalid(refusals::part_of_millisecond(name, &shown(&Value::Time(length)))))
}

impl Opening {
    /// Checks whether the URL can be parsed, without opening anything.
    ///
    /// # Errors
    /// `InvalidUrl`, `InvalidName`, `Authentication`, `Unsupported`.
    pub fn check(&self) -> Result<()> {
        self.settings().map(drop)
    }

    /// The settings that the URL gives, with the parameters that were given separately.
    pub(crate) fn settings(&self) -> Result<StoreSettings> {
        self.url.parse().map_err(|error| self.given.shown_in(error))
    }

    /// Takes the parameters of the URL from `fields`.
    pub(super) fn add_parameters(
        &mut self,
        fields: &mut Fields,
        kinds: &'static [(&'static str, Kind)],
    ) -> Result<()> {
        for (name, kind) in kinds {
            let text = match kind {
                Kind::Text => fields.text(name)?,
                Kind::Flag => fields.flag(name)?.map(|flag| flag.to_string()),
                Kind::Length => fields.length(name)?.map(|length| millis(name, length)).transpose()?,
            };
            if let Some(text) = text {
                self.add(name, &text);
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, text: &str) {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        let text = utf8_percent_encode(text, NON_ALPHANUMERIC);
        self.url.push_str(&format!("{separator}{name}={text}"));
    }
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        f.debug_struct("Opening").field("fail_fast", &self.fail_fast).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::OF_URLS;
    use super::*;

    #[test]
    fn the_url_of_each_store_takes_the_parameters_of_the_schema_and_no_others() {
        let urls = [
            ("memory", "memory:"),
            ("SQLite", "sqlite:e.db"),
            ("NATS", "nats://h/B"),
            ("etcd", "etcd://h/p"),
        ];
        let with_kafka = [("Kafka", "kafka://h:9092/p")].into_iter().filter(|_| cfg!(feature = "kafka"));
        for (store, url) in urls.into_iter().chain(with_kafka) {
            let error = format!("{url}?none=1").parse::<StoreSettings>().map(drop).unwrap_err().to_string();
            let (_, known) = error.split_once("the parameters are ").unwrap();
            let (_, of_schema) = OF_URLS.iter().find(|(name, _)| *name == store).unwrap();
            let sorted = |names: &mut dyn Iterator<Item = &str>| {
                let mut names: Vec<_> = names.map(str::to_owned).collect();
                names.sort_unstable();
                names
            };
            assert_eq!(sorted(&mut known.split(", ")), sorted(&mut of_schema.iter().copied()), "{store}");
        }
    }
}
