//! Reads of campaigns that are due together, in one transaction.
//!
//! The rounds of all campaigns of a connection coincide, and a thousand single reads cost the store forty times as many
//! calls. One transaction is in flight at a time; reads requested meanwhile go into the next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tonic::{Code, Status};

use super::wire::connection::{Connection, method};
use super::wire::messages::{Operation, TxnRequest, TxnResponse};

/// The most operations of a transaction, a server's default (`--max-txn-ops`).
pub(super) const OPERATIONS: usize = 128;

/// The reads of a connection.
pub(super) struct Reads {
    connection: Arc<Connection>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    asked: Vec<Asked>,
    /// A task is sending the requested reads.
    sending: bool,
}

/// One read, which is answered as if it were a separate transaction.
struct Asked {
    operations: Vec<Operation>,
    answer: oneshot::Sender<Result<TxnResponse, Status>>,
}

impl Reads {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        Self { connection: Arc::clone(connection), queue: Mutex::default() }
    }

    /// Carries out these operations as one linearised read at one revision.
    pub(super) async fn read(self: &Arc<Self>, operations: Vec<Operation>) -> Result<TxnResponse, Status> {
        let (answer, receiver) = oneshot::channel();
        let is_first = {
            let mut queue = self.queue();
            queue.asked.push(Asked { operations, answer });
            !std::mem::replace(&mut queue.sending, true)
        };
        if is_first {
            tokio::spawn(Arc::clone(self).send());
        }
        // The task ends only when its runtime does.
        receiver.await.unwrap_or_else(|_| Err(Status::unavailable("the connection is closed")))
    }

    async fn send(self: Arc<Self>) {
        while let Some(asked) = self.take() {
            self.answer(asked).await;
        }
    }

    /// Takes as many reads as fit into a transaction, and at least one.
    fn take(&self) -> Option<Vec<Asked>> {
        let mut queue = self.queue();
        // A caller that was dropped needs no answer.
        queue.asked.retain(|asked| !asked.answer.is_closed());
        let mut operations = 0;
        let fitting = queue.asked.iter().take_while(|asked| {
            operations += asked.operations.len();
            operations <= OPERATIONS
        });
        let fitting = fitting.count().max(1).min(queue.asked.len());
        let taken: Vec<_> = queue.asked.drain(..fitting).collect();
        queue.sending = !taken.is_empty();
        queue.sending.then_some(taken)
    }

    async fn answer(&self, asked: Vec<Asked>) {
        let all = asked.iter().flat_map(|asked| asked.operations.iter().cloned()).collect();
        match self.call(all).await {
            Ok(answer) => {
                let mut responses = answer.responses.into_iter();
                for Asked { operations, answer: to } in asked {
                    let responses = responses.by_ref().take(operations.len()).collect();
                    let part = TxnResponse { header: answer.header, succeeded: answer.succeeded, responses };
                    // The caller may be gone.
                    let _ = to.send(Ok(part));
                }
            }
            // One of the reads may not be permitted, or the server accepts fewer operations.
            Err(status)
                if asked.len() > 1
                    && matches!(status.code(), Code::PermissionDenied | Code::InvalidArgument) =>
            {
                for Asked { operations, answer: to } in asked {
                    let _ = to.send(self.call(operations).await);
                }
            }
            Err(status) => {
                for asked in asked {
                    let _ = asked.answer.send(Err(status.clone()));
                }
            }
        }
    }

    async fn call(&self, success: Vec<Operation>) -> Result<TxnResponse, Status> {
        self.connection.call(method::TXN, TxnRequest { success, ..Default::default() }).await
    }

    /// Never held across an await.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
