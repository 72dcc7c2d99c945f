//! What concerns the whole process.

use std::time::Duration;

use incumbent_ffi::{Code, Reason, State};
use napi_derive::napi;

/// A reason for which a term ends.
#[napi(object, object_from_js = false, js_name = "NativeReason")]
pub struct ReasonRow {
    pub code: &'static str,
    pub may_drain: bool,
    pub text: String,
}

/// An error's code.
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

/// Every code there is.
#[napi]
pub fn codes() -> Vec<CodeRow> {
    Code::ALL.map(|code| CodeRow { code: code.text(), is_temporary: code.is_temporary() }).into()
}

/// Every reason there is.
#[napi]
pub fn reasons() -> Vec<ReasonRow> {
    let row = |reason: Reason| ReasonRow {
        code: reason.code(),
        may_drain: reason.may_drain(),
        text: reason.to_string(),
    };
    Reason::ALL.map(row).into()
}

/// Every state there is.
#[napi]
pub fn states() -> Vec<&'static str> {
    State::ALL.map(State::code).into()
}

/// The names of a candidate's settings.
#[napi]
pub fn campaign_settings() -> Vec<&'static str> {
    incumbent_ffi::settings::CAMPAIGN.into()
}

/// Gives up every seat of this process, waiting at most so many milliseconds; nothing is told any more.
#[napi]
pub fn shut_down(limit_ms: u32) {
    if incumbent_ffi::engine::is_running() {
        incumbent_ffi::shut_down(Duration::from_millis(limit_ms.into()));
    }
}
