//! A call that takes time and has one answer.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake as _;

use futures::FutureExt;
use tokio::task::AbortHandle;

use crate::engine::Engine;
use crate::ready::Ready;
use crate::{Code, Error, Result};

/// A call that takes time and has one answer. It runs on the engine from its creation.
///
/// The protocol for a language: [`take`](Self::take); if there is no answer yet, wait on a thread until it is
/// [ready](Self::ready), or register a wake there; then repeat. Dropping it cancels the call as far as possible: a
/// request that was sent stays sent.
pub struct Operation<T> {
    answer: Arc<dyn Take<T>>,
    ready: Arc<Ready>,
    task: Option<AbortHandle>,
}

enum Answer<T> {
    Awaited,
    There(Result<T>),
    /// To be dropped when it comes: a task that is just finishing cannot be aborted, and a handle that is still
    /// referenced, for example by a traceback, must not keep its answer.
    Unwanted,
}

/// The answer of an operation, perhaps converted.
trait Take<T>: Send + Sync {
    fn take(&self) -> Option<Result<T>>;

    /// Drops the answer, now or when it comes.
    fn discard(&self);
}

impl<T> Answer<T> {
    fn come(&mut self, outcome: Result<T>) {
        if matches!(self, Self::Awaited) {
            *self = Self::There(outcome);
        }
    }
}

impl<T: Send> Take<T> for Mutex<Answer<T>> {
    fn take(&self) -> Option<Result<T>> {
        let mut answer = self.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *answer, Answer::Unwanted) {
            Answer::There(outcome) => Some(outcome),
            Answer::Awaited => {
                *answer = Answer::Awaited;
                None
            }
            Answer::Unwanted => None,
        }
    }

    fn discard(&self) {
        let mut answer = self.lock().unwrap_or_else(PoisonError::into_inner);
        let discarded = std::mem::replace(&mut *answer, Answer::Unwanted);
        drop(answer);
        drop(discarded);
    }
}

struct Mapped<T, F> {
    answer: Arc<dyn Take<T>>,
    convert: F,
}

impl<T, U, F: Fn(T) -> U + Send + Sync> Take<U> for Mapped<T, F> {
    fn take(&self) -> Option<Result<U>> {
        self.answer.take().map(|outcome| outcome.map(&self.convert))
    }

    fn discard(&self) {
        self.answer.discard();
    }
}

impl<T: Send + 'static> Operation<T> {
    /// Runs `work` on the engine.
    pub(crate) fn start(work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let engine = match Engine::get() {
            Ok(engine) => engine,
            Err(error) => return Self::answered(Err(error)),
        };
        let ready = Ready::new(engine);
        let answer = Arc::new(Mutex::new(Answer::Awaited));
        let (place, notify) = (Arc::clone(&answer), Arc::clone(&ready));
        let task = engine.runtime().spawn(async move {
            let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
                Err(Error::new(Code::Internal, "incumbent panicked; please report what was logged"))
            });
            place.lock().unwrap_or_else(PoisonError::into_inner).come(outcome);
            notify.wake_by_ref();
        });
        Self { answer, ready, task: Some(task.abort_handle()) }
    }

    /// Returns an operation that is answered already.
    pub(crate) fn answered(outcome: Result<T>) -> Self {
        Self { answer: Arc::new(Mutex::new(Answer::There(outcome))), ready: Ready::already(), task: None }
    }

    /// This operation, with its answer converted by `convert` when it is taken.
    pub fn map<U: 'static>(mut self, convert: impl Fn(T) -> U + Send + Sync + 'static) -> Operation<U> {
        let answer = Arc::new(Mapped { answer: Arc::clone(&self.answer), convert });
        Operation { answer, ready: Arc::clone(&self.ready), task: self.task.take() }
    }

    /// Takes the answer, if it is there and was not taken before. Never waits.
    ///
    /// `Forked` in a forked child.
    pub fn take(&self) -> Option<Result<T>> {
        if self.ready.is_forked() {
            return Some(Err(Error::forked()));
        }
        self.answer.take()
    }

    /// Cancels the call, as dropping it does: drops the answer, now or when it comes, and every wake.
    pub fn cancel(&self) {
        if self.ready.is_forked() {
            return;
        }
        if let Some(task) = &self.task {
            task.abort();
        }
        self.answer.discard();
        self.ready.forget();
    }

    /// The signal that the answer is there, and the ways to wait for it.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        if self.ready.is_forked() {
            // Aborting takes locks that the parent's threads may have held, and dropping the answer may too.
            std::mem::forget(self.task.take());
            std::mem::forget(Arc::clone(&self.answer));
        } else if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl<T> fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_answer_that_comes_during_cancellation_is_dropped_though_the_operation_is_kept() {
        let (began, beginning) = mpsc::channel();
        let (go_on, going_on) = mpsc::channel::<()>();
        let (answer, dropped) = mpsc::channel::<()>();
        let operation = Operation::start(async move {
            began.send(()).unwrap();
            // Within one poll, like a task that can no longer be aborted.
            going_on.recv().unwrap();
            Ok(answer)
        });
        beginning.recv().unwrap();
        operation.cancel();
        go_on.send(()).unwrap();
        // Disconnected once the only sender is dropped, and not before.
        assert_eq!(dropped.recv_timeout(Duration::from_secs(60)), Err(mpsc::RecvTimeoutError::Disconnected));
        assert!(operation.take().is_none());
    }
}
