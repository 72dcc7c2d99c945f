//! The events of a member, and the function that is called for them.

use futures_util::future::BoxFuture;

/// The events for which the [barrier](crate::Config::barrier) is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// This process leads, for the first time or again. No [pulse](crate::Neli::pulse) returns true before the barrier has
    /// returned, so the barrier may prepare what the work needs.
    Acquired,
    /// The group takes the leadership away, or the member is being closed. Until the drain limit is over, no other
    /// member leads before the barrier and a running task have returned.
    Revoked,
    /// The leadership is over, and another member may lead at any moment: stop at once. No other member waits for the
    /// barrier.
    Fenced,
}

pub(crate) type Barrier = Box<dyn FnMut(Event) -> BoxFuture<'static, ()> + Send>;
