//! A call that takes time and has one answer.

use napi::bindgen_prelude::Either10;
use napi_derive::napi;

use crate::candidate::Candidate;
use crate::feed::Feed;
use crate::notifier::Notifier;
use crate::store::{InitRow, Store};
use crate::term::Hold;
use crate::testing::FaultyStore;
use crate::value::{CandidateRow, ElectionRow, Failure, LeaderRow};

/// A value with which an operation can answer.
pub(crate) type Value = Either10<
    Store,
    Candidate,
    Hold,
    Feed,
    FaultyStore,
    LeaderRow,
    Vec<ElectionRow>,
    String,
    Vec<CandidateRow>,
    InitRow,
>;

/// An answer: a value, nothing, or an error.
#[napi(object, object_from_js = false, js_name = "Answer")]
pub struct Answer {
    pub failure: Option<Failure>,
    #[napi(ts_type = "unknown")]
    pub value: Option<Value>,
}

/// A call that takes time and has one answer; it runs from its creation.
#[napi(js_name = "Operation")]
pub struct Operation {
    operation: incumbent_ffi::Operation<Option<Value>>,
}

impl Operation {
    /// Wraps an operation; `convert` makes its answer a value for JavaScript.
    pub(crate) fn new<T: Send + 'static>(
        operation: incumbent_ffi::Operation<T>,
        convert: fn(T) -> Option<Value>,
    ) -> Self {
        Self { operation: operation.map(convert) }
    }

    /// Wraps an operation without a value.
    pub(crate) fn of_nothing(operation: incumbent_ffi::Operation<()>) -> Self {
        Self::new(operation, |()| None)
    }
}

#[napi]
impl Operation {
    /// Takes the answer, once; null while there is none.
    #[napi]
    pub fn take(&self) -> Option<Answer> {
        Some(match self.operation.take()? {
            Ok(value) => Answer { failure: None, value },
            Err(error) => Answer { failure: Some(error.into()), value: None },
        })
    }

    /// Notifies the event loop with that number when the answer is there; returns false if it is there already.
    #[napi]
    pub fn notify(&self, notifier: &Notifier, id: u32) -> bool {
        self.operation.ready().wake_inline(notifier.wake(id))
    }

    /// Cancels the operation.
    #[napi]
    pub fn cancel(&self) {
        self.operation.cancel();
    }
}
