//! A call that takes time and has one answer.

use incumbent_ffi::Wake;
use napi::bindgen_prelude::Either8;
use napi_derive::napi;

use crate::bell::Bell;
use crate::candidate::Candidate;
use crate::feed::Feed;
use crate::outcome::Failure;
use crate::store::Store;
use crate::term::Hold;
use crate::testing::FaultyStore;
use crate::value::{ElectionRow, LeaderRow};

/// A value with which an operation can answer.
pub(crate) type Value =
    Either8<Store, Candidate, Hold, Feed, FaultyStore, LeaderRow, Vec<ElectionRow>, String>;

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
    pending: Box<dyn Pending>,
}

/// An operation with an answer of any type.
trait Pending: Send {
    fn take(&self) -> Option<Answer>;
    fn tell(&self, wake: Wake) -> bool;
    fn cancel(&self);
}

struct Mapped<T, F> {
    operation: incumbent_ffi::Operation<T>,
    map: F,
}

impl<T, F> Pending for Mapped<T, F>
where
    T: Send + 'static,
    F: Fn(T) -> Option<Value> + Send,
{
    fn take(&self) -> Option<Answer> {
        Some(match self.operation.take()? {
            Ok(answer) => Answer { failure: None, value: (self.map)(answer) },
            Err(error) => Answer { failure: Some(error.into()), value: None },
        })
    }

    fn tell(&self, wake: Wake) -> bool {
        self.operation.tell_here(wake)
    }

    fn cancel(&self) {
        self.operation.cancel();
    }
}

impl Operation {
    /// Wraps an operation; `map` converts its answer to JavaScript.
    pub(crate) fn new<T, F>(operation: incumbent_ffi::Operation<T>, map: F) -> Self
    where
        T: Send + 'static,
        F: Fn(T) -> Option<Value> + Send + 'static,
    {
        Self { pending: Box::new(Mapped { operation, map }) }
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
        self.pending.take()
    }

    /// Rings `bell` with that number when the answer is there; returns false where it is there already.
    #[napi]
    pub fn tell(&self, bell: &Bell, id: u32) -> bool {
        self.pending.tell(bell.wake(id))
    }

    /// Cancels the operation.
    #[napi]
    pub fn cancel(&self) {
        self.pending.cancel();
    }
}
