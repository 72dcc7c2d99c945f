//! Outcomes as JavaScript takes them: an error crosses as a plain object, because its class is JavaScript's.

use napi::bindgen_prelude::Either;
use napi_derive::napi;

/// An error.
#[napi(object, object_from_js = false, js_name = "Failure")]
pub struct Failure {
    /// The code, under a name that nothing else has.
    pub failed: String,
    pub message: String,
    pub causes: Vec<String>,
    pub reason: Option<String>,
}

/// What a call gives: its answer, or an error.
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

/// A result as an outcome.
pub fn outcome<T>(result: incumbent_ffi::Result<T>) -> Outcome<T> {
    result.map_or_else(|error| Either::A(error.into()), Either::B)
}

/// A result that says no more than that it is done, as the error there may be.
pub fn failure(result: incumbent_ffi::Result<()>) -> Option<Failure> {
    result.err().map(Failure::from)
}
