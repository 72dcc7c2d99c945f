//! Conversion of values from and to JavaScript. An error crosses as a plain object, because its class is defined in
//! JavaScript.

use incumbent_ffi::settings::{Dialect, Map, Value};
use incumbent_ffi::{CandidateInfo, ElectionInfo, Leader, Reason};
use napi::bindgen_prelude::{Array, BigInt, Either, FromNapiValue, JsObjectValue, Object, Unknown};
use napi::{Error, JsValue, Result, Status, ValueType};
use napi_derive::napi;

pub(crate) const DIALECT: Dialect = Dialect::NODE;

/// The deepest nesting of a setting: no setting is deeper than a list in a map.
const DEPTH: usize = 4;

/// The leader of an election.
#[napi(object, object_from_js = false, js_name = "LeaderRow")]
pub struct LeaderRow {
    pub name: String,
    pub revision: BigInt,
    pub nonce: Option<String>,
    pub metadata: Vec<Vec<String>>,
}

/// An election of a store, and its leader.
#[napi(object, object_from_js = false, js_name = "ElectionRow")]
pub struct ElectionRow {
    pub election: String,
    pub leader: Option<LeaderRow>,
}

/// A candidate of an election.
#[napi(object, object_from_js = false, js_name = "CandidateRow")]
pub struct CandidateRow {
    pub election: String,
    pub name: String,
    pub nonce: Option<String>,
    pub standing_for_ms: f64,
}

impl From<CandidateInfo> for CandidateRow {
    fn from(candidate: CandidateInfo) -> Self {
        let CandidateInfo { election, name, nonce, standing_for } = candidate;
        let standing_for_ms = standing_for.as_secs_f64() * 1000.0;
        Self { election, name, nonce: nonce.map(|nonce| nonce.to_string()), standing_for_ms }
    }
}

impl From<Leader> for LeaderRow {
    fn from(leader: Leader) -> Self {
        Self {
            name: leader.name,
            revision: leader.revision.0.into(),
            nonce: leader.nonce.map(|nonce| nonce.to_string()),
            metadata: leader.metadata.into_iter().map(|(name, value)| vec![name, value]).collect(),
        }
    }
}

impl From<ElectionInfo> for ElectionRow {
    fn from(listed: ElectionInfo) -> Self {
        Self { election: listed.election, leader: listed.leader.map(LeaderRow::from) }
    }
}

/// Returns the reason with that code.
pub(crate) fn reason(code: &str) -> Result<Reason> {
    let found = Reason::ALL.into_iter().find(|reason| reason.code() == code);
    let unknown = || Error::new(Status::InvalidArg, format!("{code:?} is not a reason for a term to end"));
    found.ok_or_else(unknown)
}

/// Converts settings.
pub(crate) fn settings(given: Object<'_>) -> Result<Map> {
    map(given, DEPTH)
}

fn map(given: Object<'_>, depth: usize) -> Result<Map> {
    let mut map = Map::new();
    for name in Object::keys(&given)? {
        let given = given.get_named_property::<Unknown<'_>>(&name)?;
        map.push((name, value(given, depth)?));
    }
    Ok(map)
}

fn value(given: Unknown<'_>, depth: usize) -> Result<Value> {
    Ok(match given.get_type()? {
        ValueType::Undefined | ValueType::Null => Value::Nothing,
        ValueType::Boolean => Value::Flag(given.coerce_to_bool()?),
        ValueType::Number => Value::Number(given.coerce_to_number()?.get_double()?),
        ValueType::String => Value::Text(given.coerce_to_string()?.into_utf8()?.into_owned()?),
        ValueType::Object if depth == 0 => Value::Other("an object in an object".into()),
        ValueType::Object if given.is_array()? => list(given, depth - 1)?,
        ValueType::Object => Value::Map(map(given.coerce_to_object()?, depth - 1)?),
        ValueType::Function => Value::Other("a function".into()),
        ValueType::BigInt => Value::Other("a bigint".into()),
        _ => Value::Other("a symbol".into()),
    })
}

fn list(given: Unknown<'_>, depth: usize) -> Result<Value> {
    let given = Array::from_unknown(given)?;
    let mut list = Vec::new();
    for place in 0..given.len() {
        if let Some(one) = given.get::<Unknown<'_>>(place)? {
            list.push(value(one, depth)?);
        }
    }
    Ok(Value::List(list))
}

/// An error.
#[napi(object, object_from_js = false, js_name = "Failure")]
pub struct Failure {
    /// The code, under a field name that no other object has.
    pub failed: String,
    pub message: String,
    pub causes: Vec<String>,
    pub reason: Option<String>,
}

/// The result of a call: its answer, or an error.
pub type Outcome<T> = Either<Failure, T>;

impl From<incumbent_ffi::Error> for Failure {
    fn from(error: incumbent_ffi::Error) -> Self {
        Self {
            failed: error.code.text().into(),
            message: error.message(DIALECT),
            causes: error.causes,
            reason: error.reason.map(|reason| reason.code().into()),
        }
    }
}

/// Converts a result.
pub fn outcome<T>(result: incumbent_ffi::Result<T>) -> Outcome<T> {
    result.map_or_else(|error| Either::A(error.into()), Either::B)
}

/// Converts a result without a value: the error, or nothing.
pub fn failure(result: incumbent_ffi::Result<()>) -> Option<Failure> {
    result.err().map(Failure::from)
}
