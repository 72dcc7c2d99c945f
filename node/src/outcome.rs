//! Results for JavaScript: an error crosses as a plain object, because its class is defined in JavaScript.

use napi::bindgen_prelude::Either;
use napi_derive::napi;

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
            message: error.message,
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
