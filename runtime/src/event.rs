//! The events of a candidate, as a stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use incumbent_core::Instant;
use incumbent_core::campaign::{Leader, Reason, State, Warning};

use crate::queue::{QueueItem, Subscription};
use crate::term::{Tenure, Term};

/// An event of a candidate.
#[derive(Clone, Debug)]
pub enum Event {
    /// This candidate leads, from now until `Lost`.
    Won(Term),
    /// This leader leaves voluntarily. It still leads, and has until `until` to finish its work.
    Draining {
        /// The term that is ending.
        term: Term,
        /// The end of the term at the latest, on the store's clock.
        until: Instant,
        /// The reason.
        reason: Reason,
    },
    /// This candidate leads no more. Emitted exactly once for every `Won`.
    Lost {
        /// The term that ended.
        term: Term,
        /// The reason.
        reason: Reason,
    },
    /// The leader is known to be another candidate than before, or there is none.
    LeaderChanged(Option<Leader>),
    /// The campaign entered another state.
    StateChanged(State),
    /// A condition that a person should look at.
    Warning(Warning),
}

/// The events of a candidate, from the moment of [`Candidate::events`](crate::Candidate::events) on.
///
/// It begins with the state at that moment: the term, where the candidate leads; the leader, where one
/// is known; the state; and the warnings that no subscriber has read yet. It ends when the campaign is
/// over.
///
/// The driver never waits for a reader. A reader that falls 1024 events behind loses the oldest that
/// are neither `Won` nor `Lost`. Where only those are left, the oldest `Won` is removed together with
/// its `Lost`, so the two always alternate. [`missed`](Self::missed) counts the removed events.
///
/// An unread event does not hold up a drain, except among
/// [`holding_events`](crate::Candidate::holding_events); a [`Term`] that was read from an event does.
pub struct Events(pub(crate) Subscription<Notice>);

impl Events {
    /// The next event; `None` when the campaign is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }

    /// The number of events that were removed because this reader did not keep up.
    pub fn missed(&self) -> u64 {
        self.0.missed()
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_next_unpin(cx).map(|notice| notice.map(Event::from))
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("missed", &self.missed()).finish_non_exhaustive()
    }
}

/// An event on its way to a reader. Unlike an [`Event`] it does not hold its term, except for one kind.
#[derive(Clone)]
pub(crate) enum Notice {
    Won(Arc<Tenure>),
    /// `Won` for a reader of `holding_events`: its term is held while the event waits to be read.
    Held(Term),
    Draining(Arc<Tenure>, Instant, Reason),
    Lost(Arc<Tenure>, Reason),
    LeaderChanged(Option<Leader>),
    StateChanged(State),
    Warning(Warning),
}

impl From<Notice> for Event {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Won(tenure) => Self::Won(Tenure::hold(&tenure)),
            Notice::Held(term) => Self::Won(term),
            Notice::Draining(tenure, until, reason) => {
                Self::Draining { term: Tenure::hold(&tenure), until, reason }
            }
            Notice::Lost(tenure, reason) => Self::Lost { term: Tenure::look(&tenure), reason },
            Notice::LeaderChanged(leader) => Self::LeaderChanged(leader),
            Notice::StateChanged(state) => Self::StateChanged(state),
            Notice::Warning(warning) => Self::Warning(warning),
        }
    }
}

impl QueueItem for Notice {
    fn shed(waiting: &mut VecDeque<Self>) -> u64 {
        let is_bound = |notice: &Self| matches!(notice, Self::Won(_) | Self::Held(_) | Self::Lost(..));
        if let Some(oldest) = waiting.iter().position(|notice| !is_bound(notice)) {
            waiting.remove(oldest);
            return 1;
        }
        // Only alternating `Won` and `Lost` are left: for a `Lost` in front, the reader has read the `Won`.
        let oldest = usize::from(matches!(waiting.front(), Some(Self::Lost(..))));
        waiting.drain(oldest..oldest + 2).count() as u64
    }
}
