//! The events of a candidate, as a stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use incumbent_core::campaign;

use crate::queue::{QueueItem, Subscription};
use crate::term::Term;

/// An event of a candidate: the event of its campaign, with a handle of the term.
pub type Event<T = Term> = campaign::Event<T>;

/// The events of a candidate, starting when [`Candidate::events`](crate::Candidate::events) is called.
///
/// The stream begins with the state at that moment: the term, if the candidate leads; the leader, if known; the state;
/// and the warnings that no subscriber has read yet. It ends when the campaign is over.
///
/// The driver never waits for a reader. A reader that falls 1024 events behind loses the oldest events that are neither
/// `Won` nor `Lost`. If only these two are left, the oldest `Won` is removed together with its `Lost`, so the two
/// always alternate. [`missed`](Self::missed) counts the removed events.
///
/// An unread event does not hold up a drain, except among
/// [`holding_events`](crate::Candidate::holding_events); a [`Term`] that was read from an event does.
pub struct Events(pub(crate) Subscription<Event>);

impl Events {
    /// The next event; `None` when the campaign is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }

    /// The number of events that were removed because this reader was too slow.
    pub fn missed(&self) -> u64 {
        self.0.missed()
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_next_unpin(cx).map(|event| {
            event.map(|event| match event {
                // An event in the queue does not hold its term. From now on the reader holds it.
                Event::Won(term) => Event::Won(term.held()),
                Event::Draining { term, until, reason } => {
                    Event::Draining { term: term.held(), until, reason }
                }
                event => event,
            })
        })
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("missed", &self.missed()).finish_non_exhaustive()
    }
}

impl QueueItem for Event {
    fn shed(waiting: &mut VecDeque<Self>) -> u64 {
        let is_paired = |event: &Self| matches!(event, Self::Won(_) | Self::Lost { .. });
        if let Some(oldest) = waiting.iter().position(|event| !is_paired(event)) {
            waiting.remove(oldest);
            return 1;
        }
        // Only alternating `Won` and `Lost` are left. If a `Lost` comes first, the reader has already read its `Won`.
        let oldest = usize::from(matches!(waiting.front(), Some(Self::Lost { .. })));
        waiting.drain(oldest..oldest + 2).count() as u64
    }
}
