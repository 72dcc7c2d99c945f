//! A call that takes time and has one answer.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::AbortHandle;

use crate::bell::Bell;
use crate::engine::Engine;
use crate::mailbox::Mailbox;
use crate::teller::Wake;
use crate::{Code, Error, Result};

/// A call that takes time and has one answer. It runs on the engine from its creation.
///
/// The protocol for a language: [`take`](Self::take); where there is no answer yet, [`wait`](Self::wait) on a thread or
/// [`tell`](Self::tell) an event loop; then repeat. Dropping it cancels the call as far as possible: a request that was
/// sent stays sent.
pub struct Operation<T> {
    answer: Arc<Mutex<Answer<T>>>,
    bell: Arc<Bell>,
    task: Option<AbortHandle>,
}

enum Answer<T> {
    Awaited,
    There(Result<T>),
    /// Not to be kept: a task that is just finishing cannot be aborted, and its answer must not stay with a handle that
    /// is still referenced, by a traceback for example.
    Unwanted,
}

impl<T> Answer<T> {
    fn come(&mut self, outcome: Result<T>) {
        if matches!(self, Self::Awaited) {
            *self = Self::There(outcome);
        }
    }

    fn take(&mut self) -> Option<Result<T>> {
        match std::mem::replace(self, Self::Unwanted) {
            Self::There(outcome) => Some(outcome),
            Self::Awaited => {
                *self = Self::Awaited;
                None
            }
            Self::Unwanted => None,
        }
    }
}

impl<T: Send + 'static> Operation<T> {
    /// Runs `work` on the engine.
    pub(crate) fn start(work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let engine = match Engine::get() {
            Ok(engine) => engine,
            Err(error) => return Self::ready(Err(error)),
        };
        let bell = Bell::new(engine);
        let answer = Arc::new(Mutex::new(Answer::Awaited));
        let (slot, ringer) = (Arc::clone(&answer), Arc::clone(&bell));
        let task = engine.runtime().spawn(async move {
            let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
                Err(Error::new(Code::Internal, "incumbent panicked; please report what was logged"))
            });
            slot.lock().unwrap_or_else(PoisonError::into_inner).come(outcome);
            ringer.ring();
        });
        Self { answer, bell, task: Some(task.abort_handle()) }
    }

    /// Returns an operation that is answered already.
    pub(crate) fn ready(outcome: Result<T>) -> Self {
        Self { answer: Arc::new(Mutex::new(Answer::There(outcome))), bell: Bell::rung(), task: None }
    }

    /// Takes the answer, if it is there and was not taken before. Never waits.
    ///
    /// `Forked` in a forked child.
    pub fn take(&self) -> Option<Result<T>> {
        if self.bell.is_forked() {
            return Some(Err(Error::forked()));
        }
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Cancels the call, as dropping it does: drops the answer, now or when it comes, and every wake.
    pub fn cancel(&self) {
        if self.bell.is_forked() {
            return;
        }
        if let Some(task) = &self.task {
            task.abort();
        }
        let answer = std::mem::replace(
            &mut *self.answer.lock().unwrap_or_else(PoisonError::into_inner),
            Answer::Unwanted,
        );
        drop(answer);
        self.bell.forget();
    }

    /// Waits on this thread for the answer, up to `limit`. Returns whether it is there.
    pub fn wait(&self, limit: Option<Duration>) -> bool {
        self.bell.wait(limit)
    }

    /// Calls `wake`, on the wake thread, when the answer is there. Where it is there already, drops `wake` and returns
    /// false: the caller takes it.
    pub fn tell(&self, wake: Wake) -> bool {
        self.bell.tell(wake)
    }

    /// Like [`tell`](Self::tell), and sooner by a change of threads: calls `wake` on the notifying thread, possibly the
    /// one that renews leases. `wake` must not wait for anything, nor run application code.
    pub fn tell_here(&self, wake: Wake) -> bool {
        self.bell.tell_here(wake)
    }

    /// Puts `letter` into `mailbox` when the answer is there, from the notifying thread; otherwise like
    /// [`tell`](Self::tell). For event loops that can watch a file descriptor: involves no other thread and no lock of
    /// the language.
    pub fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool {
        self.bell.write(mailbox, letter)
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        if self.bell.is_forked() {
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

    use super::*;

    #[test]
    fn an_answer_that_comes_as_it_is_given_up_is_dropped_though_the_operation_is_kept() {
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
