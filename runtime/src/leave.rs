//! Waiting for a candidate to leave, from outside of its handlers and from inside.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use crate::driver::Leave;
use crate::{Error, ErrorKind, Result};

tokio::task_local! {
    /// Set while code of the user's runs that a draining term waits for.
    static INSIDE: ();
}

/// Runs a handler, or the work of a term, so that a [`LeaveRequest`] awaited in it does not wait for it.
pub(crate) async fn inside<T>(work: impl Future<Output = T>) -> T {
    INSIDE.scope((), work).await
}

fn is_inside() -> bool {
    INSIDE.try_with(|()| ()).is_ok()
}

/// A request to leave that was sent already: of [`request_resign`](crate::Candidate::request_resign),
/// [`request_hand_over`](crate::Candidate::request_hand_over) or
/// [`request_close`](crate::Candidate::request_close). Dropping this stops the waiting and takes nothing back.
///
/// Awaited, it returns once the work has drained and the record is released. Awaited *inside* a handler
/// or the work of [`lead`](crate::Candidate::lead), it returns as soon as the term is draining, since the
/// term cannot end before that very code does.
pub struct LeaveRequest {
    waiting: Waiting,
    /// Known to be awaited inside of what the leave waits for.
    is_inside: bool,
}

enum Waiting {
    Refused(Option<Error>),
    For { begun: oneshot::Receiver<Result<()>>, done: oneshot::Receiver<Result<()>>, closing: bool },
}

impl LeaveRequest {
    /// A leave to ask of a driver, and what to wait for. A driver that goes away in the middle has
    /// closed the campaign, which is just what a leave that is `closing` wants.
    pub(crate) fn ask(closing: bool) -> (Leave, Self) {
        let (begin, begun) = oneshot::channel();
        let (finish, done) = oneshot::channel();
        (Leave { begun: begin, done: finish }, Self::new(Waiting::For { begun, done, closing }))
    }

    pub(crate) fn refused(error: Error) -> Self {
        Self::new(Waiting::Refused(Some(error)))
    }

    fn new(waiting: Waiting) -> Self {
        Self { waiting, is_inside: false }
    }

    /// The same, known to be awaited inside of the work that a drain waits for, as if in
    /// [`lead`](crate::Candidate::lead): it returns as soon as the term is draining. For whoever runs that
    /// work by other means, such as the bindings of other languages.
    #[must_use = "the request is sent already; this only waits"]
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
        "this handle was made before the process forked, and the child is never the leader; open the store \
         and campaign in the child itself",
    )
}
