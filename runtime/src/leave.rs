//! Waiting for a candidate to leave, from inside or outside its handlers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use crate::driver::command::LeaveReplies;
use incumbent_store::fork::ForkGuard;
use incumbent_store::{Error, ErrorKind, Result};

tokio::task_local! {
    /// Set while user code runs that a draining term waits for.
    static INSIDE: ();
}

fn is_inside() -> bool {
    INSIDE.try_with(|()| ()).is_ok()
}

/// A request to leave that has been sent, by [`request_resign`](crate::Candidate::request_resign),
/// [`request_hand_over`](crate::Candidate::request_hand_over) or [`request_close`](crate::Candidate::request_close).
/// Dropping it stops the waiting but does not cancel the request.
///
/// Awaited, it returns once the work has drained and the record is released. Awaited *inside* a handler or the
/// work of [`lead`](crate::Candidate::lead), it returns as soon as the term is draining, because the term
/// cannot end before that code does.
pub struct LeaveRequest {
    waiting: Waiting,
    /// Whether the request is awaited inside the work that the leave waits for.
    is_inside: bool,
}

enum Waiting {
    Refused(Option<Error>),
    For { begun: oneshot::Receiver<Result<()>>, done: oneshot::Receiver<Result<()>>, closing: bool },
}

impl LeaveRequest {
    /// Runs a handler, or the work of a term, so that a request that it awaits does not wait for it.
    /// [`lead`](crate::Candidate::lead) does the same. This function is for code that runs the work by other means.
    pub async fn awaited_in<T>(work: impl Future<Output = T>) -> T {
        INSIDE.scope((), work).await
    }

    /// Sends a request to leave to a driver by `send`, unless the process has forked. If the driver ends before it
    /// answers, it has closed the campaign, which fulfils a `closing` request.
    pub(crate) fn ask(closing: bool, fork_guard: ForkGuard, send: impl FnOnce(LeaveReplies)) -> Self {
        if fork_guard.is_forked() {
            return Self { waiting: Waiting::Refused(Some(forked())), is_inside: false };
        }
        let (begin, begun) = oneshot::channel();
        let (finish, done) = oneshot::channel();
        send(LeaveReplies { begun: begin, done: finish });
        Self { waiting: Waiting::For { begun, done, closing }, is_inside: false }
    }

    /// Marks this request as awaited inside the work that a drain waits for, as in [`lead`](crate::Candidate::lead), so
    /// that it returns as soon as the term is draining. This is for code that runs the work by other means, such as the
    /// bindings of other languages.
    #[must_use = "the request has already been sent; awaiting this only waits for its end"]
    pub fn inside(mut self) -> Self {
        self.is_inside = true;
        self
    }
}

impl Future for LeaveRequest {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let inside = self.is_inside || is_inside();
        match &mut self.waiting {
            Waiting::Refused(error) => Poll::Ready(error.take().map_or(Ok(()), Err)),
            Waiting::For { begun, done, closing } => {
                let answer = if inside { begun } else { done };
                let gone = if *closing { Ok(()) } else { Err(closed()) };
                Poll::Ready(ready!(Pin::new(answer).poll(cx)).unwrap_or(gone))
            }
        }
    }
}

impl fmt::Debug for LeaveRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaveRequest").finish_non_exhaustive()
    }
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the candidate is closed; campaign again with `Store::campaign`")
}

pub(crate) fn forked() -> Error {
    Error::new(
        ErrorKind::Forked,
        "this handle was created before the process forked, and the child is never the leader; open the store and \
         campaign in the child itself",
    )
}
