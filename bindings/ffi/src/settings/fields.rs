//! Reads a map, field by field.

use std::time::Duration;

use incumbent::ErrorKind;
use incumbent::text::Text;

use super::{Dialect, Given, Map, Unit, Value, refusals};
use crate::{Error, Result};

/// A map that is being read; each field is taken by name.
pub(super) struct Fields {
    map: Vec<(&'static str, Value)>,
    pub(super) dialect: Dialect,
}

impl Fields {
    /// Begins to read `map`; its names must be among `known`. `what` describes the settings in messages.
    pub(super) fn new(what: &str, known: &[&'static str], map: Map, dialect: Dialect) -> Result<Self> {
        let mut fields: Vec<(&'static str, Value)> = Vec::with_capacity(map.len());
        for (given, value) in map {
            let Some(&name) = known.iter().find(|name| dialect.key(name) == given) else {
                return Err(unknown(what, known, &given, dialect));
            };
            if fields.iter().any(|(other, _)| *other == name) {
                return Err(invalid(refusals::given_twice(name)));
            }
            fields.push((name, value));
        }
        Ok(Self { map: fields, dialect })
    }

    /// The caller's values, for errors; to be taken before they are read.
    pub(super) fn given(&self) -> Given {
        let values = self.map.iter().filter(|(_, value)| matches!(value, Value::Text(_) | Value::Number(_)));
        Given { values: values.cloned().collect(), in_url: Vec::new() }
    }

    /// Takes a field; `None` if it is missing or nothing.
    pub(super) fn value(&mut self, name: &'static str) -> Option<Value> {
        let place = self.map.iter().position(|(other, _)| *other == name)?;
        Some(self.map.swap_remove(place).1).filter(|value| *value != Value::Nothing)
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(invalid(refusals::no_text(name, &shown(&other)))),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Flag(flag)) => Ok(Some(flag)),
            Some(other) => Err(invalid(refusals::no_flag(name, &shown(&other)))),
        }
    }

    pub(super) fn length(&mut self, name: &'static str) -> Result<Option<Duration>> {
        self.value(name).map(|value| self.as_length(name, &value)).transpose()
    }

    /// Converts a value to a length of time.
    pub(super) fn as_length(&self, name: &'static str, value: &Value) -> Result<Duration> {
        let length = match value {
            Value::Time(time) => Some(*time),
            Value::Number(number) => seconds(*number, self.dialect.unit),
            Value::Text(text) => incumbent::store::duration(text),
            _ => None,
        };
        length.ok_or_else(|| invalid(refusals::no_length(name, &shown(value), self.dialect.lengths)))
    }

    /// Takes a whole number from 0 to `u32::MAX`.
    pub(super) fn whole(&mut self, name: &'static str) -> Result<Option<u32>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        if let Value::Number(number) = value {
            // An f64 holds every u32 exactly, so a conversion that changes the number was out of range.
            let whole = number as u32;
            if f64::from(whole) == number {
                return Ok(Some(whole));
            }
        }
        Err(invalid(refusals::no_whole(name, &shown(&value))))
    }
}

fn seconds(number: f64, unit: Unit) -> Option<Duration> {
    let seconds = match unit {
        Unit::Seconds => number,
        Unit::Milliseconds => number / 1000.0,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn unknown(what: &str, known: &[&'static str], given: &str, dialect: Dialect) -> Error {
    let nearest =
        known.iter().map(|&one| (strsim::damerau_levenshtein(&dialect.spell(one), given), one)).min();
    let mut text = Text::default();
    if let Some((distance, one)) = nearest
        && distance <= given.chars().count().max(3) / 3
    {
        text = text.and("did you mean ").and(Text::setting(one)).and("? ");
    }
    text = text.and("choose one of ");
    for (place, &one) in known.iter().enumerate() {
        text = text.and(if place == 0 { "" } else { ", " }).and(Text::setting(one));
    }
    invalid(refusals::unknown(what, given, text))
}

pub(super) fn invalid(text: Text) -> Error {
    Error::new(ErrorKind::InvalidSetting, text)
}

/// The most characters of a value that a message repeats.
const LONGEST: usize = 100;

pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Nothing => "nothing".into(),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) if text.chars().count() > LONGEST => {
            format!("{:?}… ({} bytes)", text.chars().take(LONGEST).collect::<String>(), text.len())
        }
        Value::Text(text) => format!("{text:?}"),
        Value::Time(time) => format!("{time:?}"),
        Value::List(_) => "a list".into(),
        Value::Map(_) => "a map".into(),
        Value::Other(shown) => shown.clone(),
    }
}
