//! The events of a member, and the function that is called for them.

use futures_util::future::BoxFuture;

/// The events for which the [barrier](crate::Config::barrier) is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// This process leads, for the first time or again. No [pulse](crate::Neli::pulse) returns true before the barrier has
    /// returned, so it may prepare what the work needs.
    Acquired,
    /// The group takes the leadership away, or the member is being closed. No other member leads before the barrier and a
    /// running task have returned, until the drain limit is over.
    Revoked,
    /// The leadership is over, and another member may lead at any moment: stop at once. Nothing waits for the barrier.
    Fenced,
}

pub(crate) type Barrier = Box<dyn FnMut(Event) -> BoxFuture<'static, ()> + Send>;
