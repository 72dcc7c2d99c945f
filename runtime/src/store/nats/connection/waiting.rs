//! Requests that wait for an answer, and what ends the wait.
//!
//! The client keeps waiting when the connection goes, and when the server refuses a message for
//! want of a permission: both are told beside the request, as events. This table brings the two
//! together.
//!
//! A refusal names a subject, not a message. It proves that *this* message was not delivered only
//! where no other on that subject is unanswered on the same connection, so requests that nobody
//! waits for any more stay in the table until they are answered or their connection ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::event::{Action, ConnectionEvent};

/// Why an answer will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store::nats) enum Interruption {
    /// The connection it would have come on is gone.
    Disconnected,
    /// The server refused a message on this subject; where it is the only one unanswered, this one.
    PublishDenied { certain: bool },
    /// We may not hear replies.
    RepliesDenied { subject: String },
}

/// The requests of one client.
#[derive(Debug, Default)]
pub(in crate::store::nats) struct Waiting(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// How many connections there were, as told by events so far. Events lag behind the requests.
    connection: u64,
    requests: BTreeMap<u64, Request>,
}

#[derive(Debug)]
struct Request {
    /// Which connection it was sent on, counted as in [`Table::connection`].
    connection: u64,
    subject: String,
    tell: Option<oneshot::Sender<Interruption>>,
}

impl Waiting {
    /// Notes a request that is about to be sent.
    pub(in crate::store::nats) fn note(self: &Arc<Self>, connection: u64, subject: &str) -> Ticket {
        let (tell, interrupted) = oneshot::channel();
        let mut table = self.lock();
        let id = table.next;
        table.next += 1;
        table.requests.insert(id, Request { connection, subject: subject.into(), tell: Some(tell) });
        Ticket { id, waiting: self.clone(), interrupted }
    }

    /// Takes an event of the connection to the requests it concerns.
    pub(in crate::store::nats) fn heed(&self, event: &ConnectionEvent) {
        let mut table = self.lock();
        match event {
            ConnectionEvent::Connected { .. } => table.connection += 1,
            ConnectionEvent::Disconnected => {
                let connection = table.connection;
                table.end_all(&Interruption::Disconnected);
                table.requests.retain(|_, request| request.connection > connection);
            }
            ConnectionEvent::NotPermitted { action: Action::Publish, subject } => {
                table.refuse_one(subject);
            }
            ConnectionEvent::NotPermitted { action: Action::Subscribe, subject } => {
                table.end_all(&Interruption::RepliesDenied { subject: subject.clone() });
            }
            _ => {}
        }
    }

    /// Takes to its request what a roll call was denied: to call, or to hear the answers.
    pub(in crate::store::nats) fn deny_roll_call(&self, subject: &str) {
        self.lock().refuse_one(subject);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The server refused one message on this subject.
    fn refuse_one(&mut self, subject: &str) {
        let connection = self.connection;
        let concerned =
            |request: &&mut Request| request.connection == connection && request.subject == subject;
        let certain = self.requests.values_mut().filter(concerned).count() == 1;
        for request in self.requests.values_mut().filter(concerned) {
            request.end(Interruption::PublishDenied { certain });
        }
        // It accounts for one of them, whichever that was, and they are all told.
        let first = self.requests.iter_mut().find(|(_, request)| concerned(request)).map(|(id, _)| *id);
        if let Some(first) = first {
            self.requests.remove(&first);
        }
    }

    /// Nobody need wait any more on this connection.
    fn end_all(&mut self, why: &Interruption) {
        let connection = self.connection;
        for request in self.requests.values_mut().filter(|request| request.connection <= connection) {
            request.end(why.clone());
        }
    }
}

impl Request {
    fn end(&mut self, why: Interruption) {
        if let Some(tell) = self.tell.take() {
            // Nobody may be waiting any more.
            let _ = tell.send(why);
        }
    }
}

/// One request's place in the table.
#[derive(Debug)]
pub(in crate::store::nats) struct Ticket {
    id: u64,
    waiting: Arc<Waiting>,
    interrupted: oneshot::Receiver<Interruption>,
}

impl Ticket {
    /// Waits until an answer cannot come any more.
    pub(in crate::store::nats) async fn interrupted(&mut self) -> Interruption {
        // The sender goes unused only when the table itself does, with the client.
        (&mut self.interrupted).await.unwrap_or(Interruption::Disconnected)
    }

    /// Notes that it was answered.
    pub(in crate::store::nats) fn answered(self) {
        self.waiting.lock().requests.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected() -> Arc<Waiting> {
        let waiting = Arc::new(Waiting::default());
        waiting.heed(&ConnectionEvent::Connected { server: String::new() });
        waiting
    }

    fn denied(subject: &str) -> ConnectionEvent {
        ConnectionEvent::NotPermitted { action: Action::Publish, subject: subject.into() }
    }

    fn told(ticket: &mut Ticket) -> Option<Interruption> {
        ticket.interrupted.try_recv().ok()
    }

    #[test]
    fn a_disconnection_ends_the_requests_of_its_connection_alone() {
        let waiting = connected();
        let mut old = waiting.note(1, "a");
        let mut new = waiting.note(2, "a");
        waiting.heed(&ConnectionEvent::Disconnected);
        assert_eq!(told(&mut old), Some(Interruption::Disconnected));
        assert_eq!(told(&mut new), None);
    }

    #[test]
    fn a_refusal_of_the_only_request_on_its_subject_is_certain() {
        let waiting = connected();
        let mut here = waiting.note(1, "a");
        let mut elsewhere = waiting.note(1, "b");
        waiting.heed(&denied("a"));
        assert_eq!(told(&mut here), Some(Interruption::PublishDenied { certain: true }));
        assert_eq!(told(&mut elsewhere), None);
    }

    #[test]
    fn a_refusal_beside_an_unanswered_request_is_not_certain() {
        let waiting = connected();
        drop(waiting.note(1, "a"));
        let mut second = waiting.note(1, "a");
        waiting.heed(&denied("a"));
        assert_eq!(told(&mut second), Some(Interruption::PublishDenied { certain: false }));
    }

    #[test]
    fn every_refusal_accounts_for_one_request() {
        let waiting = connected();
        drop(waiting.note(1, "a"));
        drop(waiting.note(1, "a"));
        waiting.heed(&denied("a"));
        waiting.heed(&denied("a"));
        let mut third = waiting.note(1, "a");
        waiting.heed(&denied("a"));
        assert_eq!(told(&mut third), Some(Interruption::PublishDenied { certain: true }));
        assert!(waiting.lock().requests.is_empty());
    }

    #[test]
    fn an_answered_request_leaves_a_later_refusal_certain() {
        let waiting = connected();
        waiting.note(1, "a").answered();
        let mut second = waiting.note(1, "a");
        waiting.heed(&denied("a"));
        assert_eq!(told(&mut second), Some(Interruption::PublishDenied { certain: true }));
    }

    #[test]
    fn a_refusal_told_late_does_not_touch_the_next_connection() {
        let waiting = connected();
        let mut next = waiting.note(2, "a");
        waiting.heed(&denied("a"));
        assert_eq!(told(&mut next), None);
    }

    #[test]
    fn what_a_roll_call_is_denied_touches_nothing_else() {
        let waiting = connected();
        let (mut call, mut write) = (waiting.note(1, "roll"), waiting.note(1, "a"));
        waiting.deny_roll_call("roll");
        assert_eq!(told(&mut call), Some(Interruption::PublishDenied { certain: true }));
        assert_eq!(told(&mut write), None);
    }

    #[test]
    fn where_replies_may_not_be_heard_every_request_ends() {
        let waiting = connected();
        let mut request = waiting.note(1, "a");
        let subject = "_INBOX.x.*".to_string();
        waiting.heed(&ConnectionEvent::NotPermitted { action: Action::Subscribe, subject: subject.clone() });
        assert_eq!(told(&mut request), Some(Interruption::RepliesDenied { subject }));
    }
}
