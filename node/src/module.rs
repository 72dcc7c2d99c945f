//! Functions for the whole process.

use std::time::Duration;

use incumbent_ffi::{Code, Reason, State};
use napi_derive::napi;

/// A reason for which a term can end.
#[napi(object, object_from_js = false, js_name = "NativeReason")]
pub struct ReasonRow {
    pub code: &'static str,
    pub may_drain: bool,
    pub text: String,
}

/// The code of an error.
#[napi(object, object_from_js = false, js_name = "NativeCode")]
pub struct CodeRow {
    pub code: &'static str,
    pub is_temporary: bool,
}

/// The version of the compiled part.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// All codes.
#[napi]
pub fn codes() -> Vec<CodeRow> {
    Code::all().map(|code| CodeRow { code: code.text(), is_temporary: code.is_temporary() }).collect()
}

/// The stores that this build has.
#[napi]
pub fn stores() -> Vec<&'static str> {
    incumbent_ffi::BUILT_IN.to_vec()
}

/// All reasons.
#[napi]
pub fn reasons() -> Vec<ReasonRow> {
    let row = |reason: Reason| ReasonRow {
        code: reason.code(),
        may_drain: reason.may_drain(),
        text: reason.to_string(),
    };
    Reason::ALL.map(row).into()
}

/// All states.
#[napi]
pub fn states() -> Vec<&'static str> {
    State::ALL.map(State::code).into()
}

/// Releases every key that this process holds, within that many milliseconds, and stops all wake-ups.
#[napi]
pub fn shut_down(limit_ms: u32) {
    if incumbent_ffi::engine::is_running() {
        incumbent_ffi::shut_down(Duration::from_millis(limit_ms.into()));
    }
}
