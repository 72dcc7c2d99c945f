//! Requests that wait for an answer, and the events that end the wait.
//!
//! The client keeps waiting when the connection is lost, and when the server refuses a message for lack of a
//! permission. It reports both separately, as events, and this table matches them to the requests.
//!
//! A refusal names a subject, not a message. It proves that *this* message was not delivered only if that is the only
//! unanswered message on its subject and connection. So abandoned requests stay in the table until they are answered or
//! their connection ends.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use async_nats::Subject;

use super::event::{Action, ConnectionEvent};

/// The reason why no answer will come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// The request's connection is lost.
    Disconnected,
    /// The server refused a message on this subject. If `certain` is true, it refused exactly this message.
    PublishDenied { certain: bool },
    /// The client lacks permission to receive replies.
    RepliesDenied { subject: String },
}

/// The requests of one client.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// The number of connections, according to the events so far. Events lag behind the requests.
    connection: u64,
    requests: BTreeMap<u64, Request>,
    /// The reasons of waits that have ended but have not been notified yet.
    cancelled: BTreeMap<u64, Cancelled>,
}

#[derive(Debug)]
struct Request {
    /// The number of the request's connection, counted as in [`Table::connection`].
    connection: u64,
    subject: Subject,
    waiter: Waiter,
}

/// The future that waits for an answer.
#[derive(Debug)]
enum Waiter {
    /// The future has not been polled.
    New,
    /// The future is woken by this waker.
    Asleep(Waker),
    /// The future was dropped, or has received its reason.
    Gone,
}

impl Waiting {
    /// Adds a request that is about to be sent.
    pub(crate) fn note(self: &Arc<Self>, connection: u64, subject: impl Into<Subject>) -> Ticket {
        let mut table = self.lock();
        let id = table.next;
        table.next += 1;
        table.requests.insert(id, Request { connection, subject: subject.into(), waiter: Waiter::New });
        Ticket { id, waiting: self.clone() }
    }

    /// Applies an event of the connection to the requests that it concerns.
    pub(crate) fn on_event(&self, event: &ConnectionEvent) {
        let mut table = self.lock();
        let woken = match event {
            ConnectionEvent::Connected { .. } => {
                table.connection += 1;
                Vec::new()
            }
            ConnectionEvent::Disconnected => {
                let connection = table.connection;
                let woken = table.end_all(&Cancelled::Disconnected);
                table.requests.retain(|_, request| request.connection > connection);
                woken
            }
            ConnectionEvent::NotPermitted { action: Action::Publish, subject } => table.refuse_one(subject),
            ConnectionEvent::NotPermitted { action: Action::Subscribe, subject } => {
                table.end_all(&Cancelled::RepliesDenied { subject: subject.clone() })
            }
            _ => Vec::new(),
        };
        drop(table);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Applies a refusal to the request for candidates that it concerns. The refused part is either the call or the
    /// subscription to the answers.
    pub(crate) fn deny_request_for_candidates(&self, subject: &str) {
        let woken = self.lock().refuse_one(subject);
        woken.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Applies the refusal of one message on this subject. Returns the tasks to wake once the table is unlocked.
    fn refuse_one(&mut self, subject: &str) -> Vec<Waker> {
        let connection = self.connection;
        let concerned =
            |request: &&mut Request| request.connection == connection && *request.subject == *subject;
        let certain = self.requests.values_mut().filter(concerned).count() == 1;
        let (mut first, mut woken) = (None, Vec::new());
        for (id, request) in self.requests.iter_mut().filter(|(_, request)| concerned(request)) {
            first = first.or(Some(*id));
            woken.extend(request.end(*id, Cancelled::PublishDenied { certain }, &mut self.cancelled));
        }
        // The refusal is for one of them, but it is not known which, so all are interrupted.
        if let Some(first) = first {
            self.requests.remove(&first);
        }
        woken
    }

    /// Ends the waits of all requests on this connection. Returns the tasks to wake once the table is unlocked.
    fn end_all(&mut self, why: &Cancelled) -> Vec<Waker> {
        let connection = self.connection;
        let mut woken = Vec::new();
        for (id, request) in self.requests.iter_mut().filter(|(_, request)| request.connection <= connection)
        {
            woken.extend(request.end(*id, why.clone(), &mut self.cancelled));
        }
        woken
    }
}

impl Request {
    /// Ends the request's wait, if there is one, and returns its waker. Only the first reason counts.
    fn end(&mut self, id: u64, why: Cancelled, cancelled: &mut BTreeMap<u64, Cancelled>) -> Option<Waker> {
        let waker = match std::mem::replace(&mut self.waiter, Waiter::Gone) {
            Waiter::Gone => return None,
            Waiter::Asleep(waker) => Some(waker),
            Waiter::New => None,
        };
        cancelled.insert(id, why);
        waker
    }
}

/// The entry of one request in the table.
#[derive(Debug)]
pub(crate) struct Ticket {
    id: u64,
    waiting: Arc<Waiting>,
}

impl Ticket {
    /// Waits until an answer can no longer come.
    pub(crate) async fn cancelled(&mut self) -> Cancelled {
        poll_fn(|context| {
            let mut table = self.waiting.lock();
            if let Some(why) = table.cancelled.remove(&self.id) {
                return Poll::Ready(why);
            }
            if let Some(request) = table.requests.get_mut(&self.id) {
                request.waiter = Waiter::Asleep(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Removes the answered request.
    pub(crate) fn answered(self) {
        self.waiting.lock().requests.remove(&self.id);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut table = self.waiting.lock();
        table.cancelled.remove(&self.id);
        // The request stays in the table until it is answered or its connection ends.
        if let Some(request) = table.requests.get_mut(&self.id) {
            request.waiter = Waiter::Gone;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn connected() -> Arc<Waiting> {
        let waiting = Arc::new(Waiting::default());
        waiting.on_event(&ConnectionEvent::Connected { server: String::new() });
        waiting
    }

    fn denied(subject: &str) -> ConnectionEvent {
        ConnectionEvent::NotPermitted { action: Action::Publish, subject: subject.into() }
    }

    fn told(ticket: &mut Ticket) -> Option<Cancelled> {
        ticket.cancelled().now_or_never()
    }

    #[test]
    fn a_disconnection_ends_the_requests_of_its_connection_alone() {
        let waiting = connected();
        let mut old = waiting.note(1, "a");
        let mut new = waiting.note(2, "a");
        waiting.on_event(&ConnectionEvent::Disconnected);
        assert_eq!(told(&mut old), Some(Cancelled::Disconnected));
        assert_eq!(told(&mut new), None);
    }

    #[test]
    fn a_refusal_of_the_only_request_on_its_subject_is_certain() {
        let waiting = connected();
        let mut here = waiting.note(1, "a");
        let mut elsewhere = waiting.note(1, "b");
        waiting.on_event(&denied("a"));
        assert_eq!(told(&mut here), Some(Cancelled::PublishDenied { certain: true }));
        assert_eq!(told(&mut elsewhere), None);
    }

    #[test]
    fn a_refusal_with_another_unanswered_request_is_not_certain() {
        let waiting = connected();
        drop(waiting.note(1, "a"));
        let mut second = waiting.note(1, "a");
        waiting.on_event(&denied("a"));
        assert_eq!(told(&mut second), Some(Cancelled::PublishDenied { certain: false }));
    }

    #[test]
    fn every_refusal_accounts_for_one_request() {
        let waiting = connected();
        drop(waiting.note(1, "a"));
        drop(waiting.note(1, "a"));
        waiting.on_event(&denied("a"));
        waiting.on_event(&denied("a"));
        let mut third = waiting.note(1, "a");
        waiting.on_event(&denied("a"));
        assert_eq!(told(&mut third), Some(Cancelled::PublishDenied { certain: true }));
        assert!(waiting.lock().requests.is_empty());
    }

    #[test]
    fn an_answered_request_leaves_a_later_refusal_certain() {
        let waiting = connected();
        waiting.note(1, "a").answered();
        let mut second = waiting.note(1, "a");
        waiting.on_event(&denied("a"));
        assert_eq!(told(&mut second), Some(Cancelled::PublishDenied { certain: true }));
    }

    #[test]
    fn a_late_refusal_does_not_touch_the_next_connection() {
        let waiting = connected();
        let mut next = waiting.note(2, "a");
        waiting.on_event(&denied("a"));
        assert_eq!(told(&mut next), None);
    }

    #[test]
    fn what_a_request_for_candidates_is_denied_touches_nothing_else() {
        let waiting = connected();
        let (mut call, mut write) = (waiting.note(1, "roll"), waiting.note(1, "a"));
        waiting.deny_request_for_candidates("roll");
        assert_eq!(told(&mut call), Some(Cancelled::PublishDenied { certain: true }));
        assert_eq!(told(&mut write), None);
    }

    #[test]
    fn where_replies_may_not_be_received_every_request_ends() {
        let waiting = connected();
        let mut request = waiting.note(1, "a");
        let subject = "_INBOX.x.*".to_string();
        waiting
            .on_event(&ConnectionEvent::NotPermitted { action: Action::Subscribe, subject: subject.clone() });
        assert_eq!(told(&mut request), Some(Cancelled::RepliesDenied { subject }));
    }
}
