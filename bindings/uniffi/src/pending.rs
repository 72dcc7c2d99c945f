//! Calls that take time.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use incumbent_ffi::{Feed, NextItem, Operation, Ready};
use tokio::sync::watch;

use crate::candidate::Candidate;
use crate::store::{Observations, Store};
use crate::term::Hold;
use crate::testing::FaultyStore;
use crate::value::{Election, Failure, InitReport, Leader, Participant, Reason};

/// A call that takes time and has one answer; it runs from its creation. Dropping it cancels it.
pub(crate) struct Pending<T> {
    operation: Operation<T>,
    cancelled: watch::Sender<bool>,
}

impl<T: Send + 'static> Pending<T> {
    pub(crate) fn new(operation: Operation<T>) -> Self {
        Self { operation, cancelled: watch::Sender::new(false) }
    }

    async fn answer(&self) -> Result<T, Failure> {
        self.ready().await?;
        self.take()
    }

    async fn ready(&self) -> Result<(), Failure> {
        let mut cancelled = self.cancelled.subscribe();
        let ready =
            poll_fn(|cx| if wake(self.operation.ready(), cx) { Poll::Pending } else { Poll::Ready(()) });
        tokio::select! {
            biased;
            // An error means that `self`, and with it this future, is gone.
            _ = cancelled.wait_for(|is| *is) => Err(Failure::Cancelled),
            () = ready => Ok(()),
        }
    }

    fn take(&self) -> Result<T, Failure> {
        match self.operation.take() {
            Some(answer) => answer.map_err(Failure::from),
            None => Err(Failure::Cancelled),
        }
    }

    fn wait(&self, limit: Option<Duration>) -> bool {
        self.operation.ready().wait(limit)
    }

    fn cancel(&self) {
        self.operation.cancel();
        self.cancelled.send_replace(true);
    }
}

/// Returns the next item of a feed; `None` at its end.
pub(crate) async fn next<T: 'static>(feed: &Feed<T>) -> Result<Option<T>, Failure> {
    poll_fn(|cx| {
        loop {
            match feed.take() {
                Ok(NextItem::Ready(item)) => return Poll::Ready(Ok(Some(item))),
                Ok(NextItem::End) => return Poll::Ready(Ok(None)),
                Err(error) => return Poll::Ready(Err(error.into())),
                // The feed was not ready when it was polled; if it is ready by now, it has to be polled again.
                Ok(NextItem::Pending) if wake(feed.ready(), cx) => return Poll::Pending,
                Ok(NextItem::Pending) => {}
            }
        }
    })
    .await
}

/// Wakes the task when there may be something to take. Returns false if there may be already.
fn wake(ready: &Ready, cx: &Context<'_>) -> bool {
    let waker = cx.waker().clone();
    // The waker runs on the wake thread and not on the thread that renews leases, because the language's executor takes
    // its own locks.
    ready.wake(Box::new(move || waker.wake()))
}

macro_rules! pending {
    ($($(#[$doc:meta])* $name:ident: $answer:ty;)*) => { $(
        $(#[$doc])*
        #[derive(uniffi::Object)]
        pub struct $name(pub(crate) Pending<$answer>);

        #[uniffi::export]
        impl $name {
            /// Waits for the answer, and takes it. `Cancelled` if it was taken before, or the call was cancelled.
            pub async fn answer(&self) -> Result<$answer, Failure> {
                self.0.answer().await
            }

            /// Waits until the answer is there, to be taken. For a language that may abandon the wait: uniffi leaks the
            /// answer of an abandoned future, and with it a term that it holds.
            pub async fn ready(&self) -> Result<(), Failure> {
                self.0.ready().await
            }

            /// Takes the answer, once it is ready. `Cancelled` if it was taken before, or the call was cancelled.
            pub fn take(&self) -> Result<$answer, Failure> {
                self.0.take()
            }

            /// Waits on this thread until the answer is there, up to `limit`. Returns whether it is; it is then taken
            /// with `answer`, without a wait.
            pub fn wait(&self, limit: Option<Duration>) -> bool {
                self.0.wait(limit)
            }

            /// Cancels the call as far as possible: a request that was sent stays sent.
            pub fn cancel(&self) {
                self.0.cancel();
            }
        }

        impl From<Operation<$answer>> for $name {
            fn from(operation: Operation<$answer>) -> Self {
                Self(Pending::new(operation))
            }
        }
    )* };
}

pending! {
    /// A store that is opening.
    PendingStore: Arc<Store>;
    /// A store that is being prepared.
    PendingInit: InitReport;
    /// A store with faults that is opening.
    PendingFaultyStore: Arc<FaultyStore>;
    /// A candidate that is starting to campaign.
    PendingCandidate: Arc<Candidate>;
    /// An observation that is starting.
    PendingObservations: Arc<Observations>;
    /// A wait for a term; nothing once the campaign is over.
    PendingTerm: Option<Arc<Hold>>;
    /// A wait for the end of something.
    PendingEnd: ();
    /// A wait for the end of a term.
    PendingReason: Reason;
    /// A question for the leader of an election.
    PendingLeader: Option<Leader>;
    /// A question for the candidates of an election; nothing if the store cannot find out.
    PendingParticipants: Option<Vec<Participant>>;
    /// A question for all elections of a store.
    PendingElections: Vec<Election>;
}
